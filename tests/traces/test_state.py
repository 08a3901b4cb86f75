"""What was sent where, in one SQLite file: all of an acknowledgement or nothing, for several processes, and no word of a session.

In: receipts and failures. Out: places, as another process reads them from the same folder.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.traces.tracing import Desk, timed, write, write_agent

from stenograph.errors import DeliveryError, UnwritableError
from stenograph.testing.lines import assistant, text, tool_result, tool_use, user
from stenograph.traces.delivery import BadSpan
from stenograph.traces.reading import Closing, Place, ReadFailure
from stenograph.traces.state import Cursor, Receipt, TraceState, Waiting

SESSION = Path("/home/user/session.jsonl")
OTHER = Path("/home/user/other.jsonl")


def receipt(offset: int = 100, turns: int = 1, **more: object) -> Receipt:
    told = {"spans": 3, "posts": 1, "at": 5.0, "trace_ids": (bytes([offset % 256]) * 16,), **more}
    return Receipt(SESSION, Cursor(Place(offset, turns, 0, 0), b"behind"), turns, **told)  # type: ignore[arg-type]


# What is kept


def test_a_place_is_read_back_by_another_process(tmp_path: Path) -> None:
    with TraceState(tmp_path) as state:
        assert state.cursor("one", SESSION) is None
        state.acknowledge("one", receipt(100, 2))
    with TraceState(tmp_path) as state:
        assert state.cursor("one", SESSION) == Cursor(Place(100, 2, 0, 0), b"behind")
        assert state.cursors("one") == {SESSION: Cursor(Place(100, 2, 0, 0), b"behind")}
        assert state.cursor("two", SESSION) is None
        assert state.cursor("one", OTHER) is None


def test_turns_and_what_they_told_are_known_by_destination(tmp_path: Path) -> None:
    with TraceState(tmp_path) as state:
        state.acknowledge("one", receipt(trace_ids=(b"t" * 16,), told={"m1": b"t" * 16}))
        state.acknowledge("one", receipt(trace_ids=(b"u" * 16,), told={"m1": b"u" * 16, "m2": b"u" * 16}))
        assert state.is_sent("one", b"t" * 16)
        assert not state.is_sent("two", b"t" * 16)
        # The trace that told a response first keeps it.
        assert state.traces_that_told("one", ["m1", "m2", "m3"]) == {"m1": b"t" * 16, "m2": b"u" * 16}
        assert state.traces_that_told("two", ["m1"]) == {}


def test_agents_that_are_waited_for_are_kept_until_none_is_left(tmp_path: Path) -> None:
    with TraceState(tmp_path) as state:
        state.acknowledge("one", receipt(waiting=(Waiting(10, 1, frozenset({"a", "b"})), Waiting(50, 2, frozenset({"c"})))))
        state.acknowledge("one", receipt(waiting=(Waiting(10, 1, frozenset({"b"})), Waiting(50, 2, frozenset()))))
        assert state.waiting("one", SESSION) == [Waiting(10, 1, frozenset({"b"}))]
        assert state.waiting("two", SESSION) == []


def test_a_file_that_became_another_is_forgotten_but_not_what_was_sent_of_it(tmp_path: Path) -> None:
    with TraceState(tmp_path) as state:
        state.acknowledge("one", receipt(trace_ids=(b"t" * 16,), waiting=(Waiting(10, 1, frozenset({"a"})),)))
        state.acknowledge("two", receipt())
        state.forget_file("one", SESSION)
        assert (state.cursor("one", SESSION), state.waiting("one", SESSION)) == (None, [])
        assert state.is_sent("one", b"t" * 16)
        assert state.cursor("two", SESSION) is not None


def test_health_counts_what_was_sent_and_failures_in_a_row(tmp_path: Path) -> None:
    with TraceState(tmp_path) as state:
        assert state.health("one").turns == 0
        state.acknowledge("one", receipt(turns=2, refused=(BadSpan(b"t" * 16, b"s" * 8, 10, 400),)))
        state.note_failure("one", "503 from the receiver", 70.0, 60.0)
        state.note_failure("one", "503 from the receiver", 80.0, 61.0)
        health = state.health("one")
        assert (health.turns, health.spans, health.posts, health.refused) == (2, 3, 1, 1)
        assert (health.failures, health.last_error, health.retry_at, health.last_failure) == (
            2,
            "503 from the receiver",
            80.0,
            61.0,
        )
        state.acknowledge("one", receipt(200, 1, at=90.0))
        health = state.health("one")
        assert (health.turns, health.failures, health.last_error, health.retry_at) == (3, 0, "", 0.0)
        assert health.last_success == 90.0


def test_what_posted_nothing_says_nothing_of_a_receivers_health(tmp_path: Path) -> None:
    """A file without turns moves its place while the receiver is down."""
    with TraceState(tmp_path) as state:
        state.note_failure("one", "down", 70.0, 60.0)
        state.acknowledge("one", receipt(turns=0, spans=0, posts=0))
        assert state.health("one").failures == 1


def test_what_is_due_grows_until_it_is_settled(tmp_path: Path) -> None:
    with TraceState(tmp_path) as state:
        state.make_due(["one", "two"], SESSION, Closing.ENDED, 1)
        state.make_due(["one"], SESSION, Closing.UNKNOWN, 2)
        (due,) = state.due("one")
        assert (due.closing, due.stamp) == (Closing.ENDED, 2)
        state.make_due(["one"], SESSION, Closing.UNKNOWN, 3)
        state.settle(due)
        assert [each.stamp for each in state.due("one")] == [3], "something else happened meanwhile"
        state.settle(state.due("one")[0])
        assert state.due("one") == []
        assert len(state.due("two")) == 1
        assert (state.is_due("one", SESSION), state.is_due("two", SESSION), state.is_due("two", OTHER)) == (False, True, False)


def test_only_the_first_of_all_events_counts(tmp_path: Path) -> None:
    with TraceState(tmp_path) as state:
        assert state.first_event() is None
        state.note_first_event(1.5)
        state.note_first_event(2.5)
        assert state.first_event() == 1.5


def test_files_that_could_not_be_read_are_those_of_the_last_look_at_a_session(tmp_path: Path) -> None:
    first, second = ReadFailure(Path("/a"), "no"), ReadFailure(Path("/b"), "no")
    with TraceState(tmp_path) as state:
        state.note_unread("one", SESSION, [first, second])
        state.note_unread("one", OTHER, [ReadFailure(OTHER, "gone")])
        assert state.unread("one") == [first, second, ReadFailure(OTHER, "gone")]
        state.note_unread("one", SESSION, [second])
        assert state.unread("one") == [second, ReadFailure(OTHER, "gone")]
        state.note_unread("one", SESSION, [])
        assert (state.unread("one"), state.unread("two")) == ([ReadFailure(OTHER, "gone")], [])


# All or nothing


def test_an_acknowledgement_that_fails_half_way_leaves_nothing(tmp_path: Path) -> None:
    """The trace id is no bytes: SQLite refuses it after the place was written."""
    with TraceState(tmp_path) as state:
        state.acknowledge("one", receipt(100))
        broken = receipt(200, trace_ids=(object(),), told={"m9": b"t" * 16})
        with pytest.raises(UnwritableError):
            state.acknowledge("one", broken)
        cursor = state.cursor("one", SESSION)
        assert cursor is not None
        assert cursor.place.offset == 100
        assert state.traces_that_told("one", ["m9"]) == {}
        state.acknowledge("one", receipt(300))  # and the connection is as good as before
    with TraceState(tmp_path) as state:
        cursor = state.cursor("one", SESSION)
        assert cursor is not None
        assert cursor.place.offset == 300


def test_a_process_that_is_killed_while_it_writes_leaves_nothing_half_done(tmp_path: Path) -> None:
    code = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from stenograph.traces.state import TraceState\n"
        "state = TraceState(Path(sys.argv[1]))\n"
        "with state._transaction():\n"
        "    state._connection.execute(\"INSERT INTO cursors VALUES ('one', 'p', 1, 1, 0, 0, x'00', 0, 0)\")\n"
        "    os._exit(9)\n"
    )
    with TraceState(tmp_path) as state:
        state.acknowledge("one", receipt(100))
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False, timeout=60).returncode == 9
    with TraceState(tmp_path) as state:
        assert list(state.cursors("one")) == [SESSION]


def test_two_processes_at_once_lose_nothing(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from stenograph.traces.reading import Closing, Place\n"
        "from stenograph.traces.state import Cursor, Receipt, TraceState\n"
        "folder, mine = Path(sys.argv[1]), sys.argv[2]\n"
        "for number in range(60):\n"
        "    with TraceState(folder) as state:\n"
        "        place, trace = Cursor(Place(number, number, 0, 0), b'x'), f'{mine:0>8}{number:08}'.encode()\n"
        "        state.acknowledge('one', Receipt(Path(f'/{mine}/{number}'), place, 1, 1, 1, (trace,)))\n"
    )
    ran = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path), name]) for name in ("a", "b")]
    assert [process.wait(timeout=120) for process in ran] == [0, 0]
    with TraceState(tmp_path) as state:
        assert len(state.cursors("one")) == 120
        assert state.health("one").turns == 120


# What can't be used


def test_a_state_of_a_newer_release_is_refused_closed_and_left_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with TraceState(tmp_path) as state:
        state.acknowledge("one", receipt(100))
    connection = sqlite3.connect(tmp_path / "traces.db")
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    opened: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def connect_and_keep(*arguments: Any, **options: Any) -> sqlite3.Connection:
        opened.append(connect(*arguments, **options))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", connect_and_keep)
    with pytest.raises(UnwritableError, match=r"newer release of steno; try: update steno, or delete it"):
        TraceState(tmp_path)
    monkeypatch.undo()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        opened[0].execute("SELECT 1")
    connection = sqlite3.connect(tmp_path / "traces.db")
    assert connection.execute("PRAGMA user_version").fetchone() == (99,)
    assert connection.execute("SELECT count(*) FROM cursors").fetchone() == (1,)
    connection.close()


def test_a_file_that_is_no_database_is_set_aside_and_a_new_one_begun(tmp_path: Path) -> None:
    damage = b"not a database at all, but long enough to be looked at" * 20
    (tmp_path / "traces.db").write_bytes(damage)
    with TraceState(tmp_path) as state:
        state.acknowledge("one", receipt())
        [aside] = state.damaged()
    assert aside.read_bytes() == damage
    assert aside.name.startswith("traces.db.damaged-")
    with TraceState(tmp_path) as state:
        assert state.cursor("one", SESSION) is not None, "only once"
        assert state.damaged() == [aside]
        aside.unlink()
        assert state.damaged() == []


def test_a_database_that_is_found_to_be_damaged_while_it_is_used_is_set_aside_for_the_next_one(tmp_path: Path) -> None:
    with TraceState(tmp_path) as state:
        state.acknowledge("one", receipt())
        assert state.damaged() == []
    file = tmp_path / "traces.db"
    data = file.read_bytes()
    # The first page, which says what tables there are, is whole; all others are not.
    file.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))
    with TraceState(tmp_path) as state, pytest.raises(UnwritableError, match="cannot read"):
        state.cursor("one", SESSION)
    with TraceState(tmp_path) as state:
        assert state.cursor("one", SESSION) is None
        assert len(state.damaged()) == 1
        state.acknowledge("one", receipt())
        assert state.cursor("one", SESSION) is not None


def test_a_path_that_is_no_text_is_kept_as_it_is(tmp_path: Path) -> None:
    """Names are bytes: this one is Latin-1."""
    odd = Path(os.fsdecode(b"/home/caf\xe9/5e55.jsonl"))
    with TraceState(tmp_path) as state:
        state.acknowledge("one", msgspec.structs.replace(receipt(), path=odd, waiting=(Waiting(3, 1, frozenset({"a\udce9"})),)))
        state.make_due(["one"], odd, Closing.STOPPED, 1)
        state.note_unread("one", odd, [ReadFailure(odd, f"cannot read {odd}")])
    with TraceState(tmp_path) as state:
        assert list(state.cursors("one")) == [odd]
        assert state.cursor("one", odd) is not None
        [due] = state.due("one")
        assert (due.path, state.is_due("one", odd)) == (odd, True)
        assert [each.agents for each in state.waiting("one", odd)] == [{"a\udce9"}]
        assert state.unread("one") == [ReadFailure(odd, f"cannot read {odd}")]
        state.note_unread("one", odd, [])
        state.put_off(due)
        state.settle(due)
        state.forget_file("one", odd)
        assert (state.due("one"), state.unread("one"), state.cursor("one", odd)) == ([], [], None)


def test_what_a_receiver_failed_at_is_due_after_the_others(tmp_path: Path) -> None:
    with TraceState(tmp_path) as state:
        for stamp in (1, 2, 3):
            state.make_due(["one"], Path(f"/{stamp}.jsonl"), Closing.ENDED, stamp)
        first, second, third = state.due("one")
        state.put_off(first)
        state.put_off(first)
        state.put_off(second)
        assert state.due("one") == [third, second, first]


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no such permissions here")
def test_a_folder_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    """Root may write anywhere: a file where the folder should be stops even root."""
    folder = tmp_path / "read-only"
    folder.mkdir()
    folder.chmod(0o500)
    if os.geteuid() == 0:
        folder.rmdir()
        folder.write_bytes(b"")
    with pytest.raises(UnwritableError, match="cannot use") as raised:
        TraceState(folder)
    assert raised.value.path == folder / "traces.db"


def test_a_state_that_is_lost_while_it_is_used_is_one_clear_error(tmp_path: Path) -> None:
    with TraceState(tmp_path) as state:
        connection = sqlite3.connect(tmp_path / "traces.db")
        connection.execute("DROP TABLE cursors")
        connection.commit()
        connection.close()
        with pytest.raises(UnwritableError, match="cannot read"):
            state.cursor("one", SESSION)
        with pytest.raises(UnwritableError, match="cannot write to"):
            state.acknowledge("one", receipt())


# Private


@pytest.mark.skipif(sys.platform == "win32", reason="no such permissions there")
def test_the_folder_is_its_owners_alone(tmp_path: Path) -> None:
    with TraceState(tmp_path / "made"):
        assert (tmp_path / "made").stat().st_mode & 0o077 == 0


def test_nothing_of_a_transcript_is_in_the_database(tmp_path: Path) -> None:
    """Words of the prompt, the answer, a tool and a sub-agent, sent, refused, failed and waited for: not one byte of them."""
    word = "sentinelofatranscript"
    launched = {"isAsync": True, "agentId": "aaa", "status": "async_launched", "description": word, "prompt": word}
    path = write(
        tmp_path / "p",
        timed(0, user("u1", word, cwd=f"/{word}", gitBranch=word)),
        timed(
            1, assistant("a1", "m1", [text(word), tool_use("t1", word, prompt=word), tool_use("t2", "Agent", prompt=word)], "u1")
        ),
        timed(2, user("r1", [tool_result("t1", word, is_error=True), tool_result("t2", word)], "a1", toolUseResult=launched)),
        timed(3, assistant("a2", "m2", [text(word)], "r1")),
        timed(4, user("u2", f"{word} that nobody answered", "a2")),
    )
    write_agent(
        path, "aaa", "t2", timed(2, user("s1", word)), timed(3, assistant("s2", "m3", [tool_use("t3")], "s1")), agentType=word
    )
    with Desk(tmp_path) as desk:
        desk.sink.fail(400, body=word.encode())
        desk.sink.refuse = lambda span: span.name == "Agent"
        try:
            desk.send(path, Closing.STOPPED)
        except DeliveryError as error:
            desk.state.note_failure("desk", str(error), 0.0, 0.0)
        desk.sink.heal()
        desk.send(path, Closing.STOPPED)
        desk.send(path, Closing.ENDED)
        assert any(word in str(span.attributes) for span in desk.spans)
        files = list(desk.folder.iterdir())
        assert desk.folder / "traces.db" in files
        for file in files:
            assert word.encode() not in file.read_bytes()
    for file in desk.folder.iterdir():
        assert word.encode() not in file.read_bytes()


# What an earlier release wrote

#: The tables of version 1, as it made them.
VERSION_1 = """
CREATE TABLE cursors (
    destination TEXT, path TEXT, start INTEGER, turns INTEGER, last_start INTEGER, last_turns INTEGER,
    digest_before BLOB, at REAL,
    PRIMARY KEY (destination, path)) WITHOUT ROWID;
