// The list of sessions: filter as you type, and stay as the sessions are. The server filters the same way for ?q=.
import { tick } from "./clock.js";
import { $, $$, fetchText, keepPlace, parse, reached, renew } from "./dom.js";

const LIST = [".facet", "#now", "#sessions", "#rest", "#count", "#noun", "#running"];
const filter = $("#filter");
let asking = 0;
filter?.addEventListener("input", () => {
  clearTimeout(asking);
  if (isWhole()) narrow();
  else asking = setTimeout(ask, 150);
});

// Whether all sessions are on this page.
const isWhole = () => !$("[rel=next]") && !filter.defaultValue && !new URLSearchParams(location.search).has("page");

function narrow() {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const row of $$(".row")) {
    row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
    row.classList.remove("sel");
    shown += !row.hidden;
  }
  for (const day of $$(".day")) {
    let next = day.nextElementSibling;
    let any = false;
    while (next?.matches(".row")) {
      any ||= !next.hidden;
      next = next.nextElementSibling;
    }
    day.hidden = !any;
  }
  for (const card of $$(".card")) card.hidden = !words.every((word) => card.textContent.toLowerCase().includes(word));
  const live = $("#live");
  if (live) live.hidden = $$(".card", live).every((card) => card.hidden);
  $("#none").hidden = shown > 0;
  const deeper = $("#deeper");
  if (deeper) deeper.search = new URLSearchParams({ q: filter.value });
  $("#count").textContent = shown;
  $("#noun").textContent = shown === 1 ? "session" : "sessions";
}

// What this page does not have is on the server.
async function ask() {
  const words = filter.value;
  const address = new URL(location.href);
  address.searchParams.delete("page");
  if (words) address.searchParams.set("q", words);
  else address.searchParams.delete("q");
  try {
    const page = parse(await fetchText(address));
    reached(true);
    if (filter.value !== words) return; // typed meanwhile
    filter.defaultValue = words;
    filter.value = words;
    history.replaceState(null, "", address);
    renew(LIST, page);
    tick();
  } catch {
    reached(false);
  }
}

// Milliseconds between two looks: while something runs, and while nothing does.
const SOON = 5_000;
const LATER = 20_000;

// Who is filtering is not disturbed.
const isFiltering = () => filter.value !== filter.defaultValue;

async function refresh() {
  if (document.visibilityState !== "visible" || isFiltering()) return;
  try {
    const page = parse(await fetchText(location.href));
    reached(true);
    if (isFiltering()) return; // typed meanwhile
    const chosen = $(".row.sel h3 a")?.href;
    const isFocused = Boolean(document.activeElement?.closest(".row.sel"));
    keepPlace(() => renew(LIST, page));
    tick();
    const row = chosen && $$(".row h3 a").find((link) => link.href === chosen)?.closest(".row");
    row?.classList.add("sel");
    if (row && isFocused) $("a", row).focus({ preventScroll: true });
  } catch {
    reached(false);
  }
}

function wait() {
  setTimeout(() => refresh().finally(wait), $("#live") ? SOON : LATER);
}
if (filter) {
  wait();
  document.addEventListener("visibilitychange", refresh);
}
