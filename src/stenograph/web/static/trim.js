// Surgery: choose turns and tool calls on the timeline, see the plan with its proof and its price, apply it, undo it. The server
// renders this only with --allow-edits; it makes every plan, and writes nothing that was not shown.
import { $, $$, post, root, session } from "./dom.js";

const bar = $(".trim");
const dialog = $("#plan");
const chosen = { turns: new Set(), calls: new Set() };
const address = (what) => `/api/v1/sessions/${encodeURIComponent(session.dataset.session)}/${what}`;

function box(label, kind, key) {
  const made = document.createElement("input");
  made.type = "checkbox";
  made.className = "pick";
  made.setAttribute("aria-label", label);
  made.checked = chosen[kind].has(key);
  made.addEventListener("change", () => {
    if (made.checked) chosen[kind].add(key);
    else chosen[kind].delete(key);
    made.closest(".w, .turn").classList.toggle("picked", made.checked);
    count();
  });
  return made;
}

// Chunks come and go: what is new gets its boxes, and what was chosen stays so.
function decorate() {
  for (const turn of $$(".turn[id]")) {
    const number = Number(turn.dataset.turn);
    if (!$(".th > .pick", turn)) $(".th", turn).prepend(box(`Select turn ${number}`, "turns", number));
    turn.classList.toggle("picked", chosen.turns.has(number));
  }
  for (const step of $$(".turn > .flow > .w[data-tool]")) {
    if (!$(":scope > .pick", step)) step.append(box(`Select ${$("summary b", step).textContent}`, "calls", step.dataset.tool));
    step.classList.toggle("picked", chosen.calls.has(step.dataset.tool));
  }
}

function count() {
  const words = [];
  const { turns, calls } = chosen;
  if (turns.size) words.push(`${turns.size} ${turns.size === 1 ? "turn" : "turns"}`);
  if (calls.size) words.push(`${calls.size} ${calls.size === 1 ? "tool call" : "tool calls"}`);
  $("[data-trim=n]", bar).textContent = words.length ? `${words.join(" and ")} selected` : "Nothing selected";
  $("[data-trim=plan]", bar).disabled = !words.length;
  $("[data-trim=turns]", bar).hidden = !turns.size;
  $("[data-trim=calls]", bar).hidden = !calls.size;
}

let observer;
export function toggle(on = root.dataset.mode !== "trim") {
  if (!bar) return;
  $("[data-trim-on]")?.setAttribute("aria-pressed", String(on));
  observer?.disconnect();
  if (!on) {
    delete root.dataset.mode;
    for (const each of $$(".pick")) each.remove();
    for (const each of $$(".picked")) each.classList.remove("picked");
    chosen.turns.clear();
    chosen.calls.clear();
    return;
  }
  root.dataset.mode = "trim";
  decorate();
  count();
  observer = new MutationObserver(() => decorate());
  observer.observe($("#timeline"), { childList: true, subtree: true });
}

function edits() {
  const found = [];
  const turns = [...chosen.turns].sort((a, b) => a - b).map((number) => [number, number]);
  const calls = [...chosen.calls];
  const ofCalls = $("[data-trim=calls]", bar).value;
  if (calls.length) found.push({ edit: ofCalls, which: { calls }, ...(ofCalls === "truncate-results" ? { limit: 2000 } : {}) });
  if (turns.length) found.push({ edit: $("[data-trim=turns]", bar).value, which: { turns } });
  return found;
}

