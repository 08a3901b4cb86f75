"""Sessions are kept whole, in proportion to what changed, and come back byte for byte whatever happens meanwhile."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import signal
import sqlite3
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from tests.archive.families import AGENT, NAME, RESULT, SESSION, contents, make_family, modes, times
from tests.archive.killing import in_child
from tests.corpora import CORPUS, FIXTURES
from tests.homes import LONG_AGO, recorded_home, session_id, turns, write_session

from stenograph.archive import keep_sessions, open_kept
from stenograph.archive.kept import KeptFile, KeptStore
from stenograph.disk import read_slice
from stenograph.errors import UnreadableError, UnwritableError
from stenograph.testing.lines import user

HOUR = 3600.0


def kept_bytes(folder: Path) -> dict[str, bytes]:
    """What the archive in a folder gives back of each file that it keeps."""
    store = open_kept(folder)
    assert store is not None
    try:
        return {os.fspath(file.path): b"".join(store.stream(file)) for file in store.files()}
    finally:
        store.close()


def kept_files(folder: Path) -> list[KeptFile]:
    store = open_kept(folder)
    assert store is not None
    try:
        return store.files()
    finally:
        store.close()


def stored(folder: Path) -> int:
    store = open_kept(folder)
    assert store is not None
    try:
        return store.totals().stored
    finally:
        store.close()


def on_disk(home: Path) -> dict[str, bytes]:
    """Every file of a home but the client's own index of a project, which belongs to no session."""
    files = (path for path in home.rglob("*") if path.is_file() and path.name != "sessions-index.json")
    return {os.fspath(path): path.read_bytes() for path in files}


def rows(folder: Path, statement: str) -> list[tuple[object, ...]]:
    with contextlib.closing(sqlite3.connect(folder / "kept.sqlite", isolation_level=None)) as db:
        return db.execute(statement).fetchall()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    make_family(tmp_path / "home")
    return tmp_path / "home"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data" / "archive"


def test_a_whole_family_is_kept_with_modes_and_times(home: Path, folder: Path) -> None:
    (home / "projects" / "-home-user-work" / RESULT).chmod(0o640)
    wanted, wanted_modes, wanted_times = on_disk(home), modes(home), times(home)
    report = keep_sessions(folder, [home])
    assert (report.kept, report.files, report.pending) == (2, 6, 0)
    shutil.rmtree(home)
    assert kept_bytes(folder) == wanted
    files = {file.path.relative_to(home).as_posix(): file for file in kept_files(folder)}
    assert {name: file.mode for name, file in files.items()} == wanted_modes
    assert {name: file.mtime_ns for name, file in files.items()} == wanted_times


def test_only_its_owner_can_read_the_archive(home: Path, folder: Path) -> None:
    before = os.umask(0)
    try:
        keep_sessions(folder, [home])
    finally:
        os.umask(before)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


def test_nothing_is_written_where_there_is_nothing_to_keep(tmp_path: Path, folder: Path) -> None:
    assert keep_sessions(folder, [tmp_path / "nowhere"]).sessions == 0
    assert not folder.exists()


