"""The terminal: finished lines go into its scrollback, and below them what is under way, the input and the status are redrawn.

In: what the desk wants shown, and keys. Out: prompts and named keys for the desk. Only this module, `frame_output` and
`full_screen` know prompt_toolkit. No cursor position is asked for, so that nothing waits for a slow line.
"""

from __future__ import annotations

import asyncio
import functools
import re
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from prompt_toolkit.application import Application, in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.data_structures import Point
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.input.ansi_escape_sequences import ANSI_SEQUENCES
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import ConditionalContainer, HSplit, Layout, Window
from prompt_toolkit.layout.controls import BufferControl, FormattedTextControl
from prompt_toolkit.layout.dimension import Dimension
from prompt_toolkit.layout.processors import AfterInput, ConditionalProcessor
from prompt_toolkit.styles import Style

from stenograph.agent.faces.console.frame_output import make_output
from stenograph.agent.faces.console.look import Look
from stenograph.agent.faces.console.pasting import Pastes
from stenograph.views import width

if TYPE_CHECKING:
    from prompt_toolkit.data_structures import Size

    from stenograph.agent.faces.console.completing import Completer, Completion
    from stenograph.agent.faces.console.panels import Panel
    from stenograph.agent.faces.console.prompt_history import PromptHistory

#: Seconds between two drawings of what is under way.
FRAME = 0.07
_ESCAPE = 0.05
#: Seconds without a key after which a question that came while someone typed takes keys.
PAUSE = 0.8
_MOST_INPUT = 10
#: Lines that are kept to be drawn again: more than a window has.
_MOST_ROWS = 200
_STYLING = re.compile(r"\x1b\[[0-9;]*m")
#: Lines of the input below a question.
_MOST_BESIDE = 3
_HELD = "pause typing to answer"
_PLACEHOLDER = "Ask, or type / for commands, @ for files, ! for a shell"
_KEYS = ("c-c", "c-d", "s-tab", "c-o", "c-b", "c-t", "c-r", "c-v")
_PANEL_KEYS = (
    "up", "down", "left", "right", "pageup", "pagedown", "enter", "escape", "tab", "s-tab", "backspace",
    "c-c", "c-d", "c-p", "c-n", "c-u", "c-o", "c-e", "c-f", "c-v",
)  # fmt: skip
# Shift-enter, as terminals send it that tell it from enter: a new line.
ANSI_SEQUENCES.update({"\x1b[27;2;13~": Keys.ControlJ, "\x1b[13;2u": Keys.ControlJ})
#: Set by the few terminals that cut lines when they become narrower. Others break them anew.
_CUTTING = ("XTERM_VERSION", "STY")


class ScreenDesk(Protocol):
    """What the screen asks, and what it reports."""

    look: Look

    #: Nothing has been said yet.
    is_idle: bool

    def finished(self) -> list[str]: ...

    def live(self) -> list[str]: ...

    def status(self, panel_keys: str) -> list[str]: ...

    def submit(self, text: str, images: Sequence[Path]) -> None: ...

    def press(self, key: str, text: str) -> bool:
        """A key that is not for the input; True if it was used."""


class _Application(Application[None]):
    on_resize: Callable[[], None]

    def _on_resize(self) -> None:
        """Not while something else has the terminal: it would be erased."""
        if not self._running_in_terminal:
            self.on_resize()


