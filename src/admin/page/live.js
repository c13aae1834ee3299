// The page itself: hears the gateway, fills in what is there. What comes from outside
// is only ever put in as text.

/** News older than this is said to be late. */
const LATE_MS = 4_000;
/** News older than this is no news: the state is unknown. */
const GONE_MS = 10_000;
/** Until a closed stream is opened again. */
const REOPEN_MS = 3_000;
/** A queue of at most so many places is drawn place by place. */
const PLACES_DRAWN = 64;

/** A longer answer than this is set smaller. */
const LONG_WORD = 8;

const GLYPHS = {
  well: "M9 26l5 6 9-12",
  care: "M16 16v12M16 34v.1",
  bad: "M10 19l12 14M22 19L10 33",
  wait: "M9 26v.1M16 26v.1M23 26v.1",
  leave: "M16 17v16M10 27l6 6 6-6",
  unknown: "M11.5 20.5a4.5 4.5 0 1 1 6.6 4c-1.5.8-2.1 1.7-2.1 3.2M16 34v.1",
};
const ICON_FILLS = { ok: "#2d6a3d", warn: "#b87400", bad: "#c0301f", none: "#7b7265" };

const at = (id) => document.getElementById(id);
const root = document.documentElement;
let last = null; // the newest status
let heard = performance.now(); // when it came
let asked = heard; // when a stream was last opened
let said = ""; // the word shown, and announced when it changes
let version = null;
let stream;
let chosen = null; // a step of the chart, from the newest

function put(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function make(name, className, ...children) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...children);
  return made;
}

/** Gives an element exactly so many children and returns them. Those that stay are kept,
    so that a selection in them lives on. */
function children(parent, n, build) {
  while (parent.children.length > n) parent.lastElementChild.remove();
  while (parent.children.length < n) parent.append(build(parent.children.length));
  return [...parent.children];
}

/** Rows of texts: the first of each is the row's header. */
function rows(body, texts) {
  const build = (i) => {
    const row = make("tr", "", ...texts[i].map((_, c) => make(c === 0 ? "th" : "td", "")));
    row.firstChild.scope = "row";
    return row;
  };
  const made = children(body, texts.length, build);
  made.forEach((row, i) => texts[i].forEach((text, c) => put(row.cells[c], text)));
  return made;
}

/** Names and values: `[name, value, tone, isCode]`. */
function pairs(list, entries) {
  const build = () => make("div", "", make("dt", ""), make("dd", ""));
  children(list, entries.length, build).forEach((pair, i) => {
    const [name, value, tone, isCode] = entries[i];
    const [dt, dd] = pair.children;
    put(dt, name);
    if (isCode && !dd.firstElementChild) dd.append(make("code", ""));
    put(dd.firstElementChild ?? dd, value);
    if (isCode) dd.firstElementChild.title = value;
    if (tone) dd.dataset.tone = tone;
    else delete dd.dataset.tone;
  });
}

/** The text before an element's only child. */
function label(element, text) {
  if (element.firstChild.nodeType !== Node.TEXT_NODE) element.prepend(document.createTextNode(""));
  if (element.firstChild.data !== text) element.firstChild.data = text;
}

/** A number in large type and a few words in small. */
function figure(id, text, words) {
  const dd = at(id);
  if (!dd.firstChild) dd.append(make("small", ""));
  label(dd, text);
  put(dd.lastChild, words && ` ${words}`);
}

function face({ word, tone, glyph, sentence }) {
  put(at("word"), word);
  at("word").toggleAttribute("data-long", word.length > LONG_WORD);
  put(at("sentence"), sentence);
  if (said === word) return;
  said = word;
  root.dataset.tone = tone;
  at("glyph").setAttribute("d", GLYPHS[glyph]);
  put(at("said"), `kidoban: ${word}`);
  document.title = `${word} · kidoban`;
  const drawn = `<svg xmlns="${SVG}" viewBox="-6 0 44 44"><rect x="1" y="1" width="30" height="42" rx="4" fill="${ICON_FILLS[tone]}"/>` +
    `<path d="${GLYPHS[glyph]}" fill="none" stroke="#fff" stroke-width="5" stroke-linecap="round" stroke-linejoin="round"/></svg>`;
  at("icon").href = `data:image/svg+xml,${encodeURIComponent(drawn)}`;
}

