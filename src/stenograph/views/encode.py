"""Pages -> JSON: one document, or a long one piece by piece.

In: pages. Out: JSON in which every character that a terminal could obey is an escape. What JSON or UTF-8 cannot hold (half a
surrogate pair, numbers without end, nesting without end) is written as an escape, null or a short note, so that one odd value
does not cost the rest.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from datetime import datetime
from enum import Enum
from typing import Any

import msgspec
from msgspec import UNSET, Struct

# More different characters are replaced faster by going through the text once.
_FEW = 16
# Items of a long list that are encoded at a time.
_BATCH = 100
_HARMLESS_ASCII = bytes(range(0x20, 0x7F))


def encode_page(value: Any) -> bytes:
    """A page on one line of UTF-8."""
    try:
        data = msgspec.json.encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError):  # half a surrogate pair, long numbers, nested too deep
        return page_text(value).encode()
    if data.isascii() and b"\x7f" not in data:  # JSON escapes all that comes before the space
        return data
    # What is left without plain ASCII is little, whatever language people speak: code and JSON are ASCII.
    unsafe = [character for character in set(data.translate(None, _HARMLESS_ASCII).decode()) if not character.isprintable()]
    if len(unsafe) > _FEW:
        return page_text(value).encode()
    for character in unsafe:
        data = data.replace(character.encode(), _escape(character).encode())
    return data


def encode_long(page: Struct, items: Iterable[Any]) -> Iterator[bytes]:
    """A page whose last member is an empty list, with items made one by one in their place: never more than a few in memory."""
    yield encode_page(page).removesuffix(b"]}")
    comma = b""
    waiting = iter(items)
    while batch := list(itertools.islice(waiting, _BATCH)):
        yield comma + encode_page(batch)[1:-1]
        comma = b","
    yield b"]}"


def page_text(value: Any, *, indent: int | None = None, encoding: str = "utf-8") -> str:
    """A page as text: indented where wanted, and only characters of an encoding. Ten times as slow as `encode_page`."""
    import json

    plain = to_plain(value)
    try:
        text = json.dumps(plain, ensure_ascii=False, indent=indent, allow_nan=False)
    except (ValueError, RecursionError):  # what JSON or this Python cannot write
        from stenograph.redact import as_is, mask_json

        plain = mask_json(plain, as_is)
        text = json.dumps(plain, ensure_ascii=False, indent=indent, allow_nan=False)
    unsafe = [character for character in set(text) if not character.isprintable() and character != "\n"]
    if unsafe:
        text = text.translate({ord(character): _escape(character) for character in unsafe})
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        text = json.dumps(plain, indent=indent)
    return text


def to_plain(value: Any) -> Any:
    if isinstance(value, Struct):
        tag = value.__struct_config__.tag
        plain = {value.__struct_config__.tag_field: tag} if tag else {}
        members = ((name, getattr(value, name)) for name in value.__struct_fields__)
        return plain | {name: to_plain(member) for name, member in members if member is not UNSET}
    if isinstance(value, tuple | list):
        return [to_plain(each) if isinstance(each, Struct | tuple | datetime) else each for each in value]
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    return value.value if isinstance(value, Enum) else value


def _escape(character: str) -> str:
    import json

    return json.dumps(character)[1:-1]
