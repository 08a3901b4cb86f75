"""`steno demo`: the library's `unpack_demo`, into a directory of one's own."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from stenograph.cli._output import echo_page, json_option, render_options
from stenograph.cli._settings import GivenPath, again, shared_options
from stenograph.errors import UsageError


@click.command(short_help="Copy the demo sessions, to try edits on them.")
@click.option(
    "--copy", "to", type=GivenPath(path_type=Path), required=True, metavar="DIR", help="Directory to copy the demo sessions to."
)
@json_option
@shared_options
@click.pass_context
def demo(ctx: click.Context, to: Path, as_json: bool) -> None:
    """Copy the demo sessions, to try edits on them.

    `steno --demo` shows the bundled sessions, but cannot change them. DIR must be empty or not exist. It becomes a Claude
    config directory, which you can use with --home.

    \b
    Examples:
      steno demo --copy /tmp/demo
      steno --home /tmp/demo edit 4583 --compress --keep-last 1
    """
    import os

    from stenograph.demo import unpack_demo
    from stenograph.sessions import find_sessions
    from stenograph.views import DemoCopyPage, render_demo_copy

    if os.path.lexists(to) and not (to.is_dir() and not any(to.iterdir())):
        raise UsageError(f"{to} is not an empty directory", hint="use a directory that does not exist")
    home = unpack_demo(to.absolute())
    command = partial(again, ctx)
    page = DemoCopyPage(home=str(home), sessions=len(find_sessions([home])), list=command("--home", str(home), "ls"))
    echo_page(page, render_demo_copy, render_options(ctx), as_json=as_json)
