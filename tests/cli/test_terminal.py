"""What a person sees in a terminal: lists and tables that fit, a header, signs of life."""

from __future__ import annotations

import fcntl
import json
import os
import re
import sys
import threading
import time
from pathlib import Path

import pytest
from tests.cli.running import SOURCE, run, run_in_terminal
from tests.homes import LONG_AGO, session_id, turns, user, write_session
from tests.surgery.conversations import linked, turn

from stenograph.cli import _output
from stenograph.testing.lines import text
from stenograph.views.text import width

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
ONE = session_id(0xAAAA0001)
CWD = "/home/user/a-long-way-down/lantern-shop"
LONG = "Find out why the import of the harbour gauge's file fails and mend it"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    records = [record | {"cwd": CWD, "version": "2.1.325", "gitBranch": "discount-codes"} for record in turns(6, LONG)]
    write_session(tmp_path, ONE, records, project="-home-user-a-long-way-down-lantern-shop")
    return tmp_path


def test_a_list_fits_the_terminal(tmp_path: Path) -> None:
    write_session(tmp_path, ONE, turns(6, "日本語のとても長い題名" * 20))
    header, row = run_in_terminal("ls", "--no-color", "--home", tmp_path, columns=90).splitlines()
    assert header.split() == ["id", "title", "project", "turns", "last"]
    assert row.startswith("  aaaa  日本語")
    assert re.search("…  +work ", row)
    assert 88 <= width(row) <= 90


# By hand: a gutter of 2, id 4, project 12, branch 14, release 7, size 6, turns 5, last 10, two columns after each but the last.
@pytest.mark.parametrize(
    ("columns", "options", "kept", "title"),
    [
        (200, ("--long",), "id title project branch release size turns last", 140 - 74),
        (120, ("--long",), "id title project branch release size turns last", 120 - 74),
        (102, ("--long",), "id title project branch release size turns last", 28),
        (101, ("--long",), "id title project release size turns last", 101 - 58),
        (80, (), "id title project turns last", 80 - 41),
        (72, (), "id title project turns last", 72 - 41),
    ],
)
def test_a_narrow_terminal_drops_the_branch_and_cuts_titles_last(
    home: Path, columns: int, options: tuple[str, ...], kept: str, title: int
) -> None:
    header, row = run_in_terminal("ls", "--no-color", *options, "--home", home, columns=columns).splitlines()
    assert " ".join(header.split()) == kept
    assert width(row) <= columns
    shown = row[header.index("title") : header.index("project") - 2]
    assert shown == (LONG if title >= len(LONG) else LONG[: title - 1] + "…")
    assert row[header.index("project") :].startswith("lantern-shop  ")


def test_sixty_columns_give_a_session_two_lines(home: Path) -> None:
    first, second = run_in_terminal("ls", "--no-color", "--home", home, columns=60).splitlines()
    assert first == f"  {LONG[:57]}…"
    assert second == "  aaaa  lantern-shop  6 turns" + "2023-11-14".rjust(31)


def test_a_pipe_gets_whole_lines(home: Path) -> None:
    header, line = run("ls", "--home", home, environment={"COLUMNS": "40"}).stdout.splitlines()
    assert header.split() == ["id", "status", "last", "turns", "project", "branch", "title"]
    assert line.startswith(f"{ONE}  done  ")
    assert line.endswith(f"/home/user/a-long-way-down/lantern-shop  discount-codes  {LONG}")


@pytest.mark.parametrize("world", [{"STENO_PLAIN": "1"}, {"TERM": "dumb"}, {}])
def test_plain_lines_are_those_of_a_pipe(home: Path, world: dict[str, str]) -> None:
    options = () if world else ("--plain",)
    shown = run_in_terminal("ls", *options, "--home", home, columns=60, environment=world)
    assert shown == run("ls", "--home", home).stdout


def test_what_is_left_out_and_what_marks_mean_ends_a_list(tmp_path: Path) -> None:
    write_session(tmp_path, ONE, [*turns(6), user([text("[Request interrupted by user]")])])
    write_session(tmp_path, session_id(2), turns(6), modified=LONG_AGO - 10)
    write_session(tmp_path, session_id(3), turns(1))
    lines = run_in_terminal("ls", "--limit", "1", "--home", tmp_path, "--no-color").splitlines()
    assert lines[1].startswith("■ aaaa  ")
    assert lines[2:] == ["", "  1 of 2 sessions (--limit 0 for all)  1 hidden: 1 short (--all)", "  ■ interrupted"]


