// Watches the status page in a real Chromium while turns run, and tells what it saw as
// one line of JSON. node status.cjs STORY, a JSON object: `chromium`; `admin` and `public`,
// each HOST:PORT of one gateway; its `pid`; `ready`, a file at which its engine begins to
// read; `shadow`, the HOST:PORT of the admin listener of one that only counts; `folder`, where pictures go.
"use strict";

const fs = require("node:fs");
const http = require("node:http");
const net = require("node:net");
const path = require("node:path");
const { chromium } = require("playwright-core");

const story = JSON.parse(process.argv[2]);
const [publicHost, publicPort] = story.public.split(":");
const SAMPLES = 4; // seconds of comparing while turns run

/** A wire between the page and the gateway that can be cut and mended. */
class Wire {
  #sockets = new Set();
  #server;
  port = 0;

  async mend() {
    this.#server = net.createServer((near) => {
      const [host, port] = story.admin.split(":");
      const far = net.connect(Number(port), host);
      for (const socket of [near, far]) {
        this.#sockets.add(socket);
        socket.on("error", () => {});
        socket.on("close", () => {
          this.#sockets.delete(socket);
          near.destroy();
          far.destroy();
        });
      }
      near.pipe(far).pipe(near);
    });
    await new Promise((done) => this.#server.listen(this.port, "127.0.0.1", done));
    this.port = this.#server.address().port;
  }

  cut() {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** One request to the public side: its status, once the whole answer is there. */
function send(body, { client = "198.51.100.1", method = "POST" } = {}) {
  return new Promise((done, failed) => {
    const headers = { "x-forwarded-for": client, "content-length": Buffer.byteLength(body) };
    const request = http.request({ host: publicHost, port: publicPort, path: "/api/turn", method, headers, agent: false });
    request.on("response", (response) => response.resume().on("end", () => done(response.statusCode)));
    request.on("error", failed);
    request.end(body);
  });
}

const turn = (steps, mark = "") => JSON.stringify({ kind: "look", mark, do: steps });

/** In the page, before its own script: what the last event held, and what the policy forbade. */
function listenIn() {
  window.violations = [];
  document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective));
  const Native = window.EventSource;
  window.EventSource = class extends Native {
    constructor(...all) {
      super(...all);
      this.addEventListener("status", (event) => (window.event_text = event.data));
    }
  };
}

/** In the page: the last event and what is shown, at one moment. */
function look() {
  const text = (selector) => document.querySelector(selector)?.innerText.trim() ?? null;
  const all = (selector, read) => [...document.querySelectorAll(selector)].map(read);
  const shown = (selector) => document.querySelector(selector).getClientRects().length > 0;
  const cells = (row) => [...row.cells].map((cell) => cell.innerText.trim());
  const pairs = (selector) => Object.fromEntries(all(`${selector} > div`, (pair) => [...pair.children].map((child) => child.innerText.trim())));
  return {
    event: JSON.parse(window.event_text),
    title: document.title,
    word: text("h1"),
    sentence: text("#sentence"),
    said: document.querySelector("[role=status]").textContent,
    news: text("#news"),
    notes: all("#notes li", (item) => item.innerText),
    figures: Object.fromEntries(all(".figures > div", (pair) => [pair.children[0].innerText, pair.children[1].innerText])),
    places: document.querySelectorAll("#places .taken").length,
    gates: all("#gates tr", cells),
    outcomes: Object.fromEntries(all("#outcomes tr", (row) => [row.querySelector("code").innerText, row.cells[1].innerText])),
    engine: pairs("#engine"),
    house: pairs("#house"),
    limits: pairs("#limits"),
    pale: all("#limits .usual dt", (flag) => flag.innerText),
    deaths: all("#deaths li", (item) => item.innerText),
    times: shown("#times-table") ? all("#times tr", cells) : [],
    clients: shown("#clients-table") ? all("#clients tr", cells) : [],
    noTurn: shown("#no-times"),
    bars: document.querySelectorAll("#drawing path[fill], #drawing path.s-ok, #drawing path.s-waiting").length,
    summary: document.querySelector("#summary").textContent,
    headings: all("h1, h2, h3", (heading) => heading.tagName).join(" "),
    landmarks: ["header", "main", "footer"].filter((name) => document.querySelectorAll(name).length === 1),
    pictures: document.querySelectorAll("img").length,
    icon: document.querySelector("link[rel=icon]").href.slice(0, 19),
  };
}

/** In the page: how wide it is, and how large its answer. */
function measure() {
  return {
    overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    background: getComputedStyle(document.body).backgroundColor,
    letters_px: parseFloat(getComputedStyle(document.querySelector("h1")).fontSize),
  };
}

