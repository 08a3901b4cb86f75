"""Kept sessions come back byte for byte, with modes and times, and never in the place of something else."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import sys
import time
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from tests.archive.families import AGENT, NAME, RESULT, SESSION, contents, modes, times
from tests.corpora import CORPUS
from tests.homes import LONG_AGO, recorded_home, session_id, turns, write_session

from stenograph.archive import (
    Archive,
    KeptStore,
    RestorePlan,
    find_kept,
    find_removal,
    keep_sessions,
    open_kept,
    plan_restore,
    restore_session,
    restore_to,
    undo_edit,
)
from stenograph.errors import BusyError, SessionNotFoundError, UnwritableError, UsageError
from stenograph.testing.lines import encode


@pytest.fixture
def home(project: Path) -> Path:
    return project.parent.parent


def opened(archive: Archive) -> KeptStore:
    store = open_kept(archive.folder)
    assert store is not None
    return store


def planned(archive: Archive, name: str = SESSION, *, now: datetime | None = None) -> RestorePlan:
    store = opened(archive)
    try:
        return plan_restore(store, find_kept(store.sessions(), name), now=now)
    finally:
        store.close()


def restored(archive: Archive, name: str = SESSION, *, now: datetime | None = None) -> RestorePlan:
    plan = planned(archive, name, now=now)
    store = opened(archive)
    try:
        restore_session(archive, store, plan)
    finally:
        store.close()
    return plan


def files_of(home: Path) -> dict[str, bytes]:
    return {name: data for name, data in contents(home).items() if data is not None and not name.endswith("sessions-index.json")}


def test_a_lost_family_comes_back_and_goes_again(archive: Archive, home: Path, project: Path) -> None:
    (project / AGENT).chmod(0o640)
    # As if the client still kept them for a long time.
    for path in home.rglob("*"):
        if path.is_file():
            os.utime(path, (time.time() - 86_400,) * 2)
    wanted, wanted_modes, wanted_times = files_of(home), modes(home), times(home)
    keep_sessions(archive.folder, [home])
    shutil.rmtree(home)
    plan = restored(archive)
    restored(archive, session_id(0xBBBB0002))
    assert len(plan.missing) == 5
    assert (files_of(home), modes(home), times(home)) == (wanted, wanted_modes, wanted_times)
    assert not planned(archive).missing
    archive.undo(2)
    archive.undo(1)
    assert files_of(home) == {}


def test_what_a_client_would_delete_again_gets_the_current_time(archive: Archive, home: Path, project: Path) -> None:
    keep_sessions(archive.folder, [home])
    (project / NAME).unlink()
    begun = time.time()
    assert all(each.is_renewed for each in restored(archive).missing)
    assert (project / NAME).stat().st_mtime >= begun - 1
    assert (project / AGENT).stat().st_mtime < begun - 1, "what was in its place is left alone"


def test_only_what_is_missing_is_written(archive: Archive, home: Path, project: Path) -> None:
    keep_sessions(archive.folder, [home])
    (project / AGENT).unlink()
    assert [each.file.path for each in restored(archive).missing] == [project / AGENT]


@pytest.mark.parametrize("data", [b"", b"something else"])
def test_another_file_is_never_overwritten(archive: Archive, home: Path, project: Path, data: bytes) -> None:
    keep_sessions(archive.folder, [home])
    (project / NAME).write_bytes(data)
    (project / AGENT).unlink()
    with pytest.raises(BusyError, match="with other contents"):
        restored(archive)
    assert (project / NAME).read_bytes() == data
    assert not (project / AGENT).exists()


def test_a_copy_can_be_written_elsewhere(archive: Archive, home: Path, project: Path, tmp_path: Path) -> None:
    keep_sessions(archive.folder, [home])
    (project / NAME).write_bytes(b"other")
    store = opened(archive)
    plan = plan_restore(store, find_kept(store.sessions(), SESSION))
    places = restore_to(store, plan, tmp_path / "copy")
    assert tmp_path / "copy" / "projects" / project.name / NAME in places
    assert (tmp_path / "copy" / "projects" / project.name / AGENT).read_bytes() == (project / AGENT).read_bytes()
    with pytest.raises(UnwritableError, match="already exists"):
        restore_to(store, plan, tmp_path / "copy")
    store.close()


def test_a_kept_session_is_found_by_id_prefix_title_and_path(archive: Archive, tmp_path: Path) -> None:
    home = tmp_path / "other"
    first = write_session(home, session_id(0xAB12), turns(3, "Build a boat"))
    second = write_session(home, session_id(0xAB13), turns(3, "Build a bridge"))
    keep_sessions(archive.folder, [home])
    first.unlink()
    store = opened(archive)
    sessions = store.sessions()
    for reference in (session_id(0xAB12), "0000ab12", "build a boat", str(first)):
        assert find_kept(sessions, reference).path == first
    assert find_kept(sessions, "Build a bridge").path == second
    with pytest.raises(UsageError, match="matches 2"):
        find_kept(sessions, "0000")
    for reference in ("nothing", ""):
        with pytest.raises(SessionNotFoundError):
            find_kept(sessions, reference)
    store.close()


def test_a_removal_is_found_by_id_prefix_title_and_path(
    archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    titled = write_session(tmp_path / "home", session_id(0xAB12), turns(3, "Build a boat"))
    untitled = write_session(tmp_path / "home", session_id(0xAB13), [])
    for path in (titled, untitled):
        archive.remove(path)
    monkeypatch.chdir(titled.parent)
    for reference in (session_id(0xAB12), "0000ab12", "build a boat", str(titled), f".{os.sep}{titled.name}"):
        found = find_removal(archive, reference)
        assert found is not None, reference
        assert found.session_id == titled.stem
    for reference in ("", "nothing", f".{os.sep}nothing.jsonl", "."):
        assert find_removal(archive, reference) is None, reference


@pytest.mark.parametrize("harm", ["lock", "damage"])
def test_a_clone_is_undone_even_if_what_was_kept_of_it_stays(
    archive: Archive, home: Path, project: Path, monkeypatch: pytest.MonkeyPatch, harm: str
) -> None:
    copy = session_id(0xAB12)
    with archive.transaction(copy, command={"command": "clone", "session": SESSION}) as change:
        change.write(project / f"{copy}.jsonl", b"{}\n")
    keep_sessions(archive.folder, [home])
    database = archive.folder / "kept.sqlite"
    if harm == "damage":
        database.write_bytes(database.read_bytes()[:4096] + bytes(range(256)) * 400)
    monkeypatch.setattr("stenograph.archive.archive.open_kept", partial(open_kept, patience=0.1))
    with contextlib.closing(sqlite3.connect(database, isolation_level=None)) as other:
        if harm == "lock":
            other.execute("BEGIN IMMEDIATE")
        undone = undo_edit(archive, archive.entries(), 1)
    assert undone is not None
    assert not (project / f"{copy}.jsonl").exists()
    assert undone.entry == archive.entry(2)
    (finding,) = undone.findings
    assert (finding.code, finding.path) == ("clone-still-kept", database)
    assert {"lock": "another process is writing", "damage": "is damaged"}[harm] in finding.detail


def cloned(archive: Archive, project: Path, *, spilled: bytes = b"spilled") -> Path:
    """A session that was made as a clone."""
    copy = project / f"{session_id(0xAB12)}.jsonl"
    with archive.transaction(copy.stem, command={"command": "clone", "session": SESSION}) as change:
        change.write(copy, encode(turns(1)))
        change.write(copy.with_suffix("") / "tool-results" / "b1.txt", spilled)
    return copy


def kept_paths(archive: Archive) -> set[Path]:
    store = opened(archive)
    try:
        return {session.path for session in store.sessions()}
    finally:
        store.close()


def test_what_was_kept_of_a_clone_under_another_name_of_its_home_is_forgotten(
    archive: Archive, home: Path, project: Path, tmp_path: Path
) -> None:
    copy = cloned(archive, project)
    (tmp_path / "link").symlink_to(home)
    keep_sessions(archive.folder, [tmp_path / "link"])
    archive.undo(1)
    assert copy.name not in {path.name for path in kept_paths(archive)}


def test_what_was_kept_of_another_home_stays_when_a_clone_is_undone(archive: Archive, home: Path, tmp_path: Path) -> None:
    copy = cloned(archive, home / "projects" / "-home-user-work")
    shutil.copytree(home, tmp_path / "other")
    keep_sessions(archive.folder, [home, tmp_path / "other"])
    archive.undo(1)
    paths = kept_paths(archive)
    assert copy not in paths
    assert tmp_path / "other" / copy.relative_to(home) in paths


def test_what_was_said_in_a_clone_stays_kept_when_it_is_undone(archive: Archive, home: Path, project: Path) -> None:
    """The file is as the clone made it, so that it can be undone, but a longer one was kept."""
    copy = cloned(archive, project)
    made = copy.read_bytes()
    more = made + encode(turns(1, "Only here"))
    keep_sessions(archive.folder, [home], clock=lambda: 1000.0)
    for moment, data in ((2000.0, more), (3000.0, made)):
        copy.write_bytes(data)
        os.utime(copy, (LONG_AGO, LONG_AGO))
        keep_sessions(archive.folder, [home], clock=lambda moment=moment: moment)  # type: ignore[misc]
    archive.undo(1)
    assert not copy.exists()
    store = opened(archive)
    restore_session(archive, store, plan_restore(store, find_kept(store.sessions(), copy.stem), as_of=2500.0))
    store.close()
    assert copy.read_bytes() == more


def test_an_undone_clone_does_not_cost_a_copy_of_all_that_is_kept(archive: Archive, home: Path, project: Path) -> None:
    """Space that was given back means that the whole file was written anew."""
    cloned(archive, project, spilled=os.urandom(100_000))
    keep_sessions(archive.folder, [home])
    archive.undo(1)
    with contextlib.closing(sqlite3.connect(archive.folder / "kept.sqlite")) as database:
        assert database.execute("PRAGMA freelist_count").fetchone()[0] > 0


def test_the_version_from_before_a_rewrite_comes_back(archive: Archive, home: Path, project: Path, tmp_path: Path) -> None:
    old = (project / NAME).read_bytes()
    keep_sessions(archive.folder, [home], clock=lambda: 1000.0)
    for moment, data in ((2000.0, b"cut off\n"), (3000.0, b"rewritten\n")):
        (project / NAME).write_bytes(data)
        keep_sessions(archive.folder, [home], clock=lambda moment=moment: moment)  # type: ignore[misc]
    store = opened(archive)
    session = find_kept(store.sessions(), SESSION)
    versions = {1500.0: old, 2500.0: b"cut off\n", 3500.0: b"rewritten\n"}
    for moment, wanted in versions.items():
        to = tmp_path / str(moment)
        restore_to(store, plan_restore(store, session, as_of=moment), to)
        assert (to / "projects" / project.name / NAME).read_bytes() == wanted
        assert (to / "projects" / project.name / AGENT).is_file()
    store.close()


def lose_and_restore(archive: Archive, home: Path) -> None:
    """Every file of a home is kept, lost and restored, and is what it was."""
    wanted, wanted_modes, wanted_times = files_of(home), modes(home), times(home)
    keep_sessions(archive.folder, [home])
    shutil.rmtree(home)
    store = opened(archive)
    long_ago = datetime(1990, 1, 1, tzinfo=UTC)
    for session in store.sessions():
        restore_session(archive, store, plan_restore(store, session, now=long_ago))
    store.close()
    assert files_of(home) == wanted
    assert modes(home).items() <= wanted_modes.items()
    assert times(home).items() <= wanted_times.items()


def test_every_recorded_session_comes_back(archive: Archive, tmp_path: Path) -> None:
    home = tmp_path / "recorded"
    source = recorded_home(tmp_path / "all")
    for project in sorted((source / "projects").iterdir()):
        if "2-1-325" in project.name or "2-0-76" in project.name:
            shutil.copytree(project, home / "projects" / project.name)
    lose_and_restore(archive, home)


@pytest.mark.full
def test_every_file_of_the_fixtures_comes_back(archive: Archive, tmp_path: Path) -> None:
    lose_and_restore(archive, recorded_home(tmp_path / "recorded"))


@pytest.mark.full
def test_every_file_of_the_corpus_comes_back(archive: Archive, tmp_path: Path) -> None:
    if not CORPUS.is_dir():
        pytest.skip(f"no corpus of public sessions in {CORPUS.name}/")
    home = tmp_path / "corpus"
    for number, path in enumerate(sorted(CORPUS.rglob("*.jsonl"))):
        place = home / "projects" / f"p{number}" / f"{session_id(number)}.jsonl"
        place.parent.mkdir(parents=True)
        shutil.copy2(path, place)
    lose_and_restore(archive, home)


@pytest.mark.parametrize("is_lost", [False, True])
def test_nothing_of_a_purged_session_is_kept_and_others_stay_whole(
    archive: Archive, home: Path, project: Path, is_lost: bool
) -> None:
    wanted = files_of(home)
    keep_sessions(archive.folder, [home])
    if is_lost:
        shutil.rmtree(project / SESSION)
        (project / NAME).unlink()
    plan = archive.plan_purge(SESSION, None if is_lost else project / NAME)
    assert (plan.kept_files, plan.kept_size > 0) == (5, True)
    assert archive.last_copy(plan) == wanted[f"projects/{project.name}/{NAME}"]
    archive.purge(plan)
    store = opened(archive)
    (other,) = store.sessions()
    assert other.name == session_id(0xBBBB0002)
    assert {b"".join(store.stream(file)) for file in store.files()} == {wanted[f"projects/{project.name}/{other.name}.jsonl"]}
    store.close()
    assert SESSION.encode() not in b"".join(path.read_bytes() for path in archive.folder.iterdir())


def test_a_file_that_a_client_made_after_the_plan_is_not_overwritten(archive: Archive, home: Path, project: Path) -> None:
    keep_sessions(archive.folder, [home])
    (project / NAME).unlink()
    plan = planned(archive)
    (project / NAME).write_bytes(b"made meanwhile")
    store = opened(archive)
    with pytest.raises(BusyError, match="changed after it was read"):
        restore_session(archive, store, plan)
    store.close()
    assert (project / NAME).read_bytes() == b"made meanwhile"


def test_nothing_is_written_through_a_link_that_appeared_after_the_plan(
    archive: Archive, home: Path, project: Path, tmp_path: Path
) -> None:
    keep_sessions(archive.folder, [home])
    (project / NAME).unlink()
    plan = planned(archive)
    notes = tmp_path / "notes.txt"
    notes.write_text("mine")
    (project / NAME).symlink_to(notes)
    store = opened(archive)
    with pytest.raises(BusyError):
        restore_session(archive, store, plan)
    store.close()
    assert notes.read_text() == "mine"


@pytest.mark.parametrize("place", ["projects/{project}/{id}", "projects/{project}/{id}/subagents", "file-history/{id}"])
@pytest.mark.parametrize("is_removed", [False, True])
def test_nothing_comes_back_through_a_link_to_a_directory(
    archive: Archive, home: Path, project: Path, tmp_path: Path, place: str, is_removed: bool
) -> None:
    keep_sessions(archive.folder, [home])
    if is_removed:
        archive.remove(project / NAME)
    link = home / place.format(project=project.name, id=SESSION)
    shutil.rmtree(link, ignore_errors=True)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(elsewhere)
    before = contents(home)
    with pytest.raises(BusyError, match="is a link to a directory"):
        archive.undo(1) if is_removed else restored(archive)
    assert contents(elsewhere) == {}
    assert contents(home) == before


def _removed_under_one_name(archive: Archive, home: Path) -> tuple[Path, Path]:
    """Two sessions that are not named by a UUID, in two projects; the second one was removed."""
    first, second = (home / "projects" / name / "notes.jsonl" for name in ("-a", "-b"))
    for path in (first, second):
        path.parent.mkdir(parents=True)
        path.write_bytes((json.dumps(turns(1, f"In {path.parent.name}")[0]) + "\n").encode())
        os.utime(path, (LONG_AGO, LONG_AGO))
    keep_sessions(archive.folder, [home])
    archive.remove(second)
    return first, second


def test_a_session_of_the_same_name_in_another_project_is_not_purged(archive: Archive, tmp_path: Path) -> None:
    first, second = _removed_under_one_name(archive, tmp_path / "home")
    archive.purge(archive.plan_purge("notes", first))
    assert not first.exists()
    store = opened(archive)
    assert [session.path for session in store.sessions()] == [second]
    store.close()
    archive.undo(1)
    assert json.loads(second.read_bytes())["message"]["content"] == "In -b"


def test_an_original_that_another_session_came_to_need_after_the_plan_survives_a_purge(archive: Archive, project: Path) -> None:
    other = session_id(0xBBBB0002)
    spilled = project / other / "tool-results" / "b1.txt"
    spilled.parent.mkdir(parents=True)
    shutil.copy2(project / RESULT, spilled)
    wanted = spilled.read_bytes()
    archive.remove(project / NAME)
    plan = archive.plan_purge(SESSION, None)
    archive.remove(project / f"{other}.jsonl")
    archive.purge(plan)
    archive.undo(2)
    assert spilled.read_bytes() == wanted


@pytest.mark.parametrize("is_undone", [False, True])
def test_a_session_that_changed_after_the_plan_is_not_purged(archive: Archive, project: Path, is_undone: bool) -> None:
    if is_undone:
        archive.remove(project / NAME)
    plan = archive.plan_purge(SESSION, None if is_undone else project / NAME)
    if is_undone:
        archive.undo(1)
    else:
        (project / SESSION / "subagents" / "agent-a2.jsonl").write_bytes(b"{}\n")
    before = contents(project)
    with pytest.raises(BusyError, match="changed after the plan was made"):
        archive.purge(plan)
    assert contents(project) == before


def test_a_copy_that_still_exists_in_another_project_is_not_purged(archive: Archive, home: Path, project: Path) -> None:
    other = write_session(home, SESSION, turns(4, "Moved on"), project="-elsewhere")
    shutil.rmtree(home / "file-history")  # which both would have
    keep_sessions(archive.folder, [home])
    for path in (project / NAME, other):
        archive.remove(path)
        archive.undo(archive.entries()[-1].number)
    plan = archive.plan_purge(SESSION, project / NAME)
    assert plan.edits == (1, 2)
    archive.purge(plan)
    assert other in kept_paths(archive)
    archive.undo(4)
    archive.undo(5)
    assert other.exists()


def test_what_a_session_left_where_it_was_before_is_purged_with_it(archive: Archive, home: Path, project: Path) -> None:
    """Clients move a session when its project moves."""
    data = (project / NAME).read_bytes()
    keep_sessions(archive.folder, [home])
    archive.remove(project / NAME)
    moved = write_session(home, SESSION, [], project="-elsewhere")
    moved.write_bytes(data)
    plan = archive.plan_purge(SESSION, moved)
    assert (plan.edits, plan.kept_files) == ((1,), 5)
    archive.purge(plan)
    assert SESSION.encode() not in b"".join(path.read_bytes() for path in archive.folder.rglob("*") if path.is_file())


def test_a_session_that_was_removed_from_several_homes_is_purged_from_the_one_that_is_meant(
    archive: Archive, home: Path, project: Path, tmp_path: Path
) -> None:
    shutil.copytree(home, tmp_path / "other")
    for path in (project / NAME, tmp_path / "other" / "projects" / project.name / NAME):
        archive.remove(path)
    with pytest.raises(UsageError, match="from 2 homes"):
        archive.plan_purge(SESSION, None)
    plan = archive.plan_purge(SESSION, None, [home])
    assert plan.edits == (1,)
    archive.purge(plan)
    assert archive.plan_purge(SESSION, None).edits == (2,)
    archive.undo(2)
    assert (tmp_path / "other" / "projects" / project.name / AGENT).exists()


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="names are text there")
def test_a_session_whose_name_is_not_utf8_is_kept_restored_and_purged(archive: Archive, tmp_path: Path) -> None:
    home = tmp_path / "home"
    path = home / "projects" / "-p" / os.fsdecode(b"caf\xe9.jsonl")
    path.parent.mkdir(parents=True)
    path.write_bytes((json.dumps(turns(1)[0]) + "\n").encode())
    os.utime(path, (LONG_AGO, LONG_AGO))
    beside = write_session(home, SESSION, turns(1))
    data = path.read_bytes()
    assert keep_sessions(archive.folder, [home]).kept == 2
    path.unlink()
    restored(archive, os.fsdecode(b"caf\xe9"))
    assert path.read_bytes() == data
    archive.purge(archive.plan_purge(os.fsdecode(b"caf\xe9"), path))
    store = opened(archive)
    assert [session.path for session in store.sessions()] == [beside]
    store.close()
