"""Those who connect without being let in: they take no place for long, and keep no one out."""

from __future__ import annotations

import contextlib
import socket
import time
from pathlib import Path

import pytest
from tests.homes import session_id, turns, write_session
from tests.web.serving import Served, served

from stenograph.web import connections, security

FIRST = session_id(1)


def connected(viewer: Served, stack: contextlib.ExitStack, sent: bytes = b"") -> socket.socket:
    connection = stack.enter_context(socket.create_connection(("127.0.0.1", viewer.access.port), timeout=10))
    connection.sendall(sent)
    return connection


def head_of(viewer: Served, target: str = "/", *more: str) -> bytes:
    own = f"Host: 127.0.0.1:{viewer.access.port}"
    return "\r\n".join([f"GET {target} HTTP/1.1", own, *more, "", ""]).encode()


def received(connection: socket.socket) -> bytes:
    """Until it is closed."""
    answer = b""
    with contextlib.suppress(ConnectionResetError):
        while piece := connection.recv(65536):
            answer += piece
    return answer


def signed_in(viewer: Served) -> str:
    return f"Authorization: Bearer {viewer.access.token}"


@pytest.mark.parametrize("sent", [b"", b"GET / HT"])
def test_a_connection_without_a_whole_head_is_closed(sent: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.3)
    with served(tmp_path) as viewer, contextlib.ExitStack() as stack:
        assert received(connected(viewer, stack, sent)) == b""


def test_the_next_head_of_a_connection_has_to_be_whole_in_time_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.3)
    with served(tmp_path) as viewer, contextlib.ExitStack() as stack:
        connection = connected(viewer, stack, head_of(viewer, "/static/style.css", signed_in(viewer)))
        assert connection.recv(12) == b"HTTP/1.1 200"
        connection.sendall(b"GET /")
        assert received(connection)


def test_a_connection_that_is_not_let_in_is_closed_even_if_its_body_never_ends(tmp_path: Path) -> None:
    with served(tmp_path) as viewer, contextlib.ExitStack() as stack:
        head = head_of(viewer, "/", "Content-Length: 60000").replace(b"GET", b"POST")
        assert received(connected(viewer, stack, head + b"x")).startswith(b"HTTP/1.1 401 ")


def test_idle_connections_keep_no_one_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 20)
    with served(tmp_path) as viewer, contextlib.ExitStack() as stack:
        idle = [connected(viewer, stack) for _ in range(100)]
        assert viewer.ask("/static/style.css").status == 200
        # The oldest were closed, and the newest wait.
        assert received(idle[0]) == b""
        idle[-1].sendall(head_of(viewer))
        assert received(idle[-1]).startswith(b"HTTP/1.1 401 ")


def test_idle_connections_close_none_of_a_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_session(tmp_path, FIRST, turns(3), modified=time.time())
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 5)
    with served(tmp_path) as viewer, contextlib.ExitStack() as stack:
        reader = connected(viewer, stack, head_of(viewer, f"/api/v1/sessions/{FIRST}/events", signed_in(viewer)))
        seen = reader.recv(65536)
        for _ in range(50):
            connected(viewer, stack)
        while b"event: ready" not in seen:
            seen += reader.recv(65536)
        reader.settimeout(0.3)
        with pytest.raises(TimeoutError):
            reader.recv(65536)


def test_only_requests_that_are_let_in_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_session(tmp_path, FIRST, turns(3), modified=time.time())
    monkeypatch.setattr(security, "_MOST_REQUESTS", 2)
    with served(tmp_path) as viewer, contextlib.ExitStack() as stack:
        for _ in range(5):
            connected(viewer, stack, b"GET /")
        events = head_of(viewer, f"/api/v1/sessions/{FIRST}/events", signed_in(viewer))
        first, second = connected(viewer, stack, events), connected(viewer, stack, events)
        assert (first.recv(12), second.recv(12)) == (b"HTTP/1.1 200", b"HTTP/1.1 200")
        assert viewer.ask("/static/style.css").status == 503
        assert viewer.raw("/").status == 401
        second.close()
        wait_for(lambda: viewer.ask("/static/style.css").status == 200)


def wait_for(condition: object) -> None:
    assert callable(condition)
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize("size", [33_000, 70_000])
def test_headers_over_the_limit_are_refused_even_in_one_packet(size: int, tmp_path: Path) -> None:
    with served(tmp_path) as viewer, contextlib.ExitStack() as stack:
        long = head_of(viewer, "/", signed_in(viewer), f"X-Long: {'x' * size}")
        assert received(connected(viewer, stack, long)).startswith(b"HTTP/1.1 431 ")


def test_much_longer_headers_are_not_even_read(tmp_path: Path) -> None:
    with served(tmp_path) as viewer, contextlib.ExitStack() as stack:
        connection = connected(viewer, stack)
        with contextlib.suppress(OSError):  # it is closed before all was sent
            connection.sendall(head_of(viewer, "/", signed_in(viewer), *["a:"] * 100_000))
        assert received(connection)[9:12] in (b"400", b"")


def test_a_cookie_full_of_backslashes_is_refused_at_once(tmp_path: Path) -> None:
    cookie = 'x="' + "\\" * 30_000 + '"'
    with served(tmp_path) as viewer:
        start = time.monotonic()
        assert viewer.raw("/", headers={"Cookie": cookie}).status == 401
        assert viewer.ask("/static/style.css", headers={"Cookie": cookie}).status == 200
        assert viewer.ask("/", headers={"Cookie": f"steno_theme={cookie}"}).status == 200
        assert time.monotonic() - start < 6.0  # one such header took four


def test_the_pages_see_the_theme_and_no_other_cookie(tmp_path: Path) -> None:
    with served(tmp_path) as viewer:
        landing = viewer.raw(f"/?token={viewer.access.token}").headers["Set-Cookie"].partition(";")[0]
        dark = viewer.raw("/", headers={"Cookie": f"a=b; {landing}; steno_theme=dark"})
        assert dark.status == 200
        assert 'data-theme="dark"' in dark.text
        assert "data-theme=" not in viewer.raw("/", headers={"Cookie": f"{landing}; steno_theme=blue"}).text[:300]
