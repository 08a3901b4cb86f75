"""Connections to MCP servers, by the official SDK.

All are started at once. A server that fails, hangs or dies costs its own calls and nothing else: a connection that was lost is
made again by the next call. Each connection lives in a task of its own, because the SDK's scopes must be left where they were
entered; `close` ends these tasks and with them the processes.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from msgspec import Struct

from stenograph.agent.mcp.config import ServerConfig, Transport
from stenograph.agent.mcp.failures import LoginNeeded, cause_of, first_line
from stenograph.agent.mcp.hosted import Exchange, hosted_streams
from stenograph.agent.mcp.logins import Logins
from stenograph.agent.tools.base import ToolFailed
from stenograph.records import Json
from stenograph.version import __version__

if TYPE_CHECKING:
    from mcp import Client
    from mcp.client._transport import TransportStreams

    from stenograph.agent.mcp.login import Show

#: Seconds, where $MCP_TIMEOUT and $MCP_TOOL_TIMEOUT (milliseconds) don't say otherwise. The client waits for a tool without end.
CONNECT_TIMEOUT = 30.0
TOOL_TIMEOUT = 600.0
#: Seconds that all servers have to end by themselves.
_CLOSE_TIMEOUT = 8.0
#: Lists are read in pages; a server may never end.
_MOST_PAGES = 100
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")
T = TypeVar("T")


class ServerStatus(StrEnum):
    """The client's words."""

    PENDING = "pending"
    CONNECTED = "connected"
    FAILED = "failed"
    NEEDS_AUTH = "needs-auth"


class ServerTool(Struct, frozen=True, kw_only=True):
    #: `mcp__server__tool`.
    name: str
    #: As the server calls it.
    own_name: str
    description: str
    schema: Json
    #: None if the server does not say.
    reads_only: bool | None = None


class ServerPrompt(Struct, frozen=True, kw_only=True):
    name: str
    own_name: str
    description: str
    arguments: list[str]


def plain_name(name: str) -> str:
    return _NOT_IN_NAMES.sub("_", name)


def milliseconds(environ: Mapping[str, str], name: str, default: float) -> float:
    text = environ.get(name, "")
    return int(text) / 1000 if text.isdecimal() and int(text) else default


