"""The console for screen readers and dumb terminals: lines in reading order, words for marks, nothing is redrawn.

`PlainPainter` has the painter's lines in words, `PlainScreen` stands for the screen: it reads whole lines, and asks for a number
or a letter.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stenograph.agent.engine import events
from stenograph.agent.faces.console.painter import Painter
from stenograph.agent.faces.console.panels import CheckList, Menu
from stenograph.agent.faces.console.pasting import Pastes
from stenograph.views import duration, harmless, one_line

if TYPE_CHECKING:
    from stenograph.agent.engine.events import Event
    from stenograph.agent.faces.console.desk import Desk
    from stenograph.agent.faces.console.markdown_stream import MarkdownStream
    from stenograph.agent.faces.console.panels import Panel

_WORDS = {
    ">": "answer:",
    "•": "tool:",
    "✗": "failed:",
    "■": "interrupted:",
    "!": "note:",
    "·": "thinking:",
    "┊": "compaction:",
    "●": "running:",
}
#: Seconds without output before the prompt.
_PAUSE = 0.1
#: Of a number that nobody types.
_DIGITS = 6
_SIGNS = {"-": "removed ", "+": "added ", " ": ""}
#: A line of a change, as `tool_lines` numbers it.
_CHANGED = re.compile(r"  ( {3}\d| {2}\d\d| \d{3}|\d{4,}) ([-+ ]) (.*)")


class PlainPainter(Painter):
    _rewinds = "/rewind"

    def live(self) -> list[str]:
        return []

    def prompt(self, words: str, mark: str = ">") -> None:
        """It is on the screen already, but for one that was queued."""
        if mark == "»":
            self._lines.append(f"you: {harmless(words)}")

    def take(self, event: Event) -> None:
        if isinstance(event, events.ToolBegin) and event.agent_id is None:
            super().take(event)
            running = self._running[event.tool_use_id]
            self._lines.append(f"tool: {running.part.name} {harmless(running.part.title).removeprefix('$ ')}".rstrip())
            return
        super().take(event)
        if isinstance(event, events.TurnEnd) and event.agent_id is None:
            self._lines.append(f"status: {event.outcome.value.replace('_', ' ')} in {duration(event.duration_ms)}")

    def _print_early(self, text: MarkdownStream) -> None:
        """Paragraphs are read whole."""

    def _print_block(self, text: str, *, is_joined: bool) -> None:
        del is_joined
        self._lines += f"{'' if self._has_text else 'model: '}{harmless(text)}".split("\n")
        self._has_text = self._has_answer = True

    def _say(self, kind: str, lines: list[str], *, spaced: bool = False, is_held: bool = False) -> None:
        del kind, spaced, is_held
        self._flush_text()
        self._lines += [in_words(line) for line in lines if line.strip()]


def in_words(line: str) -> str:
    """A line without marks and drawing."""
    if (found := _CHANGED.fullmatch(line)) is not None:
        # With its indentation, which may carry meaning.
        return f"{_SIGNS[found[2]]}{found[1].strip()}: {found[3]}".rstrip()
    mark, _, rest = line.partition(" ")
    line = f"{_WORDS[mark]} {rest}" if mark in _WORDS else line.strip()
    line = line.replace("[ ] ", "").replace("[x] ", "chosen: ")
    return " ".join(line.replace("▌", "").replace("━", "").replace("─", "").replace("ctrl-o", "").split())


class PlainScreen:
    """What the desk knows of a screen, without one."""

    def __init__(self, desk: Desk, cwd: Path) -> None:
        self._desk = desk
        self._cwd = cwd
        self.pastes = Pastes()
        self.panel: Panel | None = None
        self.text = ""
        self._over = asyncio.Event()
        self._typed = b""
        self._is_prompted = False
        #: The cursor is behind a prompt, not at the start of a line.
        self._is_open = False
        self._is_away = False
        self._timer: asyncio.TimerHandle | None = None

    def print(self, lines: Sequence[str]) -> None:
        if lines:
            # What comes while the prompt waits starts on a line of its own.
            sys.stdout.write("\n" * self._is_open + "\n".join(lines) + "\n")
            sys.stdout.flush()
            self._is_prompted = self._is_open = False

    def refresh(self, *, soon: bool = True) -> None:
        """Prompt, once what is being done has said all."""
        del soon
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_PAUSE, self._prompt)

    def _prompt(self) -> None:
        self._timer = None
        self.print(self._desk.finished())
        if self.panel is None and not self._desk.is_busy and not self._is_prompted and not self._is_away:
            self._is_prompted = self._is_open = True
            sys.stdout.write("you: ")
            sys.stdout.flush()

    def show_panel(self, panel: Panel, *, is_sudden: bool = False) -> None:
        del is_sudden  # whole lines answer
        self.panel = panel
        look = self._desk.look
        # Nothing is cut: there is no key that would show it.
        about = panel.whole(look) if isinstance(panel, Menu) else panel.above(look)
        self.print([in_words(line) for line in about if line.strip()])
        lines = [in_words(line) for line in panel.lines(look) if line.strip()]
        self.print([f"question: {lines[0]}", *lines[1:]])
        self._ask(panel)

    def _ask(self, panel: Panel) -> None:
        if isinstance(panel, CheckList):
            words = f"numbers, one at a time or as 1,2, then {panel.count} for Done; or n: "
        else:
            words = f"number, {_letters_of(panel)}y or n: " if isinstance(panel, Menu) else "text: "
        sys.stdout.write(words)
        sys.stdout.flush()
        self._is_open = True

    def hide_panel(self) -> None:
        self.panel = None
        self.refresh()

    def set_text(self, text: str) -> None:
        if text:
            self.print([f"edit and send: {harmless(text)}"])

    async def aside(self, work: Callable[[], Any]) -> Any:
        self._listen(False)
        try:
            result = work()
            return await result if asyncio.iscoroutine(result) else result
        finally:
            self._listen(True)

    async def run(self, begin: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        self.print(["Type a prompt and press Enter. /help lists commands."])
        self._listen(True)
        loop.add_signal_handler(signal.SIGINT, lambda: self._desk.press("c-c", ""))
        loop.call_soon(begin)
        try:
            await self._over.wait()
        finally:
            self._listen(False)
            loop.remove_signal_handler(signal.SIGINT)

    def leave(self) -> None:
        self._over.set()

    def _listen(self, is_on: bool) -> None:
        self._is_away = not is_on
        loop = asyncio.get_running_loop()
        if is_on:
            loop.add_reader(sys.stdin.fileno(), self._read)
        else:
            loop.remove_reader(sys.stdin.fileno())

    def _read(self) -> None:
        try:
            data = os.read(sys.stdin.fileno(), 65536)
        except OSError:  # the terminal was closed
            data = b""
        if not data:
            self._listen(False)  # else it would be asked again at once, for ever
            self._desk.leave()
            return
        *lines, self._typed = (self._typed + data).split(b"\n")
        for line in lines:
            self._take(line.decode("utf-8", "replace"))

    def _take(self, line: str) -> None:
        self._is_prompted = self._is_open = False
        if self.panel is None:
            if line.endswith("\\"):
                self.text += line[:-1] + "\n"
                return
            text, self.text = self.text + line, ""
            self._is_prompted = bool(text.strip())  # the next prompt comes behind the answer
            self._desk.history.add(text)
            self._desk.submit(text, ())
            return
        panel, word = self.panel, line.strip()
        if isinstance(panel, Menu):
            keys = _keys(word, panel)
            for key in keys:
                panel.press(key)
            if keys and not panel.answer.done():
                self.show_panel(panel)
            if not keys:
                more = "".join(f", {letter}" for letter in panel.letters)
                number = "numbers" if isinstance(panel, CheckList) else "a number"
                wanted = f"type {number} from 1 to {panel.count}{more}, y for 1, or n"
                self.print([f'"{one_line(word)}" is not an answer: {wanted}'])
                self._ask(panel)
            return
        for letter in word:
            panel.press(letter)
        panel.press("enter")


def _letters_of(menu: Menu) -> str:
    """The letters that answer, alone or behind a number, with what they do."""
    return "".join(f"{words}, " for words in menu.keys.split("  ") if words[:1] in menu.letters and words[1:2] == " ")


def _keys(word: str, menu: Menu) -> list[str]:
    """Empty for what is not an answer."""
    if len(word) > 1 and word[-1] in menu.letters and (chosen := _keys(word[:-1].rstrip(), menu))[-1:] == ["enter"]:
        return [*chosen[:-1], word[-1]]
    match word.lower():
        case "y" | "yes":
            word = "1"
        case "" | "n" | "no":
            return ["escape"]
    if isinstance(menu, CheckList) and len(numbers := word.replace(",", " ").split()) > 1:
        each = [_keys(number, menu) if number.isdecimal() else [] for number in numbers]
        return [key for keys in each for key in keys] if all(each) else []
    if word.isdecimal() and len(word) < _DIGITS and 0 < int(word) <= menu.count:
        return [*(["up"] * menu.count), *(["down"] * (int(word) - 1)), "enter"]
    return [word] if len(word) == 1 and word in menu.letters else []
