"""A web page -> its text, HTML as Markdown. Blocking: it runs in a thread.

Redirects within a host are followed, others are not: permission was given for the host. Raises `FetchFailed`.
"""

from __future__ import annotations

import errno
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from urllib.parse import SplitResult, urljoin, urlsplit, urlunsplit

from msgspec import Struct

from stenograph.agent.tools.shell import command_environment
from stenograph.errors import (
    ConfigError,
    NetworkError,
    NetworkTimeoutError,
    UnknownHostError,
    UnreadableCertificateError,
    UntrustedCertificateError,
)
from stenograph.net import Address, Connection, ResponseHead, find_proxy, is_loopback, read_url, tls_from_environment

LONGEST_ADDRESS = 2_000
#: Bytes; longer pages are refused.
LARGEST = 10 * 1024 * 1024
#: Seconds, for all of it and for each step.
PATIENCE = 60.0
_STEP_TIMEOUT = 30.0
_MOST_REDIRECTS = 10
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
#: Characters converted to Markdown: more takes too long.
_MOST_HTML = 2_000_000
_TEXTUAL = re.compile(r"text/|application/(?:[\w.-]+\+)?(?:json|xml|javascript|yaml|x-yaml|toml|x-ndjson)|\Z", re.IGNORECASE)
_CHARSET = re.compile(r";\s*charset=[\"']?([\w.:-]+)", re.ASCII | re.IGNORECASE)
_META_CHARSET = re.compile(r"<meta[^>]{0,200}charset=[\"']?([\w.:-]+)", re.ASCII | re.IGNORECASE)
#: Seconds.
_CONVERSION_LIMIT = 10.0
#: Nothing to read in them.
_SILENT = ["script", "style", "noscript", "template", "svg", "iframe"]


class FetchFailed(Exception):  # noqa: N818 - a result of a call, not an error of the program
    """The words are for the model."""


class WebPage(Struct, frozen=True, kw_only=True):
    status: int
    #: Bytes of the body.
    size: int = 0
    text: str = ""
    #: A redirect to another host.
    redirect: str = ""

    @property
    def status_text(self) -> str:
        from http import HTTPStatus

        try:
            return HTTPStatus(self.status).phrase
        except ValueError:
            return ""


def checked_address(url: str) -> str:
    """The address to fetch: over TLS, except on loopback. Raises FetchFailed."""
    try:
        parts = urlsplit(url.strip())
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise FetchFailed("Invalid URL") from None
    if parts.scheme and parts.scheme not in ("http", "https"):
        raise FetchFailed(f"Unsupported protocol {parts.scheme}:")
    # A percent-encoded host would be decoded after the permission check.
    is_plain = re.fullmatch(r"[!-$&-~]*", parts.netloc)
    if not parts.scheme or not host or not is_plain or parts.username is not None or len(url) > LONGEST_ADDRESS:
        raise FetchFailed("Invalid URL")
    if parts.scheme == "http" and not is_loopback(host):
        shown = f"[{host}]" if ":" in host else host
        parts = parts._replace(scheme="https", netloc=shown if port in (None, 80) else f"{shown}:{port}")
    return urlunsplit(_quoted(parts)._replace(fragment=""))


