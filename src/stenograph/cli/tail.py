"""`steno tail`: the library's `Follower` as lines, until Ctrl-C."""

from __future__ import annotations

import click

from stenograph.cli._arguments import named_session, session_to_follow
from stenograph.cli._output import json_option, make_mask, render_options, reveal_option, width_option
from stenograph.cli._settings import shared_options

_SECONDS = 0.2


@click.command(short_help="Follow a running session.")
@session_to_follow
@click.option(
    "--turns", "-n", type=click.IntRange(min=0), metavar="N", default=1, show_default=True, help="Start with the last N turns."
)
@click.option("--once", is_flag=True, help="Print what is there and exit.")
@click.option("--thinking", is_flag=True, help="Show thinking.")
@click.option("--results/--no-results", default=True, help="Show tool results. [default: yes]")
@click.option("--full", is_flag=True, help="Do not shorten outputs and patches.")
@width_option
@reveal_option
@json_option
@shared_options
@click.pass_context
def tail(
    ctx: click.Context,
    session: str,
    turns: int,
    once: bool,
    thinking: bool,
    results: bool,
    full: bool,
    width: int | None,
    reveal: bool,
    as_json: bool,
) -> None:
    """Follow a running session.

    Shows the last turn, then everything that the session and its subagents add, until Ctrl-C. After /clear it follows the new
    session. Without SESSION, follows the newest one. Secrets are masked.

    \b
    Example:
      steno tail -n 2
    """
    import time

    from stenograph.sessions import Follower
    from stenograph.views import UpdateReader, UpdateRenderer, mask_page, page_text

    file = named_session(ctx, session, is_shown=True)
    mask, _ = make_mask(reveal)
    options = render_options(ctx, width, thinking=thinking, results=results, full=full, head=4, tail=2, patch=20, mask=mask)
    reader, renderer = UpdateReader(), UpdateRenderer(options)
    follower = Follower(file.path)
    try:
        if not as_json:
            click.echo(renderer.notice(f"{file.session_id}{'' if once else ' (Ctrl-C to stop)'}"), color=True)
        updates = follower.start(turns)
        while True:
            for update in updates:
                page = mask_page(reader.page(update), mask)
                for line in (page_text(page, encoding="ascii"),) if as_json else renderer.lines(page):
                    click.echo(line, color=True)
            if once:
                break
            time.sleep(_SECONDS)
            updates = follower.poll()
    except KeyboardInterrupt:
        return  # how following ends
