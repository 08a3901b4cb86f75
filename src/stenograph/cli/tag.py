"""`steno tag`: the library's `tag`."""

from __future__ import annotations

import click

from stenograph.cli._session import session_argument
from stenograph.cli._settings import shared_options, state_options
from stenograph.errors import UsageError


@click.command(short_help="Give a session a tag, or take it away.")
@session_argument
@click.argument("tag", required=False)
@click.option("--clear", is_flag=True, help="Take the tag away.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@shared_options
@click.pass_context
def tag(ctx: click.Context, session: str, tag: str | None, clear: bool, as_json: bool) -> None:
    """Give a session a tag, or take it away.

    Appends one line to the session's file, as the public SDK does. A session has one tag: a new one takes the place of the
    old. Nothing is rewritten.

    --json prints {"id", "path", "tag", "before"}.

    \b
    Example:
      steno tag last keep
      steno tag last --clear
    """
    from stenograph.cli._text import echo_json, plain
    from stenograph.sessions import glance, resolve
    from stenograph.sessions import tag as tag_session

    if clear == (tag is not None):
        raise UsageError("give a TAG, or --clear")
    file = resolve(session, state_options(ctx).homes)
    before = glance(file.path).tag
    tag_session(file.path, tag)
    after = glance(file.path).tag
    if as_json:
        echo_json({"id": file.session_id, "path": str(file.path), "tag": after, "before": before})
        return
    click.echo(f"{file.session_id} is now tagged {plain(after)}" if after else f"{file.session_id} has no tag now")
    undo = f"steno tag {file.session_id[:8]} {plain(before)!r}" if before else f"steno tag {file.session_id[:8]} --clear"
    click.echo(f"To undo: {undo}")
