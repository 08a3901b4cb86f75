// Secrets are not in the page: each is fetched alone, and only when asked for.
import { $$, post } from "./dom.js";

export async function toggleSecret(button) {
  if ("shown" in button.dataset) return hide(button);
  const answer = await post("/api/v1/reveal", { placeholder: `[${button.dataset.secret}]` });
  if (!answer.ok) {
    button.title = "This secret cannot be shown here";
    return;
  }
  button.dataset.shown = button.textContent;
  button.textContent = (await answer.json()).secret;
}

function hide(button) {
  button.textContent = button.dataset.shown;
  delete button.dataset.shown;
}

export const revealAll = () => Promise.all($$(".secret:not([data-shown])").map(toggleSecret));
export const hideAll = () => $$(".secret[data-shown]").forEach(hide);
