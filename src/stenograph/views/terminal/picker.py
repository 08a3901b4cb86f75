"""Sessions to choose from, as the lines of a screen: a list, a preview beside or below it, and the keys.

Every line fits the screen exactly or is shorter; the line with what is typed is whoever's who draws them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from stenograph.views.pages.picker import PickerPage, PickRow
from stenograph.views.pages.transcript import TurnPage
from stenograph.views.terminal.options import BOLD, BRIGHT_BLUE, DIM, GREEN, RED, YELLOW, RenderOptions
from stenograph.views.terminal.search import WHO, painted
from stenograph.views.terminal.transcript import render_turn
from stenograph.views.text import age, count_of, cut, pad, plain, width

_REVERSE = 7
_LONGEST_ID = 8
#: From so many columns on the preview is beside the list.
_WIDE = 100
_BAR = "│"
_MARKS = {"running": ("●", GREEN), "interrupted": ("■", YELLOW), "failed": ("✗", RED)}
_ESCAPES = re.compile(r"(\x1b\[[0-9;]*m)")
_NO_TITLE = "(no prompt)"
#: Keys that a narrow terminal does not mention, in this order, or in fewer words.
_DISPENSABLE = ("ctrl-p", "ctrl-y", "ctrl-e", "tab", "ctrl-r")
_SHORTER = {"tab": "filter"}


def render_picker(
    page: PickerPage,
    options: RenderOptions,
    *,
    selected: int = 0,
    height: int = 24,
    preview: TurnPage | None = None,
    escape: str = "quit",
) -> Iterator[str]:
    """The lines below the one with what is typed. `escape`: what Esc does."""
    columns = options.width or 80
    yield options.paint("─" * columns, DIM)
    room = height - 3
    if preview is None and not page.rows:
        yield from _filled([options.paint("  No session matches.", DIM)], room)
    elif columns >= _WIDE and preview is not None:
        left = columns // 2 - 1
        listed = list(_filled(_list(page, options, left, selected, room), room))
        shown = list(_filled(_preview(page.rows[selected], preview, options, columns - left - 3), room))
        for one, other in zip(listed, shown, strict=True):
            yield f"{fit(one, left)} {options.paint(_BAR, DIM)} {other}"
    else:
        above = room if preview is None else max(3, room // 2)
        yield from _filled(_list(page, options, columns, selected, above), above)
        if preview is not None:
            yield options.paint("─" * columns, DIM)
            yield from _filled(_preview(page.rows[selected], preview, options, columns), room - above - 1)
    yield options.paint("─" * columns, DIM)
    yield _keys(page, options, columns, escape)


def render_count(page: PickerPage) -> str:
    found = f"{page.total:,} of {count_of(page.sessions, 'session')}" if page.query.strip() else count_of(page.total, "session")
    return found + (f", {count_of(page.matches, 'match', 'matches')}" if page.matches else "")


def render_choices(page: PickerPage, options: RenderOptions) -> Iterator[str]:
    """The sessions as a numbered list, for whoever wants lines and no drawing."""
    for number, row in enumerate(page.rows, 1):
        yield f"{number}. {plain(row.title or _NO_TITLE)}"
        facts = [plain(row.short_id), _project(row), row.status, _when(row, options)]
        yield f"   {', '.join(fact for fact in facts if fact)}"
        if row.line:
            yield f"   {_place(row)}{WHO.get(row.line.kind, '')}{row.line.snippet}"


def fit(line: str, columns: int) -> str:
    """A painted line in exactly so many columns."""
    seen = _ESCAPES.sub("", line)
    if (missing := columns - width(seen)) >= 0:
        return line + " " * missing
    pieces, left = [], columns - 1
    for piece in _ESCAPES.split(line):
        if _ESCAPES.fullmatch(piece):
            pieces.append(piece)
        elif left > 0:
            taken = cut(piece, left) if width(piece) > left else piece
            pieces.append(taken.removesuffix("…") if width(piece) > left else piece)
            left -= width(piece)
    return "".join(pieces) + "…"


def _filled(lines: Iterator[str] | Sequence[str], height: int) -> Iterator[str]:
    """The lines, cut off or filled up to a height."""
    count = 0
    for line in lines:
        if count == height:
            return
        count += 1
        yield line
    for _ in range(height - count):
        yield ""


def _list(page: PickerPage, options: RenderOptions, columns: int, selected: int, height: int) -> Iterator[str]:
    each = 3 if page.query.strip() else 1
    most = max(1, (height + 1) // each)
    first = max(0, min(selected - most // 2, len(page.rows) - most))
    for number, row in enumerate(page.rows[first : first + most], first):
        yield from _row(row, options, columns, is_selected=number == selected)
        if each > 1:
            yield ""


def _row(row: PickRow, options: RenderOptions, columns: int, *, is_selected: bool) -> Iterator[str]:
    mark, color = _MARKS.get(row.status, (" ", 0))
    when = _when(row, options)
    name, gutter = cut(plain(row.short_id), _LONGEST_ID), options.paint("▌", BRIGHT_BLUE) if is_selected else " "
    room = columns - 1 - 2 - len(name) - 2 - 2 - len(when)
    title = plain(row.title or _NO_TITLE)
    if is_selected:
        line = f"{gutter}{options.paint(f'{mark} {name}  {pad(cut(title, room), room)}  {when}', _REVERSE)}"
    else:
        line = (
            f"{gutter}{options.paint(mark, color)} {options.paint(name, BRIGHT_BLUE)}  {pad(cut(title, room), room)}"
            f"  {options.paint(when, DIM)}"
        )
    yield line
    if row.line:
        place = _place(row)
        who = WHO.get(row.line.kind, f"{row.line.kind}: ")
        text = painted(row.line.snippet, row.line.matches, options)
        yield fit(f"{gutter}       {options.paint(place, DIM)}{who}{text}", columns - 1).rstrip()


def _place(row: PickRow) -> str:
    assert row.line is not None
    return f"turn {row.line.turn}  " if row.line.turn else f"line {row.line.line}  "


def _preview(row: PickRow, turn: TurnPage, options: RenderOptions, columns: int) -> Iterator[str]:
    turns = count_of(row.turns or 0, "turn")
    room = columns - len(turns) - 2
    title = plain(row.title or _NO_TITLE)
    yield f"{options.paint(pad(cut(title, room), room), BOLD)}  {turns}"
    where = _project(row) + (f" on {plain(row.branch)}" if row.branch else "")
    facts = [where, plain(row.model or ""), _when(row, options)]
    yield options.paint(cut("  ".join(fact for fact in facts if fact), columns), DIM)
    for line in render_turn(turn, options.narrower((options.width or columns) - columns)):
        yield fit(line, columns).rstrip() if width(_ESCAPES.sub("", line)) > columns else line


def _project(row: PickRow) -> str:
    return plain(row.project or "").replace("\\", "/").rstrip("/").rpartition("/")[2]


def _when(row: PickRow, options: RenderOptions) -> str:
    return age(row.modified, options.now or datetime.now(UTC))


def _keys(page: PickerPage, options: RenderOptions, columns: int, escape: str) -> str:
    keys = [("enter", page.verb)]
    if page.verb != "resume":
        keys.append(("ctrl-r", "resume"))
    if page.edits:
        keys.append(("ctrl-e", "edit"))
    keys.append(("ctrl-y", "copy id"))
    if page.filters:
        keys.append(("tab", f"filter: {plain(page.filter) if page.filter else ', '.join(page.filters)}"))
    keys.append(("ctrl-p", "preview"))
    keys.append(("esc", escape))
    for left_out in _DISPENSABLE:
        if sum(len(key) + len(does) + 3 for key, does in keys) > columns:
            keys = [(key, _SHORTER.get(key, "")) if key == left_out else (key, does) for key, does in keys]
            keys = [(key, does) for key, does in keys if does]
    return "  " + "  ".join(f"{options.paint(key, BOLD)} {options.paint(does, DIM)}" for key, does in keys)
