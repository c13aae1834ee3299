// Plays the demo's page in a real Chromium and tells what it saw, as one line of JSON.
// node play.cjs CHROMIUM URL FOLDER: pictures go to FOLDER. The gateway at URL gives
// each client four tickets and then none for a long time; here every page is a client.
"use strict";

const path = require("node:path");
const { chromium } = require("playwright-core");

const [executablePath, url, folder] = process.argv.slice(2);
const PAUSE_MS = 1500; // long enough to see a retry that must not come

const WINDOWS = {
  desktop: { width: 1280, height: 800 },
  phone: { width: 390, height: 844 },
};

async function openPage(browser, { lang, theme, size, client }) {
  const context = await browser.newContext({
    locale: lang === "ja" ? "ja-JP" : "en-US",
    colorScheme: theme,
    viewport: WINDOWS[size],
    hasTouch: size === "phone",
    reducedMotion: "reduce", // so that a picture shows the end and not the way there
    extraHTTPHeaders: { "x-forwarded-for": client },
  });
  const page = await context.newPage();
  page.strangers = [];
  page.turns = 0;
  page.complaints = [];
  page.on("request", (request) => {
    if (request.url().startsWith("data:")) return;
    if (!request.url().startsWith(url)) page.strangers.push(request.url());
    if (request.method() === "POST") page.turns += 1;
  });
  page.on("pageerror", (error) => page.complaints.push(String(error)));
  await page.goto(url);
  await told(page, 1);
  return page;
}

/** Waits until the story has this many turns, and the last has its reply. */
async function told(page, turns) {
  await page.waitForFunction((n) => {
    const all = document.querySelectorAll("#story .turn");
    const last = all[all.length - 1];
    const mine = last?.querySelector(".mine");
    return all.length >= n && last.innerText.length > (mine ? mine.innerText.length : 0) && !last.querySelector(".waiting");
  }, turns);
}

async function say(page, text) {
  const before = await page.locator("#story .turn").count();
  await page.locator("#input").fill(text);
  await page.locator("#input").press("Enter");
  await told(page, before + 1);
}

async function look(page) {
  return page.evaluate(() => ({
    story: document.querySelector("#story").innerText,
    last: document.querySelector("#story .turn:last-child").innerText,
    carried: document.querySelector("#carried").innerText,
    place: document.querySelector("#place").innerText,
    input: document.querySelector("#input").value,
    focus: document.activeElement.id,
    lang: document.documentElement.lang,
    overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    background: getComputedStyle(document.body).backgroundColor,
  }));
}

async function main() {
  const browser = await chromium.launch({
    executablePath,
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync", "--no-first-run"],
  });
  const seen = {};
  const shot = (page, name) => page.screenshot({ path: path.join(folder, `${name}.png`) });
  try {
    // English, by day, on a desk: words, a button, and then one turn too many.
    let page = await openPage(browser, { lang: "en", theme: "light", size: "desktop", client: "192.0.2.1" });
    seen.opening = await look(page);
    await say(page, "take the lantern");
    seen.taken = await look(page);
    // By keyboard alone: a button has the focus, Enter presses it, and the focus comes back.
    await page.locator("#exits button").first().focus();
    await page.keyboard.press("Enter");
    await told(page, 3);
    seen.moved = await look(page);
    await say(page, "look around");
    await shot(page, "desktop-light");
    await say(page, "go south");
    seen.refused = await look(page);
    const turns = page.turns;
    await page.waitForTimeout(PAUSE_MS);
    seen.retries = page.turns - turns;
    await shot(page, "refused");
    await page.reload();
    await told(page, 1);
    seen.reloaded = await look(page);
    seen.strangers = page.strangers;
    seen.complaints = page.complaints;

    // Japanese, by night, on a phone; then the other three pairs, to look at.
    page = await openPage(browser, { lang: "ja", theme: "dark", size: "phone", client: "192.0.2.2" });
    await say(page, "提灯を取る");
    seen.phone = await look(page);
    await shot(page, "phone-dark");
    await page.locator("#things button").first().click();
    await told(page, 3);
    seen.button = await look(page);
    await page.locator("#input").fill("𠮷".repeat(250));
    seen.longInput = await page.evaluate(() => [...document.querySelector("#input").value].length);
    await say(page, "北へ行く");
    await say(page, "南へ行く");
    seen.refusedInJapanese = await look(page);
    seen.complaints.push(...page.complaints);
    page = await openPage(browser, { lang: "ja", theme: "dark", size: "desktop", client: "192.0.2.3" });
    await say(page, "提灯を取る");
    await say(page, "北へ行く");
    seen.night = await look(page);
    await shot(page, "desktop-dark");
    page = await openPage(browser, { lang: "en", theme: "light", size: "phone", client: "192.0.2.4" });
    seen.smallDay = await look(page);
    await shot(page, "phone-light");
  } finally {
    await browser.close();
  }
  console.log(JSON.stringify(seen));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
