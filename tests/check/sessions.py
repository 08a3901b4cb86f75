"""A session to damage: one that a real client wrote, and what can be done to its lines."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.corpora import FIXTURES

Lines = list[dict[str, Any]]
SESSION = next((FIXTURES / "recorded" / "2.1.325" / "print").glob("*/7390a914-*.jsonl"))


def recorded_lines() -> Lines:
    """The lines of the recorded session, free to be changed."""
    return [json.loads(line) for line in SESSION.read_text(encoding="utf-8").splitlines()]


def write(folder: Path, lines: Lines, *, name: str = SESSION.name) -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    return path


def changed(change: Callable[[Lines], None]) -> Lines:
    lines = recorded_lines()
    change(lines)
    return lines


def first(lines: Lines, kind: str) -> dict[str, Any]:
    return next(line for line in lines if line["type"] == kind)


def last(lines: Lines, kind: str) -> dict[str, Any]:
    return next(line for line in reversed(lines) if line["type"] == kind)
