"""What tests of the agent work in: a home, a folder, a scripted API, and the agent run in this process.

In: scenes for the stage, prompts. Out: the events of a run, the requests that reached the API, and the lines of the session.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab.observatory.scenes import Scene
from lab.observatory.stage import Stage

from stenograph.agent.engine.events import Event, TurnEnd
from stenograph.agent.engine.options import AgentOptions, PermissionMode
from stenograph.agent.engine.session import Agent, Prompt, open_agent
from stenograph.model.client import ModelClient
from stenograph.model.endpoint import endpoint_from_environment

Json = dict[str, Any]
FAKE_KEY = "sk-ant-api03-" + "x" * 40


@dataclass
class World:
    home: Path
    cwd: Path
    stage: Stage
    environment: dict[str, str] = field(default_factory=dict)

    def options(self, **changes: Any) -> AgentOptions:
        given: Json = {
            "cwd": self.cwd,
            "home": self.home,
            "permission_mode": PermissionMode.BYPASS,
            "environ": os.environ,
            # The scripted endpoint has a search of its own.
            "allowed": ["WebSearch"],
            "environment": {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(self.home)},
        }
        return AgentOptions(**{**given, **changes})

    def run(self, *prompts: str, during: Callable[[Agent, Event], None] | None = None, **changes: Any) -> list[Event]:
        """The events of a whole run, each prompt given when the turn before it is over. `during` sees each, with the agent."""

        async def run() -> list[Event]:
            is_idle = asyncio.Semaphore(1)

            async def each() -> AsyncIterator[Prompt]:
                for prompt in prompts:
                    await is_idle.acquire()
                    yield prompt

            def see(agent: Agent, event: Event) -> None:
                if isinstance(event, TurnEnd) and event.agent_id is None and not agent.inbox.has_news:
                    is_idle.release()
                if during is not None:
                    during(agent, event)

            return await self.hear(each(), see, **changes)

        return asyncio.run(run())

    async def hear(
        self, prompts: AsyncIterator[Prompt], during: Callable[[Agent, Event], None] | None = None, **changes: Any
    ) -> list[Event]:
        endpoint = endpoint_from_environment(
            {"ANTHROPIC_BASE_URL": self.stage.url, "ANTHROPIC_API_KEY": FAKE_KEY, **self.environment}
        )
        client = ModelClient(endpoint, sleep=_no_sleep)
        seen: list[Event] = []
        try:
            agent = await open_agent(self.options(**changes), client)
            async for event in agent.run(prompts):
                seen.append(event)
                if during is not None:
                    during(agent, event)
        finally:
            await client.aclose()
        return seen

    @property
    def sessions(self) -> list[Path]:
        return sorted(self.home.glob("projects/*/*.jsonl"), key=lambda path: path.stat().st_mtime_ns)

    @property
    def session_folder(self) -> Path:
        return self.sessions[0].parent

    @property
    def session(self) -> Path:
        """The only session."""
        (path,) = [path for path in self.sessions if not path.name.startswith("agent-")]
        return path

    def asked(self) -> list[Json]:
        """The requests that reached the API, without those that clients make on their own account."""
        return list(self.stage.requests)


async def _no_sleep(_: float) -> None:
    await asyncio.sleep(0)


@contextmanager
def world_at(folder: Path, scenes: dict[str, Scene]) -> Iterator[World]:
    home, cwd = folder / "home" / ".claude", folder / "work"
    home.mkdir(parents=True)
    cwd.mkdir()
    with Stage() as stage:
        for name, scene in scenes.items():
            stage.add(name, scene)
        yield World(home, cwd, stage)


@contextmanager
def small_disk(size: int) -> Iterator[None]:
    """No file can become larger than this."""
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)


def lines_of(path: Path) -> list[Json]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def turn_ends(events: Iterable[Event]) -> list[TurnEnd]:
    return [event for event in events if isinstance(event, TurnEnd) and event.agent_id is None]


def of(kind: str, lines: Iterable[Json]) -> list[Json]:
    return [line for line in lines if line["type"] == kind]
