"""`steno purge`: nothing is left on the machine, and what left it is said."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest
from tests.archive.families import contents
from tests.cli.running import assert_one_clear_line, run
from tests.homes import session_id, write_session
from tests.surgery.conversations import called, linked, turn

from stenograph.sessions import load_file
from stenograph.traces.folder import default_trace_folder, waiting_events
from stenograph.traces.hook import note_event
from stenograph.traces.mapping import seed_of
from stenograph.traces.reading import Closing, Place
from stenograph.traces.spans import trace_id_of
from stenograph.traces.state import Cursor, Receipt, TraceState

ID, OTHER = session_id(0xAAAA0001), session_id(0xBBBB0002)
WORDS = "quicksilver"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A session that was edited, searched and partly sent, and another that was edited too."""
    home = tmp_path / "home"
    lines = linked(
        *turn(f"Where is the {WORDS}?", called("Read", {"file_path": "/p"}, f"{WORDS} " * 100, identity="toolu_1")),
        *turn(f"And the other {WORDS}?"),
    )
    path = write_session(home, ID, [{**line, "sessionId": ID} for line in lines])
    spilled = path.with_suffix("") / "tool-results" / "b1.txt"
    spilled.parent.mkdir(parents=True)
    spilled.write_text(f"{WORDS} spilled")
    sent = trace_id_of(seed_of(load_file(path).turns[1]))
    other = linked(*turn("Something else", called("Read", {"file_path": "/p"}, "words " * 100, identity="toolu_2")))
    write_session(home, OTHER, [{**line, "sessionId": OTHER} for line in other])
    for session in (OTHER, ID):
        assert run("edit", session, "--truncate-results", "10", "--apply", "--home", home).returncode == 0
    assert run("search", WORDS, "--home", home).returncode == 0
    folder = default_trace_folder(os.environ)
    note_event(str(folder), {"hook_event_name": "Stop", "received_ns": 1, "session_id": ID, "transcript_path": str(path)})
    note_event(str(folder), {"hook_event_name": "Stop", "received_ns": 2, "session_id": OTHER})
    with TraceState(folder) as state:
        cursor = Cursor(Place(0, 0, 0, 0), b"x")
        state.acknowledge("langfuse", Receipt(path, cursor, turns=1, spans=2, posts=1, trace_ids=(sent,)))
        state.acknowledge("langfuse", Receipt(path.with_name(f"{OTHER}.jsonl"), cursor, turns=1, spans=2, posts=1))
        state.make_due(["langfuse"], path, Closing.UNKNOWN, 1)
    return home


def _holding(home: Path, *needles: str) -> list[Path]:
    """The files in the home and in our own directories that hold one of these words, also in what is compressed or named."""
    found = []
    for path in (*home.rglob("*"), *Path(os.environ["HOME"]).rglob("*")):
        data = path.read_bytes() if path.is_file() else b""
        data = gzip.decompress(data) if path.suffix == ".gz" else data
        if any(needle.encode() in data or needle in path.name for needle in needles):
            found.append(path)
    return found


def test_a_dry_run_lists_everything_and_deletes_nothing(home: Path) -> None:
    before = contents(home)
    done = run("purge", ID, "--home", home, "--json")
    told = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert [Path(file["path"]).name for file in told["files"]] == [f"{ID}.jsonl", "b1.txt"]
    assert (told["edits"], told["originals"], told["shared_originals"]) == ([2], 1, 0)
    assert (told["trace_events"], told["trace_entries"]) == (1, 2)
    assert told["index"] is not None
    assert told["sent"] == [{"destination": "langfuse", "turns": [2]}]
    assert (told["applied"], told["apply"] is None) == (False, False)
    shown = run("purge", ID[:8], "--home", home).stdout
    assert "Left this machine: 1 turn sent to langfuse" in shown
    assert "cannot be undone" in shown
    assert contents(home) == before
    # The session, its spilled result, the original in the archive and the terms of the index.
    assert len(_holding(home, WORDS)) >= 4


