// Draws what changes with the limit: the same as src/simulate/output/figure/live.rs, to the
// letter. A test compares the two; whoever changes one changes the other.

const SVG = "http://www.w3.org/2000/svg";
const px = (length) => String(Math.floor(length * 10 + 0.5) / 10 + 0);

function add(parent, tag, attributes, words) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (words !== undefined) element.textContent = words;
  parent.append(element);
  return element;
}

const counted = (number) => String(number).replace(/\B(?=(\d{3})+(\.|$))/g, ",");
const letters = (words) => [...words].length;

/** A length of time in words: see axis.rs. */
function lengthOf(nanos) {
  const decimal = (unit, name) => {
    const hundredths = nanos / (unit / 100n);
    const [whole, rest] = [hundredths / 100n, hundredths % 100n];
    if (rest === 0n) return `${whole} ${name}`;
    return rest % 10n === 0n ? `${whole}.${rest / 10n} ${name}` : `${whole}.${String(rest).padStart(2, "0")} ${name}`;
  };
  const pair = (unit, name, part, partName) => {
    const [whole, rest] = [nanos / unit, (nanos % unit) / part];
    return rest === 0n ? `${whole} ${name}` : `${whole} ${name} ${rest} ${partName}`;
  };
  const [micro, milli, second, minute, hour, day] = [1_000n, 1_000_000n, 1_000_000_000n, 60_000_000_000n, 3_600_000_000_000n, 86_400_000_000_000n];
  if (nanos === 0n) return "0 s";
  if (nanos < micro) return `${nanos} ns`;
  if (nanos < milli) return decimal(micro, "µs");
  if (nanos < second) return decimal(milli, "ms");
  if (nanos < minute) return decimal(second, "s");
  if (nanos < hour) return pair(minute, "min", second, "s");
  if (nanos < day) return pair(hour, "h", minute, "min");
  return pair(day, "d", hour, "h");
}

/** A moment since the start: see axis.rs. */
function sinceStart(at) {
  const [second, minute, hour, day] = [1_000_000_000n, 60_000_000_000n, 3_600_000_000_000n, 86_400_000_000_000n];
  const smallerUnit = at < hour ? second : at < day ? minute : hour;
  if (at < minute || at % smallerUnit === 0n) return lengthOf(at);
  const two = (number) => String(number).padStart(2, "0");
  const [days, hours, minutes] = [at / day, (at % day) / hour, (at % hour) / minute];
  const seconds = two((at % minute) / second);
  const rest = String((at % second) / 1_000_000n).padStart(3, "0").replace(/0+$/, "");
  const clock = days + hours === 0n ? `${minutes}:${seconds}` : `${hours}:${two(minutes)}:${seconds}`;
  return (days === 0n ? "" : `${days} d `) + clock + (rest && `.${rest}`);
}

function worstWords(worst, numbers, limit) {
  const verb = numbers.later > 0 ? "served" : "let in";
  const words = `${counted(worst.count)} ${verb} within ${lengthOf(limit.window)}`;
  const burst = Number(limit.burst);
  if (worst.count === 2 * burst) return `${words}: twice the limit`;
  return worst.count > burst ? `${words}: the limit is ${counted(burst)}` : words;
}

function rowWords(title, numbers, limit) {
  let words = `${title}: ${counted(numbers.letIn)} let in, ${counted(numbers.refused)} refused`;
  if (numbers.later > 0) words += `, the longest wait ${lengthOf(numbers.longestWait)}`;
  if (numbers.worst) words += `; at most ${worstWords(numbers.worst, numbers, limit)}`;
  return `${words}.`;
}

/** What is to be seen, as words.rs says it. */
function summaryWords(titles, all, limit) {
  const name = (title) => (/^.\p{Lu}/u.test(title) ? title : `the ${title[0].toLowerCase()}${title.slice(1)}`);
  const by = (values, value) => {
    const who = titles.filter((_, n) => values[n] === value);
    return who.length === 1 ? name(who[0]) : `${who.length} algorithms`;
  };
  const letIn = all.map((numbers) => numbers.letIn);
  const [few, many] = [Math.min(...letIn), Math.max(...letIn)];
  let words =
    few === many
      ? `Every algorithm lets in ${counted(many)}.`
      : `The fewest are let in by ${by(letIn, few)} (${counted(few)}), the most by ${by(letIn, many)} (${counted(many)}).`;
  const inWindow = all.map((numbers) => numbers.worst?.count ?? 0);
  const full = Math.max(...inWindow);
  if (full > Number(limit.burst)) {
    words += ` The fullest ${lengthOf(limit.window)}: ${counted(full)} let in for one client by ${by(inWindow, full)}, where the limit says ${limitWords(limit)}.`;
  }
  return words;
}

