"""TLS and proxies: a made certificate, a small real proxy, and names that only the proxy knows."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.model.asking import ask, client_for, collect, use
from tests.model.raw_endpoint import HELLO, Do, RawEndpoint, SocksProxy, TunnelProxy, answer, know_no_names, make_certificate

from stenograph.errors import ConfigError, ModelError, UnreachableError, UntrustedCertificateError
from stenograph.model import endpoint_from_environment, transport
from stenograph.model.client import ModelClient
from stenograph.model.events import BlockStop, Retrying, StreamEvent
from stenograph.model.failures import Failures
from stenograph.model.transport import Dialer
from stenograph.net import Address


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return make_certificate(tmp_path_factory.mktemp("tls"), "IP:127.0.0.1,DNS:model.invalid")


@pytest.fixture(autouse=True)
def _no_names(monkeypatch: pytest.MonkeyPatch) -> None:
    know_no_names(monkeypatch)


def texts(events: list[StreamEvent | ModelError]) -> list[str]:
    return [each.block["text"] for each in events if isinstance(each, BlockStop)]


def both(client: ModelClient) -> Any:
    async def run() -> list[str]:
        return [*texts(await collect(client)), *texts(await collect(client))]

    return run()


def test_tls_is_spoken_where_the_certificate_is_trusted(certificate: tuple[Path, Path]) -> None:
    with RawEndpoint([HELLO], certificate=certificate) as server:
        client = client_for(server.url, NODE_EXTRA_CA_CERTS=str(certificate[0]))
        assert use(client, both) == ["Hello", "Hello"]
    assert server.connections == [0, 0]


def test_the_authorities_of_the_system_are_trusted(certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    with RawEndpoint([HELLO], certificate=certificate) as server:
        assert texts(ask(server.url)) == ["Hello"]


def test_a_certificate_that_is_not_trusted_is_told_at_once(certificate: tuple[Path, Path]) -> None:
    with RawEndpoint([HELLO], certificate=certificate) as server:
        [failed] = ask(server.url)
    assert isinstance(failed, UnreachableError)
    assert "NODE_EXTRA_CA_CERTS" in str(failed)
    assert not server.requests


def test_a_certificate_of_another_host_is_told_at_once(tmp_path: Path) -> None:
    pair = make_certificate(tmp_path, "DNS:other.invalid")
    with RawEndpoint([HELLO], certificate=pair) as server:
        [failed] = ask(server.url, NODE_EXTRA_CA_CERTS=str(pair[0]))
    assert isinstance(failed, UnreachableError)
    assert "ANTHROPIC_BASE_URL" in str(failed)
    assert "NODE_EXTRA_CA_CERTS" not in str(failed)
    assert not server.requests


def test_a_certificate_that_has_expired_is_not_a_matter_of_authorities() -> None:
    """OpenSSL's own words for it (X509_V_ERR_CERT_HAS_EXPIRED)."""
    failures = Failures(endpoint_from_environment({"ANTHROPIC_BASE_URL": "https://127.0.0.1:1", "ANTHROPIC_API_KEY": "sk-x"}))
    failed = failures.of_exception(UntrustedCertificateError("certificate has expired"))
    assert "renewed" in str(failed.error)
    assert "NODE_EXTRA_CA_CERTS" not in str(failed.error)


@pytest.mark.parametrize("content", [None, b"no certificate"])
def test_a_file_of_authorities_that_is_none_is_told_at_once(content: bytes | None, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "ca.pem").write_bytes(content)
    [failed] = ask("https://127.0.0.1:1", NODE_EXTRA_CA_CERTS=str(tmp_path / "ca.pem"))
    assert isinstance(failed, UnreachableError)
    assert "NODE_EXTRA_CA_CERTS" in str(failed)


def test_tls_to_a_port_of_plain_http_fails() -> None:
    def refuse(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=refuse, args=[listener])
        server.start()
        events = ask(f"https://127.0.0.1:{listener.getsockname()[1]}", CLAUDE_CODE_MAX_RETRIES="0")
        server.join()
    assert [type(each) for each in events] == [UnreachableError]
    assert "SSLError" in str(events[-1])


