"""Logins to MCP servers, kept between runs: the tokens of a server, and the client registration that they belong to.

One file for each name and address of a server, for this user only, in our own data directory. Does not know what tokens are for.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from stenograph.agent.mcp.config import ServerConfig
from stenograph.config import logins_folder
from stenograph.disk import PRIVATE, LockedFile, lock, make_folder, read_whole, remove_file, write_atomically
from stenograph.errors import BusyError, DiskError, LoginError
from stenograph.records import Json

#: Seconds to wait for another process that refreshes a login, and between two tries.
_PATIENCE = 30.0
_PAUSE = 0.02


class Login(Struct, frozen=True, kw_only=True):
    """The SDK's own values as JSON, and what the SDK does not keep."""

    server: str
    url: str
    tokens: Json
    #: Our registration with the authorization server.
    client: Json
    #: Unix time; None if the server did not say.
    expires_at: float | None = None
    #: What was discovered about the authorization server and the MCP server; None if nothing was.
    authorization_server: Json | None = None
    resource: Json | None = None

    def __repr__(self) -> str:
        return f"<Login {self.server}>"


class Logins:
    def __init__(self, environ: Mapping[str, str]) -> None:
        self._folder = logins_folder(environ)
        self._held: dict[Path, LockedFile] = {}
        self._over: dict[str, Login] = {}

    def read(self, server: ServerConfig) -> Login | None:
        """None if there is none, or none that can be read."""
        if self._folder is None:
            return None
        try:
            return msgspec.json.decode(read_whole(self._path(self._folder, server)), type=Login)
        except (DiskError, ValueError):
            return None

    def note_over(self, server: ServerConfig, login: Login) -> None:
        """The authorization server does not refresh a login any more. Known to this process only."""
        self._over[self._key(server)] = login

    def is_over(self, server: ServerConfig) -> bool:
        """Whether that is known of the stored login."""
        login = self._over.get(self._key(server))
        return login is not None and login == self.read(server)

    @asynccontextmanager
    async def hold(self, server: ServerConfig) -> AsyncIterator[None]:
        """Keep the login from every other connection that would hold it, in any process; nothing if there is none.

        Raises DiskError.
        """
        with contextlib.ExitStack() as stack:
            if self._folder is not None:
                path = self._path(self._folder, server)
                if (locked := await _locked(path, stack)) is not None:
                    self._held[path] = locked
                    stack.callback(self._held.pop, path)
            yield

    def write(self, server: ServerConfig, login: Login) -> None:
        """Raises LoginError, DiskError."""
        if self._folder is None:
            raise LoginError("no directory to store tokens in", hint="set HOME")
        path, data = self._path(self._folder, server), msgspec.json.encode(login)
        if (locked := self._held.get(path)) is not None:
            locked.replace(data, expect=locked.state())
            return
        make_folder(self._folder)
        write_atomically(path, data, mode=PRIVATE)

    async def delete(self, server: ServerConfig) -> None:
        """Not while it is refreshed, which would bring it back. Raises DiskError."""
        if self._folder is None:
            return None
        path = self._path(self._folder, server)
        async with self.hold(server):
            if os.name != "nt":  # which can't delete an open file
                return remove_file(path)
        return remove_file(path)

    def _path(self, folder: Path, server: ServerConfig) -> Path:
        return folder / f"{self._key(server)}.json"

    @staticmethod
    def _key(server: ServerConfig) -> str:
        return hashlib.sha256(msgspec.json.encode([server.name, server.url])).hexdigest()[:32]


async def _locked(path: Path, stack: contextlib.ExitStack) -> LockedFile | None:
    """None if there is no such file. Raises DiskError."""
    deadline = asyncio.get_running_loop().time() + _PATIENCE
    while os.path.lexists(path):
        try:
            return stack.enter_context(lock(path, timeout=0))
        except BusyError:
            if asyncio.get_running_loop().time() >= deadline:
                raise
        except DiskError:
            if os.path.lexists(path):  # otherwise it was deleted meanwhile
                raise
        await asyncio.sleep(_PAUSE)
    return None
