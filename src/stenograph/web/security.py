"""Who may ask, and what a browser may do with the answer.

Every program and user of the machine can reach a port on the loopback interface, and so can every web page in the user's
browser. So each request must name our own address in `Host`, come from our own pages where it comes from a page, and carry the
secret of this server: as a token in its first URL, as a cookie afterwards, or as a bearer token from a program.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable, Iterator
from urllib.parse import parse_qsl, quote, urlencode

from msgspec import Struct
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stenograph import net
from stenograph.web.errors import RequestError

#: Bytes of a request's first line and headers, of its path with the query, and of its body.
LONGEST_HEAD = 32 << 10
LONGEST_ADDRESS = 8 << 10
LARGEST_BODY = 64 << 10
#: How long the link that opens the browser works, in seconds.
TICKET_SECONDS = 60.0
#: Requests that are answered at the same time. Only those that are let in count.
_MOST_REQUESTS = 512
_SAFE = frozenset({"GET", "HEAD"})
TOKEN_PARAMETER = "token"
CSRF_HEADER = "x-steno-csrf"
_THEME_COOKIE, _THEMES = "steno_theme", ("light", "dark")

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
_HEADERS = {
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


class _Ticket(Struct):
    """A link that works once."""

    expires: float
    #: Whom it let in; empty before that.
    session: str = ""
    was_reused: bool = False


def _ignore() -> None:
    pass


class Access:
    """The secrets of one server. A new server has new ones."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.token = secrets.token_urlsafe(32)
        self._session = secrets.token_urlsafe(32)
        self._sessions = {self._session}
        self._tickets: dict[str, _Ticket] = {}
        #: Called when a ticket lets a browser in, and when a used one is presented again.
        self.on_ticket: Callable[[], None] = _ignore
        self.on_reused_ticket: Callable[[], None] = _ignore
        #: Ports share their cookies, so each server's has its own name.
        self.cookie_name = f"steno-{port}"
        #: Repeated by our own pages in requests that change something.
        self.csrf = secrets.token_urlsafe(32)
        self.hosts = frozenset({f"127.0.0.1:{port}", f"localhost:{port}"})

    def link(self, *, once: bool = False) -> str:
        """The address to open; with `once` it works for a minute and one time."""
        value = self.token
        if once:
            value = secrets.token_urlsafe(32)
            self._tickets[value] = _Ticket(time.monotonic() + TICKET_SECONDS)
        return f"http://127.0.0.1:{self.port}/?{urlencode({TOKEN_PARAMETER: value})}"

    def sign_in(self, value: str) -> str | None:
        """The header that lets a browser in, for the token of a link; None for a wrong one."""
        if is_same(value, self.token):
            return self._cookie(self._session)
        ticket = self._tickets.get(value)
        if ticket is None or (not ticket.session and time.monotonic() > ticket.expires):
            return None
        if ticket.session:
            self._revoke(ticket)
            return None
        ticket.session = secrets.token_urlsafe(32)
        self._sessions.add(ticket.session)
        self.on_ticket()
        return self._cookie(ticket.session)

    def _revoke(self, ticket: _Ticket) -> None:
        """Two have the ticket. Which of them is the user is unknown, so neither is let in."""
        self._sessions.discard(ticket.session)
        if not ticket.was_reused:
            ticket.was_reused = True
            self.on_reused_ticket()

    def _cookie(self, session: str) -> str:
        return f"{self.cookie_name}={session}; Path=/; HttpOnly; SameSite=Strict"

    def session_of(self, headers: Headers) -> str | None:
        """Whose cookie it is."""
        given = [value for name, value in read_cookies(headers) if name == self.cookie_name]
        return next((session for session in self._sessions for value in given if is_same(value, session)), None)

    def is_signed_in(self, session: str) -> bool:
        """Whether a session was not revoked since its request began."""
        return session in self._sessions

    def knows_bearer(self, headers: Headers) -> bool:
        scheme, _, value = headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and is_same(value.strip(), self.token)


def read_cookies(headers: Headers) -> Iterator[tuple[str, str]]:
    """Names and values, as they are: `http.cookies` takes seconds for a header full of backslashes (CVE-2024-7592)."""
    for header in headers.getlist("cookie"):
        for cookie in header.split(";"):
            name, _, value = cookie.partition("=")
            yield name.strip(), value.strip()


def is_same(given: str, known: str) -> bool:
    return hmac.compare_digest(given.encode(errors="replace"), known.encode())


