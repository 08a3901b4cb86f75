"""Decoded lines -> a tally of the forms in which their objects came, by release and shape.

Shapes are `record:user`, `block:tool_use`, `tool:Bash`, `result:Bash`, `attachment:file`, `progress:hook_progress`. The registry
is made from tallies and files are judged by theirs, so both see the same. Keeps names of keys and kinds, never a value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

Json = dict[str, Any]

ANY_KEY = "{}"
ELEMENT = "[]"

# Where the client's own shape ends, by names of keys: each means the same wherever clients write it. Found by looking at every
# path of the recordings and of the public corpus.
#: Keys are data: file paths, models, questions, response headers. Only their values are described.
MAP_KEYS = frozenset({"trackedFileBackups", "modelUsage", "answers", "annotations", "headers"})

#: Neither described nor judged: JSON Schemas, output in a user's schema, what other programs send.
FREE_KEYS = frozenset({"input_schema", "schema", "structured_output", "structuredContent", "mcpMeta", "_meta"})

#: An object, for errors a string, for a server's answer an array: no type is news.
FREE_TYPED_FIELD = "toolUseResult"

#: Tools of servers that users attach, and the one whose input has the user's own form.
FREE_TOOL_PREFIXES = ("mcp__", "StructuredOutput")

#: Per place: a file with new keys on every line must not fill the memory or a report.
FORMS_KEPT = 500
#: First lines that wait for one that names a release.
LINES_WAITING = 1_000
#: Instead of a key that is not a name.
ODD_KEY = "‹odd›"
_KEY = re.compile(r"[\w$-]{1,64}", re.ASCII)

TYPE_NAMES: dict[type, str] = {
    type(None): "null",
    bool: "boolean",
    int: "number",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}


class Form(msgspec.Struct, frozen=True):
    """One way in which an object came: its keys with the types of their values, or the types of an array's elements."""

    shape: str
    path: str
    #: Name -> JSON types. `[]` and `{}` are the elements of an array and the values of a map.
    fields: dict[str, tuple[str, ...]]
    count: int
    #: The first place: number of the file as given to `ShapeTally.begin`, and line.
    file: int
    line: int
    #: The kind's name is also the value of another member, so it may be something that was said.
    is_echo: bool = False


#: Keys, then the types of their values; of an array or a map the types of its elements.
_Key = tuple[Any, ...] | frozenset[type]


class _Seen:
    """A form being counted. `inside` names the values to visit, each with its place."""

    __slots__ = ("count", "file", "inside", "key", "line", "listed")

    def __init__(self, key: _Key, file: int, line: int, inside: list[tuple[str, _Place]]) -> None:
        self.key, self.file, self.line, self.inside = key, file, line, inside
        self.count = 0
        self.listed = list(key)


class _Place:
    """A shape and a path in it, with the forms met there."""

    __slots__ = ("apart", "forms", "inner", "is_blocks", "is_map", "last", "path", "shape", "special")

    def __init__(self, shape: str, path: str, key: str) -> None:
        self.shape, self.path = shape, path
        # Lists of blocks have one name everywhere.
        self.is_blocks = key == "content"
        self.is_map = key in MAP_KEYS
        self.apart, self.special = _APART.get(shape, _NOTHING_APART) if not path else _NOTHING_APART
        self.forms: dict[_Key, _Seen] = {}
        self.last: _Seen | None = None
        self.inner: dict[str, _Place] = {}

    def at(self, key: str) -> _Place:
        found = self.inner.get(key)
        if found is None:
            name = key if key in (ELEMENT, ANY_KEY) or _KEY.fullmatch(key) else ODD_KEY
            found = _Place(self.shape, field_path(self.path, name), key)
            if len(self.inner) < FORMS_KEPT:
                self.inner[key] = found
        return found


class _Release:
    __slots__ = ("attachments", "blocks", "progress", "records", "results", "shapes", "system", "tools")

    def __init__(self) -> None:
        self.shapes: dict[str, _Place] = {}
        self.records = _Kinds("record:", self.shapes)
        self.system = _Kinds("record:system/", self.shapes)
        self.blocks = _Kinds("block:", self.shapes)
        self.attachments = _Kinds("attachment:", self.shapes)
        self.progress = _Kinds("progress:", self.shapes)
        self.tools = _Kinds("tool:", self.shapes)
        self.results = _Kinds("result:", self.shapes)