def test_a_plain_proxy_is_asked_for_the_whole_address() -> None:
    with RawEndpoint([HELLO]) as server, TunnelProxy(server) as proxy:
        client = client_for("http://model.invalid/base", HTTP_PROXY=f"http://us%40er:pass@{proxy.authority}")
        assert use(client, both) == ["Hello", "Hello"]
    # "us@er:pass" in base64, by `printf us@er:pass | base64`.
    assert proxy.asked == [("POST http://model.invalid/base/v1/messages", "Basic dXNAZXI6cGFzcw==")]
    assert [request.headers["host"] for request in server.requests] == ["model.invalid", "model.invalid"]
    assert server.connections == [0, 0]


def test_tls_goes_through_a_tunnel(certificate: tuple[Path, Path]) -> None:
    with RawEndpoint([HELLO], certificate=certificate) as server, TunnelProxy(server) as proxy:
        client = client_for(
            "https://model.invalid", NODE_EXTRA_CA_CERTS=str(certificate[0]), HTTPS_PROXY=f"u:p@{proxy.authority}"
        )
        assert use(client, both) == ["Hello", "Hello"]
    assert proxy.asked == [("CONNECT model.invalid:443", "Basic dTpw")]
    assert [request.target for request in server.requests] == ["/v1/messages"] * 2
    # The proxy's user is the proxy's, not the endpoint's.
    assert all("proxy-authorization" not in request.headers for request in server.requests)
    assert server.connections == [0, 0]


def test_a_stranger_behind_the_tunnel_is_not_trusted(certificate: tuple[Path, Path]) -> None:
    with RawEndpoint([HELLO], certificate=certificate) as server, TunnelProxy(server) as proxy:
        [failed] = ask("https://other.invalid", NODE_EXTRA_CA_CERTS=str(certificate[0]), HTTPS_PROXY=proxy.authority)
    assert isinstance(failed, UnreachableError)
    assert "certificate" in str(failed)
    assert not server.requests


@pytest.mark.parametrize(
    ("status", "tries", "words"), [(407, 1, "user and a password"), (403, 1, "HTTPS_PROXY"), (502, 2, "HTTP 502")]
)
def test_a_proxy_that_refuses_is_told(status: int, tries: int, words: str) -> None:
    with RawEndpoint([HELLO]) as server, TunnelProxy(server, refuses_with=status) as proxy:
        events = ask("https://model.invalid", HTTPS_PROXY=f"http://u:sentinel@{proxy.authority}", CLAUDE_CODE_MAX_RETRIES="1")
    assert len(proxy.asked) == tries
    assert isinstance(events[-1], UnreachableError)
    assert words in str(events[-1])
    assert "sentinel" not in str(events[-1])


def test_a_proxy_that_wants_a_user_for_plain_requests_is_told() -> None:
    with RawEndpoint([HELLO]) as server, TunnelProxy(server, refuses_with=407) as proxy:
        [failed] = ask("http://model.invalid", HTTP_PROXY=proxy.authority)
    assert isinstance(failed, ModelError)
    assert failed.status == 407
    assert "user and a password" in str(failed)


def test_a_proxy_that_is_not_there_is_tried_again() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    events = ask("https://model.invalid", HTTPS_PROXY=f"127.0.0.1:{port}", CLAUDE_CODE_MAX_RETRIES="1")
    assert [type(each) for each in events] == [Retrying, UnreachableError]


def test_connecting_has_a_time_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "CONNECT_TIMEOUT", 0.1)
    # A listener that never speaks TLS: the connection is there, its securing never ends.
    with socket.create_server(("127.0.0.1", 0)) as silent:
        [failed] = ask(f"https://127.0.0.1:{silent.getsockname()[1]}", CLAUDE_CODE_MAX_RETRIES="0")
    assert isinstance(failed, UnreachableError)
    assert "connected to in time" in str(failed)


def test_a_cut_in_tls_is_a_cut(certificate: tuple[Path, Path]) -> None:
    with RawEndpoint([HELLO[:-200], Do.HANG_UP], [HELLO], certificate=certificate) as server:
        events = ask(server.url, NODE_EXTRA_CA_CERTS=str(certificate[0]))
    assert [type(each) for each in events].count(Retrying) == 1
    assert texts(events)[-1] == "Hello"


