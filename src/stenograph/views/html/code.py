"""Code, diffs, listings and terminal output -> HTML. Everything that is not a tag of ours is escaped.

Highlighting has five classes, each a color of the page: `k` keyword, `s` string, `c` comment, `m` number or type, `n` a name that
is defined, or an attribute. Fewer elements are faster to lay out than one per token.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from markupsafe import Markup, escape
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.token import Comment, Keyword, Literal, Name, Number, Operator, String, Token
from pygments.util import ClassNotFound

from stenograph.views.text import harmless

# Longer texts are shown plain: a lexer takes about a second for a megabyte.
_LONGEST = 60_000
#: Pieces of a line: the class of each, empty for none, and its text.
Pieces: TypeAlias = list[tuple[str, str]]

_CLASSES = {
    Comment: "c",
    Keyword.Type: "m",
    Keyword: "k",
    String: "s",
    Number: "m",
    Literal: "m",
    Operator.Word: "k",
    Name.Function: "n",
    Name.Class: "n",
    Name.Tag: "n",
    Name.Attribute: "n",
    Name.Decorator: "n",
}


@lru_cache(512)
def _class_of(kind: Any) -> str:
    while kind is not Token:
        if kind in _CLASSES:
            return _CLASSES[kind]
        kind = kind.parent
    return ""


@lru_cache(128)
def _lexer(name: str) -> Lexer | None:
    """By a language or a file's name."""
    try:
        if "/" in name or "." in name:
            return get_lexer_for_filename(name.rpartition("/")[2], stripnl=False, ensurenl=False)
        return get_lexer_by_name(name, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def line_pieces(text: str, language: str) -> list[Pieces]:
    """The lines of a text, each in pieces of one class."""
    lexer = _lexer(language) if language and len(text) <= _LONGEST else None
    if lexer is None:
        return [[("", line)] for line in text.split("\n")]
    lines: list[Pieces] = [[]]
    for kind, value in lexer.get_tokens(text):
        name = _class_of(kind)
        for place, part in enumerate(value.split("\n")):
            if place:
                lines.append([])
            if not part:
                continue
            line = lines[-1]
            if line and line[-1][0] == name:
                line[-1] = (name, line[-1][1] + part)
            else:
                line.append((name, part))
    return lines


def pieces_html(pieces: Iterable[tuple[str, str]]) -> str:
    return "".join(
        f'<span class="{name}">{escape(text)}</span>' if name and not text.isspace() else str(escape(text))
        for name, text in pieces
    )


def code_html(text: str, language: str) -> Markup:
    """A block of code, highlighted."""
    return Markup("\n".join(pieces_html(line) for line in line_pieces(harmless(text, keep_tabs=True), language)))


def listing_html(text: str, path: str, start: int, *, head: int = 0, tail: int = 0) -> tuple[Markup, int]:
    """Numbered lines, and how many were left out of the middle: only `head` and `tail` are kept where they are given."""
    lines = line_pieces(harmless(text, keep_tabs=True).rstrip("\n"), path)
    numbered = list(enumerate(lines, start))
    left_out = 0
    if head and len(numbered) > head + tail + 5:
        left_out = len(numbered) - head - tail
        numbered = [*numbered[:head], (-1, []), *numbered[len(numbered) - tail :]] if tail else numbered[:head]
    rows = [
        '<span class="gap"></span>' if number < 0 else f'<span class="ln" data-n="{number}  ">{pieces_html(line) or " "}</span>'
        for number, line in numbered
    ]
    return Markup("".join(rows)), left_out


_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)")


class _Change:
    """Lines that were removed and those that replace them."""

    def __init__(self) -> None:
        self.old: list[tuple[int, str]] = []
        self.new: list[tuple[int, str]] = []


