"""`steno rm` and `steno undo`, as processes."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from tests.archive.families import NAME, RESULT, SESSION, contents, make_family
from tests.cli.running import assert_one_clear_line, run, run_in_terminal
from tests.homes import LONG_AGO, session_id, turns, write_session
from tests.surgery.conversations import linked, turn

from stenograph.archive import default_archive_folder
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
    (removal,) = told["removals"]
    assert (told["applied"], removal["entry"], len(removal["files"])) == (False, None, 5)
    assert told["size"] == removal["size"] == sum(each["size"] for each in removal["files"])
    done = run("rm", "aaaa", "--home", home, "--apply")
    assert f"Moved {SESSION} to the archive: 5 files" in done.stdout
    assert not [name for name in contents(home) if SESSION in name]


def test_undo_brings_a_removed_session_back_by_its_id_and_says_so(home: Path) -> None:
    before = contents(home)
    title = json.loads(run("show", "aaaa", "--home", home, "--json").stdout)["session"]["title"]
    run("rm", "aaaa", "--home", home, "--apply")
    # Its title comes last, though the session is gone.
    listed = run("undo", "--list", "--home", home).stdout
    taken = sum(len(data) for name, data in before.items() if SESSION in name and data)
    facts = ["aaaa0001", "done", f"{taken / 1000:.0f}", "kB", "→", "0", "B", "5", "files", "rm"]
    assert listed.split()[3:] == [*facts, *title.split()]
    done = run("undo", "--apply", "aaaa0001", "--home", home)
    assert (done.returncode, done.stderr) == (0, "")
    assert contents(home) == before
    assert "Undid edit 1 of aaaa0001" in done.stdout
    again = json.loads(run("undo", "--apply", "--entry", "2", "--json", "--home", home).stdout)
    assert (again["entry"], again["undoes"], {file["action"] for file in again["files"]}) == (3, 2, {"deleted"})
    entries = json.loads(run("undo", "--list", "--json", "--home", home).stdout)["entries"]
    assert [(entry["entry"], entry["state"], entry["undone_by"]) for entry in entries] == [
        (1, "done", None),
        (2, "done", 3),
        (3, "done", None),
    ]


@pytest.mark.parametrize("is_kept", [False, True])
def test_restore_names_the_undo_of_a_removed_session(home: Path, *, is_kept: bool) -> None:
    title = json.loads(run("show", "aaaa", "--home", home, "--json").stdout)["session"]["title"]
    if is_kept:
        other = write_session(home, session_id(7), turns(1, "Another"))
        assert run("archive", "keep", other, "--home", home).returncode == 0
    run("rm", "aaaa", "--home", home, "--apply")
    for name in ("aaaa", SESSION, title):
        done = run("restore", name, "--home", home)
        assert_one_clear_line(done)
        assert done.stderr.splitlines()[0] == f"error: session {SESSION[:8]} was removed by edit 1"
        assert done.stderr.splitlines()[1].endswith(f"--home {home} undo --entry 1")
    run("undo", "--entry", "1", "--home", home, "--apply")
    assert "was removed" not in run("restore", "aaaa", "--home", home).stderr


def test_a_clone_that_is_undone_is_not_kept_as_a_deleted_session(home: Path) -> None:
    """Its bytes stay with the undo, so a redo brings it back."""
    clone = json.loads(run("clone", "aaaa", "--home", home, "--json").stdout)["id"]
    run("archive", "keep", clone, "--home", home)
    assert run("undo", "--entry", "1", "--home", home, "--apply").returncode == 0
    listed = json.loads(run("ls", "--all", "--home", home, "--json").stdout)["sessions"]
    assert clone not in [each["id"] for each in listed]
    assert run("undo", "--entry", "2", "--home", home, "--apply").returncode == 0
    listed = json.loads(run("ls", "--all", "--home", home, "--json").stdout)["sessions"]
    assert clone in [each["id"] for each in listed]


def test_an_undo_that_could_not_forget_what_was_kept_of_a_clone_says_so(home: Path) -> None:
    clone = json.loads(run("clone", "aaaa", "--home", home, "--json").stdout)["id"]
    run("archive", "keep", clone, "--home", home)
    kept = Path(json.loads(run("undo", "--list", "--home", home, "--json").stdout)["archive"]) / "kept.sqlite"
    kept.write_bytes(kept.read_bytes()[:4096] + bytes(range(256)) * 400)
    done = run("undo", "--entry", "1", "--home", home, "--apply")
    assert (done.returncode, "Undid edit 1" in done.stdout) == (0, True)
    assert done.stderr == f"warning: the archive still has copies of the clone: {kept} is damaged\n"
    assert not [name for name in contents(home) if clone in name]


def test_originals_can_be_written_elsewhere(home: Path, tmp_path: Path) -> None:
    result = (home / "projects" / "-home-user-work" / RESULT).read_bytes()
    run("rm", "aaaa", "--home", home, "--apply")
    done = run("undo", "--entry", "1", "--to", tmp_path / "out", "--home", home)
    assert done.returncode == 0
    assert (tmp_path / "out" / "projects" / "-home-user-work" / RESULT).read_bytes() == result
    assert not [name for name in contents(home) if SESSION in name]


def test_nothing_to_undo_is_said_with_exit_code_1(home: Path) -> None:
    done = run("undo", "--apply", "--home", home)
    assert_one_clear_line(done, 1)
    assert run("undo", "--list", "--home", home).returncode == 1
    assert_one_clear_line(run("undo", "--entry", "7", "--home", home))
    assert_one_clear_line(run("undo", "no-such-session", "--home", home))


def test_a_file_changed_since_is_refused_in_one_line(home: Path) -> None:
    run("rm", "aaaa", "--home", home, "--apply")
    append_lines(home / "projects" / "-home-user-work" / NAME, [b"{}"], create=True)
    before = contents(home)
    done = run("undo", "--apply", "--home", home)
    assert_one_clear_line(done, 3)
    assert f" --home {home} undo --entry 1 --to" in done.stderr
    assert contents(home) == before


def test_an_edit_is_not_undone_unasked_because_another_was_stopped_before_it_began(home: Path) -> None:
    run("rm", "aaaa", "--home", home, "--apply")
    removed = contents(home)
    journal = default_archive_folder(os.environ) / "journal.jsonl"
    append_lines(
        journal, [json.dumps({"step": "staging", "entry": 2, "unfinished": [str(home / ".steno-unfinished-1")]}).encode()]
    )
    done = run("undo", "--home", home)
    assert "--apply" in done.stdout + done.stderr, done
    assert contents(home) == removed


def test_edits_in_other_homes_are_not_undone(home: Path, tmp_path: Path) -> None:
    make_family(tmp_path / "other")
    run("rm", "aaaa", "--home", home, "--apply")
    assert run("undo", "--apply", "--home", tmp_path / "other").returncode == 1
    assert run("undo", "--apply", "--home", home).returncode == 0


def test_the_demo_is_neither_removed_nor_undone() -> None:
    assert_one_clear_line(run("rm", "1e73", "--demo", "--apply"))
    assert_one_clear_line(run("undo", "--demo"))


@pytest.mark.parametrize(("columns", "header"), [(120, "what"), (84, "what"), (50, "state"), (30, "state")])
def test_the_list_of_edits_names_them_and_fits_the_terminal(columns: int, header: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    write_session(home, session_id(0xCCCC0003), linked(*turn("One"), *turn("Two"), *turn("Three")))
    reason = "the first turn was about something else altogether"
    edits = ("--drop-turns", "--turns", "1", "--drop-bookkeeping", "--reason", reason)
    assert run("edit", "cccc", "--home", home, *edits, "--apply").returncode == 0
    shown = run_in_terminal("undo", "--list", "--home", home, "--no-color", columns=columns).splitlines()
    assert shown[0].startswith("  1 edit, 1 can be undone;")
    start = shown.index("") + 1
    first, *lines = shown[start : shown.index("", start)]
    assert first.split()[:3] == ["edit", "when", "session"]
    assert max(map(len, [first, *lines])) <= columns
    told = " ".join(" ".join(lines).split())
    assert f"edit drop-turns, drop-bookkeeping ({reason})" in told
    for word in ("cccc0003", "done", "kB →"):
        assert word in told
    assert header in first + lines[0]


def test_undo_never_says_that_an_undo_is_to_be_undone_first(tmp_path: Path) -> None:
    home = tmp_path / "home"
    path = write_session(home, session_id(0xCCCC0003), linked(*turn("One"), *turn("Two"), *turn("Three")))
    run("edit", "cccc", "--home", home, "--drop-turns", "--turns", "1", "--apply")
    assert run("rename", "cccc", "Another name", "--home", home).returncode == 0
    before = run("undo", "--apply", "cccc", "--home", home)
    run("rm", "cccc", "--home", home, "--apply")
    assert run("undo", "--apply", "cccc", "--home", home).returncode == 0
    renamed = path.read_bytes()
    # The rename stands in the way as it did before the session was removed and brought back.
    done = run("undo", "--apply", "cccc", "--home", home)
    assert_one_clear_line(done, 3)
    assert "has changed since edit 1" in done.stderr
    assert f" --home {home} undo --entry 1 --to" in done.stderr
    assert done.stderr == before.stderr
    assert path.read_bytes() == renamed


def test_a_rename_says_that_the_edit_before_it_can_not_be_undone_in_place(tmp_path: Path) -> None:
    home = tmp_path / "home"
    write_session(home, session_id(0xCCCC0003), linked(*turn("One"), *turn("Two")))
    assert "can no longer be undone" not in run("tag", "cccc", "keep", "--home", home).stdout
    run("edit", "cccc", "--home", home, "--drop-turns", "--turns", "1", "--apply")
    told = run("rename", "cccc", "Another name", "--home", home).stdout.splitlines()[-1]
    assert told.startswith("Edit 1 can no longer be undone in place")
    assert told.endswith("undo --entry 1 --to DIR")
    assert (
        "can no longer be undone" not in run("rename", "cccc", "Yet another", "--home", home).stdout
    )  # it could not before either


def test_a_removal_that_would_be_refused_says_so_before(home: Path) -> None:
    path = home / "projects" / "-home-user-work" / NAME
    assert json.loads(run("rm", "aaaa", "--home", home, "--json").stdout)["removals"][0]["in_use"] is False
    with path.open("ab"):
        dry = run("rm", "aaaa", "--home", home)
        told = json.loads(run("rm", "aaaa", "--home", home, "--json").stdout)
        assert run("rm", "aaaa", "--home", home, "--apply").returncode == 3
    assert dry.returncode == 0
    assert dry.stdout.splitlines()[-1].startswith("Nothing was changed, and --apply would be refused now: ")
    assert "is in use; nothing was written" in dry.stdout
    assert told["removals"][0]["in_use"] is True


def test_one_edit_of_the_list_can_be_asked_for(home: Path, tmp_path: Path) -> None:
    run("rm", "aaaa", "--home", home, "--apply")
    run("undo", "--apply", "--home", home)
    assert [line.split()[0] for line in run("undo", "--list", "--entry", "2", "--home", home).stdout.splitlines()] == ["2"]
    assert run("undo", "--list", "--entry", "7", "--home", home).returncode == 1
    assert_one_clear_line(run("undo", "--list", "--entry", "1", "--to", tmp_path / "out", "--home", home))


@pytest.mark.parametrize("columns", [60, 50, 40, 30])
def test_no_size_is_broken_in_a_narrow_list_of_edits(columns: int, home: Path) -> None:
    before = contents(home)
    run("rm", "aaaa", "--home", home, "--apply")
    taken = sum(len(data) for name, data in before.items() if SESSION in name and data)
    shown = run_in_terminal("undo", "--list", "--home", home, "--no-color", columns=columns).splitlines()
    assert any(f"{taken / 1000:.0f} kB → 0 B" in line for line in shown)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("rm", "aaaa", "--apply", "--dry-run"), "--apply conflicts with --dry-run"),
        (("clone", "aaaa", "--apply"), "--dry-run writes nothing"),
        (("messages", "aaaa", "--release", "2.0.76"), "--as-of RELEASE"),
        (("edit", "aaaa", "--drop-turns", "2"), "--drop-turns --turns 2"),
        (("edit", "aaaa", "--drop-turns", "1-3,5", "--apply"), "--drop-turns --turns 1-3,5"),
    ],
)
def test_an_option_of_another_command_is_answered_with_what_is_meant(words: tuple[str, ...], hint: str, home: Path) -> None:
    before = contents(home)
    done = run(*words, "--home", home)
    assert_one_clear_line(done)
    assert hint in done.stderr
    assert "--reveal" not in done.stderr
    assert contents(home) == before


def test_hints_name_the_program_as_it_was_called(home: Path) -> None:
    done = run("show", "no-such-session", "--home", home)
    assert_one_clear_line(done)
    assert f"-m stenograph --home {home} ls --all\n" in done.stderr
    assert "try: steno " not in done.stderr


def _old(home: Path, number: int, day: int) -> Path:
    said = [{**record, "timestamp": f"2026-01-{day:02}T12:00:00Z"} for record in turns(6)]
    return write_session(home, session_id(number), said, modified=time.time())


def test_several_sessions_are_removed_at_once(tmp_path: Path) -> None:
    paths = [_old(tmp_path, number, 1) for number in (0xA1, 0xA2, 0xA3)]
    dry = run("rm", "000000a1", "000000a2", "--home", tmp_path)
    assert "2 sessions, " in dry.stdout
    assert dry.stdout.splitlines()[-1].endswith(f"rm {paths[0]} {paths[1]} --apply")
    assert all(path.exists() for path in paths)
    done = run("rm", "000000a1", "000000a2", "--home", tmp_path, "--apply")
    assert (done.returncode, [path.exists() for path in paths]) == (0, [False, False, True])
    assert done.stdout.count("Undo: ") == 2
    assert run("undo", "--apply", "--entry", "1", "--home", tmp_path).returncode == 0
    assert [path.exists() for path in paths] == [True, False, True]


def test_sessions_are_removed_by_the_age_of_their_last_record(tmp_path: Path) -> None:
    """The files' times are all new."""
    old, older = _old(tmp_path, 1, 10), _old(tmp_path, 2, 1)
    new = write_session(tmp_path, session_id(3), turns(6), modified=time.time())
    dry = json.loads(run("rm", "--older-than", "36h", "--home", tmp_path, "--json").stdout)
    assert [removal["path"] for removal in dry["removals"]] == [str(older), str(old)]
    assert (dry["applied"], dry["apply"].split()[-3:]) == (False, ["--older-than", "36h", "--apply"])
    assert run("rm", "--older-than", "36h", "--project", "nowhere", "--home", tmp_path).returncode == 1
    assert run("rm", "--older-than", "36h", "--home", tmp_path, "--apply").returncode == 0
    assert [path.exists() for path in (old, older, new)] == [False, False, True]
    for wrong in ((), ("--older-than", "36h", session_id(3)), ("--project", "x", session_id(3)), ("--older-than", "soon")):
        assert_one_clear_line(run("rm", *wrong, "--home", tmp_path))


