"""`steno rename` and `steno tag`."""

from __future__ import annotations

import os
from functools import partial

import click

from stenograph.cli._arguments import named_session, session_to_change
from stenograph.cli._output import echo_page, json_option, render_options
from stenograph.cli._settings import again, refuse_demo, shared_options, state_options
from stenograph.errors import UsageError


@click.command(short_help="Set or clear a session's title.")
@session_to_change
@click.argument("title", required=False)
@click.option("--clear", is_flag=True, help="Delete the title that was set.")
@json_option
@shared_options
@click.pass_context
def rename(ctx: click.Context, session: str, title: str | None, clear: bool, as_json: bool) -> None:
    """Set or clear a session's title.

    Appends one line to the session file, as the Claude Agent SDK does. Claude Code prefers this title to any other. A running
    session can be renamed too, unless its last line is still being written. --clear deletes all lines that set a title this
    way, and the session goes back to its earlier title; `steno undo` restores the lines.

    \b
    Examples:
      steno rename last "Parser rewrite"
      steno rename last --clear
    """
    from stenograph.archive import clear_title, rename_session
    from stenograph.cli._output import waiting
    from stenograph.views import rename_page, render_rename, short_path

    if clear == (title is not None):
        raise UsageError("TITLE or --clear is required")
    settings = state_options(ctx)
    refuse_demo(settings)
    file = named_session(ctx, session, writes=True)
    refuse_demo(settings, file.path)
    with waiting(short_path(str(file.path))):
        seconds = settings.config.active_seconds
        if title is None:
            change = clear_title(file, os.environ, active_seconds=seconds)
        else:
            change = rename_session(file, title, os.environ, active_seconds=seconds)
    echo_page(rename_page(file, change, partial(again, ctx)), render_rename, render_options(ctx), as_json=as_json)


@click.command(short_help="Set or clear a session's tag.")
@session_to_change
@click.argument("tag", required=False)
@click.option("--clear", is_flag=True, help="Clear the tag.")
@json_option
@shared_options
@click.pass_context
def tag(ctx: click.Context, session: str, tag: str | None, clear: bool, as_json: bool) -> None:
    """Set or clear a session's tag.

    Appends one line to the session file, as the Claude Agent SDK does. A session has one tag; a new one replaces it. A
    running session can be tagged too, unless its last line is still being written.

    \b
    Examples:
      steno tag last keep
      steno tag last --clear
    """
    from stenograph.archive import tag_session
    from stenograph.cli._output import waiting
    from stenograph.views import render_tag, short_path, tag_page

    if clear == (tag is not None):
        raise UsageError("TAG or --clear is required")
    settings = state_options(ctx)
    refuse_demo(settings)
    file = named_session(ctx, session, writes=True)
    refuse_demo(settings, file.path)
    with waiting(short_path(str(file.path))):
        change = tag_session(file, tag, os.environ, active_seconds=settings.config.active_seconds)
    echo_page(tag_page(file, change, partial(again, ctx)), render_tag, render_options(ctx), as_json=as_json)