class ServerConnection:
    def __init__(
        self,
        config: ServerConfig,
        *,
        cwd: Path,
        environment: Mapping[str, str],
        timeout: float,
        logins: Logins,
        exchange: Exchange | None = None,
    ) -> None:
        self.config = config
        self._logins = logins
        self._exchange = exchange
        self.status = ServerStatus.PENDING
        #: Why it failed.
        self.problem = ""
        self.tools: list[ServerTool] = []
        self.prompts: list[ServerPrompt] = []
        self.instructions = ""
        self.has_resources = False
        self._cwd = cwd
        self._environment = environment
        self._timeout = timeout
        self._last_words = b""
        #: Requests without an answer.
        self._under_way = 0
        self._client: Client | None = None
        self._task: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()
        self._connecting = asyncio.Lock()

    @property
    def name(self) -> str:
        return self.config.name

    async def connect(self) -> None:
        """Raises nothing but cancellation: `status` and `problem` say how it went."""
        async with self._connecting:
            if self._client is not None:
                return
            await self._end()
            self.status, self.problem = ServerStatus.PENDING, ""
            self._stop = asyncio.Event()
            ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._task = asyncio.create_task(self._hold(ready))
            try:
                async with asyncio.timeout(self._timeout):
                    await asyncio.shield(ready)
            except TimeoutError:
                if self.status is ServerStatus.PENDING:
                    self.status, self.problem = ServerStatus.FAILED, f"no answer within {self._timeout:g} s"
                # It may take its time to end.
                self._task.cancel()
            except asyncio.CancelledError:
                await self._end()
                raise

    async def request(self, what: Callable[[Client], Awaitable[T]], *, timeout: float, timed_out: str) -> T:
        """Raises ToolFailed."""
        from mcp import MCPError

        await self.connect()
        client = self._client
        if client is None:
            raise self._not_connected()
        self._under_way += 1
        try:
            async with asyncio.timeout(timeout):
                return await what(client)
        except TimeoutError:
            if self._under_way == 1 and self.config.transport is Transport.STDIO:
                # It may hang for good: the next call starts it anew.
                self._client = None
            raise ToolFailed(timed_out) from None
        except MCPError as error:
            if self.problem:
                raise self._not_connected() from None
            if error.error.code == _CONNECTION_CLOSED:
                self._client = None
            raise ToolFailed(error.error.message) from None
        except (RuntimeError, ValueError, OSError) as error:  # an answer that is none, or a connection that broke
            raise ToolFailed(f'MCP server "{self.name}": {first_line(error)}') from None
        finally:
            self._under_way -= 1

    def _not_connected(self) -> ToolFailed:
        return ToolFailed(f'MCP server "{self.name}" is not connected: {self.problem or self.status.value}')

    async def close(self) -> None:
        await self._end()

    @property
    def needs_login(self) -> bool:
        return self.status is ServerStatus.NEEDS_AUTH

    @property
    def is_logged_in(self) -> bool:
        """With a stored login, whether or not the server still accepts it."""
        return self.config.takes_login and self._logins.read(self.config) is not None

    async def log_in(self, show: Show) -> None:
        """Connects with the new login; `status` says how that went. Raises LoginError, DiskError."""
        from stenograph.agent.mcp.login import log_in

        await log_in(self.config, self._logins, show, timeout=self._timeout)
        await self._end()
        await self.connect()

    async def log_out(self) -> None:
        """Forget the login. Raises DiskError."""
        await self._end()  # with a last word to the server, for which it wants the tokens
        await self._logins.delete(self.config)
        self.tools, self.prompts, self.instructions, self.has_resources = [], [], "", False
        self._lose(LoginNeeded())

    def _lose(self, error: Exception) -> None:
        """The connection, for want of a login or of a way to use it: a transport may not say so."""
        self.status = ServerStatus.NEEDS_AUTH if isinstance(error, LoginNeeded) else ServerStatus.FAILED
        self.problem = str(error)
        self._client = None
        self._stop.set()

    async def _end(self) -> None:
        task, self._task, self._client = self._task, None, None
        if task is None:
            return
        self._stop.set()
        if not task.done():
            # The SDK waits for the process by itself, and kills it in the end.
            await asyncio.wait([task], timeout=_CLOSE_TIMEOUT)
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    async def _hold(self, ready: asyncio.Future[None]) -> None:
        try:
            async with self._connected() as client:
                await self._learn(client)
                self._client, self.status = client, ServerStatus.CONNECTED
                if not ready.done():
                    ready.set_result(None)
                await self._stop.wait()
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 - a server can fail in any way, also in a group of exceptions
            if self.status is ServerStatus.PENDING:
                self.status, self.problem = ServerStatus.FAILED, _failure(error)
                if said := self._last_words.decode("utf-8", "replace").strip():
                    self.problem = f"{self.problem}: {said.splitlines()[-1]}"
        finally:
            self._client = None
            if not ready.done():
                ready.set_result(None)

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[Client]:
        from mcp import Client
        from mcp.types import Implementation, ListRootsResult, Root

        # It logs what a server writes, with traces, to our standard error.
        logging.getLogger("mcp").setLevel(logging.CRITICAL)
        logging.getLogger("client").setLevel(logging.CRITICAL)

        async def roots(context: object) -> ListRootsResult:  # noqa: ARG001 - the SDK calls it by this name
            return ListRootsResult(roots=[Root(uri=self._cwd.as_uri())])  # type: ignore[arg-type]

        about = Implementation(name="stenograph", version=__version__)
        async with (
            self._transport() as streams,
            Client(_Given(streams), client_info=about, list_roots_callback=roots) as client,
        ):
            yield client

    @asynccontextmanager
    async def _transport(self) -> AsyncIterator[TransportStreams]:
        config = self.config
        if config.transport is Transport.STDIO:
            from mcp import StdioServerParameters
            from mcp.client.stdio import stdio_client

            environment = {**self._environment, "CLAUDE_PROJECT_DIR": str(self._cwd), **config.env}
            parameters = StdioServerParameters(command=config.command, args=config.args, env=environment, cwd=self._cwd)
            with self._heard() as log:
                async with stdio_client(parameters, errlog=log) as streams:
                    yield streams
        elif config.transport is Transport.HOSTED:
            if self._exchange is None:
                raise RuntimeError("it runs in the process of an SDK, but no SDK started steno")
            async with hosted_streams(config.name, self._exchange) as streams:
                yield streams
        else:
            from stenograph.agent.mcp.remote import authorization, remote_streams

            async with remote_streams(config, authorization(config, self._logins, self._lose)) as streams:
                yield streams

    @contextlib.contextmanager
    def _heard(self) -> Iterator[TextIO]:
        """The server's standard error: only its last words are kept."""
        loop = asyncio.get_running_loop()
        reading, writing = os.pipe()

        def take() -> None:
            self._last_words = (self._last_words + os.read(reading, 65_536))[-2_000:]

        os.set_blocking(reading, False)
        loop.add_reader(reading, take)
        try:
            with os.fdopen(writing, "w") as log:
                yield log
            with contextlib.suppress(BlockingIOError):
                take()
        finally:
            loop.remove_reader(reading)
            os.close(reading)

    async def _learn(self, client: Client) -> None:
        self.instructions = client.instructions or ""
        offers = client.server_capabilities
        self.has_resources = offers is not None and offers.resources is not None
        prefix = f"mcp__{plain_name(self.name)}__"
        listed = [tool async for tool in _pages(client.list_tools, "tools")] if offers is None or offers.tools else []
        self.tools = [
            ServerTool(
                name=prefix + plain_name(tool.name),
                own_name=tool.name,
                description=tool.description or "",
                schema=tool.input_schema,
                reads_only=tool.annotations.read_only_hint if tool.annotations else None,
            )
            for tool in listed
        ]
        named = [prompt async for prompt in _pages(client.list_prompts, "prompts")] if offers and offers.prompts else []
        self.prompts = [
            ServerPrompt(
                name=prefix + plain_name(prompt.name),
                own_name=prompt.name,
                description=prompt.description or "",
                arguments=[argument.name for argument in prompt.arguments or ()],
            )
            for prompt in named
        ]


