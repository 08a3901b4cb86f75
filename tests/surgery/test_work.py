"""Plans for hostile shapes cost work in proportion to their lines: four times the lines, about four times the calls."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.messages.test_work import LARGE, SHAPES, SMALL, calls_of

from stenograph.errors import StenographError
from stenograph.surgery import AnyEdit, MakePortable, TruncateResults, make_plan
from stenograph.testing.lines import Line, encode


def empty_objects(count: int) -> list[Line]:
    return [{} for _ in range(count)]


@pytest.mark.proof
@pytest.mark.parametrize("edit", [TruncateResults(limit=10), MakePortable()], ids=["truncate", "portable"])
@pytest.mark.parametrize("shape", [*SHAPES, empty_objects])
def test_four_times_the_lines_are_about_four_times_the_work(
    shape: Callable[[int], list[Line]], edit: AnyEdit, tmp_path: Path
) -> None:
    def work(path: Path) -> None:
        with contextlib.suppress(StenographError):  # a refusal costs as much
            make_plan(path, [edit])

    counts = []
    for size in (SMALL, SMALL, LARGE):  # the first time caches are filled
        path = tmp_path / f"{size}.jsonl"
        path.write_bytes(encode(shape(size)))
        counts.append(calls_of(lambda path=path: work(path)))  # type: ignore[misc]
    assert counts[2] < counts[1] * LARGE / SMALL * 1.5, json.dumps(counts)
