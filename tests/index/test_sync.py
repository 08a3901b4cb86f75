"""The store follows the files: whatever happened to them, it ends up as one that was built from nothing."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.corpora import DEMO

from stenograph.index import Filter, IndexStore, knows_home, open_store, parse_query, search, sync, sync_usage
from stenograph.records import Record, decode
from stenograph.testing.lines import assistant, encode, text, tool_result, tool_use, user

NAME = "11111111-2222-4333-8444-555555555555"
OTHER = "99999999-2222-4333-8444-555555555555"
_ROWS = {
    "files": "SELECT path, part, agent, size, offset, lines, fingerprint FROM files ORDER BY path",
    "names": "SELECT f.path, n.kind, n.name, n.last FROM names n JOIN files f ON f.id = n.file ORDER BY 1, 2, 3",
    "sessions": (
        "SELECT path, name, folder, title, project, repository, branch, release, started, ended, turns, current, conversation,"
        " place, glance FROM sessions ORDER BY path"
    ),
    "turns": (
        "SELECT s.path, t.offset, t.number, t.opening, t.previous, t.started, t.lines"
        " FROM turns t JOIN sessions s ON s.id = t.session ORDER BY 1, 2"
    ),
    "docs": "SELECT f.path, d.offset, d.line, d.uuid, d.time FROM docs d JOIN files f ON f.id = d.file ORDER BY 1, 2",
    "doc_spans": (
        "SELECT f.path, d.offset, d.session = s.session FROM doc_spans s JOIN files f ON f.id = s.file"
        " LEFT JOIN docs d ON d.id BETWEEN s.first AND s.last AND d.file = s.file ORDER BY 1, 2"
    ),
    "spanned": "SELECT (SELECT coalesce(sum(last - first + 1), 0) FROM doc_spans) - (SELECT count(*) FROM docs)",
    "calls": (
        "SELECT f.path, c.id, c.name, c.target, c.used, c.answered, c.failed, c.spilled"
        " FROM calls c JOIN files f ON f.id = c.file ORDER BY 1, 2"
    ),
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    project = tmp_path / "home" / "projects" / "-home-user-shop"
    project.mkdir(parents=True)
    return tmp_path / "home"


@pytest.fixture
def session(home: Path) -> Path:
    path = home / "projects" / "-home-user-shop" / f"{NAME}.jsonl"
    path.write_bytes(encode(_turn(1, "Explain the parser")))
    return path


def _turn(number: int, prompt: str) -> list[dict[str, object]]:
    parent = f"a{number - 1}" if number > 1 else None
    return [
        user(f"u{number}", prompt, parent=parent),
        assistant(
            f"b{number}", f"m{number}", [tool_use(f"t{number}", "Read", file_path=f"/home/user/shop/{number}.py")], f"u{number}"
        ),
        user(f"r{number}", [tool_result(f"t{number}", f"contents number{number}")], parent=f"b{number}"),
        assistant(f"a{number}", f"n{number}", [text(f"Answer number{number}")], f"r{number}"),
    ]


def rows_of(store: IndexStore) -> dict[str, list[tuple[object, ...]]]:
    return {name: store.connection.execute(query).fetchall() for name, query in _ROWS.items()}


def assert_as_built_anew(store: IndexStore, home: Path) -> None:
    fresh = open_store(None)
    sync(fresh, [home])
    assert rows_of(store) == rows_of(fresh)


def names(store: IndexStore, query: str) -> list[str]:
    return [hit.session for hit in search(store, parse_query(query)).hits]


def test_a_session_is_found_with_its_turn_and_line(home: Path, session: Path) -> None:
    store = open_store(None)
    assert sync(store, [home]).changed == 1
    session.write_bytes(encode([*_turn(1, "Explain the parser"), *_turn(2, "Now the lexer")]))
    sync(store, [home])
    (hit,) = search(store, parse_query("number2")).hits
    assert (hit.session, hit.lines[0].turn, hit.lines[0].line, hit.lines[0].text) == (NAME, 2, 8, "Answer number2")


@pytest.mark.usefixtures("session")
def test_an_unchanged_file_is_not_read_again(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(None)
    sync(store, [home])

    def fail(*_: object) -> None:
        raise AssertionError("read")

    monkeypatch.setattr("stenograph.index.reading.read_records", fail)
    monkeypatch.setattr("stenograph.turns.reader.TurnReader", fail)
    assert sync(store, [home]).changed == 0


def test_an_appended_turn_is_read_alone(home: Path, session: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session.write_bytes(encode([line for number in range(1, 51) for line in _turn(number, f"Prompt {number}")]))
    store = open_store(None)
    sync(store, [home])
    decoded: list[bytes] = []

    def count(line: bytes) -> Record:
        decoded.append(line)
        return decode(line)

    monkeypatch.setattr("stenograph.records.read.decode", count)
    with session.open("ab") as file:
        file.write(encode(_turn(51, "One more")))
    sync(store, [home])
    # Four new lines and the turn before them, for its turn and its title; not the two hundred lines of the file.
    assert len(decoded) < 60
    assert names(store, "number51") == [NAME]
    assert_as_built_anew(store, home)


@pytest.mark.parametrize("keep", [0, 1, 3])
def test_a_rewritten_file_is_read_anew(home: Path, session: Path, keep: int) -> None:
    store = open_store(None)
    sync(store, [home])
    lines = encode([*_turn(1, "Explain the parser")[:keep], *_turn(7, "Something else entirely")])
    session.write_bytes(lines)
    sync(store, [home])
    assert names(store, "number7") == [NAME]
    assert names(store, "parser" if keep == 0 else '"no such words"') == []
    assert_as_built_anew(store, home)


def test_a_truncated_file_loses_its_lines(home: Path, session: Path) -> None:
    store = open_store(None)
    sync(store, [home])
    session.write_bytes(encode(_turn(1, "Explain the parser")[:1]))
    sync(store, [home])
    assert names(store, "number1") == []
    assert_as_built_anew(store, home)


def test_a_torn_line_is_read_once_it_is_whole(home: Path, session: Path) -> None:
    whole = encode(_turn(1, "Explain the parser"))
    session.write_bytes(whole[:-20])
    store = open_store(None)
    sync(store, [home])
    assert names(store, '"answer number1"') == []
    session.write_bytes(whole)
    sync(store, [home])
    assert names(store, '"answer number1"') == [NAME]
    assert_as_built_anew(store, home)


def test_a_last_line_without_a_newline_is_found(home: Path, session: Path) -> None:
    session.write_bytes(encode(_turn(1, "Explain the parser"))[:-1])
    store = open_store(None)
    sync(store, [home])
    assert names(store, '"answer number1"') == [NAME]
    with session.open("ab") as file:
        file.write(b"\n" + encode(_turn(2, "Now the lexer")))
    sync(store, [home])
    assert_as_built_anew(store, home)


def test_a_moved_and_a_deleted_file_are_noticed(home: Path, session: Path) -> None:
    store = open_store(None)
    sync(store, [home])
    moved = session.with_name(f"{OTHER}.jsonl")
    session.rename(moved)
    sync(store, [home])
    assert names(store, "parser") == [OTHER]
    moved.unlink()
    sync(store, [home])
    assert names(store, "parser") == []
    assert_as_built_anew(store, home)


@pytest.mark.usefixtures("session")
def test_another_home_is_left_alone(home: Path) -> None:
    store = open_store(None)
    sync(store, [home])
    sync(store, [DEMO])
    assert names(store, "parser") == [NAME]
    assert search(store, parse_query("parser"), Filter(homes=(DEMO,))).hits == ()


def test_the_words_of_a_subagent_are_its_sessions(home: Path, session: Path) -> None:
    agents = session.with_suffix("") / "subagents"
    agents.mkdir(parents=True)
    lines = [user("x1", "Look for walruses", isSidechain=True, sessionId=NAME), assistant("x2", "mx", [text("None here")], "x1")]
    (agents / "agent-abc123.jsonl").write_bytes(encode(lines))
    store = open_store(None)
    sync(store, [home])
    (hit,) = search(store, parse_query("walruses")).hits
    assert (hit.session, hit.lines[0].agent) == (NAME, "abc123")


def test_without_time_nothing_is_lost_and_the_rest_is_pending(home: Path, session: Path) -> None:
    for number in range(5):
        shutil.copy(session, session.with_name(f"{number}{OTHER[1:]}.jsonl"))
    store = open_store(None)
    report = sync(store, [home], seconds=0)
    assert (report.changed, report.pending, knows_home(store, home)) == (1, 5, False)
    assert sync(store, [home]).pending == 0
    assert knows_home(store, home)
    assert_as_built_anew(store, home)


@pytest.mark.usefixtures("session")
def test_the_store_is_private_and_a_damaged_one_is_replaced(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "data" / "stenograph" / "index.sqlite"
    store = open_store(path)
    sync(store, [home])
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in path.parent.iterdir()} == {0o600}
    store.close()
    path.write_bytes(b"not a database at all, but long enough to be taken for one" * 100)
    store = open_store(path)
    sync(store, [home])
    assert names(store, "parser") == [NAME]


@pytest.mark.usefixtures("session")
def test_a_store_that_cannot_be_written_is_kept_in_memory(home: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = open_store(tmp_path / "file" / "index.sqlite")
    assert store.path is None
    sync(store, [home])
    assert names(store, "parser") == [NAME]


_SYNC = """
import sys
from pathlib import Path
from stenograph.index import open_store, sync
store = open_store(Path(sys.argv[1]))
while True:
    sync(store, [Path(sys.argv[2])])
    if len(sys.argv) > 3:
        break