#: The SDK's own code for it.
_CONNECTION_CLOSED = -32000


class _Given(AbstractAsyncContextManager["TransportStreams"]):
    """A transport that is already open: what it is part of closes it."""

    def __init__(self, streams: TransportStreams) -> None:
        self._streams = streams

    async def __aenter__(self) -> TransportStreams:
        return self._streams

    async def __aexit__(self, *_: object) -> None:
        pass


async def _pages(ask: Callable[..., Awaitable[Any]], member: str) -> AsyncIterator[Any]:
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        page = await ask(cursor=cursor)
        for one in getattr(page, member):
            yield one
        cursor = page.next_cursor
        if not cursor:
            return


def _failure(error: BaseException) -> str:
    cause = cause_of(error)
    return "its command was not found" if isinstance(cause, FileNotFoundError) else first_line(cause)


class McpServers:
    """All servers of a session."""

    def __init__(
        self,
        configs: Iterable[ServerConfig],
        *,
        cwd: Path,
        environment: Mapping[str, str],
        environ: Mapping[str, str],
        exchange: Exchange | None = None,
    ) -> None:
        """`environment` is what servers get, `environ` our own."""
        timeout = milliseconds(environ, "MCP_TIMEOUT", CONNECT_TIMEOUT)
        self.tool_timeout = milliseconds(environ, "MCP_TOOL_TIMEOUT", TOOL_TIMEOUT)
        logins = Logins(environ)
        self._servers = [
            ServerConnection(one, cwd=cwd, environment=environment, timeout=timeout, logins=logins, exchange=exchange)
            for one in configs
        ]

    def __iter__(self) -> Iterator[ServerConnection]:
        return iter(self._servers)

    def __len__(self) -> int:
        return len(self._servers)

    def find(self, name: str) -> ServerConnection | None:
        """By its name, or else as its tools' names have it."""
        found = [server for server in self._servers if name in (server.name, plain_name(server.name))]
        return next((server for server in found if server.name == name), found[0] if found else None)

    @property
    def names(self) -> list[str]:
        return [server.name for server in self._servers]

    async def start(self) -> None:
        """Connect to all."""
        await asyncio.gather(*(server.connect() for server in self._servers))

    @property
    def problems(self) -> list[str]:
        """What fails now, for the user; not those that a login would fix."""
        failed = (server for server in self._servers if server.problem and not server.needs_login)
        return [f"MCP server {server.name}: {server.problem}" for server in failed]

    async def close(self) -> None:
        await asyncio.gather(*(server.close() for server in self._servers), return_exceptions=True)
