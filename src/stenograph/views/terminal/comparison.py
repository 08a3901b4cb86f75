"""Two sessions side by side, or what differs in them as one patch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import unified_diff
from itertools import zip_longest

from msgspec.structs import replace

from stenograph.inputs import InputKind
from stenograph.views.pages.comparison import ComparisonPage
from stenograph.views.pages.transcript import TurnPage
from stenograph.views.pages.turn_parts import notification_note
from stenograph.views.pages.turns import TurnDetail
from stenograph.views.terminal.options import BOLD, DIM, RenderOptions
from stenograph.views.terminal.transcript import render_parts, render_patch
from stenograph.views.text import count_of, cut, one_line, pad, plain, short_path

_PIPE_COLUMNS = 120


def render_comparison(page: ComparisonPage, options: RenderOptions) -> Iterator[str]:
    yield options.paint(_where(page), BOLD)
    if page.parting != "same":
        columns = (options.width or _PIPE_COLUMNS) // 2 - 2
        alike = page.a.id == page.b.id
        names = [f"{plain(side.id[:8])}{f'#{side.branch}' if side.branch > 1 or alike else ''}" for side in (page.a, page.b)]
        yield ""
        yield options.paint(pad(names[0], columns) + "  │ " + names[1], DIM)
        for left, right in zip_longest(page.a.turns, page.b.turns):
            for a, b in zip_longest(_cell(left), _cell(right), fillvalue=""):
                yield f"{pad(cut(a, columns), columns)}  │ {cut(b, columns)}".rstrip()
    for label, paths in (
        ("only the first touched", page.a.only_files),
        ("only the second touched", page.b.only_files),
        ("both touched", page.common_files),
    ):
        if paths:
            yield ""
            yield options.paint(f"{label} {count_of(len(paths), 'file')}:", DIM)
            yield from (f"  {short_path(path)}" for path in paths)


def _where(page: ComparisonPage) -> str:
    if page.parting == "same":
        return f"The same: {count_of(page.shared, 'turn')}."
    begin = f"The same up to turn {page.shared}" if page.shared else "They have no turn in common"
    if page.parting == "ahead":
        ahead = "first" if page.a.turns else "second"
        more = count_of(len(page.a.turns or page.b.turns), "more turn")
        return f"{begin}; the {ahead} has {more}."
    how = "same prompt, different answer" if page.parting == "answer" else "another prompt"
    return f"{begin}; they diverge at turn {page.shared + 1}: {how}."


def _cell(turn: TurnDetail | None) -> list[str]:
    """A turn in three lines: what was asked, what was done, what was said."""
    if turn is None:
        return []
    tools = Counter(tool.name for call in turn.calls for tool in call.tool_calls)
    done = ", ".join(f"{name} ×{number}" if number > 1 else name for name, number in tools.items())
    is_note = turn.kind == InputKind.NOTIFICATION.value
    asked = notification_note(turn.prompt).line if is_note else f"> {one_line(turn.prompt)}"
    lines = [f"{turn.number} {turn.status} {one_line(asked)}"]
    if done:
        lines.append(f"  • {one_line(done)}")
    if turn.answer:
        lines.append(f"  {one_line(turn.answer)}")
    return lines


def render_unified(
    page: ComparisonPage, options: RenderOptions, *, first: Sequence[TurnPage], second: Sequence[TurnPage]
) -> Iterator[str]:
    simple = RenderOptions(width=options.width, agents=True, thinking=True, full=True, figures=False)

    def lines(turns: Sequence[TurnPage]) -> list[str]:
        # Without times and counts, which always differ.
        return [line for turn in turns for line in (f"── turn {turn.number}", *render_parts(turn.parts, simple), "")]

    yield options.paint(_where(page), BOLD)
    difference = unified_diff(lines(first), lines(second), "a", "b", lineterm="")
    yield from render_patch(list(difference), replace(options, full=True))
