// The dials, the requests that a reader adds, and the state at a moment.

const at = (id) => document.getElementById(id);
const data = JSON.parse(at("data").textContent);
const [FROM, TO] = [BigInt(data.from), BigInt(data.to)];
const BAR = data.bar === null ? null : BigInt(data.bar);
const GIVEN = rateOf(data.rate);
const ADDED_MAX = 200; // more could not be told apart, and each is run ten times a step
const pictures = ["wide", "narrow"].map((id) => ({
  root: at(id),
  pen: new Pen(data.layouts[id], data.sizes, FROM, TO, BAR),
}));

function read({ since, clients }) {
  const whose = clients.split(" ");
  let moment = 0n;
  return since.split(" ").map((passed, n) => {
    moment += BigInt(passed);
    return { at: moment, client: Number(whose[n]) };
  });
}

// What a dial goes through: round numbers, and the one that was given.
const round = (from, to, steps) => {
  const numbers = [];
  for (let ten = 10 ** Math.floor(Math.log10(from)); ten <= to; ten *= 10) {
    for (const step of steps) numbers.push(Number((step * ten).toPrecision(3)));
  }
  return numbers.filter((number) => number >= from && number <= to);
};
const sorted = (numbers) => [...new Set(numbers)].sort((a, b) => a - b);
const YEARS = 10 * 365 * 86400e9; // an empty bucket must fill within ten years
const bursts = sorted([
  data.burst,
  ...round(1, Math.min(Math.max(data.burst * 10, 20), 1e6), [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9]).filter(Number.isInteger),
]);
const isAllowed = (count) => {
  const perSecond = count / (GIVEN.nanos / 1e9);
  return perSecond >= 1e-6 && perSecond <= 1e6 && (GIVEN.nanos / count) * bursts[bursts.length - 1] < YEARS;
};
const rates = sorted([
  GIVEN.count,
  ...round(GIVEN.count / 20, GIVEN.count * 20, [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8]).filter(isAllowed),
]);

const state = {
  arrivals: data.arrivals === null ? null : read(data.arrivals),
  clicks: [], // of each, the requests that it added
  rate: rates.indexOf(GIVEN.count),
  burst: bursts.indexOf(data.burst),
  when: FROM + ((TO - FROM) * 3n) / 4n,
  lane: Math.max(0, data.lanes.findIndex((lane) => lane.client !== null)),
};

const rateText = () => `${rates[state.rate]}${GIVEN.per}`;
const burstNow = () => bursts[state.burst];
const limitNow = () => limitOf({ ...GIVEN, count: rates[state.rate] }, burstNow());

function momentWords(moment) {
  if (data.moments === "start") return sinceStart(moment);
  return `${new Date(Number(moment / 1_000_000n)).toISOString().replace("T", " ").slice(0, 23)} UTC`;
}

/** The same where there is little room. */
function shortWords(moment) {
  if (data.moments === "start") return sinceStart(moment);
  const text = momentWords(moment);
  return TO - FROM < 86_400_000_000_000n ? text.slice(11, 19) : text.slice(5, 16);
}

const holds = (lane, client) => (lane.client === null ? !lane.allBut.includes(client) : lane.client === client);
const clientOf = (lane) => data.lanes[lane]?.client ?? null;

/** The lane in which the fullest window is to be seen. */
function laneOf(worst) {
  if (!worst) return -1;
  const own = data.lanes.findIndex((lane) => lane.client === worst.client);
  return own === -1 ? data.lanes.findIndex((lane) => holds(lane, worst.client)) : own;
}

/** What the algorithm makes of the arrivals, lane by lane. */
function drawnOf(name, limit) {
  const verdicts = verdictsOf(name, limit, state.arrivals);
  const numbers = numbersOf(name, limit, verdicts);
  const worstLane = laneOf(numbers.worst);
  const lanes = data.lanes.map((lane, n) => {
    const own = verdicts.filter(({ client }) => holds(lane, client));
    const moments = own.map(({ at }) => at);
    return {
      verdicts: own,
      waits: waits(name),
      state: lane.client === null ? null : follow(name, limit, moments, lane.client, FROM, TO, data.sizes),
      worst: n === worstLane ? numbers.worst : null,
    };
  });
  return { numbers, lanes };
}

