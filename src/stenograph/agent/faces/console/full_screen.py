"""A screen of its own for long texts: scroll, search, leave. What was on the terminal is there again afterwards."""

from __future__ import annotations

from collections.abc import Sequence

from prompt_toolkit.application import Application
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import HSplit, Layout, Window
from prompt_toolkit.layout.controls import FormattedTextControl

from stenograph.agent.faces.console.look import Look
from stenograph.views import QUIET


class Pager:
    """Only the lines that are seen are drawn, however many there are."""

    def __init__(self, lines: Sequence[str], look: Look, title: str = "") -> None:
        self._lines = list(lines)
        self._look = look
        self._title = title
        self._top = 0
        self._sought = ""
        self._is_typing = False
        self._app: Application[None] = Application(
            layout=Layout(
                HSplit(
                    [
                        Window(FormattedTextControl(self._body, show_cursor=False, focusable=True)),
                        Window(FormattedTextControl(self._foot), height=1),
                    ]
                )
            ),
            key_bindings=self._keys(),
            full_screen=True,
        )
        self._app.ttimeoutlen = self._app.timeoutlen = 0.05

    async def run(self, *, at_end: bool = False) -> None:
        if at_end:
            self._top = max(0, len(self._lines) - self._look.rows + 1)
        await self._app.run_async()

    def _rows(self) -> int:
        return max(1, self._app.output.get_size().rows - 1)

    def _body(self) -> ANSI:
        return ANSI("\n".join(self._lines[self._top : self._top + self._rows()]))

    def _foot(self) -> ANSI:
        last = min(len(self._lines), self._top + self._rows())
        where = f"lines {self._top + 1:,}-{last:,} of {len(self._lines):,}"
        words = f"/{self._sought}" if self._is_typing else f"{where}  up down space  / search  n next  q back  {self._title}"
        return ANSI(self._look.paint(words, *QUIET))

    def _move(self, by: int) -> None:
        self._top = max(0, min(self._top + by, len(self._lines) - self._rows()))

    def _next(self) -> None:
        for place in range(self._top + 1, len(self._lines)):
            if self._sought and self._sought.lower() in self._lines[place].lower():
                self._top = place
                return

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add(Keys.Any)
        @keys.add("up")
        @keys.add("down")
        @keys.add("pageup")
        @keys.add("pagedown")
        @keys.add("home")
        @keys.add("end")
        @keys.add("enter")
        @keys.add("backspace")
        @keys.add("escape")
        @keys.add("c-c")
        @keys.add("c-o")
        def _press(event: KeyPressEvent) -> None:
            key = event.key_sequence[0].key
            name = key.value if isinstance(key, Keys) else key
            if self._is_typing:
                self._type(name, event.data)
                return
            self._command(event.data if name == Keys.Any.value else name)

        return keys

    def _type(self, name: str, data: str) -> None:
        if name == "c-m":
            self._is_typing = False
            self._next()
        elif name == "c-h":
            self._sought = self._sought[:-1]
        elif name in ("escape", "c-c"):
            self._is_typing = False
        elif data.isprintable():
            self._sought += data

    def _command(self, name: str) -> None:
        match name:
            case "up" | "k":
                self._move(-1)
            case "down" | "j" | "c-m":
                self._move(1)
            case "pageup" | "b":
                self._move(-self._rows())
            case "pagedown" | " ":
                self._move(self._rows())
            case "home" | "g":
                self._top = 0
            case "end" | "G":
                self._move(len(self._lines))
            case "/":
                self._is_typing, self._sought = True, ""
            case "n":
                self._next()
            case "q" | "escape" | "c-c" | "c-o":
                self._app.exit()