def test_an_unchanged_file_is_not_opened(home: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_sessions(folder, [home])

    def opened(*_: object, **__: object) -> bytes:
        raise AssertionError("a file was read")

    monkeypatch.setattr("stenograph.archive.keeping.read_slice", opened)
    monkeypatch.setattr("stenograph.archive.keeping.describe", opened)
    report = keep_sessions(folder, [home])
    assert (report.kept, report.files, report.read, report.sessions) == (0, 0, 0, 2)


def test_whose_agent_a_file_beside_the_sessions_is_is_read_once(
    home: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = home / "projects" / "-home-user-work" / "agent-b2.jsonl"
    line = user(None, "x", isSidechain=True, sessionId=SESSION)
    agent.write_text(json.dumps(line) + "\n")
    keep_sessions(folder, [home])
    monkeypatch.setattr("stenograph.archive.keeping.named_owner", lambda _: pytest.fail("it was read again"))
    assert keep_sessions(folder, [home]).files == 0
    store = open_kept(folder)
    assert store is not None
    (session,) = (each for each in store.sessions() if each.name == SESSION)
    assert agent in {file.path for file in store.files(session.id)}
    store.close()


def test_a_home_is_the_same_by_a_link_and_by_its_projects(home: Path, folder: Path, tmp_path: Path) -> None:
    keep_sessions(folder, [home / "projects"])
    (tmp_path / "link").symlink_to(home)
    store = open_kept(folder)
    assert store is not None
    for named in (home, home / "projects", tmp_path / "link"):
        assert len(store.sessions([named])) == 2
    assert store.sessions([tmp_path]) == []
    store.close()


def test_of_a_file_that_grew_only_the_new_lines_are_read(home: Path, folder: Path) -> None:
    path = home / "projects" / "-home-user-work" / NAME
    keep_sessions(folder, [home])
    for number in range(3):
        line = b'{"type":"user","message":{"content":"more %d"}}\n' % number
        with path.open("ab") as file:
            file.write(line)
        assert keep_sessions(folder, [home]).read == len(line)
    assert kept_bytes(folder) == on_disk(home)


def test_a_file_at_rest_is_read_as_a_whole_once(home: Path, folder: Path) -> None:
    path = home / "projects" / "-home-user-work" / NAME
    keep_sessions(folder, [home])
    with path.open("ab") as file:
        file.write(b"{}\n")
    keep_sessions(folder, [home])
    assert rows(folder, "SELECT count(*) FROM segments JOIN contents ON content = id WHERE sha256 IS NULL") == [(2,)]
    later = path.stat().st_mtime + HOUR + 1
    assert keep_sessions(folder, [home], clock=lambda: later).read == path.stat().st_size
    assert keep_sessions(folder, [home], clock=lambda: later).read == 0
    assert rows(folder, "SELECT count(*) FROM contents WHERE sha256 IS NULL") == [(0,)]
    assert kept_bytes(folder) == on_disk(home)


def test_a_change_in_the_middle_of_a_file_that_grew_is_noticed_when_it_is_at_rest(tmp_path: Path, folder: Path) -> None:
    home = tmp_path / "home"
    path = write_session(home, SESSION, turns(2000))
    keep_sessions(folder, [home])
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(size // 2)
        file.write(b"#")
        file.seek(0, os.SEEK_END)
        file.write(b"{}\n")
    keep_sessions(folder, [home])
    later = path.stat().st_mtime + HOUR + 1
    keep_sessions(folder, [home], clock=lambda: later)
    assert kept_bytes(folder) == on_disk(home)


@pytest.mark.parametrize("data", [b"", b'{"type":"user"}\n', b"x" * 100_000], ids=["cut off", "shorter", "longer"])
def test_of_a_file_that_was_rewritten_the_old_bytes_stay_too(home: Path, folder: Path, data: bytes) -> None:
    path = home / "projects" / "-home-user-work" / NAME
    old = path.read_bytes()
    keep_sessions(folder, [home])
    path.write_bytes(data)
    keep_sessions(folder, [home])
    assert kept_bytes(folder) == on_disk(home)
    ((number,),) = rows(folder, "SELECT id FROM files WHERE replaced IS NOT NULL")
    store = open_kept(folder)
    assert store is not None
    current = next(file for file in store.files() if file.path == path)
    ((content, size),) = rows(folder, f"SELECT content, size FROM files WHERE id = {number}")
    assert b"".join(store._pieces(int(str(content)), int(str(size)))) == old
    assert current.size == len(data)
    store.close()


def test_what_a_client_deletes_stays_kept(home: Path, folder: Path) -> None:
    wanted = on_disk(home)
    keep_sessions(folder, [home])
    shutil.rmtree(home / "projects" / "-home-user-work")
    keep_sessions(folder, [home])
    assert kept_bytes(folder) == wanted


def test_agents_whose_session_is_gone_are_kept(home: Path, folder: Path) -> None:
    (home / "projects" / "-home-user-work" / NAME).unlink()
    keep_sessions(folder, [home])
    assert os.fspath(home / "projects" / "-home-user-work" / AGENT) in kept_bytes(folder)


def test_a_file_that_cannot_be_read_does_not_keep_the_others_from_being_kept(
    home: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = home / "projects" / "-home-user-work" / RESULT

    def refusing(path: Path, start: int, stop: int) -> bytes:
        if path == bad:
            raise UnreadableError(f"cannot read {path}: no", path=path)
        return read_slice(path, start, stop)

    monkeypatch.setattr("stenograph.archive.keeping.read_slice", refusing)
    report = keep_sessions(folder, [home])
    assert [finding.path for finding in report.findings] == [bad]
    assert kept_bytes(folder).keys() == on_disk(home).keys() - {os.fspath(bad)}


def test_what_expires_first_is_kept_first(tmp_path: Path, folder: Path) -> None:
    home = tmp_path / "home"
    new = write_session(home, session_id(1), turns(2), modified=LONG_AGO + 100)
    old = write_session(home, session_id(2), turns(2))
    report = keep_sessions(folder, [home], seconds=0)
    assert (report.kept, report.pending) == (1, 1)
    assert list(kept_bytes(folder)) == [os.fspath(old)]
    keep_sessions(folder, [home], seconds=0)
    assert list(kept_bytes(folder)) == [os.fspath(old), os.fspath(new)]


# Forks: recorded from real clients

FORKS = [
    ("2.0.36/print", "d5c4bbd0-2093-44a8-a3f1-86b0f400dca1"),
    ("2.1.45/print", "d6a97a97-11e3-4c0e-bc6f-a6f1abfcfc80"),
    ("2.1.200/print", "f4c5731f-9f71-45b4-89a8-6fad92c8be59"),
]


@pytest.mark.parametrize(("recording", "fork"), FORKS)
def test_a_fork_that_a_client_made_costs_a_third_of_what_it_costs_alone(
    tmp_path: Path, folder: Path, recording: str, fork: str
) -> None:
    project = tmp_path / "home" / "projects" / "p"
    alone = tmp_path / "alone" / "projects" / "p"
    for path in sorted((FIXTURES / "recorded" / recording).glob("*/*.jsonl")):
        place = alone if path.stem == fork else project
        place.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, place)
    keep_sessions(folder, [tmp_path / "home"])
    before = stored(folder)
    shutil.copy2(alone / f"{fork}.jsonl", project)
    keep_sessions(folder, [tmp_path / "home"])
    keep_sessions(tmp_path / "other", [tmp_path / "alone"])
    assert stored(folder) - before < stored(tmp_path / "other") / 3
    assert kept_bytes(folder) == on_disk(tmp_path / "home")


def test_forgetting_the_parent_leaves_the_fork_whole(tmp_path: Path, folder: Path) -> None:
    home = recorded_home(tmp_path / "home")
    keep_sessions(folder, [home])
    wanted = on_disk(home)
    store = open_kept(folder)
    assert store is not None
    for session in store.sessions()[::2]:
        gone = [os.fspath(file.path) for file in store.files(session.id)]
        with store.writing():
            store.forget(session.id)
        for path in gone:
            del wanted[path]
    store.compact()
    store.close()
    assert kept_bytes(folder) == wanted
    used = {row[0] for row in rows(folder, "SELECT DISTINCT content FROM files")}
    assert {row[0] for row in rows(folder, "SELECT id FROM contents")} == used
    assert {row[0] for row in rows(folder, "SELECT DISTINCT content FROM segments")} <= used


def test_every_recorded_file_comes_back_byte_for_byte(tmp_path: Path, folder: Path) -> None:
    home = recorded_home(tmp_path / "home")
    keep_sessions(folder, [home])
    assert kept_bytes(folder) == on_disk(home)
    assert len(on_disk(home)) > 200


@pytest.mark.full
def test_every_file_of_the_corpus_comes_back_byte_for_byte(tmp_path: Path, folder: Path) -> None:
    if not CORPUS.is_dir():
        pytest.skip(f"no corpus of public sessions in {CORPUS.name}/")
    home = tmp_path / "home"
    for number, source in enumerate(sorted({path.parent for path in CORPUS.rglob("*.jsonl") if "subagents" not in path.parts})):
        shutil.copytree(source, home / "projects" / f"p{number}", ignore=shutil.ignore_patterns("p*"))
    keep_sessions(folder, [home])
    kept = kept_bytes(folder)
    wanted = {path: data for path, data in on_disk(home).items() if path.endswith(".jsonl")}
    assert {path: kept.get(path) for path in wanted} == wanted


# Stopped, full, and at once


def grow(home: Path) -> None:
    """What the next keeping has to do: a new session, a longer and a rewritten one."""
    project = home / "projects" / "-home-user-work"
    with (project / NAME).open("ab") as file:
        file.write(b'{"type":"user"}\n' * 50)
    (project / AGENT).write_bytes(b"rewritten\n")
    write_session(home, session_id(0xCCCC0003), turns(30))


@pytest.mark.skipif(sys.platform == "win32", reason="forks processes and kills them")
def test_a_process_that_is_killed_while_it_keeps_loses_nothing(home: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stenograph.archive.keeping._BATCH", 1)  # a transaction for each session
    keep_sessions(folder, [home])
    wanted = kept_bytes(folder)
    grow(home)
    shutil.copytree(folder, folder.parent / "start")

    def armed(stop_at: int) -> Callable[[], None]:
        def arm() -> None:
            count = 0

            def dying(real: Callable[..., object]) -> Callable[..., object]:
                def call(*args: object, **kwargs: object) -> object:
                    nonlocal count
                    count += 1
                    if count == stop_at:
                        os.kill(os.getpid(), signal.SIGKILL)
                    return real(*args, **kwargs)

                return call

            for name in ("_put_segment", "_delete_content", "_insert_file", "_update_file", "put_session", "note_fingerprint"):
                setattr(KeptStore, name, dying(getattr(KeptStore, name)))

        return arm

    for step in range(1, 100):
        shutil.rmtree(folder)
        shutil.copytree(folder.parent / "start", folder)
        code = in_child(armed(step), partial(_keep, folder, home))
        kept = kept_bytes(folder)
        assert wanted.keys() <= kept.keys()
        for path, data in kept.items():
            assert data in (wanted.get(path), Path(path).read_bytes()), path
        keep_sessions(folder, [home])
        assert kept_bytes(folder) == on_disk(home)
        if code == 0:
            assert step > 5
            return
        assert code == -signal.SIGKILL
    raise AssertionError("keeping has an end")


@pytest.mark.skipif(sys.platform == "win32", reason="limits the size of files")
def test_a_disk_that_fills_up_loses_nothing(home: Path, folder: Path) -> None:
    keep_sessions(folder, [home])
    wanted = kept_bytes(folder)
    grow(home)
    for number in range(40):
        (home / "projects" / "-home-user-work" / f"{session_id(number)}.jsonl").write_bytes(os.urandom(9_000))
    size = (folder / "kept.sqlite").stat().st_size
    outcomes = set()
    for more in (0, 4_000, 40_000, 200_000, 4_000_000):
        code = in_child(partial(_limit, size + more), partial(_keep, folder, home))
        outcomes.add(code)
        kept = kept_bytes(folder)
        assert wanted.keys() <= kept.keys()
        for path, data in kept.items():
            assert data in (wanted.get(path), Path(path).read_bytes()), path
    assert outcomes == {0, 3}
    assert code == 0
    assert kept_bytes(folder) == on_disk(home)


def _limit(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def _keep(folder: Path, home: Path) -> None:
    keep_sessions(folder, [home])


@pytest.mark.skipif(sys.platform == "win32", reason="forks processes")
def test_two_processes_keep_at_once(tmp_path: Path, folder: Path) -> None:
    home = recorded_home(tmp_path / "home")
    children = []
    for _ in range(3):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                keep_sessions(folder, [home])
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0, 0]
    assert kept_bytes(folder) == on_disk(home)


def test_a_damaged_store_is_named_and_not_replaced(home: Path, folder: Path) -> None:
    keep_sessions(folder, [home])
    path = folder / "kept.sqlite"
    path.write_bytes(b"nothing of the kind" * 1000)
    with pytest.raises(UnreadableError, match="damaged"):
        keep_sessions(folder, [home])
    assert path.read_bytes().startswith(b"nothing")


def test_a_damaged_segment_is_never_given_back(home: Path, folder: Path) -> None:
    keep_sessions(folder, [home])
    with contextlib.closing(sqlite3.connect(folder / "kept.sqlite", isolation_level=None)) as db:
        db.execute("UPDATE segments SET data = zeroblob(length(data))")
    with pytest.raises(UnreadableError, match="damaged"):
        kept_bytes(folder)


def test_a_store_of_a_newer_release_is_refused(home: Path, folder: Path) -> None:
    keep_sessions(folder, [home])
    with contextlib.closing(sqlite3.connect(folder / "kept.sqlite", isolation_level=None)) as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(UnreadableError, match="newer release"):
        keep_sessions(folder, [home])


def test_an_archive_that_cannot_be_made_is_an_error(home: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(UnwritableError):
        keep_sessions(tmp_path / "file" / "archive", [home])


def test_contents_are_those_of_the_family(home: Path) -> None:
    assert {name for name, data in contents(home).items() if data is not None} == {
        Path(path).relative_to(home).as_posix() for path in on_disk(home)
    }
