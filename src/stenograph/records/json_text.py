"""JSON text in and out, as tolerant as the clients' own reader.

In: the bytes of one JSON value. Out: plain Python values, and back. msgspec does the work; what it refuses and a client
accepts (invalid UTF-8, lone surrogate escapes, numbers beyond a double, a byte-order mark) goes the slow way through the
standard library. Nothing here knows what a record is.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

import msgspec

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

# What the two decoders raise on bytes they can't read. RecursionError: nesting deeper than the interpreter allows.
REFUSALS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

_parse_any = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


def parse(text: bytes | msgspec.Raw) -> Any:
    """The value of a JSON text; raises ValueError or RecursionError where a client would refuse it too."""
    try:
        return _parse_any(text)
    except REFUSALS:
        return _parse_slowly(bytes(text))


def _parse_slowly(text: bytes) -> Any:
    # Rule 13: invalid UTF-8 becomes U+FFFD, a byte-order mark is passed over.
    return _SLOW.decode(text.removeprefix(BYTE_ORDER_MARK).decode("utf-8", "replace"))


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_SLOW = json.JSONDecoder(parse_constant=_refuse)


def begins_with_a_value(text: bytes) -> bool:
    """Whether a whole JSON value stands at the beginning, whatever follows it."""
    try:
        _SLOW.raw_decode(text.decode("utf-8", "replace").lstrip(" \t\r\n"))
    except (ValueError, RecursionError):
        return False
    return True


def to_text(value: Any) -> bytes:
    """A value as the clients write it: no spaces, UTF-8 unescaped, a lone surrogate as its escape."""
    try:
        return _encode(value)
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()