const isShown = ({ root }) => getComputedStyle(root).display !== "none";

function draw() {
  const limit = limitNow();
  const rows = data.algorithms.map(({ name }) => drawnOf(name, limit));
  for (const { root, pen } of pictures.filter(isShown)) {
    const { frames } = pen.layout;
    root.querySelectorAll(".arrivals .live").forEach((into, n) => {
      pen.arrived(into, frames[n], state.arrivals.filter(({ client }) => holds(data.lanes[n], client)));
    });
    const added = state.clicks.length === 0 ? "" : `, ${addedSoFar()} of them added here`;
    root.querySelector(".arrivals .numbers").textContent = requests() + added;
    root.querySelectorAll(".row").forEach((row, r) => {
      const { numbers, lanes } = rows[r];
      row.querySelector("title").textContent = rowWords(data.algorithms[r].title, numbers, limit);
      pen.numbers(row.querySelector(".counts"), numbers);
      row.querySelectorAll(".live").forEach((into, n) => pen.lane(into, frames[n], limit, numbers, lanes[n]));
    });
  }
  say(limit, rows);
  readings(limit, rows);
}

const addedSoFar = () => state.clicks.flat().length;
const requests = () => `${counted(state.arrivals.length)} request${state.arrivals.length === 1 ? "" : "s"}`;

/** What is said in words about the limit and the dials. */
function say(limit, rows) {
  at("heading").textContent = `The same ${requests()} under ten rate limits`;
  const options = `--rate ${rateText()} --burst ${burstNow()}`;
  const isGiven = rates[state.rate] === GIVEN.count && burstNow() === data.burst;
  const lead = at("lead");
  lead.replaceChildren("The limit: ", html("b", limitWords(limit)), isGiven ? ", given as " : ", which is ", html("code", options), `. ${summaryWords(data.algorithms.map(({ title }) => title), rows.map(({ numbers }) => numbers), limit)}`);
  at("rate-said").textContent = rateText();
  at("burst-said").textContent = counted(burstNow());
  at("rate").setAttribute("aria-valuetext", `${rateText()}, which is ${limitWords(limit)}`);
  at("burst").setAttribute("aria-valuetext", `${burstNow()}, which is ${limitWords(limit)}`);
  at("line").textContent = `kidoban ${options}`;
  at("undo").disabled = state.clicks.length === 0;
  at("reset").disabled = state.clicks.length === 0 && isGiven;
  for (const button of [at("add"), at("add-ten")]) {
    button.disabled = addedSoFar() >= ADDED_MAX;
    button.title = button.disabled ? `${ADDED_MAX} are added: no more` : "";
  }
}

function html(tag, words, kind) {
  const element = document.createElement(tag);
  element.textContent = words;
  if (kind) element.className = kind;
  return element;
}

/** How an algorithm stands at a moment, and what it would say to one more request. */
function standing({ name, level }, limit, client, moment) {
  const limiter = START[name](limit);
  for (const one of state.arrivals) {
    if (one.at > moment) break;
    if (one.client === client) limiter.decide(client, one.at);
  }
  const look = limiter.look(client, moment);
  const amount = Math.floor(look.level * 100 + 1e-6) / 100;
  const served = limiter.decide(client, moment);
  return {
    words: `${level}: ${amount} of ${px(look.full)}`,
    verdict: served === null ? "refused" : served > moment ? `let in ${lengthOf(served - moment)} later` : "let in",
    kind: served === null ? "never" : "yes",
  };
}

