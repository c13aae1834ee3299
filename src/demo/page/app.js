// The page of the built-in game: shows the story and sends one turn at a time.
// The whole game is the `state` that the engine hands back; a turn that fails leaves it as it was,
// and nothing is ever sent again unasked. Everything shown is text, never markup.
"use strict";

const INPUT_MAX = 200; // Unicode scalar values, as the gateway counts
const COUNTER_FROM = 160;
const TRANSCRIPT_MAX = 80; // turns kept on the page and for a reload
const WAITING_AFTER_MS = 250; // a quick reply needs no waiting sign
const ANSWER_MAX_MS = 120_000; // longer than a gateway waits for its engine
const SAVED_GAME = "kidoban.game";
const SAVED_LANG = "kidoban.lang";

const WORDS = {
  ja: {
    title: "いの一番", subtitle: "朧座、雨の夜", story: "物語", panel: "番付",
    label: "したいこと、言いたいこと", placeholder: "したいことを、言葉で", send: "送る",
    restart: "最初から", begin: "開演", again: "もう一度、最初から", around: "あたりを見る",
    exits: "道", things: "ここ", carried: "手もと", nothing: "まだ何もない", turns: (n) => `第${n}手`,
    sure: "この芝居をやめて、最初から始めますか。", yes: "始める", no: "続ける",
    deed: { look: "見る", take: "取る", use: "使う", say: "話す" },
    act: {
      look: (name) => `${name}を見る`, take: (name) => `${name}を取る`,
      use: (name) => `${name}を使う`, say: (name) => `${name}に話しかける`,
    },
    go: (way, name) => `${way}の${name}へ`,
    waiting: "…………", waitingLabel: "返事を待っています",
    fail: {
      429: "（少し待ってからもう一度）",
      400: "（その台詞は、木戸を通れなかった。言いかえてみてください）",
      413: "（台詞が長すぎたようです）",
      502: "（舞台の灯がふっと消えた。もう一度どうぞ）",
      503: "（小屋はいま支度中です。しばらくしてからどうぞ）",
      504: "（役者が台詞を忘れたようです。もう一度どうぞ）",
      network: "（声が木戸まで届きません。つながりを確かめて、もう一度どうぞ）",
      other: "（うまく届きませんでした。もう一度どうぞ）",
    },
  },
  en: {
    title: "The First Seat", subtitle: "the Oboro-za, on a night of rain", story: "The story", panel: "Programme",
    label: "What you do, or say", placeholder: "Say what you do", send: "Send",
    restart: "Restart", begin: "Raise the curtain", again: "Begin again", around: "Look around",
    exits: "Ways", things: "Here", carried: "Carried", nothing: "nothing yet", turns: (n) => `Turn ${n}`,
    sure: "Leave this play, and begin again from the start?", yes: "Begin again", no: "Stay",
    deed: { look: "look", take: "take", use: "use", say: "talk" },
    act: {
      look: (name) => `Look at ${the(name)}`, take: (name) => `Take ${the(name)}`,
      use: (name) => `Use ${the(name)}`, say: (name) => `Talk to ${the(name)}`,
    },
    go: (way, name) => `Go ${way}, to ${name}`,
    waiting: "· · ·", waitingLabel: "Waiting for the reply",
    fail: {
      429: "(wait a moment, then once more)",
      400: "(That line could not get through the wicket. Try it in other words.)",
      413: "(That line was too long.)",
      502: "(The lights on stage went out. Please try once more.)",
      503: "(The house is not open just now. Try again in a little while.)",
      504: "(An actor seems to have forgotten the line. Please try once more.)",
      network: "(Your voice does not reach the wicket. Check the connection, then try once more.)",
      other: "(That did not get through. Please try once more.)",
    },
  },
};

/** English names come bare, except those of people. */
function the(name) {
  return /^(the |Jinbei)/.test(name) ? name : `the ${name}`;
}

const $ = (id) => document.getElementById(id);
const story = $("story");
const input = $("input");
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const finePointer = matchMedia("(hover: hover) and (pointer: fine)");

let lang = "ja";
let game = null; // the last good reply, without its text
let transcript = []; // {lang, mine, scene, text}
let busy = false;
let failed = null; // the element of a turn that did not get through

const words = () => WORDS[lang];

// Storage may be forbidden; the game then lives as long as the page.
function load(store, name) {
  try {
    return JSON.parse(store().getItem(name));
  } catch {
    return null;
  }
}

function save(store, name, value) {
  try {
    store().setItem(name, JSON.stringify(value));
  } catch {
    // Full or forbidden: nothing is lost but the reload.
  }
}

const session = () => window.sessionStorage;
const local = () => window.localStorage;

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

// ---- the story

