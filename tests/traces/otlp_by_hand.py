"""OTLP requests made with the protocol's own package, not with ours: what the receivers are asked about with.

In: spans as plain values. Out: the bytes of an ExportTraceServiceRequest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

Value = str | bool | int | float | list[str]
PROJECT = "by-hand"


@dataclass(frozen=True)
class SpanByHand:
    trace: str
    name: str
    parent: str
    start_ns: int
    end_ns: int
    attributes: Mapping[str, Value] = field(default_factory=dict)
    is_error: bool = False

    @property
    def trace_id(self) -> bytes:
        return hashlib.md5(self.trace.encode()).digest()

    @property
    def span_id(self) -> bytes:
        return id_of(self.trace, self.name)

    @property
    def parent_id(self) -> bytes:
        return id_of(self.trace, self.parent) if self.parent else b""


def id_of(trace: str, name: str) -> bytes:
    return hashlib.md5(f"{trace}/{name}".encode()).digest()[:8]


def request_of(spans: Iterable[SpanByHand], project: str = PROJECT) -> bytes:
    request = ExportTraceServiceRequest()
    of_resource = request.resource_spans.add()
    of_resource.resource.attributes.extend(_pairs({"service.name": "by-hand", "openinference.project.name": project}))
    of_scope = of_resource.scope_spans.add()
    for span in spans:
        of_scope.spans.add(
            trace_id=span.trace_id,
            span_id=span.span_id,
            parent_span_id=span.parent_id,
            name=span.name,
            kind=Span.SPAN_KIND_INTERNAL,
            start_time_unix_nano=span.start_ns,
            end_time_unix_nano=span.end_ns,
            attributes=_pairs(span.attributes),
            status=Status(code=Status.STATUS_CODE_ERROR, message="it failed") if span.is_error else None,
        )
    return bytes(request.SerializeToString())


def _pairs(attributes: Mapping[str, Value]) -> list[KeyValue]:
    return [KeyValue(key=key, value=_any(value)) for key, value in attributes.items()]


def _any(value: Value) -> AnyValue:
    match value:
        case bool():
            return AnyValue(bool_value=value)
        case int():
            return AnyValue(int_value=value)
        case float():
            return AnyValue(double_value=value)
        case list():
            return AnyValue(array_value=ArrayValue(values=[_any(each) for each in value]))
        case _:
            return AnyValue(string_value=value)
