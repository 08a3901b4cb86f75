"""`steno rm` and `steno undo`, as processes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.archive.families import NAME, RESULT, SESSION, contents, make_family
from tests.cli.running import assert_one_clear_line, run, run_in_terminal
from tests.homes import session_id, write_session
from tests.surgery.conversations import linked, turn

from stenograph.disk import append_lines


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return make_family(tmp_path / "home").parent.parent


def test_rm_says_what_it_would_do_and_does_it_only_when_told(home: Path) -> None:
    before = contents(home)
    dry = run("rm", "aaaa", "--home", home)
    assert dry.returncode == 0
    assert contents(home) == before
    assert f"{SESSION} would be removed: 5 files" in dry.stdout
    assert dry.stdout.splitlines()[-1].endswith("--apply")
    told = json.loads(run("rm", "aaaa", "--home", home, "--json").stdout)
    assert (told["applied"], told["entry"], len(told["files"])) == (False, None, 5)
    assert told["bytes"] == sum(each["size"] for each in told["files"])
    done = run("rm", "aaaa", "--home", home, "--apply")
    assert f"{SESSION} was removed: 5 files" in done.stdout
    assert not [name for name in contents(home) if SESSION in name]


def test_undo_brings_a_removed_session_back_by_its_id_and_says_so(home: Path) -> None:
    before = contents(home)
    run("rm", "aaaa", "--home", home, "--apply")
    listed = run("undo", "--list", "--home", home).stdout
    taken = sum(len(data) for name, data in before.items() if SESSION in name and data)
    assert listed.split()[3:] == ["aaaa0001", "done", f"{taken / 1000:.0f}", "kB", "→", "0", "B", "5", "files", "rm"]
    done = run("undo", "aaaa0001", "--home", home)
    assert (done.returncode, done.stderr) == (0, "")
    assert contents(home) == before
    assert "Edit 1 of aaaa0001 was undone" in done.stdout
    again = json.loads(run("undo", "--entry", "2", "--json", "--home", home).stdout)
    assert (again["entry"], again["undoes"], {file["what"] for file in again["files"]}) == (3, 2, {"deleted"})
    entries = json.loads(run("undo", "--list", "--json", "--home", home).stdout)["entries"]
    assert [(entry["entry"], entry["state"], entry["undone_by"]) for entry in entries] == [
        (1, "done", None),
        (2, "done", 3),
        (3, "done", None),
    ]


def test_originals_can_be_written_elsewhere(home: Path, tmp_path: Path) -> None:
    result = (home / "projects" / "-home-user-work" / RESULT).read_bytes()
    run("rm", "aaaa", "--home", home, "--apply")
    done = run("undo", "--entry", "1", "--to", tmp_path / "out", "--home", home)
    assert done.returncode == 0
    assert (tmp_path / "out" / "projects" / "-home-user-work" / RESULT).read_bytes() == result
    assert not [name for name in contents(home) if SESSION in name]


def test_nothing_to_undo_is_said_with_exit_code_1(home: Path) -> None:
    done = run("undo", "--home", home)
    assert_one_clear_line(done, 1)
    assert run("undo", "--list", "--home", home).returncode == 1
    assert_one_clear_line(run("undo", "--entry", "7", "--home", home))
    assert_one_clear_line(run("undo", "no-such-session", "--home", home))


def test_a_file_changed_since_is_refused_in_one_line(home: Path) -> None:
    run("rm", "aaaa", "--home", home, "--apply")
    append_lines(home / "projects" / "-home-user-work" / NAME, [b"{}"], create=True)
    before = contents(home)
    done = run("undo", "--home", home)
    assert_one_clear_line(done)
    assert "--entry 1 --to" in done.stderr
    assert contents(home) == before


def test_edits_in_other_homes_are_not_undone(home: Path, tmp_path: Path) -> None:
    make_family(tmp_path / "other")
    run("rm", "aaaa", "--home", home, "--apply")
    assert run("undo", "--home", tmp_path / "other").returncode == 1
    assert run("undo", "--home", home).returncode == 0


def test_the_demo_is_neither_removed_nor_undone() -> None:
    assert_one_clear_line(run("rm", "1e73", "--demo", "--apply"))
    assert_one_clear_line(run("undo", "--demo"))


@pytest.mark.parametrize(("columns", "header"), [(120, "what"), (84, "what"), (50, "size"), (30, "size")])
def test_the_list_of_edits_names_them_and_fits_the_terminal(columns: int, header: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    write_session(home, session_id(0xCCCC0003), linked(*turn("One"), *turn("Two"), *turn("Three")))
    reason = "the first turn was about something else altogether"
    edits = ("--drop-turns", "--turns", "1", "--drop-bookkeeping", "--reason", reason)
    assert run("edit", "cccc", "--home", home, *edits, "--apply").returncode == 0
    first, *lines = run_in_terminal("undo", "--list", "--home", home, "--no-color", columns=columns).splitlines()
    assert first.split()[:3] == ["edit", "time", "session"][: 2 + (columns > 30)]
    assert max(map(len, [first, *lines])) <= columns
    told = " ".join(" ".join(lines).split())
    assert f"edit drop-turns, drop-bookkeeping ({reason})" in told
    for word in ("cccc0003", "done", "kB →"):
        assert word in told
    assert header in first + lines[0]
