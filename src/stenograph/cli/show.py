"""`steno show`: a session to read, through a pager."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stenograph.cli._arguments import choose_branch, named_session, parse_turns, session_argument
from stenograph.cli._output import (
    echo_json,
    echo_page,
    hooks_option,
    json_option,
    make_mask,
    pager_option,
    render_options,
    reveal_option,
    tell_masked,
    width_option,
)
from stenograph.cli._settings import shared_options
from stenograph.errors import UsageError

if TYPE_CHECKING:
    from stenograph.views import Piece


@click.command(short_help="Read a session.")
@session_argument
@click.option("--turn", "turns", metavar="N[-M]", help="Show only these turns: 3, 3-5, 3-, or -1 for the last.")
@click.option("--branch", type=click.IntRange(min=1), metavar="N", help="Show branch N instead of the current one.")
@click.option("--thinking", is_flag=True, help="Show thinking.")
@click.option("--results/--no-results", default=True, help="Show tool results. [default: yes]")
@click.option("--agents/--no-agents", default=True, help="Show what subagents did. [default: yes]")
@hooks_option
@click.option("--full", is_flag=True, help="Do not shorten outputs, patches, thinking and summaries.")
@click.option("--steps", "as_steps", is_flag=True, help="Print one line per prompt, answer, tool call and result.")
@width_option
@pager_option
@reveal_option
@json_option
@shared_options
@click.pass_context
def show(
    ctx: click.Context,
    session: str,
    turns: str | None,
    branch: int | None,
    thinking: bool,
    results: bool,
    agents: bool,
    hooks: bool,
    full: bool,
    as_steps: bool,
    width: int | None,
    pager: bool,
    reveal: bool,
    as_json: bool,
) -> None:
    """Read a session.

    Shows prompts, answers, tool calls, subagents, and the branches that rewinding made. Long output is shortened, and thinking
    and hooks are folded. Use --full, --thinking and --hooks to see them. Secrets are masked.

    \b
    Example:
      steno show last --turn 2-3 --thinking
    """
    from stenograph.cli._output import echo_lines
    from stenograph.views import mask_page, render_session

    file = named_session(ctx, session, is_shown=True, reads=True)
    if turns is not None and branch is None and not as_json and not as_steps:
        mask, masker = make_mask(reveal)
        options = render_options(ctx, width, thinking=thinking, results=results, agents=agents, hooks=hooks, full=full, mask=mask)
        pieces = _stored_pieces(file.path, turns, agents=agents, full=full)
        if pieces is not None:
            echo_lines(render_session((mask_page(piece, mask) for piece in pieces), options), pager=pager)
            tell_masked(masker)
            return
    from stenograph.cli._index import copies_of
    from stenograph.sessions import load
    from stenograph.views import render_steps, session_page, session_pieces, steps_page

    loaded = load(file.path)
    chosen = choose_branch(loaded, branch)
    wanted = parse_turns(turns, len(chosen.turns))
    if turns is not None and not any(wanted(turn) for turn in chosen.turns):
        raise _no_such_turn(turns, len(chosen.turns))
    mask, masker = make_mask(reveal)
    if as_steps:
        some = None if turns is None and branch is None else [turn for turn in chosen.turns if wanted(turn)]
        page = steps_page(loaded, some, mask)
        echo_page(page, render_steps, render_options(ctx, width), as_json=as_json, pager=pager)
    else:
        name, copies = loaded.title, copies_of(ctx, file.path)
        if as_json:
            found = session_page(loaded, chosen, wanted=wanted, title=name, agents=agents, full=full, copies=copies)
            echo_json(mask_page(found, mask))
        else:
            options = render_options(
                ctx, width, thinking=thinking, results=results, agents=agents, hooks=hooks, full=full, mask=mask
            )
            pieces = session_pieces(loaded, chosen, wanted=wanted, title=name, agents=agents, full=full, copies=copies)
            echo_lines(render_session((mask_page(piece, mask) for piece in pieces), options), pager=pager)
    tell_masked(masker)


def _no_such_turn(turns: str, count: int) -> UsageError:
    from stenograph.views import count_of

    return UsageError(f"no turn {turns}; this branch has {count_of(count, 'turn')}")


def _stored_pieces(path: Path, turns: str, *, agents: bool, full: bool) -> Iterator[Piece] | None:
    """Some turns without a look at the rest of the session; None where the index does not know it as it is now."""
    from stenograph.index import open_session, open_store, store_path
    from stenograph.views import opened_pieces

    where = store_path(os.environ)
    if where is None or not where.exists():
        return None
    opened = open_session(open_store(where), path)
    if opened is None:
        return None
    all_turns = opened.branches[0].turns if opened.branches else ()
    wanted = parse_turns(turns, len(all_turns))
    if not any(wanted(turn) for turn in all_turns):
        raise _no_such_turn(turns, len(all_turns))
    return opened_pieces(opened, wanted=wanted, agents=agents, full=full)