def patch_html(lines: Sequence[str], path: str, *, most: int = 0, by: Callable[[int], str] = lambda _: "") -> tuple[Markup, int]:
    """A patch as lines that can be shown one below the other or side by side; and how many lines were left out at its end.

    `by` gives what is shown before an added line, by its number: markup.
    """
    left_out = max(0, len(lines) - most) if most and len(lines) > most + 10 else 0
    shown = lines[: len(lines) - left_out] if left_out else lines
    old_lines = line_pieces("\n".join(_clean(line[1:]) for line in shown if line[:1] in (" ", "-", "")), path)
    new_lines = line_pieces("\n".join(_clean(line[1:]) for line in shown if line[:1] in (" ", "+", "")), path)
    out: list[str] = []
    change = _Change()
    old_at = new_at = 0
    old, new = 1, 1

    def flush() -> None:
        nonlocal change
        if change.old or change.new:
            out.append(_change_html(change, old_lines, new_lines, is_new, by))
            change = _Change()

    is_first = True
    is_new = all(line.startswith(("+", "@@")) for line in lines)
    for line in shown:
        mark = line[:1]
        if line.startswith("@@") and (found := _HUNK.match(line)):
            flush()
            old, new = int(found.group(1)), int(found.group(2))
            if not is_first or new > 1:
                out.append(f'<span class="hunk">line {new:,}</span>')
        elif mark == "-":
            if change.new:
                flush()
            change.old.append((old, str(old_at)))
            old += 1
            old_at += 1
        elif mark == "+":
            change.new.append((new, str(new_at)))
            new += 1
            new_at += 1
        elif mark in (" ", ""):
            flush()
            html = pieces_html(new_lines[new_at]) if new_at < len(new_lines) else ""
            out.append(f'<span class="ln" data-o="{old}" data-n="{new}  ">{html or " "}</span>')
            old, new, old_at, new_at = old + 1, new + 1, old_at + 1, new_at + 1
        is_first = False
    flush()
    return Markup("".join(out)), left_out


def _clean(line: str) -> str:
    return harmless(line, keep_tabs=True).replace("\n", " ")


def _change_html(
    change: _Change, old_lines: list[Pieces], new_lines: list[Pieces], is_new: bool, by: Callable[[int], str]
) -> str:
    old = [(number, _at(old_lines, int(place))) for number, place in change.old]
    new = [(number, _at(new_lines, int(place))) for number, place in change.new]
    if len(old) == len(new):
        for place, ((left, before), (right, after)) in enumerate(zip(old, new, strict=True)):
            marked = _mark_difference(before, after)
            if marked:
                old[place], new[place] = (left, marked[0]), (right, marked[1])
    removed = "".join(f'<del class="ln" data-n="{number} −">{_marked_html(pieces, "del") or " "}</del>' for number, pieces in old)
    added = "".join(
        f'<ins class="ln" data-n="{number} +">{by(number)}{_marked_html(pieces, "ins") or " "}</ins>' for number, pieces in new
    )
    kind = "chg new" if is_new else "chg"
    return f'<span class="{kind}"><span>{removed}</span><span>{added}</span></span>'


def _at(lines: list[Pieces], place: int) -> Pieces:
    return lines[place] if place < len(lines) else []


def _mark_difference(before: Pieces, after: Pieces) -> tuple[Pieces, Pieces] | None:
    """Both lines with what differs in a piece of the class `!`, unless nearly all of it does."""
    one, two = "".join(text for _, text in before), "".join(text for _, text in after)
    limit = min(len(one), len(two))
    start = next((place for place in range(limit) if one[place] != two[place]), limit)
    end = next((place for place in range(limit - start) if one[-1 - place] != two[-1 - place]), limit - start)
    if one == two or start + end < 0.3 * max(len(one), len(two)) or not one[:start].strip() + one[len(one) - end :].strip():
        return None
    return _cut_out(before, start, len(one) - end), _cut_out(after, start, len(two) - end)


def _cut_out(pieces: Pieces, start: int, end: int) -> Pieces:
    """Pieces with those between two places marked by a `!` before their class."""
    found: Pieces = []
    at = 0
    for name, text in pieces:
        for begin, stop, mark in ((0, start, ""), (start, end, "!"), (end, at + len(text), "")):
            part = text[max(0, begin - at) : max(0, stop - at)]
            if part:
                found.append((mark + name, part))
        at += len(text)
    return found


def _marked_html(pieces: Pieces, tag: str) -> str:
    out = []
    open_ = False
    for name, text in pieces:
        is_marked = name.startswith("!")
        if is_marked != open_:
            out.append(f"<{tag}>" if is_marked else f"</{tag}>")
            open_ = is_marked
        out.append(pieces_html([(name.removeprefix("!"), text)]))
    if open_:
        out.append(f"</{tag}>")
    return "".join(out)


