"""A strict receiver of OTLP over HTTP, on a free port of loopback, that fails as it is told to.

In: POST requests of an exporter. Out: the spans it holds, by id, and the requests as they came. It decodes with
`opentelemetry-proto`, not with our own code, and refuses what a receiver may refuse: another path, method, content type or
encoding, ids that are none, and with them the whole request, as Langfuse does. With `langfuse=True` it is as strict as
Langfuse's contract: its path, a key by Basic auth, and `x-langfuse-ingestion-version: 4`. Langfuse itself takes a request
without that header, but on its slow path.

    with OtlpSink() as sink:
        sink.fail(503, times=2)
        deliver(spans, Destination("sink", DestinationKind.OTLP, sink.endpoint), resource={})
        sink.spans[0].attributes

Needs the package `opentelemetry-proto`.
"""

from __future__ import annotations

import gzip
import hmac
import ssl
import sys
import threading
import zlib
from base64 import b64encode
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from stenograph.testing.scripted_api import LoopbackServer, LoopbackService

if TYPE_CHECKING:
    from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
    from opentelemetry.proto.trace.v1.trace_pb2 import Span as WireSpan

OTLP_PATH = "/v1/traces"
LANGFUSE_PATH = "/api/public/otel/v1/traces"
PUBLIC_KEY, SECRET_KEY = "pk-lf-sink", "sk-lf-sink"
_SECRET_HEADERS = frozenset({"authorization", "proxy-authorization"})


def _never(span: SinkSpan) -> bool:  # noqa: ARG001 - as `refuse` and `reject` are called
    return False


class Keeps(Enum):
    """Which of two spans with one id a receiver holds."""

    #: Phoenix.
    FIRST = "first"
    #: Langfuse, MLflow.
    LAST = "last"


@dataclass(frozen=True)
class SinkEvent:
    name: str
    at_ns: int
    attributes: dict[str, Any]


@dataclass(frozen=True)
class SinkSpan:
    """A span as it was received. Ids are hexadecimal."""

    trace_id: str
    span_id: str
    #: Empty for a root.
    parent_id: str
    name: str
    kind: int
    start_ns: int
    end_ns: int
    attributes: dict[str, Any]
    events: tuple[SinkEvent, ...]
    status: int
    status_message: str
    #: Attributes of its resource.
    resource: dict[str, Any]
    #: Name and version of its scope.
    scope: tuple[str, str]
    #: How often it was taken.
    times: int = 1


@dataclass(frozen=True)
class SinkRequest:
    """One request, without its key. `status` is what it was answered; 0 where the connection was cut."""

    method: str
    path: str
    headers: dict[str, str]
    #: As it came over the wire.
    size: int
    status: int
    spans: tuple[SinkSpan, ...] = ()
    #: The address and port at the exporter's end: the same for requests on one connection.
    peer: tuple[str, int] = ("", 0)


@dataclass
class Fault:
    """What happens to a request instead of what should."""

    #: Answered, while no span is taken; 0 for an honest answer.
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    #: Waited before anything else.
    seconds: float = 0.0
    #: When the connection ends: "before" the body is read, "after" its spans were stored, or when it is "idle" again.
    cut: str = ""