function showTurn(turn) {
  const box = element("div", "turn");
  box.lang = turn.lang;
  if (turn.mine) box.append(element("p", "mine", turn.mine));
  if (turn.text) fillTurn(box, turn);
  story.append(box);
  return box;
}

function fillTurn(box, turn) {
  if (turn.scene) box.append(element("p", "scene", turn.scene));
  for (const part of turn.text.split("\n\n")) box.append(element("p", "", part));
}

/** Brings the beginning of a turn to the top: long texts are read from there. */
function bringUp(box) {
  const top = box.offsetTop - story.offsetTop - 12;
  story.scrollTo({ top, behavior: calm.matches ? "auto" : "smooth" });
}

function keep(turn) {
  transcript.push(turn);
  transcript = transcript.slice(-TRANSCRIPT_MAX);
  while (story.children.length > TRANSCRIPT_MAX) story.firstElementChild.remove();
  save(session, SAVED_GAME, { version: 1, game, transcript });
}

// ---- the panel

function button(className, label, say, act) {
  const made = element("button", className, label);
  made.type = "button";
  if (say && say !== label) made.setAttribute("aria-label", say);
  made.addEventListener("click", act);
  return made;
}

function item(...children) {
  const li = document.createElement("li");
  li.append(...children);
  return li;
}

function exitButton(exit) {
  const label = words().go(exit.direction_name, exit.name);
  const made = button("", "", label, () => turn("move", exit.id, label));
  made.append(element("span", "way", exit.direction_name), exit.name);
  return item(made);
}

function thingButtons(thing) {
  const act = (kind) => {
    const label = words().act[kind](thing.name);
    // Talking is a sentence of its own; everything else is a kind and a name.
    const sent = kind === "say" ? label : thing.id;
    return [label, () => turn(kind, sent, label)];
  };
  const [look, ...deeds] = thing.can;
  const made = [button("", thing.name, ...act(look))];
  for (const deed of deeds) made.push(button("deed", words().deed[deed], ...act(deed)));
  return item(...made);
}

function showPanel() {
  const w = words();
  const playing = Boolean(game) && !game.ended;
  $("place").textContent = game ? game.place.name : w.title;
  $("begin-group").hidden = playing;
  $("begin").textContent = game ? w.again : w.begin;
  for (const group of ["exits", "things", "carried"]) $(`${group}-group`).hidden = !playing;
  $("turns").hidden = !(game && game.state.turns > 0);
  if (!game) return;
  $("turns").textContent = w.turns(game.state.turns);
  $("exits").replaceChildren(...game.exits.map(exitButton));
  const around = button("around", w.around, "", () => turn("look", "", w.around));
  const li = item(around);
  li.className = "bare";
  $("things").replaceChildren(...game.things.map(thingButtons), li);
  const carried = game.carried.map(thingButtons);
  if (carried.length === 0) carried.push(element("li", "none", w.nothing));
  $("carried").replaceChildren(...carried);
}

function showWords() {
  const w = words();
  document.documentElement.lang = lang;
  document.title = w.title;
  const texts = {
    title: w.title, subtitle: w.subtitle, restart: w.restart, send: w.send, "input-label": w.label,
    "exits-label": w.exits, "things-label": w.things, "carried-label": w.carried,
    "sure-text": w.sure, "sure-yes": w.yes, "sure-no": w.no,
  };
  for (const [id, text] of Object.entries(texts)) $(id).textContent = text;
  input.placeholder = w.placeholder;
  story.setAttribute("aria-label", w.story);
  $("panel").setAttribute("aria-label", w.panel);
  for (const one of document.querySelectorAll("[data-lang]")) {
    one.setAttribute("aria-pressed", String(one.dataset.lang === lang));
  }
}

// ---- turns

function setBusy(on) {
  busy = on;
  document.body.classList.toggle("busy", on);
  // Not `disabled`: focus, and a phone's keyboard, stay where they are.
  input.readOnly = on;
  for (const one of document.querySelectorAll("button")) {
    one.setAttribute("aria-disabled", String(on));
  }
}

/** The engine's reply, or the sentence for what went wrong. */
async function ask(path, body) {
  const fail = words().fail;
  let answer;
  try {
    answer = await fetch(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(ANSWER_MAX_MS),
    });
  } catch {
    return { notice: fail.network };
  }
  if (answer.status !== 200) return { notice: fail[answer.status] ?? fail.other };
  try {
    const reply = await answer.json();
    if (reply.ok === true && typeof reply.text === "string" && reply.state) return { reply };
    if (reply.ok === false && typeof reply.error === "string") return { notice: `（${reply.error}）` };
  } catch {
    // Cut off on the way, or no JSON: told like any other failure.
  }
  return { notice: fail.other };
}

