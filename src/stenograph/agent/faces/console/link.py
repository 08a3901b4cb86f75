"""One session that the console talks to: prompts in, events out. It is replaced by another when a session is left or resumed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from stenograph.agent.engine.inbox import UserPrompt
from stenograph.agent.engine.session import Agent, open_agent

if TYPE_CHECKING:
    from stenograph.agent.engine.approval import Approver
    from stenograph.agent.engine.events import Event
    from stenograph.agent.engine.options import AgentOptions
    from stenograph.agent.faces.console.prompt_content import Content
    from stenograph.model import ModelClient


class AgentLink:
    def __init__(self, options: AgentOptions, agent: Agent, hear: Callable[[Event], None]) -> None:
        self.options = options
        self.agent = agent
        self._hearing = asyncio.create_task(self._hear(hear))
        self.serving = asyncio.create_task(agent.serve())

    @classmethod
    async def to(cls, options: AgentOptions, client: ModelClient, hear: Callable[[Event], None], approver: Approver) -> AgentLink:
        """Raises StenographError."""
        return cls(options, await open_agent(options, client, approver), hear)

    async def _hear(self, hear: Callable[[Event], None]) -> None:
        async for event in self.agent.subscribe():
            hear(event)

    def send(self, content: Content) -> None:
        self.agent.inbox.put(UserPrompt(content=content))

    @property
    def queued(self) -> list[UserPrompt]:
        return self.agent.inbox.prompts

    def take_back(self) -> list[UserPrompt]:
        """All queued prompts, to be edited."""
        return self.agent.inbox.take_back()

    def take_back_last(self) -> UserPrompt | None:
        """The last queued prompt, to be edited."""
        return self.agent.inbox.take_back_last()

    async def close(self) -> None:
        """The turn under way ends first; the session on disk is whole. Raises DiskError if it is not."""
        self.agent.inbox.take_back()
        self.agent.inbox.close()
        self.agent.interrupt()
        try:
            await self.serving
        finally:
            with contextlib.suppress(asyncio.CancelledError):
                await self._hearing
