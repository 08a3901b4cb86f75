"""A session that the store knows -> some of its turns, each read from its own lines."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from msgspec import Struct

from stenograph.disk import redacted_repr
from stenograph.family import Family, is_session_id, read_family
from stenograph.index.catalogue import StoredTurn, decode_glance, stored_turns, turn_lines
from stenograph.index.store import IndexStore
from stenograph.sessions import glance, is_live
from stenograph.turns import AgentFiles, RoundType, Turn, TurnLines, read_turn, round_type


class StoredBranch(Struct, frozen=True):
    """One way through the conversation, from its first turn to its last."""

    turns: tuple[StoredTurn, ...]
    is_current: bool


@redacted_repr
class StoredSession(Struct, frozen=True):
    """What is known of a session before any of its turns is read: of its last lines, but for the title."""

    id: str
    path: Path
    title: str | None
    project: str | None
    release: str | None
    model: str | None
    git_branch: str | None
    slug: str | None
    #: The current one first.
    branches: tuple[StoredBranch, ...]
    #: Where the lines of a turn are; asks the store.
    lines_of: Callable[[StoredTurn], TurnLines]
    #: The files that may be read; None: all that belong to it.
    family: Family | None = None

    def read(self, wanted: Callable[[StoredTurn], bool]) -> Iterator[tuple[Turn, RoundType]]:
        """Turns of the current branch. Raises UnreadableError."""
        family = read_family(self.path) if self.family is None else self.family
        agents = AgentFiles(self.path, family)
        for stored in self.branches[0].turns if self.branches else ():
            if wanted(stored):
                lines = self.lines_of(stored)
                turn, _ = read_turn(self.path, lines, agents, family.tool_results)
                if not turn.is_over:
                    turn.context.is_live = is_live(glance(self.path))
                yield turn, round_type(turn, lines.said_before)


def open_session(store: IndexStore, path: Path) -> StoredSession | None:
    """The session of a file; None where the store does not know the file as it is now."""
    known = stored_turns(store, path)
    if known is None:
        return None
    names = dict(
        store.connection.execute(
            "SELECT kind, name FROM (SELECT names.kind, names.name FROM names JOIN files ON files.id = names.file"
            " WHERE files.path = ? ORDER BY names.last)",
            (os.fsencode(path),),
        ).fetchall()
    )
    title, stored = store.connection.execute("SELECT title, glance FROM sessions WHERE path = ?", (os.fsencode(path),)).fetchone()
    seen = glance(path) if stored is None else decode_glance(stored)
    return StoredSession(
        # A file under another name is the session that its last lines name.
        id=seen.session_id if is_session_id(seen.session_id) else names.get("session", seen.session_id),
        path=path,
        title=title,
        project=names.get("cwd"),
        release=names.get("release"),
        model=names.get("model"),
        git_branch=names.get("branch"),
        slug=seen.slug,
        branches=_branches(*known),
        lines_of=partial(turn_lines, store, path),
    )


def _branches(turns: list[StoredTurn], current: int | None) -> tuple[StoredBranch, ...]:
    by_opening = {turn.opening: turn for turn in turns}
    followed = {turn.previous for turn in turns}
    ends = [turn.opening for turn in turns if turn.opening not in followed]
    if not ends:
        return ()
    end = current if current in by_opening else ends[-1]
    others = [StoredBranch(_way(by_opening, other), is_current=False) for other in ends if other != end]
    return (StoredBranch(_way(by_opening, end), is_current=True), *others)


def _way(by_opening: dict[int, StoredTurn], end: int | None) -> tuple[StoredTurn, ...]:
    way: list[StoredTurn] = []
    while end is not None and end in by_opening and len(way) < len(by_opening):
        way.append(by_opening[end])
        end = by_opening[end].previous
    return tuple(reversed(way))