function showNotes(notes) {
  children(at("notes"), notes.length, () => make("li", "")).forEach((item, i) => {
    [item.dataset.tone] = notes[i];
    put(item, notes[i][1]);
  });
}

function showFigures(status, minute) {
  figure("fig-ok", count(minute.ok), minute.ok === 1 ? "turn" : "turns");
  const refused = refusedIn(minute);
  figure("fig-refused", count(refused), refused === 1 ? "request" : "requests");
  const { waiting, places, order } = status.queue;
  figure("fig-queue", count(waiting), `of ${counted(places, "place")}, ${order}`);
  const usual = status.times.turn_ms?.p50;
  if (Number.isFinite(usual)) {
    const [number, unit] = brief(usual).split(/ (.*)/);
    figure("fig-turn", number, unit);
  } else figure("fig-turn", "", "no turn yet");
  const drawn = places <= PLACES_DRAWN ? places : 1;
  children(at("places"), drawn, () => make("i", "")).forEach((place, i) => {
    if (drawn === places) place.className = i < waiting ? "taken" : "";
    else {
      place.className = "bar";
      place.style.setProperty("--share", `${(100 * waiting) / places}%`);
    }
  });
}

function showGates(status, minute) {
  const { points, step_s } = status.recent;
  const long = sumOf(points);
  const list = [["ok", "answered", "the engine’s line, sent on"], ...GATES];
  const build = (i) => {
    const [key, name, why] = list[i];
    const head = make("th", "", swatch(key), make("span", "", name, " ", make("span", "why", why)));
    head.scope = "row";
    return make("tr", "", head, make("td", ""), make("td", ""), make("td", ""));
  };
  children(at("gates"), list.length, build).forEach((row, i) => {
    const [key] = list[i];
    const total = key === "ok" ? status.turns.ok : status.refusals[key];
    row.className = total === 0 ? "zero" : "";
    [minute[key], long[key], total].forEach((n, c) => put(row.cells[c + 1], count(n)));
  });
  put(at("summary"), `In the last ${span(points.length * step_s)}: ${counted(long.ok, "turn")} answered, ${count(refusedIn(long))} refused${refusedIn(long) > 0 ? ` (${byGate(long)})` : ""}. The table after the chart has the numbers.`);
}

function showEngine({ engine, stderr_lines_dropped: dropped }) {
  const entries = [
    ["State", `${engine.state} for ${whole(engine.for_s)}`, engine.state === "up" ? "" : engine.state === "down" ? "bad" : "warn"],
    ["Turns answered", `${count(engine.turns)} since it started`],
    ["Deaths", engine.deaths_total === 0 ? "none" : count(engine.deaths_total)],
    ["Process", engine.pid === null ? "none now" : String(engine.pid)],
    ["Stderr dropped", dropped === 0 ? "nothing" : counted(dropped, "line")],
    ["Command", engine.command, "", true],
  ];
  pairs(at("engine"), entries);
  const { deaths } = engine;
  at("no-deaths").hidden = deaths.length > 0;
  const build = () => make("li", "", make("span", ""));
  children(at("deaths"), deaths.length, build).forEach((item, i) => {
    const { ago_s, cause, status, ran_s, turns } = deaths[i];
    label(item, `${whole(ago_s)} ago: ${cause}`);
    put(item.lastChild, `${status}, after ${brief(ran_s * 1000)} and ${counted(turns, "turn")}`);
  });
}