def test_outside_utf_8_marks_are_ascii(tmp_path: Path) -> None:
    write_session(tmp_path, ONE, [*turns(6), user([text("[Request interrupted by user]")])])
    shown = run_in_terminal("ls", "--home", tmp_path, "--no-color", environment={"PYTHONIOENCODING": "ascii"})
    assert shown.isascii()
    assert shown.splitlines()[1].startswith("# aaaa  ")


def test_the_overview_fits_too(home: Path) -> None:
    lines = run_in_terminal("--no-color", "--home", home).splitlines()
    row = next(line for line in lines if line.startswith("  aaaa"))
    assert width(row) <= 80
    assert LONG[:24] in row
    assert lines[0] == "  1 session in 1 project"
    assert lines[2].split() == ["earlier,", "1", "session", "turns", "last"]


def test_an_option_beats_the_environment_about_color(tmp_path: Path) -> None:
    write_session(tmp_path, ONE, [*turns(6), user([text("[Request interrupted by user]")])])

    def is_colored(*options: str, **world: str) -> bool:
        return "\x1b[1;33m■" in run_in_terminal("ls", "--home", tmp_path, *options, environment=world)

    assert is_colored()
    assert not is_colored(TERM="dumb")
    assert not is_colored(NO_COLOR="1", FORCE_COLOR="1")
    assert is_colored("--color", "always", NO_COLOR="1")
    assert not is_colored("--color", "never", FORCE_COLOR="1")


def test_the_tables_of_an_inventory_fit_and_are_not_endless(tmp_path: Path) -> None:
    for number in range(50):
        records = [record | {"version": f"2.1.{number}"} for record in turns(1)]
        write_session(tmp_path, session_id(number), records, modified=LONG_AGO)
    write_session(tmp_path, "a-very-long-name-that-nobody-would-give-to-a-session-file", turns(1))
    shown = run_in_terminal("inventory", tmp_path, "--no-color")
    assert max(width(line) for line in shown.splitlines()) <= 80
    assert "and 11 more sessions: --json has them all" in shown
    # Twice in the table of sessions, which is too wide for 80 columns, and once in each of the three others with a row a session.
    assert shown.count("\n00000001 ") == 5
    assert shown.count("\nall sessions ") == 5
    piped = run("inventory", tmp_path).stdout
    assert sum(line.startswith("000000") for line in piped.splitlines()) == 4 * 50


