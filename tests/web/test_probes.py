"""Nothing that a transcript says runs, is fetched, or becomes an element of the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.web import probes
from tests.web.browsing import tab
from tests.web.serving import served

_SESSION = f"/s/{probes.ID}"
PAGES = [
    "/",
    "/?hidden=short",
    "/?q=%3Cscript%3Ewindow.__probed%3D1%3C%2Fscript%3E&project=%22%3E%3Cscript%3E",
    _SESSION,
    f"{_SESSION}?turn=2#turn-2",
    f"{_SESSION}/files",
    f"{_SESSION}/messages",
    f"{_SESSION}/records",
    *(f"{_SESSION}/raw/{line}" for line in (1, 3, 4, 5, 34, 64, 76)),
    f"{_SESSION}/raw/2?agent={probes.AGENT}",
    "/search?q=window&kinds=%3Cscript%3E",
    "/search?q=onerror",
    "/search?q=%22%3E%3Cscript%3Ewindow.__probed%3D1%3C%2Fscript%3E",
    "/health",
    "/usage?since=all",
    "/usage?by=block&since=all",
]

# What a transcript must not bring in: elements that run or fetch, attributes that run, addresses that run.
_INTRUDERS = """() => {
  const found = [];
  const ours = new Set([...document.scripts].filter((each) => each.src.startsWith(location.origin + "/static/")));
  for (const each of document.querySelectorAll("*")) {
    const name = each.localName;
    if (name === "script" && !ours.has(each)) found.push("script");
    if (["iframe", "object", "embed", "base", "style", "frame"].includes(name)) found.push(name);
    if (name === "img" && !each.src.startsWith("data:image/")) found.push("img " + each.src);
    if (name === "link" && !each.href.startsWith(location.origin + "/static/")) found.push("link " + each.href);
    for (const attribute of each.attributes) {
      if (attribute.name.startsWith("on")) found.push(name + " " + attribute.name);
      if (["href", "src", "action", "formaction", "xlink:href"].includes(attribute.name)
          && !/^(https?:|mailto:|data:image\\/|[/?#.]|$)/i.test(attribute.value)) found.push(name + " " + attribute.value);
    }
  }
  return found;
}"""


def _open_everything(page: Any) -> None:
    """Folded steps too, which are fetched when they are opened."""
    for _ in range(2):
        page.evaluate("() => { for (const each of document.querySelectorAll('details')) each.open = true }")
        page.wait_for_function("() => !document.querySelector('details[open] > .body > p > a[href*=\"/steps/\"]')")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    probes.write(tmp_path / "claude")
    return tmp_path / "claude"


def test_nothing_that_a_transcript_says_runs(browser: Any, home: Path) -> None:
    with served(home) as server, tab(browser, server) as seen:
        for path in PAGES:
            answer = seen.open(path)
            assert answer.status < 400, path
            _open_everything(seen.page)
            assert seen.page.evaluate(_INTRUDERS) == [], path
            assert seen.page.evaluate("() => window.__probed") is None, path
        assert seen.problems == []


def test_the_raw_drawer_and_the_copies_are_text(browser: Any, home: Path) -> None:
    with served(home) as server, tab(browser, server) as seen:
        seen.open(_SESSION)
        seen.page.keyboard.press("r")
        seen.page.wait_for_selector("#record.open pre")
        assert seen.page.evaluate(_INTRUDERS) == []
        assert seen.page.evaluate("() => window.__probed") is None
        assert seen.problems == []
