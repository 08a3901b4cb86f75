"""The store -> what a list says of each session, without opening a file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from stenograph.errors import DiskError, UnreadableError
from stenograph.family import SessionFile, is_session_id
from stenograph.index.store import IndexStore
from stenograph.sessions import Glance, ListCache, ListTitles, SessionInfo, describe, files_being_written, short_ids
from stenograph.turns import TurnLines


class CatalogueRow(Struct, frozen=True):
    """A session as the store knows it."""

    #: With the exact number of turns of its current branch.
    info: SessionInfo
    home: Path
    #: The main directory of the repository, where the project is a worktree of it.
    repository: str | None
    #: Those of subagents included, the last one last.
    models: tuple[str, ...]
    releases: tuple[str, ...]
    branches: tuple[str, ...]
    #: A number that all files of one conversation share; None if nothing in the file tells.
    conversation: int | None


class StoredTurn(Struct, frozen=True, array_like=True):
    """Where a turn is."""

    number: int
    #: Of its first line, of its opening, and of the opening of the turn before on its chain; None where it is the first.
    offset: int
    opening: int
    previous: int | None
    #: In microseconds since 1970.
    started_us: int | None

    @property
    def started(self) -> float | None:
        """In seconds since 1970."""
        return None if self.started_us is None else self.started_us / 1_000_000


def list_catalogue(store: IndexStore, homes: Sequence[Path], *, now: float | None = None) -> Iterator[CatalogueRow]:
    """The sessions of some homes, the last changed first."""
    written = files_being_written()
    names: dict[int, dict[str, list[str]]] = {}
    for session, kind, name in store.connection.execute(
        "SELECT files.session, names.kind, names.name FROM names JOIN files ON files.id = names.file"
        " GROUP BY files.session, names.kind, names.name ORDER BY max(names.last)"
    ):
        names.setdefault(session, {}).setdefault(kind, []).append(name)
    rows = store.connection.execute(
        "SELECT sessions.id, home, sessions.path, repository, turns, conversation, glance FROM sessions"
        f" WHERE home IN ({', '.join('?' * len(homes))}) AND glance IS NOT NULL ORDER BY ended DESC, sessions.path",
        [os.fsencode(home) for home in homes],
    )
    seen_rows = [
        (row, msgspec.structs.replace(decode_glance(row[-1]), path=Path(os.fsdecode(row[2])))) for row in rows.fetchall()
    ]
    titles = ListTitles(seen for _, seen in seen_rows)
    short = short_ids(seen.session_id for _, seen in seen_rows)
    for (session, home, _, repository, turns, conversation, _), seen in seen_rows:
        where = seen.path
        file = SessionFile(seen.session_id, where, seen.size, seen.mtime_ns, is_session_id(seen.session_id))
        try:
            info = describe(file, now=now, written=written, titles=titles, seen=seen)
        except DiskError:
            continue
        named = names.get(session, {})
        yield CatalogueRow(
            info=msgspec.structs.replace(info, turns=turns, short_id=short[info.id]),
            home=Path(os.fsdecode(home)),
            repository=repository,
            models=tuple(named.get("model", ())),
            releases=tuple(named.get("release", ())),
            branches=tuple(named.get("branch", ())),
            conversation=conversation,
        )


def known_glances(store: IndexStore, homes: Sequence[Path] | None = None) -> ListCache:
    """What a list would read of the files of some homes, as the store knows them; it reads those anew that have changed since."""
    known = ListCache()
    named = [os.fsencode(home) for home in homes or ()]
    places = ", ".join("?" * len(named))
    rows = store.connection.execute(
        "SELECT sessions.path, sessions.turns, sessions.glance, files.size, files.offset FROM sessions"
        " JOIN files ON files.path = sessions.path"
        f" WHERE sessions.glance IS NOT NULL{'' if homes is None else f' AND home IN ({places})'}",
        named,
    )
    for path, turns, glance, size, offset in rows:
        seen = msgspec.structs.replace(decode_glance(glance), path=Path(os.fsdecode(path)))
        if seen.size == size:  # else it grew while it was read
            # The index counts whole lines, and a list one more that lacks only its newline.
            known.add(seen, turns if offset == size else None)
    return known


def stored_turns(store: IndexStore, path: Path) -> tuple[list[StoredTurn], int | None] | None:
    """The turns of a session file in the order of their openings, and where the last one of the current branch opens.

    None where the store does not know the file as it is now.
    """
    try:
        state = path.stat()
    except OSError:
        return None
    identity = (state.st_dev, state.st_ino, state.st_size, max(state.st_ctime_ns, state.st_mtime_ns))
    row = store.connection.execute(
        "SELECT sessions.id, sessions.current, files.device, files.inode, files.size, files.changed_ns FROM sessions"
        " JOIN files ON files.path = sessions.path WHERE sessions.path = ?",
        (os.fsencode(path),),
    ).fetchone()
    if row is None or row[2:] != identity:
        return None
    # As one text: a row for each of thousands of turns takes four times as long.
    (listed,) = store.connection.execute(
        "SELECT json_group_array(json_array(number, offset, opening, previous, CAST(round(started * 1000000) AS INTEGER)))"
        " FROM turns WHERE session = ?",
        (row[0],),
    ).fetchone()
    return sorted(_decode_turns(listed), key=lambda turn: turn.opening), row[1]


def turn_lines(store: IndexStore, path: Path, turn: StoredTurn) -> TurnLines:
    """Where the lines of a turn of a session file are. Raises UnreadableError where it was forgotten meanwhile."""
    row = store.connection.execute(
        "SELECT lines FROM turns WHERE session = (SELECT id FROM sessions WHERE path = ?) AND offset = ?",
        (os.fsencode(path), turn.offset),
    ).fetchone()
    if row is None:
        raise UnreadableError(f"cannot read {path}: it has changed", path=path)
    return _decode_lines(row[0])


def name_by_summaries(store: IndexStore) -> None:
    """Give sessions the titles that are summaries in other files of their project. Raises UnwritableError."""
    has_summaries = "instr(glance, '\"summaries\":{}') = 0"
    telling = store.connection.execute(f"SELECT path FROM sessions WHERE glance IS NOT NULL AND {has_summaries}").fetchall()
    if not telling:
        return
    folders = {os.path.dirname(path) for (path,) in telling}  # noqa: PTH120 - bytes
    rows = store.connection.execute("SELECT id, path, title, glance FROM sessions WHERE glance IS NOT NULL ORDER BY ended DESC")
    glances = {
        session: (named, msgspec.structs.replace(decode_glance(seen), path=Path(os.fsdecode(path))))
        for session, path, named, seen in rows.fetchall()
        if os.path.dirname(path) in folders  # noqa: PTH120
    }
    titles = ListTitles(seen for _, seen in glances.values())
    changed = [(title, session) for session, (named, seen) in glances.items() if (title := titles.of(seen)) != named]
    if changed:
        with store.writing() as db:
            db.executemany("UPDATE sessions SET title = ? WHERE id = ?", changed)


_decode_turns = msgspec.json.Decoder(list[StoredTurn]).decode
_decode_lines = msgspec.msgpack.Decoder(TurnLines).decode
decode_glance = msgspec.json.Decoder(Glance, dec_hook=lambda kind, value: kind(value)).decode