class OtlpSink(LoopbackService):
    """The server; a context manager. `endpoint` is where to post, `spans` what it holds, `requests` what came in."""

    def __init__(
        self,
        *,
        langfuse: bool = False,
        keeps: Keeps = Keeps.LAST,
        refuse: Callable[[SinkSpan], bool] = _never,
        reject: Callable[[SinkSpan], bool] = _never,
        largest: int = 64_000_000,
        certificate: tuple[Path, Path] | None = None,
    ) -> None:
        """`refuse`: a span for which its whole request is answered 400. `reject`: a span that is left out by a partial success.
        `largest`: bytes of a request after unpacking, else 413. `certificate`: it and its key, for TLS."""
        self.path = LANGFUSE_PATH if langfuse else OTLP_PATH
        self.requests: list[SinkRequest] = []
        self.refuse = refuse
        self.reject = reject
        self.largest = largest
        self._langfuse = langfuse
        self._keeps = keeps
        self._faults: deque[Fault] = deque()
        self._held: dict[tuple[str, str], SinkSpan] = {}
        self._lock = threading.Lock()
        self._closing = threading.Event()
        sink = self

        class Handler(_Handler):
            def receive(self) -> None:
                sink._receive(self)

        server = _Server(("127.0.0.1", 0), Handler)
        if certificate is not None:
            self.scheme = "https"
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        super().__init__(server)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._closing.set()
        super().__exit__(kind, error, trace)

    @property
    def endpoint(self) -> str:
        return self.url + self.path

    @property
    def headers(self) -> dict[str, str]:
        """What an exporter has to send along."""
        if not self._langfuse:
            return {}
        return {"authorization": _basic(PUBLIC_KEY, SECRET_KEY), "x-langfuse-ingestion-version": "4"}

    @property
    def spans(self) -> list[SinkSpan]:
        """Those it holds, in the order in which their ids first came."""
        with self._lock:
            return list(self._held.values())

    @property
    def posts(self) -> int:
        """Requests so far, those that failed counted."""
        with self._lock:
            return len(self.requests)

    def fail(self, status: int, *, times: int = 1, retry_after: str | None = None, body: bytes = b"", kind: str = "") -> None:
        """Answer the next requests with a status, and take none of their spans. `kind` is a content type."""
        headers = {"retry-after": retry_after} if retry_after is not None else {}
        if kind:
            headers["content-type"] = kind
        self._add(Fault(status=status, headers=headers, body=body), times)

    def delay(self, seconds: float, *, times: int = 1) -> None:
        """Take the next requests, but only after a while."""
        self._add(Fault(seconds=seconds), times)

    def cut_before_reading(self, *, times: int = 1) -> None:
        """End the next connections without a look at what they bring."""
        self._add(Fault(cut="before"), times)

    def cut_after_storing(self, *, times: int = 1) -> None:
        """Take the spans of the next requests, then end the connection: a lost acknowledgement."""
        self._add(Fault(cut="after"), times)

    def close_when_idle(self, *, times: int = 1) -> None:
        """Answer the next requests, then end the connection without having said so."""
        self._add(Fault(cut="idle"), times)

    def heal(self) -> None:
        """Forget the faults that have not happened yet."""
        with self._lock:
            self._faults.clear()

    def _add(self, fault: Fault, times: int) -> None:
        with self._lock:
            self._faults.extend(fault for _ in range(times))

    def _receive(self, handler: _Handler) -> None:
        with self._lock:
            fault = self._faults.popleft() if self._faults else Fault()
        if fault.seconds:
            self._closing.wait(fault.seconds)
        if fault.cut == "before":
            self._note(handler, 0, 0)
            handler.cut()
            return
        raw = handler.read_body()
        if fault.status:
            self._note(handler, len(raw), fault.status)
            handler.send(fault.status, fault.body, fault.headers)
            return
        status, spans = self._examine(handler, raw)
        rejected = [span for span in spans if self.reject(span)] if status == 200 else []
        if status == 200:
            self._store(span for span in spans if span not in rejected)
        self._note(handler, len(raw), 0 if fault.cut == "after" else status, spans)
        if fault.cut == "after":
            handler.cut()
            return
        handler.send(status, _response(len(rejected)) if status == 200 else b"", {"content-type": "application/x-protobuf"})
        if fault.cut == "idle":
            handler.cut()

    def _examine(self, handler: _Handler, raw: bytes) -> tuple[int, Sequence[SinkSpan]]:
        """The status that a request deserves, and its spans where they could be read."""
        headers = handler.headers
        if handler.path != self.path:
            return 404, ()
        if handler.command != "POST":
            return 405, ()
        if self._langfuse:
            expected = self.headers
            if not hmac.compare_digest(headers.get("authorization", "").encode(), expected["authorization"].encode()):
                return 401, ()
            if headers.get("x-langfuse-ingestion-version") != expected["x-langfuse-ingestion-version"]:
                return 400, ()
        if headers.get_content_type() != "application/x-protobuf":
            # Phoenix says 415, Langfuse 400.
            return 400 if self._langfuse else 415, ()
        encoding = headers.get("content-encoding", "identity")
        if encoding not in ("gzip", "identity"):
            return 400 if self._langfuse else 415, ()
        try:
            body = gzip.decompress(raw) if encoding == "gzip" else raw
        except (OSError, EOFError, zlib.error):
            return 400, ()
        if len(body) > self.largest:
            return 413, ()
        spans = _decode(body)
        if spans is None:
            return 400, ()
        if any(_is_bad(span) or self.refuse(span) for span in spans):
            return 400, spans
        return 200, spans

    def _store(self, spans: Iterable[SinkSpan]) -> None:
        with self._lock:
            for span in spans:
                key = (span.trace_id, span.span_id)
                held = self._held.get(key)
                if held is None:
                    self._held[key] = span
                else:
                    kept = held if self._keeps is Keeps.FIRST else span
                    self._held[key] = replace(kept, times=held.times + 1)

    def _note(self, handler: _Handler, size: int, status: int, spans: Sequence[SinkSpan] = ()) -> None:
        headers = {name.lower(): value for name, value in handler.headers.items() if name.lower() not in _SECRET_HEADERS}
        host, port = handler.client_address[:2]
        request = SinkRequest(handler.command, handler.path, headers, size, status, tuple(spans), (str(host), int(port)))
        with self._lock:
            self.requests.append(request)


