"""The one way into a session: prompts, the ends of background work, control.

It is drained when the session is idle, and at every tool boundary, so that what is typed during a tool is in the next request.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from stenograph.records import Json

if TYPE_CHECKING:
    from stenograph.agent.engine.background import BackgroundTask


class Priority(StrEnum):
    """The client's words."""

    NOW = "now"  # interrupts the turn
    NEXT = "next"  # at the next tool boundary
    LATER = "later"  # after the turn


class UserPrompt(Struct, kw_only=True):
    content: str | list[Json]
    #: Of its record; empty for a new one.
    uuid: str = ""
    priority: Priority = Priority.NEXT
    #: It waited for a turn to end or for a tool boundary. The inbox sets this.
    is_queued: bool = False


class TaskNotice(Struct, kw_only=True):
    """The end of background work; nothing if the model knows of it by then."""

    task: BackgroundTask

    @property
    def is_news(self) -> bool:
        return not self.task.is_told


class ControlKind(StrEnum):
    INTERRUPT = "interrupt"
    SET_MODE = "set_permission_mode"
    SET_MODEL = "set_model"


class Control(Struct, kw_only=True):
    """Takes effect at once."""

    kind: ControlKind
    #: The mode or the model.
    value: str = ""


Item: TypeAlias = UserPrompt | TaskNotice | Control
Waiting: TypeAlias = UserPrompt | TaskNotice


class Inbox:
    def __init__(self) -> None:
        self._waiting: deque[Waiting] = deque()
        self._arrived = asyncio.Event()
        self._is_closed = False
        #: Called for what takes effect at once.
        self.on_control: Callable[[Control], None] | None = None
        #: Called for each prompt and notice that arrives; returns whether it has to wait for a turn under way.
        self.on_arrival: Callable[[Waiting], bool] | None = None

    def put(self, item: Item) -> None:
        if isinstance(item, Control):
            if self.on_control is not None:
                self.on_control(item)
            return
        is_queued = self.on_arrival is not None and self.on_arrival(item)
        if isinstance(item, UserPrompt):
            item.is_queued = is_queued
        self._waiting.append(item)
        self._arrived.set()

    def close(self) -> None:
        """No more prompts will come."""
        self._is_closed = True
        self._arrived.set()

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    @property
    def prompts(self) -> list[UserPrompt]:
        """Those that wait."""
        return [item for item in self._waiting if isinstance(item, UserPrompt)]

    def take_back(self) -> list[UserPrompt]:
        """All waiting prompts, to be edited: they are not delivered."""
        prompts = self.prompts
        self._waiting = deque(item for item in self._waiting if not isinstance(item, UserPrompt))
        return prompts

    async def next(self) -> Waiting | None:
        """Notices first, then prompts in order of arrival; None once closed and empty."""
        while True:
            self._waiting = deque(item for item in self._waiting if isinstance(item, UserPrompt) or item.is_news)
            if self._waiting:
                item = next((one for one in self._waiting if isinstance(one, TaskNotice)), self._waiting[0])
                self._waiting.remove(item)
                return item
            if self._is_closed:
                return None
            self._arrived.clear()
            await self._arrived.wait()

    def take_at_boundary(self, can_go: Callable[[UserPrompt], bool]) -> list[Waiting]:
        """What goes into the turn under way, in order of arrival. `can_go`: whether a prompt is no command."""
        taken: list[Waiting] = []
        kept: deque[Waiting] = deque()
        for item in self._waiting:
            if isinstance(item, TaskNotice):
                taken += [item] if item.is_news else []
            elif item.priority is not Priority.LATER and can_go(item) and not any(isinstance(one, UserPrompt) for one in kept):
                taken.append(item)
            else:
                kept.append(item)
        self._waiting = kept
        return taken
