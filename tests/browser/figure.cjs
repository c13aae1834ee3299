// Opens pages of `simulate` in a real Chromium and tells what it saw, as one line of JSON.
// node figure.cjs CHROMIUM FOLDER DECISIONS PAGE...: pictures go to FOLDER. The first page is
// the one that is used by hand.
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const { pathToFileURL } = require("node:url");
const { chromium } = require("playwright-core");

const [executablePath, folder, decisions, ...files] = process.argv.slice(2);
const DESK = { width: 1200, height: 900 };
const PHONE = { width: 390, height: 844 };

const nameOf = (file) => path.basename(file, ".html");
const overflow = (page) =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
const background = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
/** Two frames: what was asked for is drawn. */
const drawn = (page) =>
  page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

/** What can be drawn again, piece by piece: before any script, and after. */
const pieces = (document) => {
  const all = {};
  for (const id of ["wide", "narrow"]) {
    document.querySelectorAll(`#${id} .live, #${id} .counts, #${id} .arrivals .numbers, #${id} .row > title`).forEach((piece, n) => {
      all[`${id} ${n} ${piece.getAttribute("class") ?? "title"}`] = piece.innerHTML;
    });
  }
  all.heading = document.getElementById("heading").innerHTML;
  all.lead = document.getElementById("lead").textContent;
  return all;
};

/** Only the first thing that differs of each, and only its beginning. */
function differences(one, other) {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names]
    .filter((name) => one[name] !== other[name])
    .map((name) => {
      const [a, b] = [one[name] ?? "", other[name] ?? ""];
      let n = 0;
      while (n < a.length && a[n] === b[n]) n += 1;
      return `${name}: ${a.slice(Math.max(0, n - 40), n + 60)} / ${b.slice(Math.max(0, n - 40), n + 60)}`;
    })
    .slice(0, 4);
}

/** Random arrivals through the page's algorithms. */
function compare(scenarios) {
  const different = [];
  let compared = 0;
  const text = (value) => JSON.stringify(value, (_, inner) => (typeof inner === "bigint" ? String(inner) : inner));
  for (const { name, rate, burst, told } of scenarios) {
    const limiter = START[name](limitOf(rateOf(rate), burst));
    for (const { at, client, level, full, window, served } of told) {
      const moment = BigInt(at);
      const look = limiter.look(client, moment);
      const verdict = limiter.decide(client, moment);
      const [ours, theirs] = [text([look.level, look.full, look.window, verdict]), text([level, full, window, served])];
      compared += 1;
      if (ours !== theirs && different.length < 5) different.push(`${name} ${rate} ${burst} at ${at}: ${ours} / ${theirs}`);
    }
  }
  return { compared, different };
}