CREATE TABLE sent_turns (destination TEXT, trace_id BLOB, PRIMARY KEY (destination, trace_id)) WITHOUT ROWID;
CREATE TABLE told (destination TEXT, key BLOB, trace_id BLOB, PRIMARY KEY (destination, key)) WITHOUT ROWID;
CREATE TABLE waiting (
    destination TEXT, path TEXT, start INTEGER, turns INTEGER, agents TEXT, PRIMARY KEY (destination, path, start)) WITHOUT ROWID;
CREATE TABLE due (
    destination TEXT, path TEXT, closing INTEGER, stamp INTEGER, failures INTEGER DEFAULT 0,
    PRIMARY KEY (destination, path)) WITHOUT ROWID;
CREATE TABLE health (
    destination TEXT PRIMARY KEY, turns INTEGER DEFAULT 0, spans INTEGER DEFAULT 0, posts INTEGER DEFAULT 0,
    refused INTEGER DEFAULT 0, last_success REAL, last_failure REAL, last_error TEXT DEFAULT '', failures INTEGER DEFAULT 0,
    retry_at REAL DEFAULT 0) WITHOUT ROWID;
CREATE TABLE refused (destination TEXT, trace_id BLOB, span_id BLOB, status INTEGER, size INTEGER, at REAL);
CREATE TABLE unread (
    destination TEXT, session TEXT, path TEXT, reason TEXT, PRIMARY KEY (destination, session, path)) WITHOUT ROWID;
