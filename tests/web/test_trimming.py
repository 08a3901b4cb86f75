"""Surgery from the timeline: chosen calls are dropped as planned, and undo restores every byte."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any

from tests.corpora import DEMO
from tests.homes import LONG_AGO, assistant, session_id, turns, user, write_session
from tests.web.browsing import tab
from tests.web.serving import served
from tests.web.test_pages import DISCOUNTS, make_home

from stenograph.testing.lines import tool_result, tool_use

SESSION = session_id(1)


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
        # As `steno edit` says: the last call was long ago.
        assert "Once; the prompt cache has expired\t\t$0.00" in page.locator("#plan").inner_text()
        assert "Saves per later call" in page.locator("#plan").inner_text()
        page.click("#plan [data-trim=apply]")
        page.wait_for_selector("#plan [data-trim=undo]:visible")
        assert file.read_bytes() != original
        page.click("#plan [data-trim=undo]")
        page.wait_for_selector("#plan:not([open])", state="attached")
        page.wait_for_function(f"() => document.querySelectorAll('.flow > .w[data-tool]').length === {before}")
        assert file.read_bytes() == original
        assert seen.problems == []


def test_the_command_for_a_shell_says_what_was_chosen_and_nothing_else(browser: Any, tmp_path: Path) -> None:
    hostile = "toolu_1'; touch /tmp/pwned #"
    records = [
        user("List the files"),
        assistant(tool_use(hostile, "Bash", command="ls")),
        user([tool_result(hostile, "a\nb\n" * 50)]),
    ]
    write_session(tmp_path, SESSION, [*records, *turns(2)])
    with served(tmp_path, allow_edits=True) as server, tab(browser, server) as seen:
        seen.open(f"/s/{SESSION}")
        seen.page.click("[data-trim-on]")
        seen.page.locator(".w[data-tool] > .pick").first.check()
        seen.page.click("[data-trim=plan]")
        seen.page.wait_for_selector("#plan[open] .cmd code")
        shown = seen.page.locator("#plan .cmd code").inner_text()
    assert shlex.split(shown) == ["steno", "edit", SESSION[:8], "--drop-tool-calls", "--call", hostile]


def test_without_the_switch_nothing_can_be_chosen(browser: Any) -> None:
    with served(DEMO) as server, tab(browser, server) as seen:
        seen.open(f"/s/{DISCOUNTS}")
        assert seen.page.locator("[data-trim-on], .trim, #plan").count() == 0
