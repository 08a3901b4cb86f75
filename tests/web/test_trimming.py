"""Surgery from the timeline: chosen calls are dropped as planned, and undo restores every byte."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tests.corpora import DEMO
from tests.homes import LONG_AGO
from tests.web.browsing import tab
from tests.web.serving import served
from tests.web.test_pages import DISCOUNTS, make_home


def test_a_chosen_call_is_dropped_and_comes_back(browser: Any, tmp_path: Path) -> None:
    file = make_home(tmp_path / "claude", [next(DEMO.rglob(f"{DISCOUNTS}.jsonl"))])[DISCOUNTS]
    os.utime(file, (LONG_AGO, LONG_AGO))
    original = file.read_bytes()
    with served(tmp_path / "claude", allow_edits=True) as server, tab(browser, server) as seen:
        page = seen.page
        seen.open(f"/s/{DISCOUNTS}")
        steps = page.locator(".flow > .w[data-tool]")
        before = steps.count()
        page.click("[data-trim-on]")
        page.locator(".w[data-tool] > .pick").first.check()
        assert page.locator("[data-trim=n]").inner_text() == "1 tool call selected"
        page.click("[data-trim=plan]")
        page.wait_for_selector("#plan[open] .ok")
        assert file.read_bytes() == original
        page.click("#plan [data-trim=apply]")
        page.wait_for_selector("#plan [data-trim=undo]:visible")
        assert file.read_bytes() != original
        page.click("#plan [data-trim=undo]")
        page.wait_for_selector("#plan:not([open])", state="attached")
        page.wait_for_function(f"() => document.querySelectorAll('.flow > .w[data-tool]').length === {before}")
        assert file.read_bytes() == original
        assert seen.problems == []


def test_without_the_switch_nothing_can_be_chosen(browser: Any) -> None:
    with served(DEMO) as server, tab(browser, server) as seen:
        seen.open(f"/s/{DISCOUNTS}")
        assert seen.page.locator("[data-trim-on], .trim, #plan").count() == 0
