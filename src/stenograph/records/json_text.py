"""JSON text in and out, as tolerant as the clients' own reader.

msgspec does the work; what it refuses and a client accepts (invalid UTF-8, lone surrogate escapes, numbers beyond a double, a
byte-order mark) goes the slow way through the standard library.
"""

from __future__ import annotations

import functools
from math import isfinite
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

# The standard library's decoder is imported where something is odd: most files never need it.
if TYPE_CHECKING:
    from json import JSONDecoder

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

# What the two decoders raise on bytes they can't read. RecursionError: nesting deeper than the interpreter allows.
REFUSALS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

#: Strict JSON only; raises one of REFUSALS otherwise.
parse_strictly = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


def parse(text: bytes | memoryview | msgspec.Raw) -> Any:
    """The value of a JSON text; raises ValueError or RecursionError where a client would refuse it too."""
    try:
        return parse_strictly(text)
    except REFUSALS:
        return _parse_slowly(bytes(text))


def parse_or_unset(text: bytes | memoryview | msgspec.Raw) -> Any:
    """The same, with UNSET for what is refused."""
    try:
        return parse(text)
    except (ValueError, RecursionError):
        return msgspec.UNSET


def _parse_slowly(text: bytes) -> Any:
    # Rule 13: invalid UTF-8 becomes U+FFFD, a byte-order mark is skipped.
    return _slow_decoder().decode(text.removeprefix(BYTE_ORDER_MARK).decode("utf-8", "replace"))


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _parse_int(digits: str) -> int | float:
    # Python refuses more digits; to JavaScript such a number is a double, so infinity.
    return int(digits) if len(digits) < 4000 else float(digits)


@functools.cache
def _slow_decoder() -> JSONDecoder:
    from json import JSONDecoder

    return JSONDecoder(parse_constant=_refuse, parse_int=_parse_int)


@functools.cache
def _plain_decoder() -> JSONDecoder:
    from json import JSONDecoder

    return JSONDecoder()


def first_value(text: str) -> tuple[Any, int]:
    """The value that a text begins with, and where it ends. Raises json.JSONDecodeError, RecursionError."""
    return _plain_decoder().raw_decode(text)


def begins_with_a_value(text: bytes) -> bool:
    try:
        _slow_decoder().raw_decode(text.decode("utf-8", "replace").lstrip(" \t\r\n"))
    except (ValueError, RecursionError):
        return False
    return True


def to_text(value: Any) -> bytes:
    """A value as the clients write it: no spaces, UTF-8 unescaped, a lone surrogate as its escape.

    Infinity, which is how a number beyond a double reads, is written as such a number again. Raises ValueError for NaN and
    TypeError for what is not JSON.
    """
    if _is_plain(value):
        try:
            return _encode(value)
        except UnicodeEncodeError:
            pass
    import json

    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True)
    if "N" not in text and "Infinity" not in text:
        return text.encode()
    return _write_odd_numbers(value).encode()


def _is_plain(value: Any) -> bool:
    """Whether msgspec writes it as it is: it would make null of infinity, base64 of bytes and arrays of sets."""
    kind = value.__class__
    if kind is dict:
        for name, each in value.items():
            if name.__class__ is not str or (each.__class__ is not str and not _is_plain(each)):
                return False
        return True
    if kind is list:
        return all(each.__class__ is str or _is_plain(each) for each in value)
    if kind is float:
        return isfinite(value)
    return value is None or kind is str or kind is bool or kind is int


def _write_odd_numbers(value: Any) -> str:
    import json

    if isinstance(value, float) and not isfinite(value):
        if value != value:
            raise ValueError("NaN is not JSON")
        return "1e999" if value > 0 else "-1e999"
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(name)}:{_write_odd_numbers(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(_write_odd_numbers, value)) + "]"
    return json.dumps(value)


def without_halves(text: str) -> str:
    """Text that can be encoded: half a surrogate pair becomes U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def encodable(value: Any) -> Any:
    """A copy of some JSON in which all text can be encoded."""
    if isinstance(value, str):
        return without_halves(value)
    if isinstance(value, dict):
        return {encodable(key): encodable(inner) for key, inner in value.items()}
    return [encodable(inner) for inner in value] if isinstance(value, list | tuple) else value
