// The list of sessions: filter as you type. The server does the same for ?q=.
import { $, $$ } from "./dom.js";

const filter = $("#filter");
filter?.addEventListener("input", () => {
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
});

// Enter asks the server: the list shows only the newest sessions.