function showTimes({ times }) {
  at("no-times").hidden = times.of_turns > 0;
  at("times-table").hidden = times.of_turns === 0;
  put(at("times-of"), times.of_turns === 1 ? "The one turn that reached the engine" : `The last ${count(times.of_turns)} turns that reached the engine`);
  const names = [["waiting", times.wait_ms], ["in the engine", times.engine_ms], ["whole turn", times.turn_ms]];
  rows(at("times"), names.map(([name, p]) => [name, brief(p?.p50), brief(p?.p90), brief(p?.p99)]));
}

function showClients({ most_refused: list }) {
  at("no-clients").hidden = list.length > 0;
  at("clients-table").hidden = list.length === 0;
  const most = list[0]?.refused ?? 1;
  const texts = list.map(({ client, refused, at_least }) => [
    client, at_least === refused ? count(refused) : `${count(at_least)} to ${count(refused)}`,
  ]);
  rows(at("clients"), texts).forEach((row, i) => row.style.setProperty("--share", `${(100 * list[i].refused) / most}%`));
}

function showHouse(status) {
  const { clients, connections } = status;
  pairs(at("house"), [
    ["Connections", `${count(connections.open)} of ${count(connections.max)}`, connections.open >= connections.max ? "warn" : ""],
    ["Clients remembered", `${count(clients.remembered)} of ${count(clients.max)}`, clients.remembered >= clients.max ? "warn" : ""],
    ["Clients forgotten", clients.forgotten === 0 ? "none" : count(clients.forgotten)],
    ["In a shared bucket", clients.overflowed === 0 ? "nobody" : counted(clients.overflowed, "turn"), clients.overflowed > 0 ? "warn" : ""],
    ["Log lines lost", status.log_lines_lost === 0 ? "none" : count(status.log_lines_lost), status.log_lines_lost > 0 ? "warn" : ""],
    ["Shadow mode", inShadow(status) ? `on: ${counted(status.shadow_refusals, "turn")} would have been refused` : "off", inShadow(status) ? "warn" : ""],
    ["Gateway", `up for ${whole(status.uptime_s)}`],
  ]);
}

function showLimits({ limits }) {
  const build = () => make("div", "", make("dt", "", make("code", "")), make("dd", "", make("code", "")));
  children(at("limits"), limits.length, build).forEach((pair, i) => {
    const { flag, value, source } = limits[i];
    pair.className = source === "default" ? "usual" : "given";
    put(pair.children[0].firstChild, flag);
    put(pair.children[1].firstChild, value);
  });
}

function showOutcomes({ turns }) {
  const known = Object.keys(STATUSES);
  const place = (name) => (known.indexOf(name) + known.length + 1) % (known.length + 1); // a name unknown comes last
  const names = Object.keys(turns).sort((a, b) => place(a) - place(b));
  const build = () => {
    const head = make("th", "", make("code", ""), " ", make("small", ""));
    head.scope = "row";
    return make("tr", "", head, make("td", ""));
  };
  children(at("outcomes"), names.length, build).forEach((row, i) => {
    const name = names[i];
    const [code, small] = row.cells[0].children;
    put(code, name);
    put(small, STATUSES[name] ? String(STATUSES[name]) : "");
    put(row.cells[1], count(turns[name]));
    row.className = turns[name] === 0 ? "zero" : "";
  });
}

function showChart() {
  if (document.hidden || !last) return;
  const box = at("chart");
  const width = Math.floor(box.clientWidth);
  if (width === 0) return;
  const shown = draw(at("drawing"), width, last, chosen);
  if (chosen !== null) chosen = Math.max(0, Math.min(chosen, shown - 1));
  const text = chosen === null || shown === 0 ? "" : read(last, chosen);
  put(at("reading"), text || "Point at the chart, or use the arrow keys in it, to read one step. × marks a death of the engine.");
  box.setAttribute("aria-valuemin", String(-Math.max(0, shown - 1)));
  box.setAttribute("aria-valuemax", "0");
  box.setAttribute("aria-valuenow", String(-(chosen ?? 0)));
  box.setAttribute("aria-valuetext", text || "nothing chosen");
}