CREATE TABLE facts (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
PRAGMA user_version = 1;
"""
#: The rows that version 1 wrote when it had sent the session below; the third turn was its number 3.
TRACES_OF_VERSION_1 = (
    "e2eda80e3c80794d25118c94bba8f3fa",
    "16bd17dd39c01f913dd0e2946a35c205",
    "6e0e0ef7a4039457b34f26d41f19d446",
)
TOLD_BY_VERSION_1 = {
    "ca0df2c95aa144c1d0ff2ff3": TRACES_OF_VERSION_1[0],
    "29c1b289e7522195b362e44f": TRACES_OF_VERSION_1[1],
    "153812ae5fea0b73a011bf28": TRACES_OF_VERSION_1[2],
    "2396a1256ac4b1c6849c931d": TRACES_OF_VERSION_1[2],
    "38575337f0e792cf8bd66bb9": TRACES_OF_VERSION_1[2],
}
#: The span of the tool that started the sub-agent.
TOOL_OF_VERSION_1 = "baab2190114df369"
USAGE = {"input_tokens": 1, "output_tokens": 1}


def session_of_version_1(folder: Path) -> Path:
    """A turn, one that was taken back, and the one in its place, with a sub-agent that was still at work."""
    launched = {"isAsync": True, "agentId": "aaa", "status": "async_launched", "description": "d", "prompt": "Look."}
    path = write(
        folder,
        timed(0, user("u1", "First?")),
        timed(1, assistant("a1", "m1", [text("One.")], "u1", usage=USAGE)),
        timed(10, user("u2", "Left?", "a1")),
        timed(11, assistant("a2", "m2", [text("Two.")], "u2", usage=USAGE)),
        timed(20, user("u3", "Instead?", "a1")),
        timed(21, assistant("a3", "m3", [tool_use("t1", "Agent", prompt="Look.", run_in_background=True)], "u3", usage=USAGE)),
        timed(22, user("r1", [tool_result("t1", "launched")], "a3", toolUseResult=launched)),
        timed(23, assistant("a4", "m4", [text("It looks.")], "r1", usage=USAGE)),
    )
    asked = [timed(22, user("s1", "Look.")), timed(24, assistant("s2", "m5", [tool_use("t2")], "s1", usage=USAGE))]
    write_agent(path, "aaa", "t1", *asked, agentType="explorer")
    state = folder / "state"
    state.mkdir()
    third = path.read_bytes().index(json.dumps(timed(20, user("u3", "Instead?", "a1"))).encode())
    with contextlib.closing(sqlite3.connect(state / "traces.db", isolation_level=None)) as connection:
        connection.executescript(VERSION_1)
        digest = bytes.fromhex("6593afb57ea763cdf2206153")
        connection.execute(
            "INSERT INTO cursors VALUES ('desk', ?, ?, 3, ?, 2, ?, 5.0)", (str(path), path.stat().st_size, third, digest)
        )
        for trace in TRACES_OF_VERSION_1:
            connection.execute("INSERT INTO sent_turns VALUES ('desk', ?)", (bytes.fromhex(trace),))
        for key, trace in TOLD_BY_VERSION_1.items():
            connection.execute("INSERT INTO told VALUES ('desk', ?, ?)", (bytes.fromhex(key), bytes.fromhex(trace)))
        connection.execute("INSERT INTO waiting VALUES ('desk', ?, ?, 2, 'aaa')", (str(path), third))
        connection.execute("INSERT INTO health (destination, turns, spans, posts) VALUES ('desk', 3, 8, 1)")
    return path


def append(path: Path, *lines: dict[str, Any]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


def test_a_state_of_version_2_is_taken_over(tmp_path: Path) -> None:
    """Its tables were those of version 1."""
    path = session_of_version_1(tmp_path)
    with contextlib.closing(sqlite3.connect(tmp_path / "state" / "traces.db")) as connection:
        connection.execute("PRAGMA user_version = 2")
    with Desk(tmp_path) as desk:
        place = desk.state.cursors("desk")[path].place
        assert (place.turns, place.last_turns) == (3, 2)
        assert (desk.state.skipped("desk"), desk.state.taken_over("desk")) == ({}, {})
        assert desk.send(path, Closing.STOPPED).turns == 0
    with TraceState(desk.folder) as state:
        assert state.health("desk").turns == 3


def test_what_version_1_sent_is_not_sent_again_and_what_is_new_is_sent_once(tmp_path: Path) -> None:
    path = session_of_version_1(tmp_path)
    with Desk(tmp_path) as desk:
        for closing in (Closing.UNKNOWN, Closing.STOPPED):
            sent = desk.send(path, closing)
            assert (sent.turns, sent.spans, sent.refused) == (0, 0, 0)
        assert desk.sink.posts == 0
        assert [each.agents for each in desk.state.waiting("desk", path)] == [{"aaa"}]

        append(
            path,
            timed(30, user("u4", "More?", "a4")),
            timed(31, assistant("a5", "m6", [text("Three.")], "u4", usage=USAGE)),
        )
        assert desk.send(path, Closing.STOPPED).turns == 1
        # Its place in its conversation: behind the first turn and the one in the place of the second.
        [root] = desk.roots
        assert (root.name, root.attributes["langfuse.trace.metadata.turn_number"]) == ("Turn 3", 3)
        assert {span.trace_id for span in desk.spans}.isdisjoint(TRACES_OF_VERSION_1)

        before = {span.span_id for span in desk.spans}
        agent = path.parent / path.stem / "subagents" / "agent-aaa.jsonl"
        result = timed(40, user("s3", [tool_result("t2")], "s2"))
        answer = timed(41, assistant("s4", "m7", [text("Seen.")], "s3", usage=USAGE))
        append(agent, *(line | {"isSidechain": True, "agentId": "aaa"} for line in (result, answer)))
        assert desk.send(path, Closing.STOPPED).turns == 0
        late = [span for span in desk.spans if span.span_id not in before]
        assert {span.trace_id for span in late} == {TRACES_OF_VERSION_1[2]}
        assert {span.parent_id for span in late} - {span.span_id for span in late} == {TOOL_OF_VERSION_1}
        assert len([span for span in late if span.name == "claude-x"]) == 2
        assert desk.state.waiting("desk", path) == []

        for closing in (Closing.STOPPED, Closing.ENDED):
            sent = desk.send(path, closing)
            assert (sent.turns, sent.spans) == (0, 0)
        assert {span.times for span in desk.spans} == {1}
        assert desk.state.health("desk").turns == 4
