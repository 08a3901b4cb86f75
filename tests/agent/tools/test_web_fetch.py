"""WebFetch, with a real server on loopback. Words are those of client 2.1.325 where it has some."""

from __future__ import annotations

import asyncio
import gzip
import os
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from lab.observatory.web_page import WebPage
from tests.agent.tools.desk import Desk
from tests.model.raw_endpoint import RawEndpoint, TunnelProxy, answer, make_certificate

from stenograph.agent.tools import page
from stenograph.agent.tools.base import Json, ToolFailed, ToolOutput
from stenograph.agent.tools.page import Fetch, FetchFailed, checked_address, markdown
from stenograph.agent.tools.web_fetch import WebFetch
from stenograph.errors import RefusedError
from stenograph.testing.scripted_api import LoopbackServer, LoopbackService

HTML = "<html><head><title>T</title><style>p{}</style></head><body><h1>Page</h1><script>x()</script><p>Wörds.</p></body></html>"
Answer = tuple[int, dict[str, str], bytes]
ANSWERS: dict[str, Answer] = {
    "/": (200, {"content-type": "text/html; charset=utf-8"}, HTML.encode()),
    "/latin": (200, {"content-type": "text/html"}, b'<meta charset="iso-8859-1"><p>W\xf6rds</p>'),
    "/surrogates": (200, {"content-type": "text/plain; charset=unicode_escape"}, b"a\\ud800b"),
    "/no-charset": (200, {"content-type": "text/plain; charset=idna"}, b"words"),
    "/odd-charset": (200, {"content-type": "text/plain; charset=klingon"}, b"words"),
    "/plain": (200, {"content-type": "text/plain"}, b"<b>plain</b>"),
    "/json": (200, {"content-type": "application/vnd.api+json"}, b'{"a": 1}'),
    "/untyped": (200, {}, b"<!doctype html><h2>Untyped</h2>"),
    "/image": (200, {"content-type": "image/png"}, b"\x89PNG\0"),
    "/lying": (200, {"content-type": "text/plain"}, b"\x7fELF\0\0\0"),
    "/mistyped": (200, {"content-type": "utf-8"}, b"words"),
    "/quoted-charset": (200, {"content-type": 'text/plain; charset="iso-8859-1"'}, b"W\xf6rds"),
    "/empty": (200, {"content-type": "text/html"}, b""),
    "/missing": (404, {"content-type": "text/html"}, b"no such page"),
    "/odd": (799, {}, b""),
    "/broken": (500, {}, b""),
    "/near": (302, {"location": "/plain"}, b""),
    "/elsewhere": (302, {"location": "https://example.com/"}, b""),
    "/no-location": (302, {}, b""),
    "/circle": (301, {"location": "/circle"}, b""),
    "/to-file": (302, {"location": "file:///etc/passwd"}, b""),
    "/deep": (200, {"content-type": "text/html"}, b"<div>" * 5000 + b"deep" + b"</div>" * 5000),
    "/a%20b?q=%C3%A9": (200, {"content-type": "text/plain"}, b"quoted"),
}


class Pages(LoopbackService):
    def __init__(self) -> None:
        self.asked: list[str] = []
        #: Of `/three` nobody is served before three ask; of `/stuck` before it is over.
        self.three = threading.Barrier(3)
        self.over = threading.Event()
        pages = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
                """Say nothing on stderr."""

            def do_GET(self) -> None:
                pages.asked.append(self.path)
                if self.path == "/huge":
                    self.send_response(200)
                    self.send_header("content-type", "text/plain")
                    self.end_headers()
                    for _ in range(40):
                        self.wfile.write(b"x" * 1024)
                    return
                if self.path == "/three":
                    pages.three.wait(20)
                if self.path == "/stuck":
                    pages.over.wait(20)
                status, headers, body = ANSWERS.get(self.path, ANSWERS["/plain"])
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        super().__init__(LoopbackServer(("127.0.0.1", 0), Handler))


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def pages() -> Iterator[Pages]:
    with Pages() as served:
        yield served
        served.over.set()


