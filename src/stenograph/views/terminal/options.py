"""How lines are wanted: what every renderer in `views.terminal` takes beside its page."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from stenograph.redact import Mask, as_is

BOLD, DIM, ITALIC, RED, GREEN, YELLOW, CYAN, BRIGHT_BLUE = 1, 2, 3, 31, 32, 33, 36, 94

# What colors mean. Every color has a word or a sign beside it, and none is black, white, plain blue or a background.
#: Prompts and ids; commands to run.
YOU, COMMAND = (1, 94), (94,)
#: Added, passed, running; removed, failed; interrupted, compaction, secrets.
GOOD, BAD, CARE = (32,), (31,), (1, 33)
#: Subagents and branches; bars and code.
OTHER, TOOL = (35,), (36,)
#: Labels, provenance and what can be ignored; verdicts, titles and totals.
QUIET, STRONG = (2,), (1,)
#: The widest that prose gets, in columns.
PROSE = 100

#: In the gutter of two columns, by status or verdict; what is done has none.
MARKS = {
    "running": ("●", GOOD),
    "interrupted": ("■", CARE),
    "failed": ("✗", BAD),
    "passed": ("✓", GOOD),
    "care": ("!", CARE),
}


def command_line(*words: str) -> str:
    return shlex.join(["steno", *words])


class RenderOptions(Struct, frozen=True):
    """How pages are wanted as lines."""

    #: Columns of the terminal; None where there is none: lines stay as long as they are, dates and ids whole.
    width: int | None = None
    color: bool = False
    #: Render Markdown; else it stands as it was written.
    markdown: bool = False
    thinking: bool = False
    #: What tools gave back.
    results: bool = True
    #: What subagents did.
    agents: bool = False
    #: How long subagents took and what they cost: that always differs between two sessions.
    figures: bool = True
    #: Hooks one by one; else their number, and those that went wrong or held something up.
    hooks: bool = False
    #: Everything to its end: outputs, patches, summaries.
    full: bool = False
    #: How many lines of an output are shown: from its beginning, and from its end.
    head: int = 8
    tail: int = 4
    #: How many lines of a patch are shown.
    patch: int = 60
    #: What masks a line that was made from several pieces; the pieces come masked.
    mask: Mask = as_is
    #: The question whether to do it comes right behind, so what to type instead is left out.
    asks: bool = False
    #: What ages are counted from; None: the clock.
    now: datetime | None = None
    #: The command line that runs another command of ours, with the homes and options of this run.
    command: Callable[..., str] = command_line

    def paint(self, text: str, *codes: int) -> str:
        return f"\x1b[{';'.join(map(str, codes))}m{text}\x1b[0m" if self.color and codes and text else text

    def mark(self, name: str) -> str:
        """The gutter: a mark and a space, or two spaces for what has none."""
        sign, role = MARKS.get(name, (" ", ()))
        return f"{self.paint(sign, *role)} " if role else "  "

    def legend(self, names: Iterable[str]) -> str:
        """The marks of a list, explained: those that are in it."""
        met = set(names)
        return "  ".join(f"{self.mark(name)}{name}" for name in ("running", "interrupted", "failed") if name in met)

    def masking(self, mask: Mask) -> RenderOptions:
        return replace(self, mask=mask)

    def narrower(self, columns: int) -> RenderOptions:
        return replace(self, width=None if self.width is None else max(20, self.width - columns))
