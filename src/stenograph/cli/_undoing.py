"""What becomes of earlier edits when a line is added to a session's file: they can be undone no longer.

In: a file, and its size before. Out: a line for a person. Does not know what was added.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import click

from stenograph.cli._settings import again
from stenograph.errors import StenographError


def tell_what_can_not_be_undone(ctx: click.Context, path: Path, session_id: str, size_before: int) -> None:
    """Say so where the last edit of a session could have been undone until now."""
    from stenograph.archive import Archive, default_archive_folder

    last = None
    with contextlib.suppress(StenographError):  # what was asked for is done: no archive is no failure of that
        last = Archive(default_archive_folder(os.environ)).last_edit(session_id)
    own = Path(os.path.realpath(path))
    change = next((file for file in last.files if Path(os.path.realpath(file.path)) == own), None) if last else None
    if last is None or change is None or change.after is None or change.after_size != size_before:
        return
    if change.before is None:
        click.echo(f"Edit {last.number}, which made it, can't be undone any more; to remove it: {again(ctx, 'rm', session_id)}")
    else:
        elsewhere = again(ctx, "undo", "--entry", str(last.number), "--to", "DIR")
        click.echo(f"Edit {last.number} of it can't be undone in place any more; its originals: {elsewhere}")
