"""`steno ls`, and `steno` without a command."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from stenograph.cli import NOTHING_MATCHED
from stenograph.cli._output import json_option, make_mask, reveal_option
from stenograph.cli._settings import GivenPath, Settings, is_folder, shared_options, state_options
from stenograph.config import ListSettings
from stenograph.errors import SessionNotFoundError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stenograph.views import FindingPage, SessionsPage


@click.command(short_help="List sessions, newest first.")
@click.option("--all", "everything", is_flag=True, help="Also the short, empty and unanswered ones, and warm-ups.")
@click.option(
    "--project",
    type=GivenPath(file_okay=False),
    metavar="PATH",
    help="Only sessions of this working folder: its path, or as listed.",
)
@click.option("--limit", "-n", type=click.IntRange(min=0), help=f"At most so many; 0 for all. [default: {ListSettings().limit}]")
@reveal_option
@json_option
@shared_options
@click.pass_context
def ls(ctx: click.Context, everything: bool, project: str | None, limit: int | None, reveal: bool, as_json: bool) -> None:
    """List sessions, newest first.

    Columns: short id, status (running, done, interrupted, failed), last change, steps, size, release, project, title.
    In a narrow terminal some are left out. Secrets of known formats are masked (--reveal).

    Hidden unless --all: finished sessions under five steps, those under ten without an answer, empty files, files that are not
    named by a UUID, warm-ups, and what holds only sub-agents' lines. How many were hidden is said on stderr.

    Running is what a live process writes to, or what changed in the last two minutes (`active_seconds` in the config file) and
    ends in an open turn or an unfinished line. Of more than 2,000 sessions only as many are looked at as the limit asks for.

    \b
    Example:
      steno ls --project . --limit 5
    """
    from stenograph.cli._output import echo_page, echo_unreadable, progress, render_options
    from stenograph.sessions import list_sessions
    from stenograph.views import left_out_lines, mask_page, plain, render_sessions, sessions_page

    settings = state_options(ctx)
    folder = None if project is None else working_folder(project)
    limit = settings.config.ls.limit if limit is None else limit

    def listed(folder: str | None) -> SessionsPage:
        with progress("reading") as report:
            return sessions_page(
                list_sessions(
                    settings.homes,
                    everything=everything or settings.config.ls.all,
                    project=folder,
                    limit=limit or None,
                    active_seconds=settings.config.active_seconds,
                    progress=report,
                )
            )

    page = listed(folder)
    nothing = not page.sessions and not page.hidden
    if nothing and project is not None and (shown := _folder_shown_as(project, settings)):
        folder = shown
        page = listed(folder)
        nothing = not page.sessions and not page.hidden
    if nothing and folder is None:
        raise no_sessions(settings, page.findings)
    echo_page(mask_page(page, make_mask(reveal)[0]), render_sessions, render_options(ctx), as_json=as_json)
    echo_unreadable(page.findings)
    if nothing and folder is not None:
        click.echo(f"steno: no sessions of the working folder {plain(folder)}", err=True)
    if not as_json:
        for line in left_out_lines(page):
            click.echo(line, err=True)
    if not page.sessions:
        ctx.exit(NOTHING_MATCHED)


def no_sessions(settings: Settings, findings: Sequence[FindingPage]) -> SessionNotFoundError:
    """One line that says where was looked, or what could not be read; of several such all but the last are told at once."""
    from stenograph.cli._output import echo_unreadable
    from stenograph.disk import projects_folder

    if unread := [finding for finding in findings if finding.code.startswith("unreadable")]:
        echo_unreadable(unread[:-1])
        return SessionNotFoundError(unread[-1].detail)
    places = ", ".join(
        str(projects_folder(home)) + ("" if is_folder(home) else " (there is no such home)") for home in settings.homes
    )
    hint = "" if settings.explicit else "; `steno --demo` shows the demo sessions"
    return SessionNotFoundError(f"no sessions in {places}{hint}")


def _folder_shown_as(name: str, settings: Settings) -> str | None:
    """The working folder that the list shows under a name; None for none. Raises UsageError where several are shown so."""
    from stenograph.sessions import list_sessions
    from stenograph.views import is_shown_as, plain, session_row, short_path

    listing = list_sessions(settings.homes, everything=True)
    sessions = [info for info in listing.sessions if is_shown_as(session_row(info), name)]
    # Sessions that don't say where they began are listed with those of the folder that their project folder is named by.
    found = sorted({info.cwd for info in sessions if info.cwd} or {info.project for info in sessions})
    if len(found) > 1:
        paths = ", ".join(map(short_path, found))
        raise UsageError(f"{len(found)} working folders are shown as {plain(name)}: {paths}; give the whole path")
    return found[0] if found else None


def working_folder(project: str) -> str:
    """As a client would name it: absolute, links resolved, no slash at the end; a Windows path of another machine as it is."""
    project = os.path.expanduser(project)  # noqa: PTH111 - text in, text out
    if os.path.isdir(project):  # noqa: PTH112 - never raises
        return os.path.realpath(project)
    if os.name != "nt" and (project[1:3] in (":\\", ":/") or project.startswith("\\\\")):
        return project if len(project) <= len("C:\\") else project.rstrip("\\/")
    try:
        return os.path.abspath(project)  # noqa: PTH100 - text in, text out, links kept
    except OSError as error:
        raise UsageError("the working folder is gone; give the whole path") from error


def overview(ctx: click.Context, settings: Settings, *, reveal: bool, as_json: bool) -> None:
    from functools import partial

    from stenograph.cli._output import echo_page, echo_unreadable, make_mask, progress, render_options
    from stenograph.sessions import list_sessions
    from stenograph.views import mask_page, overview_page, render_overview

    with progress("reading") as report:
        listing = list_sessions(settings.homes, everything=True, active_seconds=settings.config.active_seconds, progress=report)
    page = mask_page(overview_page(listing, settings.homes), make_mask(reveal)[0])
    if not page.sessions and settings.explicit:
        from stenograph.cli.ls import no_sessions

        raise no_sessions(settings, page.findings)
    echo_page(page, partial(render_overview, demo=settings.demo), render_options(ctx), as_json=as_json)
    if not as_json or not page.sessions:
        echo_unreadable(page.findings)
