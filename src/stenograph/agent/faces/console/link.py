"""One session that the console talks to: prompts in, events out. It is replaced by another when a session is left or resumed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stenograph.agent.engine.events import Event
    from stenograph.agent.engine.options import AgentOptions
    from stenograph.agent.engine.session import Agent
    from stenograph.model import ModelClient


class Link:
    def __init__(self, options: AgentOptions, client: ModelClient, hear: Callable[[Event], None]) -> None:
        self.options = options
        self._client = client
        self._hear = hear
        self._prompts: asyncio.Queue[Any] = asyncio.Queue()
        self._work: asyncio.Task[None] | None = None
        self.agent: Agent | None = None

    async def open(self) -> None:
        """Raises StenographError."""
        from stenograph.agent.engine.session import open_agent

        self.agent = await open_agent(self.options, self._client)
        self._work = asyncio.create_task(self._listen(self.agent))

    async def _listen(self, agent: Agent) -> None:
        async for event in agent.run(self._each()):
            self._hear(event)

    async def _each(self) -> AsyncIterator[Any]:
        while (prompt := await self._prompts.get()) is not None:
            yield prompt

    def send(self, content: str | list[dict[str, Any]]) -> None:
        self._prompts.put_nowait(content)

    def interrupt(self) -> None:
        if self.agent is not None:
            self.agent.interrupt()

    async def close(self) -> None:
        """The turn under way ends first; the session on disk is whole."""
        if self._work is None:
            return
        self.interrupt()
        self._prompts.put_nowait(None)
        with contextlib.suppress(asyncio.CancelledError):
            await self._work
        self._work = None