// For a shell, as Python's `shlex.quote`: ids come from the file, which may say anything.
const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`);

function command() {
  const words = [root.dataset.program, "edit", quoted(session.dataset.session.slice(0, 8))];
  const [first] = edits();
  if (edits().length > 1) return "";
  words.push(first.edit === "truncate-results" ? "--truncate-results 2000" : `--${first.edit}`);
  if (first.which.turns) words.push("--turns", first.which.turns.map(([number]) => number).join(","));
  for (const call of first.which.calls ?? []) words.push("--call", quoted(call));
  return words.join(" ");
}

const element = (name, text, className = "") => {
  const made = document.createElement(name);
  made.textContent = text;
  made.className = className;
  return made;
};
const money = (usd) => (usd >= 0.01 || usd === 0 ? `$${usd.toFixed(2)}` : `$${usd.toPrecision(2)}`);
const number = (value) => value.toLocaleString("en");

function row(table, ...cells) {
  const made = table.insertRow();
  cells.forEach((cell, place) => {
    const [text, className] = Array.isArray(cell) ? cell : [cell, place ? "num" : ""];
    made.append(element("td", text, className));
  });
}

function show(plan) {
  const body = $(".plan-b", dialog);
  body.replaceChildren();
  const steps = element("ul", "", "rows");
  for (const each of plan.edits) {
    const counts = Object.entries(each.counts).map(([name, count]) => `${number(count)} ${count === 1 ? name.replace(/s$/, "") : name}`).join(", ");
    steps.append(element("li", [each.summary, counts, each.note].filter(Boolean).join(": ")));
  }
  const sent = document.createElement("table");
  sent.className = "tbl mt";
  const newest = plan.releases.at(-1);
  row(sent, ["What a resume sends", "mute"], ["Before", "num mute"], ["After", "num mute"]);
  if (newest) row(sent, "Messages", number(newest.messages.before), number(newest.messages.after));
  row(sent, plan.tokens_measured ? "Tokens" : "Tokens, estimated", number(plan.tokens.before), `~${number(plan.tokens.after)}`);
  if (plan.priced) row(sent, "Saves per later call", "", money(plan.saved_usd_per_call));
  if (plan.priced) row(sent, plan.cache_expired ? "Once; the prompt cache has expired" : "Once, to rebuild the prompt cache", "", money(plan.usd_once));
  const proof = document.createElement("table");
  proof.className = "tbl mt";
  row(proof, ["Proof", "mute"], ["Would send", "mute"]);
  for (const release of plan.releases) {
    const text = release.refused ? `refuses it: ${release.refused}` : plan.problems.length ? "not proved" : "exactly the plan";
    row(proof, release.release, [text, release.refused || plan.problems.length ? "del" : "ok"]);
  }
  body.append(steps, sent, proof);
  for (const problem of [...plan.problems, plan.refusal].filter(Boolean)) body.append(element("p", problem, "del mt1"));
  if (plan.in_use) body.append(element("p", "The session is in use, so nothing can be written now.", "warn mt1"));
  if (command() && !plan.applied) {
    const line = element("div", "", "cmd mt");
    const copy = element("button", "", "copy");
    copy.append(element("span", "", "i i-copy"));
    copy.ariaLabel = "Copy command";
    copy.type = "button";
    copy.dataset.copy = "cmd";
    line.append(element("code", command()), copy);
    body.append(line);
  }
  $("[data-trim=apply]", dialog).disabled = Boolean(plan.problems.length || plan.refusal || plan.in_use || !plan.changes_file || plan.applied);
  $("[data-trim=apply]", dialog).hidden = plan.applied;
  $("[data-trim=undo]", dialog).hidden = !plan.applied;
  $("#plan-h").textContent = plan.applied ? "Applied" : "Plan";
  $(".plan-n", dialog).textContent = plan.applied
    ? "The original is archived. Undo restores it byte for byte."
    : "Nothing is written yet. The original is archived, and undo restores it byte for byte.";
  if (!dialog.open) dialog.showModal();
}

async function ask(what, body) {
  const answer = await post(address(what), body);
  const found = await answer.json();
  if (answer.ok) return found;
  $(".plan-b", dialog).replaceChildren(element("p", found.detail ?? "The plan could not be made.", "del"));
  $("[data-trim=apply]", dialog).disabled = true;
  if (!dialog.open) dialog.showModal();
  return null;
}

// What the dialog shows: the session may change in another tab before it is applied or undone.
let planned = null;

export async function click(data) {
  if (data.trim === "plan" || data.trim === "apply") {
    const apply = data.trim === "apply";
    const plan = await ask("edit", { edits: edits(), apply, state: apply ? planned?.state : null });
    if (plan) show((planned = plan));
  } else if (data.trim === "undo") {
    if (await ask("undo", { entry: planned?.entry ?? null })) location.reload();
  } else if (data.trim === "off") toggle(false);
}

dialog?.addEventListener("close", () => {
  if (!$("[data-trim=undo]", dialog).hidden) location.reload();
});
