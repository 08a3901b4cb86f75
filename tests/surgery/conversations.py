"""Conversations written by hand: records as of `tests.homes`, linked into one chain as clients link them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from tests.homes import assistant, user

from stenograph.testing.lines import text

Line = dict[str, Any]
_START = datetime(2026, 1, 1, tzinfo=UTC)


def linked(*records: Line) -> list[Line]:
    """The records in one chain, each a second after the one before, every answer a response of its own."""
    lines: list[Line] = []
    for number, record in enumerate(records):
        line = {
            "parentUuid": lines[-1]["uuid"] if lines else None,
            **record,
            "uuid": f"00000000-0000-4000-8000-{number:012d}",
            "timestamp": (_START + timedelta(seconds=number)).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "userType": "external",
            "version": "2.1.325",
        }
        if line["type"] == "assistant":
            line["message"] = {**line["message"], "id": f"msg_{number}", "usage": {"input_tokens": 10, "output_tokens": 5}}
        lines.append(line)
    return lines


def called(name: str, given: Line, result: str, *, is_error: bool = False, identity: str = "") -> list[Line]:
    """A tool call and its result."""
    identity = identity or f"toolu_{name}_{len(result)}"
    use = {"type": "tool_use", "id": identity, "name": name, "input": given}
    answer = {"type": "tool_result", "tool_use_id": identity, "content": result, "is_error": is_error}
    return [assistant(use), user([answer])]


def turn(prompt: str, *calls: list[Line], answer: str = "Done.") -> list[Line]:
    """A prompt, calls in the order they are given, and an answer."""
    return [user(prompt), *(line for call in calls for line in call), assistant(text(answer))]
