"""Sessions -> what a list draws and says of each: prompts and tool calls of its own file in order, its models, its subagents."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from stenograph.index.store import IndexStore

#: SQLite before 3.32 takes 999 values.
_BATCH = 500


class Tick(Struct, frozen=True):
    """A prompt, or a tool call."""

    offset: int
    #: Empty for a prompt.
    tool: str
    failed: bool


class Cast(Struct, frozen=True):
    """Who took part in a session."""

    #: Those of subagents included, the last one last.
    models: tuple[str, ...]
    #: Subagents that have files of their own.
    agents: int
    #: Bytes of the session's own file when it was indexed.
    size: int = 0


def session_casts(store: IndexStore, paths: Sequence[Path]) -> dict[Path, Cast]:
    """Models and subagents of some sessions; nothing for sessions that are not indexed."""
    found: dict[Path, Cast] = {}
    for start in range(0, len(paths), _BATCH):
        names = [os.fsencode(path) for path in paths[start : start + _BATCH]]
        places = ", ".join("?" * len(names))
        models: dict[bytes, list[str]] = {}
        for path, model in store.connection.execute(
            "SELECT sessions.path, names.name FROM sessions JOIN files ON files.session = sessions.id"
            f" JOIN names ON names.file = files.id AND names.kind = 'model' WHERE sessions.path IN ({places})"
            " GROUP BY sessions.path, names.name ORDER BY max(names.last)",
            names,
        ):
            models.setdefault(path, []).append(model)
        for path, agents, size in store.connection.execute(
            "SELECT sessions.path, count(files.agent), max(CASE WHEN files.path = sessions.path THEN files.size END)"
            " FROM sessions JOIN files ON files.session = sessions.id"
            f" WHERE sessions.path IN ({places}) GROUP BY sessions.path",
            names,
        ):
            found[Path(os.fsdecode(path))] = Cast(tuple(models.get(path, ())), agents, size or 0)
    return found


def session_ticks(store: IndexStore, paths: Sequence[Path]) -> dict[Path, list[Tick]]:
    """The prompts and tool calls of some sessions, in file order; nothing for sessions that are not indexed."""
    found: dict[Path, list[Tick]] = {}
    for start in range(0, len(paths), _BATCH):
        names = [os.fsencode(path) for path in paths[start : start + _BATCH]]
        for path, tick in _ticks(store, names):
            found.setdefault(path, []).append(tick)
    for ticks in found.values():
        ticks.sort(key=lambda tick: tick.offset)
    return found


def _ticks(store: IndexStore, names: Sequence[bytes]) -> Iterator[tuple[Path, Tick]]:
    places = ", ".join("?" * len(names))
    rows = store.connection.execute(
        "SELECT sessions.path, turns.offset, '', 0 FROM sessions JOIN turns ON turns.session = sessions.id"
        f" WHERE sessions.path IN ({places})"
        " UNION ALL SELECT sessions.path, calls.used, calls.name, calls.failed"
        " FROM sessions JOIN files ON files.path = sessions.path JOIN calls ON calls.file = files.id"
        f" WHERE sessions.path IN ({places})",
        (*names, *names),
    )
    for path, offset, tool, failed in rows:
        yield Path(os.fsdecode(path)), Tick(offset, tool, bool(failed))
