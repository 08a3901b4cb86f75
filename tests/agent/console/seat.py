"""The console without a terminal: keys go in, what would be drawn comes out, and time passes when a test says so."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from prompt_toolkit.application.current import set_app
from prompt_toolkit.data_structures import Size
from prompt_toolkit.key_binding import key_processor
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout.mouse_handlers import MouseHandlers
from prompt_toolkit.layout.screen import Screen as Drawn
from prompt_toolkit.layout.screen import WritePosition
from prompt_toolkit.output import DummyOutput

from stenograph.agent.engine.approval import Approval, PermissionQuestion
from stenograph.agent.engine.options import AgentOptions
from stenograph.agent.faces.console import screen as screens
from stenograph.agent.faces.console.asking import approve
from stenograph.agent.faces.console.completing import Completer
from stenograph.agent.faces.console.desk import Desk
from stenograph.agent.faces.console.look import Look
from stenograph.agent.permissions.live_policy import PermissionUpdate


class _Output(DummyOutput):
    on_trim: Callable[[], None]

    def __init__(self, columns: int, rows: int) -> None:
        self._size = Size(rows=rows, columns=columns)

    def get_size(self) -> Size:
        return self._size


class Seat:
    def __init__(self, folder: Path, columns: int, rows: int) -> None:
        self.now = 100.0
        self.look = Look(columns=columns, rows=rows, color=False)
        options = AgentOptions(cwd=folder, home=folder / "home", environ={})
        nobody: Any = None
        self.desk = Desk(options, nobody, look=self.look, state_folder=None, version="0")
        self.screen = screens.Screen(
            self.desk,
            history=self.desk.history,
            completer=Completer(folder, lambda: ()),
            cwd=folder,
            environ={},
            clock=lambda: self.now,
        )
        self.desk.screen = self.screen
        self.sent: list[str] = []
        self.desk.send = self._send  # type: ignore[method-assign]

    def _send(self, text: str, images: Sequence[Path] = ()) -> None:
        del images
        self.sent.append(text)

    def press(self, *keys: str | Keys, after: float = 0.0, data: str | None = None) -> None:
        """`after`: seconds since the key before."""
        self.now += after
        processor = self.screen._app.key_processor
        with set_app(self.screen._app):
            for key in keys:
                processor.feed(KeyPress(key, data))
            processor.process_keys()
            if keys[-1] == Keys.Escape:
                processor._process_coroutine.send(key_processor._Flush)  # as after the time of an escape sequence

    def type(self, text: str, *, after: float = 0.0) -> None:
        self.now += after
        for letter in text:
            self.press(letter)

    def paste(self, text: str) -> None:
        self.press(Keys.BracketedPaste, data=text)

    async def ask(self, tool: str, given: dict[str, Any], *suggestions: PermissionUpdate) -> asyncio.Task[Approval]:
        """The question is on the screen."""
        question = PermissionQuestion(tool_use_id="t", tool=tool, given=given, reason="", suggestions=list(suggestions))
        asking = asyncio.create_task(approve(self.desk, question))
        await settled()
        return asking

    def lines(self) -> list[str]:
        """What is drawn, as the terminal would have it."""
        size = self.screen._app.output.get_size()
        with set_app(self.screen._app):
            self.screen._live = self.desk.live()
            self.screen._app.render_counter += 1
            height = self.screen._fit(size)
            drawn = Drawn()
            place = WritePosition(xpos=0, ypos=0, width=size.columns, height=min(height, size.rows))
            self.screen._app.layout.container.write_to_screen(drawn, MouseHandlers(), place, "", True, None)
            drawn.draw_all_floats()
        rows = [drawn.data_buffer[row] for row in range(drawn.height)]
        return ["".join(row[column].char for column in range(size.columns)).rstrip() for row in rows]

    def text(self) -> str:
        return "\n".join(self.lines())


def in_a_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    @functools.wraps(test)
    def run(*args: Any, **named: Any) -> None:
        asyncio.run(asyncio.wait_for(test(*args, **named), 20))

    return run


async def settled() -> None:
    """What was pressed has had its effect."""
    for _ in range(10):
        await asyncio.sleep(0)


@contextmanager
def seat(patched: pytest.MonkeyPatch, folder: Path, *, columns: int = 80, rows: int = 24) -> Iterator[Seat]:
    """Inside a running loop."""
    patched.setattr(screens, "make_output", lambda **_: _Output(columns, rows))
    taken = Seat(folder, columns, rows)
    try:
        yield taken
    finally:
        taken.screen._release()
