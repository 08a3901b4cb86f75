"""Live sessions as server-sent events: one follower a session, however many readers it has."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from anyio.to_thread import run_sync
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from stenograph.redact import Mask
from stenograph.sessions import Follower
from stenograph.views import UpdateReader, encode_page, mask_page
from stenograph.web.errors import RequestError

#: Seconds between two looks at a file, and between two signs of life.
LOOK_SECONDS = 0.3
_ALIVE_SECONDS = 15.0
#: Events that wait for a slow reader. Who is further behind has to read the session again.
_MOST_WAITING = 500
_MOST_READERS = 256
_READY = b"event: ready\ndata: {}\n\n"
_LAGGED = b"event: lagged\ndata: {}\n\n"


class _Reader(Struct, eq=False):
    queue: asyncio.Queue[bytes]
    has_lagged: bool = False

    def put(self, event: bytes) -> None:
        try:
            self.queue.put_nowait(event)
        except asyncio.QueueFull:
            self.has_lagged = True


class Hub:
    """Who follows what. Used by the server's own thread only."""

    def __init__(self, mask: Mask, contains: Callable[[Path], bool]) -> None:
        """`contains`: whether a file is in a home; a link may lead out of it."""
        self._mask = mask
        self._contains = contains
        self._readers: dict[Path, set[_Reader]] = {}
        self._tasks: dict[Path, asyncio.Task[None]] = {}
        self._streams = 0
        #: Whose followers are behind all that was there.
        self._ready: set[Path] = set()

    async def events(self, path: Path) -> AsyncIterator[bytes]:
        """What happens in a session from now on, and a sign of life where nothing does."""
        reader = _Reader(asyncio.Queue(_MOST_WAITING))
        readers = self._readers.setdefault(path, set())
        readers.add(reader)
        if path not in self._tasks:
            self._tasks[path] = asyncio.create_task(self._follow(path))
        elif path in self._ready:
            reader.put(_READY)
        try:
            while True:
                if reader.has_lagged:
                    while not reader.queue.empty():
                        reader.queue.get_nowait()
                    reader.has_lagged = False
                    yield _LAGGED
                try:
                    yield await asyncio.wait_for(reader.queue.get(), _ALIVE_SECONDS)
                except TimeoutError:
                    yield b": alive\n\n"
        finally:
            readers.discard(reader)
            if not readers and (task := self._tasks.pop(path, None)) is not None:
                self._readers.pop(path, None)
                self._ready.discard(path)
                task.cancel()

    def join(self) -> None:
        """Take a reader's place: checked and taken at once, for many start at the same time. Raises RequestError."""
        if self._streams >= _MOST_READERS:
            raise RequestError(503, "too-many-readers", "too many pages follow sessions; close some")
        self._streams += 1

    def leave(self) -> None:
        self._streams -= 1

    async def _follow(self, path: Path) -> None:
        follower, reader = await run_sync(_begin, path)
        is_copy = not self._contains(path)  # of a session that only the archive has
        self._ready.add(path)
        self._tell(path, _READY)
        while True:
            # What was seen at one look is sent at once.
            if events := await run_sync(self._look, follower, reader, is_copy):
                self._tell(path, b"".join(events))
            await asyncio.sleep(LOOK_SECONDS)

    def _look(self, follower: Follower, reader: UpdateReader, is_copy: bool) -> list[bytes]:
        updates = follower.poll()
        outside = set() if is_copy else {path for path in {update.path for update in updates} if not self._contains(path)}
        pages = (mask_page(reader.page(update), self._mask) for update in updates if update.path not in outside)
        return [b"event: update\ndata: " + encode_page(page) + b"\n\n" for page in pages]

    def _tell(self, path: Path, event: bytes) -> None:
        for reader in self._readers.get(path, ()):
            reader.put(event)


def _begin(path: Path) -> tuple[Follower, UpdateReader]:
    """A follower behind all that is there. The last turn is read, so that results find their calls."""
    follower, reader = Follower(path), UpdateReader()
    for update in follower.start(1):
        reader.page(update)
    return follower, reader


class EventStream(StreamingResponse):
    """Ends when the reader goes, and lets the follower go with it."""

    media_type = "text/event-stream"

    def __init__(self, hub: Hub, path: Path) -> None:
        """Raises RequestError if there are too many."""
        hub.join()
        self._hub = hub
        super().__init__(hub.events(path), headers={"cache-control": "no-store"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._hub.leave()
            with contextlib.suppress(RuntimeError):
                await self.body_iterator.aclose()  # type: ignore[attr-defined]


async def session_events(request: Request) -> Response:
    if request.method != "GET":  # the framework adds HEAD, whose answer would never end
        raise RequestError(405, "method-not-allowed", "this address does not take that method", allow="GET")
    session_id = request.path_params["session_id"]
    file = await run_sync(request.app.state.questions.file, session_id)
    return EventStream(request.app.state.hub, file.path)
