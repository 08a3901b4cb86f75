"""Spans <-> OTLP protobuf: the bytes of an ExportTraceServiceRequest, and how many spans its response rejects.

Our own encoder, because `opentelemetry.proto` takes 71 ms to import and needs a compiled package; tests compare the bytes. Field
numbers are those of opentelemetry-proto 1.x: `trace.proto`, `common.proto`, `resource.proto`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from struct import Struct as Layout

import msgspec

from stenograph import __version__
from stenograph.traces.spans import Attributes, Span, SpanEvent, Value

SCOPE_NAME = "stenograph"

_FIXED64 = Layout("<Q")
_DOUBLE = Layout("<d")
_INT64_MIN, _INT64_MAX = -(1 << 63), (1 << 63) - 1
_UINT64_MAX = (1 << 64) - 1
#: Texts up to this length recur in many spans: a model, a kind, a session id.
_RECURRING = 64

_VARINT, _FIXED, _BYTES, _FIXED32 = 0, 1, 2, 5


def _tag(number: int, wire_type: int) -> bytes:
    return _varint(number << 3 | wire_type)


@lru_cache(maxsize=4096)
def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


_FIRST = _tag(1, _BYTES)
_SECOND = _tag(2, _BYTES)

_REQUEST_RESOURCE_SPANS = _FIRST
_RESOURCE_SPANS_RESOURCE = _FIRST
_RESOURCE_SPANS_SCOPE_SPANS = _SECOND
_RESOURCE_ATTRIBUTES = _FIRST
_SCOPE_SPANS_SCOPE = _FIRST
_SCOPE_SPANS_SPANS = _SECOND
_SCOPE_NAME = _FIRST
_SCOPE_VERSION = _SECOND

_SPAN_TRACE_ID = _FIRST
_SPAN_SPAN_ID = _SECOND
_SPAN_PARENT_ID = _tag(4, _BYTES)
_SPAN_NAME = _tag(5, _BYTES)
_SPAN_KIND = _tag(6, _VARINT)
_SPAN_START = _tag(7, _FIXED)
_SPAN_END = _tag(8, _FIXED)
_SPAN_ATTRIBUTES = _tag(9, _BYTES)
_SPAN_EVENTS = _tag(11, _BYTES)
_SPAN_STATUS = _tag(15, _BYTES)
_STATUS_MESSAGE = _SECOND
_STATUS_CODE = _tag(3, _VARINT)

_EVENT_TIME = _tag(1, _FIXED)
_EVENT_NAME = _SECOND
_EVENT_ATTRIBUTES = _tag(3, _BYTES)

_PAIR_KEY = _FIRST
_PAIR_VALUE = _SECOND
_VALUE_STRING = _FIRST
_VALUE_TRUE = _tag(2, _VARINT) + b"\x01"
_VALUE_FALSE = _tag(2, _VARINT) + b"\x00"
_VALUE_INT = _tag(3, _VARINT)
_VALUE_DOUBLE = _tag(4, _FIXED)
_VALUE_ARRAY = _tag(5, _BYTES)
_ARRAY_VALUES = _FIRST


class Rejected(msgspec.Struct, frozen=True):
    count: int


def join_request(encoded_spans: Iterable[bytes], resource: Attributes) -> bytes:
    """One request of encoded spans."""
    # Fields with their default value are left out, empty messages are not.
    scope = _field(_SCOPE_NAME, SCOPE_NAME.encode()) + _field(_SCOPE_VERSION, __version__.encode())
    parts = [_field(_SCOPE_SPANS_SCOPE, scope)]
    for encoded in encoded_spans:
        parts += (_SCOPE_SPANS_SPANS, _varint(len(encoded)), encoded)
    about: list[bytes] = []
    _add_attributes(about, _RESOURCE_ATTRIBUTES, resource)
    head = _field(_RESOURCE_SPANS_RESOURCE, b"".join(about))
    size = sum(map(len, parts))
    head += _RESOURCE_SPANS_SCOPE_SPANS + _varint(size)
    # Joined once: a request is megabytes.
    return b"".join((_REQUEST_RESOURCE_SPANS, _varint(len(head) + size), head, *parts))


def encode_span(span: Span) -> bytes:
    parts = [_field(_SPAN_TRACE_ID, span.trace_id), _field(_SPAN_SPAN_ID, span.span_id)]
    if span.parent_id:
        parts.append(_field(_SPAN_PARENT_ID, span.parent_id))
    if span.name:
        parts.append(_field(_SPAN_NAME, _utf8(span.name)))
    parts += (_SPAN_KIND, _varint(span.kind))
    _add_time(parts, _SPAN_START, span.start_ns)
    _add_time(parts, _SPAN_END, span.end_ns)
    _add_attributes(parts, _SPAN_ATTRIBUTES, span.attributes)
    parts += (_field(_SPAN_EVENTS, _encode_event(event)) for event in span.events)
    status = _field(_STATUS_MESSAGE, _utf8(span.status_message)) if span.status_message else b""
    if span.status:
        status += _STATUS_CODE + _varint(span.status)
    if status:
        parts.append(_field(_SPAN_STATUS, status))
    return b"".join(parts)


def decode_response(body: bytes) -> Rejected:
    """How many spans were rejected; 0 if the answer cannot be read. It may be JSON: Langfuse sends `{}`."""
    if body.lstrip()[:1] == b"{":
        return Rejected(_rejected_in_json(body))
    try:
        partial = [value for number, value in _fields(body) if number == 1 and isinstance(value, bytes)]
        counts = [value for number, value in _fields(b"".join(partial)) if number == 1 and isinstance(value, int)]
    except ValueError:
        return Rejected(0)
    # The last of repeated fields counts; a negative int64 comes as a larger number.
    return Rejected(counts[-1] if counts and counts[-1] <= _INT64_MAX else 0)


def _rejected_in_json(body: bytes) -> int:
    try:
        answer = msgspec.json.decode(body, type=_JsonResponse)
        return max(0, int(answer.partialSuccess.rejectedSpans)) if answer.partialSuccess else 0
    except (msgspec.DecodeError, ValueError, RecursionError):
        return 0


class _JsonPartialSuccess(msgspec.Struct):
    # JSON spells an int64 as a string.
    rejectedSpans: int | str = 0  # noqa: N815 - the receiver's word


class _JsonResponse(msgspec.Struct):
    partialSuccess: _JsonPartialSuccess | None = None  # noqa: N815 - the receiver's word


def _encode_event(event: SpanEvent) -> bytes:
    parts: list[bytes] = []
    _add_time(parts, _EVENT_TIME, event.at_ns)
    if event.name:
        parts.append(_field(_EVENT_NAME, _utf8(event.name)))
    _add_attributes(parts, _EVENT_ATTRIBUTES, event.attributes)
    return b"".join(parts)


def _add_attributes(parts: list[bytes], tag: bytes, attributes: Attributes) -> None:
    content, text, last = b"", b"", ""
    for key, value in attributes.items():
        if value.__class__ is str and len(value) > _RECURRING:
            # Joined once, with all others: it may be megabytes. One text often has several names, one after the other.
            if value is not last:
                content, last = _utf8(value), value
                text = _VALUE_STRING + _varint(len(content))
                text = _varint(len(text) + len(content)) + text
            head = _encode_key(key) + text
            parts += (tag, _varint(len(head) + len(content)), head, content)
        elif value.__class__ is str:
            parts.append(_encode_text_pair(tag, key, value))
        else:
            encoded = _encode_value(value)
            parts.append(_field(tag, _encode_key(key) + _varint(len(encoded)) + encoded))


@lru_cache(maxsize=4096)
def _encode_text_pair(tag: bytes, key: str, value: str) -> bytes:
    """Cached: three of four attributes are the same in most spans."""
    text = _field(_VALUE_STRING, _utf8(value))
    return _field(tag, _encode_key(key) + _varint(len(text)) + text)


@lru_cache(maxsize=4096)
def _encode_key(key: str) -> bytes:
    """Up to the size of the value."""
    return (_field(_PAIR_KEY, _utf8(key)) if key else b"") + _PAIR_VALUE


def _encode_value(value: Value) -> bytes:
    """An AnyValue; a default value is written too, else it would be no value."""
    if isinstance(value, str):
        return _field(_VALUE_STRING, _utf8(value))
    if isinstance(value, bool):
        return _VALUE_TRUE if value else _VALUE_FALSE
    if isinstance(value, int):
        if _INT64_MIN <= value <= _INT64_MAX:
            return _VALUE_INT + _varint(value & _UINT64_MAX)
        return _field(_VALUE_STRING, _digits(value))
    if isinstance(value, float):
        if math.isfinite(value):
            return _VALUE_DOUBLE + _DOUBLE.pack(value)
        # JSON has no such numbers; these are protobuf's words for them.
        return _field(_VALUE_STRING, b"NaN" if math.isnan(value) else b"Infinity" if value > 0 else b"-Infinity")
    return _field(_VALUE_ARRAY, b"".join(_field(_ARRAY_VALUES, _encode_value(each)) for each in value))


def _digits(number: int) -> bytes:
    try:
        return str(number).encode()
    except ValueError:
        # More than 4300 decimal digits.
        return hex(number).encode()


def _add_time(parts: list[bytes], tag: bytes, nanoseconds: int) -> None:
    if nanoseconds > 0:
        parts += (tag, _FIXED64.pack(min(nanoseconds, _UINT64_MAX)))


def _field(tag: bytes, content: bytes) -> bytes:
    return tag + _varint(len(content)) + content


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        # A lone surrogate, for which receivers refuse the whole request.
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def _fields(message: bytes) -> Iterable[tuple[int, int | bytes]]:
    """Raises ValueError for a malformed message."""
    at = 0
    while at < len(message):
        key, at = _read_varint(message, at)
        number, wire_type = key >> 3, key & 7
        if wire_type == _VARINT:
            value, at = _read_varint(message, at)
            yield number, value
            continue
        if wire_type == _BYTES:
            size, at = _read_varint(message, at)
        elif wire_type in (_FIXED, _FIXED32):
            size = 8 if wire_type == _FIXED else 4
        else:
            raise ValueError("a wire type that proto3 has not")
        if at + size > len(message):
            raise ValueError("a field that ends behind its message")
        yield number, message[at : at + size]
        at += size


def _read_varint(message: bytes, at: int) -> tuple[int, int]:
    number = 0
    for shift in range(0, 70, 7):
        if at >= len(message):
            break
        byte = message[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number & _UINT64_MAX, at
    raise ValueError("a number without an end")
