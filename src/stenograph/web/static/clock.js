// How long what runs has been running: counted here, so that a page that is open all day stays true.
import { $$ } from "./dom.js";

function words(seconds) {
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return seconds % 60 ? `${minutes} min ${seconds % 60} s` : `${minutes} min`;
  return minutes % 60 ? `${Math.floor(minutes / 60)} h ${minutes % 60} min` : `${minutes / 60} h`;
}

export function tick() {
  for (const each of $$("[data-since]")) {
    const seconds = Math.floor((Date.now() - Date.parse(each.dateTime)) / 1000);
    each.textContent = seconds > 0 ? words(seconds) : "";
  }
}

setInterval(() => { if (document.visibilityState === "visible") tick(); }, 1000);
tick();
