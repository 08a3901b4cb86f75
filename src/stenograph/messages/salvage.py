"""Damaged lines of which a release still reads the first object (rule 15).

In: a graph. Out: the same graph, or one in which such lines are what that object says: an object that other words follow on its
line,
or that goes on in the next line. A line that does not begin with a whole object stays damaged.
"""

from __future__ import annotations

import json

from msgspec.structs import replace

from stenograph.graph import Graph, build_graph
from stenograph.records import DamagedRecord, Located, decode

_DECODER = json.JSONDecoder()


def salvaged(graph: Graph) -> Graph:
    main = graph.files[0]
    nodes = graph.nodes[main.first : main.last]
    found = {place: whole for place in range(len(nodes)) if (whole := _first_object(nodes, place)) is not None}
    if not found:
        return graph
    return build_graph([(main.path, main.agent_id, [found.get(place, located) for place, located in enumerate(nodes)])])


def _first_object(nodes: list[Located], place: int) -> Located | None:
    own = _damaged(nodes, place)
    if not own.startswith("{"):
        return None
    for text in (own, f"{own}\n{_damaged(nodes, place + 1)}"):
        try:
            _, end = _DECODER.raw_decode(text)
        except ValueError:
            continue
        return replace(nodes[place], record=decode(text[:end].encode("utf-8", "surrogatepass")), finding=None)
    return None


def _damaged(nodes: list[Located], place: int) -> str:
    """The text of a line that is no record; nothing for one that is."""
    record = nodes[place].record if place < len(nodes) else None
    if not isinstance(record, DamagedRecord) or record._source is None:
        return ""
    return bytes(record._source).decode("utf-8", "replace")
