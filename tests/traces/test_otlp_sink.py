"""The sink is what other tests trust: it is asked here with requests that the defining package wrote, over plain HTTP."""

from __future__ import annotations

import gzip
import http.client
import time
from collections.abc import Mapping
from http import HTTPStatus

import pytest
from lab.otlp_sink import Keeps, OtlpSink, SinkEvent
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest, ExportTraceServiceResponse
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status

TRACE = b"\x01" * 16
FIRST, SECOND = b"\x02" * 8, b"\x03" * 8
PROTOBUF = {"content-type": "application/x-protobuf", "content-encoding": "gzip"}


def text(key: str, value: str) -> KeyValue:
    return KeyValue(key=key, value=AnyValue(string_value=value))


def span(span_id: bytes = FIRST, *, trace_id: bytes = TRACE, parent_id: bytes = b"", name: str = "name") -> Span:
    return Span(trace_id=trace_id, span_id=span_id, parent_span_id=parent_id, name=name)


def packed(*spans: Span) -> bytes:
    resource = Resource(attributes=[text("service.name", "peer")])
    of_scope = ScopeSpans(scope=InstrumentationScope(name="scope", version="7"), spans=spans)
    request = ExportTraceServiceRequest(resource_spans=[ResourceSpans(resource=resource, scope_spans=[of_scope])])
    return gzip.compress(request.SerializeToString())


class Exporter:
    """One connection to a sink."""

    def __init__(self, sink: OtlpSink) -> None:
        self.sink = sink
        self.connection = http.client.HTTPConnection(sink.url.removeprefix("http://"), timeout=10)

    def __enter__(self) -> Exporter:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def ask(
        self, body: bytes, *, path: str = "", method: str = "POST", headers: Mapping[str, str] = PROTOBUF, keys: bool = True
    ) -> tuple[int, bytes]:
        own = self.sink.headers if keys else {}
        self.connection.request(method, path or self.sink.path, body=body, headers={**own, **headers})
        with self.connection.getresponse() as response:
            return response.status, response.read()


def ask(sink: OtlpSink, body: bytes, **options: object) -> int:
    with Exporter(sink) as exporter:
        return exporter.ask(body, **options)[0]  # type: ignore[arg-type]


def test_a_span_is_kept_with_all_that_it_says() -> None:
    sent = span(parent_id=SECOND)
    sent.kind = Span.SPAN_KIND_CLIENT
    sent.start_time_unix_nano, sent.end_time_unix_nano = 5, 9
    sent.attributes.extend(
        [
            text("t", "é"),
            KeyValue(key="b", value=AnyValue(bool_value=False)),
            KeyValue(key="i", value=AnyValue(int_value=-3)),
            KeyValue(key="d", value=AnyValue(double_value=0.5)),
            KeyValue(key="l", value=AnyValue(array_value=ArrayValue(values=[AnyValue(string_value="x")]))),
            KeyValue(key="m", value=AnyValue(kvlist_value=KeyValueList(values=[text("k", "v")]))),
            KeyValue(key="none"),
        ]
    )
    sent.events.append(Span.Event(name="event", time_unix_nano=7, attributes=[text("e", "v")]))
    sent.status.CopyFrom(Status(code=Status.STATUS_CODE_ERROR, message="failed"))
    with OtlpSink() as sink:
        assert ask(sink, packed(sent)) == 200
        [held] = sink.spans
    assert (held.trace_id, held.span_id, held.parent_id) == ("01" * 16, "02" * 8, "03" * 8)
    assert (held.name, held.kind, held.start_ns, held.end_ns) == ("name", 3, 5, 9)
    assert held.attributes == {"t": "é", "b": False, "i": -3, "d": 0.5, "l": ["x"], "m": {"k": "v"}, "none": None}
    assert held.events == (SinkEvent("event", 7, {"e": "v"}),)
    assert (held.status, held.status_message) == (2, "failed")
    assert (held.resource, held.scope, held.times) == ({"service.name": "peer"}, ("scope", "7"), 1)


@pytest.mark.parametrize(("keeps", "name"), [(Keeps.FIRST, "one"), (Keeps.LAST, "two")])
def test_of_one_id_there_is_one_span(keeps: Keeps, name: str) -> None:
    with OtlpSink(keeps=keeps) as sink:
        assert ask(sink, packed(span(name="one"))) == ask(sink, packed(span(name="two"))) == 200
        [held] = sink.spans
        assert (held.name, held.times, sink.posts) == (name, 2, 2)


@pytest.mark.parametrize(
    ("langfuse", "options", "status"),
    [
        (False, {}, 200),
        (False, {"headers": {"content-type": "application/x-protobuf"}}, 400),
        (False, {"path": "/v1/other"}, 404),
        (False, {"method": "PUT"}, 405),
        (False, {"method": "GET"}, 405),
        (False, {"headers": {"content-type": "application/json"}}, 415),
        (False, {"headers": {**PROTOBUF, "content-encoding": "zstd"}}, 415),
        (True, {}, 200),
        (True, {"path": "/v1/traces"}, 404),
        (True, {"keys": False}, 401),
        (True, {"headers": {**PROTOBUF, "authorization": "Basic eDp5"}}, 401),
        (True, {"headers": {**PROTOBUF, "x-langfuse-ingestion-version": "5"}}, 400),
        (True, {"headers": {"content-type": "text/plain"}}, 400),
        (True, {"headers": {**PROTOBUF, "content-encoding": "br"}}, 400),
    ],
)
def test_requests_outside_of_the_contract_are_refused(langfuse: bool, options: dict[str, object], status: int) -> None:
    with OtlpSink(langfuse=langfuse) as sink:
        assert ask(sink, packed(span()), **options) == status
        assert len(sink.spans) == (status == HTTPStatus.OK)
        [request] = sink.requests
        assert request.status == status


