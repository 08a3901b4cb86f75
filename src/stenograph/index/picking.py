"""What a person has typed so far -> the sessions that are meant: what a picker lists."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from stenograph.disk import redacted_repr
from stenograph.errors import DiskError, UsageError
from stenograph.family import read_family
from stenograph.index.catalogue import CatalogueRow, list_catalogue, stored_turns, turn_lines
from stenograph.index.conditions import Filter
from stenograph.index.find import HitLine, search
from stenograph.index.query import Query, parse_query
from stenograph.index.store import IndexStore
from stenograph.inputs import Status
from stenograph.turns import AgentFiles, Turn, read_turn

# The last word is still being typed; one letter would find everything.
_UNFINISHED = re.compile(r"(?:^|\s)[^\s\"()*-][^\s\"()*]+$")


@redacted_repr
class Pick(Struct, frozen=True):
    """A session that can be chosen, and the line that matches best."""

    row: CatalogueRow
    line: HitLine | None = None
    #: How many of its lines match.
    matches: int = 0


class Picks(Struct, frozen=True):
    """What matches, best first; without words all sessions, the newest first."""

    picks: tuple[Pick, ...]
    #: Sessions that match, and lines in them; those beyond the limit included.
    total: int
    matches: int
    query: Query | None = None


class PickFilter(Struct, frozen=True):
    """What narrows a list: sessions of a project, with a status, or with a tag."""

    #: `project`, `status` or `tag`.
    kind: str
    value: str

    def holds(self, row: CatalogueRow) -> bool:
        match self.kind:
            case "project":
                return self.value in (row.info.cwd, row.repository)
            case "status":
                return row.info.status.value == self.value
            case _:
                return row.info.tag == self.value


_SHORT = "short"
_STATUSES = (Status.RUNNING, Status.INTERRUPTED, Status.FAILED)


class PickList:
    """The sessions of some homes as they were when it was made."""

    def __init__(self, store: IndexStore, homes: Sequence[Path]) -> None:
        self._store = store
        self._homes = tuple(homes)
        self._rows = {row.info.path: row for row in list_catalogue(store, homes)}
        rows = self._rows.values()
        # Someone who has just begun has nothing but short ones.
        self._listed = [row for row in rows if row.info.hidden is None] or [row for row in rows if row.info.hidden == _SHORT]
        self._last = Picks((), 0, 0)

    @property
    def sessions(self) -> int:
        return len(self._listed)

    def filters(self, project: str) -> list[PickFilter]:
        """What the list can be narrowed to: this project, a status other than done, a tag; each has some session."""
        rows = self._listed
        tags = sorted({row.info.tag for row in rows if row.info.tag})
        filters = [
            PickFilter("project", project),
            *(PickFilter("status", status.value) for status in _STATUSES),
            *(PickFilter("tag", tag) for tag in tags),
        ]
        return [each for each in filters if any(map(each.holds, rows))]

    def find(self, text: str, *, only: PickFilter | None = None, limit: int = 50) -> Picks:
        """What matches; while the text is not a query yet, what matched before."""
        if not text.strip():
            rows = [row for row in self._listed if only is None or only.holds(row)]
            rows.sort(key=lambda row: -row.info.last_record.timestamp())
            self._last = Picks(tuple(Pick(row) for row in rows[:limit]), len(rows), 0)
            return self._last
        try:
            query = parse_query(f"{text}*" if _UNFINISHED.search(text) else text)
        except UsageError:
            return self._last
        chosen = None if only is None else frozenset(row.info.id for row in self._rows.values() if only.holds(row))
        found = search(self._store, query, Filter(homes=self._homes, sessions=chosen), limit=limit, lines=1)
        picks = [
            Pick(self._rows[hit.path], hit.lines[0] if hit.lines else None, hit.matches)
            for hit in found.hits
            if hit.path in self._rows
        ]
        self._last = Picks(tuple(picks), found.total, found.lines, query)
        return self._last

    def turn(self, pick: Pick) -> Turn | None:
        """The turn that matches, or the last one, read alone; None where it cannot be."""
        path = pick.row.info.path
        try:
            known = stored_turns(self._store, path)
            if known is None or not known[0]:
                return None
            turns, current = known
            number = pick.line.turn if pick.line else None
            place = next((turn for turn in reversed(turns) if turn.number == number), None)
            place = place or next((turn for turn in turns if turn.opening == current), turns[-1])
            lines = turn_lines(self._store, path, place)
            path = self._store.place_of(path)
            family = read_family(path)
            # Its cost is with its subagents, as everywhere.
            return read_turn(path, lines, AgentFiles(path, family), family.tool_results)[0]
        except DiskError:
            return None
