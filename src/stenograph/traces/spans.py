"""A span as every backend knows it, and the ids that make sending one twice harmless.

In: names, times and attributes from the mapping. Out: values that `otlp` writes. Knows neither sessions nor a wire format.
"""

from __future__ import annotations

from enum import IntEnum
from hashlib import sha256

from msgspec import Struct

from stenograph.disk import redacted_repr

#: What an attribute may hold.
Value = str | bool | int | float | list[str]
Attributes = dict[str, Value]


class SpanKind(IntEnum):
    """By the numbers of OTLP."""

    INTERNAL = 1
    CLIENT = 3


class SpanStatus(IntEnum):
    """By the numbers of OTLP."""

    UNSET = 0
    ERROR = 2


@redacted_repr
class SpanEvent(Struct, frozen=True):
    name: str
    at_ns: int
    attributes: Attributes = {}


@redacted_repr
class Span(Struct, frozen=True):
    trace_id: bytes
    span_id: bytes
    #: Empty for the root of its trace.
    parent_id: bytes
    name: str
    start_ns: int
    end_ns: int
    attributes: Attributes
    kind: SpanKind = SpanKind.INTERNAL
    events: tuple[SpanEvent, ...] = ()
    status: SpanStatus = SpanStatus.UNSET
    #: Never what a transcript says.
    status_message: str = ""


def trace_id_of(seed: str) -> bytes:
    """16 bytes: the same for the same seed on every machine."""
    return sha256(f"stenograph trace {seed}".encode("utf-8", "surrogatepass")).digest()[:16]


def span_id_of(seed: str) -> bytes:
    """8 bytes: the same for the same seed on every machine."""
    return sha256(f"stenograph span {seed}".encode("utf-8", "surrogatepass")).digest()[:8]
