"""Who may ask, and what a browser may do with the answer.

Every program and user of the machine can reach a port on the loopback interface, and so can every web page in the user's
browser. So each request must name our own address in `Host`, come from our own pages where it comes from a page, and carry the
secret of this server: as a token in its first URL, as a cookie afterwards, or as a bearer token from a program.
"""

from __future__ import annotations

import hmac
import secrets
import time
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, quote, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stenograph import net
from stenograph.web.errors import RequestError

#: Bytes of a path with its query, and of a request's body.
LONGEST_ADDRESS = 8 << 10
LARGEST_BODY = 64 << 10
#: How long the link that opens the browser works, in seconds: its address can be seen in the list of processes.
_TICKET_SECONDS = 60.0
_SAFE = frozenset({"GET", "HEAD"})
TOKEN_PARAMETER = "token"
CSRF_HEADER = "x-steno-csrf"

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


class Access:
    """The secrets of one server. A new server has new ones."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.token = secrets.token_urlsafe(32)
        self._session = secrets.token_urlsafe(32)
        self._tickets: dict[str, float] = {}
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
            self._tickets[value] = time.monotonic() + _TICKET_SECONDS
        return f"http://127.0.0.1:{self.port}/?{urlencode({TOKEN_PARAMETER: value})}"

    def takes_token(self, value: str) -> bool:
        expires = self._tickets.pop(value, 0.0)
        return is_same(value, self.token) or time.monotonic() < expires

    def knows_cookie(self, headers: Headers) -> bool:
        for header in headers.getlist("cookie"):
            jar = SimpleCookie()
            try:
                jar.load(header)
            except CookieError:
                continue
            if self.cookie_name in jar and is_same(jar[self.cookie_name].value, self._session):
                return True
        return False

    def knows_bearer(self, headers: Headers) -> bool:
        scheme, _, value = headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and is_same(value.strip(), self.token)

    @property
    def cookie(self) -> str:
        """The header that lets a browser in."""
        return f"{self.cookie_name}={self._session}; Path=/; HttpOnly; SameSite=Strict"


def is_same(given: str, known: str) -> bool:
    return hmac.compare_digest(given.encode(errors="replace"), known.encode())


class Guard:
    """The outermost layer: refuses what may not be asked, and adds the headers that every answer has."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        from stenograph.web.answers import error_response, landing_response

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers.setdefault("cache-control", "private, no-cache")
            await send(message)

        headers = Headers(scope=scope)
        try:
            query = self._check(scope, headers)
            target = None if query is None else self._exchange(scope, query)
            if target is not None:
                await landing_response(target, self._access.cookie)(scope, receive, send_guarded)
                return
            self._authorize(scope, headers)
            await self._app(scope, _limited(receive), send_guarded)
        except RequestError as error:
            await error_response(scope, error)(scope, receive, send_guarded)

    def _check(self, scope: Scope, headers: Headers) -> list[tuple[str, str]] | None:
        """The query with a token in it, if there is one. Raises RequestError."""
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

    def _exchange(self, scope: Scope, query: list[tuple[str, str]]) -> str | None:
        """Where a link with a token leads, without the token; None for a link that has none. Raises RequestError."""
        tokens = [value for name, value in query if name == TOKEN_PARAMETER]
        if not tokens:
            return None
        if len(tokens) > 1 or not self._access.takes_token(tokens[0]):
            raise RequestError(401, "wrong-token", "this link no longer works; open the one that steno web printed")
        rest = urlencode([(name, value) for name, value in query if name != TOKEN_PARAMETER])
        path = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1")
        # One slash: two, or a slash and a backslash, would be another host.
        return "/" + quote(path.lstrip("/\\"), safe="/%~@:+,;=!$&'()*") + (f"?{rest}" if rest else "")

    def _authorize(self, scope: Scope, headers: Headers) -> None:
        is_program = self._access.knows_bearer(headers)
        if not is_program and not self._access.knows_cookie(headers):
            raise RequestError(401, "not-signed-in", "open the link that steno web printed")
        if scope["method"] not in _SAFE and not is_program and not is_same(headers.get(CSRF_HEADER, ""), self._access.csrf):
            raise RequestError(403, "wrong-csrf-token", "reload the page and try again")


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
