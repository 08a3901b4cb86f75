"""A file -> every tool call on it, in every session."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from stenograph.disk import redacted_repr
from stenograph.index.store import IndexStore


@redacted_repr
class Touch(Struct, frozen=True):
    """A tool call on a file."""

    session: str
    path: Path
    title: str | None
    project: str | None
    #: The session's own file, or a subagent's, and the line of the call.
    file: Path
    agent: str | None
    line: int
    #: None: in a subagent, or before the first turn.
    turn: int | None
    #: In seconds since 1970.
    time: float | None
    tool: str
    #: The path as the tool got it.
    target: str
    failed: bool
    #: No result: the call was interrupted, or is still running.
    unanswered: bool
    #: Another session has the same call, made at the same time, and is listed before.
    is_copy: bool


def file_history(store: IndexStore, file: str, homes: Sequence[Path]) -> list[Touch]:
    """The tool calls on a file, oldest first. A relative path matches every path that ends with it.

    Of a call that a resume, fork or clone copied, the one in the file that was changed first is the original.
    """
    is_whole = Path(file).is_absolute()
    condition = "calls.target = ?" if is_whole else "(calls.target = ? OR substr(calls.target, -length(?)) = ?)"
    below = f"/{file.lstrip('./') or file}"
    values: list[object] = [file] if is_whole else [file, below, below]
    rows = store.connection.execute(
        "SELECT sessions.name, sessions.path, sessions.title, sessions.project, files.path, files.agent, docs.line, docs.time,"
        " calls.name, calls.target, calls.failed, calls.answered IS NULL,"
        " CASE WHEN files.agent IS NULL THEN (SELECT number FROM turns WHERE turns.session = sessions.id"
        " AND turns.offset <= calls.used ORDER BY turns.offset DESC LIMIT 1) END, calls.id"
        " FROM calls JOIN files ON files.id = calls.file JOIN sessions ON sessions.id = files.session"
        " LEFT JOIN docs ON docs.file = calls.file AND docs.offset = calls.used"
        f" WHERE {condition} AND sessions.home IN ({', '.join('?' * len(homes))})"
        " ORDER BY docs.time, files.changed_ns, docs.file, docs.line",
        (*values, *map(os.fsencode, homes)),
    )
    touches: list[Touch] = []
    seen: set[tuple[str, float, str]] = set()
    for name, path, title, project, source, agent, line, when, tool, target, failed, unanswered, turn, call in rows:
        touch = Touch(
            session=name,
            path=Path(os.fsdecode(path)),
            title=title,
            project=project,
            file=Path(os.fsdecode(source)),
            agent=agent,
            line=line or 0,
            turn=turn,
            time=when,
            tool=tool,
            target=target,
            failed=bool(failed),
            unanswered=bool(unanswered),
            is_copy=(call, when, target) in seen,
        )
        touches.append(touch)
        if when is not None:  # others are not told apart
            seen.add((call, when, target))
    return touches