def test_a_request_without_a_body_can_be_made_too() -> None:
    async def get(server: RawEndpoint) -> tuple[int, bytes]:
        connection = await Dialer(Address("http", "127.0.0.1", server.port)).open()
        head = await connection.send("GET", "/page?x=1", [("host", "h")])
        read = await connection.read()
        assert await connection.read() == b""
        connection.close()
        return head.status, read

    with RawEndpoint([answer(200, b"page")]) as server:
        assert asyncio.run(get(server)) == (200, b"page")
    assert [(request.method, request.target) for request in server.requests] == [("GET", "/page?x=1")]
    assert "content-length" not in server.requests[0].headers


@pytest.fixture(scope="module")
def client_pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate of ours, its key encrypted with "open"."""
    return make_certificate(tmp_path_factory.mktemp("client"), "DNS:client.invalid", passphrase="open")


def test_a_server_that_wants_a_certificate_gets_ours(certificate: tuple[Path, Path], client_pair: tuple[Path, Path]) -> None:
    environ = {
        "NODE_EXTRA_CA_CERTS": str(certificate[0]),
        "CLAUDE_CODE_CLIENT_CERT": str(client_pair[0]),
        "CLAUDE_CODE_CLIENT_KEY": str(client_pair[1]),
        "CLAUDE_CODE_CLIENT_KEY_PASSPHRASE": "open",
    }
    with RawEndpoint([HELLO], certificate=certificate, clients=client_pair[0]) as server:
        assert use(client_for(server.url, **environ), both) == ["Hello", "Hello"]


def test_a_server_that_wants_a_certificate_says_so(certificate: tuple[Path, Path], client_pair: tuple[Path, Path]) -> None:
    with RawEndpoint([HELLO], certificate=certificate, clients=client_pair[0]) as server:
        [failed] = ask(server.url, NODE_EXTRA_CA_CERTS=str(certificate[0]))
    assert isinstance(failed, UnreachableError)
    assert "requires a client certificate: set CLAUDE_CODE_CLIENT_CERT" in str(failed)


@pytest.mark.parametrize("passphrase", ["", "sentinel-wrong"])
def test_a_key_that_can_not_be_opened_is_told_at_once(passphrase: str, client_pair: tuple[Path, Path]) -> None:
    environ = {"CLAUDE_CODE_CLIENT_CERT": str(client_pair[0]), "CLAUDE_CODE_CLIENT_KEY": str(client_pair[1])}
    [failed] = ask("https://127.0.0.1:1", CLAUDE_CODE_CLIENT_KEY_PASSPHRASE=passphrase, **environ)
    assert isinstance(failed, UnreachableError)
    assert "CLAUDE_CODE_CLIENT_KEY" in str(failed)
    assert "passphrase" in str(failed)
    assert "sentinel" not in str(failed)


def test_a_key_without_its_certificate_is_a_wrong_setting() -> None:
    with pytest.raises(ConfigError, match="CLAUDE_CODE_CLIENT_KEY requires CLAUDE_CODE_CLIENT_CERT"):
        client_for("https://127.0.0.1:1", CLAUDE_CODE_CLIENT_KEY="/key.pem")


@pytest.mark.parametrize("name", ["NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"])
def test_authorities_are_named_by_the_usual_variables(name: str, certificate: tuple[Path, Path]) -> None:
    with RawEndpoint([HELLO], certificate=certificate) as server:
        assert texts(ask(server.url, **{name: str(certificate[0])})) == ["Hello"]
    [failed] = ask("https://127.0.0.1:1", **{name: "/there/is/none.pem"})
    assert name in str(failed)


def test_ssl_cert_file_is_all_that_is_trusted(certificate: tuple[Path, Path], tmp_path: Path) -> None:
    other = make_certificate(tmp_path, "DNS:other.invalid")
    with RawEndpoint([HELLO], certificate=certificate) as server:
        [failed] = ask(server.url, SSL_CERT_FILE=str(other[0]))
        assert "certificate that is not trusted" in str(failed)
        added = {"SSL_CERT_FILE": str(other[0]), "NODE_EXTRA_CA_CERTS": str(certificate[0])}
        assert texts(ask(server.url, **added)) == ["Hello"]


@pytest.fixture(scope="module")
def of_proxy(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return make_certificate(tmp_path_factory.mktemp("proxy"), "IP:127.0.0.1")


def test_a_proxy_is_reached_over_tls(certificate: tuple[Path, Path], of_proxy: tuple[Path, Path]) -> None:
    trusted = {"NODE_EXTRA_CA_CERTS": str(certificate[0]), "REQUESTS_CA_BUNDLE": str(of_proxy[0])}
    with RawEndpoint([HELLO], certificate=certificate) as server, TunnelProxy(server, certificate=of_proxy) as proxy:
        client = client_for("https://model.invalid", HTTPS_PROXY=f"https://u:p@{proxy.authority}", **trusted)
        assert use(client, both) == ["Hello", "Hello"]
    assert proxy.asked == [("CONNECT model.invalid:443", "Basic dTpw")]
    with RawEndpoint([HELLO]) as plain, TunnelProxy(plain, certificate=of_proxy) as proxy:
        client = client_for("http://model.invalid", HTTP_PROXY=f"https://{proxy.authority}", **trusted)
        assert use(client, both) == ["Hello", "Hello"]
    assert proxy.asked == [("POST http://model.invalid/v1/messages", "")]


def test_a_certificate_of_the_proxy_that_is_not_trusted_is_told_as_the_proxys(
    certificate: tuple[Path, Path], of_proxy: tuple[Path, Path]
) -> None:
    with RawEndpoint([HELLO], certificate=certificate) as server, TunnelProxy(server, certificate=of_proxy) as proxy:
        [failed] = ask("https://model.invalid", HTTPS_PROXY=f"https://{proxy.authority}", NODE_EXTRA_CA_CERTS=str(certificate[0]))
    assert str(failed).startswith("the proxy has a certificate that is not trusted")
    assert not proxy.asked


def test_our_certificate_goes_through_a_proxy_over_tls_to_the_endpoint_only(
    certificate: tuple[Path, Path], of_proxy: tuple[Path, Path], client_pair: tuple[Path, Path]
) -> None:
    environ = {
        "NODE_EXTRA_CA_CERTS": str(certificate[0]),
        "REQUESTS_CA_BUNDLE": str(of_proxy[0]),
        "CLAUDE_CODE_CLIENT_CERT": str(client_pair[0]),
        "CLAUDE_CODE_CLIENT_KEY": str(client_pair[1]),
        "CLAUDE_CODE_CLIENT_KEY_PASSPHRASE": "open",
    }
    server = RawEndpoint([HELLO], certificate=certificate, clients=client_pair[0])
    with server, TunnelProxy(server, certificate=of_proxy) as proxy:
        client = client_for("https://model.invalid", ALL_PROXY=f"https://{proxy.authority}", **environ)
        assert use(client, both) == ["Hello", "Hello"]


@pytest.mark.parametrize("is_secure", [False, True])
def test_a_socks_proxy_looks_the_name_up_itself(is_secure: bool, certificate: tuple[Path, Path]) -> None:
    server = RawEndpoint([HELLO], certificate=certificate if is_secure else None)
    with server, SocksProxy(server, user="us@er", password="pass") as proxy:
        client = client_for(
            f"http{'s' if is_secure else ''}://model.invalid",
            NODE_EXTRA_CA_CERTS=str(certificate[0]),
            ALL_PROXY=f"socks5h://us%40er:pass@{proxy.authority}",
        )
        assert use(client, both) == ["Hello", "Hello"]
    assert proxy.asked == [("model.invalid", 443 if is_secure else 80)]
    assert [request.target for request in server.requests] == ["/v1/messages"] * 2
    assert server.connections == [0, 0]


@pytest.mark.parametrize("given", [{"password": "other"}, {"refuses_with": 2}])
def test_a_socks_proxy_that_refuses_is_told_at_once(given: dict[str, Any]) -> None:
    with RawEndpoint([HELLO]) as server, SocksProxy(server, **{"user": "u", "password": "sentinel", **given}) as proxy:
        [failed] = ask("http://model.invalid", ALL_PROXY=f"socks5h://u:sentinel@{proxy.authority}")
    assert str(failed) == "the proxy does not connect to model.invalid: check HTTPS_PROXY or ALL_PROXY"


def test_ssl_is_not_set_up_for_plain_http(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("20 ms that plain http does not need")

    monkeypatch.setattr(ssl, "SSLContext", refuse)
    with RawEndpoint([HELLO]) as server:
        assert texts(ask(server.url)) == ["Hello"]
