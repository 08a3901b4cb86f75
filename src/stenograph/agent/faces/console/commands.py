"""Slash commands: a table of names, what they do, and functions over the desk. Those of the engine and of files come from it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from stenograph.agent.faces.console.completing import Completable
from stenograph.errors import StenographError
from stenograph.views import COMMAND, QUIET, cut, one_line, width

if TYPE_CHECKING:
    from stenograph.agent.faces.console.desk import Desk

Run: TypeAlias = "Callable[[Desk, str], Coroutine[Any, Any, None]]"


class ConsoleCommand(Struct, frozen=True):
    name: str
    about: str
    #: A module beside this one and a function in it: imported when used.
    place: str
    hint: str = ""
    also: tuple[str, ...] = ()


COMMANDS = (
    ConsoleCommand("/help", "List commands and keys", "commands.show_help"),
    ConsoleCommand("/model", "Change the model", "settings_commands.model", "[name]"),
    ConsoleCommand("/effort", "Change how hard the model thinks", "settings_commands.effort", "[level]"),
    ConsoleCommand("/permissions", "List permission rules, or add one", "settings_commands.permissions", "[allow RULE]"),
    ConsoleCommand("/memory", "Edit CLAUDE.md files", "settings_commands.memory"),
    ConsoleCommand("/agents", "List subagent types", "settings_commands.agents"),
    ConsoleCommand("/mcp", "List MCP servers and their tools; authenticate, sign out", "mcp_command.mcp"),
    ConsoleCommand("/hooks", "List hooks", "settings_commands.hooks"),
    ConsoleCommand("/status", "Show the session, the model and the endpoint", "settings_commands.status"),
    ConsoleCommand("/cost", "Show what this run cost", "settings_commands.cost"),
    ConsoleCommand("/tasks", "Show what runs in the background", "settings_commands.tasks", also=("/bashes",)),
    ConsoleCommand("/clear", "Start a new session", "session_commands.clear", also=("/new",)),
    ConsoleCommand("/resume", "Resume a session", "session_commands.resume", "[session]"),
    ConsoleCommand("/rewind", "Rewind to before a prompt", "rewinding.rewind"),
    ConsoleCommand("/branches", "Show and switch branches", "session_commands.branches"),
    ConsoleCommand("/context", "Show what filled the context and what to drop", "context_command.context"),
    ConsoleCommand("/surgery", "Trim this session, with the plan and its proof first", "session_commands.surgery", "[options]"),
    ConsoleCommand("/undo", "Undo the last edit of this session", "undoing.undo"),
    ConsoleCommand("/search", "Search all sessions", "session_commands.search", "[words]"),
    ConsoleCommand("/handover", "Continue in Claude Code, and come back", "session_commands.handover"),
    ConsoleCommand("/export", "Write this session to a file", "session_commands.export", "[file]"),
    ConsoleCommand("/rename", "Set this session's title", "session_commands.rename", "TITLE"),
    ConsoleCommand("/trace", "Show the state of tracing", "session_commands.trace"),
    ConsoleCommand("/exit", "Leave the console", "commands.leave", also=("/quit",)),
)
#: What leaves as a whole prompt, as in Claude Code.
_LEAVING = frozenset({"exit", "quit", ":q", ":q!", ":wq", ":wq!"})
#: Columns of a command with what it takes.
_ROOM = 27
_DRAWN_KEYS = (
    ("esc", "interrupt; twice: rewind"),
    ("shift-tab", "next permission mode"),
    ("ctrl-j, \\ enter", "new line"),
    ("up, down", "earlier prompts; queued ones while busy"),
    ("ctrl-o", "unfold output"),
    ("ctrl-b", "move a command to the background"),
    ("ctrl-t", "tasks"),
    ("ctrl-r", "search prompts"),
    ("ctrl-g", "edit in $EDITOR"),
    ("ctrl-v", "paste an image"),
    ("ctrl-z", "suspend"),
    ("ctrl-l", "redraw the screen"),
    ("ctrl-c", "clear; twice: quit"),
)
#: Where lines are read as a whole.
_PLAIN_KEYS = (("\\ enter", "new line"), ("ctrl-c", "interrupt; twice: quit"), ("ctrl-z", "suspend"), ("ctrl-d", "quit"))
_STARTS = (
    ("@", "a file"),
    ("!", "a shell command"),
    ("#", "add to CLAUDE.md"),
)


async def show_help(desk: Desk, _: str) -> None:
    look = desk.look
    commands = list(desk.commands.candidates())
    lines = ["  Commands", ""]
    for one in commands:
        name = f"{one.text} {one_line(one.hint)}".rstrip()
        space = " " * max(2, (_ROOM if look.columns >= 80 else _ROOM // 2) - width(name))
        about = cut(one_line(one.about), look.columns - 2 - width(name) - len(space))
        lines.append(f"  {look.paint(one.text, *COMMAND)}{look.paint(name[len(one.text) :], *QUIET)}{space}{about}")
    lines += ["", "  Keys", ""]
    keys = (*(_PLAIN_KEYS if desk.is_plain else _DRAWN_KEYS), *_STARTS)
    room = max(width(name) for name, _ in keys) + 1
    lines += [f"  {look.paint(name.ljust(room), *QUIET)} {about}" for name, about in keys]
    desk.painter.lines(lines)


async def leave(desk: Desk, _: str) -> None:
    desk.leave()


class Commands:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def candidates(self) -> Iterable[Completable]:
        """Ours, then the engine's and those of files."""
        yield from (Completable(one.name, one.about, one.hint) for one in COMMANDS)
        known = {one.name for one in COMMANDS}
        agent = self._desk.agent
        for command in agent.commands if agent is not None else ():
            if f"/{command.name}" not in known:
                source = "" if command.source == "builtin" else f" ({command.source})"
                yield Completable(f"/{command.name}", f"{command.description}{source}", command.argument_hint)

    def take(self, text: str, *, echo: bool = False) -> bool:
        """Run a command of ours; False if the text is none. An unknown one is shown, not sent: it would cost money."""
        if echo and text in _LEAVING:
            self._desk.leave()
            return True
        name, _, rest = text.partition(" ")
        for command in COMMANDS:
            if name == command.name or name in command.also:
                if echo and command.name != "/exit":
                    self._desk.painter.prompt(text)
                self._desk.start(_function(command.place)(self._desk, rest.strip()))
                return True
        if not _is_command(name) or any(one.text == name for one in self.candidates()):
            return False
        self._desk.painter.note(f"unknown command {name}; /help lists them")
        return True

    async def remember(self, text: str) -> None:
        from stenograph.agent.faces.console.settings_commands import remember

        await remember(self._desk, text)


