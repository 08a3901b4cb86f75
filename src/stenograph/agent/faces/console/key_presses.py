"""Keys that are not for the input -> what the desk does about them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from stenograph.agent.faces.console.painter import words_of
from stenograph.agent.faces.console.panels import Menu, MenuChoice
from stenograph.views import QUIET, one_line

if TYPE_CHECKING:
    from stenograph.agent.faces.console.desk import Desk

#: Seconds in which a second Esc or ctrl-c belongs to the first; a hint about it is shown as long.
_TWICE = 1.0
_MODES = ("default", "acceptEdits", "plan")
BYPASS = "bypassPermissions"


class KeyPresses:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        #: The key before, and when.
        self._last: tuple[str, float] = ("", 0.0)

    def press(self, key: str, text: str) -> bool:
        """Whether the key was used."""
        now = time.monotonic()
        is_second = self._last[0] == key and now - self._last[1] < _TWICE
        self._last = (key, now)
        match key:
            case "escape":
                self._escape(text, is_second)
            case "c-c":
                self._cancel(text, is_second)
            case "c-d" if not text:
                self._desk.leave()
            case "?":
                self._desk.commands.take("/help")
            case "s-tab":
                self._next_mode()
            case "c-o":
                self._desk.start(self._unfold())
            case "c-t":
                self._desk.commands.take("/tasks")
            case "c-r":
                self._desk.start(self._search_prompts())
            case "c-b":
                self._to_background()
            case "c-v":
                self._desk.start(self._paste_image())
            case "up":
                return self._edit_queued(text)
            case _:
                return False
        self._desk.show()
        return True

    def _escape(self, text: str, is_second: bool) -> None:
        if self._desk.shell is not None:
            self._desk.shell.stop()
        elif self._desk.is_busy:
            self._stop(text)
            self._last = ("", 0.0)
        elif text and is_second:
            self._desk.screen.set_text("")
            self._desk.hint("")
        elif text:
            self._desk.hint("esc again to clear", _TWICE)
        elif is_second:
            self._last = ("", 0.0)
            self._desk.hint("")
            self._desk.commands.take("/rewind")
        else:
            self._desk.hint("esc again to rewind", _TWICE)

    def _cancel(self, text: str, is_second: bool) -> None:
        if is_second:
            self._desk.leave()
            return
        if text:
            self._desk.screen.set_text("")
        elif self._desk.shell is not None:
            self._desk.shell.stop()
        elif self._desk.is_busy:
            self._stop(text)
        self._desk.hint("ctrl-c again to quit", _TWICE)

    def _stop(self, text: str) -> None:
        """What is queued goes back into the input; else a prompt without any answer, if there is room for it (2.1.325)."""
        queued = self._desk.link.take_back() if self._desk.link is not None else []
        if queued:
            self._desk.screen.set_text("\n".join([*(words_of(prompt.content) for prompt in queued), *([text] if text else [])]))
        self._desk.interrupt(withdraws=not (text or queued or self._desk.is_plain))

    def _edit_queued(self, text: str) -> bool:
        if text or self._desk.link is None or (prompt := self._desk.link.take_back_last()) is None:
            return False
        self._desk.screen.set_text(words_of(prompt.content))
        self._desk.show()
        return True

    def _next_mode(self) -> None:
        modes = (*_MODES, BYPASS) if self._desk.can_bypass else _MODES
        place = modes.index(self._desk.state.mode) if self._desk.state.mode in modes else -1
        self._desk.set_mode(modes[(place + 1) % len(modes)])

    def _to_background(self) -> None:
        agent = self._desk.agent
        if agent is None or not agent.shared.background.detach():
            self._desk.hint("nothing to move to the background")

    async def _unfold(self) -> None:
        from stenograph.agent.faces.console.full_screen import Pager

        lines = list(self._desk.painter.unfold()) or [self._desk.look.paint("  nothing is folded", *QUIET)]
        await self._desk.screen.aside(lambda: Pager(lines, self._desk.look).run(at_end=True))

    async def _search_prompts(self) -> None:
        choices = [MenuChoice(one_line(text), value=text) for text in dict.fromkeys(reversed(self._desk.history.texts))]
        found = await self._desk.ask(Menu("Earlier prompts", choices, filtered=True, keys="type to filter  enter use  esc back"))
        if found is not None:
            self._desk.screen.set_text(found[0])

    async def _paste_image(self) -> None:
        from stenograph.agent.faces.console.clipboard import image_from_clipboard

        path = await image_from_clipboard()
        if path is None:
            self._desk.hint("no image in the clipboard")
        else:
            self._desk.screen.buffer.insert_text(self._desk.screen.pastes.image(path))
