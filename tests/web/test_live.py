"""Live events: how many may read them, and how."""

from __future__ import annotations

import contextlib
import socket
import time
from pathlib import Path

import pytest
from tests.homes import session_id, turns, write_session
from tests.web.serving import served

from stenograph.web import live

FIRST = session_id(1)
READERS = 5


def test_many_readers_that_start_at_once_do_not_pass_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_session(tmp_path, FIRST, turns(3), modified=time.time())
    monkeypatch.setattr(live, "_MOST_READERS", READERS)
    with served(tmp_path) as viewer, contextlib.ExitStack() as stack:
        own = f"Host: 127.0.0.1:{viewer.access.port}\r\nAuthorization: Bearer {viewer.access.token}"
        head = f"GET /api/v1/sessions/{FIRST}/events HTTP/1.1\r\n{own}\r\n\r\n".encode()

        def start() -> socket.socket:
            reader = stack.enter_context(socket.create_connection(("127.0.0.1", viewer.access.port), timeout=20))
            reader.sendall(head)
            return reader

        readers = [start() for _ in range(40)]
        assert sorted(reader.recv(12)[9:] for reader in readers) == [b"200"] * READERS + [b"503"] * (40 - READERS)
        # Who goes leaves a place.
        for reader in readers:
            reader.close()
        end = time.monotonic() + 10
        while (status := start().recv(12)[9:]) != b"200":
            assert status == b"503"
            assert time.monotonic() < end
            time.sleep(0.05)


def test_a_head_request_for_events_ends_at_once(tmp_path: Path) -> None:
    write_session(tmp_path, FIRST, turns(3), modified=time.time())
    with served(tmp_path) as viewer:
        answer = viewer.ask(f"/api/v1/sessions/{FIRST}/events", "HEAD")
        assert (answer.status, answer.headers["Allow"]) == (405, "GET")
