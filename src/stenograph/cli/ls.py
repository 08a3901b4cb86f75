"""`steno ls`, and `steno` without a command."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stenograph.cli import NOTHING_MATCHED
from stenograph.cli._catalog import catalog_of
from stenograph.cli._messages import echo_note
from stenograph.cli._output import json_option, make_mask, pager_option, reveal_option
from stenograph.cli._settings import GivenPath, Settings, is_folder, shared_options, state_options
from stenograph.config import ListSettings
from stenograph.errors import SessionNotFoundError, StenographError, UsageError
from stenograph.inputs import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stenograph.analysis import Spent, UsageTable
    from stenograph.index import IndexStore
    from stenograph.sessions import Listing, SessionInfo
    from stenograph.views import FindingPage, SessionsPage


#: Longer lists go without turns: whole files have to be read to count them.
_COUNTED_ROWS = 100
#: A terminal of so many columns has room for the tape.
_TAPE_COLUMNS = 96
#: Of which the overview says what they cost.
_SPENT_DAYS = 30
_SORTS = ("last", "started", "size", "turns", "title", "project")


@click.command(short_help="List sessions, newest first.")
@click.option(
    "--all", "everything", is_flag=True, help="Include short, empty and unanswered sessions, and those of print mode and the SDK."
)
@click.option(
    "--project", type=GivenPath(file_okay=False), metavar="PATH", help="Only sessions of this project: a path or part of one."
)
@click.option(
    "--since", metavar="TIME", help="Only sessions with a record since TIME: a date (2026-01-31) or an age (36h, 7d, 2w)."
)
@click.option("--until", metavar="TIME", help="Only sessions whose last record is from before TIME.")
@click.option(
    "--title",
    "words",
    metavar="TEXT",
    help="Only sessions with this in their title, first prompt or slug (Claude Code's name for it).",
)
@click.option("--tag", metavar="TAG", help="Only sessions with this tag.")
@click.option("--status", type=click.Choice([status.value for status in Status]), help="Only sessions with this status.")
@click.option("--branch", metavar="NAME", help="Only sessions whose last git branch is this one.")
@click.option(
    "--sort", type=click.Choice(_SORTS), default="last", show_default=True, help="Sort order: newest, largest or A to Z first."
)
@click.option(
    "--limit", "-n", type=click.IntRange(min=0), help=f"Maximum number of sessions; 0 for all. [default: {ListSettings().limit}]"
)
@click.option("--long", is_flag=True, help="Show release and size too.")
@pager_option
@reveal_option
@json_option
@shared_options
@click.pass_context
def ls(
    ctx: click.Context,
    /,
    everything: bool,
    project: str | None,
    sort: str,
    limit: int | None,
    long: bool,
    pager: bool,
    reveal: bool,
    as_json: bool,
    **filters: str | None,
) -> None:
    """List sessions, newest first.

    In a wide terminal, a strip of marks (the tape) shows what happened: prompts, changes, shell commands, reads, subagents and
    errors. docs/start.md explains the marks and the statuses. Tape and cost come from the index, which the first search or
    `steno usage` builds. Turn counts are those of the current branch. With --limit 0 or above 100, they are shown only with
    --sort turns. Piped output has full ids and dates, and the status as a word. Secrets are masked unless you add --reveal.

    Without --all, these sessions are hidden: finished ones with fewer than five steps, unanswered ones with fewer than ten,
    empty files, files whose name is not a UUID, warm-up sessions that old releases started on their own, files with only
    subagents' lines, and sessions of Claude Code's print mode and the SDK. A note says how many are hidden.

    A session is running while a process writes to it, or if it changed in the last two minutes (`active_seconds` in the config
    file) and its last turn is unfinished. If there are more than 2,000 sessions, steno reads only as many as --limit needs,
    and does not count the rest.

    Archived sessions were deleted by Claude Code and kept by `steno archive`. They can be read, and `steno restore` brings them
    back.

    \b
    Examples:
      steno ls --project . --since 7d
      steno ls --status interrupted --sort size
    """
    from stenograph.cli._index import known_store, knows_texts
    from stenograph.cli._output import echo_page, echo_unreadable, progress, render_options
    from stenograph.index import known_glances
    from stenograph.views import left_out_lines, mask_page, render_sessions, sessions_page

    settings = state_options(ctx)
    options = render_options(ctx)
    wanted = _wanted(filters)
    limit = settings.config.ls.limit if limit is None else limit
    is_filtered = project is not None or wanted is not None
    store = known_store(ctx)
    cache = None if store is None else known_glances(store, settings.homes)

    def listed(folder: str | None, where: Callable[[SessionInfo], bool] | None) -> SessionsPage:
        with progress("Reading") as report:
            found = catalog_of(ctx).list_sessions(
                everything=everything or settings.config.ls.all,
                project=folder,
                where=where,
                sort=sort,
                limit=limit or None,
                turns=0 < limit <= _COUNTED_ROWS,
                active_seconds=settings.config.active_seconds,
                progress=report,
                cache=cache,
            )
        if store is None or not found.sessions:
            return sessions_page(found, sort)
        has_room = as_json or (options.width or 0) >= _TAPE_COLUMNS
        tapes = _tapes(store, found) if has_room and knows_texts(ctx, store) else {}
        return sessions_page(found, sort, tapes, _costs(ctx, store, [info.path for info in found.sessions]))

    page = listed(working_folder(project) if project else None, wanted)
    if project and not page.sessions and not page.hidden:
        page = listed(None, _in_project(project, wanted))
    nothing = not page.sessions and not page.hidden
    if nothing and not is_filtered:
        raise no_sessions(settings, page.findings)
    render = partial(render_sessions, long=long)
    echo_page(mask_page(page, make_mask(reveal)[0]), render, options, as_json=as_json, pager=pager)
    echo_unreadable(page.findings)
    if nothing:
        echo_note(f"no sessions of project {project}" if project else "no sessions match")
    if not as_json and options.width is None:
        for line in left_out_lines(page):
            click.echo(line, err=True)
    if not page.sessions:
        ctx.exit(NOTHING_MATCHED)


def _tapes(store: IndexStore, found: Listing) -> dict[Path, str]:
    from stenograph.index import session_ticks
    from stenograph.views import tape_letters

    ticks = session_ticks(store, [info.path for info in found.sessions])
    return {path: tape_letters(met) for path, met in ticks.items()}


def _costs(ctx: click.Context, store: IndexStore, paths: list[Path]) -> dict[Path, Spent]:
    from stenograph.analysis import session_costs
    from stenograph.cli._index import knows_costs
    from stenograph.pricing import Tariff

    return session_costs(store, state_options(ctx).homes, paths, Tariff()) if knows_costs(ctx, store) else {}


def _wanted(filters: dict[str, str | None]) -> Callable[[SessionInfo], bool] | None:
    """A test for what the options ask for; None where they ask for nothing. Raises UsageError."""
    from stenograph.cli._arguments import moment_of
    from stenograph.sessions import SessionFilter

    if not any(filters.values()):
        return None
    now = datetime.now(UTC)
    return SessionFilter(
        since=moment_of(text, now) if (text := filters["since"]) else None,
        until=moment_of(text, now) if (text := filters["until"]) else None,
        title=filters["words"] or "",
        tag=filters["tag"],
        status=filters["status"],
        branch=filters["branch"],
    ).matches


def _in_project(name: str, wanted: Callable[[SessionInfo], bool] | None) -> Callable[[SessionInfo], bool]:
    """A test for sessions of projects with this in their path, or shown so in a list."""
    from stenograph.views import is_shown_as, session_row

    part = name.rstrip("/").casefold()

    def is_there(info: SessionInfo) -> bool:
        named = part in info.project.casefold() or is_shown_as(session_row(info), name)
        return named and (wanted is None or wanted(info))

    return is_there


def no_sessions(settings: Settings, findings: Sequence[FindingPage]) -> SessionNotFoundError:
    """One line that says where was looked, or what could not be read; of several such all but the last are told at once."""
    from stenograph.cli._output import echo_unreadable
    from stenograph.disk import projects_folder

    if unread := [finding for finding in findings if finding.code.startswith("unreadable")]:
        echo_unreadable(unread[:-1])
        return SessionNotFoundError(unread[-1].detail)
    places = ", ".join(
        str(projects_folder(home)) + ("" if is_folder(home) else " (directory does not exist)") for home in settings.homes
    )
    return SessionNotFoundError(f"no sessions in {places}", hint="" if settings.explicit else "steno --demo")


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
        raise UsageError("the current directory no longer exists; use a full path") from error


def _spending(ctx: click.Context, store: IndexStore | None, paths: list[Path]) -> tuple[dict[Path, Spent], UsageTable | None]:
    """What the first sessions cost, and the last 30 days; nothing where the index does not know it."""
    from stenograph.analysis import UsageBy, UsageScope, usage_table
    from stenograph.cli._index import knows_costs
    from stenograph.pricing import Tariff
    from stenograph.views import OVERVIEW_ROWS

    if not paths or store is None or not knows_costs(ctx, store):
        return {}, None
    since = datetime.now(UTC).timestamp() - _SPENT_DAYS * 86_400
    scope = UsageScope(tuple(state_options(ctx).homes), since)
    return _costs(ctx, store, paths[:OVERVIEW_ROWS]), usage_table(store, scope, Tariff(), by=UsageBy.DAY)


def expiring_soon(settings: Settings) -> tuple[int, int, int]:
    """How many sessions Claude Code deletes soon that the archive does not keep, within how many days, how many are overdue."""
    from stenograph.archive import SOON, default_archive_folder, expiring_sessions, overdue, unkept

    try:
        found = unkept(expiring_sessions(default_archive_folder(os.environ), settings.homes))
    except StenographError:
        return 0, SOON.days, 0
    return len(found), SOON.days, len(overdue(found))


def overview(ctx: click.Context, settings: Settings, *, reveal: bool, as_json: bool) -> None:
    from stenograph.cli._index import known_store
    from stenograph.cli._output import echo_page, echo_unreadable, make_mask, progress, render_options
    from stenograph.index import known_glances
    from stenograph.views import mask_page, overview_page, render_overview

    store = known_store(ctx)
    with progress("Reading") as report:
        listing = catalog_of(ctx).list_sessions(
            everything=True,
            active_seconds=settings.config.active_seconds,
            progress=report,
            cache=None if store is None else known_glances(store, settings.homes),
        )
    costs, days = _spending(ctx, store, [info.path for info in listing.sessions if info.hidden is None])
    soon, within, late = (0, 0, 0) if settings.demo else expiring_soon(settings)
    found = overview_page(listing, settings.homes, costs, days, expiring=soon, expiring_days=within, overdue=late)
    page = mask_page(found, make_mask(reveal)[0])
    is_closed = any(finding.code.startswith("unreadable") for finding in page.findings)
    if not page.sessions and (settings.explicit or is_closed):
        raise no_sessions(settings, page.findings)
    echo_page(page, partial(render_overview, demo=settings.demo), render_options(ctx), as_json=as_json)
    if not as_json or not page.sessions:
        echo_unreadable(page.findings)
