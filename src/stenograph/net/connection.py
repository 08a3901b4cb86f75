"""One blocking HTTP/1.1 connection on the standard library, kept open for one exchange after another.

Follows no redirects and judges no status. Every failure is a NetworkError; the next `send` connects again.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from stenograph.errors import (
    MalformedResponseError,
    NetworkError,
    NetworkTimeoutError,
    ProxyRefusedError,
    UnknownHostError,
    UnreadableAuthoritiesError,
    UntrustedCertificateError,
)
from stenograph.net.addresses import Address
from stenograph.net.proxies import Proxy

if TYPE_CHECKING:
    import socket
    import ssl
    from http.client import HTTPConnection, HTTPResponse

#: Followed by the status.
_NO_TUNNEL = "Tunnel connection failed: "


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

    def __init__(self, address: Address, *, proxy: Proxy | None = None, timeout: float, patience: float) -> None:
        self._address = address
        self._proxy = proxy
        self._timeout = timeout
        self._patience = patience
        self._http: HTTPConnection | None = None
        #: `http.client` forgets it while a last response is being read.
        self._socket: socket.socket | None = None
        self._response: HTTPResponse | None = None
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
        """Up to `limit` bytes of the body. A longer response closes the connection."""
        from http.client import IncompleteRead

        response = self._response
        assert response is not None, "read after send"
        with self._guarded():
            data = response.read(limit)
            # `http.client` takes a cut for the end here.
            if self._is_hung_up or (len(data) < limit and response.length):
                raise IncompleteRead(b"")
        if response.isclosed():
            self._end_exchange()
        else:
            self.close()
        return data

    def close(self) -> None:
        self._end_exchange()
        if self._http is not None:
            self._http.close()
        self._http = self._socket = None

    def hang_up(self) -> None:
        """For another thread: whoever waits for this connection gets a NetworkTimeoutError now."""
        import socket

        self._is_hung_up = True
        http = self._http
        connected = self._socket or (http.sock if http else None)
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
        if self._proxy and not self._address.is_secure:
            target = f"http://{self._address.authority}{target}"
            headers |= self._proxy.headers
        with self._guarded():
            http = self._http or self._open()
            http.request(method, target, body=body, headers=headers)
            self._response = http.getresponse()
        return ResponseHead(self._response.status, {name.lower(): value for name, value in self._response.headers.items()})

    def _open(self) -> HTTPConnection:
        from http.client import HTTPConnection, HTTPSConnection

        nearest = self._proxy.address if self._proxy else self._address
        if self._address.is_secure:
            self._http = HTTPSConnection(nearest.host, nearest.port, timeout=self._timeout, context=tls_context())
            if self._proxy:
                self._http.set_tunnel(self._address.host, self._address.port, headers=self._proxy.headers)
        else:
            self._http = HTTPConnection(nearest.host, nearest.port, timeout=self._timeout)
        self._http.connect()
        self._socket = self._http.sock
        if self._is_hung_up:  # before there was a socket
            raise TimeoutError
        return self._http

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
            if self._proxy and str(error).startswith(_NO_TUNNEL):
                raise ProxyRefusedError(int(str(error).removeprefix(_NO_TUNNEL).split()[0])) from None
            raise network_error(error) from None
        except BaseException:
            self.close()
            raise

    def _end_exchange(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
        if self._response is not None:
            self._response.close()
        self._watch = self._response = None


def network_error(error: Exception) -> NetworkError:
    """Takes an OSError or an error of an HTTP library. Keeps none of its text: it may quote a server or a proxy."""
    import socket
    import ssl

    reason = type(error).__name__
    match error:
        case ssl.SSLCertVerificationError():
            # OpenSSL's own words, not the server's.
            return UntrustedCertificateError(error.verify_message)
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


def tls_context(authorities: str = "") -> ssl.SSLContext:
    """A context that checks certificates; takes 20 ms. Raises UnreadableAuthoritiesError for the file `authorities`."""
    import ssl

    context = ssl.create_default_context()
    # Python 3.13 asks for more than RFC 5280 has to be: authorities of companies often lack it, and no other client minds.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if authorities:
        try:
            context.load_verify_locations(authorities)
        except OSError as error:
            raise UnreadableAuthoritiesError(type(error).__name__) from None
    return context


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
