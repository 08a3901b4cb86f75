// Secrets are not in the page: each is fetched alone, and only when asked for.
import { $$, base, session } from "./dom.js";

export async function toggleSecret(button) {
  if ("shown" in button.dataset) return hide(button);
  const record = button.closest("[data-line]");
  const id = session?.dataset.session ?? button.closest("[data-session]")?.dataset.session;
  if (!id || !record) return;
  const query = new URLSearchParams({ line: record.dataset.line, mark: button.dataset.secret });
  const agent = button.closest("[data-agent]")?.dataset.agent;
  if (agent) query.set("agent", agent);
  const answer = await fetch(`${base}/api/v1/sessions/${encodeURIComponent(id)}/secret?${query}`);
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
