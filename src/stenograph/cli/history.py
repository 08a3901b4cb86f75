"""`steno history`: every session and turn that read or changed a file."""

from __future__ import annotations

import os

import click

from stenograph.cli import NOTHING_MATCHED
from stenograph.cli._index import synced_store
from stenograph.cli._messages import echo_note
from stenograph.cli._output import echo_page, json_option, make_mask, render_options, reveal_option
from stenograph.cli._settings import shared_options, state_options


@click.command(short_help="List the sessions that read or changed a file.")
@click.argument("file", metavar="FILE")
@click.option("--changed", "only_changed", is_flag=True, help="Hide calls that only read the file.")
@reveal_option
@json_option
@shared_options
@click.pass_context
def history(ctx: click.Context, file: str, only_changed: bool, reveal: bool, as_json: bool) -> None:
    """List the sessions that read or changed a file.

    FILE is a path. A path that exists here means exactly that file. Any other relative path matches every path that ends with
    it, in any project, so the file does not have to exist anymore. Only tool calls that name the file count, not shell commands.

    \b
    Example:
      steno history src/checkout.ts
    """
    from stenograph.index import file_history
    from stenograph.records import CHANGING_TOOLS
    from stenograph.views import history_page, render_history, short_path

    wanted = os.path.abspath(file) if os.path.exists(file) else file  # noqa: PTH100, PTH110 - text in, text out
    store, report = synced_store(ctx)
    touches = file_history(store, wanted, state_options(ctx).homes)
    if only_changed:
        touches = [touch for touch in touches if touch.tool in CHANGING_TOOLS]
    page = history_page(wanted, touches, report, CHANGING_TOOLS, make_mask(reveal)[0])
    echo_page(page, render_history, render_options(ctx), as_json=as_json)
    if not page.sessions:
        echo_note(f"no session read or changed {short_path(wanted)}")
        ctx.exit(NOTHING_MATCHED)