function readings(limit, rows) {
  const client = clientOf(state.lane);
  at("moment").textContent = momentWords(state.when);
  at("when-said").textContent = shortWords(state.when);
  at("when").value = String(Number(((state.when - FROM) * 1000n) / (TO - FROM)));
  at("when").setAttribute("aria-valuetext", momentWords(state.when));
  at("of-whom").textContent = data.lanes.length > 1 ? ` for ${data.lanes[state.lane].name}` : "";
  at("fullest").textContent = `Fullest ${lengthOf(limit.window)}`;
  at("table").replaceChildren(
    ...data.algorithms.map((algorithm, n) => {
      const { numbers } = rows[n];
      const now = standing(algorithm, limit, client, state.when);
      const row = document.createElement("tr");
      const title = html("th", algorithm.title);
      title.scope = "row";
      const worst = numbers.worst?.count ?? 0;
      row.append(
        title,
        html("td", now.words),
        html("td", now.verdict, now.kind),
        html("td", counted(numbers.letIn)),
        html("td", counted(numbers.refused)),
        html("td", counted(worst), worst > burstNow() ? "much" : ""),
      );
      return row;
    }),
  );
  cursor();
}

/** A line through all rows at the moment. */
function cursor() {
  for (const { root, pen } of pictures) {
    const line = root.querySelector(".cursor") ?? add(root, "path", { class: "cursor" });
    const x = px(pen.x(state.when));
    line.setAttribute("d", `M${x} 30V${root.viewBox.baseVal.height - 16}`);
  }
}

// A dial may move many times a frame; one drawing is enough.
let isDue = false;
function soon() {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    draw();
  });
}

function insert(client, moment, many) {
  const room = Math.min(many, ADDED_MAX - addedSoFar());
  const click = Array.from({ length: room }, () => ({ at: moment, client }));
  const after = state.arrivals.findIndex((other) => other.at > moment);
  state.arrivals.splice(after === -1 ? state.arrivals.length : after, 0, ...click);
  if (room > 0) state.clicks.push(click);
  const what = room === 1 ? "One request" : `${room} requests`;
  at("said").textContent = room === 0 ? "No more requests can be added." : `${what} added at ${momentWords(moment)}.`;
  soon();
}

function forget() {
  const click = state.clicks.pop();
  state.arrivals = state.arrivals.filter((one) => !click.includes(one));
  const what = click.length === 1 ? "The request" : `The ${click.length} requests`;
  at("said").textContent = `${what} at ${momentWords(click[0].at)} ${click.length === 1 ? "is" : "are"} gone.`;
  soon();
}

/** What is under the pointer: a moment, and the row and the lane if there are any. */
function under(event) {
  const picture = pictures.find(({ root }) => root.contains(event.target));
  if (!picture) return null;
  const { root, pen } = picture;
  const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(root.getScreenCTM().inverse());
  const { left, right } = pen.layout;
  if (point.x < left - 6 || point.x > right + 6) return null;
  const share = Math.min(1, Math.max(0, (point.x - left) / (right - left)));
  const moment = FROM + ((TO - FROM) * BigInt(Math.round(share * 1e6))) / 1_000_000n;
  const row = event.target.closest(".row");
  const lanes = [...(event.target.closest(".row, .arrivals")?.querySelectorAll(".lane") ?? [])];
  const lane = lanes.findLastIndex((lane) => lane.getBoundingClientRect().top <= event.clientY);
  return { moment, row: row ? Number(row.dataset.row) : null, lane, isOnRow: lanes.length > 0 };
}

function tip(event, found) {
  const box = at("tip");
  const lines = found && tipLines(found);
  box.hidden = !lines;
  if (!lines) return;
  box.replaceChildren(html("b", lines[0]), ...lines.slice(1).flatMap((line) => [line, document.createElement("br")]));
  const { width, height } = box.getBoundingClientRect();
  const room = document.documentElement.clientWidth;
  box.style.left = `${Math.max(4, Math.min(event.clientX + 14, room - width - 4))}px`;
  box.style.top = `${event.clientY + 18 + height > innerHeight ? event.clientY - height - 12 : event.clientY + 18}px`;
}

function tipLines({ moment, row, lane }) {
  if (row === null) return null;
  const algorithm = data.algorithms[row];
  const when = momentWords(moment);
  if (data.bars) {
    const bar = data.bars[row].find(([from]) => moment >= BigInt(from) && moment < BigInt(from) + BAR);
    const [, now, late, refused] = bar ?? [0, 0, 0, 0];
    const waiting = late > 0 ? `, ${counted(late)} of them after a wait` : "";
    return [algorithm.title, `${lengthOf(BAR)} around ${when}:`, `${counted(now + late)} let in${waiting}, ${counted(refused)} refused`];
  }
  const client = clientOf(lane) ?? clientOf(state.lane);
  const now = standing(algorithm, limitNow(), client, moment);
  const whose = data.lanes.length > 1 ? ` · ${data.lanes.find((lane) => lane.client === client).name}` : "";
  return [`${algorithm.title} · ${when}${whose}`, now.words, `one more request would be ${now.verdict}`];
}