def test_of_several_sessions_one_in_use_stays_and_the_others_go(tmp_path: Path) -> None:
    paths = [_old(tmp_path, number, 1) for number in (1, 2)]
    with paths[0].open("ab"):
        done = run("rm", *paths, "--apply")
    assert (done.returncode, [path.exists() for path in paths]) == (3, [True, False])
    assert f"{session_id(1)} was not removed" in done.stdout


def test_the_list_of_edits_shows_no_secret_of_their_reasons(tmp_path: Path) -> None:
    secret = "sk-ant-api03-" + "Zq9" * 30
    write_session(tmp_path, session_id(0xCCCC0003), linked(*turn("One"), *turn("Two"), *turn("Three")))
    edits = ("--drop-turns", "--turns", "1", "--reason", f"it held {secret}", "--apply")
    assert run("edit", "cccc", "--home", tmp_path, *edits).returncode == 0
    for listed in (run("undo", "--list", "--home", tmp_path), run("undo", "--list", "--json", "--home", tmp_path)):
        assert "it held " in listed.stdout
        assert secret not in listed.stdout + listed.stderr


def test_the_plan_names_title_and_age_and_the_session_that_loses_its_title(tmp_path: Path) -> None:
    """2.0.76 keeps the title of a session as a summary in a later one's file."""
    titled, teller = session_id(0xAAAA0001), session_id(0xBBBB0002)
    write_session(tmp_path, titled, linked(*turn("one"), *turn("two")))
    leaf = json.loads(next((tmp_path / "projects").rglob(f"{titled}.jsonl")).read_text().splitlines()[-1])["uuid"]
    summary = {"type": "summary", "summary": "Hidden gold", "leafUuid": leaf}
    write_session(tmp_path, teller, [summary, *turns(6, "Find the silver")])
    shown = run("rm", teller, "--home", tmp_path).stdout
    assert "  2023-11-14  Find the silver\n" in shown
    assert "Note: aaaa0001 loses its title, which is a summary in this file.\n" in shown
    both = json.loads(run("rm", teller, titled, "--json", "--home", tmp_path).stdout)["removals"]
    assert [(each["title"], each["titled"]) for each in both] == [("Find the silver", []), ("Hidden gold", [])]
    assert json.loads(run("purge", teller, "--json", "--home", tmp_path).stdout)["titled"] == [titled]


