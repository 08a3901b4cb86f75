// A large session comes with the one turn that was asked for; the rest of its page follows once the server has read the session.
// What is being read stays where it is.
import { $, $$, EDGE, fetchText, parse, session } from "./dom.js";
import { adopt } from "./diffs.js";
import { find, loadPieces, place, spy } from "./timeline.js";

async function complete() {
  const address = new URL(location.href);
  address.searchParams.set("full", "1");
  address.hash = "";
  const page = parse(await fetchText(address));
  adopt(page.body);
  const seen = $$("#timeline [data-line]").find((each) => each.getBoundingClientRect().top > EDGE);
  const line = seen?.dataset.line;
  const top = seen?.getBoundingClientRect().top;
  for (const part of [".outline", ".s-head", "#timeline", "#inspector"]) {
    const made = $(part, page);
    if (made) $(part).replaceChildren(...made.childNodes);
  }
  session.dataset.status = $(".session", page).dataset.status;
  delete session.dataset.partial;
  for (const chunk of $$(".chunk")) place(chunk);
  const same = line && $(`#timeline [data-line="${CSS.escape(line)}"]`);
  if (same && scrollY > 0) scrollBy({ top: same.getBoundingClientRect().top - top, behavior: "instant" });
  spy();
  loadPieces();
  const found = /^#line-(\d+)$/.exec(location.hash);
  if (found) find(found[1]);
}

if (session && "partial" in session.dataset) complete().catch(() => location.reload());
