"""The blocking connection, against a server on loopback that plays bytes, faults included."""

from __future__ import annotations

import gzip
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from tests.model.raw_endpoint import Do, RawEndpoint, SocksProxy, TunnelProxy, answer, make_certificate

from stenograph.errors import MalformedResponseError, NetworkError, NetworkTimeoutError, ProxyRefusedError, UnknownHostError
from stenograph.net import Address, Connection, Proxy, Tls


@contextmanager
def connected(server: RawEndpoint, *, timeout: float = 10.0, patience: float = 30.0) -> Iterator[Connection]:
    address = Address("http", "127.0.0.1", server.port)
    with closing(Connection(address, timeout=timeout, patience=patience)) as connection:
        yield connection


def test_one_connection_carries_one_exchange_after_the_other() -> None:
    with RawEndpoint([answer(200, b"one", x_y="Z")], [answer(404, b"two")]) as server, connected(server) as connection:
        head = connection.send("GET", "/a?b=c", {"accept": "text/plain"})
        assert (head.status, head.headers["x-y"], connection.read(100)) == (200, "Z", b"one")
        assert connection.send("POST", "/d", {}, b"body").status == 404
        assert connection.read(100) == b"two"
    first, second = server.requests
    assert (first.method, first.target, first.headers["host"]) == ("GET", "/a?b=c", f"127.0.0.1:{server.port}")
    assert (second.method, second.target, second.body) == ("POST", "/d", b"body")
    assert server.connections == [0, 0]


@pytest.mark.parametrize("limit", [0, 4, None])
def test_a_body_that_is_not_read_to_its_end_is_not_taken_for_the_next_response(limit: int | None) -> None:
    with RawEndpoint([answer(200, b"0123456789")], [answer(200, b"next")]) as server, connected(server) as connection:
        connection.send("GET", "/", {})
        if limit is not None:
            assert connection.read(limit) == b"0123456789"[:limit]
        connection.send("GET", "/", {})
        assert connection.read(100) == b"next"
    assert server.connections == [0, 1]


def test_a_redirect_is_a_response_like_any_other() -> None:
    with RawEndpoint([answer(302, b"", location="/b")]) as server, connected(server) as connection:
        head = connection.send("GET", "/a", {})
    assert (head.status, head.headers["location"], len(server.requests)) == (302, "/b", 1)


def test_a_connection_that_was_closed_while_idle_is_opened_again() -> None:
    with RawEndpoint([answer(200, b"one"), Do.HANG_UP], [answer(200, b"two")]) as server, connected(server) as connection:
        for expected in (b"one", b"two"):
            connection.send("GET", "/", {})
            assert connection.read(100) == expected
    assert server.connections == [0, 1]


def test_a_new_connection_that_is_cut_is_an_error() -> None:
    with RawEndpoint([Do.HANG_UP]) as server, connected(server) as connection:
        with pytest.raises(NetworkError):
            connection.send("GET", "/", {})
        assert server.connections == [0]


@pytest.mark.parametrize("head", [b"content-length: 9", b"transfer-encoding: chunked"])
def test_a_body_that_is_cut_is_not_taken_for_the_whole(head: bytes) -> None:
    cut = b"HTTP/1.1 200 OK\r\n" + head + b"\r\n\r\n5\r\nab"
    with RawEndpoint([cut, Do.HANG_UP]) as server, connected(server) as connection:
        with pytest.raises(MalformedResponseError) as caught:
            _exchange(connection)
        assert caught.value.reason == "IncompleteRead"


def test_what_is_not_http_is_an_error_that_does_not_quote_it() -> None:
    with RawEndpoint([b"sentinel\r\n\r\n"]) as server, connected(server) as connection:
        with pytest.raises(MalformedResponseError) as caught:
            connection.send("GET", "/", {})
        assert caught.value.reason == "BadStatusLine"
        assert "sentinel" not in str(caught.value)
        assert caught.value.__cause__ is None