/** One turn from the first byte to the last; `true` if it got through. */
async function play(path, body, mine, options = {}) {
  if (busy) return false;
  setBusy(true);
  failed?.remove();
  failed = null;
  const fresh = showTurn({ lang, mine });
  fresh.classList.add("fresh");
  const sign = element("p", "waiting", words().waiting);
  sign.setAttribute("aria-label", words().waitingLabel);
  sign.setAttribute("role", "img");
  const timer = setTimeout(() => {
    fresh.append(sign);
    bringUp(fresh);
  }, WAITING_AFTER_MS);
  const { reply, notice } = await ask(path, body);
  clearTimeout(timer);
  sign.remove();
  if (reply) {
    take(reply, mine, fresh, options);
  } else {
    fresh.append(element("p", "notice", notice));
    failed = fresh;
  }
  setBusy(false);
  bringUp(fresh);
  return Boolean(reply);
}

function take({ text, ...rest }, mine, box, { anew }) {
  const moved = anew || !game || game.place.id !== rest.place.id;
  game = rest;
  if (anew) {
    transcript = [];
    story.replaceChildren(box);
  }
  const told = { lang, mine, scene: moved && !game.ended ? game.place.name : "", text };
  fillTurn(box, told);
  keep(told);
  showPanel();
}

async function turn(kind, sent, mine) {
  if (busy) return;
  if (!game) {
    await begin();
    return;
  }
  await play("/api/turn", { kind, input: sent, lang, state: game.state }, mine);
  returnFocus();
}

async function begin() {
  await play("/api/new", { lang }, "", { anew: true });
  showPanel();
  returnFocus();
}

/** To the input; on a touch screen only if it was there, or every tap would raise the keyboard. */
function returnFocus() {
  if (finePointer.matches || document.activeElement === input) input.focus({ preventScroll: true });
}

async function send() {
  if (busy) return;
  const typed = input.value.trim();
  if (typed === "") return;
  if (!game) {
    await begin();
    return;
  }
  const through = await play("/api/turn", { kind: "say", input: typed, lang, state: game.state }, typed);
  if (through) {
    input.value = "";
    count();
  }
  input.focus({ preventScroll: true });
}

// ---- the input

function count() {
  const well = input.value.toWellFormed?.() ?? input.value;
  const scalars = [...well];
  if (scalars.length > INPUT_MAX) {
    input.value = scalars.slice(0, INPUT_MAX).join("");
  } else if (well !== input.value) {
    input.value = well;
  }
  const length = Math.min(scalars.length, INPUT_MAX);
  const counter = $("counter");
  counter.hidden = length < COUNTER_FROM;
  counter.textContent = `${length}/${INPUT_MAX}`;
  counter.classList.toggle("full", length === INPUT_MAX);
}

// What is being composed is not cut: that would break the conversion under way.
input.addEventListener("input", (event) => {
  if (!event.isComposing) count();
});
input.addEventListener("compositionend", count);

// Enter that ends a conversion (229: where `isComposing` is already false by then) sends nothing.
input.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.isComposing || event.keyCode === 229)) {
    event.preventDefault();
  }
});

$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  count();
  send();
});

// ---- tools

async function switchTo(next) {
  if (busy || next === lang) return;
  lang = next;
  save(local, SAVED_LANG, lang);
  showWords();
  showPanel();
  if (!game) return;
  await play("/api/turn", { kind: "look", input: "", lang, state: game.state }, "");
  returnFocus();
}

for (const one of document.querySelectorAll("[data-lang]")) {
  one.addEventListener("click", () => switchTo(one.dataset.lang));
}

$("restart").addEventListener("click", () => {
  if (busy) return;
  if (game && !game.ended && game.state.turns > 0) $("sure").showModal();
  else begin();
});

$("sure").addEventListener("close", () => {
  const yes = $("sure").returnValue === "yes";
  $("sure").returnValue = "";
  if (yes) begin();
  else returnFocus();
});

$("begin").addEventListener("click", begin);

// ---- the beginning

function wellKept(saved) {
  return saved?.version === 1 && saved.game?.state && saved.game.place && Array.isArray(saved.transcript)
    && ["exits", "things", "carried"].every((name) => Array.isArray(saved.game[name]));
}

function start() {
  const remembered = load(local, SAVED_LANG);
  const spoken = navigator.language?.toLowerCase().startsWith("ja") ? "ja" : "en";
  lang = remembered in WORDS ? remembered : spoken;
  showWords();
  const saved = load(session, SAVED_GAME);
  if (!wellKept(saved)) {
    showPanel();
    begin();
    return;
  }
  game = saved.game;
  transcript = saved.transcript;
  // What was read before the reload is not read out again.
  story.setAttribute("aria-live", "off");
  for (const old of transcript) showTurn(old);
  showPanel();
  story.lastElementChild?.scrollIntoView({ block: "start", behavior: "instant" });
  requestAnimationFrame(() => story.setAttribute("aria-live", "polite"));
  returnFocus();
}

start();
