"""`steno rename`: the library's `rename`."""

from __future__ import annotations

import click

from stenograph.cli._session import session_argument
from stenograph.cli._settings import again, refuse_demo, shared_options, state_options
from stenograph.cli._undoing import tell_what_can_not_be_undone


@click.command(short_help="Give a session a title.")
@session_argument
@click.argument("title")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@shared_options
@click.pass_context
def rename(ctx: click.Context, session: str, title: str, as_json: bool) -> None:
    """Give a session a title.

    Appends one line to the session's file, as the public SDK does; clients' pickers show it before any other title. Nothing
    is rewritten: renaming again, also back, appends another line. Refused while somebody is writing the file's last line.

    --json prints {"id", "path", "title", "before"}.

    \b
    Example:
      steno rename last "Parser rewrite"
    """
    from stenograph.cli._progress import waiting
    from stenograph.cli._text import echo_json
    from stenograph.sessions import glance, resolve
    from stenograph.sessions import rename as rename_session
    from stenograph.sessions import title as title_of
    from stenograph.views.text import plain, short_path

    settings = state_options(ctx)
    refuse_demo(settings)
    file = resolve(session, settings.homes)
    refuse_demo(settings, file.path)
    seen = glance(file.path, whole=True)
    size_before = file.path.stat().st_size
    before = seen.custom_title
    with waiting(short_path(str(file.path))):
        rename_session(file.path, title, active_seconds=settings.config.active_seconds)
    if as_json:
        echo_json({"id": file.session_id, "path": str(file.path), "title": title.strip(), "before": before})
        return
    click.echo(f"{file.session_id} is now called {plain(title.strip())}")
    if before is None:
        shown = title_of(seen)
        click.echo("It had no title of its own" + (f"; it was shown as: {plain(shown)}" if shown else ""))
    else:
        click.echo(f"To undo: {again(ctx, 'rename', file.session_id, *(['--'] if before.startswith('-') else []), before)}")
    tell_what_can_not_be_undone(ctx, file.path, file.session_id, size_before)
