// A session's timeline: where the reader is, chunks that come and go, steps that are fetched when they are opened, the raw record.
import { $, $$, EDGE, base, fetchText, keepPlace, parse, session } from "./dom.js";
import { adopt } from "./diffs.js";

const timeline = $("#timeline");
// As many chunks as leave the page below its budget of elements: a long outline takes some of it.
const NODES = 4800;
const CHUNK = 700;
const loaded = () => $$(".chunk:not(.away) *", timeline).length;
const fixed = () => $$("*").length - loaded();
const mostChunks = () => Math.max(2, Math.min(5, Math.floor((NODES - fixed()) / CHUNK)));
const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
const here = () => `${base}/s/${encodeURIComponent(session.dataset.session)}`;
const branch = () => new URL(location.href).searchParams.get("branch") ?? "0";

// ---- chunks

const loading = new Map();

export function load(chunk) {
  const number = chunk.dataset.chunk;
  if (!chunk.classList.contains("away")) return Promise.resolve();
  if (!loading.has(number)) {
    loading.set(number, fetchText(`${here()}/chunks/${number}?branch=${branch()}`).then((html) => {
      const made = parse(html).body;
      adopt(made);
      chunk.replaceChildren(...made.childNodes);
      chunk.classList.remove("away");
      chunk.style.height = "";
    }).catch(() => {}).finally(() => loading.delete(number)));
  }
  return loading.get(number);
}

function unload(chunk) {
  chunk.style.height = `${chunk.getBoundingClientRect().height}px`;
  const note = document.createElement("p");
  note.className = "mute";
  note.textContent = "…";
  chunk.replaceChildren(note);
  chunk.classList.add("away");
}

// The chunks around the reader are there, at most five; the others are places of the height that they had.
function trimChunks() {
  const there = $$(".chunk:not(.away)", timeline);
  const most = mostChunks();
  if (there.length <= most) return;
  const middle = innerHeight / 2;
  const far = (chunk) => {
    const box = chunk.getBoundingClientRect();
    return box.top > middle ? box.top - middle : box.bottom < middle ? middle - box.bottom : 0;
  };
  there.sort((a, b) => far(b) - far(a));
  for (const chunk of there.slice(0, there.length - most)) if (far(chunk) > innerHeight) unload(chunk);
}

let observer;
// A chunk that is not there yet is about as high as it will be.
export function place(chunk) {
  if (chunk.dataset.size) chunk.style.height = `${Math.max(300, chunk.dataset.size * 14)}px`;
  watch(chunk);
}

export function watch(chunk) {
  observer?.observe(chunk);
}
if (timeline) {
  observer = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) load(entry.target).then(trimChunks);
  }, { rootMargin: "900px 0px" });
  for (const chunk of $$(".chunk", timeline)) place(chunk);
}

// ---- where the reader is

// A turn near the end may be too short to reach the top: it is current once the reader went to it, until the page moves.
let chosen = null;
const isBelowEdge = (turn) => turn.getBoundingClientRect().bottom > EDGE + 40;

function current() {
  if (chosen?.turn.isConnected && Math.abs(scrollY - chosen.y) < 2) return chosen.turn;
  chosen = null;
  const all = $$(".turn", timeline ?? document);
  const isAtEnd = scrollY > 0 && innerHeight + scrollY >= document.documentElement.scrollHeight - 2;
  return isAtEnd ? all.at(-1) : all.find(isBelowEdge);
}

