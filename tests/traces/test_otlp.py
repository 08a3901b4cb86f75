"""Our encoder against the package that defines the format: the same bytes, and the same values read back."""

from __future__ import annotations

import math
from typing import Any

import pytest
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest, ExportTraceServiceResponse
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, InstrumentationScope, KeyValue
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Status
from opentelemetry.proto.trace.v1.trace_pb2 import Span as WireSpan

import stenograph
from stenograph.traces.otlp import decode_response, encode_span, join_request
from stenograph.traces.spans import Attributes, Span, SpanEvent, SpanKind, SpanStatus, Value

TRACE, ID, PARENT = b"t" * 16, b"s" * 8, b"p" * 8

TEXTS = st.text(st.characters(codec="utf-8"), max_size=300)
VALUES: st.SearchStrategy[Value] = st.one_of(
    TEXTS,
    st.booleans(),
    st.integers(-(1 << 63), (1 << 63) - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.lists(TEXTS, max_size=4),
)
ATTRIBUTES = st.dictionaries(TEXTS, VALUES, max_size=6)
TIMES = st.integers(0, (1 << 64) - 1)
SPANS = st.builds(
    Span,
    trace_id=st.binary(min_size=16, max_size=16),
    span_id=st.binary(min_size=8, max_size=8),
    parent_id=st.just(b"") | st.binary(min_size=8, max_size=8),
    name=TEXTS,
    start_ns=TIMES,
    end_ns=TIMES,
    attributes=ATTRIBUTES,
    kind=st.sampled_from(SpanKind),
    events=st.lists(st.builds(SpanEvent, name=TEXTS, at_ns=TIMES, attributes=ATTRIBUTES), max_size=3).map(tuple),
    status=st.sampled_from(SpanStatus),
    status_message=TEXTS,
)


def peer_value(value: Value) -> AnyValue:
    match value:
        case bool():
            return AnyValue(bool_value=value)
        case int():
            return AnyValue(int_value=value)
        case float():
            return AnyValue(double_value=value)
        case str():
            return AnyValue(string_value=value)
        case _:
            return AnyValue(array_value=ArrayValue(values=[AnyValue(string_value=each) for each in value]))


def peer_attributes(attributes: Attributes) -> list[KeyValue]:
    return [KeyValue(key=key, value=peer_value(value)) for key, value in attributes.items()]


def peer_span(span: Span) -> WireSpan:
    has_status = bool(span.status or span.status_message)
    return WireSpan(
        trace_id=span.trace_id,
        span_id=span.span_id,
        parent_span_id=span.parent_id,
        name=span.name,
        kind=WireSpan.SpanKind.ValueType(span.kind),
        start_time_unix_nano=span.start_ns,
        end_time_unix_nano=span.end_ns,
        attributes=peer_attributes(span.attributes),
        events=[
            WireSpan.Event(name=event.name, time_unix_nano=event.at_ns, attributes=peer_attributes(event.attributes))
            for event in span.events
        ],
        status=Status(code=Status.StatusCode.ValueType(span.status), message=span.status_message) if has_status else None,
    )


def peer_request(spans: list[Span], resource: Attributes) -> ExportTraceServiceRequest:
    scope = InstrumentationScope(name="stenograph", version=stenograph.__version__)
    of_scope = ScopeSpans(scope=scope, spans=[peer_span(span) for span in spans])
    return ExportTraceServiceRequest(
        resource_spans=[ResourceSpans(resource=Resource(attributes=peer_attributes(resource)), scope_spans=[of_scope])]
    )


def with_attributes(**attributes: Value) -> Span:
    return Span(TRACE, ID, PARENT, "name", 1, 2, attributes)


def read_back(span: Span) -> dict[str, AnyValue]:
    return {pair.key: pair.value for pair in WireSpan.FromString(encode_span(span)).attributes}


def request_of(spans: list[Span], resource: Attributes) -> bytes:
    return join_request([encode_span(span) for span in spans], resource)


@pytest.mark.proof
@given(st.lists(SPANS, max_size=4), ATTRIBUTES)
def test_a_request_has_the_bytes_that_the_defining_package_writes(spans: list[Span], resource: Attributes) -> None:
    expected = peer_request(spans, resource)
    written = request_of(spans, resource)
    assert ExportTraceServiceRequest.FromString(written) == expected
    assert written == expected.SerializeToString()


@given(SPANS)
def test_a_span_that_was_encoded_alone_is_read_back_by_the_defining_package(span: Span) -> None:
    assert WireSpan.FromString(encode_span(span)) == peer_span(span)


# Where a length takes a byte more, and where a text is too long to be kept from one span to the next.
@pytest.mark.parametrize("length", [63, 64, 65, 127, 128, 16_383, 16_384, 2_097_151, 2_097_152])
@pytest.mark.parametrize("letter", ["a", "é"])
def test_a_text_of_any_length_has_the_same_bytes_each_time(length: int, letter: str) -> None:
    spans = [with_attributes(text=letter * length), with_attributes(text=letter * length, other=letter * length)]
    expected = peer_request(spans, {}).SerializeToString()
    assert request_of(spans, {}) == expected
    assert request_of(spans, {}) == expected


def test_a_span_of_a_megabyte_and_a_thousand_spans_are_read_back() -> None:
    spans = [with_attributes(text="é" * 500_000)] + [with_attributes(number=index) for index in range(1000)]
    assert request_of(spans, {}) == peer_request(spans, {}).SerializeToString()


@pytest.mark.parametrize("value", ["", False, 0, 0.0, -0.0, [], [""]])
def test_a_value_that_is_its_default_is_written_all_the_same(value: Value) -> None:
    [found] = read_back(with_attributes(it=value)).values()
    assert found == peer_value(value)
    assert found.WhichOneof("value") is not None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\ud83d", "a\N{REPLACEMENT CHARACTER}"),
        ("\udc4db", "\N{REPLACEMENT CHARACTER}b"),
        ("\ud83d\udc4d", "👍"),
        ("nul \0 stays", "nul \0 stays"),
    ],
)
def test_half_a_surrogate_pair_is_replaced_and_a_whole_one_joined(text: str, expected: str) -> None:
    event = SpanEvent(text, 1, {"e": text})
    span = Span(TRACE, ID, b"", text, 1, 2, {text: text, "list": [text]}, events=(event,), status_message=text)
    read = WireSpan.FromString(encode_span(span))
    assert (read.name, read.status.message, read.events[0].name) == (expected,) * 3
    assert read.attributes[0] == KeyValue(key=expected, value=AnyValue(string_value=expected))
    assert read.attributes[1].value.array_value.values[0].string_value == expected
    assert read.events[0].attributes[0].value.string_value == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1 << 63, "9223372036854775808"),
        (-(1 << 63) - 1, "-9223372036854775809"),
        pytest.param(1 << 20_000, "0x1" + "0" * 5_000, id="more digits than Python writes"),
        (math.nan, "NaN"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
    ],
)
def test_a_number_that_receivers_have_no_room_for_becomes_a_text(value: Value, expected: str) -> None:
    assert read_back(with_attributes(it=value))["it"] == AnyValue(string_value=expected)


