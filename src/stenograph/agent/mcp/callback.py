"""Where the browser comes back to after a login: a listener on loopback, at a port of its own.

In: requests of a browser, or the address of the last page, pasted by a person whose browser runs elsewhere. Out: the one answer
with the state that this login was begun with. Everything else is refused, and the wait goes on.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from urllib.parse import parse_qs, urlsplit

from msgspec import Struct

from stenograph.errors import LoginError, in_quotes

_PATH = "/callback"
#: Bytes of a request, and seconds in which it has to come.
_LONGEST_REQUEST = 65_536
_TIMEOUT = 10.0
_PAGE = "<!doctype html><meta charset=utf-8><title>Stenograph</title><p>{}</p>\n"
_ACCEPTED = "You can close this page and go back to steno."
_REFUSED = "This is not the answer that steno is waiting for."


class Redirect(Struct, frozen=True):
    """What an authorization server says on the way back."""

    code: str
    state: str
    #: Who says so (RFC 9207); None where it does not.
    issuer: str | None = None

    def __repr__(self) -> str:
        return "<Redirect>"


class Callback:
    def __init__(self, port: int) -> None:
        self.address = f"http://127.0.0.1:{port}{_PATH}"
        #: Of the login under way; until it is known, nothing is accepted.
        self.state = ""
        self._answer: asyncio.Future[Redirect | LoginError] = asyncio.get_running_loop().create_future()

    async def answer(self) -> Redirect:
        """Raises LoginError if the authorization server refused."""
        answer = await self._answer
        if isinstance(answer, LoginError):
            raise answer
        return answer

    def take(self, address: str) -> bool:
        """Whether this is the answer."""
        try:
            given = {name: values[0] for name, values in parse_qs(urlsplit(address.strip()).query).items()}
        except ValueError:
            return False
        state, code, error = given.get("state", ""), given.get("code"), given.get("error")
        if (
            not self.state
            or not secrets.compare_digest(state.encode("utf-8", "replace"), self.state.encode())
            or not (code or error)
        ):
            return False
        if self._answer.done():
            return True
        if code:
            self._answer.set_result(Redirect(code, state, given.get("iss")))
        else:
            why = in_quotes(given["error_description"]) if "error_description" in given else ""
            self._answer.set_result(LoginError(f"the login was refused ({in_quotes(error or '')})", why=why))
        return True

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
            async with asyncio.timeout(_TIMEOUT):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(self._response(head.partition(b"\r\n")[0].decode("latin-1")))
                await writer.drain()
        writer.close()

    def _response(self, request_line: str) -> bytes:
        method, _, rest = request_line.partition(" ")
        target = rest.partition(" ")[0]
        is_callback = method == "GET" and target.partition("?")[0] == _PATH
        is_taken = is_callback and self.take(target)
        status = HTTPStatus.OK if is_taken else HTTPStatus.BAD_REQUEST if is_callback else HTTPStatus.NOT_FOUND
        page = _PAGE.format(_ACCEPTED if is_taken else _REFUSED).encode()
        head = (
            f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: text/html\r\nContent-Length: {len(page)}\r\n"
            "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n"
        )
        return head.encode() + page


@asynccontextmanager
async def listening() -> AsyncIterator[Callback]:
    """Raises LoginError if no port can be opened."""
    callback: Callback | None = None

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert callback is not None
        await callback.serve(reader, writer)

    try:
        server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=_LONGEST_REQUEST)
    except OSError as error:
        raise LoginError(f"cannot listen on 127.0.0.1 ({error.strerror})") from error
    try:
        callback = Callback(server.sockets[0].getsockname()[1])
        yield callback
    finally:
        server.close()