class Screen:
    def __init__(
        self,
        desk: ScreenDesk,
        *,
        history: PromptHistory,
        completer: Completer,
        cwd: Path,
        environ: Mapping[str, str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._desk = desk
        self._history = history
        self._completer = completer
        self._cwd = cwd
        self.pastes = Pastes()
        self.panel: Panel | None = None
        self._clock = clock
        #: When the input last got a key.
        self._typed_at = float("-inf")
        #: The panel waits until nobody types: keys are for the input.
        self._is_held = False
        self._hold_timer: asyncio.TimerHandle | None = None
        self._completion: Completion | None = None
        self._is_completing = True
        self._waiting: list[str] = []
        self._printed: deque[str] = deque(maxlen=_MOST_ROWS)
        self._timer: asyncio.TimerHandle | None = None
        self._height = 0
        self._is_trimmed = False
        self._live: list[str] = []
        #: As it stood in the input, folded pastes and all.
        self.last_sent = ""
        self._reflows = environ.get("TERM") != "linux" and not any(name in environ for name in _CUTTING)
        self.buffer = Buffer(multiline=True, on_text_changed=self._changed)
        self._panel_control = FormattedTextControl(self._panel_text, focusable=True, show_cursor=False)
        self._app: Application[None] = self._application()

    # Showing

    def print(self, lines: Sequence[str]) -> None:
        """Lines for the scrollback, above all that is redrawn."""
        self._waiting += lines

    def refresh(self, *, soon: bool = True) -> None:
        """Draw, at once or with the next frame."""
        if not soon:
            self._draw()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(FRAME, self._draw)

    def _draw(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        app = self._app
        if not app.is_running or app._running_in_terminal:
            return
        is_resized = self._find_cursor()
        size = self._measure()
        self._waiting += self._desk.finished()
        self._live = self._desk.live()
        height = self._fit(size)
        lines, self._waiting = self._waiting, []
        self._printed += lines
        with self._output.frame():
            if lines or is_resized or height < self._height or self._is_trimmed:
                # Erased as a whole: prompt_toolkit alone would keep the space of what became smaller.
                self._erase()
                if lines:
                    self._output.write_raw("\r\n".join(lines) + "\r\n")
            app._redraw()
            if self._is_trimmed:
                self._erase()
                app._redraw()
        self._height = height

    def _trim(self) -> None:
        """A row became shorter. tmux would break it anew as if it were as long as before, until it is erased as a whole."""
        self._is_trimmed = True
        if not self._output.is_held:  # a key did it; else `_draw` sees to it
            self.refresh()

    def _erase(self) -> None:
        """Line by line: what is erased from the top of the screen at once, tmux keeps in its history."""
        renderer = self._app.renderer
        if (drawn := renderer._last_screen) is not None and drawn.height > 1:
            row, column, below = renderer._cursor_pos.y, renderer._cursor_pos.x, drawn.height - 1
            up = f"\x1b[{row}A" if row else ""
            back = f"\x1b[{below - row}A" if below > row else ""
            forward = f"\x1b[{column}C" if column else ""
            self._output.write_raw("\r" + up + "\x1b[2K" + "\x1b[B\x1b[2K" * below + back + forward)
        renderer.erase()
        self._is_trimmed = False

    def _resize(self) -> None:
        self._find_cursor()
        with self._output.frame():
            self._erase()
            self._app._redraw()

    def _find_cursor(self) -> bool:
        """Whether the terminal was resized. A narrower one breaks what was drawn into more rows above the cursor."""
        renderer, size = self._app.renderer, self._app.output.get_size()
        drawn, before, place = renderer._last_screen, renderer._last_size, renderer._cursor_pos
        if drawn is None or before is None or before == size:
            return False
        if self._reflows and size.columns < before.columns:
            rows = (drawn.data_buffer[number] for number in range(drawn.height))
            more = [max((at for at, cell in row.items() if cell.char.strip()), default=0) // size.columns for row in rows]
            above = sum(more[: place.y]) + place.x // size.columns
            renderer._cursor_pos = Point(x=place.x % size.columns, y=place.y + above)
            drawn.height += sum(more)
        renderer._last_size = size
        return True

    def _rendering(self, _: Application[None]) -> None:
        self._measure()

    def _measure(self) -> Size:
        size = self._app.output.get_size()
        look = self._desk.look
        if (look.columns, look.rows) != (size.columns, size.rows):
            look.columns, look.rows = size.columns, size.rows
            self._live = self._desk.live()
            self._fit(size)
        return size

    def _fit(self, size: Size) -> int:
        """Make room for what is asked, from the top. Returns the rows of all."""
        if self.panel is not None and self._desk.look.is_low:
            self._live = [line for line in self._live if line]
        height = self._app.layout.container.preferred_height(size.columns, size.rows).preferred
        over = min(max(0, height - size.rows), len(self._live))
        del self._live[:over]
        return height - over

    def show_panel(self, panel: Panel, *, is_sudden: bool = False) -> None:
        """`is_sudden`: it may come while someone types, whose keys must not answer it."""
        self.panel = panel
        if is_sudden and self.buffer.text:
            self._typed_at = max(self._typed_at, self._clock())
        if is_sudden and self._is_typing:
            self._hold()
        else:
            self._app.layout.focus(self._panel_control)
        self.refresh(soon=False)

    def hide_panel(self) -> None:
        self.panel = None
        self._release()
        self._app.layout.focus(self.buffer)
        self.refresh(soon=False)

    @property
    def _is_typing(self) -> bool:
        return self._clock() - self._typed_at < PAUSE

    def _hold(self) -> None:
        self._is_held = True
        self._app.layout.focus(self.buffer)
        if self._hold_timer is not None:
            self._hold_timer.cancel()
        left = max(0.0, PAUSE - (self._clock() - self._typed_at))
        self._hold_timer = asyncio.get_running_loop().call_later(left + 0.01, self._end_hold)

    def _end_hold(self) -> None:
        self._hold_timer = None
        if self._is_held and self._is_typing:
            self._hold()
        elif self._is_held:
            self._release()
            self.refresh()

    def _release(self) -> None:
        self._is_held = False
        if self._hold_timer is not None:
            self._hold_timer.cancel()
            self._hold_timer = None
        if self.panel is not None:
            self._app.layout.focus(self._panel_control)

    def _key_comes(self, _: object) -> None:
        if self._is_held and not self._is_typing:
            self._release()
        if self.panel is None or self._is_held:
            self._typed_at = self._clock()

    async def aside(self, work: Callable[[], Any]) -> Any:
        """Give the terminal away for a while: an editor, a picker of its own."""
        self._draw()
        async with in_terminal():
            result = work()
            if asyncio.iscoroutine(result):
                result = await result
        self._height = 0
        return result

    async def run(self, begin: Callable[[], None]) -> None:
        """Until `leave`. `begin` is called when the prompt is on the screen."""

        def soon() -> None:
            asyncio.get_running_loop().call_soon(begin)

        await self._app.run_async(pre_run=soon, handle_sigint=False)

    def leave(self) -> None:
        if self._app.is_running:
            self._draw()
            self._app.exit()

    def redraw_all(self) -> None:
        """The window anew, whatever another program wrote into it: the end of what was printed, and what is below."""
        self._draw()
        if not self._app.is_running:
            return
        size = self._app.output.get_size()
        room, tail = size.rows - self._height, deque[str]()
        for line in reversed(self._printed):
            room -= max(1, -(-width(_STYLING.sub("", line)) // size.columns))
            if room < 0:
                break
            tail.appendleft(line)
        with self._output.frame():
            self._erase()
            # Line by line, as in `_erase`.
            self._output.write_raw("\x1b[H" + "\x1b[2K\x1b[B" * size.rows + "\x1b[H" + "".join(f"{line}\r\n" for line in tail))
            self._app._redraw()

    # The input

    @property
    def text(self) -> str:
        return self.buffer.text

    def set_text(self, text: str) -> None:
        self.buffer.text = text
        self.buffer.cursor_position = len(text)

    def _changed(self, buffer: Buffer) -> None:
        text = buffer.text
        self._completion = None
        if self._is_completing and text and (text.startswith("/") or "@" in text):
            self._completion = self._completer.complete(text, buffer.cursor_position)

    def _accept(self) -> None:
        assert self._completion is not None
        start, chosen = self._completion.start, self._completion.chosen.text
        before, after = self.buffer.text[:start], self.buffer.text[self.buffer.cursor_position :]
        space = "" if chosen.endswith("/") else " "
        self._is_completing = chosen.endswith("/") and len(chosen) > 1
        self.buffer.text = f"{before}{chosen}{space}{after}"
        self.buffer.cursor_position = len(before) + len(chosen) + len(space)
        if self._is_completing:
            self._changed(self.buffer)
        else:
            self._completion = None
        self._is_completing = True

    def _is_typed_out(self, completion: Completion) -> bool:
        """Whether there is nothing to complete: `@src/` stands there already."""
        return self.buffer.text[completion.start : self.buffer.cursor_position] == completion.chosen.text

    def _enter(self) -> None:
        text = self.buffer.text
        if self._completion is not None and not self._is_typed_out(self._completion):
            is_command = self._completion.start == 0 and text.startswith("/")
            self._accept()
            if not is_command:
                return
            text = self.buffer.text.rstrip()
        if text.endswith("\\") and self.buffer.cursor_position == len(text):
            self.set_text(text[:-1] + "\n")
            return
        self._completion = None
        images = self.pastes.images_in(text)
        whole = self.pastes.whole(text)
        if text.strip():
            self._history.add(text if len(text) < 10_000 else whole[:10_000])
        self.buffer.reset()
        self.last_sent = text
        self._desk.submit(whole, images)

    def _up(self) -> None:
        if self._completion is not None:
            self._completion.move(-1)
        elif self.buffer.document.cursor_position_row > 0:
            self.buffer.cursor_up()
        elif not self._desk.press("up", self.buffer.text) and (older := self._history.older(self.buffer.text)) is not None:
            self._recall(older)

    def _down(self) -> None:
        document = self.buffer.document
        if self._completion is not None:
            self._completion.move(1)
        elif document.cursor_position_row < document.line_count - 1:
            self.buffer.cursor_down()
        elif (newer := self._history.newer()) is not None:
            self._recall(newer)

    def _recall(self, text: str) -> None:
        self._is_completing = False
        self.set_text(text)
        self._is_completing = True

    # Keys

    def _bindings(self) -> KeyBindings:
        keys = KeyBindings()
        typing = Condition(lambda: self.panel is None or self._is_held)
        asking = ~typing

        def on(name: str, action: Callable[[], None]) -> None:
            @keys.add(name, filter=typing)
            def _(_: KeyPressEvent) -> None:
                action()

        on("enter", self._enter)
        on("up", self._up)
        on("down", self._down)
        on("c-j", lambda: self.buffer.insert_text("\n"))
        keys.add("escape", "enter", filter=typing)(lambda _: self.buffer.insert_text("\n"))
        on("tab", self._tab)
        on("escape", self._escape)
        for name in _KEYS:
            on(name, functools.partial(self._press, name))

        keys.add("c-l")(lambda _: self.redraw_all())

        @keys.add("?", filter=typing)
        def _help(_: KeyPressEvent) -> None:
            if self.buffer.text or not self._desk.press("?", ""):
                self.buffer.insert_text("?")

        @keys.add("c-g", filter=typing)
        def _edit(_: KeyPressEvent) -> None:
            self.buffer.open_in_editor()

        @keys.add("c-z", filter=typing)
        def _suspend(event: KeyPressEvent) -> None:
            event.app.suspend_to_background()

        @keys.add(Keys.BracketedPaste, filter=typing)
        def _paste(event: KeyPressEvent) -> None:
            self._insert_paste(event.data)

        @keys.add(Keys.BracketedPaste, filter=asking)
        def _paste_there(event: KeyPressEvent) -> None:
            if self.panel is not None and not self.panel.takes_text:
                # Nobody answers with a paste, nor with the Enter that belongs to it.
                self._typed_at = self._clock()
                self._hold()
                self._insert_paste(event.data)
                self.refresh()
                return
            for letter in " ".join(event.data.split()):
                self._press_panel(letter)

        for name in _PANEL_KEYS:
            keys.add(name, filter=asking, eager=name != "escape")(lambda _, name=name: self._press_panel(name))

        @keys.add(Keys.Any, filter=asking)
        def _letter(event: KeyPressEvent) -> None:
            if event.data.isprintable():
                for letter in event.data:
                    self._press_panel(letter)

        return keys

    def _insert_paste(self, text: str) -> None:
        self.buffer.insert_text(self.pastes.insert(text, self._cwd))

    def _press_panel(self, key: str) -> None:
        if self.panel is not None:
            self.panel.press(key)
            self.refresh()

    def _press(self, name: str) -> None:
        if self.panel is not None and name in ("c-c", "c-o"):
            self._press_panel(name)
            return
        if self._desk.press(name, self.buffer.text):
            return
        if name == "c-d":
            self.buffer.delete()

    def _tab(self) -> None:
        if self._completion is not None:
            self._accept()

    def _escape(self) -> None:
        if self.panel is not None:
            self._press_panel("escape")
        elif self._completion is not None:
            self._completion = None
        else:
            self._desk.press("escape", self.buffer.text)

    # The layout

    def _application(self) -> Application[None]:
        look = self._desk.look

        def mark(line: int, wrapped: int) -> Any:
            if line or wrapped:
                return "  "
            sign = self.buffer.text[:1]
            return [("class:you", f"{sign if sign in ('!', '#') and sign else '>'} ")]

        empty = Condition(lambda: not self.buffer.text and self._desk.is_idle)
        typed = Window(
            BufferControl(
                self.buffer,
                input_processors=[ConditionalProcessor(AfterInput(_PLACEHOLDER, style="class:quiet"), empty)],
                focus_on_click=False,
            ),
            height=lambda: Dimension(min=1, max=_MOST_INPUT if self.panel is None else _MOST_BESIDE),
            wrap_lines=True,
            get_line_prefix=mark,
            dont_extend_height=True,
        )
        asks = Condition(lambda: self.panel is not None)
        # Where a question is, the input is shown if it has something.
        types = Condition(lambda: self.panel is None or self._is_held or bool(self.buffer.text and not look.is_low))
        has_rules = Condition(lambda: self.panel is None or look.has_rules)
        control = FormattedTextControl(lambda: ANSI(look.rule()))
        above, below = (ConditionalContainer(Window(control, height=1), has_rules) for _ in range(2))
        body = HSplit(
            [
                self._lines_of(lambda: self._live),
                above,
                ConditionalContainer(Window(self._panel_control, dont_extend_height=True), asks),
                ConditionalContainer(typed, types),
                below,
                self._lines_of(self._below),
            ]
        )
        self._output = make_output(color=look.color)
        self._output.on_trim = self._trim
        app = _Application(
            layout=Layout(body, focused_element=self.buffer),
            key_bindings=self._bindings(),
            style=Style([("you", "bold ansibrightblue"), ("quiet", "dim")]) if look.color else Style([]),
            output=self._output,
            full_screen=False,
            erase_when_done=True,
            min_redraw_interval=0.02,
            # Resizing is noticed by a signal; terminals that send none are asked twice a second.
            terminal_size_polling_interval=0.5,
        )
        app.ttimeoutlen = app.timeoutlen = _ESCAPE
        app.before_render += self._rendering
        app.key_processor.before_key_press += self._key_comes
        app.on_resize = self._resize
        return app

    def _lines_of(self, lines: Callable[[], list[str]]) -> Window:
        return Window(
            FormattedTextControl(lambda: ANSI("\n".join(lines()))),
            dont_extend_height=True,
            height=lambda: Dimension.exact(len(lines())),
            always_hide_cursor=True,
        )

    def _panel_text(self) -> ANSI:
        return ANSI("\n".join(self.panel.lines(self._desk.look)) if self.panel is not None else "")

    def _below(self) -> list[str]:
        lines = self._desk.status(_HELD if self._is_held else self.panel.keys if self.panel is not None else "")
        if self._completion is not None and (self.panel is None or self._is_held):
            return [*lines[:1], *self._completion.lines(self._desk.look)]
        return lines