function show(status) {
  last = status;
  heard = performance.now();
  const now = `${status.version} ${status.commit}`;
  if (version !== null && version !== now) location.reload(); // a newer gateway has a newer page
  version = now;
  put(at("version"), `· ${status.version} (${status.commit.slice(0, 12)})`);
  const minute = sumOf(status.recent.points.slice(-Math.round(60 / status.recent.step_s)));
  face(verdict(status));
  showNotes(remarks(status));
  showFigures(status, minute);
  showGates(status, minute);
  showEngine(status);
  showTimes(status);
  showClients(status);
  showHouse(status);
  showOutcomes(status);
  showLimits(status);
  freshness();
  showChart();
}

/** Says how old the news is. */
function freshness() {
  const age = performance.now() - heard;
  const state = last === null ? (age > GONE_MS ? "gone" : "none") : age > GONE_MS ? "gone" : age > LATE_MS ? "late" : "fresh";
  if (last !== null || state === "gone") root.dataset.news = state;
  put(at("news"), state === "fresh" ? "live" : last === null && state !== "gone" ? "asking" : `no news for ${whole(age / 1000)}`);
  if (state === "gone") {
    const known = last === null ? "It was never heard." : `The last that was heard: ${verdict(last).word.toLowerCase()}.`;
    face({ word: "No news", tone: "none", glyph: "unknown", sentence: `The gateway has not been heard for ${whole(age / 1000)}. ${known} This page keeps asking.` });
    showNotes([]); // their times would be wrong by now
  }
}

function listen() {
  stream?.close();
  asked = performance.now();
  stream = new EventSource("status.json");
  stream.addEventListener("status", (event) => show(JSON.parse(event.data)));
  stream.addEventListener("error", () => {
    if (stream.readyState !== EventSource.CLOSED) return; // it comes back by itself
    ask();
    setTimeout(listen, REOPEN_MS);
  });
}

/** Once, without a stream: there may be no room for one more. */
async function ask() {
  try {
    const answer = await fetch("status.json", { headers: { accept: "application/json" }, cache: "no-store" });
    if (answer.ok) show(await answer.json());
  } catch {
    // The page says itself how old its news is.
  }
}

function choose(step) {
  chosen = step;
  showChart();
}

function pointed(event) {
  const box = at("chart").getBoundingClientRect();
  if (!last || box.width === 0) return;
  const steps = stepsShown(box.width, last.recent.step_s);
  const share = (box.right - event.clientX) / (box.width - GUTTER_PX);
  choose(Math.max(0, Math.floor(share * steps)));
}

const MOVES = { ArrowLeft: 1, ArrowDown: 1, ArrowRight: -1, ArrowUp: -1, PageDown: 12, PageUp: -12, Home: Infinity, End: -Infinity };
at("chart").addEventListener("keydown", (event) => {
  if (event.key === "Escape") choose(null);
  const move = MOVES[event.key];
  if (move === undefined) return;
  event.preventDefault();
  const shown = last ? last.recent.points.length : 0;
  choose(chosen === null ? 0 : Math.max(0, Math.min(chosen + move, shown - 1)));
});
for (const name of ["pointermove", "pointerdown"]) at("chart").addEventListener(name, pointed);
at("chart").addEventListener("blur", () => choose(null));
at("chart").addEventListener("pointerleave", (event) => {
  if (event.pointerType === "mouse") choose(null); // a finger is lifted to read
});
document.addEventListener("visibilitychange", showChart);
new ResizeObserver(showChart).observe(at("chart"));

root.dataset.news = "none";
at("glyph").setAttribute("d", GLYPHS.wait);
put(at("host"), location.host);
setInterval(() => {
  freshness();
  // A stream can die without a word, as when the machine slept.
  if (performance.now() - Math.max(heard, asked) > GONE_MS && stream.readyState === EventSource.OPEN) listen();
}, 500);
listen();
