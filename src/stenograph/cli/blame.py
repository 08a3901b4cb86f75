"""`steno blame`: which turn of which session wrote each line of a file."""

from __future__ import annotations

from pathlib import Path

import click

from stenograph.cli import NOTHING_MATCHED
from stenograph.cli._catalog import catalog_of
from stenograph.cli._index import synced_store
from stenograph.cli._messages import echo_note
from stenograph.cli._output import echo_page, json_option, make_mask, pager_option, render_options, reveal_option
from stenograph.cli._settings import shared_options, state_options


@click.command(short_help="Show which turn wrote each line of a file.")
@click.argument("file", metavar="FILE[:LINE]")
@pager_option
@reveal_option
@json_option
@shared_options
@click.pass_context
def blame(ctx: click.Context, file: str, pager: bool, reveal: bool, as_json: bool) -> None:
    """Show which turn wrote each line of a file.

    With a line number, shows the turn and prompt behind that line, and its earlier versions. Changes come from the Edit and
    Write tools of all sessions, and of their subagents. A line that they did not write was there before any session, or was
    written by hand or by a command.

    FILE is a path. If the file does not exist, shows it as the last session left it. A relative path then matches every path
    that ends with it, in any project.

    \b
    Examples:
      steno blame src/checkout.ts
      steno blame src/checkout.ts:17
    """
    from functools import partial

    from stenograph.analysis import blame_file
    from stenograph.index import file_history
    from stenograph.records import CHANGING_TOOLS
    from stenograph.sessions import load
    from stenograph.views import blame_page, render_blame, short_path

    name, line = _split(file)
    path = Path(name).absolute()
    text = _content(path)
    store, report = synced_store(ctx)
    touches = file_history(store, name if text is None else str(path), state_options(ctx).homes)
    changed = [touch for touch in touches if touch.tool in CHANGING_TOOLS]
    if not changed:
        echo_note(f"no session changed {short_path(str(path) if text is not None else name)}")
        ctx.exit(NOTHING_MATCHED)
    targets = list(dict.fromkeys(touch.target for touch in changed))
    if len(targets) > 1:
        shown = ", ".join(map(short_path, targets[:_MOST_NAMED])) + (" and more" if len(targets) > _MOST_NAMED else "")
        raise click.UsageError(f"{name} could be {shown}; give the whole path")
    names = {touch.path: touch.session for touch in touches}
    # What only the archive has is read from a copy.
    places = [path if path.exists() else catalog_of(ctx).find(name).file.path for path, name in names.items()]
    sessions = [load(place) for place in places]
    found = blame_file(targets[0], sessions, text)
    if not found.versions:
        echo_note(f"the content of {short_path(targets[0])} is unknown: no session read or wrote all of it")
        ctx.exit(NOTHING_MATCHED)
    total = len(found.versions[-1].lines)
    if line is not None and not 1 <= line <= total:
        raise click.UsageError(f"{short_path(targets[0])} has {total} lines; there is no line {line}")
    page = blame_page(found, on_disk=text is not None, stale=report.pending > 0, line=line, mask=make_mask(reveal)[0])
    render = partial(render_blame, one=line is not None)
    echo_page(page, render, render_options(ctx, full=True), as_json=as_json, pager=pager)


_MOST_NAMED = 4


def _split(file: str) -> tuple[str, int | None]:
    """`cart.ts:14` is line 14, unless a file is called so."""
    name, colon, line = file.rpartition(":")
    if colon and name and line.isascii() and line.isdecimal() and not Path(file).exists():
        return name, int(line[:9])
    return file, None


def _content(path: Path) -> str | None:
    """The file with plain line endings, as sessions have them; None if it is not there."""
    from stenograph.disk import read_whole
    from stenograph.errors import DiskError

    if not path.is_file():
        return None
    try:
        text = read_whole(path).decode("utf-8", "replace")
    except DiskError:
        return None
    return text.replace("\r\n", "\n").replace("\r", "\n")
