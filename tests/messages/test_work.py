"""Hostile shapes cost work in proportion to their lines: four times the lines, about four times the calls.

Calls of functions, those of the interpreter's own included, are counted instead of seconds: the same number every time.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stenograph.check import check
from stenograph.graph import build_graph
from stenograph.messages import explain, lost, resume_messages
from stenograph.records import read_all_records
from stenograph.testing.lines import Line, assistant, encode, text, tool_result, tool_use, user

SMALL, LARGE = 200, 800
RELEASES = ("2.0.76", "2.1.159", "2.1.325")


def _uuid(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012d}"


def _said(number: int, parent: str | None, content: Any = None, response: str = "") -> Line:
    """Prompts and answers in turn; the uuid is the number, and so is the time."""
    at = {"timestamp": f"2026-11-15T{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}.000Z"}
    if number % 2 and content is None:
        return user(_uuid(number), "words", parent, **at)
    return {**assistant(_uuid(number), response or f"msg_{number}", content or [text("words")], parent), **at}


def _result(number: int, parent: str, use: int) -> Line:
    return {
        **_said(number, parent),
        **user(_uuid(number), [tool_result(f"toolu_{use}")], parent),
        "timestamp": _said(number, None)["timestamp"],
    }


def own_parents(count: int) -> list[Line]:
    return [_said(number, _uuid(number)) for number in range(1, count)]


def missing_parents(count: int) -> list[Line]:
    return [_said(number, _uuid(number + 10**9)) for number in range(1, count)]


def missing_parents_and_a_link_down(count: int) -> list[Line]:
    return [_said(1, _uuid(count - 1)), *missing_parents(count)[1:]]


def parallel_calls(count: int) -> list[Line]:
    """Each result hangs off its own call, as newer clients write them."""
    calls = count // 2
    lines = [_said(1, None)]
    lines += [_said(2 + one, _uuid(1 + one), [tool_use(f"toolu_{one}")], "msg") for one in range(calls)]
    lines += [_result(2 + calls + one, _uuid(2 + one), one) for one in range(calls)]
    return [*lines, _said(2 + 2 * calls, _uuid(1 + 2 * calls), [text("done")])]


def parallel_calls_in_one_chain(count: int) -> list[Line]:
    lines = [_said(1, None)]
    for one in range(count // 2):
        lines.append(_said(2 * one + 2, _uuid(2 * one + 1), [tool_use(f"toolu_{one}")], "msg"))
        lines.append(_result(2 * one + 3, _uuid(2 * one + 2), one))
    return lines


def attachments_behind_a_result(count: int) -> list[Line]:
    lines = [_said(1, None), _said(2, _uuid(1), [tool_use("toolu_0")]), _result(3, _uuid(2), 0)]
    body = {"type": "hook_additional_context", "content": ["words"], "hookName": "Stop", "hookEvent": "Stop"}
    for number in range(4, count):
        line = {**_said(number, _uuid(number - 1)), "type": "attachment", "attachment": body}
        lines.append({key: value for key, value in line.items() if key != "message"})
    return lines


SHAPES = [
    own_parents,
    missing_parents,
    missing_parents_and_a_link_down,
    parallel_calls,
    parallel_calls_in_one_chain,
    attachments_behind_a_result,
]


def _read(path: Path) -> None:
    graph = build_graph([(path, "", read_all_records(path))])
    for release in RELEASES:
        explain(resume_messages(graph, release), graph)
        lost(graph, release)


def _check(path: Path) -> None:
    check([path], jobs=1, resuming=True)


def calls_of(work: Callable[[], object]) -> int:
    count = 0

    def counted(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.proof
@pytest.mark.parametrize("work", [_read, _check], ids=["messages", "check"])
@pytest.mark.parametrize("shape", SHAPES)
def test_four_times_the_lines_are_about_four_times_the_work(
    shape: Callable[[int], list[Line]], work: Callable[[Path], object], tmp_path: Path
) -> None:
    counts = []
    for size in (SMALL, SMALL, LARGE):  # the first time caches are filled
        path = tmp_path / f"{size}.jsonl"
        path.write_bytes(encode(shape(size)))
        counts.append(calls_of(lambda path=path: work(path)))  # type: ignore[misc]
    assert counts[2] < counts[1] * LARGE / SMALL * 1.5, json.dumps(counts)
