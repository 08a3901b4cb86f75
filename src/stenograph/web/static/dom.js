// What the other modules share. Every page reads without script; this only makes it quicker.
export const $ = (selector, within = document) => within.querySelector(selector);
export const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];
export const root = document.documentElement;
export const base = root.dataset.root ?? "";
export const session = $(".session");

// Below the bar and a turn's heading.
export const EDGE = 60;

export function say(element, text) {
  const was = [...element.childNodes];
  const width = element.getBoundingClientRect().width;
  element.style.minWidth = `${width}px`;
  element.classList.add("ok");
  element.replaceChildren(text);
  setTimeout(() => {
    element.replaceChildren(...was);
    element.classList.remove("ok");
    element.style.minWidth = "";
  }, 1600);
}

// What only the server that sent this page knows.
const csrf = $('meta[name="csrf"]')?.content ?? "";

// A page that outlives its server must take nothing from the one that has the port now.
export async function fetchText(address) {
  const answer = await fetch(address, { credentials: "same-origin", headers: { accept: "text/html" } });
  if (!answer.ok) throw new Error(`${answer.status}`);
  if (!csrf || answer.headers.get("x-steno-csrf") !== csrf) throw new Error("another server");
  return answer.text();
}

// What is not only a question repeats a token that no other site can read.
export function post(address, body) {
  const headers = { "content-type": "application/json", "x-steno-csrf": csrf };
  return fetch(base + address, { method: "POST", credentials: "same-origin", headers, body: JSON.stringify(body) });
}

// Whether the server answers. One miss says nothing: a laptop that wakes up takes a moment.
let misses = 0;
export function reached(isThere) {
  misses = isThere ? 0 : misses + 1;
  $("#lost").hidden = misses < 2;
}

// An element as it came, without what the clock changes.
export const shape = (element) => element.outerHTML.replace(/(<time[^>]* data-since[^>]*>)[^<]*/g, "$1");

// Parts of a page that was fetched again take the place of those that differ.
export function renew(parts, page) {
  for (const part of parts) {
    const old = $(part);
    const made = $(part, page);
    if (old && made && shape(old) !== shape(made)) old.replaceChildren(...made.childNodes);
  }
}

// What is fetched is put into this page: nothing in it may lead elsewhere or load anything by itself.
export function parse(html) {
  const page = new DOMParser().parseFromString(html, "text/html");
  for (const each of $$("meta, base, link, script, iframe, object, embed", page)) each.remove();
  return page;
}

// Whatever changes the page's height leaves what is being read where it is.
export function keepPlace(change) {
  const seen = document.elementFromPoint(innerWidth / 2, EDGE + 60);
  const before = seen?.getBoundingClientRect().top;
  change();
  if (seen?.isConnected) scrollBy({ top: seen.getBoundingClientRect().top - before, behavior: "instant" });
}

// The list that a page steps through: turns, sessions, hits.
export const items = () => $$(".turn[id], .row, a.hit").filter((element) => element.offsetParent !== null);