def test_plain_protobuf_is_taken_and_bytes_that_are_none_are_not() -> None:
    plain = {"content-type": "application/x-protobuf"}
    with OtlpSink() as sink:
        assert ask(sink, gzip.decompress(packed(span())), headers=plain) == 200
        assert ask(sink, b"", headers=plain) == 200
        assert ask(sink, b"\xff\xff", headers=plain) == 400
        assert ask(sink, b"no gzip") == 400
        assert ask(sink, packed(span())[:-9]) == 400


@pytest.mark.parametrize(
    "bad",
    [
        span(b"short"),
        span(b"\0" * 8),
        span(b""),
        span(SECOND, trace_id=b"\x01" * 8),
        span(SECOND, trace_id=b"\0" * 16),
        span(SECOND, parent_id=b"\x04" * 16),
        span(SECOND, parent_id=b"\0" * 8),
    ],
)
def test_one_bad_id_refuses_the_whole_request(bad: Span) -> None:
    with OtlpSink() as sink:
        assert ask(sink, packed(span(), bad)) == 400
        assert sink.spans == []


def test_chosen_spans_refuse_a_request_or_are_left_out_of_it() -> None:
    with OtlpSink(refuse=lambda each: each.name == "poison", reject=lambda each: each.name == "odd") as sink:
        assert ask(sink, packed(span(), span(SECOND, name="poison"))) == 400
        assert sink.spans == []
        with Exporter(sink) as exporter:
            status, body = exporter.ask(packed(span(), span(SECOND, name="odd")))
        assert (status, ExportTraceServiceResponse.FromString(body).partial_success.rejected_spans) == (200, 1)
        assert [held.name for held in sink.spans] == ["name"]


def test_a_request_that_is_too_large_is_refused() -> None:
    with OtlpSink(largest=len(gzip.decompress(packed(span())))) as sink:
        assert ask(sink, packed(span())) == 200
        assert ask(sink, packed(span(name="longer"))) == 413


def test_failures_happen_as_often_as_asked_and_take_nothing() -> None:
    with OtlpSink() as sink, Exporter(sink) as exporter:
        sink.fail(503, times=2)
        sink.fail(429, retry_after="7", body=b"<p>", kind="text/html")
        assert [exporter.ask(packed(span()))[0] for _ in range(2)] == [503, 503]
        exporter.connection.request("POST", sink.path, body=packed(span()), headers=PROTOBUF)
        with exporter.connection.getresponse() as response:
            found = (response.status, response.headers["retry-after"], response.headers["content-type"], response.read())
        assert found == (429, "7", "text/html", b"<p>")
        assert sink.spans == []
        assert exporter.ask(packed(span()))[0] == 200
        assert [request.status for request in sink.requests] == [503, 503, 429, 200]
        assert len({request.peer for request in sink.requests}) == 1


def test_healed_it_fails_no_more() -> None:
    with OtlpSink() as sink:
        sink.fail(500, times=100)
        assert ask(sink, packed(span())) == 500
        sink.heal()
        assert ask(sink, packed(span())) == 200


def test_a_slow_answer_takes_its_time() -> None:
    with OtlpSink() as sink:
        sink.delay(0.2)
        started = time.monotonic()
        assert ask(sink, packed(span())) == 200
        assert time.monotonic() - started >= 0.2


def test_a_cut_before_reading_takes_nothing_and_one_after_it_takes_all() -> None:
    with OtlpSink() as sink:
        sink.cut_before_reading()
        with pytest.raises(ConnectionError):
            ask(sink, packed(span()))
        assert (sink.spans, sink.posts) == ([], 1)
        sink.cut_after_storing()
        with pytest.raises(http.client.RemoteDisconnected):
            ask(sink, packed(span()))
        assert [held.times for held in sink.spans] == [1]
        assert ask(sink, packed(span())) == 200
        assert [held.times for held in sink.spans] == [2]


def test_an_idle_connection_ends_after_its_answer() -> None:
    with OtlpSink() as sink, Exporter(sink) as exporter:
        sink.close_when_idle()
        assert exporter.ask(packed(span()))[0] == 200
        # The end of a connection is there before the client's next request as soon as the handler is done.
        assert exporter.connection.sock.recv(1) == b""


def test_requests_are_kept_without_their_key() -> None:
    with OtlpSink(langfuse=True) as sink:
        ask(sink, packed(span()))
        [request] = sink.requests
    assert request.headers["x-langfuse-ingestion-version"] == "4"
    assert "authorization" not in request.headers
    assert "Basic" not in repr(request)
    assert [each.name for each in request.spans] == ["name"]