class _Server(LoopbackServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """An exporter that does not trust the certificate, or speaks no TLS, is no failure of the sink's."""
        if not isinstance(sys.exception(), ssl.SSLError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def receive(self) -> None:
        raise NotImplementedError

    def do_POST(self) -> None:
        self.receive()

    def do_GET(self) -> None:
        self.receive()

    def do_PUT(self) -> None:
        self.receive()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Say nothing on stderr."""

    def read_body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("content-length") or 0))

    def send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def cut(self) -> None:
        # The server shuts the connection down once the handler is done with it.
        self.close_connection = True


def _basic(user: str, password: str) -> str:
    return "Basic " + b64encode(f"{user}:{password}".encode()).decode()


def _response(rejected: int) -> bytes:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

    response = ExportTraceServiceResponse()
    if rejected:
        response.partial_success.rejected_spans = rejected
        response.partial_success.error_message = "left out"
    return bytes(response.SerializeToString())


def _decode(body: bytes) -> list[SinkSpan] | None:
    """The spans of a request; None for what is no request."""
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    try:
        request = ExportTraceServiceRequest.FromString(body)
    except DecodeError:
        return None
    return [
        _to_span(span, _to_dict(of_resource.resource.attributes), (of_scope.scope.name, of_scope.scope.version))
        for of_resource in request.resource_spans
        for of_scope in of_resource.scope_spans
        for span in of_scope.spans
    ]


def _to_span(span: WireSpan, resource: dict[str, Any], scope: tuple[str, str]) -> SinkSpan:
    return SinkSpan(
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent_id=span.parent_span_id.hex(),
        name=span.name,
        kind=span.kind,
        start_ns=span.start_time_unix_nano,
        end_ns=span.end_time_unix_nano,
        attributes=_to_dict(span.attributes),
        events=tuple(SinkEvent(event.name, event.time_unix_nano, _to_dict(event.attributes)) for event in span.events),
        status=span.status.code,
        status_message=span.status.message,
        resource=resource,
        scope=scope,
    )


def _to_dict(pairs: Iterable[KeyValue]) -> dict[str, Any]:
    return {pair.key: _to_value(pair.value) for pair in pairs}


def _to_value(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_to_value(each) for each in value.array_value.values]
    if kind == "kvlist_value":
        return _to_dict(value.kvlist_value.values)
    return getattr(value, kind) if kind else None


def _is_bad(span: SinkSpan) -> bool:
    """Whether an id is none: of another length, or all zeros."""
    ids = [(span.trace_id, 32), (span.span_id, 16)]
    if span.parent_id:
        ids.append((span.parent_id, 16))
    return any(len(text) != length or not text.strip("0") for text, length in ids)
