"""Buttons that copy: what is in the clipboard afterwards, and that the commands do what the button says."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.corpora import DEMO
from tests.homes import LONG_AGO, assistant, user, write_session
from tests.web.browsing import Tab, tab
from tests.web.serving import served
from tests.web.test_pages import DISCOUNTS, make_home

from stenograph.testing.lines import text

COPYING = ["clipboard-read", "clipboard-write"]
#: What was asked in it.
PROMPTS = ("We want discount codes at the checkout", "Commit it, please.")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    file = make_home(tmp_path / "claude", [next(DEMO.rglob(f"{DISCOUNTS}.jsonl"))])[DISCOUNTS]
    os.utime(file, (LONG_AGO, LONG_AGO))
    return tmp_path / "claude"


@pytest.fixture
def seen(browser: Any, home: Path) -> Iterator[Tab]:
    with served(home, program=f"steno --home {home}") as server, tab(browser, server, permissions=COPYING) as found:
        found.open(f"/s/{DISCOUNTS}")
        yield found
        assert found.problems == []


def click(seen: Tab, selector: str) -> str:
    """What a click leaves in the clipboard."""
    page = seen.page
    page.evaluate("() => navigator.clipboard.writeText('')")
    button = page.locator(selector).first
    button.click()
    page.wait_for_function("() => navigator.clipboard.readText().then((it) => it !== '')")
    button.filter(has_text="Copied").wait_for()  # said right after the text is in the clipboard
    return str(page.evaluate("() => navigator.clipboard.readText()"))


def run(line: str, *more: str) -> str:
    """A pasted command."""
    program, *words = shlex.split(line)
    assert program == "steno"
    done = subprocess.run([sys.executable, "-m", "stenograph", *words, *more], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def prompts_in(file: Path) -> int:
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    asked = [line for line in lines if line.get("type") == "user" and not line.get("isMeta")]
    return sum(any(json.dumps(line["message"]).find(prompt) >= 0 for prompt in PROMPTS) for line in asked)


def new_session(home: Path) -> Path:
    (file,) = (path for path in home.rglob("*.jsonl") if path.stem != DISCOUNTS)
    return file


def test_commands_of_the_session_resume_and_clone_it(seen: Tab, home: Path) -> None:
    assert DISCOUNTS in run(click(seen, ".acts button:nth-child(1)"), "--print")
    assert click(seen, "#inspector .cmd .copy") == seen.page.locator("#inspector .cmd code").inner_text()
    run(click(seen, ".acts button:nth-child(2)"))
    assert prompts_in(new_session(home)) == 2


def test_commands_of_a_turn_stop_after_it(seen: Tab, home: Path) -> None:
    resume, clone = (click(seen, f"#turn-1 .tf button:nth-child({place})") for place in (1, 2))
    assert resume == f"{clone} --resume"  # what it resumes: tests/cli/test_clone.py
    run(clone)
    copy = new_session(home)
    assert prompts_in(copy) == 1


def test_the_session_and_a_turn_are_copied_as_markdown(seen: Tab) -> None:
    whole = click(seen, ".acts [data-copy=all]")
    assert all(prompt in whole for prompt in PROMPTS)
    turn = click(seen, "#turn-2 [data-copy=turn]")
    assert PROMPTS[1] in turn
    assert PROMPTS[0] not in turn


def test_the_raw_record_is_copied_and_stepped_through(seen: Tab, home: Path) -> None:
    page = seen.page
    lines = next(home.rglob(f"{DISCOUNTS}.jsonl")).read_text().splitlines()
    page.locator("#turn-1 .th .raw").click()
    page.wait_for_selector("#record.open")
    number = int(page.locator("#record h2").inner_text().removeprefix("Line "))
    assert json.loads(click(seen, "#record [data-copy=raw]")) == json.loads(lines[number - 1])
    page.locator("#record [aria-label='Next record']").click()
    page.get_by_text(f"Line {number + 1}", exact=True).wait_for()
    page.locator("#record [data-close]").click()
    assert page.locator("#record.open").count() == 0


def test_downloads_hold_the_session(seen: Tab) -> None:
    for form in ("HTML", "Markdown", "JSON", "zip"):
        with seen.page.expect_download() as begun:
            seen.page.locator("#inspector .dl a", has_text=form).click()
        data = Path(begun.value.path()).read_bytes()
        assert data.startswith(b"PK") if form == "zip" else PROMPTS[1].encode() in data


def test_a_branch_is_cloned_as_it_is_shown(browser: Any, tmp_path: Path) -> None:
    """Two ways to continue after one answer: the earlier one is shown, and its second prompt comes along."""
    session, home = "00000000-0000-4000-8000-000000000009", tmp_path / "claude"
    made: list[dict[str, Any]] = []
    for place, (said, above) in enumerate((("Begin", None), ("The first way", 1), ("The second way", 1))):
        for record in (user(said), assistant(text(f"Answer {place}."))):
            number = len(made)
            parent = above if record["type"] == "user" else number - 1
            record |= {
                "sessionId": session,
                "uuid": f"{number:08}-0000-4000-8000-000000000000",
                "parentUuid": None if parent is None else f"{parent:08}-0000-4000-8000-000000000000",
                "timestamp": f"2026-01-31T12:00:0{number}.000Z",
            }
            if record["type"] == "assistant":
                record["message"] = record["message"] | {"id": f"msg_{number}"}
            made.append(record)
    write_session(home, session, made)
    with served(home, program=f"steno --home {home}") as server, tab(browser, server, permissions=COPYING) as seen:
        seen.open(f"/s/{session}")
        seen.page.locator(".fork a", has_text="The first way").click()
        seen.page.get_by_text("Answer 1.", exact=True).wait_for()
        run(click(seen, "#turn-2 .tf button:nth-child(2)"))
        assert seen.problems == []
    (copy,) = (path for path in home.rglob("*.jsonl") if path.stem != session)
    assert "The first way" in copy.read_text()
    assert "The second way" not in copy.read_text()


def test_a_name_that_a_shell_would_run_is_quoted(browser: Any, tmp_path: Path) -> None:
    home = tmp_path / "claude"
    path = write_session(home, "plain", [user("Hello"), assistant(text("Yes."))])
    path.rename(path.with_name("$(touch gone) x.jsonl"))
    with served(home, program=f"steno --home {home}") as server, tab(browser, server, permissions=COPYING) as seen:
        seen.open("/s/$(touch%20gone)%20x")
        line = click(seen, ".acts button:nth-child(2)")
    assert shlex.split(line)[-1] == "$(touch gone) x"
    done = subprocess.run(["sh", "-c", f"echo {line}"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "$(touch gone) x" in done.stdout
    assert not (tmp_path / "gone").exists()