@pytest.mark.parametrize("start", [b"", b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n", b"HTTP/1.0 200 OK\r\n\r\n"])
def test_a_response_that_drips_ends_with_the_patience(start: bytes) -> None:
    drops = [part for _ in range(200) for part in (b"H", 0.05)]
    with RawEndpoint([start, *drops]) as server, connected(server, timeout=5.0, patience=0.4) as connection:
        began = time.monotonic()
        with pytest.raises(NetworkTimeoutError):
            _exchange(connection)
        assert 0.3 < time.monotonic() - began < 4.0


def test_a_server_that_says_nothing_runs_into_the_time_out() -> None:
    with RawEndpoint([5.0]) as server, connected(server, timeout=0.2) as connection, pytest.raises(NetworkTimeoutError):
        _exchange(connection)


def test_another_thread_can_hang_up() -> None:
    with RawEndpoint([b"HTTP/1.0 200 OK\r\n\r\n", Do.WATCH]) as server, connected(server) as connection:
        timer = threading.Timer(0.2, connection.hang_up)
        timer.start()
        began = time.monotonic()
        with pytest.raises(NetworkTimeoutError):
            _exchange(connection)
        assert time.monotonic() - began < 5.0
        timer.join()


def test_a_connection_that_was_hung_up_before_it_was_open_does_not_send() -> None:
    with RawEndpoint([answer(200, b"one")]) as server, connected(server) as connection:
        connection.hang_up()
        with pytest.raises(NetworkTimeoutError):
            connection.send("GET", "/", {})
        assert not server.requests
        assert connection.send("GET", "/", {}).status == 200


def test_a_proxy_that_opens_no_tunnel_is_named_with_its_status() -> None:
    with RawEndpoint([answer()]) as server, TunnelProxy(server, refuses_with=407) as proxy:
        host, _, port = proxy.authority.partition(":")
        through = Proxy(Address("http", host, int(port)))
        connection = Connection(Address("https", "a.invalid", 443), proxy=through, timeout=5.0, patience=9.0)
        with pytest.raises(ProxyRefusedError) as caught:
            connection.send("GET", "/", {})
    assert (caught.value.status, caught.value.reason) == (407, "the proxy answered with HTTP 407")


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> tuple[tuple[Path, Path], tuple[Path, Path]]:
    """Certificates of a server and of a proxy."""
    return (
        make_certificate(tmp_path_factory.mktemp("server"), "DNS:a.invalid"),
        make_certificate(tmp_path_factory.mktemp("proxy"), "IP:127.0.0.1"),
    )


@pytest.mark.parametrize("is_secure", [False, True])
@pytest.mark.parametrize("kind", ["http", "https", "socks5h"])
def test_every_kind_of_proxy_is_gone_through(
    kind: str, is_secure: bool, pairs: tuple[tuple[Path, Path], tuple[Path, Path]]
) -> None:
    of_server, of_proxy = pairs
    body = b"x" * 300_000
    server = RawEndpoint(
        [answer(200, body)], [answer(200, b"two", connection="close")], certificate=of_server if is_secure else None
    )
    proxy = SocksProxy(server) if kind == "socks5h" else TunnelProxy(server, certificate=of_proxy if kind == "https" else None)
    trusted = Tls(added={"a": str(of_server[0]), "b": str(of_proxy[0])})
    address = Address("https", "a.invalid", 443) if is_secure else Address("http", "a.invalid", 80)
    with server, proxy:
        host, _, port = proxy.authority.partition(":")
        through = Proxy(Address(kind, host, int(port)), "u", "p")
        if kind == "socks5h":
            through = Proxy(Address(kind, host, int(port)))
        with closing(Connection(address, proxy=through, tls=trusted, timeout=5.0, patience=9.0)) as connection:
            for expected in (body, b"two", b"two"):
                connection.send("POST", "/a", {}, body)
                assert connection.read(400_000) == expected
    assert [request.body == body for request in server.requests] == [True] * 3
    # A response that closes the connection is followed by a new one, through the proxy again.
    assert server.connections == [0, 0, 1]
    if isinstance(proxy, TunnelProxy):
        asked = "CONNECT a.invalid:443" if is_secure else "POST http://a.invalid/a"
        assert proxy.asked == [(asked, "Basic dTpw")] * 2
    else:
        assert proxy.asked == [("a.invalid", address.port)] * 2


def test_a_compressed_body_is_read_up_to_the_limit() -> None:
    packed = gzip.compress(b"words " * 1_000_000)
    with RawEndpoint([answer(200, packed, content_encoding="gzip")]) as server, connected(server) as connection:
        connection.send("GET", "/", {})
        assert connection.read(5_000_001) == (b"words " * 1_000_000)[:5_000_001]


def test_a_compression_that_is_not_known_is_an_error() -> None:
    with (
        RawEndpoint([answer(200, b"x", content_encoding="br")]) as server,
        connected(server) as connection,
        pytest.raises(MalformedResponseError),
    ):
        connection.send("GET", "/", {})


def test_a_name_that_dns_does_not_allow_is_an_unknown_host() -> None:
    connection = Connection(Address("http", f"{'a' * 64}.invalid", 80), timeout=5.0, patience=9.0)
    with pytest.raises(UnknownHostError):
        connection.send("GET", "/", {})


def test_the_libraries_are_loaded_with_the_first_connection() -> None:
    code = "import sys, stenograph.net; print(*sys.modules)"
    loaded = set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())
    assert not {"socket", "ssl", "http.client", "urllib.request", "email", "h11", "asyncio"} & loaded


def _exchange(connection: Connection) -> None:
    connection.send("GET", "/", {})
    connection.read(1_000)
