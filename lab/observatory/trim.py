"""What is kept of a client's line: its shape. Keys, JSON types, ids, names, times and numbers stay; words go.

In: a line as a client wrote it, the places of the scratch it was written in, the texts that the scenario itself said. Out: the
same record with long texts, texts of more than one word that nobody here said, and binary data cut to `<trimmed N>`, N being
their length in characters, and long lists cut to eight elements of each shape; and a file without the lines that only repeat
the shape of others and that no line refers to. Knows nothing of what records mean.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

LONGEST_TEXT = 200
#: A word longer than this is data: a signature, an encoded image. Ids, hashes and paths are shorter.
LONGEST_WORD = 130
LIKE_ELEMENTS = 8
#: Lists of tools are the vendor's, two with the same members show the shape; what stands in their schemas goes altogether.
TOOLS_KEPT = 2
#: Of lines that nothing hangs off, at least so many of a kind stay in a file.
LIKE_LINES = 4

_DISCRIMINATORS = frozenset({"type", "subtype", "name", "role", "operation", "querySource"})
_KERNEL = re.compile(r"Linux \d+\.\d+\S*")


def trim_line(line: str, *, places: Mapping[str, str], ours: Collection[str]) -> str:
    """A line with its places moved and its words trimmed. A line that is no JSON stays only as its length."""
    for place, moved in places.items():
        line = line.replace(place, moved)
    try:
        record = json.loads(line)
    except ValueError:
        return json.dumps(trimmed(line))
    return json.dumps(trim_value(record, ours), ensure_ascii=False, separators=(",", ":"))


def drop_repeats(lines: Iterable[str]) -> list[str]:
    """Trimmed lines without those that no other line needs, having no uuid, and that only repeat.

    A line repeats when the lines of its kind before it, four at least, show all that it has, and that all it lacks may lack.
    """
    kinds: dict[str, _Kind] = {}
    kept = []
    for line in lines:
        record = json.loads(line)
        if isinstance(record, dict) and "uuid" not in record:
            kind = kinds.setdefault(str(record.get("type")), _Kind())
            if not kind.learns_from(frozenset(_places_in(record))):
                continue
        kept.append(line)
    return kept


class _Kind:
    """What the lines of one kind had: any of them, and all of them."""

    def __init__(self) -> None:
        self.count = 0
        self.any: frozenset[str] = frozenset()
        self.all: frozenset[str] = frozenset()

    def learns_from(self, places: frozenset[str]) -> bool:
        if self.count >= LIKE_LINES and places <= self.any and self.all <= places:
            return False
        self.all = self.all & places if self.count else places
        self.any |= places
        self.count += 1
        return True


def _places_in(value: Any, place: str = "") -> Iterator[str]:
    """Every place of a value with its type, or with its word where that tells shapes apart."""
    if isinstance(value, dict):
        yield f"{place} object"
        for name, member in value.items():
            if name in _DISCRIMINATORS and isinstance(member, str):
                yield f"{place}.{name}={member}"
            else:
                yield from _places_in(member, f"{place}.{name}")
    elif isinstance(value, list):
        yield f"{place} array"
        for element in value:
            yield from _places_in(element, f"{place}[]")
    else:
        yield f"{place} {type(value).__name__}"


def trimmed(text: str) -> str:
    return f"<trimmed {len(text)}>"


def trim_value(value: Any, ours: Collection[str], key: str = "") -> Any:
    if isinstance(value, str):
        return _trim_text(value, ours)
    if isinstance(value, list):
        is_tools = key == "tools" and all(isinstance(one, dict) for one in value)
        kept = _shorten(value, frozenset, TOOLS_KEPT) if is_tools else _shorten(value, _shape, LIKE_ELEMENTS)
        return [trim_value(one, ours) for one in kept]
    if isinstance(value, dict):
        if key == "input_schema":
            value = {name: type(member)() if isinstance(member, dict | list) else member for name, member in value.items()}
        return {name: trim_value(member, ours, name) for name, member in value.items()}
    return value


def _trim_text(text: str, ours: Collection[str]) -> str:
    if len(text) > LONGEST_TEXT:
        return trimmed(text)
    if not re.search(r"\s", text):
        return text if len(text) <= LONGEST_WORD else trimmed(text)
    if _KERNEL.fullmatch(text):
        return "Linux 6.1.0"
    return text if text in ours else trimmed(text)


def _shape(value: Any) -> frozenset[str]:
    return frozenset(_places_in(value))


def _shorten(elements: list[Any], shape_of: Callable[[Any], frozenset[str]], most: int) -> list[Any]:
    """So many of each shape."""
    seen: Counter[frozenset[str]] = Counter()
    kept = []
    for element in elements:
        shape = shape_of(element)
        seen[shape] += 1
        if seen[shape] <= most:
            kept.append(element)
    return kept