class Fetch:
    """One fetch, which another thread can give up."""

    def __init__(self, url: str, environ: Mapping[str, str], may_fetch: Callable[[str], bool] | None = None) -> None:
        """`may_fetch`: whether a host that the page redirects to may be asked."""
        self._url = url
        self._environ = environ
        self._may_fetch = may_fetch
        self._deadline = time.monotonic() + PATIENCE
        self._is_given_up = False
        self._connection: Connection | None = None
        self._conversion: subprocess.Popen[bytes] | None = None

    def give_up(self) -> None:
        self._is_given_up = True
        if self._connection is not None:
            self._connection.hang_up()
        if self._conversion is not None:
            self._conversion.kill()

    def fetch(self) -> WebPage:
        """Raises FetchFailed."""
        url = self._url
        for _ in range(_MOST_REDIRECTS):
            status, target, page = self._get(url)
            if not target:
                return page
            there = urljoin(url, target)
            if not _is_same_place(urlsplit(url), urlsplit(there)):
                return WebPage(status=status, redirect=there)
            url = checked_address(there)
            if self._may_fetch is not None and not self._may_fetch(urlsplit(url).hostname or ""):
                return WebPage(status=status, redirect=there)
        raise FetchFailed(f"The page redirects more than {_MOST_REDIRECTS} times")

    def _get(self, url: str) -> tuple[int, str, WebPage]:
        """Status, redirect target, page."""
        at = read_url(url)
        if at is None:
            raise FetchFailed("Invalid URL")
        headers = {
            "user-agent": "stenograph (web fetch for a person)",
            "accept": "text/markdown, text/html, text/plain, */*;q=0.5",
            "accept-encoding": "gzip",
        }
        left = self._left()
        try:
            proxy = find_proxy(at.address, self._environ)
            tls = tls_from_environment(self._environ)
            self._connection = Connection(at.address, proxy=proxy, tls=tls, timeout=min(left, _STEP_TIMEOUT), patience=left)
            with closing(self._connection):
                head = self._connection.send("GET", at.target, headers)
                if head.status >= 300:
                    target = head.headers.get("location", "") if head.status in _REDIRECTS else ""
                    return head.status, target, WebPage(status=head.status)
                data = self._connection.read(LARGEST + 1)
        except ConfigError as error:
            raise FetchFailed(str(error)) from None
        except NetworkError as error:
            raise FetchFailed(_why(error, at.address)) from None
        if len(data) > LARGEST:
            raise FetchFailed(f"The page is larger than {LARGEST // 1024**2} MB")
        return head.status, "", WebPage(status=head.status, size=len(data), text=self._text(head, data))

    def _text(self, head: ResponseHead, data: bytes) -> str:
        kind = head.content_type if head.content_type.count("/") == 1 else ""
        if not _TEXTUAL.match(kind) or b"\0" in data[:1024]:
            raise FetchFailed(
                f"The page is not text ({kind or 'unknown'}, {len(data)} bytes). Fetch it to a file with Bash and curl"
            )
        named = _CHARSET.search(head.headers.get("content-type", "")) or _META_CHARSET.search(data[:2048].decode("latin-1"))
        text = _decoded(data, named[1] if named else "utf-8")
        is_html = "html" in kind or (not kind and text.lstrip()[:15].lower().startswith(("<!doctype html", "<html")))
        return self._converted(text[:_MOST_HTML]) if is_html else text

    def _converted(self, html: str) -> str:
        """As Markdown, by a process of its own: some pages take hours, and only a process can be ended."""
        call = [sys.executable, "-P", "-m", __name__]
        environment = command_environment(self._environ, {})
        with subprocess.Popen(
            call, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
        ) as self._conversion:
            try:
                made, _ = self._conversion.communicate(html.encode(), timeout=min(self._left(), _CONVERSION_LIMIT))
            except subprocess.TimeoutExpired:
                made = b""
            finally:
                self._conversion.kill()
        return made.decode() if self._conversion.returncode == 0 else without_tags(html)

    def _left(self) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0 or self._is_given_up:
            raise FetchFailed(f"The page took longer than {PATIENCE:.0f} s")
        return left


def markdown(html: str) -> str:
    # Slow to import, and most conversations fetch nothing.
    import warnings

    from bs4 import BeautifulSoup, MarkupResemblesLocatorWarning, XMLParsedAsHTMLWarning
    from bs4.exceptions import ParserRejectedMarkup
    from markdownify import MarkdownConverter

    # Advice for programmers, on the terminal.
    for advice in (MarkupResemblesLocatorWarning, XMLParsedAsHTMLWarning):
        warnings.simplefilter("ignore", advice)
    try:
        soup = BeautifulSoup(html, "html.parser")
        for tag in soup(_SILENT):
            tag.decompose()
        made = MarkdownConverter(heading_style="ATX").convert_soup(soup)
    except (RecursionError, ParserRejectedMarkup):  # thousands of nested tags, or unreadable ones
        return without_tags(html)
    return re.sub(r"\n{3,}", "\n\n", made).strip()


def without_tags(html: str) -> str:
    # To the end where nothing closes: a search from each tag on would be quadratic.
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"<[^>]*(?:>|\Z)", " ", html)).strip()


def _decoded(data: bytes, charset: str) -> str:
    """The server's charset may not exist, or decode to characters that no request can hold."""
    try:
        text = data.decode(charset, "replace")
    except (LookupError, ValueError):
        text = data.decode("utf-8", "replace")
    return text.encode("utf-8", "replace").decode("utf-8")


def _is_same_place(here: SplitResult, there: SplitResult) -> bool:
    """Within a host, with and without `www.`; never from TLS to plain, never to another port."""
    try:
        ports = here.port, there.port
    except ValueError:
        return False
    hosts = [(parts.hostname or "").removeprefix("www.") for parts in (here, there)]
    return here.scheme == there.scheme and ports[0] == ports[1] and hosts[0] == hosts[1] and there.username is None


def _quoted(parts: SplitResult) -> SplitResult:
    """Quote blanks and non-ASCII; what is quoted stays."""
    from urllib.parse import quote

    kept = "%!$&'()*+,;=:@/?~-._[]"
    return parts._replace(path=quote(parts.path, kept) or "/", query=quote(parts.query, kept))


def _why(error: NetworkError, address: Address) -> str:
    """In the client's words if it has some."""
    match error:
        case UntrustedCertificateError():
            return f"The certificate of {address.host} is not trusted: {error.reason}"
        case UnreadableCertificateError():
            return f"The certificates of {error.variables} cannot be used"
        case UnknownHostError():
            return f"getaddrinfo ENOTFOUND {address.host}"
        case NetworkTimeoutError():
            return f"{address.host} did not answer in time"
        case NetworkError(errno=number) if number in errno.errorcode:
            return f"connect {errno.errorcode[number]} {address.host}:{address.port}"
    return f"{address.host} gave an unusable answer ({error.reason})"


if __name__ == "__main__":
    sys.stdout.buffer.write(markdown(sys.stdin.buffer.read().decode()).encode("utf-8", "replace"))
