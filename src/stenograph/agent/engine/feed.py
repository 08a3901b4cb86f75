"""Events for any number of faces: each gets all that are published from its subscription on, numbered in order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from msgspec.structs import force_setattr

from stenograph.agent.engine.events import Event


class Feed:
    def __init__(self) -> None:
        self._queues: list[asyncio.Queue[Event | None]] = []
        self._count = 0
        self._is_closed = False

    def publish(self, event: Event) -> None:
        self._count += 1
        # It is ours until it is in a queue; a copy of each chunk would be felt.
        force_setattr(event, "seq", self._count)
        for queue in self._queues:
            queue.put_nowait(event)

    def close(self) -> None:
        self._is_closed = True
        for queue in self._queues:
            queue.put_nowait(None)

    def subscribe(self) -> AsyncIterator[Event]:
        """From now on, not only from the first `await`. Ends with the session."""
        queue: asyncio.Queue[Event | None] = asyncio.Queue()
        if self._is_closed:
            queue.put_nowait(None)
        self._queues.append(queue)
        return self._events(queue)

    async def _events(self, queue: asyncio.Queue[Event | None]) -> AsyncIterator[Event]:
        try:
            while (event := await queue.get()) is not None:
                yield event
        finally:
            self._queues.remove(queue)
