"""Spans -> a receiver over HTTP, until it acknowledged or refused each.

After a `DeliveryError` no span counts as sent, and sending all again is harmless: ids and times do not change. A refused request
is halved until the bad span is alone. Of a receiver's answer only the status is kept.
"""

from __future__ import annotations

import gzip
import os
import random
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Self, TypeVar

from msgspec import Struct

from stenograph import __version__
from stenograph.config import HEADER_NAME, Destination
from stenograph.errors import (
    ConfigError,
    DeliveryError,
    NetworkError,
    NetworkTimeoutError,
    StenographError,
    UntrustedCertificateError,
)
from stenograph.net import Connection, ResponseHead, Url, find_proxy, read_retry_after, read_url, tls_from_environment
from stenograph.traces.otlp import decode_response, encode_span, join_request
from stenograph.traces.spans import Attributes, Span

T = TypeVar("T")

#: Seconds before the first retry, doubled each time up to the longest, each scaled by chance ("full jitter").
FIRST_WAIT = 1.0
LONGEST_WAIT = 60.0
#: The longest `retry-after` that is respected.
LONGEST_RETRY_AFTER = 600.0
#: How long to leave a receiver alone that refuses for good, such as for a wrong key.
PERMANENT_WAIT = 900.0

#: Measured on 28 MB of requests: level 1 178 MB/s to 14.4 %, 3 152 MB/s to 13.4 %, 4 116 MB/s to 11.8 %, 6 76 MB/s to 11.1 %.
_GZIP_LEVEL = 3
#: Timeouts for a whole exchange: connect, send, answer.
_WHOLE_EXCHANGE = 3
_ANSWER_BYTES = 1_000_000
#: After a 413 batches shrink to this at the least.
_SMALLEST_BATCH = 100_000
#: After this many refusals without one acknowledgement the receiver is at fault, not the spans.
_ENOUGH_REFUSALS = 8
#: The request, or one span in it, cannot be accepted as it is.
_REFUSALS = frozenset({400, 413, 422})
#: Every other 4xx means a wrong address or key.
_FOR_NOW = frozenset({408, 425, 429})
#: What a status means, and what to do in the words of the config.
_REMEDIES = {
    401: ("rejects the key", "check its key"),
    403: ("denies access", "check its key"),
    404: ("has no such path", "check its `url`"),
}

_HEADER_VALUE = re.compile(r"[\t\x20-\x7e\xa0-\xff]*")


class BadSpan(Struct, frozen=True):
    """A span that was refused while others were accepted."""

    trace_id: bytes
    span_id: bytes
    #: Before compression.
    size: int
    #: Of the answer; 2xx for a partial success.
    status: int


class Delivery(Struct, frozen=True):
    #: Spans acknowledged.
    sent: int
    bad: tuple[BadSpan, ...]
    #: Requests made.
    posts: int


class _Encoded(Struct, frozen=True):
    trace_id: bytes
    span_id: bytes
    data: bytes


class _Answer(Struct, frozen=True):
    status: int
    #: Spans that the receiver says it left out.
    rejected: int

    @property
    def is_refusal(self) -> bool:
        return self.status in _REFUSALS or self.rejected > 0


def deliver(spans: Iterable[Span], destination: Destination, resource: Attributes) -> Delivery:
    """Send spans over a new connection, with one try. Raises as `Sender.send` does."""
    with Sender(destination, resource) as sender:
        return sender.send(spans)


def next_wait(failures: int, error: StenographError, chance: Callable[[], float] = random.random) -> float:
    """Seconds to wait after an error that followed `failures` others. `chance` returns numbers from 0 to 1."""
    # Capped: after a weekend of failures the power would overflow a float.
    wait = min(FIRST_WAIT * 2.0 ** min(failures, 30), LONGEST_WAIT) * chance()
    if isinstance(error, DeliveryError):
        wait = max(wait, error.retry_after, PERMANENT_WAIT if error.is_permanent else 0.0)
    return wait


