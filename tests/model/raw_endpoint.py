"""An endpoint on loopback that plays bytes as they are told, faults included, and a proxy before it.

In: answers, one a request, each a list of parts: bytes to send, seconds to wait, something to call, or what to do with the
connection. Out: the requests that came, and over which connection. Real sockets in threads of their own; nothing of the
package's is replaced.
"""

from __future__ import annotations

import json
import socket
import ssl
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias

import pytest

Json: TypeAlias = dict[str, Any]


class Do(Enum):
    HANG_UP = "close the connection"
    RESET = "reset it, so that the other side gets an error"
    WATCH = "wait until the other side hangs up"
    #: Before the body is read, as a server does that refuses a request by its length.
    UNREAD = "answer before the body was read"


Part: TypeAlias = bytes | float | Do | Callable[[], object]


@dataclass(frozen=True)
class Received:
    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    #: The number of the connection, from 0 on.
    connection: int

    @property
    def json(self) -> Json:
        value: Json = json.loads(self.body)
        return value


class RawEndpoint:
    """A context manager. When the answers are used up, the last is played again."""

    def __init__(
        self,
        *answers: Sequence[Part],
        certificate: tuple[Path, Path] | None = None,
        clients: Path | None = None,
        before: Callable[[], object] | None = None,
    ) -> None:
        """`certificate`: it and its key, for TLS. `clients`: the authority whose certificates clients have to have. `before`:
        called before each answer."""
        self._before = before
        self.answers = list(answers)
        self.requests: list[Received] = []
        self.hung_up = threading.Event()
        #: Closed by `close_idle`, as a server does with connections that wait for too long.
        self._open: list[socket.socket] = []
        self._tls: ssl.SSLContext | None = None
        if certificate is not None:
            self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._tls.load_cert_chain(*certificate)
            if clients is not None:
                self._tls.load_verify_locations(clients)
                self._tls.verify_mode = ssl.CERT_REQUIRED
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._connections = 0
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._accept, daemon=True)

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    @property
    def connections(self) -> list[int]:
        """Which connection each request came over."""
        return [request.connection for request in self.requests]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        # Closing alone does not wake a thread that accepts.
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)
        self.close_idle()

    def close_idle(self) -> None:
        for connection in self._open:
            with suppress(OSError):
                socket.socket.shutdown(connection, socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            connection.settimeout(10)
            number, self._connections = self._connections, self._connections + 1
            self._open.append(connection)
            threading.Thread(target=self._serve, args=[connection, number], daemon=True).start()

    def _serve(self, connection: socket.socket, number: int) -> None:
        with connection, suppress(OSError):
            if self._tls is not None:
                plain = socket.fromfd(connection.fileno(), connection.family, connection.type)
                try:
                    connection = self._tls.wrap_socket(connection, server_side=True)
                except ssl.SSLError:
                    # The reason is lost where the connection is reset with unread data.
                    with plain:
                        plain.shutdown(socket.SHUT_WR)
                        while plain.recv(65536):
                            pass
                    raise
                plain.close()
            with connection, connection.makefile("rb") as stream:
                while self._exchange(connection, stream, number):
                    pass

    def _exchange(self, connection: socket.socket, stream: Any, number: int) -> bool:
        head = list(iter(lambda: stream.readline().rstrip(b"\r\n"), b""))
        if not head:
            return False
        method, target, _ = head[0].decode().split(" ")
        headers = {name.lower(): value for name, _, value in (line.decode().partition(": ") for line in head[1:])}
        with self._lock:
            parts = self.answers[min(len(self.requests), len(self.answers) - 1)]
            is_unread = Do.UNREAD in parts
            body = b"" if is_unread else stream.read(int(headers.get("content-length", 0)))
            self.requests.append(Received(method, target, headers, body, number))
        if self._before is not None:
            self._before()
        return all(self._play(connection, part) for part in parts)

    def _play(self, connection: socket.socket, part: Part) -> bool:
        """Whether the connection goes on."""
        if isinstance(part, bytes):
            connection.sendall(part)
        elif isinstance(part, float):
            # A wait that ends when the other side hangs up, so that no test waits for it.
            connection.settimeout(part)
            with suppress(TimeoutError):
                connection.recv(1)
            connection.settimeout(10)
        elif not isinstance(part, Do):
            part()
        elif part is Do.WATCH:
            with suppress(ConnectionError):
                while connection.recv(65536):
                    pass
            self.hung_up.set()
            return False
        elif part is Do.RESET:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()
            return False
        elif part is Do.HANG_UP:
            connection.shutdown(socket.SHUT_RDWR)
            return False
        return True


class _Proxy:
    """Connects every name to one server. A context manager."""

    def __init__(self, server: RawEndpoint) -> None:
        self._server = server
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.authority = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=[connection], daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            self._speak(connection)

    def _speak(self, connection: socket.socket) -> None:
        raise NotImplementedError

    def _join(self, connection: socket.socket, *, to_client: bytes = b"", to_server: bytes = b"") -> None:
        with socket.create_connection(("127.0.0.1", self._server.port)) as onward:
            connection.sendall(to_client)
            onward.sendall(to_server)
            back = threading.Thread(target=_pour, args=[onward, connection], daemon=True)
            back.start()
            _pour(connection, onward)
            back.join(5)


class TunnelProxy(_Proxy):
    """Forwards plain requests, and tunnels CONNECT."""

    def __init__(self, server: RawEndpoint, *, refuses_with: int = 0, certificate: tuple[Path, Path] | None = None) -> None:
        """`certificate`: it and its key; the proxy itself is then reached over TLS."""
        super().__init__(server)
        self._refuses_with = refuses_with
        self._tls: ssl.SSLContext | None = None
        if certificate is not None:
            self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._tls.load_cert_chain(*certificate)
        #: (first line without the version, proxy-authorization) of each connection's first request.
        self.asked: list[tuple[str, str]] = []

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            if self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True)
            with connection:
                self._speak(connection)

    def _speak(self, connection: socket.socket) -> None:
        read = b""
        while b"\r\n\r\n" not in read:
            piece = connection.recv(65536)
            if not piece:
                return
            read += piece
        head = read.partition(b"\r\n\r\n")[0].decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:])}
        self.asked.append((head[0].rpartition(" ")[0], headers.get("proxy-authorization", "")))
        if self._refuses_with:
            connection.sendall(b"HTTP/1.1 %d No\r\ncontent-length: 0\r\n\r\n" % self._refuses_with)
        elif head[0].startswith("CONNECT "):
            self._join(connection, to_client=b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            self._join(connection, to_server=read)


def _pour(source: socket.socket, into: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(65536):
            into.sendall(piece)
    for each in (source, into):
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)


class SocksProxy(_Proxy):
    """SOCKS5 (RFC 1928, 1929)."""

    def __init__(self, server: RawEndpoint, *, user: str = "", password: str = "", refuses_with: int = 0) -> None:
        """`refuses_with`: the number of RFC 1928 for why."""
        super().__init__(server)
        self._login = (user.encode(), password.encode())
        self._refuses_with = refuses_with
        #: What it was asked to connect to: a name, or an IPv4 address.
        self.asked: list[tuple[str, int]] = []

    def _speak(self, connection: socket.socket) -> None:
        if not self._let_in(connection):
            return
        kind = _exactly(connection, 4)[3]
        if kind == 3:  # a name
            host = _exactly(connection, _exactly(connection, 1)[0]).decode()
        else:
            host = socket.inet_ntoa(_exactly(connection, 4))
        self.asked.append((host, int.from_bytes(_exactly(connection, 2), "big")))
        connection.sendall(bytes([5, self._refuses_with, 0, 1, 0, 0, 0, 0, 0, 0]))
        if not self._refuses_with:
            self._join(connection)

    def _let_in(self, connection: socket.socket) -> bool:
        methods = _exactly(connection, _exactly(connection, 2)[1])
        wanted = 2 if self._login[0] else 0
        if wanted not in methods:
            connection.sendall(b"\x05\xff")
            return False
        connection.sendall(bytes([5, wanted]))
        if wanted:
            user = _exactly(connection, _exactly(connection, 2)[1])
            password = _exactly(connection, _exactly(connection, 1)[0])
            is_known = (user, password) == self._login
            connection.sendall(bytes([1, 0 if is_known else 1]))
            return is_known
        return True


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise ConnectionResetError
        data += piece
    return data


def make_certificate(folder: Path, name: str, *, passphrase: str = "") -> tuple[Path, Path]:
    """A certificate for `DNS:…` or `IP:…` and its key, for this run alone."""
    pair = (folder / "certificate.pem", folder / "key.pem")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-days", "2", "-subj", "/CN=endpoint"]
    command += ["-passout", f"pass:{passphrase}"] if passphrase else ["-nodes"]
    command += ["-addext", f"subjectAltName={name}", "-keyout", str(pair[1]), "-out", str(pair[0])]
    subprocess.run(command, capture_output=True, timeout=30, check=True)
    return pair


# What an endpoint says


def answer(status: int = 200, body: bytes | Json = b"", **headers: str) -> bytes:
    """A whole answer; a JSON body says so. `x_y` stands for the header `x-y`."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    given = {} if isinstance(body, bytes) else {"content-type": "application/json"}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
    return f"HTTP/1.1 {status} Said\r\n{lines}content-length: {len(data)}\r\n\r\n".encode() + data


def error(status: int, kind: str, message: str = "words", **headers: str) -> bytes:
    return answer(status, {"type": "error", "error": {"type": kind, "message": message}}, **headers)


STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\nrequest-id: req_1\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)
LAST_CHUNK = b"0\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def event(kind: str, **members: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **members})}\n\n".encode()


def begin(**usage: Any) -> bytes:
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "content": []}
    return event(
        "message_start", message={**message, "stop_reason": None, "usage": usage or {"input_tokens": 7, "output_tokens": 1}}
    )


def text_block(index: int, *texts: str) -> bytes:
    return b"".join(_block(index, {"type": "text", "text": ""}, [{"type": "text_delta", "text": text} for text in texts]))


def block(index: int, start: Json, *deltas: Json) -> bytes:
    return b"".join(_block(index, start, deltas))


def _block(index: int, start: Json, deltas: Sequence[Json]) -> Iterator[bytes]:
    yield event("content_block_start", index=index, content_block=start)
    for delta in deltas:
        yield event("content_block_delta", index=index, delta=delta)
    yield event("content_block_stop", index=index)


def end(stop_reason: str = "end_turn", **usage: Any) -> bytes:
    told = {"stop_reason": stop_reason, "stop_sequence": None}
    return event("message_delta", delta=told, usage=usage or {"output_tokens": 5}) + event("message_stop")


def streamed(*pieces: bytes) -> bytes:
    """A whole stream, each piece in a chunk of its own."""
    return STREAM_HEAD + b"".join(chunk(piece) for piece in pieces) + LAST_CHUNK


#: An answer that says "Hello".
HELLO = streamed(begin(), text_block(0, "Hel", "lo"), end())


def know_no_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names under `.invalid` are not known to anybody (RFC 2606), and nobody is asked for them."""
    look_up = socket.getaddrinfo

    def look_up_here(host: Any, *args: Any, **options: Any) -> Any:
        if str(host).endswith(".invalid"):
            raise socket.gaierror(socket.EAI_NONAME, "not known")
        return look_up(host, *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", look_up_here)
