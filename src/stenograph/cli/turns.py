"""`steno turns`: the turns of a session as a table, or all that is known of them as JSON."""

from __future__ import annotations

import click

from stenograph.cli._arguments import choose_branch, named_session, session_argument
from stenograph.cli._messages import echo_note
from stenograph.cli._output import echo_page, json_option, make_mask, render_options, reveal_option
from stenograph.cli._settings import shared_options


@click.command(short_help="List the turns of a session.")
@session_argument
@click.option("--branch", type=click.IntRange(min=1), metavar="N", help="Show branch N instead of the current one.")
@click.option("--all", "everything", is_flag=True, help="List the turns of every branch, in file order.")
@click.option("--results/--no-results", default=True, help="With --json: include tool results. [default: yes]")
@click.option(
    "--round-threshold",
    type=click.FloatRange(min=0),
    metavar="MINUTES",
    help="Mark a prompt as resumed (`round` in JSON) if it came more than this many minutes after the message before it."
    " [default: 5]",
)
@reveal_option
@json_option
@shared_options
@click.pass_context
def turns(
    ctx: click.Context,
    session: str,
    branch: int | None,
    everything: bool,
    results: bool,
    round_threshold: float | None,
    reveal: bool,
    as_json: bool,
) -> None:
    """List the turns of a session.

    A turn is a prompt and everything until the next one. Its number is its position in the conversation. Narrow terminals show
    fewer columns. Secrets are masked.

    \b
    Example:
      steno turns last --json
    """
    from stenograph.sessions import load
    from stenograph.turns import THRESHOLD_MINUTES, round_types
    from stenograph.views import mask_page, render_turns, turns_page

    loaded = load(named_session(ctx, session, reads=True).path)
    shown = choose_branch(loaded, branch)
    rounds = round_types(loaded, THRESHOLD_MINUTES if round_threshold is None else round_threshold)
    words = {node: found.value for node, found in rounds.items()}
    page = turns_page(loaded, loaded.all_turns if everything else shown.turns, shown, words, results=results and as_json)
    echo_page(mask_page(page, make_mask(reveal)[0]), render_turns, render_options(ctx), as_json=as_json)
    if not page.turns and not as_json:
        echo_note("this session has no turns")
