"""One blocking HTTP/1.1 connection on the standard library, kept open for one exchange after another.

Follows no redirects and judges no status. Every failure is a NetworkError; the next `send` connects again.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, cast

from msgspec import Struct

from stenograph.errors import (
    CertificateRequiredError,
    MalformedResponseError,
    NetworkError,
    NetworkTimeoutError,
    ProxyRefusedError,
    UnknownHostError,
    UntrustedCertificateError,
)
from stenograph.net.addresses import Address
from stenograph.net.compression import Decompressor, can_decompress, decompressor
from stenograph.net.proxies import Proxy
from stenograph.net.socks import connect_through_socks_blocking
from stenograph.net.tls import Tls, proxy_certificate_checked, tls_context

if TYPE_CHECKING:
    import socket
    from http.client import HTTPConnection, HTTPResponse

#: Bytes of a proxy's answer to CONNECT.
_LONGEST_HEAD = 64 * 1024


class ResponseHead(Struct, frozen=True):
    status: int
    #: Names in lower case; the last of repeated ones.
    headers: dict[str, str]

    @property
    def content_type(self) -> str:
        """In lower case, without parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


class Connection:
    """One exchange at a time: `send`, then `read` or `close`. Requests must be safe to send twice.

    In seconds: `timeout` for each step (connecting, sending, the next bytes), `patience` for a whole exchange.
    """

    def __init__(
        self, address: Address, *, proxy: Proxy | None = None, tls: Tls | None = None, timeout: float, patience: float
    ) -> None:
        self._address = address
        self._proxy = proxy
        self._tls = tls or Tls()
        self._timeout = timeout
        self._patience = patience
        self._http: HTTPConnection | None = None
        #: `http.client` forgets it while a last response is being read.
        self._socket: socket.socket | None = None
        self._response: HTTPResponse | None = None
        self._decompressor: Decompressor | None = None
        self._watch: threading.Timer | None = None
        self._is_hung_up = False

    def send(self, method: str, target: str, headers: Mapping[str, str], body: bytes | None = None) -> ResponseHead:
        """Send a request and wait for the head of the response. Header names are in lower case."""
        is_kept = self._http is not None
        try:
            return self._send(method, target, headers, body)
        except (NetworkTimeoutError, UntrustedCertificateError):
            raise
        except NetworkError:
            if not is_kept:
                raise
        # Servers close idle connections; only a new one shows whether they are there.
        return self._send(method, target, headers, body)

    def read(self, limit: int) -> bytes:
        """Up to `limit` bytes of the body, decompressed. A longer response closes the connection."""
        from http.client import IncompleteRead

        response = self._response
        assert response is not None, "read after send"
        with self._guarded():
            data = response.read(limit)
            # `http.client` takes a cut for the end here.
            if self._is_hung_up or (len(data) < limit and response.length):
                raise IncompleteRead(b"")
            if self._decompressor is not None:
                data = _decompressed(self._decompressor, data, limit)
        if response.isclosed():
            self._end_exchange()
        else:
            self.close()
        return data

    def close(self) -> None:
        self._end_exchange()
        for opened in (self._http, self._socket):
            if opened is not None:
                opened.close()
        self._http = self._socket = None

    def hang_up(self) -> None:
        """For another thread: whoever waits for this connection gets a NetworkTimeoutError now."""
        import socket

        self._is_hung_up = True
        connected = self._socket
        if connected is not None:
            with suppress(OSError):
                # Not the method of a TLS socket, which would continue without encryption.
                socket.socket.shutdown(connected, socket.SHUT_RDWR)

    def _send(self, method: str, target: str, headers: Mapping[str, str], body: bytes | None) -> ResponseHead:
        if self._response is not None:  # unread rest would look like the next response
            self.close()
        # A socket's timeout restarts with each byte: a dripping response would hold us for ever.
        self._watch = threading.Timer(self._patience, self.hang_up)
        self._watch.daemon = True
        self._watch.start()
        headers = {"host": self._address.authority, **headers}
        if self._proxy and not self._proxy.is_socks and not self._address.is_secure:
            target = f"http://{self._address.authority}{target}"
            headers |= self._proxy.headers
        with self._guarded():
            # After a last response `http.client` has no socket, and would connect by itself: without a proxy and without TLS.
            http = self._http if self._http is not None and self._http.sock is not None else self._open()
            http.request(method, target, body=body, headers=headers)
            self._response = http.getresponse()
            encoding = self._response.headers.get("content-encoding", "")
            if not can_decompress(encoding):
                raise MalformedResponseError("unknown compression")
            self._decompressor = decompressor(encoding)
        return ResponseHead(self._response.status, {name.lower(): value for name, value in self._response.headers.items()})

    def _open(self) -> HTTPConnection:
        from http.client import HTTPConnection

        self._http = HTTPConnection(self._address.host, self._address.port, timeout=self._timeout)
        self._http.sock = self._connected()
        if self._is_hung_up:  # before there was a socket
            raise TimeoutError
        return self._http

    def _connected(self) -> socket.socket:
        """A socket on which the server reads what is written. `_socket` is what another thread can shut down."""
        import socket

        address, proxy = self._address, self._proxy
        if proxy is not None and proxy.is_socks:
            self._socket = way = connect_through_socks_blocking(proxy, address, self._timeout)
        else:
            nearest = proxy.address if proxy else address
            self._socket = way = socket.create_connection((nearest.host, nearest.port), self._timeout)
        way.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        is_over_tls = proxy is not None and proxy.address.is_secure
        if proxy is not None and is_over_tls:
            # Our certificate is for the server.
            trusting = tls_context(self._tls.without_certificate)
            with proxy_certificate_checked():
                self._socket = way = trusting.wrap_socket(way, server_hostname=proxy.address.host)
        if not address.is_secure:
            return way
        if proxy is not None and not proxy.is_socks:
            _open_tunnel(way, address, proxy)
        context = tls_context(self._tls)
        if is_over_tls:
            from stenograph.net.nested_tls import NestedTls

            return cast("socket.socket", NestedTls(way, context, address.host))
        self._socket = way = context.wrap_socket(way, server_hostname=address.host)
        return way

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        from http.client import HTTPException

        try:
            yield
        except (OSError, HTTPException, UnicodeError) as error:
            is_late, self._is_hung_up = self._is_hung_up, False
            self.close()
            if is_late:
                raise NetworkTimeoutError("TimeoutError") from None
            raise network_error(error) from None
        except BaseException:
            self.close()
            raise

    def _end_exchange(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
        if self._response is not None:
            self._response.close()
        self._watch = self._response = self._decompressor = None


def _open_tunnel(way: socket.socket, address: Address, proxy: Proxy) -> None:
    """Raises ProxyRefusedError, MalformedResponseError."""
    headers = {"host": address.with_port, **proxy.headers}
    lines = [f"CONNECT {address.with_port} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    way.sendall("\r\n".join(lines).encode("ascii"))
    # A proxy is silent after its head until the server has something to answer.
    with way.makefile("rb") as answer:
        head = b""
        while not head.endswith((b"\r\n\r\n", b"\n\n")):
            line = answer.readline(_LONGEST_HEAD)
            head += line
            if not line or len(head) > _LONGEST_HEAD:
                raise MalformedResponseError("no answer to CONNECT")
    found = re.match(rb"HTTP/1\.[01] (\d{3})", head)
    if found is None:
        raise MalformedResponseError("no answer to CONNECT")
    if not found[1].startswith(b"2"):
        raise ProxyRefusedError(int(found[1]))


def _decompressed(stream: Decompressor, data: bytes, limit: int) -> bytes:
    pieces = [stream.feed(data)]
    length = len(pieces[0])
    while stream.has_more and length < limit:
        pieces.append(stream.feed(b""))
        length += len(pieces[-1])
    return b"".join(pieces)[:limit]


def network_error(error: Exception) -> NetworkError:
    """Takes an OSError or an error of an HTTP library. Keeps none of its text: it may quote a server or a proxy."""
    import socket
    import ssl

    reason = type(error).__name__
    match error:
        case ssl.SSLCertVerificationError():
            # OpenSSL's own words, not the server's.
            return UntrustedCertificateError(error.verify_message)
        case ssl.SSLError(reason="TLSV13_ALERT_CERTIFICATE_REQUIRED" | "SSLV3_ALERT_CERTIFICATE_REQUIRED"):
            return CertificateRequiredError("certificate required")
        case TimeoutError():
            return NetworkTimeoutError(reason)
        case socket.gaierror() | UnicodeError():  # UnicodeError: invalid DNS names
            return UnknownHostError(reason)
        case OSError(errno=int(number)):
            return NetworkError(reason, errno=number)
        case OSError():
            # asyncio puts those of several addresses of a name into one text.
            numbers = {int(number) for number in re.findall(r"\[Errno (\d+)\]", str(error))}
            return NetworkError(reason, errno=numbers.pop() if len(numbers) == 1 else 0)
    return MalformedResponseError(reason)


def read_retry_after(written: str, *, now: float) -> float | None:
    """Seconds, from a number or a date; None if missing or invalid. `now`: seconds since 1970."""
    written = written.strip()
    if not written:
        return None
    if (seconds := read_number(written)) is not None:
        return seconds
    from datetime import UTC  # 10 ms, only for a date
    from email.utils import parsedate_to_datetime

    try:
        moment = parsedate_to_datetime(written)
        # Zone "-0000" is parsed without one and means UTC.
        return max(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() - now, 0.0)
    except (ValueError, OverflowError):
        return None


def read_number(written: str) -> float | None:
    """A decimal number, 0 or more; None for anything else."""
    whole, _, part = written.strip().partition(".")
    is_number = whole.isascii() and whole.isdigit() and (not part or (part.isascii() and part.isdigit()))
    return float(f"{whole}.{part or 0}") if is_number and len(whole) < 16 else None
