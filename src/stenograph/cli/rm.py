"""`steno rm`: the library's `Archive.remove`, for one session or many."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

import click

from stenograph.cli import NOTHING_MATCHED, REFUSED
from stenograph.cli._arguments import SessionReference, age_before, any_project_option, named_session
from stenograph.cli._consent import consent, consent_options
from stenograph.cli._messages import echo_note
from stenograph.cli._output import echo_page, json_option, render_options
from stenograph.cli._settings import again, demo_refusal, refuse_demo, shared_options, state_options
from stenograph.errors import BusyError, DiskError, UsageError

if TYPE_CHECKING:
    from pathlib import Path


@click.command(short_help="Move sessions to the archive.")
@click.argument("sessions", nargs=-1, metavar="[SESSION]...", type=SessionReference())
@click.option(
    "--older-than",
    metavar="AGE",
    help="Remove all sessions whose last record is older than AGE (36h, 90d, 52w), including short, empty and print-mode ones.",
)
@click.option("--project", metavar="PATH", help="With --older-than: only sessions of this project, a path or part of one.")
@any_project_option
@consent_options
@json_option
@shared_options
@click.pass_context
def rm(
    ctx: click.Context,
    sessions: tuple[str, ...],
    older_than: str | None,
    project: str | None,
    applying: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Move sessions to the archive.

    Removes their files, with subagents, outputs stored in separate files, and file history. Everything is copied to the archive
    first. `steno undo` brings a removed session back; `steno restore` is for sessions that Claude Code deleted. Shows a plan
    and asks; without a terminal, only shows the plan. A session in use is not removed.

    \b
    Examples:
      steno rm 3f2a --apply
      steno rm --older-than 90d
    """
    from stenograph.archive import Archive, Removal, default_archive_folder, plan_removal
    from stenograph.sessions import ListTitles, size_of
    from stenograph.views import RemovalsPage, removal_page, removals_page, render_removals

    settings = state_options(ctx)
    if bool(sessions) == bool(older_than):
        raise UsageError("SESSION or --older-than is required")
    if project is not None and not older_than:
        raise UsageError("--project needs --older-than")
    paths = _older(ctx, older_than, project) if older_than else [named_session(ctx, each, writes=True).path for each in sessions]
    archive = Archive(default_archive_folder(os.environ))
    seconds = settings.config.active_seconds
    paths = list(dict.fromkeys(paths))
    titles = ListTitles()

    def removals(*, is_applied: bool) -> RemovalsPage:
        pages = []
        for path in paths:
            if is_applied:
                refuse_demo(settings, path)
            plan, entry, busy = Removal(path.stem, {path: size_of(path)}, ()), None, None
            refusal = demo_refusal(ctx, settings, path)
            try:
                plan = plan_removal(path, titles)
                if is_applied:
                    entry = archive.remove(path, active_seconds=seconds)
                else:
                    busy = archive.why_busy(path, active_seconds=seconds)
            except BusyError as error:
                if len(paths) == 1:
                    raise
                busy = error
            except DiskError as error:  # of many, one that cannot be archived stops no other
                if len(paths) == 1:
                    raise
                refusal = str(error)
            told = str(busy) if busy else None
            pages.append(removal_page(plan, path, partial(again, ctx), entry=entry, busy=told, refusal=refusal, others=paths))
        return removals_page(
            pages, archive.folder, partial(again, ctx), older_than=older_than, project=project, applied=is_applied
        )

    allowed = consent(applying=applying, dry_run=dry_run, as_json=as_json)
    page = removals(is_applied=applying)
    options = render_options(ctx, asks=allowed.may_ask and page.apply is not None)
    echo_page(page, render_removals, options, as_json=as_json)
    if not page.removals:
        echo_note(f"no session is older than {older_than}")
        ctx.exit(NOTHING_MATCHED)
    if page.apply is not None and allowed.ask(sum(each.refusal is None for each in page.removals)):
        page = removals(is_applied=True)
        echo_page(page, render_removals, options, as_json=False)
    if page.applied and any(each.entry is None for each in page.removals):
        ctx.exit(REFUSED)


def _older(ctx: click.Context, age: str, project: str | None) -> list[Path]:
    """The sessions whose last record is older than an age, oldest first."""
    from stenograph.sessions import Status, list_sessions

    before = age_before(age, datetime.now(UTC))
    part = (project or "").rstrip("/").casefold()
    found = list_sessions(
        state_options(ctx).homes,
        everything=True,
        where=lambda info: (
            info.last_record.timestamp() < before
            and info.status is not Status.RUNNING
            and info.hidden != "name"
            and part in info.project.casefold()
        ),
    )
    return [info.path for info in reversed(found.sessions)]
