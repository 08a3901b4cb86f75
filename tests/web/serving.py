"""A real server in a thread, and requests as they go over the wire: nothing is added to them but what a test asks for."""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from stenograph.config import Config
from stenograph.net import loopback_listener
from stenograph.web import Access, Viewer
from stenograph.web.server import Server


class Answer(Struct):
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def text(self) -> str:
        return self.body.decode()


class Served(Struct):
    """A running server, asked as a program that has its token."""

    access: Access

    def ask(self, target: str, method: str = "GET", *, headers: Mapping[str, str] | None = None, body: bytes = b"") -> Answer:
        return self.raw(target, method, headers={"Authorization": f"Bearer {self.access.token}", **(headers or {})}, body=body)

    def raw(self, target: str, method: str = "GET", *, headers: Mapping[str, str] | None = None, body: bytes = b"") -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.access.port, timeout=30)
        given = {"Host": f"127.0.0.1:{self.access.port}", **(headers or {})}
        with contextlib.closing(connection):
            connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
            for name, value in given.items():
                if value:
                    connection.putheader(name, value)
            if body and "Transfer-Encoding" not in given:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body or None)
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())


@contextlib.contextmanager
def served(
    home: Path, *, allow_edits: bool = False, port: int = 0, index: Path | None = None, program: str = "steno"
) -> Iterator[Served]:
    started = threading.Event()
    with loopback_listener(port) as listener:
        access = Access(listener.getsockname()[1])
        server = Server(
            Viewer(
                homes=[home],
                config=Config(),
                archive=home.parent / f"{home.name}-archive",
                index=index,
                allow_edits=allow_edits,
                program=program,
            ),
            access,
            lambda _: started.set(),
        )
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        try:
            assert started.wait(10)
            yield Served(access)
        finally:
            server.should_exit = True
            thread.join(10)
            assert not thread.is_alive()
