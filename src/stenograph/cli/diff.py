"""`steno diff`: the library's `compare`, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import click

from stenograph.cli import NOTHING_MATCHED
from stenograph.cli._output import make_mask, pager_option, render_options, reveal_option, width_option
from stenograph.cli._session import SessionReference, choose_branch
from stenograph.cli._settings import shared_options, state_options
from stenograph.errors import SessionNotFoundError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from stenograph.analysis.compare import Comparison
    from stenograph.turns import Session, Turn
    from stenograph.views import RenderOptions

    _Chosen = tuple[Session, Sequence[Turn], int]

_PIPE_COLUMNS = 120


@click.command(short_help="Compare two sessions, or two branches of one.")
@click.argument("first", metavar="A", type=SessionReference())
@click.argument("second", metavar="[B]", type=SessionReference(), required=False)
@click.option("--branches", is_flag=True, help="Compare the current branch of A with its second one.")
@click.option("--unified", "-u", is_flag=True, help="The text of what differs as one patch.")
@width_option
@pager_option
@click.option("--strict", is_flag=True, help="Exit with 1 where they differ.")
@reveal_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@shared_options
@click.pass_context
def diff(
    ctx: click.Context,
    first: str,
    second: str | None,
    branches: bool,
    unified: bool,
    width: int | None,
    pager: bool,
    strict: bool,
    reveal: bool,
    as_json: bool,
) -> None:
    """Compare two sessions, or two branches of one.

    A and B are sessions; SESSION#2 is the second branch of one. Shows where they part, the turns of each from there on side
    by side, and the files that only one touched. Turns are the same when they say and do the same, also in a fork.

    --json prints {"shared", "parting": "same" | "ahead" | "answer" | "prompt", "a": {"id", "branch", "turns", "only_files"}, "b":
    {...}, "common_files"}; turns as in `steno turns --json`.

    \b
    Example:
      steno diff last#1 last#2
    """
    from stenograph.analysis.compare import compare
    from stenograph.cli._pager import echo_lines

    homes = state_options(ctx).homes
    if branches and second is not None:
        raise UsageError("--branches compares branches of one session: leave out B")
    if second is None and not branches:
        raise UsageError("name a second session, or --branches")
    one: _Chosen = _side(first, homes)
    other: _Chosen
    if second is None:
        if len(one[0].branches) < 2:
            raise UsageError("the session has one branch only")
        other = (one[0], one[0].branches[1].turns, 2)
    else:
        other = _side(second, homes)
    found = compare(one[0], other[0], one[1], other[1])
    mask, _ = make_mask(reveal)
    if as_json:
        from stenograph.cli._text import echo_json
        from stenograph.redact import mask_json

        echo_json(mask_json(_data(found, one, other), mask))
    else:
        options = render_options(ctx, width)
        echo_lines(_unified(found, options, mask) if unified else _lines(found, one, other, options, mask), pager=pager)
    if strict and found.parting != "same":
        ctx.exit(NOTHING_MATCHED)


def _side(reference: str, homes: Sequence[Path]) -> _Chosen:
    """A session and one of its branches: `SESSION` or `SESSION#2`."""
    from stenograph.sessions import resolve
    from stenograph.sessions.load import load_file

    name, mark, number = reference.rpartition("#")
    if mark and number.isdecimal() and name:
        try:
            session = load_file(resolve(name, homes).path)
        except SessionNotFoundError:
            session = load_file(resolve(reference, homes).path)  # a title may hold the mark
        else:
            return session, choose_branch(session, int(number)).turns, int(number)
    else:
        session = load_file(resolve(reference, homes).path)
    return session, session.turns, 1


def _data(found: Comparison, one: _Chosen, other: _Chosen) -> dict[str, Any]:
    from stenograph.views.data import turn_data

    def told(turns: Sequence[Turn]) -> list[dict[str, Any]]:
        seen: set[str] = set()
        return [turn_data(turn, seen=seen) for turn in turns]

    sides = {
        name: {
            "id": session.id,
            "branch": branch,
            "turns": told(side.rest),
            "only_files": list(side.only_files),
        }
        for name, (session, _, branch), side in (("a", one, found.first), ("b", other, found.second))
    }
    return {"shared": found.shared, "parting": found.parting, **sides, "common_files": list(found.common_files)}


def _lines(found: Comparison, one: _Chosen, other: _Chosen, options: RenderOptions, mask: Callable[[str], str]) -> Iterator[str]:
    from stenograph.views.text import count_of, cut, pad, plain, short_path

    yield options.paint(_where(found), 1)
    if found.parting != "same":
        columns = (options.width or _PIPE_COLUMNS) // 2 - 2
        names = [
            f"{plain(session.id[:8])}{f'#{branch}' if branch > 1 or one[0].id == other[0].id else ''}"
            for session, _, branch in (one, other)
        ]
        yield ""
        yield options.paint(pad(names[0], columns) + "  │ " + names[1], 2)
        for left, right in zip_longest(found.first.rest, found.second.rest):
            for a, b in zip_longest(_cell(left, mask), _cell(right, mask), fillvalue=""):
                yield f"{pad(cut(a, columns), columns)}  │ {cut(b, columns)}".rstrip()
    for label, paths in (
        ("only the first touched", found.first.only_files),
        ("only the second touched", found.second.only_files),
        ("both touched", found.common_files),
    ):
        if paths:
            yield ""
            yield options.paint(f"{label} {count_of(len(paths), 'file')}:", 2)
            yield from (f"  {short_path(mask(path))}" for path in paths)


def _where(found: Comparison) -> str:
    from stenograph.views.text import count_of

    if found.parting == "same":
        return f"The same: {count_of(found.shared, 'turn')}."
    begin = f"The same up to turn {found.shared}" if found.shared else "They share no turn"
    if found.parting == "ahead":
        ahead = "first" if found.first.rest else "second"
        more = count_of(len(found.first.rest or found.second.rest), "more turn")
        return f"{begin}; the {ahead} has {more}."
    how = "the same prompt, another answer" if found.parting == "answer" else "another prompt"
    return f"{begin}; at turn {found.shared + 1} they part: {how}."


def _cell(turn: Turn | None, mask: Callable[[str], str]) -> list[str]:
    """A turn in three lines: what was asked, what was done, what was said."""
    from collections import Counter

    from stenograph.views.text import one_line

    if turn is None:
        return []
    tools = Counter(tool.name for tool in turn.tool_calls)
    done = mask(", ".join(f"{name} ×{number}" if number > 1 else name for name, number in tools.items()))
    lines = [f"{turn.number} {turn.status.value} > {one_line(mask(turn.prompt))}"]
    if done:
        lines.append(f"  ● {one_line(done)}")
    if turn.answer:
        lines.append(f"  {one_line(mask(turn.answer))}")
    return lines


def _unified(found: Comparison, options: RenderOptions, mask: Callable[[str], str]) -> Iterator[str]:
    from difflib import unified_diff

    from stenograph.views import RenderOptions
    from stenograph.views.masking import mask_page
    from stenograph.views.pages.turn_parts import turn_page
    from stenograph.views.terminal.transcript import render_parts, render_patch

    plain = RenderOptions(width=options.width, agents=True, thinking=True)

    def lines(turns: Sequence[Turn]) -> list[str]:
        # Without times and counts, which always differ.
        seen: set[str] = set()
        pages = [mask_page(turn_page(turn, seen=seen), mask) for turn in turns]
        return [line for page in pages for line in (f"── turn {page.number}", *render_parts(page.parts, plain), "")]

    before, after = lines(found.first.rest), lines(found.second.rest)
    yield options.paint(_where(found), 1)
    from msgspec.structs import replace

    yield from render_patch(list(unified_diff(before, after, "a", "b", lineterm="")), replace(options, full=True))
