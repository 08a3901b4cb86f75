"""Slash commands: a table of names, what they do, and functions over the desk."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from stenograph.agent.faces.console.completing import Candidate
from stenograph.views.terminal.options import COMMAND, QUIET
from stenograph.views.text import width

if TYPE_CHECKING:
    from stenograph.agent.faces.console.desk import Desk


class Command(Struct, frozen=True):
    name: str
    about: str
    run: Callable[[Any, str], None]
    also: tuple[str, ...] = ()
    hint: str = ""


_KEYS = (
    ("esc", "interrupt; twice: rewind"),
    ("shift-tab", "next permission mode"),
    ("ctrl-j, \\ enter", "new line"),
    ("ctrl-o", "unfold output"),
    ("ctrl-b", "move to the background"),
    ("ctrl-t", "tasks"),
    ("ctrl-r", "search prompts"),
    ("ctrl-g", "edit in $EDITOR"),
    ("ctrl-z", "suspend"),
    ("ctrl-c", "clear; twice: quit"),
    ("@", "a file"),
    ("!", "a shell command"),
    ("#", "remember"),
)


def show_help(desk: Desk, _: str) -> None:
    look = desk.look
    commands = [command for command in desk.commands.all() if command.about]
    room = max(width(command.name) for command in commands) + 2
    lines = ["  Commands", ""]
    lines += [f"  {look.paint(command.name.ljust(room), *COMMAND)} {command.about}" for command in commands]
    lines += ["", "  Keys", ""]
    room = max(width(name) for name, _ in _KEYS) + 1
    lines += [f"  {look.paint(name.ljust(room), *QUIET)} {about}" for name, about in _KEYS]
    desk.painter.lines(lines)


def leave(desk: Desk, _: str) -> None:
    desk.leave()


COMMANDS = (
    Command("/help", "List commands and keys", show_help),
    Command("/exit", "Leave the console", leave, also=("/quit",)),
)


class Commands:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def all(self) -> Iterable[Command]:
        return COMMANDS

    def candidates(self) -> Iterable[Candidate]:
        return [Candidate(command.name, command.about) for command in self.all()]

    def take(self, text: str) -> bool:
        """Run a command; False if the text is none."""
        name, _, rest = text.partition(" ")
        for command in self.all():
            if name == command.name or name in command.also:
                command.run(self._desk, rest.strip())
                return True
        return False