const limitWords = (limit) => `${counted(limit.burst)} per ${lengthOf(limit.window)}`;

/** Draws into one of the two pictures, whose sizes and time axis it knows. */
class Pen {
  constructor(layout, sizes, from, to, bar) {
    Object.assign(this, { layout, sizes, from, to, bar });
  }

  x(at) {
    const { left, right } = this.layout;
    const inside = at < this.from ? this.from : at > this.to ? this.to : at;
    return left + (Number(inside - this.from) / Number(this.to - this.from)) * (right - left);
  }

  holds(at) {
    return at >= this.from && at <= this.to;
  }

  lane(into, frame, limit, numbers, drawn) {
    into.replaceChildren();
    if (drawn.state) {
      this.curve(into, frame, drawn.state);
      this.lookBack(into, frame, limit, drawn.state);
      this.windows(into, frame, limit, drawn.state);
    }
    if (this.bar === null) this.dots(into, frame, drawn.verdicts, drawn.waits);
    else this.bars(into, frame, drawn.verdicts, drawn.waits);
    if (drawn.worst) this.bracket(into, frame, limit, numbers, drawn.worst);
  }

  numbers(into, numbers) {
    into.replaceChildren();
    const text = add(into, "text", { class: "numbers", x: px(this.layout.margin), y: "33" });
    add(text, "tspan", { class: "ink-in" }, counted(numbers.letIn));
    add(text, "tspan", {}, " let in, ");
    add(text, "tspan", { class: "ink-no" }, counted(numbers.refused));
    add(text, "tspan", {}, " refused");
    if (numbers.later > 0) add(text, "tspan", { class: "faint" }, `, up to ${lengthOf(numbers.longestWait)} late`);
  }

  curve(into, frame, state) {
    const height = frame.curveBottom - frame.curveTop;
    const all = state.curve.map(([at, level]) => [this.x(at), frame.curveBottom - (level / state.full) * height]);
    const points = straightened(notched(thinned(all), this.sizes.notchWidth));
    if (points.length === 0) return;
    const line = points.map(([x, y], n) => `${n === 0 ? "M" : "L"}${px(x)} ${px(y)}`).join("");
    const base = px(frame.curveBottom);
    const area = `${line}L${px(points[points.length - 1][0])} ${base}L${px(points[0][0])} ${base}Z`;
    const { left, right } = this.layout;
    add(into, "path", { class: "area", d: area });
    add(into, "path", { class: "full", d: `M${px(left)} ${px(frame.curveTop)}H${px(right)}` });
    add(into, "path", { class: "curve", d: line });
    add(into, "text", { class: "scale", x: px(right + 5), y: px(frame.curveTop + 4) }, counted(px(state.full)));
  }

  lookBack(into, frame, limit, state) {
    const at = state.looksBackAt;
    if (at === undefined) return;
    const from = above(at, limit.window);
    const [begin, end] = [this.x(from), this.x(at)];
    add(into, "path", { class: "back", d: `M${px(end)} ${px(frame.dotsTop)}V${px(frame.labels + 4)}` });
    if (at >= limit.window && this.holds(from)) {
      add(into, "path", { class: "back", d: `M${px(begin + 5)} ${px(frame.labels - 3)}l-5 3l5 3` });
    }
    const back = lengthOf(limit.window);
    this.span(into, frame, begin, end, [`looks back ${back}, as from every moment`, back]);
  }

