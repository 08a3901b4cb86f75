"""Glob: files by name."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from stenograph.agent.tools.base import Json, Tool, ToolContext, ToolFailed, ToolInput, ToolOutput, Workspace
from stenograph.agent.tools.texts import resolved
from stenograph.disk import absolute_path

MOST_FILES = 100
#: Seconds, as in the client.
TIME_LIMIT = 20.0


class GlobInput(ToolInput):
    pattern: Annotated[str, Meta(description="Glob pattern, e.g. **/*.py or src/**/*.{ts,tsx}")]
    path: Annotated[str | None, Meta(description="The directory to search in; the working directory by default")] = None


class _Found(Struct):
    #: (modification time, path), oldest first.
    files: list[tuple[int, Path]]
    is_complete: bool


class GlobTool(Tool[GlobInput]):
    name = "Glob"
    input_type = GlobInput
    is_read_only = True

    def paths(self, given: GlobInput, workspace: Workspace) -> list[Path]:
        return [_search(given, workspace)[0]]

    async def run(self, given: GlobInput, context: ToolContext) -> ToolOutput:
        from stenograph.agent.tools.globbing import GlobError  # not before the first request

        began = time.monotonic()
        if given.path:
            _refuse_no_folder(resolved(given.path, self.name, context.workspace), context.workspace)
        folder, pattern = _search(given, context.workspace)
        # A thread can't be killed: it checks this between files.
        stop = threading.Event()
        try:
            found = await asyncio.to_thread(_find, folder, pattern, context.may_read, began + TIME_LIMIT, stop)
        except GlobError as error:
            raise ToolFailed(f"Search failed — the pattern was rejected without searching:\n{error}") from None
        finally:
            stop.set()
        return _output(found, context.workspace, round((time.monotonic() - began) * 1000))


def _search(given: GlobInput, workspace: Workspace) -> tuple[Path, str]:
    """The directory to walk, and the pattern below it."""
    from stenograph.agent.tools.globbing import fixed_part

    folder = absolute_path(resolved(given.path, "Glob", workspace)) if given.path else workspace.cwd
    fixed, rest = fixed_part(given.pattern)
    if not fixed:
        return folder, given.pattern
    below = resolved(fixed, "Glob", workspace) if fixed.startswith(("/", "~")) else folder / fixed
    return absolute_path(below), f"/{rest}"


def _refuse_no_folder(folder: Path, workspace: Workspace) -> None:
    if not os.path.exists(folder):  # noqa: PTH110 - Path.exists raises without rights
        raise ToolFailed(f"Directory does not exist: {folder}. Note: your current working directory is {workspace.cwd}.")
    if not os.path.isdir(folder):  # noqa: PTH112
        raise ToolFailed(f"Path is not a directory: {folder}")


def _find(folder: Path, pattern: str, may_read: Callable[[Path], bool] | None, deadline: float, stop: threading.Event) -> _Found:
    from stenograph.agent.tools.globbing import Glob, walk_files

    matches = Glob(pattern).matches
    files: list[tuple[int, Path]] = []
    is_complete = True

    def is_over(_relative: str, _is_folder: bool) -> bool:
        nonlocal is_complete
        is_complete = is_complete and not stop.is_set() and time.monotonic() <= deadline
        return not is_complete

    for relative in walk_files(folder, is_over):
        if matches(relative):
            path = folder / relative
            if may_read is not None and not may_read(path):
                continue
            try:
                files.append((path.stat().st_mtime_ns, path))
            except OSError:
                continue  # gone since
    files.sort()
    return _Found(files, is_complete)


def _output(found: _Found, workspace: Workspace, duration_ms: int) -> ToolOutput:
    names = [shown_path(path, workspace) for _, path in found.files[:MOST_FILES]]
    total = len(found.files)
    structured: Json = {
        "filenames": names,
        "durationMs": duration_ms,
        "numFiles": len(names),
        "truncated": total > len(names),
    }
    words = "\n".join(names) or "No files found"
    if total > len(names):
        words += (
            f"\n(Showing {len(names)} of {total} matching files; {total - len(names)} more are not listed. Narrow the pattern or"
            " path to see the rest.)"
        )
    if not found.is_complete:
        words += f"\n(The search was stopped after {TIME_LIMIT:.0f} s; there may be more files. Narrow the pattern or path.)"
    return ToolOutput(content=words, structured=structured)


def shown_path(path: Path, workspace: Workspace) -> str:
    """Relative to the working directory if below it (2.1.325)."""
    return str(path.relative_to(workspace.cwd)) if workspace.cwd in path.parents else str(path)
