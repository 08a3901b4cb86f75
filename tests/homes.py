"""Homes for tests: sessions written line by line, and the recorded ones in a home of their own."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from tests.corpora import FIXTURES

from stenograph.testing import lines
from stenograph.testing.lines import encode, text

PROJECT = "-home-user-work"
CWD = "/home/user/work"
#: Long past, so that nothing made here counts as running unless a test says so.
LONG_AGO = 1_700_000_000.0


def session_id(number: int) -> str:
    return f"{number:08x}-0000-4000-8000-000000000000"


def user(content: Any, **members: Any) -> dict[str, Any]:
    return lines.user(None, content) | {"isSidechain": False, "cwd": CWD, **members}


def assistant(*blocks: Any, **members: Any) -> dict[str, Any]:
    return lines.assistant(None, "msg_1", list(blocks)) | {"isSidechain": False, "cwd": CWD, **members}


def turns(number: int, prompt: str = "Do it") -> list[dict[str, Any]]:
    """So many prompts with their answers: two steps each."""
    return [record for _ in range(number) for record in (user(prompt), assistant(text("Done.")))]


def write_session(
    home: Path,
    identity: str,
    records: list[dict[str, Any]],
    *,
    project: str = PROJECT,
    modified: float = LONG_AGO,
    tail: bytes = b"",
) -> Path:
    """A session file with these records and, after them, these bytes."""
    path = home / "projects" / project / f"{identity}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encode(records) + tail)
    os.utime(path, (modified, modified))
    return path


def recorded_home(folder: Path) -> Path:
    """A home with every recorded session, copied with its times."""
    for project in sorted((FIXTURES / "recorded").glob("*/*/*")):
        if project.is_dir():
            shutil.copytree(project, folder / "projects" / f"{project.name}-{project.parent.name}")
    return folder
