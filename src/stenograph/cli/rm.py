"""`steno rm`: the library's `Archive.remove`."""

from __future__ import annotations

import os

import click

from stenograph.cli._session import session_argument
from stenograph.cli._settings import DEMO_IS_READ_ONLY, again, is_demo, refuse_demo, shared_options, state_options


@click.command(short_help="Remove a session, to the archive.")
@session_argument
@click.option("--apply", "is_applied", is_flag=True, help="Do it; else it is only said what would be done.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@shared_options
@click.pass_context
def rm(ctx: click.Context, session: str, is_applied: bool, as_json: bool) -> None:
    """Remove a session, to the archive.

    Its file goes, with its sub-agents' files, spilled results and file history, and is kept whole in the archive first:
    `steno undo` brings everything back. Without --apply nothing is changed. Refused while the session is in use.

    --json prints {"id", "path", "files": [{"path", "size"}], "bytes", "archive", "applied", "entry"}.

    \b
    Example:
      steno rm 3f2a --apply
    """
    from stenograph.archive import Archive, default_archive_folder, plan_removal
    from stenograph.cli._text import count_of, echo_json, short_path, size
    from stenograph.sessions import resolve

    settings = state_options(ctx)
    file = resolve(session, settings.homes)
    if is_applied:
        refuse_demo(settings, file.path)
    archive = Archive(default_archive_folder(os.environ))
    plan = plan_removal(file.path)
    entry = archive.remove(file.path, active_seconds=settings.config.active_seconds) if is_applied else None
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
    else:
        click.echo(f"To do it: {again(ctx, 'rm', str(file.path), '--apply')}")
