"""Damaged lines of which a release still reads the first object (rule 15).

In: a graph. Out: the same graph, or one in which such lines are what that object says: an object that other words follow on its
line, or that goes on in the next lines. A line that does not begin with a whole object stays damaged.
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
    damaged = [place for place, located in enumerate(nodes) if located.finding is not None]
    found: dict[int, Located] = {}
    next_place = 0
    for place in damaged:
        if place < next_place:  # a part of the object before
            continue
        whole, length = _first_object(nodes, place)
        if whole is not None:
            found[place] = whole
            next_place = place + length
    if not found:
        return graph
    return build_graph([(main.path, main.agent_id, [found.get(place, located) for place, located in enumerate(nodes)])])


def _first_object(nodes: list[Located], place: int) -> tuple[Located | None, int]:
    """The object that a line begins with, and over how many lines it goes on."""
    text = _damaged(nodes, place)
    if not text.startswith("{"):
        return None, 0
    lines = 1
    while True:
        try:
            _, end = _DECODER.raw_decode(text)
        except RecursionError:
            return None, 0
        except json.JSONDecodeError as problem:
            more = _damaged(nodes, place + lines)
            # Only what breaks off at the end of a line can go on in the next.
            if not more or text[problem.pos :].strip():
                return None, 0
            text += f"\n{more}"
            lines += 1
            continue
        return replace(nodes[place], record=decode(text[:end].encode("utf-8", "surrogatepass")), finding=None), lines


def _damaged(nodes: list[Located], place: int) -> str:
    """The text of a line that is no record; nothing for one that is."""
    record = nodes[place].record if place < len(nodes) else None
    if not isinstance(record, DamagedRecord) or record._source is None:
        return ""
    return bytes(record._source).decode("utf-8", "replace")
