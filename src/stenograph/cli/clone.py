"""`steno clone`: the library's `plan_clone` and `apply_clone`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from stenograph.cli._hints import HintingCommand
from stenograph.cli._session import session_argument
from stenograph.cli._settings import DEMO_IS_READ_ONLY, again, is_demo, refuse_demo, shared_options, state_options

if TYPE_CHECKING:
    from stenograph.archive import Entry
    from stenograph.surgery.clone import ClonePlan

_HINTS = {"--apply": "a clone is written at once; --dry-run only says what would be"}


@click.command(cls=HintingCommand, hints=_HINTS, short_help="Copy a session, whole or up to a message, as a new one.")
@session_argument
@click.option("--at", metavar="UUID", help="End with this message: its uuid, or the beginning of that.")
@click.option("--turn", metavar="N", type=click.IntRange(min=1), help="End with this turn.")
@click.option("--branch", metavar="N", type=click.IntRange(min=1), help="The branch that is meant; else the current one.")
@click.option("--title", metavar="TEXT", help="A title for the new session; else it keeps the one it has.")
@click.option("--dry-run", is_flag=True, help="Only say what would be written.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@shared_options
@click.pass_context
def clone(
    ctx: click.Context,
    session: str,
    at: str | None,
    turn: int | None,
    branch: int | None,
    title: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Copy a session, whole or up to a message, as a new one.

    The new session has ids of its own, down to its sub-agents; the API's stay, so that nothing is counted twice. Sub-agents,
    spilled results, file history and titles come along. The original is only read. `steno undo` removes the clone.

    --json prints {"id", "path", "from", "at", "title", "files": [{"what", "path", "size"}], "bytes", "ids", "left_out", "notes",
    "resume", "written", "entry"}.

    \b
    Example:
      steno clone last
      steno clone 3f2a --turn 4 --title "Another way"
    """
    from stenograph.archive import Archive, default_archive_folder
    from stenograph.cli._progress import waiting
    from stenograph.cli._text import echo_json
    from stenograph.disk import projects_folder
    from stenograph.errors import UsageError
    from stenograph.sessions import resolve
    from stenograph.surgery.clone import apply_clone, plan_clone
    from stenograph.views.text import short_path

    if at is not None and turn is not None:
        raise UsageError("--at and --turn both say where the clone ends; give one of them")
    if at is not None and branch is not None:
        raise UsageError("--at names a message, which is on one branch only; leave --branch out")
    settings = state_options(ctx)
    file = resolve(session, settings.homes)
    if not dry_run:
        refuse_demo(settings, file.path)
    with waiting(short_path(str(file.path))):
        plan = plan_clone(file, at=at if at is not None else turn, branch=branch, title=title)
        entry = None if dry_run else apply_clone(plan, Archive(default_archive_folder(os.environ)))
    in_a_home = plan.path.parent.parent in map(projects_folder, settings.homes)
    resume = again(ctx, "resume", plan.new_id if in_a_home else str(plan.path))
    if as_json:
        echo_json(_json(plan, entry, resume))
        return
    _echo(plan, written=entry is not None)
    if entry is not None:
        click.echo(f"To go on with it: {resume}")
        click.echo(f"To undo: {again(ctx, 'undo', '--entry', str(entry.number))}")
    elif is_demo(settings, file.path):
        click.echo(f"Nothing was written: {DEMO_IS_READ_ONLY}")


def _json(plan: ClonePlan, entry: Entry | None, resume: str) -> dict[str, Any]:
    return {
        "id": plan.new_id,
        "path": str(plan.path),
        "from": str(plan.source),
        "at": plan.at,
        "title": plan.title,
        "files": [{"what": part.what, "path": str(part.target), "size": part.size} for part in plan.files],
        "bytes": plan.size,
        "ids": plan.ids,
        "left_out": plan.left_out,
        "notes": list(plan.notes),
        "resume": resume,
        "written": entry is not None,
        "entry": entry.number if entry else None,
    }


def _echo(plan: ClonePlan, *, written: bool) -> None:
    """What the clone is made of."""
    from stenograph.views.text import count_of, plain, short_path, size

    amount = f"{count_of(len(plan.files), 'file')}, {size(plan.size)}, {count_of(plan.ids, 'id')} renewed"
    if written:
        click.echo(f"{plan.new_id}: {amount}")
        click.echo(short_path(str(plan.path)))
    else:
        for part in plan.files:
            click.echo(f"{size(part.size):>8}  {part.what:<12}  {short_path(str(part.target))}")
        click.echo(f"Would be written: {amount}")
    for what, count in plan.left_out.items():
        click.echo(f"Left out: {what} ({count:,})")
    for note in plan.notes:
        click.echo(f"Note: {plain(note)}")
