"""Connections to MCP servers over HTTP: with the header that the user configured, or with the tokens of a login.

A login is used and refreshed here, never made: where a server wants one and accepts none that there is, LoginNeeded is raised.
If there is one that can't be refreshed now, it is kept, and LoginError or DiskError says why.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING

import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from stenograph.agent.mcp.config import ServerConfig, Transport
from stenograph.agent.mcp.failures import LoginNeeded
from stenograph.agent.mcp.logins import Logins
from stenograph.agent.mcp.oauth import stored_tokens
from stenograph.errors import HeaderRefusedError, LoginError, StenographError

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams


#: Bytes of an answer, or of one event of a stream: far more than a model takes in.
LARGEST = 64 * 1024 * 1024
#: What says whether a login goes on or is over (RFC 6749, 5.1 and 5.2). Other answers do not: the login may be as good as before.
_DECIDED = (HTTPStatus.OK, HTTPStatus.BAD_REQUEST, HTTPStatus.UNAUTHORIZED)


@asynccontextmanager
async def remote_streams(config: ServerConfig, auth: httpx2.Auth) -> AsyncIterator[TransportStreams]:
    if config.transport is Transport.SSE:
        async with sse_client(
            config.url, headers=dict(config.headers), auth=auth, httpx_client_factory=_bounded_client
        ) as streams:
            yield streams
        return
    async with (
        _bounded_client(headers=dict(config.headers), auth=auth) as http,
        streamable_http_client(config.url, http_client=http) as streams,
    ):
        yield streams


def _bounded_client(
    headers: dict[str, str] | None = None, timeout: httpx2.Timeout | None = None, auth: httpx2.Auth | None = None
) -> httpx2.AsyncClient:
    """One that a server cannot fill with an answer without end, nor with a small one that grows when it is unpacked."""
    http = create_mcp_http_client(headers={"Accept-Encoding": "identity", **(headers or {})}, timeout=timeout, auth=auth)
    http.event_hooks = {"response": [_bound]}
    return http


async def _bound(response: httpx2.Response) -> None:
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _BoundedStream(response.stream, response.headers)


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, headers: httpx2.Headers) -> None:
        self._stream = stream
        self._is_packed = headers.get("content-encoding", "identity") != "identity"
        self._has_events = headers.get("content-type", "").startswith("text/event-stream")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._is_packed:
            raise httpx2.StreamError("the answer is compressed, which was not asked for")
        held, last = 0, b""
        async for chunk in self._stream:
            held += len(chunk)
            if self._has_events:
                joined = last + chunk
                last = joined[-2:]
                # A blank line ends an event.
                if (end := max(joined.rfind(b"\n\n"), joined.rfind(b"\n\r\n"))) >= 0:
                    held = len(joined) - end
            if held > LARGEST:
                raise httpx2.StreamError(f"the answer has more than {LARGEST // 1024**2} MB")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


def authorization(config: ServerConfig, logins: Logins, on_failure: Callable[[Exception], None]) -> httpx2.Auth:
    """A configured header wins. `on_failure`: gets what is raised about the login, which not every transport passes on."""
    return _StoredLogin(config, logins, on_failure) if config.takes_login else _ConfiguredHeader()


class _ConfiguredHeader(httpx2.Auth):
    def auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response, None]:
        response = yield request
        if response.status_code == HTTPStatus.UNAUTHORIZED:
            raise HeaderRefusedError("it does not accept the Authorization header in `headers`")


class _StoredLogin(httpx2.Auth):
    def __init__(self, config: ServerConfig, logins: Logins, on_failure: Callable[[Exception], None]) -> None:
        self._config = config
        self._logins = logins
        self._on_failure = on_failure

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Each request gets the login that is stored now: another process may have refreshed it."""
        refused = ""
        try:
            for _ in range(2):
                if not await self._is_ready(request, refused):
                    # One refresh at a time, in all processes: a refresh token may be valid once.
                    async with self._logins.hold(self._config), self._flow(request, refused) as flow:
                        login = self._logins.read(self._config)
                        # A refused refresh token is not sent again: the server may take it for stolen, and end other logins too.
                        outgoing = request if self._logins.is_over(self._config) else await anext(flow)
                        while outgoing is not request:
                            answer = yield outgoing
                            outgoing = await flow.asend(answer)
                            if outgoing is not request:
                                continue
                            if answer.status_code not in _DECIDED:
                                raise LoginError(f"cannot refresh the login (HTTP {answer.status_code})")
                            if login is not None and self._logins.read(self._config) == login:
                                self._logins.note_over(self._config, login)
                response = yield request
                # The SDK is not asked about a 401: it would register, and go for a browser.
                if response.status_code != HTTPStatus.UNAUTHORIZED:
                    return
                if self._logins.read(self._config) is None or self._logins.is_over(self._config):
                    break
                refused = request.headers.get("Authorization", "").removeprefix("Bearer ")
            raise LoginNeeded
        except (LoginNeeded, StenographError) as error:
            self._on_failure(error)
            raise

    async def _is_ready(self, request: httpx2.Request, refused: str) -> bool:
        """Whether the request can be sent as it now is: with a valid token, or without any."""
        async with self._flow(request, refused) as flow:
            return await anext(flow) is request

    def _flow(
        self, request: httpx2.Request, refused: str
    ) -> contextlib.aclosing[AsyncGenerator[httpx2.Request, httpx2.Response]]:
        return contextlib.aclosing(stored_tokens(self._config, self._logins, refused=refused).async_auth_flow(request))