def test_of_many_sessions_one_that_cannot_be_archived_stops_no_other(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        write_session(tmp_path / "home", session_id(number), turns(6))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious").touch()
    bad = next((tmp_path / "home" / "projects").rglob(f"{session_id(2)}.jsonl"))
    bad.with_suffix("").symlink_to(elsewhere)
    plan = json.loads(run("rm", "--older-than", "1d", "--json", "--home", tmp_path / "home").stdout)
    assert [each["refusal"] is None for each in plan["removals"]].count(True) == 2
    done = run("rm", "--older-than", "1d", "--apply", "--json", "--home", tmp_path / "home")
    removals = {each["id"]: each for each in json.loads(done.stdout)["removals"]}
    assert done.returncode == 3
    assert {name for name, each in removals.items() if each["entry"] is None} == {session_id(2)}
    assert "linked-folder" in removals[session_id(2)]["refusal"]
    assert (bad.exists(), (elsewhere / "precious").exists()) == (True, True)
    assert [path.stem for path in bad.parent.glob("*.jsonl")] == [session_id(2)]


@pytest.mark.parametrize("command", ["rm", "purge"])
def test_a_name_that_could_command_a_terminal_is_shown_escaped(command: str, tmp_path: Path) -> None:
    path = tmp_path / "home" / "projects" / "-p" / "a\x1b[31mb\u202ec\nd.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(turns(1)[0]) + "\n")
    os.utime(path, (LONG_AGO, LONG_AGO))
    for arguments in ((), ("--apply",)):
        said = run(command, path, *arguments, "--home", tmp_path / "home")
        assert said.returncode == 0
        assert not [each for each in said.stdout.replace("\n", "") if not each.isprintable()]