class _Kinds(dict[str, _Place]):
    """The shapes of one release whose names begin alike, by the rest of the name."""

    __slots__ = ("_prefix", "_shapes")

    def __init__(self, prefix: str, shapes: dict[str, _Place]) -> None:
        self._prefix, self._shapes = prefix, shapes

    def __missing__(self, kind: str) -> _Place:
        name = self._prefix + kind
        place = self._shapes.get(name) or _Place(name, "", "")
        if len(self._shapes) < FORMS_KEPT:
            self[kind] = self._shapes[name] = place
        return place


class ShapeTally:
    """Counts the forms of lines. Call `begin` before each file and `end` after it."""

    def __init__(self) -> None:
        self._releases: dict[str, _Release] = {}
        self._current = _Release()
        self._waiting: list[tuple[Json, int]] = []
        self._release = ""
        self._names_none = False
        self._file = self._line = 0
        # By the id of a tool use: its name; and its input until the call proves valid.
        self._names: dict[str, str] = {}
        self._inputs: dict[str, tuple[Any, int]] = {}
        self._tools: set[str] = set()
        # Names of kinds that other members had as values.
        self._echoes: set[str] = set()

    def begin(self, file: int) -> None:
        self._file = file
        self._release = ""
        self._names_none = False
        self._waiting.clear()
        self._names.clear()
        self._inputs.clear()

    def add(self, record: Json, line: int) -> None:
        """Count one line. One that names no release belongs to the one before it; the first ones to the next."""
        version = record.get("version")
        if version.__class__ is str and version != self._release:
            self._enter(version)
            for earlier, number in self._waiting:
                self._count(earlier, number)
            self._waiting.clear()
        if self._release or self._names_none:
            self._count(record, line)
            return
        self._waiting.append((record, line))
        if len(self._waiting) > LINES_WAITING:
            self.end()
            self._names_none = True

    def end(self) -> None:
        if self._waiting:
            self._enter("")
            for record, line in self._waiting:
                self._count(record, line)
            self._waiting.clear()

    @property
    def releases(self) -> list[str]:
        """As the lines spell them; empty for files that name none."""
        return list(self._releases)

    def forms(self, release: str) -> Iterator[Form]:
        places = list(self._releases[release].shapes.values())
        while places:
            place = places.pop()
            places.extend(place.inner.values())
            is_echo = not self._echoes.isdisjoint(_names(place.shape))
            for seen in place.forms.values():
                fields = _fields(seen.key, is_map=place.is_map)
                yield Form(place.shape, place.path, fields, seen.count, seen.file, seen.line, is_echo)

    def _enter(self, release: str) -> None:
        self._release = release
        found = self._releases.get(release)
        if found is None:
            found = self._releases[release] = _Release()
        self._current = found

    def _count(self, record: Json, line: int) -> None:
        self._line = line
        kind = _kind(record.get("type"))
        # Early releases wrote system lines without a subtype.
        top = self._current.system[_kind(record.get("subtype", ""))] if kind == "system" else self._current.records[kind]
        stack: list[tuple[_Place, Any]] = [(top, record)]
        for place, value in stack:  # it grows while it is walked
            if value.__class__ is dict:
                if place.is_map:
                    if value:
                        self._count_elements(place, ANY_KEY, list(value.values()), stack)
                    continue
                listed = [*value, *map(type, value.values())]
                seen = place.last
                if seen is None or listed != seen.listed:  # most objects have the form of the one before them
                    key = tuple(listed)
                    seen = place.last = place.forms.get(key) or self._meet(place, key, value)
                seen.count += 1
                for name, inner in seen.inside:
                    item = value[name]
                    if item or item.__class__ is dict:
                        stack.append((inner, item))
                if place.special is not None:
                    place.special(self, value, stack)
            elif place.is_blocks and value[0].__class__ is dict and value[0].get("type").__class__ is str:
                self._count_blocks(place, value, stack)
            else:
                self._count_elements(place, ELEMENT, value, stack)

    def _meet(self, place: _Place, key: tuple[Any, ...], value: Json) -> _Seen:
        inside = [
            (name, place.at(name))
            for name, item in value.items()
            if item.__class__ in (dict, list) and name not in FREE_KEYS and name != place.apart
        ]
        if not place.path:
            self._listen(_names(place.shape), value)
        seen = _Seen(key, self._file, self._line, inside)
        if len(place.forms) < FORMS_KEPT:
            place.forms[key] = seen
        return seen

    def _listen(self, names: set[str], value: Json) -> None:
        self._echoes |= names.intersection(
            item for key, item in value.items() if item.__class__ is str and key not in ("type", "subtype", "name")
        )

    def _count_elements(self, place: _Place, name: str, values: list[Any], stack: list[tuple[_Place, Any]]) -> None:
        types = frozenset(map(type, values))
        seen = place.forms.get(types)
        if seen is None:
            seen = place.forms[types] = _Seen(types, self._file, self._line, [])
        seen.count += 1
        if dict in types or list in types:
            inner = place.at(name)
            stack += [(inner, value) for value in values if value.__class__ is dict or (value and value.__class__ is list)]

    def _count_blocks(self, place: _Place, values: list[Any], stack: list[tuple[_Place, Any]]) -> None:
        kinds = self._current.blocks
        for block in values:
            kind = block.get("type") if block.__class__ is dict else None
            if kind.__class__ is str:
                stack.append((kinds[kind], block))
            else:
                self._count_elements(place, ELEMENT, [block], stack)

    def _attachment(self, record: Json, stack: list[tuple[_Place, Any]]) -> None:
        value = record.get("attachment")
        if value.__class__ is dict:
            stack.append((self._current.attachments[_kind(value.get("type"))], value))

    def _progress(self, record: Json, stack: list[tuple[_Place, Any]]) -> None:
        value = record.get("data")
        if value.__class__ is dict:
            stack.append((self._current.progress[_kind(value.get("type"))], value))

    def _tool_use(self, block: Json, stack: list[tuple[_Place, Any]]) -> None:  # noqa: ARG002 - as its likes have it
        called, name = block.get("id"), block.get("name")
        if called.__class__ is str and name.__class__ is str:
            self._names[called] = name
            given = block.get("input")
            self._inputs[called] = (given, self._line)
            if name not in self._tools:
                self._tools.add(name)
                self._listen({name}, block)
                self._listen({name}, given if given.__class__ is dict else {})

    def _tool_result(self, block: Json, stack: list[tuple[_Place, Any]]) -> None:
        """Inputs count only if the call succeeded: models invent tools and fields."""
        called = block.get("tool_use_id")
        if called.__class__ is not str or called not in self._inputs:
            return
        given, _ = self._inputs.pop(called)
        name = self._names[called]
        if given.__class__ is dict and not block.get("is_error") and not name.startswith(FREE_TOOL_PREFIXES):
            stack.append((self._current.tools[name], given))

    def _user(self, record: Json, stack: list[tuple[_Place, Any]]) -> None:
        """The structured result, under the name of the one tool that the record answers."""
        result = record.get("toolUseResult")
        if result.__class__ is not dict:
            return
        message = record.get("message")
        content = message.get("content") if message.__class__ is dict else None
        answered = {
            self._names.get(block["tool_use_id"])
            for block in (content if content.__class__ is list else ())
            if block.__class__ is dict and block.get("tool_use_id").__class__ is str and not block.get("is_error")
        }
        name = answered.pop() if len(answered) == 1 else None
        if name is not None and not name.startswith(FREE_TOOL_PREFIXES):
            stack.append((self._current.results[name], result))