def retrying(
    act: Callable[[], T],
    *,
    patience_seconds: float,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
    chance: Callable[[], float] = random.random,
) -> T:
    """The result of `act`, retried after each `DeliveryError` that is not permanent while patience lasts."""
    started = clock()
    failures = 0
    while True:
        try:
            return act()
        except DeliveryError as error:
            wait = next_wait(failures, error, chance)
            if error.is_permanent or clock() - started + wait >= patience_seconds:
                raise
        sleep(wait)
        failures += 1


class Sender:
    """A context manager that keeps one connection to a destination.

    Tries each request for `patience_seconds` (0: once). Raises `ConfigError` for an unusable destination.
    """

    def __init__(
        self,
        destination: Destination,
        resource: Attributes,
        *,
        patience_seconds: float = 0.0,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._name = destination.name
        self._resource = resource
        self._channel = _Channel(destination)
        self._batch_bytes = destination.batch_bytes
        self._retry: Callable[[Callable[[], _Answer]], _Answer] = lambda act: retrying(
            act, patience_seconds=patience_seconds, sleep=sleep, clock=clock, chance=chance
        )
        self._posts = 0
        #: The smallest span that was accepted: posted again to tell a bad span from a receiver that accepts nothing any more.
        self._witness: _Encoded | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._channel.close()

    def send(self, spans: Iterable[Span]) -> Delivery:
        """Post spans in order. Raises `DeliveryError` when the receiver cannot be reached or accepts nothing."""
        posts_before = self._posts
        sent = 0
        refused: list[BadSpan] = []
        for batch in self._batches(spans):
            taken, left_out = self._settle(batch)
            sent += taken
            refused += left_out
            if self._witness is None and len(refused) >= _ENOUGH_REFUSALS:
                break
        if refused and self._witness is None:
            # Without a witness these may be good spans: they must not count as done.
            raise self._refuses_everything(refused[0].status)
        return Delivery(sent=sent, bad=tuple(refused), posts=self._posts - posts_before)

    def _batches(self, spans: Iterable[Span]) -> Iterator[list[_Encoded]]:
        batch: list[_Encoded] = []
        size = 0
        for span in spans:
            encoded = _Encoded(span.trace_id, span.span_id, encode_span(span))
            if batch and size + len(encoded.data) > self._batch_bytes:
                yield batch
                batch, size = [], 0
            batch.append(encoded)
            size += len(encoded.data)
        if batch:
            yield batch

    def _settle(self, batch: list[_Encoded]) -> tuple[int, list[BadSpan]]:
        """How many were accepted, and which were refused, by posting halves of whatever was refused."""
        taken = 0
        refused: list[BadSpan] = []
        waiting = [batch]
        # Whether the receiver accepted a span since the first refusal.
        trusted = False
        while waiting:
            part = waiting.pop()
            answer = self._post(part)
            if not answer.is_refusal:
                taken += len(part)
                trusted = True
                self._witness = min(part, key=lambda encoded: len(encoded.data))
            elif len(part) > 1:
                middle = len(part) // 2
                waiting += (part[middle:], part[:middle])
                if answer.status == 413:
                    size = sum(len(encoded.data) for encoded in part)
                    self._batch_bytes = max(_SMALLEST_BATCH, size // 2)
            else:
                if not trusted and self._witness is not None:
                    if self._post([self._witness]).is_refusal:
                        raise self._refuses_everything(answer.status)
                    trusted = True
                [alone] = part
                refused.append(BadSpan(alone.trace_id, alone.span_id, len(alone.data), answer.status))
                if self._witness is None and len(refused) >= _ENOUGH_REFUSALS:
                    break
        return taken, refused

    def _post(self, part: Sequence[_Encoded]) -> _Answer:
        body = gzip.compress(join_request([encoded.data for encoded in part], self._resource), _GZIP_LEVEL, mtime=0)

        def post() -> _Answer:
            self._posts += 1
            return self._channel.post(body)

        return self._retry(post)

    def _refuses_everything(self, status: int) -> DeliveryError:
        told = f"rejects every span (HTTP {status}); check its `url` and `headers`"
        return DeliveryError(f"the trace destination {self._name} {told}", is_permanent=True, status=status)


class _Channel:
    def __init__(self, destination: Destination) -> None:
        self._name = destination.name
        self._timeout = destination.timeout_seconds
        url = _url(destination)
        self._target = url.target
        self._headers = {
            "user-agent": f"stenograph/{__version__}",
            **_headers(destination),
            "content-type": "application/x-protobuf",
            "content-encoding": "gzip",
        }
        try:
            proxy = find_proxy(url.address, os.environ)
        except ConfigError as error:
            raise ConfigError(f"the proxy for the trace destination {self._name}: {error}") from None
        patience = self._timeout * _WHOLE_EXCHANGE
        tls = tls_from_environment(os.environ)
        self._connection = Connection(url.address, proxy=proxy, tls=tls, timeout=self._timeout, patience=patience)

    def close(self) -> None:
        self._connection.close()

    def post(self, body: bytes) -> _Answer:
        """The answer if it acknowledges or refuses the spans; anything else raises `DeliveryError`."""
        try:
            head = self._connection.send("POST", self._target, self._headers, body)
            content = self._connection.read(_ANSWER_BYTES)
        except NetworkError as error:
            raise self._unreached(error) from None
        return self._judge(head, content)

    def _judge(self, head: ResponseHead, content: bytes) -> _Answer:
        status = head.status
        if 200 <= status < 300:
            if head.content_type == "text/html" and content:
                # A captive portal or a proxy: no receiver has the spans.
                raise self._error("answers with a web page; check its `url`", status=status)
            return _Answer(status, decode_response(content).count)
        if status in _REFUSALS:
            return _Answer(status, 0)
        if status in _FOR_NOW or status >= 500:
            asked = read_retry_after(head.headers.get("retry-after", ""), now=time.time())
            wait = min(asked or 0.0, LONGEST_RETRY_AFTER)
            raise self._error(f"cannot accept spans now (HTTP {status}); try again later", status=status, retry_after=wait)
        if 300 <= status < 400:
            raise self._error(f"redirects (HTTP {status}); set its `url` to the final address", status=status, is_permanent=True)
        told, remedy = _REMEDIES.get(status, ("rejects the request", "check its `url`"))
        raise self._error(f"{told} (HTTP {status}); {remedy}", status=status, is_permanent=True)

    def _unreached(self, error: NetworkError) -> DeliveryError:
        if isinstance(error, UntrustedCertificateError):
            return self._error("has an untrusted certificate; add its authority with SSL_CERT_FILE", is_permanent=True)
        if isinstance(error, NetworkTimeoutError):
            return self._error(f"did not answer within {self._timeout:g} s; try again later")
        return self._error(f"cannot be reached ({error.reason}); try again later")

    def _error(self, told: str, *, is_permanent: bool = False, status: int = 0, retry_after: float = 0.0) -> DeliveryError:
        message = f"the trace destination {self._name} {told}"
        return DeliveryError(message, is_permanent=is_permanent, status=status, retry_after=retry_after)


def _url(destination: Destination) -> Url:
    """No error shows the address: people put keys into it."""
    wrong = f"the `url` of the trace destination {destination.name}"
    url = read_url(destination.endpoint)
    if url is None:
        raise ConfigError(f"{wrong} is not a URL in plain ASCII; use one such as https://example.com/v1/traces")
    if url.has_user:
        raise ConfigError(f"{wrong} must not contain a user or key; use `headers`")
    return url


def _headers(destination: Destination) -> dict[str, str]:
    """Checked here, because the errors of `http.client` quote the value."""
    reserved = {"content-length", "transfer-encoding"}
    for name, value in destination.headers.items():
        if not HEADER_NAME.fullmatch(name):
            raise ConfigError(f"a header of the trace destination {destination.name} has a name that HTTP does not allow")
        if not _HEADER_VALUE.fullmatch(value):
            raise ConfigError(f"the header {name} of the trace destination {destination.name} is not valid in HTTP")
    return {name.lower(): value for name, value in destination.headers.items() if name.lower() not in reserved}