  windows(into, frame, limit, state) {
    const apart = state.windows.slice(1).map((window, n) => this.x(window.from) - this.x(state.windows[n].from));
    if (apart.some((apart) => apart < this.sizes.edgesApartMin)) return;
    state.windows.forEach((window, n) => {
      this.edge(into, frame, window.from);
      if (state.windows[n + 1]?.from !== window.to) this.edge(into, frame, window.to);
      const count = counted(window.letIn);
      const of = `${count} of ${counted(limit.burst)}`;
      const words = state.countsFromZero ? [`counts from 0: ${of}`, of] : [`${count} let in`, count];
      this.span(into, frame, this.x(window.from), this.x(window.to), words);
    });
  }

  edge(into, frame, at) {
    const x = this.x(at);
    if (this.holds(at) && x > this.layout.left) {
      add(into, "path", { class: "edge", d: `M${px(x)} ${px(frame.dotsTop - 2)}V${px(frame.labels + 4)}` });
    }
  }

  span(into, frame, begin, end, choices) {
    const width = this.sizes.labelLetterWidth;
    const room = end - begin - 8;
    const words = choices.find((words) => letters(words) * width + 6 <= room);
    if (words === undefined) return;
    const middle = (begin + end) / 2;
    const half = (letters(words) * width) / 2 + 3;
    const y = px(frame.labels);
    const line = `M${px(begin + 2)} ${y}H${px(middle - half)}M${px(middle + half)} ${y}H${px(end - 2)}`;
    add(into, "path", { class: "span", d: line });
    add(into, "text", { class: "label", x: px(middle), y: px(frame.labels + 4) }, words);
  }

  /** What lies where: [verdict, x, y]. */
  placed(frame, verdicts) {
    const { pitch, apart } = this.sizes;
    const taken = [];
    const places = verdicts.map((verdict) => {
      const x = this.x(verdict.at);
      const free = taken.findIndex((last) => x - last >= apart);
      const level = free === -1 ? taken.length : free;
      taken[level] = x;
      return [verdict, x, level];
    });
    const highest = taken.length - 1;
    const room = frame.dotsBottom - frame.dotsTop - pitch;
    const close = highest > 0 ? Math.min(pitch, room / highest) : pitch;
    return places.map(([verdict, x, level]) => [verdict, x, frame.dotsBottom - pitch / 2 - level * close]);
  }

  dots(into, frame, verdicts, waits) {
    const placed = this.placed(frame, verdicts);
    const { radius } = this.sizes;
    if (waits) {
      for (const [{ served }, x, y] of placed) {
        if (served !== null) add(into, "path", { class: "wait", d: `M${px(x)} ${px(y)}H${px(this.x(served))}` });
      }
    }
    for (const [{ served }, x, y] of placed) if (served === null) this.circle(into, "no", x, y, radius - 0.6);
    for (const [{ served }, x, y] of placed) {
      if (served === null) continue;
      const isBeyond = waits && !this.holds(served);
      this.circle(into, isBeyond ? "in beyond" : "in", waits ? this.x(served) : x, y, radius);
    }
  }

  circle(into, kind, x, y, radius) {
    add(into, "circle", { class: kind, cx: px(x), cy: px(y), r: px(radius) });
  }

  /** The arrivals before any verdict. */
  arrived(into, frame, arrivals) {
    into.replaceChildren();
    if (this.bar === null) {
      for (const [, x, y] of this.placed(frame, arrivals)) this.circle(into, "ask", x, y, this.sizes.radius - 0.4);
      return;
    }
    const bars = this.counts(arrivals, false);
    const most = Math.max(0, ...bars.map((bar) => bar.now + bar.later + bar.refused));
    this.stacked(into, frame, bars, most, "bar-ask", (bar) => [0, bar.now + bar.later + bar.refused]);
    this.scale(into, frame, most);
  }

  counts(verdicts, waits) {
    const bars = [];
    for (const { at, served } of verdicts) {
      const from = at - (at % this.bar);
      if (bars.length === 0 || bars[bars.length - 1].from < from) bars.push({ from, now: 0, later: 0, refused: 0 });
      bars[bars.length - 1][served === null ? "refused" : waits ? "later" : "now"] += 1;
    }
    return bars;
  }