#: Commands of steno that have one of the console's beside them.
_HERE = {"undo": "/undo", "resume": "/resume", "search": "/search", "edit": "/surgery", "trace": "/trace"}
#: Those that take no session here: they are about the one that runs.
_THIS_SESSION = frozenset({"undo", "edit"})
_SHELL_ONLY = ("--home", "--config")


def typed_here(words: Sequence[str]) -> str:
    """A command of steno as a person types it in the console: `/undo`, or `!steno check …`."""
    from stenograph.views import quoted

    kept = list(words)
    while kept and kept[0] in _SHELL_ONLY:
        del kept[:2]
    if kept[:1] and kept[0] in _HERE:
        name, *rest = kept
        if name in _THIS_SESSION and rest and not rest[0].startswith("-"):
            del rest[0]
        return " ".join([_HERE[name], *map(quoted, rest)])
    return " ".join(["!steno", *map(quoted, words)])


def in_words(error: StenographError) -> str:
    """An error, with what to try as far as that can be done here."""
    hint = error.hint
    if hint.startswith("steno "):
        hint = typed_here(hint.split()[1:])
    elif "--" in hint:
        hint = ""  # an option of the command line
    return "; ".join(filter(None, (error.what, error.why, hint and f"try: {hint}")))


def _is_command(word: str) -> bool:
    """`/etc/hosts is broken` is a prompt."""
    return word.startswith("/") and word[1:].replace("-", "").replace(":", "").isalnum()


def _function(place: str) -> Run:
    from importlib import import_module

    module, _, name = place.partition(".")
    found: Run = getattr(import_module(f"stenograph.agent.faces.console.{module}"), name)
    return found
