"use strict";
// Numbers, times and states as a person reads them. Draws nothing, asks for nothing.

/** Series of the chart, in the order of the gates: key, name, what it means. */
const GATES = [
  ["protocol", "protocol", "before the gates: no proper request, unknown path"],
  ["draining", "draining", "the gateway was shutting down"],
  ["body", "1 body", "too long, or too slow"],
  ["shape", "2 shape", "not one proper JSON object"],
  ["ticket", "3 ticket", "the client’s bucket was empty"],
  ["engine", "4 engine", "the engine was not up"],
  ["queue", "5 queue", "no room to wait"],
  ["after", "after", "the engine failed or took too long"],
];

/** Statuses of outcomes; one that is not here is shown without. */
const STATUSES = {
  ok: 200, bad_request: 400, bad_shape: 400, not_found: 404, method_not_allowed: 405,
  body_timeout: 408, body_too_large: 413, expectation_failed: 417, rate_limited: 429,
  queue_full: 429, internal: 500, engine_failed: 502, draining: 503, engine_down: 503,
  shed: 503, engine_timeout: 504,
};

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
/** From here on a number is shortened; until then every digit counts. */
const SHORTENED_FROM = 10_000_000;

function count(n) {
  if (!Number.isFinite(n)) return "unknown";
  return n < SHORTENED_FROM ? grouped.format(n) : compact.format(n);
}

/** `1 turn`, `2 turns`. */
function counted(n, one, many = `${one}s`) {
  return `${count(n)} ${n === 1 ? one : many}`;
}

/** Seconds: `3.2 s`, `42 s`, `3 min 5 s`, `2 h 10 min`, `12 d 3 h`. */
function span(s) {
  if (!Number.isFinite(s)) return "an unknown time";
  if (s < 9.95) return `${s.toFixed(1)} s`;
  if (s < 59.5) return `${Math.round(s)} s`;
  const [big, small, bigName, smallName] =
    s < 3600 ? [60, 1, "min", "s"] : s < 86_400 ? [3600, 60, "h", "min"] : [86_400, 3600, "d", "h"];
  const all = Math.max(Math.round(s / small), big / small);
  const rest = all % (big / small);
  return `${count(Math.floor((all * small) / big))} ${bigName}${rest ? ` ${rest} ${smallName}` : ""}`;
}

/** The same without tenths, for a running time. */
function whole(s) {
  return s < 59.5 ? `${Math.floor(s)} s` : span(s);
}

/** Milliseconds: `0.42 ms`, `12.3 ms`, `340 ms`, `1.25 s`. */
function brief(ms) {
  if (!Number.isFinite(ms)) return "none yet";
  if (ms < 1) return `${ms.toFixed(2)} ms`;
  if (ms < 99.95) return `${ms.toFixed(1)} ms`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  return ms < 59_950 ? `${(ms / 1000).toFixed(2)} s` : span(ms / 1000);
}

/** What was refused in this step or in total. */
function refusedIn(point) {
  return GATES.reduce((sum, [key]) => sum + point[key], 0);
}

/** The sum of some steps, series by series. */
function sumOf(points) {
  const sum = { ok: 0 };
  for (const [key] of GATES) sum[key] = 0;
  for (const point of points) for (const key in sum) sum[key] += point[key];
  return sum;
}

/** `ticket 12, queue 3`, the most first. */
function byGate(sum) {
  const some = GATES.filter(([key]) => sum[key] > 0).sort(([a], [b]) => sum[b] - sum[a]);
  return some.map(([key]) => `${key}\u00a0${count(sum[key])}`).join(", ");
}

/** The answer in the largest type: a word, a tone, a glyph, a sentence. */
function verdict(status) {
  const { engine, health } = status;
  const since = whole(engine.for_s);
  switch (health) {
    case "up": {
      const last = status.recent.points.slice(-2);
      const busy = last.some((point) => point.waiting_max >= status.queue.places);
      const shaky = engine.deaths.filter((death) => death.ago_s < 60).length > 1;
      const sentence = `Turns are taken. The engine has been up for ${since} and has answered ${engine.turns === 0 ? "no turn yet" : counted(engine.turns, "turn")}.`;
      if (shaky) return { word: "Up, but shaky", tone: "warn", glyph: "care", sentence };
      if (busy) return { word: "Up, but busy", tone: "warn", glyph: "care", sentence };
      return { word: "Up", tone: "ok", glyph: "well", sentence };
    }
    case "starting":
      return { word: "Starting", tone: "warn", glyph: "wait", sentence: `The engine has been starting for ${since}. Until it is up, new turns are refused.` };
    case "down":
      return { word: "Down", tone: "bad", glyph: "bad", sentence: `The engine has been down for ${since} and will be started again. Until then new turns are refused; those that wait keep their places.` };
    case "draining":
      return { word: "Draining", tone: "warn", glyph: "leave", sentence: "The gateway is shutting down: it answers the turns it accepted and takes no more." };
    default:
      return { word: String(health), tone: "warn", glyph: "unknown", sentence: `The engine has been ${engine.state} for ${since}.` };
  }
}

/** Whether `--shadow` is among the flags in force. */
function inShadow(status) {
  return status.limits.some(({ flag, value }) => flag === "--shadow" && /^(true|on)\b/.test(value));
}

/** What deserves a second look, each with its tone. */
function remarks(status) {
  const { engine, queue, connections, clients } = status;
  const found = [];
  const lately = engine.deaths.filter((death) => death.ago_s < 60);
  if (lately.length > 0) {
    const [last] = lately;
    const often = lately.length > 1 ? `, ${lately.length}${lately.length === engine.deaths.length && engine.deaths_total > lately.length ? " or more" : ""} deaths in the last minute` : "";
    found.push(["bad", `The engine died ${whole(last.ago_s)} ago: ${last.cause} (${last.status})${often}.`]);
  }
  if (queue.waiting >= queue.places) found.push(["warn", `All ${counted(queue.places, "place")} in the queue ${queue.places === 1 ? "is" : "are"} taken.`]);
  const minute = sumOf(status.recent.points.slice(-Math.round(60 / status.recent.step_s)));
  const refused = refusedIn(minute);
  if (refused > 0) {
    const share = Math.floor((100 * refused) / (refused + minute.ok));
    // Strangers who ask for paths that are not there are no reason to look twice.
    const hurts = refused - minute.protocol >= minute.ok;
    found.push([hurts ? "warn" : "calm", `${share < 1 ? "Under 1" : share} % of the last minute’s requests were refused: ${byGate(minute)}.`]);
  }
  if (inShadow(status)) found.push(["warn", `Shadow mode: an empty bucket refuses nobody. It would have refused ${counted(status.shadow_refusals, "turn")}.`]);
  if (connections.open >= connections.max) found.push(["warn", `All ${count(connections.max)} connections are in use.`]);
  if (clients.remembered >= clients.max) found.push(["warn", `The table of clients is full: newcomers share one bucket.`]);
  if (status.log_lines_lost > 0) found.push(["warn", `${counted(status.log_lines_lost, "log line")} lost: whoever reads the log is too slow.`]);
  return found;
}
