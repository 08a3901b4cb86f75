"""TLS inside TLS, blocking: to a server through a proxy that is itself reached over TLS. `ssl` wraps only plain sockets."""

from __future__ import annotations

import io
import ssl
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import socket

_Result = TypeVar("_Result")
_PIECE = 65536


class NestedTls:
    """As much of a socket as `http.client` uses."""

    def __init__(self, outer: socket.socket, context: ssl.SSLContext, host: str) -> None:
        self._outer = outer
        self._received, self._to_send = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._received, self._to_send, server_hostname=host)
        self._drive(self._tls.do_handshake)

    def sendall(self, data: Any) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[self._drive(lambda: self._tls.write(rest)) :]  # noqa: B023 - called at once

    def recv_into(self, buffer: Any) -> int:
        try:
            data = self._drive(lambda: self._tls.read(len(buffer)))
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            return 0
        buffer[: len(data)] = data
        return len(data)

    def makefile(self, mode: str, buffering: int = -1) -> io.BufferedReader:  # noqa: ARG002 - as a socket's
        return io.BufferedReader(_Reader(self))

    def close(self) -> None:
        self._outer.close()

    def _drive(self, step: Callable[[], _Result]) -> _Result:
        while True:
            try:
                done = step()
            except ssl.SSLWantReadError:
                self._flush()
                if data := self._outer.recv(_PIECE):
                    self._received.write(data)
                else:
                    self._received.write_eof()
            else:
                self._flush()
                return done

    def _flush(self) -> None:
        if data := self._to_send.read():
            self._outer.sendall(data)


class _Reader(io.RawIOBase):
    def __init__(self, source: NestedTls) -> None:
        self._source = source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._source.recv_into(buffer)
