// The chart: three strips over one time axis, drawn as SVG. Knows the recent points and
// the deaths, and nothing of where they come from.

const SVG = "http://www.w3.org/2000/svg";
/** Names, and heights in a chart of `USUAL_PX`; a wider one is higher. */
const STRIPS = [["Answered", 84], ["Refused", 112], ["Waiting", 48]];
const USUAL_PX = 800;
const TALLEST = 1.5;
const TITLE_PX = 36;
const AXIS_PX = 28;
const GUTTER_PX = 48;
/** Below this width a bar of ten minutes would be too thin: five are shown. */
const NARROW_PX = 520;
/** So much of a step is seen that what is not nothing never looks like nothing. */
const LEAST_PX = 1;

function svg(name, attributes, parent) {
  const made = document.createElementNS(SVG, name);
  for (const key in attributes) made.setAttribute(key, attributes[key]);
  parent?.append(made);
  return made;
}

/** A pattern for each series: lines and dots of the paper's colour over its own. */
const HATCHES = {
  protocol: [4, (p) => svg("circle", { class: "dots", cx: 2, cy: 2, r: 1 }, p)],
  draining: [4, (p) => svg("path", { class: "hatch", d: "M0 1h2M2 3h2" }, p)],
  body: [4, (p) => svg("path", { class: "hatch", d: "M1 0v4" }, p)],
  shape: [5, (p) => svg("path", { class: "hatch", d: "M-1 -1L6 6M-1 4L1 6M4 -1L6 1" }, p)],
  ticket: [4, () => {}],
  engine: [5, (p) => svg("path", { class: "hatch", d: "M-1 6L6 -1M-1 1L1 -1M4 6L6 4" }, p)],
  queue: [4, (p) => svg("path", { class: "hatch", d: "M0 1h4" }, p)],
  after: [6, (p) => svg("path", { class: "hatch", d: "M0 0L6 6M0 6L6 0" }, p)],
};

function patterns(parent) {
  const defs = svg("defs", {}, parent);
  for (const key in HATCHES) {
    const [size, hatch] = HATCHES[key];
    const pattern = svg("pattern", { id: `fill-${key}`, width: size, height: size, patternUnits: "userSpaceOnUse" }, defs);
    svg("rect", { class: `s-${key}`, width: size, height: size }, pattern);
    hatch(pattern);
  }
}

/** A swatch for a table's row. */
function swatch(key) {
  const made = svg("svg", { viewBox: "0 0 16 16", "aria-hidden": "true", focusable: "false" });
  svg("rect", { width: 16, height: 16, rx: 2, ...(key === "ok" ? { class: "s-ok" } : { fill: `url(#fill-${key})` }) }, made);
  return made;
}

/** The next of 1, 2, 5, 10, 20 … that is at least this. */
function roundUp(n) {
  const power = 10 ** Math.floor(Math.log10(Math.max(n, 1)));
  return [1, 2, 5, 10].map((step) => step * power).find((bound) => bound >= n);
}

/** How many steps fit into this width. */
function stepsShown(width, step_s) {
  return Math.round((width < NARROW_PX ? 300 : 600) / step_s);
}

