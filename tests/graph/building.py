"""Graphs for tests, built line by line: each record a dict, its text its name."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from stenograph.graph import Graph, build_graph, current_chain
from stenograph.records import AssistantRecord, Located, Record, UserRecord, decode, text_of

MAIN = Path("main.jsonl")
Line = dict[str, Any] | bytes


def prompt(uuid: str, parent: str | None, at: int = 0, **members: Any) -> dict[str, Any]:
    """A prompt whose text is its uuid, `at` so many seconds."""
    return {**_chained("user", uuid, parent, at), "message": {"role": "user", "content": uuid}, **members}


def answer(uuid: str, parent: str | None, at: int = 0, **members: Any) -> dict[str, Any]:
    message = {"id": f"msg_{uuid}", "role": "assistant", "model": "claude-x", "content": [{"type": "text", "text": uuid}]}
    return {**_chained("assistant", uuid, parent, at), "message": message, **members}


def tool_use(uuid: str, parent: str | None, tool: str, at: int = 0, **members: Any) -> dict[str, Any]:
    record = answer(uuid, parent, at, **members)
    record["message"]["content"] = [{"type": "tool_use", "id": tool, "name": "Bash", "input": {}}]
    return record


def tool_result(uuid: str, parent: str | None, tool: str, at: int = 0, **members: Any) -> dict[str, Any]:
    record = prompt(uuid, parent, at, **members)
    record["message"]["content"] = [{"type": "tool_result", "tool_use_id": tool, "content": "done"}]
    return record


def system(uuid: str, parent: str | None, at: int = 0, subtype: str = "informational", **members: Any) -> dict[str, Any]:
    return {**_chained("system", uuid, parent, at), "subtype": subtype, "content": uuid, **members}


def attachment(uuid: str, parent: str | None, at: int = 0, **members: Any) -> dict[str, Any]:
    return {**_chained("attachment", uuid, parent, at), "attachment": {"type": "date", "date": "2026-01-01"}, **members}


def progress(uuid: str, parent: str | None, at: int = 0, **members: Any) -> dict[str, Any]:
    return {**_chained("progress", uuid, parent, at), "data": {"type": "bash_progress"}, "toolUseID": "t", **members}


def unknown(uuid: str, parent: str | None, at: int = 0) -> dict[str, Any]:
    return _chained("never-seen", uuid, parent, at)


def last_prompt(leaf: str | None, **members: Any) -> dict[str, Any]:
    return {"type": "last-prompt", "leafUuid": leaf, "sessionId": "s", **members}


def _chained(kind: str, uuid: str, parent: str | None, at: int) -> dict[str, Any]:
    timestamp = f"2026-01-01T00:{at // 60:02}:{at % 60:02}.000Z"
    return {"type": kind, "uuid": uuid, "parentUuid": parent, "isSidechain": False, "timestamp": timestamp}


def locate(lines: Sequence[Line]) -> list[Located]:
    located, offset = [], 0
    for number, line in enumerate(lines, 1):
        data = line if isinstance(line, bytes) else json.dumps(line).encode()
        located.append(Located(decode(data), number, offset, len(data)))
        offset += len(data) + 1
    return located


def graph_of(*lines: Line, agents: dict[str, Sequence[Line]] | None = None) -> Graph:
    """The graph of a session file with these lines and of these sub-agents' files."""
    others = [(Path(f"agent-{name}.jsonl"), name, locate(records)) for name, records in (agents or {}).items()]
    return build_graph([(MAIN, "", locate(lines)), *others])


@contextmanager
def before_long(seconds: float = 5.0) -> Iterator[None]:
    """Fail what goes round in circles, before it has eaten the memory; without a clock that interrupts, trust it."""
    if not hasattr(signal, "setitimer"):  # Windows
        yield
        return

    def too_long(_signal: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"not done after {seconds} seconds")

    previous = signal.signal(signal.SIGALRM, too_long)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def chain_of(release: str, *lines: Line) -> list[str]:
    """What a client of that release resumes from, root first: the texts of the records, or their uuids."""
    graph = graph_of(*lines)
    with before_long(1.0):
        return [_name(graph.records[node]) for node in current_chain(graph, release)]


def _name(record: Record) -> str:
    if isinstance(record, UserRecord | AssistantRecord):
        return text_of(record.content)
    return str(getattr(record, "uuid", ""))
