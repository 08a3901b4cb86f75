"""`steno diff`: the library's `compare`, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from stenograph.cli import NOTHING_MATCHED
from stenograph.cli._arguments import SessionReference, any_project_option, choose_branch, named_session
from stenograph.cli._output import echo_page, json_option, make_mask, pager_option, render_options, reveal_option, width_option
from stenograph.cli._settings import shared_options
from stenograph.errors import SessionNotFoundError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stenograph.turns import Session, Turn

    _Chosen = tuple[Session, Sequence[Turn], int]


@click.command(short_help="Compare two sessions, or two branches of one session.")
@click.argument("first", metavar="A", type=SessionReference())
@click.argument("second", metavar="[B]", type=SessionReference(), required=False)
@any_project_option
@click.option("--branches", is_flag=True, help="Compare the current branch of A with branch 2.")
@click.option("--unified", "-u", is_flag=True, help="Print the differences as one patch.")
@width_option
@pager_option
@click.option("--strict", is_flag=True, help="Exit with 1 if they differ.")
@reveal_option
@json_option
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
    """Compare two sessions, or two branches of one session.

    SESSION#2 is branch 2 of a session, as `steno show` numbers them. B is required, except with --branches. Shows where A and
    B diverge, their turns side by side, and the files that only one touched. Turns are equal if they say and do the same, so a
    fork or clone can be compared with its original.

    \b
    Examples:
      steno diff 4583 0410
      steno diff last#1 last#2
    """
    from functools import partial

    from stenograph.analysis import compare, renames
    from stenograph.views import comparison_page, mask_page, render_comparison, render_unified, turn_pages

    if branches and second is not None:
        raise UsageError("--branches compares branches of one session; leave out B")
    if second is None and not branches:
        raise UsageError("B is required: a second session, or use --branches")
    one: _Chosen = _side(ctx, first)
    other: _Chosen
    if second is None:
        if len(one[0].branches) < 2:
            raise UsageError("this session has only one branch")
        other = (one[0], one[0].branches[1].turns, 2)
    else:
        other = _side(ctx, second)
    found = compare(one[0], other[0], one[1], other[1])
    mask, _ = make_mask(reveal)
    page = mask_page(comparison_page(found, (one[0], one[2]), (other[0], other[2])), mask)
    render = render_comparison
    if unified and not as_json:
        # The second as the first would say it: another worktree is no difference.
        alike = [mask_page(turn, renames(other[0], one[0])) for turn in turn_pages(found.second.rest)]
        as_read = [[mask_page(turn, mask) for turn in side] for side in (turn_pages(found.first.rest), alike)]
        render = partial(render_unified, first=as_read[0], second=as_read[1])
    echo_page(page, render, render_options(ctx, width), as_json=as_json, pager=pager)
    if strict and found.parting != "same":
        ctx.exit(NOTHING_MATCHED)


def _side(ctx: click.Context, reference: str) -> _Chosen:
    """A session and one of its branches: `SESSION` or `SESSION#2`."""
    from stenograph.sessions import load

    name, mark, number = reference.rpartition("#")
    if mark and number.isdecimal() and name:
        try:
            session = load(named_session(ctx, name, reads=True).path)
        except SessionNotFoundError:
            session = load(named_session(ctx, reference, reads=True).path)  # a title may hold the mark
        else:
            return session, choose_branch(session, int(number)).turns, int(number)
    else:
        session = load(named_session(ctx, reference, reads=True).path)
    return session, session.turns, 1