def test_who_waits_for_a_lock_is_told_so(home: Path) -> None:
    path = next(home.rglob("*.jsonl"))
    with path.open("rb+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        release = threading.Timer(2.5, lambda: fcntl.flock(held, fcntl.LOCK_UN))
        release.start()
        shown = run_in_terminal("rename", ONE, "x", "--home", home)
        release.join()
    assert shown.startswith("waiting for ")
    assert 'to "x"' in shown


def test_nobody_is_told_in_a_pipe_or_of_a_short_wait(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(_output, "PATIENCE", 0.01)
    with _output.waiting("it"):
        time.sleep(0.1)
    monkeypatch.setattr(_output, "_is_watched", lambda: True)
    monkeypatch.setattr(_output, "PATIENCE", 5)
    with _output.waiting("it"):
        pass
    assert capfd.readouterr().err == ""


@pytest.mark.proof
def test_a_long_listing_shows_how_far_it_is(home: Path) -> None:
    """Every look at a file takes long here: 32 of them are more than a second."""
    for number in range(70):
        write_session(home, session_id(number), turns(6))
    slow = home / "slow"
    slow.mkdir()
    (slow / "sitecustomize.py").write_text(
        "import time\nimport stenograph.sessions.find as find\nquick = find.glance\n"
        "def glance(path):\n    time.sleep(0.04)\n    return quick(path)\nfind.glance = glance\n"
    )
    shown = run_in_terminal("ls", "--home", home, environment={"PYTHONPATH": f"{slow}{os.pathsep}{SOURCE}"})
    assert re.search(r"\rReading  \d+%  \d+ s left", shown.replace("\x1b[K", ""))


@pytest.mark.parametrize("command", [("ls",), (), ("inventory", "HOME")])
def test_a_progress_bar_is_drawn_and_taken_away_again(home: Path, command: tuple[str, ...]) -> None:
    """Without patience every run draws one. What it leaves behind is the same as without."""
    hasty = home / "hasty"
    hasty.mkdir()
    (hasty / "sitecustomize.py").write_text("import stenograph.cli._output\nstenograph.cli._output.PATIENCE = 0\n")
    arguments = [str(home) if word == "HOME" else word for word in command]
    shown = run_in_terminal(*arguments, "--home", home, environment={"PYTHONPATH": f"{hasty}{os.pathsep}{SOURCE}"})
    drawn, erased, rest = shown.rpartition("\r\x1b[K")
    assert re.fullmatch(r"(\r\x1b\[KReading  \d+%(  \d+ s left)?)+", drawn)
    assert erased
    assert rest == run_in_terminal(*arguments, "--home", home)
    assert "aaaa" in rest


@pytest.mark.parametrize("command", [("ls", "--all"), ()])
def test_names_and_titles_break_no_row_of_a_terminal(tmp_path: Path, command: tuple[str, ...]) -> None:
    for name in ("a\nb\x1b[2J", "\n\x1b[2J\u202e" + "x" * 30, "日本\x9b"):
        write_session(tmp_path, name, turns(6, "evil\x1b]0;t\x07"))
    write_session(tmp_path, ONE, turns(6))
    shown = run_in_terminal(*command, "--no-color", "--home", tmp_path, columns=120)
    for character in ("\x1b", "\x07", "\x9b", "\u202e"):
        assert character not in shown
    if command:
        assert len(shown.splitlines()) == 5


@pytest.mark.parametrize(("sort", "column"), [("size", "size"), ("turns", "turns"), ("started", "started"), ("last", "last")])
def test_the_column_that_a_list_is_sorted_by_is_always_shown(tmp_path: Path, sort: str, column: str) -> None:
    lines = [
        record | {"version": "2.1.325", "timestamp": "2026-01-02T03:04:05.000Z"} for record in turns(6, "Fix the parser " * 9)
    ]
    write_session(tmp_path, ONE, lines)
    header, row = run_in_terminal("ls", "--sort", sort, "--no-color", "--home", tmp_path, columns=72).splitlines()
    assert column in header.split()
    assert "release" not in header
    assert "2 Jan" in row or "2026-01-02" in row  # in this year, or later
    _, facts = run_in_terminal("ls", "--sort", sort, "--no-color", "--home", tmp_path, columns=60).splitlines()
    assert ("kB" in facts) is (sort == "size")


def test_groups_of_print_mode_are_rows_of_a_terminal_only(tmp_path: Path) -> None:
    for number in range(3):
        write_session(tmp_path, session_id(number), [record | {"entrypoint": "sdk-cli"} for record in turns(6)])
    shown = run_in_terminal("ls", "--no-color", "--home", tmp_path)
    assert "3 print mode  2023-11-14" in shown
    assert "/home/user/work" in shown
    assert run("ls", "--home", tmp_path).stdout == ""
    assert json.loads(run("ls", "--json", "--home", tmp_path).stdout)["groups"][0]["sessions"] == 3


def test_messages_begin_with_the_release_and_wrap(tmp_path: Path) -> None:
    write_session(tmp_path, ONE, linked(*turn("one " * 40)))
    shown = run_in_terminal("messages", ONE, "--as-of", "2.1.45", "--no-color", "--home", tmp_path, columns=60).splitlines()
    assert shown[0] == "2.1.45 would send 2 messages before the new prompt"
    assert max(map(width, shown)) <= 60
    assert sum(line.split().count("one") for line in shown) == 40


def test_a_note_says_where_it_cut_a_title(tmp_path: Path) -> None:
    write_session(tmp_path, ONE, turns(6, "x" * 60))
    assert run("inventory", "aaaa", "--home", tmp_path).stderr.splitlines()[-1].endswith(f' "{"x" * 39}…"')


def test_history_names_the_file_that_it_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "README.md").touch()
    write_session(tmp_path / "home", ONE, turns(6))
    assert str(tmp_path / "README.md") in run("history", "README.md", "--home", tmp_path / "home").stderr


def test_lost_names_its_rules_as_rules(tmp_path: Path) -> None:
    lines = linked(*turn("one"), *turn("two"))
    lines[2]["parentUuid"] = "00000000-0000-4000-8000-00000000dead"
    write_session(tmp_path, ONE, lines)
    shown = run("messages", ONE, "--as-of", "2.0.76", "--lost", "--home", tmp_path).stdout.splitlines()
    assert any(re.match(r"rule \d+: ", line) for line in shown[2:-1])
