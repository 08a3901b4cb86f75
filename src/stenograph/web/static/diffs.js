// Diffs inline or side by side. Side by side needs each unchanged line twice.
import { $$, root } from "./dom.js";

export function split(on) {
  root.dataset.split = on ? "1" : "";
  for (const block of $$(".diff")) apply(block, on);
  for (const button of $$("[data-diff]")) button.setAttribute("aria-pressed", String((button.dataset.diff === "split") === on));
}

function apply(block, on) {
  block.classList.toggle("split", on);
  if (on) {
    for (const line of $$("pre > .ln", block)) {
      const pair = document.createElement("span");
      const old = line.cloneNode(true);
      pair.className = "ctx";
      old.dataset.n = `${line.dataset.o}  `;
      line.replaceWith(pair);
      pair.append(old, line);
    }
  } else {
    for (const pair of $$("pre > .ctx", block)) pair.replaceWith(pair.lastElementChild);
  }
}

// What arrives later looks like the rest.
export function adopt(element) {
  if (root.dataset.split) for (const block of $$(".diff:not(.split)", element)) apply(block, true);
}
