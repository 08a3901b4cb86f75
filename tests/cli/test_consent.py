"""Commands that rewrite or remove show a plan and ask in a terminal; with `--dry-run`, and in pipes, they only show it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.archive.families import contents, make_family
from tests.cli.running import run, run_in_terminal
from tests.homes import session_id, turns, write_session

ASKED = "Apply? [y/N] "
#: What each command says once it has done it.
DONE = {
    "edit": "Undo: ",
    "rm": "to the archive",
    "undo": "Undid edit 1",
    "purge": "for good.",
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return make_family(tmp_path / "home").parent.parent


@pytest.mark.parametrize(
    "command",
    [("edit", "aaaa", "--drop-branches", "--drop-agents"), ("rm", "aaaa"), ("undo",), ("purge", "aaaa")],
    ids=lambda each: each[0],
)
def test_a_plan_is_asked_about_in_a_terminal_and_only_there(command: tuple[str, ...], home: Path) -> None:
    if command[0] == "undo":
        assert run("rm", "aaaa", "--home", home, "--apply").returncode == 0
    before = contents(home)
    assert run(*command, "--home", home).returncode == 0
    for words, typed, is_asked in ((("--dry-run",), "", False), ((), "n\n", True), ((), "\n", True)):
        shown = run_in_terminal(*command, *words, "--home", home, "--no-color", answers=typed)
        assert (ASKED in shown) is is_asked, shown
        assert ("Nothing was written." in shown) is is_asked, shown
        assert "--apply" not in shown or not is_asked  # what to type instead of an answer
    assert contents(home) == before
    shown = run_in_terminal(*command, "--home", home, "--no-color", answers="y\n")
    assert DONE[command[0]] in shown.partition(ASKED)[2], shown
    assert contents(home) != before


def test_more_than_ten_sessions_are_confirmed_by_their_number(tmp_path: Path) -> None:
    for number in range(11):
        write_session(tmp_path, session_id(number + 1), turns(6))
    before = contents(tmp_path)
    for typed in ("y\n", "10\n"):
        shown = run_in_terminal("rm", "--older-than", "1h", "--home", tmp_path, answers=typed)
        assert "Apply to 11 sessions? Type their number: " in shown
    assert contents(tmp_path) == before
    run_in_terminal("rm", "--older-than", "1h", "--home", tmp_path, answers="11\n")
    assert not list((tmp_path / "projects").rglob("*.jsonl"))
