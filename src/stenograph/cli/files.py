"""`steno files`: which files a session read and changed, and the net differences."""

from __future__ import annotations

import click

from stenograph.cli import NOTHING_MATCHED
from stenograph.cli._arguments import choose_branch, named_session, session_argument
from stenograph.cli._messages import echo_note
from stenograph.cli._output import echo_page, json_option, make_mask, pager_option, render_options, reveal_option
from stenograph.cli._settings import shared_options


@click.command(short_help="List the files a session read and changed.")
@session_argument
@click.option("--diff", "with_diff", is_flag=True, help="Show the net diff of each changed file.")
@click.option("--changed", "only_changed", is_flag=True, help="Hide files that were only read.")
@click.option("--branch", type=click.IntRange(min=1), metavar="N", help="Show only what branch N did. [default: all branches]")
@pager_option
@reveal_option
@json_option
@shared_options
@click.pass_context
def files(
    ctx: click.Context,
    session: str,
    with_diff: bool,
    only_changed: bool,
    branch: int | None,
    pager: bool,
    reveal: bool,
    as_json: bool,
) -> None:
    """List the files a session read and changed.

    Diffs compare the first known content with the last, and include the edits of subagents. They show what the session saw: the
    files on disk are not opened. Files that a shell command may have changed are marked. Paths are relative to the session's
    project; JSON has absolute ones.

    \b
    Example:
      steno files last --diff
    """
    from functools import partial

    from stenograph.analysis import changed_files
    from stenograph.sessions import load
    from stenograph.views import files_page, render_files

    loaded = load(named_session(ctx, session, reads=True).path)
    found = changed_files(loaded, None if branch is None else choose_branch(loaded, branch).turns)
    if only_changed:
        found = tuple(each for each in found if each.changed)
    page = files_page(loaded, found, make_mask(reveal)[0])
    echo_page(page, partial(render_files, with_diff=with_diff), render_options(ctx, full=True), as_json=as_json, pager=pager)
    if not found:
        echo_note("no file was read or changed")
        ctx.exit(NOTHING_MATCHED)
