"""`steno tag`: the library's `tag`."""

from __future__ import annotations

import click

from stenograph.cli._session import session_argument
from stenograph.cli._settings import again, refuse_demo, shared_options, state_options
from stenograph.cli._undoing import tell_what_can_not_be_undone
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
    old. Nothing is rewritten. Refused while somebody is writing the file's last line.

    --json prints {"id", "path", "tag", "before"}.

    \b
    Example:
      steno tag last keep
      steno tag last --clear
    """
    from stenograph.cli._progress import waiting
    from stenograph.cli._text import echo_json
    from stenograph.sessions import glance, resolve
    from stenograph.sessions import tag as tag_session
    from stenograph.views.text import plain, short_path

    if clear == (tag is not None):
        raise UsageError("give a TAG, or --clear")
    settings = state_options(ctx)
    refuse_demo(settings)
    file = resolve(session, settings.homes)
    refuse_demo(settings, file.path)
    before = after = glance(file.path, whole=True).tag
    size_before = file.path.stat().st_size
    nothing_to_do = clear and before is None
    if not nothing_to_do:
        with waiting(short_path(str(file.path))):
            tag_session(file.path, tag, active_seconds=settings.config.active_seconds)
        after = glance(file.path).tag
    if as_json:
        echo_json({"id": file.session_id, "path": str(file.path), "tag": after, "before": before})
        return
    if nothing_to_do:
        click.echo(f"{file.session_id} had no tag; nothing was written")
        return
    click.echo(f"{file.session_id} is now tagged {plain(after)}" if after else f"{file.session_id} has no tag now")
    words = ["--clear"] if before is None else ["--", before] if before.startswith("-") else [before]
    click.echo(f"To undo: {again(ctx, 'tag', file.session_id, *words)}")
    tell_what_can_not_be_undone(ctx, file.path, file.session_id, size_before)
