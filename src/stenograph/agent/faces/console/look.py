"""How the console's lines are wanted, and the few shapes that many of them share."""

from __future__ import annotations

from msgspec import Struct, structs

from stenograph.views import PROSE, QUIET, RenderOptions, cut, one_line, width

#: Columns in which marks stand, left of the text.
GUTTER = 2
#: Where facts stand on a very wide screen.
_WIDEST = 160
#: Rows of a window in which space is saved, and of one in which everything that can be is left out.
_LOW, _LOWEST = 16, 10
#: In words and signs that every mode has: (words, mark in plain text).
MODES = {
    "default": "ask first",
    "acceptEdits": "accept edits",
    "plan": "plan",
    "dontAsk": "deny the rest",
    "bypassPermissions": "allow all",
}


class Look(Struct, kw_only=True):
    """Changes when the terminal is resized."""

    columns: int = 80
    rows: int = 24
    color: bool = True

    def paint(self, text: str, *codes: int) -> str:
        return f"\x1b[{';'.join(map(str, codes))}m{text}\x1b[0m" if self.color and codes and text else text

    @property
    def is_low(self) -> bool:
        """Few rows: a question has no empty lines."""
        return self.rows <= _LOW

    @property
    def has_rules(self) -> bool:
        """Whether lines are drawn around a question."""
        return self.rows > _LOWEST

    @property
    def prose(self) -> int:
        """Columns for text, without the gutter."""
        return max(10, min(self.columns, PROSE) - GUTTER)

    def options(self, **wishes: object) -> RenderOptions:
        """For the renderers of `views`, in the text's columns."""
        usual = RenderOptions(width=max(20, self.columns - GUTTER), color=self.color, markdown=True)
        return structs.replace(usual, **wishes)

    def row(self, left: str, right: str = "", *, mark: str = "  ", name: str = "", codes: tuple[int, ...] = ()) -> str:
        """A line with a mark, a name in bold, what it is about, and facts at the right edge, which are never cut."""
        right = "  ".join(one_line(part) for part in right.split("  "))
        room = self.columns - GUTTER - (width(right) + 2 if right else 0) - (width(name) + 1 if name else 0)
        left = cut(left, max(4, room))
        used = GUTTER + width(left) + (width(name) + 1 if name else 0)
        space = " " * max(2, min(self.columns, _WIDEST) - used - width(right)) if right else ""
        named = f"{self.paint(name, 1)} " if name else ""
        return f"{mark}{named}{self.paint(left, *codes)}{space}{self.paint(right, *QUIET)}".rstrip()

    def rule(self) -> str:
        return self.paint("─" * self.columns, *QUIET)
