"""`steno undo`: the library's `Archive.undo`, `Archive.entries` and `Archive.restore`."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import click

from stenograph.cli import NOTHING_MATCHED
from stenograph.cli._arguments import SessionReference
from stenograph.cli._consent import consent, consent_options
from stenograph.cli._messages import echo_note, echo_warning
from stenograph.cli._output import echo_page, json_option, make_mask, render_options
from stenograph.cli._settings import GivenPath, again, refuse_demo, shared_options, state_options
from stenograph.errors import UsageError


@click.command(short_help="Undo an edit, byte for byte.")
@click.argument("session", type=SessionReference(), required=False)
@click.option("--list", "is_list", is_flag=True, help="List the edits.")
@click.option(
    "--entry", "number", type=click.IntRange(min=1), metavar="N", help="Undo the edit with this number. [default: the last one]"
)
@click.option("--to", type=GivenPath(path_type=Path), metavar="DIR", help="Write the originals to DIR instead of undoing.")
@consent_options
@json_option
@shared_options
@click.pass_context
def undo(
    ctx: click.Context,
    session: str | None,
    is_list: bool,
    number: int | None,
    to: Path | None,
    applying: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Undo an edit, byte for byte.

    Undoes the last edit of SESSION or, without SESSION, the most recent edit of any session in the Claude config directories.
    Run it again to undo the edit before that. To redo, undo the undo itself with --entry. Shows what would change, then asks;
    without a terminal, only shows it. Fails if a file has changed since the edit.

    If an edit was interrupted, steno first rolls it back or completes it, without asking, and then stops. To undo another edit
    in the same run, name it with --entry.

    Edits are the changes made by `steno edit`, `rm`, `clone`, `restore` and `rename --clear`, and those that `steno trace` and
    `steno archive` make to Claude Code's settings.

    \b
    Examples:
      steno undo --list
      steno undo last --apply
    """
    from stenograph.archive import Archive, Undone, default_archive_folder, find_edits, plan_undo, undo_edit
    from stenograph.views import (
        count_of,
        edits_page,
        originals_page,
        render_edits,
        render_originals,
        render_undo,
        undo_page,
        undo_plan_page,
    )

    settings = state_options(ctx)
    if not is_list:
        refuse_demo(settings)
    archive = Archive(default_archive_folder(os.environ))
    edits = find_edits(archive, session, settings.homes, only_homes=settings.explicit)
    if is_list:
        if to is not None:
            raise UsageError("--list conflicts with --to")
        listed = edits_page(archive, [edit for edit in edits if number in (None, edit.number)], make_mask(False)[0])
        echo_page(listed, render_edits, render_options(ctx), as_json=as_json)
        if listed.findings:
            echo_warning(f"{count_of(len(listed.findings), 'line')} of the journal cannot be read")
        if not listed.entries:
            echo_note("no edits")
            ctx.exit(NOTHING_MATCHED)
        return
    if number is not None and all(edit.number != number for edit in edits):
        raise UsageError(f"no edit {number}{' of this session' if session else ''}", hint="steno undo --list")
    if to is not None:
        if number is None:
            raise UsageError("--to requires --entry N")
        echo_page(originals_page(number, archive.restore(number, to)), render_originals, render_options(ctx), as_json=as_json)
        return
    allowed = consent(applying=applying, dry_run=dry_run, as_json=as_json)
    # What a crash left half done is settled without a question, as every edit does first.
    recovered = () if allowed.is_given or dry_run or number is not None else tuple(archive.recover())
    if not allowed.is_given and not recovered:
        entry = plan_undo(archive, edits, number)
        if entry is None:
            echo_note("no edit to undo")
            ctx.exit(NOTHING_MATCHED)
        echo_page(
            undo_plan_page(entry, partial(again, ctx)), render_undo, render_options(ctx, asks=allowed.may_ask), as_json=as_json
        )
        if not allowed.ask():
            return
        number = entry.number
    if recovered:
        undone: Undone | None = Undone(None, recovered)
    else:
        undone = undo_edit(archive, edits, number, active_seconds=settings.config.active_seconds)
    if undone is None:
        echo_note("no edit to undo")
        ctx.exit(NOTHING_MATCHED)
    echo_page(undo_page(undone, partial(again, ctx)), render_undo, render_options(ctx), as_json=as_json)
    for finding in undone.findings:
        echo_warning(finding.detail)
