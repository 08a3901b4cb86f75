"""A query -> how many lines match in each place where one could look: by kind of text, by project, by tool."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from stenograph.index.conditions import EVERYTHING, Filter
from stenograph.index.find import matching_lines
from stenograph.index.kinds import TextKind
from stenograph.index.query import Query
from stenograph.index.store import IndexStore

_MOST_TOOLS = 6
_MOST_SESSIONS = 500


class Facets(Struct, frozen=True):
    """Matching lines, each count as a search that is narrowed by it finds them. What matches nothing is left out."""

    kinds: dict[TextKind, int]
    projects: dict[str, int]
    #: Those with most calls in the sessions that match.
    tools: dict[str, int]


def count_facets(store: IndexStore, query: Query, narrowed: Filter = EVERYTHING) -> Facets:
    """Each count goes without its own filter: it says what another choice would find."""
    found = matching_lines(store, query, replace(narrowed, project=None))
    projects: dict[str, int] = {}
    for session, project in store.connection.execute("SELECT id, project FROM sessions WHERE project IS NOT NULL"):
        if session in found:
            projects[project] = projects.get(project, 0) + found[session]

    def lines(kind: TextKind | None = None, tool: str | None = None) -> int:
        kinds = narrowed.kinds if kind is None else frozenset({kind})
        return sum(matching_lines(store, query, replace(narrowed, kinds=kinds, tool=tool or narrowed.tool)).values())

    by_kind = {kind: lines(kind) for kind in TextKind}
    by_tool = {name: lines(tool=name) for name in _tools(store, list(found)[:_MOST_SESSIONS])}
    return Facets(
        {kind: count for kind, count in by_kind.items() if count},
        dict(sorted(projects.items(), key=lambda each: -each[1])),
        dict(sorted(((name, count) for name, count in by_tool.items() if count), key=lambda each: -each[1])),
    )


def _tools(store: IndexStore, sessions: list[int]) -> list[str]:
    places = ", ".join("?" * len(sessions))
    rows = store.connection.execute(
        "SELECT calls.name, count(*) FROM files JOIN calls ON calls.file = files.id"
        f" WHERE files.session IN ({places}) GROUP BY calls.name ORDER BY count(*) DESC LIMIT {_MOST_TOOLS}",
        sessions,
    )
    return [name for name, _ in rows]
