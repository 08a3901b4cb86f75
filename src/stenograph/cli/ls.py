"""`steno ls`: the library's `list_sessions` as a table."""

from __future__ import annotations

import os

import click

from stenograph.cli import NOTHING_MATCHED
from stenograph.cli._settings import Settings, shared_options, state_options
from stenograph.errors import SessionNotFoundError


@click.command(short_help="List sessions, newest first.")
@click.option("--all", "everything", is_flag=True, help="Also the short, empty and unanswered ones, and warm-ups.")
@click.option("--project", metavar="PATH", help="Only sessions that began in this working folder.")
@click.option("--limit", "-n", type=click.IntRange(min=0), help="At most so many; 0 for all. [default: 30]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@shared_options
@click.pass_context
def ls(ctx: click.Context, everything: bool, project: str | None, limit: int | None, as_json: bool) -> None:
    """List sessions, newest first.

    Columns: short id, status (running, completed, interrupted, failed), last change, steps, size, release, project, title.
    Hidden unless --all: completed sessions under five steps, those under ten without an answer, empty files, and what holds
    only sub-agents' lines. How many were hidden is said on stderr.

    --json prints {"sessions": [...], "hidden": {reason: count}}; times are UTC.

    \b
    Example:
      steno ls --project . --limit 5
    """
    from stenograph.cli._listing import echo_findings, hidden_line, session_lines
    from stenograph.cli._text import echo_json
    from stenograph.sessions import list_sessions

    settings = state_options(ctx)
    listing = list_sessions(
        settings.homes,
        everything=everything or settings.config.ls.all,
        project=None if project is None else _working_folder(project),
        active_seconds=settings.config.active_seconds,
    )
    nothing = not listing.sessions and not listing.hidden
    if nothing and project is None:
        echo_findings(listing.findings)
        raise no_sessions(settings)
    limit = settings.config.ls.limit if limit is None else limit
    sessions = listing.sessions[:limit] if limit else listing.sessions
    if as_json:
        from stenograph.cli._session import session_json

        echo_json({"sessions": [session_json(info) for info in sessions], "hidden": listing.hidden})
    else:
        for line in session_lines(sessions):
            click.echo(line)
    echo_findings(listing.findings)
    if nothing:
        click.echo("steno: no sessions of that working folder", err=True)
    if not as_json:
        if len(sessions) < len(listing.sessions):
            click.echo(f"{len(listing.sessions) - len(sessions)} older: --limit 0 shows them", err=True)
        if listing.hidden:
            click.echo(hidden_line(listing.hidden), err=True)
    if not sessions and not (limit and listing.sessions):
        ctx.exit(NOTHING_MATCHED)


def no_sessions(settings: Settings) -> SessionNotFoundError:
    """One line that says where was looked."""
    from stenograph.disk import projects_folder

    places = ", ".join(
        str(projects_folder(home)) + ("" if home.is_dir() else " (there is no such home)") for home in settings.homes
    )
    hint = "" if settings.explicit else "; `steno --demo` shows the demo sessions"
    return SessionNotFoundError(f"no sessions in {places}{hint}")


def _working_folder(project: str) -> str:
    """As a client would name it: absolute, links resolved; a folder that is not here (another machine's) as it was given."""
    return os.path.realpath(project) if os.path.isdir(project) else project  # noqa: PTH112
