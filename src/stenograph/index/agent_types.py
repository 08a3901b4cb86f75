"""Calls of subagents of which their own lines do not say what type of subagent made them: which they are, and what was found."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from stenograph.index.call_flags import AGENT, SIDECHAIN
from stenograph.index.store import IndexStore


class UntypedCall(Struct, frozen=True):
    id: int
    key: int
    #: The subagent whose file it is in; None in the session's own.
    agent: str | None


def untyped_calls(store: IndexStore, homes: Sequence[Path]) -> dict[Path, list[UntypedCall]]:
    """By the session's own file. Sessions without one are left out: nothing else says who started their subagents."""
    found: dict[Path, list[UntypedCall]] = {}
    rows = store.connection.execute(
        "SELECT m.path, c.id, c.key, f.agent FROM model_calls c JOIN usage_files f ON f.id = c.file"
        " JOIN usage_sessions s ON s.id = f.session JOIN usage_files m ON m.session = s.id AND m.agent IS NULL"
        f" WHERE c.flags & {AGENT | SIDECHAIN} AND c.agent_type = (SELECT id FROM usage_names WHERE name = '')"
        f" AND s.home IN ({', '.join('?' * len(homes))})",
        [os.fsencode(home) for home in homes],
    )
    for path, *call in rows:
        found.setdefault(Path(os.fsdecode(path)), []).append(UntypedCall(*call))
    return found


def keep_agent_types(store: IndexStore, types: Mapping[int, str]) -> None:
    """The types of calls by their ids. Raises UnwritableError."""
    with store.writing() as db:
        db.executemany("INSERT OR IGNORE INTO usage_names (name) VALUES (?)", {(name,) for name in types.values()})
        names = dict(db.execute("SELECT name, id FROM usage_names"))
        db.executemany(
            "UPDATE model_calls SET agent_type = ? WHERE id = ?", ((names[name], call) for call, name in types.items())
        )