async function main() {
  const browser = await chromium.launch({
    executablePath,
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync", "--no-first-run"],
  });
  const seen = { complaints: [], strangers: [], pages: {} };
  const open = async (file, options) => {
    const context = await browser.newContext({ viewport: DESK, colorScheme: "light", ...options });
    const page = await context.newPage();
    page.on("pageerror", (error) => seen.complaints.push(`${nameOf(file)}: ${error}`));
    page.on("console", (message) => {
      if (message.type() === "error") seen.complaints.push(`${nameOf(file)}: ${message.text()}`);
    });
    page.on("request", (request) => {
      if (!/^(file|data):/.test(request.url())) seen.strangers.push(request.url());
    });
    await page.goto(pathToFileURL(file).href);
    if (options?.javaScriptEnabled !== false) await drawn(page);
    return page;
  };
  const shot = (page, name, fullPage = true) =>
    page.screenshot({ path: path.join(folder, `simulate-${name}.png`), fullPage });
  try {
    for (const file of files) {
      const name = nameOf(file);
      const told = (seen.pages[name] = {});
      const page = await open(file);
      const source = JSON.stringify(fs.readFileSync(file, "utf8"));
      // The file as it is, read by the same browser and never run.
      const fresh = await page.evaluate(`(${pieces})(new DOMParser().parseFromString(${source}, "text/html"))`);
      told.dials = await page.locator("#controls").isVisible();
      if (told.dials) {
        const wide = await page.evaluate(`(${pieces})(document)`);
        await page.setViewportSize(PHONE);
        await drawn(page);
        const both = await page.evaluate(`(${pieces})(document)`);
        told.compared = Object.keys(both).length;
        told.different = [...differences(fresh, wide), ...differences(fresh, both)];
        await page.setViewportSize(DESK);
        await drawn(page);
      } else {
        await page.locator("#wide .row").nth(5).hover({ position: { x: 500, y: 50 } });
        told.tip = await page.locator("#tip").innerText();
        await page.mouse.move(2, 2);
      }
      told.overflow = await overflow(page);
      told.day = await background(page);
      await shot(page, `${name}-day`);
      await page.emulateMedia({ colorScheme: "dark" });
      told.night = await background(page);
      await page.setViewportSize(PHONE);
      await drawn(page);
      told.phoneOverflow = await overflow(page);
      await shot(page, `${name}-phone-night`);
      await page.context().close();
    }
    for (const file of [files[0], files[files.length - 1]]) {
      const drawing = await open(file.replace(/html$/, "svg"), { viewport: { width: 900, height: 900 } });
      const height = await drawing.evaluate(() => document.documentElement.viewBox.baseVal.height);
      await drawing.setViewportSize({ width: 900, height: Math.ceil(height) });
      await shot(drawing, `${nameOf(file)}-svg-day`, false);
      await drawing.emulateMedia({ colorScheme: "dark" });
      await shot(drawing, `${nameOf(file)}-svg-night`, false);
      await drawing.context().close();
    }

    // By hand: Tab, arrows and Enter, then a mouse, then a finger.
    const page = await open(files[0]);
    seen.decisions = await page.evaluate(compare, JSON.parse(fs.readFileSync(decisions, "utf8")));
    const look = async () => {
      await drawn(page);
      return page.evaluate(() => ({
        arrivals: document.querySelectorAll("#wide .arrivals .ask").length,
        let_in: document.querySelectorAll('#wide .row[data-row="0"] .in').length,
        refused: document.querySelectorAll('#wide .row[data-row="0"] .no').length,
        undo: !document.getElementById("undo").disabled,
        said: document.getElementById("said").textContent,
        tip: document.getElementById("tip").innerText,
        marks: [...document.querySelectorAll("#wide .live")].map((live) => live.innerHTML).join(""),
      }));
    };
    seen.atFirst = await look();
    for (const id of ["rate", "burst", "when", "add"]) {
      await page.keyboard.press("Tab");
      const focus = await page.evaluate(() => document.activeElement.id);
      if (focus !== id) throw new Error(`Tab went to ${focus} instead of ${id}`);
    }
    await page.keyboard.press("Enter");
    seen.byKey = await look();
    await page.locator("#add-ten").click();
    seen.tenMore = await look();
    const fixed = page.locator('#wide .row[data-row="5"]');
    const xOf = (seconds) =>
      page.evaluate((seconds) => {
        const { pen, root } = pictures[0];
        const box = root.getBoundingClientRect();
        return box.x + (pen.x(BigInt(seconds * 1e9)) / pen.layout.width) * box.width;
      }, seconds);
    await fixed.scrollIntoViewIfNeeded();
    const yOf = async () => (await fixed.boundingBox()).y + 60;
    await page.mouse.click(await xOf(3), await yOf());
    seen.byMouse = await look();
    await page.locator("#undo").click();
    seen.undone = await look();
    await page.locator("#undo").click();
    seen.tenUndone = await look();
    for (let n = 0; n < 25 && (await page.locator("#add-ten").isEnabled()); n += 1) {
      await page.locator("#add-ten").click();
      await drawn(page);
    }
    seen.allAdded = await page.evaluate(() => ({
      numbers: document.querySelector("#wide .arrivals .numbers").textContent,
      why: document.getElementById("add").title,
    }));
    await page.locator("#reset").click();
    seen.reset = await look();
    await fixed.scrollIntoViewIfNeeded();
    await page.mouse.move(await xOf(12), await yOf());
    seen.hovered = await look();
    await shot(page, "hover", false);
    // Another limit: 5 in 10 s at most, 4 at once.
    const dial = async (id, wanted) => {
      await page.locator(`#${id}`).focus();
      for (let n = 0; n < 99; n += 1) {
        await drawn(page);
        const [number, said] = await page.evaluate(
          ([id]) => [Number(id === "rate" ? rates[state.rate] : burstNow()), document.getElementById(`${id}-said`).textContent],
          [id],
        );
        if (said === wanted) return;
        await page.keyboard.press(number > parseFloat(wanted) ? "ArrowLeft" : "ArrowRight");
      }
      throw new Error(`${id} never said ${wanted}`);
    };
    await dial("rate", "5/10s");
    await dial("burst", "4");
    await drawn(page);
    seen.dialled = await page.evaluate(() => ({
      titles: [...document.querySelectorAll("#wide .row > title")].map((title) => title.textContent),
      line: document.getElementById("line").textContent,
    }));
    await shot(page, "dialled");
    await page.context().close();

    const phone = await open(files[0], { viewport: PHONE, hasTouch: true, isMobile: true, deviceScaleFactor: 2 });
    const row = phone.locator('#narrow .row[data-row="5"]');
    await row.scrollIntoViewIfNeeded();
    const box = await row.boundingBox();
    await phone.touchscreen.tap(box.x + box.width * 0.7, box.y + box.height * 0.6);
    await drawn(phone);
    seen.tapped = await phone.evaluate(() => ({
      arrivals: document.querySelectorAll("#narrow .arrivals .ask").length,
      tip: document.getElementById("tip").innerText,
    }));
    await shot(phone, "tap", false);
    await phone.context().close();

    const bare = await open(files[0], { javaScriptEnabled: false });
    seen.unscripted = { rows: await bare.locator("#wide .row").count() };
    await bare.context().close();
  } finally {
    await browser.close();
  }
  process.stdout.write(JSON.stringify(seen));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
