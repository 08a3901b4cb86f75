"""What stands where the input is while something is asked: lines to draw, keys to press, and an answer to await.

Pure: keys are named as prompt_toolkit names them, letters are themselves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from stenograph.agent.faces.console.look import Look
from stenograph.views import QUIET, cut, one_line, width, wrap

#: Lines of a detail: all of them.
_WHOLE = 1000
#: Entries that one digit can name.
_MOST_BY_DIGIT = 9


class Panel(Protocol):
    #: The keys that apply, for the status line.
    keys: str

    @property
    def takes_text(self) -> bool:
        """Whether text can be typed or pasted into it."""

    def above(self, look: Look) -> list[str]:
        """What the question is about: with what is under way, above the rule."""

    def lines(self, look: Look) -> list[str]: ...

    def press(self, key: str) -> None:
        """A named key or a letter."""


class MenuChoice(Struct, frozen=True):
    label: str
    #: What it would do, on lines of its own.
    detail: str = ""
    #: At the right edge.
    fact: str = ""
    value: Any = None


class Menu:
    """A list to choose from; letters narrow it down. A digit chooses from a short list, and moves the highlight of a long one."""

    def __init__(
        self,
        title: str,
        choices: Sequence[MenuChoice],
        *,
        keys: str = "enter choose  esc close",
        selected: int = 0,
        numbered: bool = True,
        filtered: bool = False,
        foot: Callable[[MenuChoice], str] | None = None,
        letters: str = "",
        wrapped: bool = False,
        careful: bool = False,
    ) -> None:
        """`letters` are keys that also answer, as (value, letter). `filtered`: typing narrows the list down. `wrapped`: no label
        is cut. `careful`: no digit chooses, however short the list is.
        """
        self.title = title
        self.keys = keys
        self._all = list(choices)
        self._shown = self._all
        self._selected = max(0, min(selected, len(self._all) - 1))
        self._numbered = numbered and not filtered
        self._filtered = filtered
        self._foot = foot
        self._letters = letters
        self._wrapped = wrapped
        self._careful = careful
        #: The digits of a number that may go on.
        self._number = ""
        self.text = ""
        self.answer: asyncio.Future[tuple[Any, str] | None] = asyncio.get_running_loop().create_future()

    @property
    def selected(self) -> MenuChoice | None:
        return self._shown[self._selected] if self._shown else None

    @property
    def takes_text(self) -> bool:
        return self._filtered

    @property
    def count(self) -> int:
        return len(self._shown)

    @property
    def letters(self) -> str:
        return self._letters

    def above(self, look: Look) -> list[str]:  # noqa: ARG002 - for those that have something to show
        return []

    def whole(self, look: Look) -> list[str]:
        """All that `above` may have cut."""
        return self.above(look)

    def lines(self, look: Look) -> list[str]:
        lines = [f"  {piece}" for line in self.title.split("\n") for piece in wrap(line, look.columns - 2)]
        if self._filtered:
            lines.append(f"  {look.paint('>', 1, 94)} {self.text}")
        if not look.is_low:
            lines.append("")
        most = max(3, look.rows - len(lines) - (8 if not look.is_low else 6 if look.has_rules else 4))
        first = max(0, min(self._selected - most // 2, len(self._shown) - most))
        shown = list(enumerate(self._shown[first : first + most], first))
        # Details make way for choices.
        for details in (_WHOLE, 2, 1, 0):
            drawn = [line for place, choice in shown for line in self._choice(place, choice, look, details)]
            if len(drawn) <= most:
                break
        lines += drawn
        if not self._shown:
            lines.append(look.paint("  nothing matches", *QUIET))
        if len(self._shown) > most:
            lines.append(look.paint(f"  {self._selected + 1} of {len(self._shown)}", *QUIET))
        if self._foot is not None and (chosen := self.selected) is not None and (foot := self._foot(chosen)):
            lines += ["", *(f"  {look.paint(piece, *QUIET)}" for piece in wrap(foot, look.columns - 4))]
        return lines

    def _choice(self, place: int, choice: MenuChoice, look: Look, details: int) -> list[str]:
        """`details`: lines of its detail."""
        number = f"{place + 1:<2} " if self._numbered else ""
        room = look.columns - 2 - len(number) - (width(choice.fact) + 2 if choice.fact else 0)
        label, *rest = wrap(one_line(choice.label), room) if self._wrapped else [cut(one_line(choice.label), room)]
        space = " " * max(2, room + 2 - width(label)) if choice.fact else ""
        is_selected = place == self._selected
        mark = "▌ " if is_selected else "  "
        line = f"{mark}{number}{label}"
        line = look.paint(line, 1) if is_selected else line
        lines = [f"{line}{space}{look.paint(choice.fact, *QUIET)}".rstrip()]
        lines += [look.paint(f"{' ' * (2 + len(number))}{piece}", *((1,) if is_selected else ())) for piece in rest]
        indent = " " * (4 + len(number))
        pieces = wrap(one_line(choice.detail), look.columns - len(indent)) if choice.detail else []
        if len(pieces) > details > 0:
            pieces = [*pieces[: details - 1], cut(f"{pieces[details - 1]} {pieces[details]}", look.columns - len(indent))]
        lines += [look.paint(f"{indent}{piece}", *QUIET) for piece in pieces[:details]]
        return lines

    def press(self, key: str) -> None:
        if self.answer.done():
            return
        before, self._number = self._number, ""
        match key:
            case "up" | "c-p":
                self._selected = max(0, self._selected - 1)
            case "down" | "c-n":
                self._selected = min(len(self._shown) - 1, self._selected + 1)
            case "pageup":
                self._selected = max(0, self._selected - 10)
            case "pagedown":
                self._selected = min(len(self._shown) - 1, self._selected + 10)
            case "enter" | "c-m":
                self._leave("enter")
            case "escape" | "c-c" | "c-d":
                self.answer.set_result(None)
            case "backspace" | "c-h":
                self._narrow(self.text[:-1])
            case _ if key in self._letters and key:
                self._leave(key)
            case _ if self._filtered and len(key) == 1:
                self._narrow(self.text + key)
            case _ if self._numbered and key.isdecimal():
                self._take_digit(before, key)

    def _take_digit(self, before: str, digit: str) -> None:
        """A second one goes on with the number, unless there is no such entry."""
        number = next((one for one in (before + digit, digit) if 0 < int(one) <= len(self._shown)), "")
        if not number:
            return
        self._selected = int(number) - 1
        if self._careful or len(self._shown) > _MOST_BY_DIGIT:
            self._number = number
        else:
            self._leave("enter")

    def _leave(self, key: str) -> None:
        if (chosen := self.selected) is not None:
            self.answer.set_result((chosen.value, key))

    def _narrow(self, text: str) -> None:
        self.text = text
        words = text.lower().split()
        self._shown = [choice for choice in self._all if all(word in choice.label.lower() for word in words)]
        self._selected = 0


class CheckList(Menu):
    """A menu of which any number can be chosen: enter, space and digits check an entry, tab is for the last one.

    The answer is an entry without a box; the last one answers only if something is checked.
    """

    def __init__(self, title: str, choices: Sequence[MenuChoice], actions: Sequence[MenuChoice], checked: Sequence[Any]) -> None:
        """`actions`: the entries without a box. `checked`: values."""
        self.checked = list(checked)
        self._boxed = list(choices)
        self._actions = list(actions)
        super().__init__(title, [], keys="space check  tab done  esc stop", wrapped=True)
        self._draw_boxes()

    def _draw_boxes(self) -> None:
        boxed = [
            replace(choice, label=f"[{'x' if choice.value in self.checked else ' '}] {choice.label}") for choice in self._boxed
        ]
        *actions, done = self._actions
        fact = f"{len(self.checked)} chosen" if self.checked else "choose at least one"
        self._shown = self._all = [*boxed, *actions, replace(done, fact=fact)]

    def press(self, key: str) -> None:
        if key == "tab":
            self._selected = len(self._shown) - 1
        super().press("enter" if key in (" ", "tab") else key)

    def _leave(self, key: str) -> None:
        place = self._selected
        if place < len(self._boxed):
            value = self._boxed[place].value
            self.checked = [one for one in self.checked if one != value] if value in self.checked else [*self.checked, value]
            self._draw_boxes()
        elif place < len(self._shown) - 1 or self.checked:
            super()._leave(key)


class TextLine:
    """One line to type."""

    keys = "enter done  esc cancel"
    takes_text = True

    def __init__(self, title: str, text: str = "") -> None:
        self.title, self.text = title, text
        self.answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()

    def above(self, look: Look) -> list[str]:  # noqa: ARG002 - as all panels
        return []

    def lines(self, look: Look) -> list[str]:
        text = one_line(self.text)
        shown = text if width(text) < look.columns - 6 else text[-(look.columns - 6) :]
        title = [f"  {piece}" for piece in wrap(self.title, look.columns - 2)]
        return [*title, "", f"  {look.paint('>', 1, 94)} {shown}▏"]

    def press(self, key: str) -> None:
        if self.answer.done():
            return
        match key:
            case "enter" | "c-m":
                self.answer.set_result(self.text)
            case "escape" | "c-c":
                self.answer.set_result(None)
            case "backspace" | "c-h":
                self.text = self.text[:-1]
            case "c-u":
                self.text = ""
            case _ if len(key) == 1:
                self.text += key
