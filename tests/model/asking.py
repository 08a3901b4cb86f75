"""A client for tests: no real waiting, and what a stream came to."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from stenograph.errors import ModelError
from stenograph.model.client import ModelClient
from stenograph.model.encoding import Request
from stenograph.model.endpoint import endpoint_from_environment
from stenograph.model.events import StreamEvent

KEY = "sentinel-of-a-key"
Result = TypeVar("Result")


def asks(text: str = "hi", **members: Any) -> Request:
    return Request(model="claude-x", max_tokens=100, messages=[{"role": "user", "content": text}], **members)


class Clock:
    """Time that passes only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


def client_for(url: str, clock: Clock | None = None, /, **environ: str) -> ModelClient:
    clock = clock or Clock()
    endpoint = endpoint_from_environment({"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": KEY, **environ})
    return ModelClient(endpoint, sleep=clock.sleep, clock=lambda: clock.now, chance=lambda: 0.0)


def use(client: ModelClient, what: Callable[[ModelClient], Awaitable[Result]]) -> Result:
    """Run something with a client in a loop of its own, within ten seconds, and close the client."""

    async def run() -> Result:
        async with asyncio.timeout(10):
            try:
                return await what(client)
            finally:
                await client.aclose()

    return asyncio.run(run())


async def collect(client: ModelClient, request: Request | None = None) -> list[StreamEvent | ModelError]:
    """All events of a stream; the error that ended it is the last."""
    events: list[StreamEvent | ModelError] = []
    try:
        async for event in client.stream(request or asks()):
            events.append(event)
    except ModelError as error:
        events.append(error)
    return events


def ask(
    url: str, clock: Clock | None = None, request: Request | None = None, /, **environ: str
) -> list[StreamEvent | ModelError]:
    return use(client_for(url, clock, **environ), lambda client: collect(client, request))
