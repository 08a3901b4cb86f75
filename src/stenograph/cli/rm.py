"""`steno rm`: the library's `Archive.remove`."""

from __future__ import annotations

import os
from functools import partial

import click

from stenograph.cli._arguments import HintingCommand, named_session, session_to_change
from stenograph.cli._output import echo_page, json_option, render_options
from stenograph.cli._settings import DEMO_IS_READ_ONLY, again, is_demo, refuse_demo, shared_options, state_options

_HINTS = {"--dry-run": "without --apply nothing is changed"}


@click.command(cls=HintingCommand, hints=_HINTS, short_help="Remove a session, to the archive.")
@session_to_change
@click.option("--apply", "is_applied", is_flag=True, help="Do it; else it is only said what would be done.")
@json_option
@shared_options
@click.pass_context
def rm(ctx: click.Context, session: str, is_applied: bool, as_json: bool) -> None:
    """Remove a session, to the archive.

    Its file goes, with its sub-agents' files, spilled results and file history, and is kept whole in the archive first:
    `steno undo` brings everything back. Without --apply nothing is changed. Refused while the session is in use.

    \b
    Example:
      steno rm 3f2a --apply
    """
    from stenograph.archive import Archive, default_archive_folder, plan_removal
    from stenograph.views import removal_page, render_removal

    settings = state_options(ctx)
    file = named_session(ctx, session, writes=True)
    if is_applied:
        refuse_demo(settings, file.path)
    archive = Archive(default_archive_folder(os.environ))
    plan = plan_removal(file.path)
    seconds = settings.config.active_seconds
    entry = archive.remove(file.path, active_seconds=seconds) if is_applied else None
    busy = None if is_applied else archive.why_busy(file.path, active_seconds=seconds)
    page = removal_page(
        plan,
        file.path,
        archive.folder,
        partial(again, ctx),
        entry=entry,
        busy=str(busy) if busy else None,
        refusal=DEMO_IS_READ_ONLY if is_demo(settings, file.path) else None,
    )
    echo_page(page, render_removal, render_options(ctx), as_json=as_json)