class Reader:
    """A small model that says what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    async def __call__(self, system: str, prompt: str) -> str:
        self.asked.append((system, prompt))
        return "Answered."


@pytest.fixture
def reader() -> Reader:
    return Reader()


@pytest.fixture
def desk(tmp_path: Path, reader: Reader) -> Desk:
    return Desk(tmp_path, reader)


def fetch(desk: Desk, url: str, tool: WebFetch | None = None) -> ToolOutput:
    return asyncio.run(desk.call(tool or WebFetch(), url=url, prompt="What is it?"))


def failure(desk: Desk, url: str) -> str:
    return asyncio.run(desk.fail(WebFetch(), url=url, prompt="What?"))


def test_a_page_is_read_as_markdown_by_the_small_model(desk: Desk, pages: Pages, reader: Reader) -> None:
    output = fetch(desk, f"{pages.url}/")
    assert output.content == "Answered."
    assert output.is_error is None
    assert {**output.structured, "durationMs": 0} == {
        "bytes": len(HTML.encode()),
        "code": 200,
        "codeText": "OK",
        "result": "Answered.",
        "durationMs": 0,
        "url": f"{pages.url}/",
    }
    ((system, prompt),) = reader.asked
    assert "not an instruction" in system
    assert "# Page\n\nWörds." in prompt
    assert prompt.endswith("What is it?")
    assert "x()" not in prompt
    assert "p{}" not in prompt


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/latin", "\nWörds\n"),
        ("/odd-charset", "\nwords\n"),
        ("/no-charset", "\nwords\n"),
        ("/mistyped", "\nwords\n"),
        ("/quoted-charset", "\nWörds\n"),
        ("/surrogates", "\na?b\n"),
        ("/plain", "\n<b>plain</b>\n"),
        ("/json", '\n{"a": 1}\n'),
        ("/untyped", "\n## Untyped\n"),
        ("/near", "\n<b>plain</b>\n"),
        ("/empty", "\n---\n\n---\n"),
        ("/deep", "deep"),
        ("/a b?q=é", "\nquoted\n"),
        ("/plain#part", "\n<b>plain</b>\n"),
    ],
)
def test_what_the_small_model_reads(desk: Desk, pages: Pages, reader: Reader, path: str, text: str) -> None:
    assert fetch(desk, pages.url + path).content == "Answered."
    assert text in reader.asked[0][1]


def test_a_page_that_takes_for_ever_to_convert_is_read_without_its_tags(
    desk: Desk, pages: Pages, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "_CONVERSION_LIMIT", 1.0)
    monkeypatch.setitem(ANSWERS, "/", (200, {"content-type": "text/html"}, b"<p>Before.</p>" + b"<a " * 200_000))
    began = time.monotonic()
    fetch(desk, f"{pages.url}/")
    assert time.monotonic() - began < 10
    assert "Before." in reader.asked[0][1]


@pytest.mark.parametrize(("path", "named"), [("/missing", "404 Not Found"), ("/broken", "500 Internal Server Error"),
                                             ("/odd", "799"), ("/no-location", "302 Found")])  # fmt: skip
def test_a_page_that_the_server_refuses_is_a_result(desk: Desk, pages: Pages, path: str, named: str) -> None:
    output = fetch(desk, pages.url + path)
    assert output.content == (
        f"The server returned HTTP {named}.\n\nThe response body was not retrieved. If this URL requires authentication, use an"
        " authenticated tool (e.g. `gh` for GitHub, or an MCP-provided fetch tool) instead of WebFetch."
    )
    assert output.structured["bytes"] == 0
    assert f"{output.structured['code']} {output.structured['codeText']}".strip() == named


def test_another_host_is_told_of_and_not_followed(desk: Desk, pages: Pages) -> None:
    output = fetch(desk, f"{pages.url}/elsewhere")
    assert output.content == (
        "REDIRECT DETECTED: The URL redirects to a location that was not fetched automatically.\n\n"
        f"    Original URL: {pages.url}/elsewhere\n"
        "    Redirect URL (from the server's Location header — server-supplied, not verified): https://example.com/\n"
        "    Status: 302 Found\n\n"
        "    To complete your request, I need to fetch content from the redirected URL. Please use WebFetch again with these"
        ' parameters:\n    - url: "https://example.com/"\n    - prompt: "What is it?"'
    )
    # The client counts the bytes of these words: two more than their characters.
    assert output.structured["bytes"] == len(output.content) + 2
    assert output.structured["codeText"] == "Found"


@pytest.mark.parametrize(
    ("there", "is_followed"),
    [
        ("https://example.com/b", True),
        ("https://www.example.com/a", True),
        ("http://example.com/a", False),
        ("https://example.com:8443/a", False),
        ("https://example.com.evil.test/a", False),
        ("https://sub.example.com/a", False),
        ("https://user@example.com/a", False),
        ("https://example.com:port/a", False),
    ],
)
def test_only_redirects_inside_a_host_are_followed(there: str, is_followed: bool) -> None:
    assert page._is_same_place(urlsplit("https://example.com/a"), urlsplit(there)) is is_followed


def test_a_redirect_to_a_host_that_a_rule_denies_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    there = "https://www.example.com/x"
    asked: list[str] = []

    def get(_: Fetch, url: str) -> tuple[int, str, page.WebPage]:
        asked.append(url)
        return (302, there, page.WebPage(status=302)) if url != there else (200, "", page.WebPage(status=200))

    monkeypatch.setattr(Fetch, "_get", get)
    assert Fetch("https://example.com/", os.environ).fetch().status == 200
    del asked[:]
    found = Fetch("https://example.com/", os.environ, lambda host: host != "www.example.com").fetch()
    assert (found.redirect, asked) == (there, ["https://example.com/"])


def test_a_redirect_to_a_file_is_not_followed(desk: Desk, pages: Pages) -> None:
    output = fetch(desk, f"{pages.url}/to-file")
    assert "file:///etc/passwd" in output.content
    assert output.structured["code"] == 302


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/image", "The page is not text (image/png, 5 bytes). Fetch it to a file with Bash and curl"),
        ("/lying", "The page is not text (text/plain, 7 bytes). Fetch it to a file with Bash and curl"),
        ("/circle", "The page redirects more than 10 times"),
    ],
)
def test_a_page_that_cant_be_read_is_a_clear_error(desk: Desk, pages: Pages, path: str, told: str) -> None:
    assert failure(desk, pages.url + path) == told


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("no address", "Invalid URL"),
        ("", "Invalid URL"),
        ("https://", "Invalid URL"),
        ("https://user:pw@example.com/", "Invalid URL"),
        ("https://exa mple.com/", "Invalid URL"),
        ("https://example.com:port/", "Invalid URL"),
        ("https://%65xample.com/", "Invalid URL"),
        ("https://[::1/", "Invalid URL"),
        ("https://example.com/" + "x" * 2000, "Invalid URL"),
        ("ftp://example.com/", "Unsupported protocol ftp:"),
        ("file:///etc/passwd", "Unsupported protocol file:"),
    ],
)
def test_an_address_that_is_none_is_a_clear_error(desk: Desk, url: str, told: str) -> None:
    assert failure(desk, url) == told


def test_a_server_that_is_not_there_is_a_clear_error(desk: Desk) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert failure(desk, f"http://127.0.0.1:{port}/") == f"connect ECONNREFUSED 127.0.0.1:{port}"


def test_a_host_that_nobody_knows_is_a_clear_error(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert failure(desk, "https://nosuch.invalid/") == "getaddrinfo ENOTFOUND nosuch.invalid"


def test_a_server_that_says_nonsense_is_a_clear_error(desk: Desk) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            peer, _ = server.accept()
            with peer:
                peer.recv(1000)
                peer.sendall(b"nonsense\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        told = failure(desk, f"http://127.0.0.1:{server.getsockname()[1]}/")
        thread.join()
    assert told == "127.0.0.1 gave an unusable answer (BadStatusLine)"


def test_a_page_that_is_too_large_is_a_clear_error(desk: Desk, pages: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "LARGEST", 20_000)
    assert failure(desk, f"{pages.url}/huge") == "The page is larger than 0 MB"


def test_a_page_that_takes_too_long_is_a_clear_error(desk: Desk, pages: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "PATIENCE", 0.1)
    assert failure(desk, f"{pages.url}/stuck") == "127.0.0.1 did not answer in time"


def test_a_file_of_authorities_that_is_none_is_a_clear_error(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NODE_EXTRA_CA_CERTS", "/there/is/none.pem")
    with WebPage(tmp_path) as secure:
        assert failure(desk, secure.url) == "The certificates of NODE_EXTRA_CA_CERTS cannot be used"


def test_a_compressed_page_is_read(desk: Desk, reader: Reader) -> None:
    packed = answer(200, gzip.compress(b"Words."), content_type="text/plain", content_encoding="gzip")
    with RawEndpoint([packed]) as site:
        fetch(desk, f"http://127.0.0.1:{site.port}/")
    assert "Words." in reader.asked[0][1]
    assert site.requests[0].headers["accept-encoding"] == "gzip"


def test_a_certificate_that_nobody_knows_is_a_clear_error(desk: Desk, tmp_path: Path) -> None:
    with WebPage(tmp_path) as secure:
        told = failure(desk, secure.url)
    assert told == "The certificate of 127.0.0.1 is not trusted: self-signed certificate"


@pytest.mark.parametrize("name", ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE"])
def test_a_page_over_tls_is_read(name: str, desk: Desk, tmp_path: Path, reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    with WebPage(tmp_path) as secure:
        monkeypatch.setenv(name, str(secure.certificate))
        output = fetch(desk, secure.url)
    assert output.structured["bytes"] == 84  # as in the recordings
    assert "# Page\n\nWords." in reader.asked[0][1]


@pytest.mark.parametrize(
    ("url", "fetched"),
    [
        ("http://example.com/a?b=c#d", "https://example.com/a?b=c"),
        ("http://example.com:8080", "https://example.com:8080/"),
        ("http://example.com:80/", "https://example.com/"),
        ("https://example.com/", "https://example.com/"),
        ("http://127.0.0.1:9/", "http://127.0.0.1:9/"),
        ("http://localhost/", "http://localhost/"),
        ("http://[::1]:9/", "http://[::1]:9/"),
        ("http://127.0.0.1.example.com/", "https://127.0.0.1.example.com/"),
        ("http://[2001:db8::1]/", "https://[2001:db8::1]/"),
    ],
)
def test_pages_are_fetched_over_tls_except_on_loopback(url: str, fetched: str) -> None:
    assert checked_address(url) == fetched


def test_a_page_is_kept_for_fifteen_minutes(desk: Desk, pages: Pages, reader: Reader) -> None:
    now = [1000.0]
    tool = WebFetch(clock=lambda: now[0])
    for _ in range(3):
        fetch(desk, f"{pages.url}/plain", tool)
    assert pages.asked == ["/plain"]
    assert len(reader.asked) == 3
    now[0] += 15 * 60
    fetch(desk, f"{pages.url}/plain", tool)
    assert pages.asked == ["/plain", "/plain"]


def test_failures_are_not_kept_and_old_pages_give_way(desk: Desk, pages: Pages) -> None:
    tool = WebFetch()
    for _ in range(2):
        fetch(desk, f"{pages.url}/missing", tool)
    assert pages.asked == ["/missing", "/missing"]
    for number in range(17):
        fetch(desk, f"{pages.url}/plain?{number}", tool)
    pages.asked.clear()
    fetch(desk, f"{pages.url}/plain?16", tool)
    fetch(desk, f"{pages.url}/plain?0", tool)
    assert pages.asked == ["/plain?0"]


def test_a_long_page_is_cut_for_the_small_model(
    desk: Desk, pages: Pages, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stenograph.agent.tools.web_fetch.LONGEST", 1000)
    fetch(desk, f"{pages.url}/huge")
    assert "x" * 1000 + "\n\n[This is only the beginning of the page.]" in reader.asked[0][1]
    assert "x" * 1001 not in reader.asked[0][1]


def test_a_model_that_fails_is_a_clear_error(tmp_path: Path, pages: Pages) -> None:
    async def refuse(_system: str, _prompt: str) -> str:
        raise RefusedError("the endpoint is overloaded", status=529)

    told = asyncio.run(Desk(tmp_path, refuse).fail(WebFetch(), url=f"{pages.url}/", prompt="What?"))
    assert told == "The page was fetched, but no model could read it: the endpoint is overloaded"


def test_a_cancelled_fetch_keeps_nobody_waiting(desk: Desk, pages: Pages) -> None:
    async def cancelled() -> None:
        call = asyncio.create_task(desk.call(WebFetch(), url=f"{pages.url}/stuck", prompt="What?"))
        while not pages.asked:
            await asyncio.sleep(0.01)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    began = time.monotonic()
    asyncio.run(cancelled())
    assert time.monotonic() - began < 10  # not after twenty seconds


def test_pages_are_fetched_beside_each_other(desk: Desk, pages: Pages) -> None:
    async def all_of_them() -> None:
        tool = WebFetch()
        calls = [desk.call(tool, url=f"{pages.url}/three", prompt="What?") for _ in range(3)]
        await asyncio.gather(*calls)

    asyncio.run(all_of_them())
    assert not pages.three.broken


def test_something_unforeseen_in_a_fetch_is_a_result(desk: Desk, pages: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    def odd(_fetch: Fetch, _html: str) -> str:
        raise KeyError("odd")

    monkeypatch.setattr(Fetch, "_converted", odd)
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    assert failure(desk, f"{pages.url}/") == "The page could not be read"


@pytest.mark.parametrize(
    "html",
    [
        "<![if x",
        "<p>ok<!-- open",
        "</p></p>",
        "<a href='javascript:x'>y</a>",
        "<?xml version='1.0'?><feed>x</feed>",
        "https://example.com/",
    ],
)
def test_damaged_html_is_read_as_far_as_it_goes(html: str) -> None:
    assert isinstance(markdown(html), str)


@pytest.mark.parametrize("given", [{}, {"url": "https://example.com/"}, {"url": 5, "prompt": "What?"}])
def test_an_input_that_is_none_is_refused(given: Json) -> None:
    with pytest.raises(ToolFailed, match="InputValidationError: WebFetch failed"):
        WebFetch().check(given)


def test_only_web_addresses_are_fetched() -> None:
    with pytest.raises(FetchFailed, match="Unsupported protocol data:"):
        checked_address("data:text/plain,words")


def test_a_proxy_is_used_where_one_is_named(desk: Desk, reader: Reader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pair = make_certificate(tmp_path, "DNS:page.invalid")
    monkeypatch.setenv("SSL_CERT_FILE", str(pair[0]))
    with RawEndpoint([answer(200, b"Words.", content_type="text/plain")], certificate=pair) as site, TunnelProxy(site) as proxy:
        monkeypatch.setenv("https_proxy", f"http://us%40er:pass@{proxy.authority}")
        fetch(desk, "https://page.invalid/plain")
    assert "\nWords.\n" in reader.asked[0][1]
    # printf us@er:pass | base64
    assert proxy.asked == [("CONNECT page.invalid:443", "Basic dXNAZXI6cGFzcw==")]
    assert "proxy-authorization" not in site.requests[0].headers


def test_a_proxy_that_refuses_is_a_clear_error(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    with RawEndpoint([answer()]) as site, TunnelProxy(site, refuses_with=403) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.authority)
        told = failure(desk, "https://page.invalid/")
    assert told == "page.invalid gave an unusable answer (the proxy answered with HTTP 403)"


def test_a_proxy_that_can_not_be_used_is_a_clear_error(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "ftp://sentinel:21")
    told = failure(desk, "https://page.invalid/")
    assert told.startswith("cannot use ALL_PROXY")
    assert "sentinel" not in told


def test_this_machine_is_not_reached_through_a_proxy(desk: Desk, pages: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{port}")
    fetch(desk, f"{pages.url}/plain")
    assert pages.asked == ["/plain"]