class Guard:
    """The outermost layer: refuses what may not be asked, and adds the headers that every answer has."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access
        self._answering = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        from stenograph.web.answers import error_response, landing_response

        send = _with_headers(send)
        headers = Headers(scope=scope)
        try:
            query = self._check(scope, headers)
            landing = None if query is None else self._exchange(scope, query)
            if landing is not None:
                await landing_response(*landing)(scope, receive, send)
                return
            session = self._authorize(scope, headers)
            await self._answer(scope, _limited(receive), send if session is None else self._until_revoked(send, session))
        except RequestError as error:
            refusal = error_response(scope, error)
            # Who is not let in does not keep a connection.
            refusal.headers["connection"] = "close"
            await refusal(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._answering >= _MOST_REQUESTS:
            raise RequestError(503, "too-many-requests", "too many requests at the same time; try again")
        self._answering += 1
        try:
            await self._app(_with_safe_cookies(scope), receive, send)
        finally:
            self._answering -= 1

    def _until_revoked(self, send: Send, session: str) -> Send:
        """Live events may go on for hours."""

        async def send_unless_revoked(message: Message) -> None:
            if not self._access.is_signed_in(session):
                raise ConnectionAbortedError("the session was revoked")
            await send(message)

        return send_unless_revoked

    def _check(self, scope: Scope, headers: Headers) -> list[tuple[str, str]] | None:
        """The query with a token in it, if there is one. Raises RequestError."""
        # The HTTP library has a limit only for a head that comes in pieces.
        if sum(len(name) + len(value) for name, value in scope["headers"]) > LONGEST_HEAD:
            raise RequestError(431, "headers-too-large", f"the headers are longer than {LONGEST_HEAD:,} bytes")
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self._access.hosts:
            raise RequestError(403, "wrong-host", "this server answers under its own address only")
        address = scope.get("raw_path") or scope["path"].encode()
        if len(address) + len(scope["query_string"]) > LONGEST_ADDRESS:
            raise RequestError(414, "address-too-long", f"the address is longer than {LONGEST_ADDRESS:,} bytes")
        self._check_origin(scope, headers)
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > LARGEST_BODY:
            raise RequestError(413, "body-too-large", f"the body is longer than {LARGEST_BODY:,} bytes")
        query = scope["query_string"].decode("latin-1")
        if scope["method"] not in _SAFE or TOKEN_PARAMETER not in query:
            return None
        return parse_qsl(query, keep_blank_values=True)

    def _check_origin(self, scope: Scope, headers: Headers) -> None:
        """A page of another site may open a link to us, and nothing else."""
        opens_link = scope["method"] in _SAFE and headers.get("sec-fetch-mode") == "navigate"
        fetched_by = headers.get("sec-fetch-site", "same-origin")
        origins = headers.getlist("origin")
        is_ours = all(origin.lower() in {f"http://{host}" for host in self._access.hosts} for origin in origins)
        if not opens_link and (fetched_by not in ("same-origin", "none") or not is_ours):
            raise RequestError(403, "cross-origin", "requests from other sites are refused")

    def _exchange(self, scope: Scope, query: list[tuple[str, str]]) -> tuple[str, str] | None:
        """Where a link with a token leads, without the token, and the cookie; None for a link that has none. Raises
        RequestError."""
        tokens = [value for name, value in query if name == TOKEN_PARAMETER]
        if not tokens:
            return None
        cookie = self._access.sign_in(tokens[0]) if len(tokens) == 1 else None
        if cookie is None:
            raise RequestError(401, "wrong-token", "this link no longer works; open the one that steno web printed")
        rest = urlencode([(name, value) for name, value in query if name != TOKEN_PARAMETER])
        path = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1")
        # One slash: two, or a slash and a backslash, would be another host.
        return "/" + quote(path.lstrip("/\\"), safe="/%~@:+,;=!$&'()*") + (f"?{rest}" if rest else ""), cookie

    def _authorize(self, scope: Scope, headers: Headers) -> str | None:
        """The session of a browser; None for a program. Raises RequestError."""
        if self._access.knows_bearer(headers):
            return None
        session = self._access.session_of(headers)
        if session is None:
            raise RequestError(401, "not-signed-in", "open the link that steno web printed")
        if scope["method"] not in _SAFE and not is_same(headers.get(CSRF_HEADER, ""), self._access.csrf):
            raise RequestError(403, "wrong-csrf-token", "reload the page and try again")
        return session


def _with_headers(send: Send) -> Send:
    """With the headers that every answer has."""

    async def send_guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers[name] = value
            # A browser's cache outlives the server, and whoever takes its port next may read it there.
            headers.setdefault("cache-control", "no-store")
        await send(message)

    return send_guarded


def _with_safe_cookies(scope: Scope) -> Scope:
    """With the theme as the only cookie: the web framework reads cookies with `http.cookies`, see `read_cookies`."""
    theme = dict(read_cookies(Headers(scope=scope))).get(_THEME_COOKIE)
    headers = [(name, value) for name, value in scope["headers"] if name != b"cookie"]
    if theme in _THEMES:
        headers.append((b"cookie", f"{_THEME_COOKIE}={theme}".encode()))
    return {**scope, "headers": headers}


def is_from_here(scope: Scope) -> bool:
    """Whether a request came from this machine."""
    client = scope.get("client")
    return client is not None and net.is_loopback(client[0])


def _limited(receive: Receive) -> Receive:
    """The body, as long as it is not too large: one without a length is counted while it comes."""
    taken = 0

    async def receive_limited() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > LARGEST_BODY:
            raise RequestError(413, "body-too-large", f"the body is longer than {LARGEST_BODY:,} bytes")
        return message

    return receive_limited
