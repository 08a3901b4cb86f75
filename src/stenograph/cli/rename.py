"""`steno rename`: the library's `rename`."""

from __future__ import annotations

import click

from stenograph.cli._session import session_argument
from stenograph.cli._settings import shared_options, state_options


@click.command(short_help="Give a session a title.")
@session_argument
@click.argument("title")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@shared_options
@click.pass_context
def rename(ctx: click.Context, session: str, title: str, as_json: bool) -> None:
    """Give a session a title.

    Appends one line to the session's file, as the public SDK does; clients' pickers show it before any other title. Nothing
    is rewritten: renaming again, also back, appends another line.

    --json prints {"id", "path", "title", "before"}.

    \b
    Example:
      steno rename last "Parser rewrite"
    """
    from stenograph.cli._text import echo_json, plain
    from stenograph.sessions import glance, resolve
    from stenograph.sessions import rename as rename_session

    file = resolve(session, state_options(ctx).homes)
    before = glance(file.path).custom_title
    rename_session(file.path, title)
    if as_json:
        echo_json({"id": file.session_id, "path": str(file.path), "title": title.strip(), "before": before})
        return
    click.echo(f"{file.session_id} is now called {plain(title.strip())}")
    if before is None:
        click.echo("It had no title of its own. To undo: rename it to what it was shown as; the old lines are all there.")
    else:
        click.echo(f"To undo: steno rename {file.session_id[:8]} {_quoted(plain(before))}")


def _quoted(text: str) -> str:
    import shlex

    return shlex.quote(text)
