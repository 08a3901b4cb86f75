"""What narrows a search -> conditions in SQL over documents and their sessions."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import msgspec
from msgspec import Struct

from stenograph.index.kinds import TextKind


class Filter(Struct, frozen=True):
    """What narrows a search. Times are seconds since 1970."""

    #: None: every home that the store knows.
    homes: tuple[Path, ...] | None = None
    #: Ids of sessions; None: all of them.
    sessions: frozenset[str] | None = None
    kinds: frozenset[TextKind] = frozenset()
    project: str | None = None
    branch: str | None = None
    #: A release, or the beginning of its number: `2.1`.
    release: str | None = None
    #: Part of a model's name.
    model: str | None = None
    tool: str | None = None
    #: Part of the path of a file that a tool was given.
    file: str | None = None
    only_errors: bool = False
    since: float | None = None
    until: float | None = None


EVERYTHING = Filter()


def without_all_homes(db: sqlite3.Connection, narrowed: Filter) -> Filter:
    """The same filter without homes where the store has no other: comparing them for every line takes its time."""
    if narrowed.homes is None:
        return narrowed
    other = db.execute(
        f"SELECT 1 FROM sessions WHERE home NOT IN ({', '.join('?' * len(narrowed.homes))}) LIMIT 1",
        [os.fsencode(home) for home in narrowed.homes],
    )
    return narrowed if other.fetchone() else msgspec.structs.replace(narrowed, homes=None)


def conditions_of(narrowed: Filter) -> tuple[str, list[object]]:
    """A clause for queries over `docs` and `sessions`, empty where everything is wanted, and its values."""
    conditions: list[str] = []
    values: list[object] = []

    def add(condition: str, *given: object) -> None:
        conditions.append(condition)
        values.extend(given)

    if narrowed.homes is not None:
        add(f"sessions.home IN ({', '.join('?' * len(narrowed.homes))})", *map(os.fsencode, narrowed.homes))
    if narrowed.sessions is not None:
        names = msgspec.json.encode(sorted(narrowed.sessions)).decode()
        add("sessions.name IN (SELECT value FROM json_each(?))", names)
    if narrowed.project is not None:
        from stenograph.disk import project_folder_name

        # A worktree is part of its repository, and a session that was moved is where it is now.
        add(
            "(instr(lower(sessions.project), lower(?)) > 0 OR instr(lower(sessions.repository), lower(?)) > 0"
            " OR instr(lower(sessions.folder), lower(?)) > 0)",
            narrowed.project,
            narrowed.project,
            project_folder_name(narrowed.project),
        )
    named = "EXISTS (SELECT 1 FROM files JOIN names ON names.file = files.id WHERE files.session = sessions.id AND names.kind = "
    if narrowed.branch is not None:
        add(f"{named}'branch' AND names.name = ?)", narrowed.branch)
    if narrowed.release is not None:
        add(f"{named}'release' AND (names.name = ? OR instr(names.name, ?) = 1))", narrowed.release, f"{narrowed.release}.")
    if narrowed.model is not None:
        add(f"{named}'model' AND instr(lower(names.name), lower(?)) > 0)", narrowed.model)
    if narrowed.since is not None:
        add("coalesce(docs.time, sessions.ended) >= ?", narrowed.since)
    if narrowed.until is not None:
        add("coalesce(docs.time, sessions.started) < ?", narrowed.until)
    calls: list[tuple[str, tuple[object, ...]]] = []
    if narrowed.tool is not None:
        calls.append(("calls.name = ? COLLATE NOCASE", (narrowed.tool,)))
    if narrowed.file is not None:
        calls.append(("instr(calls.target, ?) > 0", (narrowed.file,)))
    if narrowed.only_errors:
        calls.append(("calls.failed", ()))
    if calls:
        which, given = " AND ".join(each for each, _ in calls), [value for _, some in calls for value in some]
        # The line of the call, the line of its result, or the file that its result spilled into.
        add(
            "(EXISTS (SELECT 1 FROM calls"
            f" WHERE calls.file = docs.file AND docs.offset IN (calls.used, calls.answered) AND {which})"
            " OR docs.file IN (SELECT spilled.id FROM calls JOIN files AS own ON own.id = calls.file JOIN files AS spilled"
            f" ON spilled.session = own.session AND spilled.name = calls.spilled WHERE calls.spilled IS NOT NULL AND {which}))",
            *given,
            *given,
        )
    return (f" WHERE {' AND '.join(conditions)}" if conditions else ""), values
