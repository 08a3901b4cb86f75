"""What is added to a conversation before a request although nobody typed it: memory of directories, changed files, modes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from msgspec import Struct

from stenograph.agent.permissions.live_policy import LivePolicy
from stenograph.agent.tools.base import Workspace
from stenograph.agent.tools.changing import ReadState
from stenograph.records import Json


class AsideContext(Struct, frozen=True, kw_only=True):
    """Of the conversation that is about to send a request."""

    #: None in the main conversation.
    agent_id: str | None
    workspace: Workspace
    read_state: ReadState
    policy: LivePolicy
    #: The first request after a prompt.
    is_turn_begin: bool


class Aside(Struct, frozen=True, kw_only=True):
    #: As it is sent, with its tags.
    text: str
    #: Recorded as an attachment that every reader turns into `text`; without one, as a meta line.
    attachment: Json | None = None


#: Asked before every request; returns only what is new.
AskAside: TypeAlias = Callable[[AsideContext], Awaitable[list[Aside]]]
