"""The one way into a session: prompts, the ends of background work, control.

It is drained when the session is idle, and at every tool boundary, so that what is typed during a tool is in the next request.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias
from uuid import uuid4

from msgspec import Struct, field

from stenograph.agent.recording.recorder import plain_text
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
    #: When it came, in the form of records. The inbox sets this and the next.
    arrived: str = ""
    #: It came during a turn.
    is_queued: bool = False

    @property
    def text(self) -> str:
        return plain_text(self.content)


class TaskNotice(Struct, kw_only=True):
    """The end of background work; nothing if the model knows of it by then."""

    task: BackgroundTask
    uuid: str = field(default_factory=lambda: str(uuid4()))
    arrived: str = ""
    is_queued: bool = False

    @property
    def text(self) -> str:
        return self.task.notification()

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
        #: Called for each prompt and notice that arrives.
        self.on_arrival: Callable[[Waiting], None] | None = None
        #: Called for what is not delivered: prompts taken back, notices of what the model has learned by itself meanwhile.
        self.on_removal: Callable[[Waiting], None] | None = None

    def put(self, item: Item) -> None:
        if isinstance(item, Control):
            if self.on_control is not None:
                self.on_control(item)
            return
        if isinstance(item, UserPrompt):
            item.uuid = item.uuid or str(uuid4())
        if self.on_arrival is not None:
            self.on_arrival(item)
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

    @property
    def has_news(self) -> bool:
        """Whether the end of background work waits."""
        return any(isinstance(item, TaskNotice) and item.is_news for item in self._waiting)

    def take_back(self) -> list[UserPrompt]:
        """All waiting prompts, to be edited: they are not delivered."""
        prompts = self.prompts
        for prompt in prompts:
            self._remove(prompt)
        return prompts

    def take_back_last(self) -> UserPrompt | None:
        """The newest waiting prompt."""
        prompts = self.prompts
        if prompts:
            self._remove(prompts[-1])
        return prompts[-1] if prompts else None

    async def next(self) -> Waiting | None:
        """Notices first, then prompts in order of arrival; None once closed and empty."""
        while True:
            self._drop_stale()
            if self._waiting:
                item = next((one for one in self._waiting if isinstance(one, TaskNotice)), self._waiting[0])
                self._waiting.remove(item)
                return item
            if self._is_closed:
                return None
            self._arrived.clear()
            await self._arrived.wait()

    def take_at_boundary(self, can_go: Callable[[UserPrompt], bool]) -> list[Waiting]:
        """What goes into the turn under way, in order of arrival. `can_go`: false for a prompt that is a command."""
        self._drop_stale()
        taken: list[Waiting] = []
        kept: deque[Waiting] = deque()
        is_held = False  # by a prompt before it: they stay in order
        for item in self._waiting:
            if isinstance(item, UserPrompt):
                is_held = is_held or item.priority is Priority.LATER or not can_go(item)
            (kept if is_held and isinstance(item, UserPrompt) else taken).append(item)
        self._waiting = kept
        return taken

    def _drop_stale(self) -> None:
        stale = [item for item in self._waiting if isinstance(item, TaskNotice) and not item.is_news]
        for notice in stale:
            self._remove(notice)

    def _remove(self, item: Waiting) -> None:
        self._waiting.remove(item)
        if self.on_removal is not None:
            self.on_removal(item)
