"""`steno inventory`: what session files hold, counted."""

from __future__ import annotations

import os
from pathlib import Path

import click

from stenograph.cli import FAILED
from stenograph.cli._arguments import SessionReference, any_project_option, named_session
from stenograph.cli._messages import echo_error, echo_warning
from stenograph.cli._output import echo_page, json_option, render_options
from stenograph.cli._settings import shared_options, state_options


@click.command(short_help="Count records, releases, turns, tool calls and stop reasons.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=SessionReference())
@any_project_option
@json_option
@shared_options
@click.pass_context
def inventory(ctx: click.Context, paths: tuple[str, ...], as_json: bool) -> None:
    """Count records, releases, turns, tool calls and stop reasons.

    PATH is a session file, a directory (all .jsonl files below it), a Claude config directory, or a SESSION. Subagent files are
    counted separately. Stop reasons are counted per line, so a response that spans several lines counts several times.
    "Human turns" here are user records with string content, not the turns of `steno turns`.

    \b
    Examples:
      steno inventory last
      steno inventory ~/.claude/projects --json
    """
    from stenograph.analysis import take_inventory
    from stenograph.cli._output import progress
    from stenograph.views import inventory_page, render_inventory

    state_options(ctx)
    named = [place_of(ctx, path) for path in paths]
    with progress("Reading") as report:
        taken = take_inventory(named, report)
    echo_page(inventory_page(taken), render_inventory, render_options(ctx), as_json=as_json)
    is_failed = any(failure.path in named for failure in taken.failures) or not (taken.sessions or taken.agents)
    for failure in taken.failures:
        (echo_error if is_failed else echo_warning)(failure.detail)
    if is_failed:
        ctx.exit(FAILED)


def place_of(ctx: click.Context, path: str) -> Path:
    """A directory as it is; anything else is what a user calls a session."""
    from stenograph.sessions import session_at

    place = Path(os.path.expanduser(path))  # noqa: PTH111 - never raises
    try:
        if place.is_dir():
            return place
        if place.is_file():
            return session_at(place).path
    except (OSError, ValueError):
        pass  # not a name that the file system takes: a title, then
    return named_session(ctx, path, reads=True).path
