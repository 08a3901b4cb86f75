"""A session that a resume wrote again into its own file, as 2.1.14 did: the same messages and tool calls once more."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.homes import session_id, user, write_session

from stenograph.analysis import UsageBy, UsageScope, usage_table
from stenograph.analysis.facts import session_facts
from stenograph.index import open_store, sync_usage
from stenograph.pricing import Tariff
from stenograph.sessions import load_file
from stenograph.testing import lines

_VERSION = {"version": "2.1.14", "isSidechain": False, "sessionId": session_id(1)}


def _line(line: dict[str, Any], number: int, parent: int | None, second: int) -> dict[str, Any]:
    at = datetime(2026, 11, 15, 10, 0, second, tzinfo=UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {**line, **_VERSION, "uuid": session_id(number), "parentUuid": parent and session_id(parent), "timestamp": at}


def _answer(name: str, *blocks: Any) -> dict[str, Any]:
    return lines.assistant(None, name, list(blocks), model="claude-opus-4-5-20251101", usage={"output_tokens": 9})


def _history(first: int) -> list[dict[str, Any]]:
    """Two Bash calls of one message, of 3 s and 4 s, and a Read of 5 s; the lines have new ids each time."""
    said = [
        (user("Go"), 0),
        (_answer("msg_1", lines.tool_use("toolu_1", "Bash", command="a")), 1),
        (_answer("msg_1", lines.tool_use("toolu_2", "Bash", command="b")), 2),
        (user([lines.tool_result("toolu_1", "A")]), 4),
        (user([lines.tool_result("toolu_2", "B")]), 6),
        (_answer("msg_2", lines.tool_use("toolu_3", "Read", file_path="/c")), 10),
        (user([lines.tool_result("toolu_3", "C")]), 15),
        (_answer("msg_3", lines.text("Done")), 20),
    ]
    return [_line(line, first + place, first + place - 1 if place else None, second) for place, (line, second) in enumerate(said)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_session(tmp_path / "home", session_id(1), [*_history(1), *_history(101)])


def tool_calls(index: Path | None, home: Path) -> dict[str, int]:
    store = open_store(index)
    sync_usage(store, [home])
    return {row.name: row.spent.calls for row in usage_table(store, UsageScope((home,)), Tariff(), by=UsageBy.TOOL).rows}


def test_a_tool_call_that_was_written_twice_counts_once(path: Path) -> None:
    assert tool_calls(None, path.parents[2]) == {"Bash": 2, "Read": 1, "(no tool)": 1}


@pytest.mark.parametrize("known", range(1, 16))
def test_a_tool_call_counts_once_wherever_reading_ended_before(path: Path, known: int, tmp_path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(b"".join(whole.splitlines(keepends=True)[:known]))
    tool_calls(tmp_path / "index.sqlite", tmp_path / "home")
    path.write_bytes(whole)
    assert tool_calls(tmp_path / "index.sqlite", tmp_path / "home") == {"Bash": 2, "Read": 1, "(no tool)": 1}


def test_a_tool_call_that_was_written_twice_is_waited_for_once(path: Path) -> None:
    facts = session_facts(load_file(path), Tariff())
    assert {name: tool.calls for name, tool in facts.tools.items()} == {"Bash": 2, "Read": 1}
    assert facts.tools_ms == 3000 + 4000 + 5000
    assert sorted(wait.ms for wait in facts.waits if wait.what != "model") == [3000, 4000, 5000]


def _usage(index: Path, home: Path) -> dict[UsageBy, list[tuple[Any, ...]]]:
    store = open_store(index)
    sync_usage(store, [home])
    tables = {by: usage_table(store, UsageScope((home,)), Tariff(), by=by) for by in UsageBy}
    return {by: [(row.name, row.sessions, row.spent) for row in table.rows] for by, table in tables.items()}


def _told(first: int, version: str) -> list[dict[str, Any]]:
    """Two answers in words of a release that counts only the beginning of its output, in a directory that changes."""
    long = "Words that were counted only in their beginning. " * 20
    said = [
        (user("Go"), 0, "/home/user/app"),
        (_answer("msg_1", lines.text(long)), 1, "/home/user/app"),
        (_answer("msg_1", lines.text(long[1:])), 2, "/home/user/app"),
        (_answer("msg_2", lines.text(long[2:])), 3, "/home/user/app/sub"),
    ]
    told = [_line(line, first + at, first + at - 1 if at else None, second) for at, (line, second, _) in enumerate(said)]
    return [{**line, "version": version, "cwd": cwd} for line, (_, _, cwd) in zip(told, said, strict=True)]


@pytest.mark.parametrize("version", ["1.0.20", "2.0.50", "2.1.14", "2.1.325"])
def test_usage_is_the_same_however_often_it_was_synced(tmp_path: Path, version: str) -> None:
    told = [*_told(1, version), *_told(101, version)]
    for size in range(1, len(told) + 1):
        home = tmp_path / "home"
        write_session(home, session_id(1), told[:size], modified=1_700_000_000 + size)
        assert _usage(tmp_path / "index.sqlite", home) == _usage(tmp_path / f"new-{size}.sqlite", home), size