"""


def test_four_syncs_a_writer_and_kill_leave_a_store_as_built_anew(home: Path, session: Path, tmp_path: Path) -> None:
    path = tmp_path / "data" / "index.sqlite"
    shutil.copytree(DEMO / "projects", home / "projects", dirs_exist_ok=True)
    command = [sys.executable, "-c", _SYNC, str(path), str(home)]
    open_store(path).close()
    running = [subprocess.Popen(command) for _ in range(4)]
    try:
        for number in range(2, 42):
            with session.open("ab") as file:
                for line in _turn(number, f"Prompt {number}"):
                    file.write(encode([line]))
                    file.flush()
            if number % 8 == 0:
                victim = running.pop(0)
                victim.send_signal(signal.SIGKILL)
                victim.wait()
                running.append(subprocess.Popen(command))
            time.sleep(0.02)
    finally:
        for process in running:
            process.kill()
            process.wait()
    subprocess.run([*command, "once"], check=True)
    store = open_store(path)
    assert store.connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert_as_built_anew(store, home)


def test_a_store_of_mostly_deleted_lines_is_built_anew(home: Path, session: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stenograph.index.store._GARBAGE", 10)
    store = open_store(None)
    for number in range(1, 10):
        session.write_bytes(encode(_turn(number, f"Prompt {number}")))
        sync(store, [home])
    made = store.connection.execute("SELECT count(*) FROM text_docsize").fetchone()[0]
    assert made < 9 * 4
    assert names(store, "number9") == [NAME]
    assert names(store, "number3") == []
    assert_as_built_anew(store, home)


def test_a_full_disk_leaves_the_store_as_it_was(home: Path, session: Path, tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite"
    store = open_store(path)
    sync(store, [home])
    before = rows_of(store)
    store.connection.execute(f"PRAGMA max_page_count = {path.stat().st_size // 4096 + 2}")
    session.write_bytes(encode([line for number in range(1, 400) for line in _turn(number, f"Prompt {number} " * 50)]))
    report = sync(store, [home])
    assert (report.pending, [found.code for found in report.findings]) == (1, ["unwritable-index"])
    assert rows_of(store) == before


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # a test may run beside threads
@pytest.mark.parametrize("is_copied", [True, False])
def test_files_read_by_other_processes_give_the_same_rows(monkeypatch: pytest.MonkeyPatch, is_copied: bool) -> None:
    alone, store = open_store(None), open_store(None)
    sync(alone, [DEMO])
    monkeypatch.setattr("stenograph.index.workers.MUCH", 0)
    monkeypatch.setattr("stenograph.index.workers.can_read_beside", lambda: True)
    monkeypatch.setattr("stenograph.index.workers._can_copy", lambda: is_copied)
    monkeypatch.setattr("stenograph.index.workers._HELD", 1)
    monkeypatch.setattr("stenograph.index.workers._cores", lambda: 2)
    assert sync(store, [DEMO]).pending == 0
    assert rows_of(store) == rows_of(alone)


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # a test may run beside threads
@pytest.mark.parametrize("is_copied", [True, False])
def test_where_other_processes_end_early_the_rest_is_read_here(
    home: Path, session: Path, monkeypatch: pytest.MonkeyPatch, is_copied: bool
) -> None:
    for number in range(5):
        shutil.copy(session, session.with_name(f"{number}{OTHER[1:]}.jsonl"))
    monkeypatch.setattr("stenograph.index.workers.MUCH", 0)
    monkeypatch.setattr("stenograph.index.workers.can_read_beside", lambda: True)
    monkeypatch.setattr("stenograph.index.workers._can_copy", lambda: is_copied)
    monkeypatch.setattr("stenograph.index.workers.sys.executable", shutil.which("true"))
    monkeypatch.setattr("stenograph.index.worker.serve", lambda *_: None)
    store = open_store(None)
    assert sync(store, [home]).changed == 6
    assert_as_built_anew(store, home)


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # a test may run beside threads
@pytest.mark.parametrize("is_copied", [True, False])
def test_a_file_that_another_process_cannot_read_is_a_finding(
    home: Path, session: Path, monkeypatch: pytest.MonkeyPatch, is_copied: bool
) -> None:
    lost = session.with_name(f"{OTHER}.jsonl")
    shutil.copy(session, lost)
    monkeypatch.setattr("stenograph.index.workers.MUCH", 0)

    def can_read_beside() -> bool:
        lost.unlink()  # once it is listed
        return True

    monkeypatch.setattr("stenograph.index.workers.can_read_beside", can_read_beside)
    monkeypatch.setattr("stenograph.index.workers._can_copy", lambda: is_copied)
    report = sync(open_store(None), [home])
    assert [(found.code, found.path) for found in report.findings] == [("unreadable-file", lost)]


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # a test may run beside threads
@pytest.mark.skipif(sys.platform != "linux", reason="no process is copied there")
@pytest.mark.usefixtures("session")
def test_copies_end_also_where_the_ends_of_processes_are_ignored(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stenograph.index.workers.MUCH", 0)
    monkeypatch.setattr("stenograph.index.workers.can_read_beside", lambda: True)
    monkeypatch.setattr("stenograph.index.workers._can_copy", lambda: True)
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        assert sync(open_store(None), [home]).changed == 1
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_a_title_that_is_a_summary_in_another_file_is_found_whichever_came_first(tmp_path: Path) -> None:
    """2.0.76 writes the title of a session into the file of a later one."""
    folder = tmp_path / "home" / "projects" / "-w"
    folder.mkdir(parents=True)
    (folder / f"{NAME}.jsonl").write_bytes(encode([user("u1", "look for quartz"), assistant("u2", "m", [text("none")], "u1")]))
    store = open_store(tmp_path / "index.sqlite")
    sync(store, [tmp_path / "home"])
    assert search(store, parse_query("quartz")).hits[0].title == "look for quartz"
    summary = {"type": "summary", "summary": "The stone hunt", "leafUuid": "u2"}
    (folder / f"{OTHER}.jsonl").write_bytes(encode([summary, user("u9", "something else")]))
    sync(store, [tmp_path / "home"])
    assert search(store, parse_query("quartz")).hits[0].title == "The stone hunt"
    fresh = open_store(tmp_path / "fresh.sqlite")
    sync(fresh, [tmp_path / "home"])
    assert search(fresh, parse_query("quartz")).hits[0].title == "The stone hunt"


@pytest.mark.skipif(sys.platform == "win32", reason="needs modes")
def test_the_store_is_for_its_user_alone(tmp_path: Path) -> None:
    """It holds what sessions hold. A store that others could read is closed; a link, a pipe or another's file is not used."""
    path = tmp_path / "index.sqlite"
    path.touch(0o666)
    path.chmod(0o666)
    with contextlib.closing(open_store(path)) as store:
        assert store.path == path
        sync(store, [DEMO])
        assert {each.stat().st_mode & 0o777 for each in tmp_path.iterdir()} == {0o600}
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(b"")
    for place, make in (("link", lambda each: each.symlink_to(elsewhere)), ("pipe", os.mkfifo)):
        odd = tmp_path / place
        make(odd)
        assert open_store(odd).path is None
    assert elsewhere.read_bytes() == b""
    if os.geteuid() == 0:
        os.chown(path, 65534, 65534)
        assert open_store(path).path is None


@pytest.mark.parametrize("is_dying", [False, True])
def test_calls_that_another_process_reads_are_counted_the_same(monkeypatch: pytest.MonkeyPatch, is_dying: bool) -> None:
    rows = (
        "SELECT f.path, c.key, c.offset, c.output, c.counted FROM model_calls c JOIN usage_files f ON f.id = c.file ORDER BY 1, 2"
    )

    def read() -> list[tuple[object, ...]]:
        store = open_store(None)
        sync_usage(store, [DEMO])
        return store.connection.execute(rows).fetchall()

    def die(_: object) -> bytes:
        raise RuntimeError

    alone = read()
    monkeypatch.setattr("stenograph.index.call_rows._MUCH", 1)
    monkeypatch.setattr("stenograph.index.call_rows._HELD", 5)
    if is_dying:
        monkeypatch.setattr("stenograph.index.call_rows._scanned", die)
    assert len(alone) > 20
    assert read() == alone
