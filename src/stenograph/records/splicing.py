"""Change one member of a JSON text and leave every other byte as it is.

Spacing, key order, escapes and even invalid UTF-8 elsewhere survive. Where a name occurs twice, the last one is meant, as JSON
readers do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from stenograph.errors import FieldError
from stenograph.records.json_text import BYTE_ORDER_MARK, parse, to_text

Path = Sequence[str | int]


class _Remove:
    def __repr__(self) -> str:
        return "REMOVE"


REMOVE: Final = _Remove()

# Possessive: no backtracking into strings.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_STRING_OR_BRACKET = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{}]', re.DOTALL)
_SPACE = re.compile(rb"[ \t\r\n]*")
_SCALAR = re.compile(rb"[^,\]} \t\r\n]+")
_OPENING = b"[{"


class _Member:
    __slots__ = ("end", "name", "start", "value")

    def __init__(self, name: str | int, start: int, value: int, end: int) -> None:
        self.name = name
        self.start = start  # of the name, or of an item
        self.value = value  # where its value begins
        self.end = end


def splice(text: bytes, path: Path, value: Any) -> bytes:
    """The text with the value at the path replaced, added or, with REMOVE, removed."""
    if not path:
        raise FieldError("a path needs at least one name")
    at = _skip_space(text, len(BYTE_ORDER_MARK) if text.startswith(BYTE_ORDER_MARK) else 0)
    for name in path[:-1]:
        member = _find(text, at, name)
        if member is None:
            raise FieldError(f"member not found: {name}", field=_spell(path))
        at = member.value
    return _splice_here(text, at, path, value)


def _splice_here(text: bytes, at: int, path: Path, value: Any) -> bytes:
    name = path[-1]
    member = _find(text, at, name)
    if isinstance(value, _Remove):
        while member is not None:  # every one, or an earlier one of that name would show
            text = _without(text, member)
            member = _find(text, at, name) if isinstance(name, str) else None
        return text
    new = to_text(value)
    if member is not None:
        return text[: member.value] + new + text[member.end :]
    if text[at : at + 1] != b"{" or not isinstance(name, str):
        raise FieldError(f"cannot replace {name}: member not found", field=_spell(path))
    last = _last_end(text, at)
    here, comma = (at + 1, b"") if last is None else (last, b",")
    return text[:here] + comma + to_text(name) + b":" + new + text[here:]


def _without(text: bytes, member: _Member) -> bytes:
    after = _skip_space(text, member.end)
    if text[after : after + 1] == b",":
        return text[: member.start] + text[_skip_space(text, after + 1) :]
    return text[: member.start].rstrip(b" \t\r\n").removesuffix(b",") + text[member.end :]


def _find(text: bytes, at: int, name: str | int) -> _Member | None:
    found = None
    for member in _members(text, at):
        if member.name == name and isinstance(member.name, int) is isinstance(name, int):
            found = member
    return found


def _last_end(text: bytes, at: int) -> int | None:
    end = None
    for member in _members(text, at):
        end = member.end
    return end


def _members(text: bytes, at: int) -> Iterator[_Member]:
    """Of the object or the array that begins at `at`; nothing for a plain value."""
    opening = text[at : at + 1]
    if opening not in (b"{", b"["):
        return
    at = _skip_space(text, at + 1)
    index = 0
    while text[at : at + 1] not in (b"}", b"]", b""):
        start = at
        name: str | int = index
        if opening == b"{":
            key = _STRING.match(text, at)
            if key is None:
                raise FieldError("the text is not a JSON object")
            name = parse(key.group())
            at = _skip_space(text, _skip_space(text, key.end()) + 1)
        end = _skip_value(text, at)
        yield _Member(name, start, at, end)
        index += 1
        at = _skip_space(text, end)
        if text[at : at + 1] == b",":
            at = _skip_space(text, at + 1)


def _skip_space(text: bytes, at: int) -> int:
    match = _SPACE.match(text, at)
    return at if match is None else match.end()


def _skip_value(text: bytes, at: int) -> int:
    if text[at : at + 1] in (b"{", b"["):
        depth = 0
        for token in _STRING_OR_BRACKET.finditer(text, at):
            first = text[token.start()]
            if first == ord('"'):
                continue
            depth += 1 if first in _OPENING else -1
            if depth == 0:
                return token.end()
        raise FieldError("the text is not a JSON object")
    match = (_STRING if text[at : at + 1] == b'"' else _SCALAR).match(text, at)
    if match is None:
        raise FieldError("the text is not a JSON object")
    return match.end()


def _spell(path: Path) -> str:
    return ".".join(str(name) for name in path)
