// The viewer's script: keys, theme, copying. What only one page needs is in a module of its own.
import { $, $$, base, fetchText, items, keepPlace, root, say, session } from "./dom.js";
import { split } from "./diffs.js";
import { hideAll, revealAll, toggleSecret } from "./secrets.js";
import * as timeline from "./timeline.js";
import * as trim from "./trim.js";
import "./clock.js";
import "./complete.js";
import "./home.js";
import "./live.js";

const THEMES = ["system", "light", "dark"];

// The server writes data-theme from the cookie, so nothing flashes.
function setTheme(name) {
  if (name === "system") delete root.dataset.theme;
  else root.dataset.theme = name;
  const life = name === "system" ? 0 : 31536000;
  document.cookie = `steno_theme=${name}; path=${base || "/"}; max-age=${life}; samesite=strict`;
  $("#theme")?.setAttribute("aria-label", `Theme: ${name}`);
}
const nextTheme = () => setTheme(THEMES[(THEMES.indexOf(root.dataset.theme || "system") + 1) % THEMES.length]);

// Rows and hits: j and k select one after the other.
let selected = -1;
function step(by) {
  if (session && $("#timeline")) return timeline.step(by);
  const all = items();
  if (!all.length) return;
  const at = all.findIndex((each) => each.classList.contains("sel"));
  selected = Math.max(0, Math.min(all.length - 1, (at < 0 ? selected : at) + by));
  all.forEach((each, place) => each.classList.toggle("sel", place === selected));
  const chosen = all[selected];
  (chosen.matches("a") ? chosen : $("a", chosen)).focus({ preventScroll: true });
  chosen.scrollIntoView({ block: "nearest" });
}

async function copy(text, button, done = "Copied") {
  try {
    await navigator.clipboard.writeText(await text);
    say(button, done);
  } catch {
    say(button, "Copying is not allowed here");
  }
}

function markdown(button) {
  const here = new URL(location.href);
  const turn = button.closest("[data-turn]")?.dataset.turn;
  const query = new URLSearchParams({ branch: here.searchParams.get("branch") ?? "0" });
  if (turn) query.set("turn", turn);
  return fetchText(`${base}/s/${encodeURIComponent(session.dataset.session)}/markdown?${query}`);
}

const COPIES = {
  all: (button) => markdown(button),
  turn: (button) => markdown(button),
  cmd: (button) => button.closest(".cmd, .note, td, li").querySelector("code").textContent,
  raw: () => $("#record pre, .rawpage pre").textContent,
};

document.addEventListener("click", (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  const target = event.target.closest("a, button");
  if (!target) return;
  const data = target.dataset;
  const handled = () => event.preventDefault();
  if (target.id === "theme") nextTheme();
  else if (target.id === "keys") $("#help").showModal();
  else if (data.secret) toggleSecret(target);
  else if (data.copy) copy(COPIES[data.copy](target), target);
  else if (data.cmd) copy(data.cmd, target, `Copied: ${data.cmd}`);
  else if (data.diff) keepPlace(() => split(data.diff === "split"));
  else if (data.show) show(target);
  else if ("trimOn" in data) trim.toggle();
  else if (data.trim) trim.click(data);
  else if (session && timeline.click(target, data)) handled();
});

function show(button) {
  keepPlace(() => {
    root.dataset.show = button.dataset.show;
    for (const each of $$("[data-show]", button.parentNode)) each.setAttribute("aria-pressed", String(each === button));
  });
  timeline.spy();
}

const KEYS = {
  "/": () => $(".big input, .find input")?.focus(),
  "?": () => $("#help").showModal(),
  j: () => step(1),
  k: () => step(-1),
  "]": () => timeline.mark(1),
  "[": () => timeline.mark(-1),
  o: () => (session ? timeline.foldTurn() : $(".row.sel h3 a, a.sel")?.click()),
  d: () => keepPlace(() => split(!root.dataset.split)),
  s: () => ($(".secret[data-shown]") ? hideAll() : revealAll()),
  t: nextTheme,
  r: () => timeline.rawOfTurn(),
  G: () => timeline.latest(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const isField = event.target.matches("input:not([type=checkbox]), textarea, select");
  if (event.key === "Escape") {
    if (isField) event.target.blur();
    else if (root.dataset.mode) trim.toggle(false);
    else timeline.close();
    return;
  }
  if (isField || $("dialog[open]") || !KEYS[event.key]) return;
  event.preventDefault();
  KEYS[event.key]();
});

// The newest is at the right end of a chart over time.
for (const each of $$(".scroll:has(> .cols)")) each.scrollLeft = each.scrollWidth;

addEventListener("beforeprint", () => {
  for (const each of $$("details:not([data-src])")) each.open = true;
});