  bars(into, frame, verdicts, waits) {
    const bars = this.counts(verdicts, waits);
    const most = Math.max(0, ...bars.map((bar) => bar.now + bar.later + bar.refused));
    this.stacked(into, frame, bars, most, "bar-in", (bar) => [0, bar.now]);
    this.stacked(into, frame, bars, most, "bar-late", (bar) => [bar.now, bar.later]);
    this.stacked(into, frame, bars, most, "bar-no", (bar) => [bar.now + bar.later, bar.refused]);
    this.scale(into, frame, most);
  }

  stacked(into, frame, bars, most, kind, part) {
    const height = frame.dotsBottom - frame.dotsTop;
    const high = (count) => frame.dotsBottom - (count / most) * height;
    let shape = "";
    for (const bar of bars) {
      const [below, count] = part(bar);
      if (count === 0) continue;
      const bottom = px(high(below));
      const top = px(Math.min(high(below + count), high(below) - this.sizes.barHeightMin));
      shape += `M${px(this.x(bar.from))} ${bottom}V${top}H${px(this.barEnd(bar.from))}V${bottom}Z`;
    }
    add(into, "path", { class: kind, d: shape });
  }

  barEnd(from) {
    const [begin, end] = [this.x(from), this.x(from + this.bar)];
    const gap = end - begin > this.sizes.barGapFrom ? 1 : 0;
    return Math.max(end - gap, begin + this.sizes.barWidthMin);
  }

  scale(into, frame, most) {
    add(into, "text", { class: "scale", x: px(this.layout.right + 5), y: px(frame.dotsTop + 4) }, counted(most));
  }

  bracket(into, frame, limit, numbers, worst) {
    const over = worst.count > Number(limit.burst) ? " over" : "";
    const to = worst.from + limit.window;
    const begin = this.x(worst.from);
    const end = Math.max(this.x(to), begin + this.sizes.bracketWidthMin);
    const [y, foot] = [px(frame.bracket), px(frame.bracket + 4)];
    const shape = `M${px(begin)} ${foot}V${y}H${px(end)}${this.holds(to) ? `V${foot}` : ""}`;
    add(into, "path", { class: `worst${over}`, d: shape });
    const words = worstWords(worst, numbers, limit);
    const length = letters(words) * this.sizes.letterWidth;
    const x = Math.max(Math.min(begin, this.layout.right - length), frame.nameEnd);
    add(into, "text", { class: `said${over}`, x: px(x), y: px(frame.bracket - 4) }, words);
  }
}

/** Of the points in one column of pixels the first, the lowest, the highest and the last. */
function thinned(points) {
  const kept = [];
  for (let begin = 0, end; begin < points.length; begin = end) {
    const column = Math.floor(points[begin][0]);
    let [least, most] = [begin, begin];
    for (end = begin; end < points.length && Math.floor(points[end][0]) === column; end += 1) {
      if (points[end][1] < points[least][1]) least = end;
      if (points[end][1] > points[most][1]) most = end;
    }
    const corners = [begin, least, most, end - 1].sort((a, b) => a - b);
    corners.forEach((corner, n) => {
      if (n === 0 || corners[n - 1] !== corner) kept.push(points[corner]);
    });
  }
  return kept;
}

/** With a gap where a level falls and is back at the same moment. */
function notched(points, width) {
  const kept = [];
  points.forEach((point, n) => {
    const [before, after] = [kept[kept.length - 1], points[n + 1]];
    if (before !== undefined && after !== undefined) {
      const isLowest = point[1] > before[1] + width && point[1] > after[1] + width;
      const begin = point[0] - width;
      if (isLowest && after[0] - before[0] < width) {
        while (kept.length > 0 && kept[kept.length - 1][0] > begin) kept.pop();
        kept.push([begin, before[1]], [begin, point[1]]);
      }
    }
    kept.push(point);
  });
  return kept;
}

/** Without the points that lie on the line between their neighbours. */
function straightened(points) {
  const kept = [];
  points.forEach((point, n) => {
    const [last, next] = [kept[kept.length - 1], points[n + 1]];
    if (last !== undefined && next !== undefined) {
      const [across, down] = [next[0] - last[0], next[1] - last[1]];
      const bend = (point[0] - last[0]) * down - (point[1] - last[1]) * across;
      if (Math.abs(bend) <= 0.1 * (Math.abs(across) + Math.abs(down))) return;
    }
    kept.push(point);
  });
  return kept;
}
