// What an algorithm says to all arrivals, the numbers of it, and how one client's state goes:
// the same as src/simulate/output/figure/story.rs and state.rs.

/** Verdicts: { at, client, served } in order, served null where refused. */
function verdictsOf(name, limit, arrivals) {
  const limiter = START[name](limit);
  return arrivals.map(({ at, client }) => ({ at, client, served: limiter.decide(client, at) }));
}

const waits = (name) => name === "leaky-queue";
const before = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

function numbersOf(name, limit, verdicts) {
  const numbers = { letIn: 0, later: 0, refused: 0, longestWait: 0n, worst: null };
  for (const { at, served } of verdicts) {
    if (served === null) {
      numbers.refused += 1;
      continue;
    }
    numbers.letIn += 1;
    if (waits(name)) {
      numbers.later += 1;
      numbers.longestWait = later(numbers.longestWait, served - at);
    }
  }
  numbers.worst = worstOf(limit, verdicts);
  return numbers;
}

/** The fullest window: of several the first of the first client. */
function worstOf(limit, verdicts) {
  const served = verdicts.filter((verdict) => verdict.served !== null);
  served.sort((a, b) => a.client - b.client || before(a.served, b.served));
  let worst = null;
  let end = 0;
  served.forEach(({ client, served: from }, begin) => {
    while (end < served.length && served[end].client === client && served[end].served - from < limit.window) end += 1;
    if (worst === null || worst.count < end - begin) worst = { client, from, count: end - begin };
  });
  return worst;
}

/** One client's state from the first moment of the picture to the last. */
function follow(name, limit, arrivals, client, from, to, sizes) {
  const moments = [];
  for (let n = 0; n <= sizes.samples; n += 1) moments.push(from + ((to - from) * BigInt(n)) / BigInt(sizes.samples));
  const step = (moment) => moments.push(above(moment, 1n), moment);
  for (const at of arrivals) step(at + limit.window);
  const first = sweep(name, limit, arrivals, client, moments, from, to);
  for (const window of first.windows.values()) {
    step(window.from);
    step(window.to);
  }
  first.served.forEach(step);
  const seen = sweep(name, limit, arrivals, client, moments, from, to);
  const windows = [...seen.windows.values()].sort((a, b) => before(a.from, b.from) || before(a.to, b.to));
  const refused = seen.refusedInView ?? seen.refused ?? arrivals[arrivals.length - 1];
  return {
    curve: seen.looks.map(({ at, level }) => [at, level]),
    full: Math.max(1, ...seen.looks.map((look) => look.full)),
    windows: windows.length > sizes.windowsMax ? [] : windows,
    countsFromZero: name !== "sliding-window",
    looksBackAt: name === "sliding-log" ? refused : undefined,
  };
}

function sweep(name, limit, arrivals, client, moments, from, to) {
  const inView = moments.filter((at) => at >= from && at <= to).sort(before);
  const limiter = START[name](limit);
  const seen = { looks: [], windows: new Map(), served: [], refused: undefined, refusedInView: undefined };
  const hasEdges = name !== "sliding-log";
  const window = (look, letIn) => {
    if (!hasEdges || !look.window) return;
    const [begin, end] = look.window;
    const key = `${begin} ${end}`;
    const known = seen.windows.get(key) ?? { from: begin, to: end, letIn: 0 };
    seen.windows.set(key, { ...known, letIn: known.letIn + letIn });
  };
  let next = 0;
  const arrive = (until) => {
    while (next < arrivals.length && (until === null || arrivals[next] <= until)) {
      const at = arrivals[next];
      next += 1;
      seen.looks.push({ at, ...limiter.look(client, at) });
      const served = limiter.decide(client, at);
      const look = limiter.look(client, at);
      seen.looks.push({ at, ...look });
      if (served === null) {
        seen.refused ??= at;
        if (at - limit.window >= from) seen.refusedInView ??= at;
        continue;
      }
      seen.served.push(served);
      window(look, 1);
    }
  };
  inView.forEach((moment, n) => {
    if (n > 0 && inView[n - 1] === moment) return;
    arrive(moment);
    const look = limiter.look(client, moment);
    seen.looks.push({ at: moment, ...look });
    window(look, 0);
  });
  arrive(null);
  return seen;
}
