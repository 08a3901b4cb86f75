"""What was found out about sessions, kept until one of their files changes. The store does not know what is in it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from stenograph.index.counting import counted_in
from stenograph.index.store import IndexStore


class FactsPlace(Struct, frozen=True):
    """A session, the state of its files, and what is kept of it; None where there is nothing or its files have changed."""

    id: int
    session: str
    path: Path
    project: str | None
    #: Of its first and last call, in seconds since 1970.
    first: int | None
    last: int | None
    state: bytes
    kept: bytes | None
    #: Keys of calls that count in another session: a fork or clone copied them here.
    copies: frozenset[int] = frozenset()


def facts_places(
    store: IndexStore, homes: Sequence[Path], version: str, *, since: float | None = None, until: float | None = None
) -> Iterator[FactsPlace]:
    """Every session that has a file of its own and a call in the time given. `version` says how facts are made."""
    states: dict[int, hashlib.blake2b] = {}
    mains: dict[int, bytes] = {}
    rows = store.connection.execute("SELECT session, path, agent, inode, size, changed_ns FROM usage_files ORDER BY path")
    for session, path, agent, *state in rows:
        states.setdefault(session, hashlib.blake2b(version.encode(), digest_size=16)).update(repr((path, state)).encode())
        if agent is None:
            mains[session] = path
    copies: dict[int, set[int]] = {}
    counts, values = counted_in(homes)
    for session, key in store.connection.execute(
        f"SELECT c.session, c.key FROM model_calls c GROUP BY 1, 2 HAVING NOT max({counts}) ORDER BY 1, 2", values
    ):
        copies.setdefault(session, set()).add(key)
    for session, keys in copies.items():
        states[session].update(repr(sorted(keys)).encode())
    spans = dict[int, tuple[int | None, int | None]]()
    for session, first, last in store.connection.execute(
        "SELECT session, min(time), max(time) FROM model_calls GROUP BY session"
    ):
        spans[session] = (first, last)
    found = store.connection.execute(
        "SELECT s.id, s.name, s.project, k.state, k.facts FROM usage_sessions s LEFT JOIN session_facts k ON k.session = s.id"
        f" WHERE s.home IN ({', '.join('?' * len(homes))}) ORDER BY s.id",
        [os.fsencode(home) for home in homes],
    )
    for number, name, project, state, facts in found:
        first, last = spans.get(number, (None, None))
        if number not in mains or number not in spans:
            continue
        if (since is not None and (last is None or last < since)) or (until is not None and (first is None or first >= until)):
            continue
        now = states[number].digest()
        path = Path(os.fsdecode(mains[number]))
        yield FactsPlace(
            number, name, path, project, first, last, now, facts if state == now else None, frozenset(copies.get(number, ()))
        )


def copied_calls(store: IndexStore, path: Path, homes: Sequence[Path]) -> frozenset[int]:
    """Keys of calls of a session that count in another one, as far as the store has read both; `path` is its own file."""
    counts, values = counted_in(homes)
    rows = store.connection.execute(
        "SELECT c.key FROM model_calls c WHERE c.file IN (SELECT id FROM usage_files WHERE session ="
        f" (SELECT session FROM usage_files WHERE path = ? AND agent IS NULL)) GROUP BY 1 HAVING NOT max({counts})",
        (os.fsencode(path), *values),
    )
    return frozenset(key for (key,) in rows)


def keep_facts(store: IndexStore, made: Sequence[tuple[FactsPlace, bytes]]) -> None:
    """Raises UnwritableError."""
    with store.writing() as db:
        db.executemany(
            "INSERT OR REPLACE INTO session_facts (session, state, facts) VALUES (?, ?, ?)",
            ((place.id, place.state, facts) for place, facts in made),
        )
