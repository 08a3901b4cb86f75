// A running session: whenever records were added, the page is fetched again and what is new is put in its place. Nothing that the
// reader sees moves: the page scrolls only where the reader is at its end.
import { $, $$, base, fetchText, parse, reached, renew, session, shape } from "./dom.js";
import { tick } from "./clock.js";
import { adopt } from "./diffs.js";
import { latest, spy, watch } from "./timeline.js";

const QUIET = 400;
// A session that stops writes nothing: look again whether it still runs.
const PULSE = 15_000;
const title = document.title;
const timeline = $("#timeline");
let unseen = 0;
let due = 0;
let busy = false;

const isAtEnd = () => innerHeight + scrollY > document.body.scrollHeight - 120;

function key(element) {
  return `${element.tagName} ${element.dataset.line ?? ""} ${element.dataset.tool ?? ""} ${element.className}`;
}

// Steps of a turn: those that changed are replaced, new ones are added. What the reader opened or folded stays so.
function mergeFlow(old, made) {
  let added = 0;
  const known = [...old.children];
  const fresh = [...made.children];
  fresh.forEach((element, place) => {
    const was = known[place];
    if (!was) {
      old.append(element);
      added += 1;
    } else if (shape(was) !== shape(element) && !isSameStep(was, element)) {
      const fold = $("details", was);
      const next = $("details", element);
      if (fold && next && key(was) === key(element) && !fold.open) next.open = false;
      was.replaceWith(element);
    }
  });
  for (const rest of known.slice(fresh.length)) rest.remove();
  return added;
}

// A step that was opened has fetched its body: it is the same as long as its summary is.
function isSameStep(was, element) {
  const one = $("summary", was);
  const two = $("summary", element);
  return Boolean(one && two && was.dataset.line === element.dataset.line && shape(one) === shape(two));
}

function mergeTurn(old, made) {
  const heading = $(".th", old);
  const next = $(".th", made);
  if (heading && next && heading.outerHTML !== next.outerHTML) heading.replaceWith(next);
  return mergeFlow($(".flow", old), $(".flow", made));
}

function mergeChunk(old, made) {
  let added = 0;
  for (const turn of $$(":scope > .turn", made)) {
    const same = turn.id ? $(`[id="${turn.id}"]`, old) : $(`[data-cont="${turn.dataset.cont}"]`, old);
    if (same) added += mergeTurn(same, turn);
    else {
      old.append(turn);
      added += $$(".flow > *", turn).length + 1;
    }
  }
  return added;
}

async function refresh() {
  if (busy || "partial" in session.dataset) return;
  busy = true;
  try {
    const address = new URL(location.href);
    const last = $$(".o").at(-1)?.dataset.t ?? "1";
    address.searchParams.set("turn", last);
    address.searchParams.set("full", "1");
    address.searchParams.delete("line");
    address.hash = "";
    const page = parse(await fetchText(address));
    adopt(page.body);
    // What was fetched for the inspector stays; it is of the session as it was opened.
    const fetched = $("#inspector .lazy[data-loaded]");
    if (fetched) $("#inspector .lazy", page)?.replaceWith(fetched.cloneNode(true));
    const wasAtEnd = isAtEnd();
    let added = 0;
    for (const chunk of $$(".chunk", page)) {
      const old = $(`.chunk[data-chunk="${chunk.dataset.chunk}"]`, timeline);
      if (!old) {
        timeline.append(chunk);
        watch(chunk);
        added += $$(".flow > *", chunk).length;
      } else if (!old.classList.contains("away") && !chunk.classList.contains("away")) added += mergeChunk(old, chunk);
    }
    $(".none", timeline)?.remove();
    renew([".outline .list", ".outline > header", ".outline > .map", ".s-head .facts", "#inspector", "#running"], page);
    tick();
    session.dataset.status = $(".session", page).dataset.status;
    mark();
    spy();
    if (wasAtEnd) await latest();
    else if (added) note(added);
  } catch { /* the next event tries again */ } finally {
    busy = false;
  }
}

// Seen among other tabs.
function mark() {
  document.title = session.dataset.status === "running" ? `● ${title}` : title;
}

function note(added) {
  unseen += added;
  const pill = $("#pill");
  pill.hidden = false;
  $(".live", pill).textContent = unseen === 1 ? "1 new step" : `${unseen} new steps`;
}

if (timeline) {
  addEventListener("scroll", () => {
    if (isAtEnd() && unseen) {
      unseen = 0;
      $("#pill").hidden = true;
    }
  }, { passive: true });
  let events = null;
  // Not from the last event on: in a busy session there would be no quiet moment.
  const changed = () => {
    due ||= setTimeout(async () => {
      due = 0;
      if (busy) changed();
      else await refresh();
    }, QUIET);
  };
  const follow = () => {
    events = new EventSource(`${base}/api/v1/sessions/${encodeURIComponent(session.dataset.session)}/events`);
    for (const name of ["update", "lagged"]) events.addEventListener(name, changed);
    events.addEventListener("open", () => reached(true));
    events.addEventListener("error", () => reached(false));
    // What was added between the page and its stream.
    events.addEventListener("ready", () => { if (session.dataset.status === "running") changed(); });
  };
  const leave = () => {
    events?.close();
    events = null;
  };
  // Browsers open six connections to a server: a tab that nobody sees must not keep one.
  document.addEventListener("visibilitychange", () => {
    leave();
    if (document.visibilityState === "visible") {
      follow();
      changed();
    }
  });
  addEventListener("pagehide", leave);
  setInterval(() => { if (session.dataset.status === "running" && document.visibilityState === "visible") changed(); }, PULSE);
  mark();
  follow();
}
