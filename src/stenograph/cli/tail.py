"""`steno tail`: the library's `Follower` as lines, until Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

from stenograph.cli._output import make_mask, render_options, reveal_option, width_option
from stenograph.cli._session import SessionReference
from stenograph.cli._settings import shared_options, state_options

if TYPE_CHECKING:
    from stenograph.sessions.follow import Update

_SECONDS = 0.2


@click.command(short_help="Follow a live session.")
@click.argument("session", type=SessionReference(), default="last")
@click.option(
    "--turns", "-n", type=click.IntRange(min=0), default=1, show_default=True, help="Begin with the last so many turns."
)
@click.option("--once", is_flag=True, help="Show what is there and end.")
@click.option("--thinking", is_flag=True, help="Show what the model thinks.")
@click.option("--results/--no-results", default=True, help="Show what tools give back. [default: yes]")
@click.option("--full", is_flag=True, help="Show long outputs and patches to their end.")
@width_option
@reveal_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON, one object a line.")
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
    """Follow a live session.

    Shows the last turn and then what is added, by the session and its sub-agents, until Ctrl-C. After /clear it goes on with the
    new session, and comes back where that /clear turns out to be another client's. SESSION is `last` unless named.
    Secrets of known formats are masked (--reveal).

    --json prints one object a line: {"event": "record" | "damaged" | "cut" | "agent" | "cleared" | "returned" |
    "gone", "path", "agent_id", "record"}.

    \b
    Example:
      steno tail -n 2
    """
    import time

    from stenograph.sessions import resolve
    from stenograph.sessions.follow import Follower
    from stenograph.views.terminal.live import LiveView

    file = resolve(session, state_options(ctx).homes)
    mask, _ = make_mask(reveal)
    options = render_options(ctx, width, thinking=thinking, results=results, full=full, head=4, tail=2, patch=20)
    view = LiveView(options, mask)
    follower = Follower(file.path)
    tell = _json_lines(mask) if as_json else _lines(view)
    try:
        if not as_json:
            click.echo(view.notice(f"{file.session_id}{'' if once else ', Ctrl-C ends'}"), color=True)
        updates = follower.start(turns)
        while True:
            for update in updates:
                for line in tell(update):
                    click.echo(line, color=True)
            if once:
                break
            time.sleep(_SECONDS)
            updates = follower.poll()
    except KeyboardInterrupt:
        return  # how following ends


def _lines(view: Any) -> Callable[[Update], Iterator[str]]:
    notices = {
        "damaged": "a line that is no record",
        "cut": "the file was cut or rewritten",
        "gone": "the file is gone",
    }

    def tell(update: Update) -> Iterator[str]:
        if update.kind == "record" and update.record is not None:
            yield from view.lines(update.record, update.agent_id)
        elif update.kind == "cleared":
            yield view.notice(f"/clear: goes on in session {update.path.stem}")
        elif update.kind == "returned":
            yield view.notice(f"that /clear was another client's: goes on in session {update.path.stem}")
        elif update.kind in notices:
            who = f"sub-agent {update.agent_id}: " if update.agent_id else ""
            yield view.notice(who + notices[update.kind])

    return tell


def _json_lines(mask: Callable[[str], str]) -> Callable[[Update], Iterator[str]]:
    import json

    from msgspec import UNSET

    from stenograph.records import encode
    from stenograph.records.json_text import parse_or_unset
    from stenograph.redact import mask_json

    def tell(update: Update) -> Iterator[str]:
        record = None
        if update.kind == "record" and update.record is not None:
            found = parse_or_unset(encode(update.record))
            record = None if found is UNSET else mask_json(found, mask)
        event = {"event": update.kind, "path": str(update.path), "agent_id": update.agent_id or None, "record": record}
        yield json.dumps(event)

    return tell
