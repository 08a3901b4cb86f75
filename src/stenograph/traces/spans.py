"""A span as every backend knows it, with ids that make sending it twice harmless."""

from __future__ import annotations

from enum import IntEnum
from hashlib import sha256

from msgspec import Struct

from stenograph.disk import redacted_repr

Value = str | bool | int | float | list[str]
Attributes = dict[str, Value]


class SpanKind(IntEnum):
    """OTLP's numbers."""

    INTERNAL = 1
    CLIENT = 3


class SpanStatus(IntEnum):
    """OTLP's numbers."""

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
    #: Empty for the root.
    parent_id: bytes
    name: str
    start_ns: int
    end_ns: int
    attributes: Attributes
    kind: SpanKind = SpanKind.INTERNAL
    events: tuple[SpanEvent, ...] = ()
    status: SpanStatus = SpanStatus.UNSET
    #: Never from a transcript.
    status_message: str = ""


def trace_id_of(seed: str) -> bytes:
    """The same for the same seed on every machine."""
    return sha256(f"stenograph trace {seed}".encode("utf-8", "surrogatepass")).digest()[:16]


def span_id_of(seed: str) -> bytes:
    """The same for the same seed on every machine."""
    return sha256(f"stenograph span {seed}".encode("utf-8", "surrogatepass")).digest()[:8]
