"""`steno restore`: the library's `plan_restore`, `restore_session` and `restore_to`."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stenograph.cli._arguments import SessionReference, moment_of
from stenograph.cli._consent import consent_options, may_apply
from stenograph.cli._output import echo_page, json_option, render_options
from stenograph.cli._settings import GivenPath, again, refuse_demo, shared_options, state_options
from stenograph.errors import BusyError, SessionNotFoundError, UsageError

if TYPE_CHECKING:
    from stenograph.archive import Archive


@click.command(short_help="Bring back a session from the archive.")
@click.argument("session", type=SessionReference())
@click.option(
    "--to", type=GivenPath(path_type=Path), metavar="DIR", help="Write the files to DIR instead of their original location."
)
@click.option(
    "--as-of", metavar="TIME", help="For files rewritten since TIME (2026-01-31, 36h, 7d), use the version before the rewrite."
)
@consent_options
@json_option
@shared_options
@click.pass_context
def restore(
    ctx: click.Context, session: str, to: Path | None, as_of: str | None, applying: bool, dry_run: bool, as_json: bool
) -> None:
    """Bring back a session from the archive.

    Writes the files of a kept session back to where Claude Code looks for them, byte for byte: its own file, its subagents,
    outputs stored in separate files, and file history. A file that exists with other contents is never overwritten. Shows the
    plan and asks. `steno undo` removes the restored files.

    SESSION is the id, a prefix, the title or the former path of a kept session.

    \b
    Examples:
      steno restore 3f2a
      steno restore 3f2a --apply
      steno restore 3f2a --as-of 7d --to /tmp/copy
    """
    from stenograph.archive import (
        Archive,
        default_archive_folder,
        find_kept,
        open_kept_to_restore,
        plan_restore,
        restore_session,
        restore_to,
    )
    from stenograph.views import render_restore, restore_page

    settings = state_options(ctx)
    refuse_demo(settings)
    if to is not None and (applying or dry_run):
        raise UsageError("--to writes copies at once; it conflicts with --apply and --dry-run")
    archive = Archive(default_archive_folder(os.environ))
    try:
        store, sessions = open_kept_to_restore(archive.folder, settings.homes if settings.explicit else None)
    except SessionNotFoundError:
        _refuse_removed(ctx, archive, session)
        raise
    try:
        moment = moment_of(as_of, datetime.now(UTC)) if as_of else None
        try:
            kept = find_kept(sessions, session)
        except SessionNotFoundError:
            _refuse_removed(ctx, archive, session)
            raise
        plan = plan_restore(store, kept, as_of=moment)
        options, page_of = render_options(ctx), partial(restore_page, plan, partial(again, ctx))
        if to is not None:
            echo_page(page_of(to=restore_to(store, plan, to)), render_restore, options, as_json=as_json)
            return
        refusal = "a file with other contents is in the way" if plan.different else None
        page = page_of(refusal=refusal)
        if not as_json and not (applying and page.apply):
            echo_page(page, render_restore, options, as_json=False)
        if plan.different and not (dry_run or as_json):
            restore_session(archive, store, plan)  # says why not
        if page.apply and may_apply(applying=applying, dry_run=dry_run, as_json=as_json, apply=page.apply):
            page = page_of(entry=restore_session(archive, store, plan))
            if not as_json:
                echo_page(page, render_restore, options, as_json=False)
        if as_json:
            echo_page(page, render_restore, options, as_json=True)
            if applying and refusal:
                raise BusyError("nothing was restored", why=refusal, path=plan.different[0].file.path)
    finally:
        store.close()


def _refuse_removed(ctx: click.Context, archive: Archive, session: str) -> None:
    """Raises SessionNotFoundError for a session that was removed: an undo brings it back."""
    from stenograph.archive import find_removal

    if entry := find_removal(archive, session):
        raise SessionNotFoundError(
            f"session {entry.session_id[:8]} was removed by edit {entry.number}",
            reference=session,
            hint=again(ctx, "undo", "--entry", str(entry.number)),
        )
