"""`steno clone`: the library's `plan_clone` and `apply_clone`."""

from __future__ import annotations

import os
from functools import partial

import click

from stenograph.cli._arguments import HintingCommand, named_session, run_command, session_argument
from stenograph.cli._output import echo_page, json_option, render_options
from stenograph.cli._settings import again, demo_refusal, refuse_demo, shared_options, state_options

_HINTS = {"--apply": "steno clone writes at once; --dry-run writes nothing"}


@click.command(cls=HintingCommand, hints=_HINTS, short_help="Copy a session, whole or up to a turn.")
@session_argument
@click.option("--at", metavar="UUID", help="Stop after this message (UUID or prefix).")
@click.option("--turn", metavar="N", type=click.IntRange(min=1), help="Stop after this turn.")
@click.option("--branch", metavar="N", type=click.IntRange(min=1), help="Copy branch N instead of the current one.")
@click.option("--title", metavar="TEXT", help="Title of the new session. [default: the original's]")
@click.option("--resume", is_flag=True, help="Then resume the copy in Claude Code.")
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
@json_option
@shared_options
@click.pass_context
def clone(
    ctx: click.Context,
    session: str,
    at: str | None,
    turn: int | None,
    branch: int | None,
    title: str | None,
    resume: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Copy a session, whole or up to a turn.

    The copy and its records get new ids. Ids from the API stay the same, so that usage is not counted twice. Subagents,
    outputs stored in separate files, file history and titles are copied too. The original is not changed. `steno undo` deletes
    the copy.

    \b
    Examples:
      steno clone last
      steno clone 3f2a --turn 4 --title "Another way"
      steno clone 3f2a --turn 4 --resume
    """
    from stenograph.archive import Archive, default_archive_folder
    from stenograph.cli._output import waiting
    from stenograph.disk import projects_folder
    from stenograph.errors import UsageError
    from stenograph.surgery import apply_clone, plan_clone
    from stenograph.views import clone_page, render_clone, short_path

    if at is not None and turn is not None:
        raise UsageError("--at conflicts with --turn")
    if at is not None and branch is not None:
        raise UsageError("--branch conflicts with --at, which is on one branch only")
    if resume and (dry_run or as_json):
        raise UsageError(f"--resume conflicts with {'--dry-run' if dry_run else '--json'}")
    settings = state_options(ctx)
    file = named_session(ctx, session, writes=not dry_run)
    if not dry_run:
        refuse_demo(settings, file.path)
    with waiting(short_path(str(file.path))):
        plan = plan_clone(file, at=at if at is not None else turn, branch=branch, title=title)
        entry = None if dry_run else apply_clone(plan, Archive(default_archive_folder(os.environ)))
    page = clone_page(
        plan,
        entry,
        partial(again, ctx),
        in_a_home=plan.path.parent.parent in map(projects_folder, settings.homes),
        refusal=demo_refusal(ctx, settings, file.path),
    )
    echo_page(page, render_clone, render_options(ctx), as_json=as_json)
    if resume:
        run_command(ctx, "resume", page.path)