/** Draws everything anew; `chosen` is a step counted from the newest, or null. */
function draw(root, width, status, chosen) {
  const { points: all, step_s } = status.recent;
  const steps = stepsShown(width, step_s);
  const points = all.slice(-steps);
  const right = width - 1;
  const slot = (right - GUTTER_PX) / steps;
  const bar = slot > 4 ? slot - 1 : slot;
  const x = (i) => right - (points.length - i) * slot;
  const places = status.queue.places;
  const most = [
    roundUp(Math.max(5, ...points.map((point) => point.ok))),
    roundUp(Math.max(5, ...points.map(refusedIn))),
    Math.max(places, ...points.map((point) => point.waiting_max)),
  ];
  const each = [`turns each ${step_s} s`, `requests each ${step_s} s, by gate`, `at most, of ${counted(places, "place")}`];
  const stretch = Math.min(TALLEST, Math.max(1, width / USUAL_PX));
  const heights = STRIPS.map(([, height]) => Math.round(height * stretch));
  let y = 0;
  const bottoms = heights.map((height) => (y += TITLE_PX + height));
  const height = y + AXIS_PX;

  root.replaceChildren();
  root.setAttribute("viewBox", `0 0 ${width} ${height}`);
  root.setAttribute("height", height);
  patterns(root);

  heights.forEach((height, s) => {
    for (const share of s < 2 && most[s] > 5 ? [1, 0.5] : [1]) {
      const at = bottoms[s] - share * height;
      svg("line", { class: "grid", x1: GUTTER_PX, x2: right, y1: at, y2: at }, root);
      const label = svg("text", { x: GUTTER_PX - 7, y: at + 4, "text-anchor": "end" }, root);
      label.textContent = compact.format(most[s] * share);
    }
  });

  const lists = [["ok"], GATES.map(([key]) => key), ["waiting_max"]];
  lists.forEach((keys, s) => {
    const floor = points.map(() => bottoms[s]);
    const ceiling = bottoms[s] - heights[s];
    for (const key of keys) {
      let path = "";
      points.forEach((point, i) => {
        if (point[key] === 0) return;
        const wanted = Math.max(LEAST_PX, (point[key] / most[s]) * heights[s]);
        const top = Math.max(ceiling, floor[i] - wanted);
        path += `M${x(i).toFixed(2)} ${floor[i].toFixed(2)}h${bar.toFixed(2)}V${top.toFixed(2)}h${(-bar).toFixed(2)}z`;
        floor[i] = top;
      });
      const look = s === 1 ? { fill: `url(#fill-${key})` } : { class: s === 0 ? "s-ok" : "s-waiting" };
      if (path) svg("path", { d: path, ...look }, root);
    }
    // The newest step is still filling.
    if (points.length > 0) svg("rect", { class: "filling", x: right - slot, y: ceiling, width: slot, height: heights[s] }, root);
    svg("line", { class: "base", x1: GUTTER_PX, x2: right, y1: bottoms[s], y2: bottoms[s] }, root);
  });

  const bound = bottoms[2] - (places / most[2]) * heights[2];
  svg("line", { class: "bound", x1: GUTTER_PX, x2: right, y1: bound, y2: bound }, root);

  const top = bottoms[0] - heights[0];
  const end = bottoms[bottoms.length - 1];
  const minutes = (steps * step_s) / 60;
  for (let minute = 0; minute <= minutes; minute += 1) {
    const at = right - ((minute * 60) / step_s) * slot;
    const labelled = minutes <= 5 || minute % 2 === 0;
    svg("line", { class: "base", x1: at, x2: at, y1: end, y2: end + (labelled ? 6 : 3) }, root);
    if (!labelled) continue;
    const anchor = minute === 0 ? "end" : "middle";
    const label = svg("text", { x: at, y: end + 19, "text-anchor": anchor }, root);
    label.textContent = minute === 0 ? "now" : `−${minute} min`;
  }
  if (points.length < steps) {
    const at = x(0);
    svg("line", { class: "began", x1: at, x2: at, y1: top, y2: end }, root);
    if (at - GUTTER_PX > 50) {
      const label = svg("text", { x: at - 6, y: top + 12, "text-anchor": "end" }, root);
      label.textContent = "started";
    }
  }
  for (const death of status.engine.deaths) {
    const at = right - (death.ago_s / step_s) * slot;
    if (at < GUTTER_PX) continue;
    svg("line", { class: "death", x1: at, x2: at, y1: top - 2, y2: end }, root);
    const mark = svg("text", { class: "death-mark", x: at, y: top - 4, "text-anchor": "middle" }, root);
    mark.textContent = "×";
  }
  STRIPS.forEach(([name], s) => {
    const title = svg("text", { class: "title", x: GUTTER_PX, y: bottoms[s] - heights[s] - 9 }, root);
    title.textContent = name;
    svg("tspan", { dx: 8, class: "unit" }, title).textContent = each[s];
  });
  if (chosen !== null && chosen < points.length) {
    svg("rect", { class: "cursor", x: right - (chosen + 1) * slot, y: top, width: slot, height: end - top }, root);
  }
  return points.length;
}

/** One step in words. */
function read(status, chosen) {
  const { points, step_s } = status.recent;
  const point = points[points.length - 1 - chosen];
  const refused = refusedIn(point);
  const when = chosen === 0 ? "Now" : `${span(chosen * step_s)} ago`;
  const why = refused > 0 ? ` (${byGate(point)})` : "";
  return `${when}: ${count(point.ok)} answered, ${count(refused)} refused${why}, at most ${count(point.waiting_max)} waiting.`;
}