function start() {
  const picture = at("picture");
  picture.addEventListener("pointermove", (event) => {
    const found = under(event);
    tip(event, found);
    if (found && !data.bars && event.pointerType === "mouse" && found.moment !== state.when) {
      state.when = found.moment;
      if (clientOf(found.lane) !== null) state.lane = found.lane;
      follower();
    }
  });
  picture.addEventListener("pointerleave", (event) => tip(event, null));
  if (data.bars) {
    at("still").hidden = false;
    return;
  }
  document.body.dataset.dials = "";
  at("controls").hidden = false;
  at("readings").hidden = false;
  dial("rate", rates, () => state.rate, (n) => (state.rate = n));
  dial("burst", bursts, () => state.burst, (n) => (state.burst = n));
  at("when").addEventListener("input", () => {
    state.when = FROM + ((TO - FROM) * BigInt(at("when").value)) / 1000n;
    follower();
  });
  const who = at("who");
  data.lanes.forEach((lane, n) => {
    if (lane.client !== null) who.append(new Option(lane.name, n, false, n === state.lane));
  });
  at("whose").hidden = who.options.length < 2;
  who.addEventListener("change", () => {
    state.lane = Number(who.value);
    soon();
  });
  at("add").addEventListener("click", () => insert(clientOf(state.lane), state.when, 1));
  at("add-ten").addEventListener("click", () => insert(clientOf(state.lane), state.when, 10));
  at("undo").addEventListener("click", forget);
  at("reset").addEventListener("click", () => {
    const added = new Set(state.clicks.flat());
    state.arrivals = state.arrivals.filter((one) => !added.has(one));
    state.clicks = [];
    state.rate = rates.indexOf(GIVEN.count);
    state.burst = bursts.indexOf(data.burst);
    at("rate").value = String(state.rate);
    at("burst").value = String(state.burst);
    soon();
  });
  // A finger's tap asks for the state; a mouse is already there, and adds.
  picture.addEventListener("click", (event) => {
    const found = under(event);
    if (!found?.isOnRow) return;
    state.when = found.moment;
    if (clientOf(found.lane) !== null) state.lane = found.lane;
    who.value = String(state.lane);
    if (event.pointerType === "mouse") insert(clientOf(state.lane), found.moment, 1);
    else tip(event, found);
    soon();
  });
  for (const { root } of pictures) reachable(root);
  addEventListener("resize", soon);
  draw();
}

/** So that the empty parts of a row are under the pointer too. */
function reachable(root) {
  const { height, width } = root.viewBox.baseVal;
  const rows = [...root.querySelectorAll(".row, .arrivals")];
  const top = (row) => row.transform.baseVal.consolidate().matrix.f;
  rows.forEach((row, n) => {
    const bottom = n + 1 < rows.length ? top(rows[n + 1]) : height - 20;
    const area = add(row, "rect", { class: "reach", y: "-6", width: px(width), height: px(bottom - top(row)) });
    row.prepend(area);
    row.prepend(row.querySelector("title"));
  });
}

function dial(id, steps, get, set) {
  const input = at(id);
  input.max = String(steps.length - 1);
  input.value = String(get());
  input.addEventListener("input", () => {
    set(Number(input.value));
    soon();
  });
}

// Only what depends on the moment.
let isFollowing = false;
function follower() {
  if (isFollowing) return;
  isFollowing = true;
  requestAnimationFrame(() => {
    isFollowing = false;
    const limit = limitNow();
    const rows = data.algorithms.map(({ name }) => ({ numbers: numbersOf(name, limit, verdictsOf(name, limit, state.arrivals)) }));
    at("who").value = String(state.lane);
    readings(limit, rows);
  });
}

start();