const GATES = ["protocol", "draining", "body", "shape", "ticket", "engine", "queue", "after"];

/** What the gateway might say after a long time: in each window other numbers. */
function aged(status) {
  const old = structuredClone(status);
  const point = (i) => ({ ok: 100 + i, waiting_max: i % 4, ...Object.fromEntries(GATES.map((gate, g) => [gate, (i * (g + 2)) % 7])) });
  old.recent.points = Array.from({ length: 120 }, (_, i) => point(i));
  old.turns.ok = 1_234_567;
  for (const [g, gate] of GATES.entries()) old.refusals[gate] = 10_000 + g;
  old.engine.deaths = Array.from({ length: 8 }, (_, i) => ({ ...status.engine.deaths[0], ago_s: 2 + i * 45, cause: `cause ${i}` }));
  old.engine.deaths_total = 9;
  old.most_refused = [{ client: "2001:db8:85a3:8d3::/64", refused: 45, at_least: 41 }];
  return old;
}

/** The same at its worst: numbers that no table was made for, and words that never end. */
function extreme(status) {
  const worst = aged(status);
  const huge = 98_765_432_109_876;
  for (const point of worst.recent.points) for (const name in point) point[name] *= 1e9;
  for (const counts of [worst.turns, worst.refusals]) for (const name in counts) counts[name] = huge;
  worst.queue = { waiting: 812_345, places: 1_000_000, order: "fair" };
  worst.times = { of_turns: 1024, wait_ms: { p50: 59_999, p90: 8.64e7, p99: 8.64e8 }, engine_ms: { p50: 0, p90: 999.9, p99: 3e4 }, turn_ms: { p50: 61_234, p90: 99_999, p99: 1e12 } };
  worst.most_refused = Array.from({ length: 10 }, (_, i) => ({ client: `2001:db8:ffff:ffff:ffff:ffff:ffff:fff${i}`, refused: huge, at_least: huge - 1 }));
  worst.engine.command = "x".repeat(900);
  worst.engine.deaths_total = huge;
  for (const death of worst.engine.deaths) Object.assign(death, { cause: "c".repeat(200), status: "s".repeat(200), turns: huge, ran_s: 1e9 });
  worst.limits.push({ flag: "--limit-for", value: "2001:db8::/32=5:10, ".repeat(60), source: "" });
  worst.commit = "0123456789".repeat(4);
  return worst;
}

async function open(browser, url) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" });
  const page = await context.newPage();
  page.strangers = [];
  page.complaints = [];
  page.on("request", (request) => {
    if (!request.url().startsWith("data:") && !request.url().startsWith(url)) page.strangers.push(request.url());
  });
  page.on("pageerror", (error) => page.complaints.push(String(error)));
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) page.complaints.push(message.text());
  });
  await page.addInitScript(listenIn);
  await page.goto(url);
  await page.waitForFunction(() => document.documentElement.dataset.news === "fresh");
  return page;
}

/** Waits until an event that the page was told fulfils this. */
async function heard(page, condition) {
  let text = null;
  do {
    const next = await page.waitForFunction((old) => window.event_text !== old && window.event_text, text);
    text = await next.jsonValue();
  } while (!condition(JSON.parse(text)));
}

