"""Resuming hostile shapes costs work in proportion to their lines: four times the lines, about four times the calls."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.messages.test_work import LARGE, SHAPES, SMALL, calls_of

from stenograph.agent.engine.options import AgentOptions
from stenograph.agent.recording.resuming import open_again
from stenograph.errors import StenographError
from stenograph.testing.lines import Line, encode


@pytest.mark.parametrize("shape", SHAPES)
def test_four_times_the_lines_are_about_four_times_the_work(shape: Callable[[int], list[Line]], tmp_path: Path) -> None:
    def work(path: Path) -> None:
        with contextlib.suppress(StenographError):  # a refusal costs as much
            open_again(AgentOptions(cwd=tmp_path, home=tmp_path, resume=str(path))).recorder.close()

    counts = []
    for number, size in enumerate((SMALL, SMALL, LARGE)):  # the first time caches are filled
        path = tmp_path / f"0000000{number}-0000-4000-8000-000000000000.jsonl"
        path.write_bytes(encode(shape(size)))
        counts.append(calls_of(lambda path=path: work(path)))  # type: ignore[misc]
    assert counts[2] < counts[1] * LARGE / SMALL * 1.5, json.dumps(counts)
