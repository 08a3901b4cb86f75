"""Slash commands by name: the engine's own, and those that others add."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from stenograph.agent.engine.events import TurnEnd
from stenograph.agent.tools.base import Companion
from stenograph.records import Json

if TYPE_CHECKING:
    from stenograph.agent.engine.dialogue import Dialogue

_COMMAND = r"(?s)/([A-Za-z][\w:.-]*)(?:\s+(.*))?"


class Expansion(Struct, frozen=True, kw_only=True):
    """What a command says to the model: it begins a turn."""

    #: The prompt's line, as clients record it: `<command-message>…`.
    prompt: str | list[Json]
    #: Behind it.
    companions: list[Companion] = []


Run: TypeAlias = "Callable[[Dialogue, str], Awaitable[TurnEnd | Expansion]]"


class Command(Struct, frozen=True, kw_only=True):
    #: Without the slash.
    name: str
    description: str
    argument_hint: str = ""
    #: builtin, user, project, plugin, mcp, skill.
    source: str = "builtin"
    #: (conversation, arguments) -> the turn that it was, or what to send.
    run: Run


class CommandRegistry:
    def __init__(self, commands: Iterable[Command] = ()) -> None:
        self._by_name: dict[str, Command] = {}
        for command in commands:
            self.add(command)

    def add(self, command: Command) -> None:
        """The first of a name stays."""
        self._by_name.setdefault(command.name, command)

    def __iter__(self) -> Iterator[Command]:
        return iter(self._by_name.values())

    def find(self, prompt: str | list[Json]) -> tuple[Command, str] | None:
        """The command that a prompt calls, and its arguments."""
        found = re.fullmatch(_COMMAND, prompt.strip()) if isinstance(prompt, str) else None
        command = self._by_name.get(found[1]) if found else None
        return (command, (found[2] or "").strip()) if command and found else None


async def _compact(dialogue: Dialogue, arguments: str) -> TurnEnd:
    return await dialogue.compact(arguments)


COMPACT = Command(
    name="compact",
    description="Replace the conversation with a summary",
    argument_hint="[what to keep]",
    run=_compact,
)


def builtin_commands() -> CommandRegistry:
    return CommandRegistry([COMPACT])
