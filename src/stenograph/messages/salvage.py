"""Damaged lines as a release reads them that knows nothing of lines (rule 15).

In: a graph. Out: the same graph, or one in which the first object of a line with more on it counts, and an object that goes on in
the next lines is one record. What breaks off without an error takes all lines with it that it could go on in, to the end of the
file; a line that does not begin with an object or an array stays damaged, and so does one with an error in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from json import JSONDecodeError

from msgspec.structs import replace

from stenograph.graph import Graph, build_graph
from stenograph.records import DamagedRecord, Located, decode, first_value

_SPACE = " \t\r\n"


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
        if length:
            next_place = place + length
            unread = DamagedRecord(reason="blank")
            for part in range(place + (whole is not None), next_place):
                found[part] = Located(unread, nodes[part].number, nodes[part].offset, nodes[part].length)
    if not found:
        return graph
    return build_graph([(main.path, main.agent_id, [found.get(place, located) for place, located in enumerate(nodes)])])


def _first_object(nodes: Sequence[Located], place: int) -> tuple[Located | None, int]:
    """The object that a line begins with, and over how many lines what it begins with goes on; 0 where there is an error."""
    text = _text(nodes, place).lstrip(_SPACE)
    if not text.startswith(("{", "[")):
        return None, 0
    lines = 1
    while True:
        try:
            value, end = first_value(text)
        except RecursionError:
            return None, 0
        except JSONDecodeError as problem:
            # Only what breaks off at the end of a line can go on in the next.
            if text[problem.pos :].strip(_SPACE):
                return None, 0
            if place + lines == len(nodes):
                return None, lines
            text += f"\n{_text(nodes, place + lines)}"
            lines += 1
            continue
        if not isinstance(value, dict):
            return None, lines
        return replace(nodes[place], record=decode(text[:end].encode("utf-8", "surrogatepass")), finding=None), lines


def _text(nodes: Sequence[Located], place: int) -> str:
    """The text of a line, whatever it holds."""
    source = nodes[place].record._source
    return "" if source is None else bytes(source).decode("utf-8", "replace")