async function main() {
  const wire = new Wire();
  await wire.mend();
  const url = `http://127.0.0.1:${wire.port}/`;
  const browser = await chromium.launch({
    executablePath: story.chromium,
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync", "--no-first-run"],
  });
  const seen = {};
  const shot = (page, name) => page.screenshot({ path: path.join(story.folder, `status-${name}.png`), fullPage: true });
  try {
    const page = await open(browser, url);
    await heard(page, (status) => status.health === "starting");
    seen.refusedAtStart = await send(turn([]));
    await heard(page, (status) => status.refusals.engine === 1);
    seen.starting = await page.evaluate(look);
    fs.writeFileSync(story.ready, "");
    await heard(page, (status) => status.health === "up");

    // Turns run, and some of each kind of refusal; at any moment the page says what it was told.
    let running = true;
    const players = [1, 2].map(async (player) => {
      let answered = 0;
      while (running) answered += (await send(turn(["sleep:20", "reply"]), { client: `198.51.100.${player}` })) === 200 ? 1 : 0;
      return answered;
    });
    seen.statuses = [
      await send("[]"),
      await send(JSON.stringify({ kind: "look", long: "x".repeat(3000) })),
      await send("", { method: "PUT" }),
    ];
    for (let i = 0; i < 5; i += 1) seen.statuses.push(await send(turn([]), { client: "192.0.2.9" }));
    seen.busy = [];
    for (let i = 0; i < SAMPLES; i += 1) {
      const before = await page.evaluate(() => window.event_text);
      await page.waitForFunction((text) => window.event_text !== text, before);
      seen.busy.push(await page.evaluate(look));
    }
    running = false;
    seen.answered = (await Promise.all(players)).reduce((sum, n) => sum + n, 0);

    // The queue runs over, and the engine dies in a turn.
    const slow = [1, 2, 3, 4].map((n) => send(turn(["sleep:1000", "reply"]), { client: `198.51.100.${n}` }));
    seen.crowd = (await Promise.all([...slow, heard(page, (status) => status.queue.waiting > 0).then(() => page.evaluate(look))])).pop();
    seen.slow = (await Promise.all(slow)).sort();
    seen.died = await send(turn(["stderr:2", "exit:3"]));
    await heard(page, (status) => status.engine.deaths_total === 1 && status.health === "up" && status.refusals.after === 1);
    seen.death = await page.evaluate(look);

    // All is quiet: the page, its last event and a fresh answer say the same.
    seen.fetched = await page.evaluate(async () => (await fetch("status.json")).json());
    await heard(page, (status) => JSON.stringify(status.turns) === JSON.stringify(seen.fetched.turns));
    seen.quiet = await page.evaluate(look);

    // By keyboard, step by step into the past.
    await page.locator("#chart").focus();
    for (const key of ["ArrowLeft", "ArrowLeft", "ArrowLeft", "Home"]) await page.keyboard.press(key);
    seen.reading = await page.evaluate(() => [document.querySelector("#reading").innerText, document.querySelector("#chart").getAttribute("aria-valuetext")]);
    await page.keyboard.press("Escape");
    await page.evaluate(() => document.activeElement.blur());

    seen.sizes = [];
    for (const theme of ["light", "dark"]) {
      for (const [name, width, height] of [["phone", 360, 740], ["tablet", 800, 1100], ["desktop", 1280, 800], ["wall", 2560, 1440]]) {
        await page.emulateMedia({ colorScheme: theme });
        await page.setViewportSize({ width, height });
        // The chart follows its width a frame later.
        await page.waitForFunction(() => document.querySelector("#drawing").viewBox.baseVal.width === document.querySelector("#chart").clientWidth);
        seen.sizes.push({ name, theme, ...(await page.evaluate(measure)) });
        await shot(page, `${name}-${theme}`);
      }
    }
    await page.setViewportSize({ width: 1280, height: 800 });

    // No stream from here on: the page is told what a long life would have brought.
    const told = (status) => page.evaluate((text) => {
      stream.close();
      version = null; // another version would load the page anew
      window.event_text = text;
      show(JSON.parse(text));
    }, JSON.stringify(status));
    await told(aged(seen.quiet.event));
    seen.aged = await page.evaluate(look);
    await shot(page, "aged");
    await told(extreme(seen.quiet.event));
    for (const width of [360, 800, 1280, 2560]) {
      await page.setViewportSize({ width, height: 800 });
      const command = await page.locator("#engine code").innerText();
      if (!command.startsWith("xxx")) throw new Error(`not what it was told: ${command}`);
      seen.sizes.push({ name: `extreme at ${width}`, theme: "dark", ...(await page.evaluate(measure)) });
      if (width <= 800) await shot(page, `extreme-${width}`);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.evaluate(() => {
      version = null;
      listen();
    });
    await heard(page, (status) => status.commit === seen.quiet.event.commit);

    seen.strangers = page.strangers;
    seen.complaints = [...page.complaints];
    seen.violations = await page.evaluate(() => window.violations);

    // The wire is cut: late news, then no news; mended, all is well again.
    wire.cut();
    for (const [name, state] of [["late", "late"], ["gone", "gone"]]) {
      await page.waitForFunction((wanted) => document.documentElement.dataset.news === wanted, state);
      seen[name] = await page.evaluate(look);
      await shot(page, name);
    }
    await wire.mend();
    await page.waitForFunction(() => document.documentElement.dataset.news === "fresh");
    seen.back = await page.evaluate(look);

    // A shutdown begins while a turn is in the engine.
    const last = send(turn(["sleep:4000", "reply"]));
    await heard(page, (status) => status.queue.waiting === 1);
    process.kill(story.pid, "SIGTERM");
    await heard(page, (status) => status.health === "draining");
    seen.draining = await page.evaluate(look);
    await shot(page, "draining");
    seen.lastTurn = await last;

    const shadow = await open(browser, `http://${story.shadow}/`);
    await heard(shadow, (status) => status.shadow_refusals > 0);
    seen.shadow = await shadow.evaluate(look);
    await shot(shadow, "shadow");
  } finally {
    wire.cut();
    await browser.close();
  }
  console.log(JSON.stringify(seen));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
