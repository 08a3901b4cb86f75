"""Logging in to an MCP server: a person allows it in a browser, and the server's tokens are stored.

In: a server that wants a login, and a way to show a person where to log in. Out: a stored login, or LoginError. Opens no browser.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from http import HTTPStatus
from typing import Any, TypeAlias
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp import Client
from mcp.client.auth import OAuthRegistrationError, OAuthTokenError
from mcp.shared.auth import AuthorizationCodeResult

from stenograph.agent.mcp.callback import listening
from stenograph.agent.mcp.config import ServerConfig
from stenograph.agent.mcp.failures import cause_of, first_line
from stenograph.agent.mcp.logins import Logins
from stenograph.agent.mcp.oauth import new_login
from stenograph.agent.mcp.remote import remote_streams
from stenograph.errors import LoginError, StenographError

#: Gets the address where to log in, and a function for the address that the browser ends at, where that can't reach this machine:
#: it says whether that is the answer.
Show: TypeAlias = Callable[[str, Callable[[str], bool]], Awaitable[None]]
#: Seconds that a person has.
PATIENCE = 300.0
#: Seconds for the reason of a failure.
_MOMENT = 1.0


async def log_in(config: ServerConfig, logins: Logins, show: Show, *, timeout: float) -> None:
    """`timeout`: seconds that the server has to ask for a login. Raises LoginError, DiskError."""
    before = logins.read(config)
    over: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()

    async with listening() as callback:

        async def show_with_state(address: str) -> None:
            callback.state = "".join(parse_qs(urlsplit(address).query).get("state", []))
            limit.reschedule(asyncio.get_running_loop().time() + PATIENCE)
            await show(address, callback.take)

        async def answer() -> AuthorizationCodeResult:
            found = await callback.answer()
            return AuthorizationCodeResult(code=found.code, state=found.state, iss=found.issuer)

        provider = new_login(config, logins, redirect_uri=callback.address, show=show_with_state, answer=answer)
        auth = _Once(provider, lambda: bool(callback.state), lambda: logins.delete(config), over)
        failure: StenographError = LoginError("the server did not ask for a login")
        try:
            async with asyncio.timeout(timeout) as limit:
                if (error := await _end_of_login(config, auth, over)) is not None:
                    failure = _failure(error)
        except TimeoutError:
            failure = LoginError(f"the server did not ask for a login within {timeout:g} s")
            if callback.state:
                failure = LoginError(f"no answer from the browser within {PATIENCE / 60:g} minutes")
    # With new tokens, whatever failed then is for the next connection to tell.
    if (login := logins.read(config)) is None or login == before:
        raise failure


async def _end_of_login(config: ServerConfig, auth: httpx2.Auth, over: asyncio.Future[Exception | None]) -> BaseException | None:
    """Connects until the login is over; returns what it failed with."""

    async def connect() -> BaseException | None:
        try:
            async with Client(remote_streams(config, auth)):
                return None
        except Exception as error:  # noqa: BLE001 - a server can fail in any way, also in a group of exceptions
            return cause_of(error)

    connecting = asyncio.create_task(connect())
    either: list[asyncio.Future[Any]] = [connecting, over]
    try:
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if over.done() and over.result() is not None:  # a transport that passes it on knows more about a broken connection
            await asyncio.wait([connecting], timeout=_MOMENT)
        return (connecting.done() and await connecting) or (over.result() if over.done() else None)
    finally:
        connecting.cancel()
        await asyncio.wait([connecting])


class _Once(httpx2.Auth):
    """The SDK's login, but only one: it would ask the person again, as often as the server refuses the tokens.

    `over` gets what it failed with, which not every transport passes on; None when the server has accepted the tokens.
    """

    def __init__(
        self,
        provider: httpx2.Auth,
        is_shown: Callable[[], bool],
        forget: Callable[[], Awaitable[None]],
        over: asyncio.Future[Exception | None],
    ) -> None:
        self._provider = provider
        self._is_shown = is_shown
        self._forget = forget
        self._over = over

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        try:
            async with contextlib.aclosing(self._provider.async_auth_flow(request)) as flow:
                # The SDK lets one request at a time through: before this line, another may have logged in.
                outgoing = await anext(flow)
                is_first = not self._is_shown()
                while True:
                    try:
                        response = yield outgoing
                    except GeneratorExit:
                        if self._is_shown() and outgoing is not request:
                            self._end(LoginError("cannot log in", why="the connection to the authorization server broke"))
                        raise
                    if outgoing is request and self._is_shown():
                        break
                    try:
                        outgoing = await flow.asend(response)
                    except StopAsyncIteration:
                        return
            # Later requests say nothing about the login.
            if is_first:
                # With HTTP 403 it accepts the tokens, but wants more than it asked for.
                if response.status_code == HTTPStatus.UNAUTHORIZED:
                    await self._forget()
                    raise LoginError("the server does not accept its own tokens")
                self._end(None)
        except Exception as error:
            self._end(error)
            raise

    def _end(self, error: Exception | None) -> None:
        if not self._over.done():
            self._over.set_result(error)


def _failure(error: BaseException) -> StenographError:
    """Without the server's words about tokens, which may quote them."""
    match error:
        case StenographError():
            return error
        case OAuthRegistrationError():
            return LoginError("the server does not let steno register as a client", hint="give a token in `headers`")
        case OAuthTokenError():
            return LoginError("the server issued no tokens")
        case _:
            return LoginError("cannot log in", why=first_line(error))