def test_a_time_outside_of_64_bits_is_cut_to_them() -> None:
    read = WireSpan.FromString(encode_span(Span(TRACE, ID, b"", "n", -5, 1 << 70, {})))
    assert (read.start_time_unix_nano, read.end_time_unix_nano) == (0, (1 << 64) - 1)


@given(st.integers(0, (1 << 63) - 1), TEXTS)
def test_the_count_of_rejected_spans_is_read(count: int, message: str) -> None:
    response = ExportTraceServiceResponse()
    response.partial_success.rejected_spans = count
    response.partial_success.error_message = message
    assert decode_response(response.SerializeToString()).count == count


def test_of_a_receivers_message_nothing_is_kept() -> None:
    response = ExportTraceServiceResponse()
    response.partial_success.rejected_spans = 1
    response.partial_success.error_message = "sentinel"
    assert "sentinel" not in repr(decode_response(response.SerializeToString()))


@pytest.mark.parametrize(
    ("body", "count"),
    [
        (b"{}", 0),
        (b' {"partialSuccess":{"rejectedSpans":"3","errorMessage":"x"}}', 3),
        (b'{"partialSuccess":{"rejectedSpans":2}}', 2),
        (b'{"partialSuccess":null}', 0),
        (b'{"partialSuccess":{"rejectedSpans":"many"}}', 0),
        (b'{"partialSuccess":{"rejectedSpans":"-1"}}', 0),
        (b'{"partialSuccess":', 0),
        # A warning without a rejection, fields that are not known, an int64 of -1, a number of 65 bits; then what is none.
        (b"\x0a\x03\x12\x01w", 0),
        (b"\x9d\x06abcd\x99\x06abcdefgh\x0a\x02\x08\x05", 5),
        (b"\x0a\x0b\x08" + b"\xff" * 9 + b"\x01", 0),
        (b"\x0a\x0b\x08\x85" + b"\x80" * 8 + b"\x02", 5),
        (b"\x0a\x05\x08\x01", 0),
        (b"\x0a\x01\x08", 0),
        (b"\x0b\x0c", 0),
        (b"\xff" * 11, 0),
        (b"OK", 0),
    ],
)
def test_answers_of_every_make_are_understood(body: bytes, count: int) -> None:
    assert decode_response(body).count == count


@given(st.binary(max_size=200))
def test_no_answer_breaks_the_reader(body: bytes) -> None:
    assert decode_response(body).count >= 0


@given(st.binary(max_size=60))
def test_what_the_defining_package_can_read_is_read_alike(body: bytes) -> None:
    response: Any = ExportTraceServiceResponse()
    try:
        response.ParseFromString(body)
    except DecodeError:
        return
    if body[:1] != b"{" and not body[:1].isspace():
        assert decode_response(body).count == max(0, response.partial_success.rejected_spans)
