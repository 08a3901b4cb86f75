"""HTTP/1.1 over asyncio, one exchange at a time. Failures are NetworkErrors; only connecting has a timeout.

Cancelling a waiter and then `close` is always safe.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import h11

from stenograph.errors import MalformedResponseError, ProxyRefusedError
from stenograph.net import (
    Address,
    Decompressor,
    Proxy,
    ResponseHead,
    Tls,
    connect_through_socks,
    decompressor,
    network_error,
    proxy_certificate_checked,
    tls_context,
)

if TYPE_CHECKING:
    import ssl

#: Seconds, TLS and proxy included.
CONNECT_TIMEOUT = 30.0
#: Bytes to be read before the peer is throttled.
_HIGH_WATER = 1024 * 1024
#: Bytes.
_LONGEST_HEAD = 64 * 1024

Headers = Sequence[tuple[str, str]]


class _Wire(asyncio.Protocol):
    """asyncio's streams forget what came before a reset: an endpoint that refuses a large request (413) answers and hangs up
    while it is still being sent.
    """

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._pieces: list[bytes] = []
        self._waiting = 0
        self._is_held = False
        self._error: Exception | None = None
        self._reader: asyncio.Future[None] | None = None
        self.is_over = False

    @property
    def transport(self) -> asyncio.Transport:
        assert self._transport is not None, "used before it was connected"
        return self._transport

    @property
    def is_quiet(self) -> bool:
        """Nothing unread, not even the end, and nothing waits to go out."""
        return not self._pieces and not self.is_over and self.transport.get_write_buffer_size() == 0

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._pieces.append(data)
        self._waiting += len(data)
        if self._waiting > _HIGH_WATER and not self._is_held:
            self._is_held = True
            self.transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        self.is_over = True
        self._wake()

    def connection_lost(self, error: Exception | None) -> None:
        self.is_over = True
        self._error = error
        self._wake()

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    async def read(self) -> bytes:
        """All that has come; b"" at the end."""
        while not self._pieces and not self.is_over:
            self._reader = asyncio.get_running_loop().create_future()
            try:
                await self._reader
            finally:
                self._reader = None
        if not self._pieces and isinstance(self._error, OSError):
            raise network_error(self._error)
        return self.take()

    def take(self) -> bytes:
        """All that has come, without waiting."""
        data = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces.clear()
        self._waiting = 0
        if self._is_held and not self.is_over:
            self._is_held = False
            self.transport.resume_reading()
        return data

    async def start_tls(self, context: ssl.SSLContext, host: str) -> None:
        secured = await asyncio.get_running_loop().start_tls(self.transport, self, context, server_hostname=host)
        if secured is None:
            raise ConnectionResetError("the connection ended while it was being secured")
        self._transport = secured


class StreamConnection:
    """One exchange at a time: `send`, then `read` until empty."""

    def __init__(self, wire: _Wire, *, target_prefix: str = "", extra_headers: Headers = ()) -> None:
        self._wire = wire
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=_LONGEST_HEAD)
        self._target_prefix = target_prefix
        self._extra_headers = extra_headers
        self._has_ended = True
        self._expects_end = False
        self._decompressor: Decompressor | None = None
        #: Anything of the current answer has come.
        self.has_answered = False
        #: It carried an exchange: the peer may have hung up since.
        self.is_used = False

    @property
    def is_reusable(self) -> bool:
        """The last exchange is done, and the peer has neither hung up nor sent more."""
        is_idle = self._http.our_state is h11.IDLE and self._http.their_state is h11.IDLE
        return is_idle and self._wire.is_quiet and not self._http.trailing_data[0]

    async def send(self, method: str, target: str, headers: Headers, body: bytes = b"") -> ResponseHead:
        """Returns the head of the answer."""
        self.has_answered = False
        self._has_ended = False
        self._expects_end = False
        all_headers = [*headers, *self._extra_headers]
        if body:
            all_headers.append(("content-length", str(len(body))))
        head = self._http.send(h11.Request(method=method, target=self._target_prefix + target, headers=all_headers))
        assert head is not None
        if body:
            self._http.send(h11.Data(data=body))
        self._http.send(h11.EndOfMessage())
        # Not awaited: the answer may come before all is out (413).
        self._wire.transport.write(head + body)
        while True:
            event = self._next_event()
            if event is h11.NEED_DATA:
                data = await self._wire.read()
                self.has_answered = self.has_answered or bool(data)
                self._http.receive_data(data)
            elif isinstance(event, h11.Response):
                headers_sent = {name.decode(): value.decode("latin-1") for name, value in event.headers}
                self._decompressor = decompressor(headers_sent.get("content-encoding", ""))
                return ResponseHead(event.status_code, headers_sent)
            elif not isinstance(event, h11.InformationalResponse):
                raise MalformedResponseError("no answer to the request")

    async def read(self) -> bytes:
        """A piece of the body, decompressed; b"" at its end."""
        packed = self._decompressor
        if packed is None:
            return await self._read()
        made = packed.feed(b"") if packed.has_more else b""
        while not made and (data := await self._read()):
            made = packed.feed(data)
        return made

    async def _read(self) -> bytes:
        pieces: list[bytes] = []
        while not self._has_ended:
            try:
                event = self._next_event()
            except MalformedResponseError:
                if not pieces:
                    raise
                break  # what came before counts; h11 raises again
            if type(event) is h11.Data:
                pieces.append(event.data)
            elif event is not h11.NEED_DATA:
                self._end()
            elif pieces:
                break
            else:
                self._http.receive_data(await self._wire.read())
        return b"".join(pieces)

    def expect_end(self) -> None:
        """Only the end of the body is missing, and nobody should wait for it."""
        self._expects_end = True

    def settle(self) -> bool:
        """Whether it may be kept: reusable, or once the expected end comes. Never waits."""
        try:
            while self._expects_end and not self._has_ended:
                event = self._next_event()
                if event is h11.NEED_DATA:
                    if self._wire.is_quiet:
                        return True
                    self._http.receive_data(self._wire.take())
                elif type(event) is not h11.Data:
                    self._end()
        except MalformedResponseError:
            return False
        return self.is_reusable

    def _next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        try:
            return self._http.next_event()
        except h11.RemoteProtocolError as error:
            raise MalformedResponseError(type(error).__name__) from None

    def _end(self) -> None:
        self._has_ended = True
        self.is_used = True
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()

    def close(self) -> None:
        """At once."""
        self._wire.abort()


class Dialer:
    """Opens connections to one address, perhaps through a proxy."""

    def __init__(self, address: Address, *, proxy: Proxy | None = None, tls: Tls | None = None) -> None:
        self._address = address
        self._proxy = proxy
        self._tls = tls or Tls()
        self._context: ssl.SSLContext | None = None

    async def open(self) -> StreamConnection:
        wire = _Wire()
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT):
                return await self._open(wire)
        except BaseException as error:
            wire.abort()
            if isinstance(error, OSError):
                raise network_error(error) from None
            raise

    async def _open(self, wire: _Wire) -> StreamConnection:
        address, proxy = self._address, self._proxy
        if proxy is None:
            await _connect(wire, address, self._secured() if address.is_secure else None)
            return StreamConnection(wire)
        if proxy.is_socks:
            way = await connect_through_socks(proxy, address, CONNECT_TIMEOUT)
            context, name = (self._secured(), address.host) if address.is_secure else (None, None)
            await asyncio.get_running_loop().create_connection(lambda: wire, sock=way, ssl=context, server_hostname=name)
            return StreamConnection(wire)
        with proxy_certificate_checked():
            trusting = tls_context(self._tls.without_certificate) if proxy.address.is_secure else None
            await _connect(wire, proxy.address, trusting)
        headers = list(proxy.headers.items())
        if not address.is_secure:
            return StreamConnection(wire, target_prefix=f"http://{address.authority}", extra_headers=headers)
        head = await StreamConnection(wire).send("CONNECT", address.with_port, [("host", address.with_port), *headers])
        if not 200 <= head.status < 300:
            raise ProxyRefusedError(head.status)
        await wire.start_tls(self._secured(), address.host)
        return StreamConnection(wire)

    def _secured(self) -> ssl.SSLContext:
        if self._context is None:
            self._context = tls_context(self._tls)
        return self._context


async def _connect(wire: _Wire, address: Address, context: ssl.SSLContext | None) -> None:
    # Seconds before the next address of a name is tried too (RFC 8305).
    await asyncio.get_running_loop().create_connection(
        lambda: wire, address.host, address.port, ssl=context, happy_eyeballs_delay=0.25
    )