_Special = Callable[[ShapeTally, Json, list[tuple[_Place, Any]]], None]
_NOTHING_APART: tuple[str, _Special | None] = ("", None)
# Objects with a member whose shape is a kind of its own, and who counts it.
_APART: dict[str, tuple[str, _Special | None]] = {
    "record:attachment": ("attachment", ShapeTally._attachment),
    "record:progress": ("data", ShapeTally._progress),
    "record:user": ("toolUseResult", ShapeTally._user),
    "block:tool_use": ("input", ShapeTally._tool_use),
    "block:tool_result": ("", ShapeTally._tool_result),
}


def _kind(value: object) -> str:
    return value if value.__class__ is str else f"({_type_name(type(value))})"


def _names(shape: str) -> set[str]:
    return set(shape.partition(":")[2].split("/")) - {""}


def _type_name(kind: type) -> str:
    return TYPE_NAMES.get(kind, kind.__name__)


def _fields(key: _Key, *, is_map: bool) -> dict[str, tuple[str, ...]]:
    if isinstance(key, frozenset):
        return {ANY_KEY if is_map else ELEMENT: tuple(sorted({_type_name(kind) for kind in key}))}
    half = len(key) // 2
    return {
        name if _KEY.fullmatch(name) else ODD_KEY: (_type_name(kind),) for name, kind in zip(key[:half], key[half:], strict=True)
    }


def field_path(path: str, name: str) -> str:
    """`message` and `role` as `message.role`, `names` and `[]` as `names[]`."""
    if name in (ELEMENT, ANY_KEY):
        return path + name
    return f"{path}.{name}" if path else name