@pytest.mark.parametrize("is_removed", [False, True])
def test_nothing_of_a_purged_session_is_left_and_others_stay_whole(home: Path, is_removed: bool) -> None:
    if is_removed:
        assert run("rm", ID, "--apply", "--home", home).returncode == 0
    done = run("purge", ID, "--apply", "--home", home, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["applied"]
    assert told["sent"] == [{"destination": "langfuse", "turns": [2]}]
    assert len(told["files"]) == (0 if is_removed else 2)
    assert _holding(home, WORDS, ID) == []
    # The other session's edit can be undone, its events are waiting, and no number is given twice.
    assert len(list((default_trace_folder(os.environ) / "spool").glob("*.json"))) == 1
    undone = run("undo", "--apply", OTHER, "--home", home, "--json")
    assert undone.returncode == 0, undone.stderr
    assert json.loads(undone.stdout)["entry"] == (4 if is_removed else 3)
    assert_one_clear_line(run("purge", ID, "--home", home))


SPOKEN = "amalgam"


@pytest.fixture
def other_home(home: Path, tmp_path: Path) -> Path:
    """Another home with a session of the same id, of which we have as much, in other words."""
    other = tmp_path / "other"
    lines = linked(*turn(f"Where is the {SPOKEN}?", called("Read", {"file_path": "/p"}, f"{SPOKEN} " * 100, identity="toolu_1")))
    path = write_session(other, ID, [{**line, "sessionId": ID} for line in lines])
    assert run("edit", ID, "--truncate-results", "10", "--apply", "--home", other).returncode == 0
    assert run("clone", ID, "--home", other).returncode == 0
    for each in (home, other):
        assert run("archive", "keep", "--home", each).returncode == 0
    folder = default_trace_folder(os.environ)
    note_event(str(folder), {"hook_event_name": "Stop", "received_ns": 3, "session_id": ID, "transcript_path": str(path)})
    with TraceState(folder) as state:
        state.acknowledge("langfuse", Receipt(path, Cursor(Place(0, 0, 0, 0), b"x"), turns=1, spans=2, posts=1))
    return other


@pytest.mark.parametrize("is_removed", [False, True])
def test_a_session_with_the_same_id_in_another_home_stays_whole(home: Path, other_home: Path, is_removed: bool) -> None:
    if is_removed:
        for each in (home, other_home):
            assert run("rm", ID, "--apply", "--home", each).returncode == 0
    before = contents(other_home)
    told = json.loads(run("purge", ID, "--apply", "--home", home, "--json").stdout)
    assert (told["edits"], told["clones"]) == ([2, 5] if is_removed else [2], [])
    assert (told["originals"], told["kept"], told["trace_events"], told["trace_entries"]) == (3 if is_removed else 1, 2, 1, 2)
    assert _holding(home, WORDS) == []
    assert contents(other_home) == before
    folder = default_trace_folder(os.environ)
    assert [json.loads(event.read_bytes())["received_ns"] for event in waiting_events(folder)] == [2, 3]
    # All that was there of the other one is purged next.
    told = json.loads(run("purge", ID, "--home", other_home, "--json").stdout)
    assert (told["edits"], len(told["clones"])) == ([3, 6] if is_removed else [3], 1)
    assert (told["originals"], told["kept"], told["trace_events"], told["trace_entries"]) == (2 if is_removed else 1, 1, 1, 1)
    for _ in range(2 if is_removed else 1):
        assert run("undo", ID, "--apply", "--home", other_home).returncode == 0
    assert f"{SPOKEN} " * 100 in next((other_home / "projects").rglob(f"{ID}.jsonl")).read_text(encoding="utf-8")


def test_a_session_that_was_removed_elsewhere_is_found_by_its_id(home: Path, tmp_path: Path) -> None:
    assert run("rm", ID, "--apply", "--home", home).returncode == 0
    (tmp_path / "empty" / "projects").mkdir(parents=True)
    told = json.loads(run("purge", ID, "--home", tmp_path / "empty", "--json").stdout)
    assert told["edits"] == [2, 3]


def test_originals_that_another_session_needs_and_clones_stay_and_are_named(home: Path) -> None:
    assert run("undo", "--apply", ID, "--home", home).returncode == 0
    copy = write_session(home, session_id(0xCCCC0003), [])
    copy.write_bytes((copy.with_name(f"{ID}.jsonl")).read_bytes())
    assert run("rm", session_id(0xCCCC0003), "--apply", "--home", home).returncode == 0
    clone = json.loads(run("clone", ID, "--home", home, "--json").stdout)["id"]
    told = json.loads(run("purge", ID, "--apply", "--home", home, "--json").stdout)
    assert told["shared_originals"] == 1
    assert told["clones"] == [clone]
    assert run("undo", "--apply", session_id(0xCCCC0003), "--home", home).returncode == 0


def test_a_session_in_use_and_the_demo_are_not_purged(home: Path) -> None:
    path = next((home / "projects").rglob(f"{ID}.jsonl"))
    before = contents(home)
    if Path("/proc/self/fd").is_dir():  # who has a file open is known on Linux only
        with path.open("ab"):
            assert json.loads(run("purge", ID, "--home", home, "--json").stdout)["in_use"]
            assert_one_clear_line(run("purge", ID, "--apply", "--home", home), 3)
    assert contents(home) == before
    assert_one_clear_line(run("purge", "1e73", "--demo", "--apply"))


def test_a_clone_that_was_removed_is_said_to_be_in_the_archive(home: Path) -> None:
    clone = json.loads(run("clone", ID, "--home", home, "--json").stdout)["id"]
    assert run("rm", clone, "--apply", "--home", home).returncode == 0
    told = json.loads(run("purge", ID, "--home", home, "--json").stdout)
    assert (told["clones"], told["archived_clones"]) == ([], [clone])
    assert f"Not deleted: {clone}, a removed clone in the archive." in run("purge", ID, "--home", home).stdout
    assert run("purge", clone, "--apply", "--home", home).returncode == 0
    told = json.loads(run("purge", ID, "--home", home, "--json").stdout)
    assert (told["clones"], told["archived_clones"]) == ([], [])


def test_nothing_is_deleted_through_a_linked_project_directory(tmp_path: Path) -> None:
    path = write_session(tmp_path / "other", ID, linked(*turn("One")))
    projects = tmp_path / "home" / "projects"
    projects.mkdir(parents=True)
    (projects / path.parent.name).symlink_to(path.parent)
    before = path.read_bytes()
    done = run("purge", ID, "--home", tmp_path / "home", "--apply")
    assert done.returncode == 2
    assert "is a link; nothing was deleted" in done.stderr
    assert path.read_bytes() == before