# Colors and styles of text; every other order to a terminal is left out.
_ORDER = re.compile(r"\x1b\[([0-9;:]*)m|\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_=>78])")
_COLORS = {1: "r", 2: "g", 3: "y", 4: "b", 5: "v", 6: "t"}


def terminal_html(text: str) -> Markup:
    """What a program printed, with its colors as classes. A line that was overwritten shows what was left of it."""
    out: list[str] = []
    style: set[str] = set()
    last = 0
    text = _overwritten(text)
    for order in _ORDER.finditer(text):
        out.append(_styled(text[last : order.start()], style))
        last = order.end()
        if order.group(1) is not None:
            _apply(order.group(1), style)
    out.append(_styled(text[last:], style))
    return Markup("".join(out))


def _overwritten(text: str) -> str:
    """Progress bars return to the beginning of their line: the last of them counts."""
    text = text.replace("\r\n", "\n")
    if "\r" not in text:
        return text
    return "\n".join(next((part for part in reversed(line.split("\r")) if part), "") for line in text.split("\n"))


def _styled(text: str, style: set[str]) -> str:
    if not text:
        return ""
    clean = escape(harmless(text, keep_tabs=True))
    return f'<span class="{" ".join(sorted(style))}">{clean}</span>' if style else str(clean)


def _apply(codes: str, style: set[str]) -> None:
    numbers = [int(code) if code.isdecimal() and len(code) < 4 else 0 for code in re.split("[;:]", codes or "0")]
    place = 0
    while place < len(numbers):
        code = numbers[place]
        if code in (38, 48):
            skip = 2 if numbers[place + 1 : place + 2] == [5] else 4
            if code == 38 and skip == 2 and place + 2 < len(numbers):
                _color(style, _of_256(numbers[place + 2]))
            place += skip
        elif code == 0:
            style.clear()
        elif code == 1:
            style.add("bold")
        elif code == 2:
            style.add("d")
        elif code == 3:
            style.add("it")
        elif code == 4:
            style.add("u")
        elif code == 22:
            style.difference_update({"bold", "d"})
        elif code in (23, 24):
            style.discard("it" if code == 23 else "u")
        elif 30 <= code <= 37 or 90 <= code <= 97:
            _color(style, _COLORS.get(code % 10, "d" if code == 90 else ""))
        elif code == 39:
            _color(style, "")
        place += 1


def _of_256(number: int) -> str:
    if number < 16:
        return _COLORS.get(number % 8, "d" if number == 8 else "")
    if number >= 232:
        return "d" if number < 250 else ""
    red, green, blue = (number - 16) // 36, (number - 16) // 6 % 6, (number - 16) % 6
    top = max(red, green, blue)
    strong = "".join(name for name, value in (("r", red), ("g", green), ("b", blue)) if value >= top - 1 and value > 1)
    return {"r": "r", "g": "g", "b": "b", "rg": "y", "rb": "v", "gb": "t"}.get(strong, "")


def _color(style: set[str], name: str) -> None:
    style.difference_update(_COLORS.values())
    style.discard("d")
    if name:
        style.add(name)


_MATCH = re.compile(r"(?:(?P<path>[^\0\n:]+?)[:-])?(?P<line>\d+)(?P<mark>[:-])(?P<text>.*)")


def matches_html(text: str, *, most: int = 0) -> tuple[Markup, int]:
    """What a search printed: a heading for each file, then its lines with their numbers; else the lines as they are."""
    lines = harmless(text, keep_tabs=True).rstrip("\n").split("\n")
    left_out = max(0, len(lines) - most) if most and len(lines) > most + 10 else 0
    out: list[str] = []
    path = None
    for line in lines[: len(lines) - left_out]:
        found = _MATCH.fullmatch(line)
        if found and (found["path"] or path is None):
            if found["path"] != path:
                path = found["path"]
                if path:
                    out.append(f'<span class="hunk">{escape(path)}</span>')
            pieces = line_pieces(found["text"], path or "")[0] if path else [("", found["text"])]
            out.append(f'<span class="ln" data-n="{found["line"]}  ">{pieces_html(pieces) or " "}</span>')
        elif line == "--":
            out.append('<span class="gap"></span>')
        else:
            out.append(f'<span class="ln" data-n="">{escape(line) or " "}</span>')
    return Markup("".join(out)), left_out