export function spy() {
  if (!timeline) return;
  const number = current()?.dataset.turn;
  if (!number) return;
  for (const link of $$("[data-t]")) {
    if (link.dataset.t === number) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
  const entry = $(`.o[data-t="${number}"]`);
  const side = entry?.closest(".side");
  if (side && (entry.offsetTop < side.scrollTop || entry.offsetTop + entry.offsetHeight > side.scrollTop + side.clientHeight)) {
    side.scrollTop = entry.offsetTop - 80;
  }
}

// Chunks off screen have estimated heights, which change as they arrive: follow the turn until it stays where it is, unless the
// reader scrolls.
let following = 0;
for (const name of ["wheel", "touchstart", "pointerdown", "keydown"]) {
  addEventListener(name, () => { following += 1; }, { passive: true, capture: true });
}

function settle(turn, scroll = () => turn.scrollIntoView({ block: "start", behavior: "instant" })) {
  const mine = ++following;
  let still = 0;
  let frames = 0;
  const follow = () => {
    if (mine !== following || !turn.isConnected) return;
    const before = scrollY;
    scroll();
    chosen = { turn: turn.closest(".turn") ?? turn, y: scrollY };
    still = Math.abs(scrollY - before) < 2 ? still + 1 : 0;
    frames += 1;
    if (still < 10 && frames < 90) requestAnimationFrame(follow);
    else spy();
  };
  follow();
}

export async function jump(number) {
  let turn = $(`#turn-${CSS.escape(number)}`);
  if (!turn) {
    const chunk = $(`.o[data-t="${CSS.escape(number)}"]`)?.dataset.c;
    const place = $(`.chunk[data-chunk="${chunk}"]`);
    if (!place) return;
    await load(place);
    turn = $(`#turn-${CSS.escape(number)}`);
  }
  if (!turn) return;
  history.replaceState(null, "", `#turn-${number}`);
  settle(turn);
}

// A line of the file: the step that it is in, opened. Where it is not shown, its turn is.
export function find(line) {
  const step = $(`#timeline [data-line="${line}"]`) ?? $(`#timeline .raws a[href$="/raw/${line}"]`)?.closest(".w");
  if (!step) return jump(new URL(location.href).searchParams.get("turn") ?? "1");
  const fold = $(":scope > details", step);
  if (fold) fold.open = true;
  step.classList.add("found");
  settle(step);
}

function follow() {
  const turn = /^#turn-(\d+)$/.exec(location.hash);
  const line = /^#line-(\d+)$/.exec(location.hash);
  if (turn) jump(turn[1]);
  else if (line) find(line[1]);
}

export function step(by) {
  const at = current();
  if (!at) return;
  const number = Number(at.dataset.turn);
  const isBelow = at !== chosen?.turn && at.id && at.getBoundingClientRect().top > EDGE + 40;
  const numbers = $$(".o").map((each) => Number(each.dataset.t));
  const place = numbers.indexOf(number);
  const next = numbers[Math.max(0, Math.min(numbers.length - 1, place + (isBelow && by > 0 ? 0 : by)))];
  jump(String(next));
}

// Marks are what one looks for when skimming.
export function mark(by) {
  const y = (element) => element.getBoundingClientRect().top - EDGE - 36;
  const all = $$("[data-mark]").filter((element) => element.offsetParent !== null);
  const next = by > 0 ? all.find((each) => y(each) > 4) : all.filter((each) => y(each) < -4).pop();
  if (!next) return;
  following += 1;
  scrollBy({ top: y(next), behavior: calm ? "auto" : "smooth" });
  ($("summary", next) ?? next).focus?.({ preventScroll: true });
}

export function foldTurn() {
  const number = current()?.dataset.turn;
  const all = $$(`.turn[data-turn="${number}"] .flow > .w > details`);
  const on = all.some((each) => !each.open);
  keepPlace(() => all.forEach((each) => { each.open = on; }));
}

export async function latest() {
  const chunks = $$(".chunk", timeline ?? document);
  if (chunks.length) await load(chunks.at(-1));
  const last = $$(".turn", timeline ?? document).at(-1);
  const toEnd = () => scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
  if (last) settle(last, toEnd);
  else toEnd();
}

if (timeline) {
  let due = false;
  addEventListener("scroll", () => {
    if (due) return;
    due = true;
    requestAnimationFrame(() => { due = false; spy(); });
  }, { passive: true });
  follow();
  addEventListener("hashchange", follow);
  spy();
}

// ---- steps that are fetched when they are opened

document.addEventListener("toggle", async (event) => {
  const step = event.target;
  if (!step.open || !step.dataset?.src) return;
  const source = step.dataset.src;
  delete step.dataset.src;
  const body = $(".body", step);
  try {
    const made = parse(await fetchText(source)).body;
    adopt(made);
    body.replaceChildren(...made.childNodes);
  } catch {
    step.dataset.src = source;
  }
}, true);

async function more(link) {
  const body = link.closest(".body");
  const made = parse(await fetchText(link.href)).body;
  adopt(made);
  keepPlace(() => body.replaceChildren(...made.childNodes));
}

// ---- sheets and the raw record: the address works without script, with script the place is kept

let opener = null;
export function open(element, from) {
  close();
  opener = from;
  element.classList.add("open");
  element.focus?.({ preventScroll: true });
}

export function close() {
  for (const each of $$(".side.open, .drawer.open")) each.classList.remove("open");
  if (location.hash && !/^#(turn|line)-/.test(location.hash)) history.replaceState(null, "", location.pathname + location.search);
  opener?.focus({ preventScroll: true });
  opener = null;
}

async function raw(address, from) {
  const drawer = $("#record");
  const url = new URL(address, location.href);
  url.searchParams.set("piece", "1");
  const made = parse(await fetchText(url)).body;
  const isOpen = drawer.classList.contains("open");
  drawer.replaceChildren(...made.childNodes);
  if (!isOpen) open(drawer, from);
}

export function rawOfTurn() {
  const number = current()?.dataset.turn;
  $(`#turn-${number} .raw`)?.click();
}

export function click(target, data) {
  if ("raw" in data && $("#record")) raw(target.href, target);
  else if ("more" in data) more(target);
  else if ("close" in data) close();
  else if (data.sheet) {
    const sheet = $(`#${data.sheet}`);
    if (sheet.classList.contains("open")) close();
    else open(sheet, target);
  } else if (data.go) step(Number(data.go));
  else if (data.t && timeline) {
    close();
    jump(data.t);
  } else if (data.at && $(`#timeline [data-line="${data.at}"]`)) {
    close();
    find(data.at);
  } else if (target.matches('.th a[href^="#turn-"], .tf a[href^="#turn-"]')) jump(target.hash.slice("#turn-".length));
  else if (target.id === "pill") latest();
  else return false;
  return true;
}

// ---- pieces that take longer than the page may: fetched once it is there

export async function loadPieces(within = document) {
  for (const each of $$("[data-load]", within)) {
    const address = each.dataset.load;
    delete each.dataset.load;
    try {
      each.replaceChildren(...parse(await fetchText(address)).body.childNodes);
      each.dataset.loaded = "";
    } catch {
      each.dataset.load = address;
    }
  }
}
if (session) loadPieces();
