"""Kept sessions come back byte for byte, with modes and times, and never in the place of something else."""

from __future__ import annotations

import os
import shutil
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.archive.families import AGENT, NAME, SESSION, contents, modes, times
from tests.corpora import CORPUS
from tests.homes import recorded_home, session_id, turns, write_session

from stenograph.archive import (
    Archive,
    KeptStore,
    RestorePlan,
    find_kept,
    keep_sessions,
    open_kept,
    plan_restore,
    restore_session,
    restore_to,
)
from stenograph.errors import BusyError, SessionNotFoundError, UnwritableError, UsageError


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
    with pytest.raises(SessionNotFoundError):
        find_kept(sessions, "nothing")
    store.close()


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
