"""A family of files for the archive's tests, and folders as values to compare."""

from __future__ import annotations

import os
from pathlib import Path

from tests.homes import LONG_AGO, PROJECT, session_id, turns, write_session

SESSION = session_id(0xAAAA0001)
NAME = f"{SESSION}.jsonl"
AGENT = f"{SESSION}/subagents/agent-a1.jsonl"
META = f"{SESSION}/subagents/agent-a1.meta.json"
RESULT = f"{SESSION}/tool-results/b1.txt"
EMPTY = f"{SESSION}/nothing"
HISTORY = f"file-history/{SESSION}/0123456789abcdef@v1"


def make_family(home: Path) -> Path:
    """A home with one session: an agent with its meta file, a spilled result, an empty folder, a backup. Its project folder."""
    project = write_session(home, SESSION, turns(3)).parent
    # So that no test can pass because some other session was touched.
    write_session(home, session_id(0xBBBB0002), turns(2))
    for name, data in ((AGENT, b'{"type":"user"}\n'), (META, b"{}"), (RESULT, b"\xff\x00 long\n" * 2000)):
        place = project / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    (project / EMPTY).mkdir()
    (home / HISTORY).parent.mkdir(parents=True)
    (home / HISTORY).write_bytes(b"as it was\n")
    for path in home.rglob("*"):
        if path.is_file():
            os.utime(path, (LONG_AGO, LONG_AGO))
    assert project.name == PROJECT
    return project


def contents(folder: Path) -> dict[str, bytes | None]:
    """Everything below a folder: the bytes of files, None for folders."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None for path in sorted(folder.rglob("*"))
    }


def times(folder: Path) -> dict[str, int]:
    """When the files below a folder were changed."""
    return {path.relative_to(folder).as_posix(): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def modes(folder: Path) -> dict[str, int]:
    """The permissions of the files below a folder."""
    return {path.relative_to(folder).as_posix(): path.stat().st_mode & 0o777 for path in folder.rglob("*") if path.is_file()}
