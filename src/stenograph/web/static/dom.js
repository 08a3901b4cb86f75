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

export async function fetchText(address) {
  const answer = await fetch(address, { credentials: "same-origin", headers: { accept: "text/html" } });
  if (!answer.ok) throw new Error(`${answer.status}`);
  return answer.text();
}

// What is not only a question repeats a token that no other site can read.
export function post(address, body) {
  const headers = { "content-type": "application/json", "x-steno-csrf": $('meta[name="csrf"]')?.content ?? "" };
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

export function parse(html) {
  return new DOMParser().parseFromString(html, "text/html");
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
