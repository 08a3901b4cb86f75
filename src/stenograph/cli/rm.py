"""`steno rm`: the library's `Archive.remove`."""

from __future__ import annotations

import os

import click

from stenograph.cli._hints import HintingCommand
from stenograph.cli._session import session_argument
from stenograph.cli._settings import DEMO_IS_READ_ONLY, again, is_demo, refuse_demo, shared_options, state_options

_HINTS = {"--dry-run": "without --apply nothing is changed"}


@click.command(cls=HintingCommand, hints=_HINTS, short_help="Remove a session, to the archive.")
@session_argument
@click.option("--apply", "is_applied", is_flag=True, help="Do it; else it is only said what would be done.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@shared_options
@click.pass_context
def rm(ctx: click.Context, session: str, is_applied: bool, as_json: bool) -> None:
    """Remove a session, to the archive.

    Its file goes, with its sub-agents' files, spilled results and file history, and is kept whole in the archive first:
    `steno undo` brings everything back. Without --apply nothing is changed. Refused while the session is in use.

    --json prints {"id", "path", "files": [{"path", "size"}], "bytes", "archive", "applied", "entry", "in_use"}.

    \b
    Example:
      steno rm 3f2a --apply
    """
    from stenograph.archive import Archive, default_archive_folder, plan_removal
    from stenograph.cli._text import echo_json
    from stenograph.sessions import resolve
    from stenograph.views.text import count_of, plain, short_path, size

    settings = state_options(ctx)
    file = resolve(session, settings.homes)
    if is_applied:
        refuse_demo(settings, file.path)
    archive = Archive(default_archive_folder(os.environ))
    plan = plan_removal(file.path)
    seconds = settings.config.active_seconds
    entry = archive.remove(file.path, active_seconds=seconds) if is_applied else None
    busy = None if is_applied else archive.why_busy(file.path, active_seconds=seconds)
    if as_json:
        echo_json(
            {
                "id": plan.session_id,
                "path": str(file.path),
                "files": [{"path": str(path), "size": count} for path, count in plan.files.items()],
                "bytes": plan.size,
                "archive": str(archive.folder),
                "applied": is_applied,
                "entry": entry.number if entry else None,
                "in_use": busy is not None,
            }
        )
        return
    amount = f"{count_of(len(plan.files), 'file')}, {size(plan.size)}"
    if entry is not None:
        click.echo(f"{plan.session_id} was removed: {amount}, kept in {short_path(str(archive.folder))}")
        click.echo(f"To undo: {again(ctx, 'undo', '--entry', str(entry.number))}")
        return
    for path, count in plan.files.items():
        click.echo(f"{size(count):>8}  {short_path(str(path))}")
    click.echo(f"{plan.session_id} would be removed: {amount}, to be kept in {short_path(str(archive.folder))}")
    if is_demo(settings, file.path):
        click.echo(f"Nothing was changed: {DEMO_IS_READ_ONLY}")
    elif busy:
        click.echo(f"Nothing was changed, and --apply would be refused now: {plain(str(busy))}")
    else:
        click.echo(f"To do it: {again(ctx, 'rm', str(file.path), '--apply')}")
