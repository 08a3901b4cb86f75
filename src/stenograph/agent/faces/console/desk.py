"""The desk: what a person types becomes prompts and commands, what the agent does becomes lines.

In: options, an endpoint's client. Out: an exit code. Holds the state of a console: the session it is linked to, what is queued,
what is asked. Draws nothing itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stenograph.agent.engine import events
from stenograph.agent.faces.bill import Bill
from stenograph.agent.faces.console.commands import Commands
from stenograph.agent.faces.console.completing import Completer
from stenograph.agent.faces.console.link import Link
from stenograph.agent.faces.console.look import Look, short_model
from stenograph.agent.faces.console.painter import Painter
from stenograph.agent.faces.console.prompt_content import content_of
from stenograph.agent.faces.console.prompt_history import PromptHistory
from stenograph.agent.faces.console.screen import Screen
from stenograph.agent.faces.console.status import Status
from stenograph.errors import StenographError, UsageError
from stenograph.views.terminal.options import QUIET, YOU
from stenograph.views.text import cut, one_line, short_path

if TYPE_CHECKING:
    from stenograph.agent.engine.events import Event
    from stenograph.agent.engine.options import AgentOptions
    from stenograph.model import ModelClient

#: Seconds in which a second Esc or ctrl-c belongs to the first.
_TWICE = 1.0


class Desk:
    def __init__(
        self, options: AgentOptions, client: ModelClient, *, look: Look, state_folder: Path | None, version: str
    ) -> None:
        self.options = options
        self.look = look
        self.version = version
        self._client = client
        self.painter = Painter(look, str(options.cwd))
        self.state = Status(mode=options.permission_mode.value, model=options.model)
        self.bill = Bill()
        self.commands = Commands(self)
        history = PromptHistory(state_folder, str(options.cwd))
        self.screen = Screen(self, history=history, completer=Completer(options.cwd, self.commands.candidates), cwd=options.cwd)
        self.link: Link | None = None
        self.queued: list[str] = []
        self._is_busy = False
        self.is_idle = True
        self._last: tuple[str, float] = ("", 0.0)
        self._hint = ""
        self._tasks: set[asyncio.Task[None]] = set()
        self._waiting: list[Any] = []  # typed before the session was open
        self.failure: StenographError | None = None

    async def run(self, first: str = "") -> int:
        """Until the person leaves. Raises StenographError where the session can't be opened."""
        ticking = asyncio.create_task(self._tick())
        try:
            with _ended_by_signals(self.leave):
                await self.screen.run(lambda: self.start(self._begin(first)))
        finally:
            ticking.cancel()
            for task in self._tasks:
                task.cancel()
            if self.link is not None:
                await self.link.close()
        if self.failure is not None:
            raise self.failure
        return 0

    async def _begin(self, first: str) -> None:
        await asyncio.sleep(0)  # the prompt is drawn first
        try:
            await self.join(self.options)
        except StenographError as error:
            self.failure = error
            self.screen.leave()
            return
        if first:
            self.submit(first, ())

    async def join(self, options: AgentOptions) -> None:
        """Link to a session, in the place of the one so far. Raises StenographError."""
        if self.link is not None:
            await self.link.close()
        self.options = options
        link = Link(options, self._client, self.hear)
        await link.open()
        self.link = link
        for content in self._waiting:
            link.send(content)
        self._waiting = []

    def start(self, work: Any) -> None:
        """Work that is not awaited here; what fails is shown."""

        async def shown() -> None:
            try:
                await work
            except StenographError as error:
                self.painter.note(str(error))
                self.show()

        task = asyncio.create_task(shown())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # What is shown

    def live(self) -> list[str]:
        lines = self.painter.live()
        for number, text in enumerate(self.queued, 1):
            label = "queued" if number == 1 else "      "
            mark = self.look.paint(f"  {label}  {number}", *QUIET)
            lines.append(f"{mark}  {self.look.paint(cut('> ' + one_line(text), self.look.columns - 14), *YOU)}")
        return ["", *lines, *([""] if lines else [])]

    def status(self, panel_keys: str) -> list[str]:
        keys = panel_keys or self._hint or self._keys()
        lines = [self.state.line(self.look, keys)]
        if self.queued and not panel_keys:
            lines.append(self.look.paint("  up edits the last one; enter on an empty line sends them now", *QUIET))
        return lines

    def _keys(self) -> str:
        if self._is_busy:
            return "enter queue" if self.screen.text else "esc interrupt"
        return "? help"

    def show(self) -> None:
        self.screen.print(self.painter.take_lines())
        self.screen.refresh()

    async def _tick(self) -> None:
        """Times on the screen go on while nothing happens."""
        while True:
            await asyncio.sleep(1)
            if self._is_busy:
                self.show()

    # What the agent does

    def hear(self, event: Event) -> None:
        self.state.take(event)
        match event:
            case events.SessionBegin():
                self._welcome(event)
            case events.TurnBegin(agent_id=None):
                self._is_busy, self.is_idle = True, False
                if self.queued:
                    self.queued.pop(0)
            case events.ResponseEnd():
                self.bill.add(event.message["model"], event.usage)
                self.state.usd = self.bill.usd
            case events.TurnEnd(agent_id=None):
                self._is_busy = False
                self.bill.settle(event.session_usage)
                self.state.usd = self.bill.usd
        self.painter.take(event)
        self.show()

    def _welcome(self, event: events.SessionBegin) -> None:
        from stenograph.agent.context.git import branch_of
        from stenograph.agent.context.models import window_of

        self.state.window = self.options.window or window_of(event.model)
        branch = branch_of(self.options.cwd)
        where = short_path(event.cwd) + (f" on {branch}" if branch else "")
        line = f"steno {self.version}  {short_model(event.model)}  {where}"
        self.painter.lines([self.look.row(line, codes=QUIET)], "welcome")

    # What the person does

    def submit(self, text: str, images: Sequence[Path]) -> None:
        self._hint = ""
        if not text.strip():
            return
        if self.commands.take(text.strip()):
            self.show()
            return
        self.send(text, images)

    def send(self, text: str, images: Sequence[Path] = ()) -> None:
        try:
            content = content_of(text, images, self.options.cwd)
        except UsageError as error:
            self.painter.note(str(error))
            self.show()
            return
        if self._is_busy:
            self.queued.append(text)
        if self.link is None:
            self._waiting.append(content)
        else:
            self.link.send(content)
        self.show()

    def press(self, key: str, text: str) -> bool:
        now = time.monotonic()
        is_second = self._last[0] == key and now - self._last[1] < _TWICE
        self._last = (key, now)
        match key:
            case "escape":
                self._escape(text, is_second)
            case "c-c":
                self._cancel(text, is_second)
            case "c-d":
                if text:
                    return False
                self.leave()
            case "?":
                self.submit("/help", ())
            case _:
                return False
        self.screen.refresh()
        return True

    def _escape(self, text: str, is_second: bool) -> None:
        if self._is_busy:
            self.interrupt()
            self._last = ("", 0.0)
        elif text and is_second:
            self.screen.set_text("")
        elif text:
            self._hint = "esc again to clear"

    def _cancel(self, text: str, is_second: bool) -> None:
        if text:
            self.screen.set_text("")
            self._hint, self._last = "", ("", 0.0)
        elif self._is_busy:
            self.interrupt()
            self._last = ("", 0.0)
        elif is_second:
            self.leave()
        else:
            self._hint = "ctrl-c again to quit"

    def interrupt(self) -> None:
        if self.link is not None:
            self.link.interrupt()

    def leave(self) -> None:
        with contextlib.suppress(Exception):
            self.screen.print(self.painter.take_lines())
        self.screen.leave()


@contextlib.contextmanager
def _ended_by_signals(leave: Callable[[], None]) -> Iterator[None]:
    """A terminal that closes and a polite kill leave as a person does: the session on disk is whole."""
    loop = asyncio.get_running_loop()
    taken = [number for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None]
    for number in taken:
        with contextlib.suppress(NotImplementedError):
            loop.add_signal_handler(number, leave)
    try:
        yield
    finally:
        for number in taken:
            with contextlib.suppress(NotImplementedError):
                loop.remove_signal_handler(number)
