"""`steno messages`: what a client of a given release would send when it resumes a session."""

from __future__ import annotations

import click

from stenograph.cli._arguments import HintingCommand, named_session, session_argument
from stenograph.cli._messages import echo_note
from stenograph.cli._output import echo_long_json, echo_page, json_option, make_mask, render_options, reveal_option
from stenograph.cli._settings import shared_options
from stenograph.errors import UsageError
from stenograph.releases import NEWEST, rules_note

_HINTS = {"--release": "use --as-of RELEASE"}


@click.command(cls=HintingCommand, hints=_HINTS, short_help="Show what Claude Code would send on resume.")
@session_argument
@click.option("--as-of", "release", default=NEWEST, metavar="RELEASE", help=f"Release of Claude Code. [default: {NEWEST}]")
@click.option(
    "--explain",
    "explaining",
    is_flag=True,
    help="Show for each record whether it is sent, and by which rule of docs/resume-contract.md.",
)
@click.option("--lost", "losing", is_flag=True, help="Show what the release would lose, and why.")
@reveal_option
@json_option
@shared_options
@click.pass_context
def messages(ctx: click.Context, session: str, release: str, explaining: bool, losing: bool, reveal: bool, as_json: bool) -> None:
    """Show what Claude Code would send on resume.

    Prints the messages that the --as-of release would rebuild from the file and send before your next prompt.
    Reminders that the file does not record are left out. Secrets are masked.

    \b
    Example:
      steno messages last --as-of 2.0.76 --lost
    """
    from stenograph.cli._output import echo_lines
    from stenograph.graph import build_graph
    from stenograph.messages import explain, lost, read_for_resume, resume_messages
    from stenograph.records import gc_paused, read_all_records
    from stenograph.sessions import as_unreadable
    from stenograph.views import (
        explained_page,
        lost_page,
        mask_page,
        message_pages,
        messages_page,
        render_explained,
        render_lost,
        render_messages,
    )

    if explaining and losing:
        raise UsageError("--explain conflicts with --lost")
    if note := rules_note(release):  # what is not a release is refused before anything is read
        echo_note(note)
    file = named_session(ctx, session, reads=True)
    named = file.session_id, str(file.path)
    with as_unreadable(file.path), gc_paused():
        # To explain a line it has to be read, also where the client does not.
        is_whole = explaining or losing
        graph = build_graph([(file.path, "", read_all_records(file.path))]) if is_whole else read_for_resume(file.path, release)
        if losing:
            echo_page(lost_page(*named, lost(graph, release)), render_lost, render_options(ctx), as_json=as_json)
            return
        resume = resume_messages(graph, release)
    if explaining:
        page = explained_page(*named, release, explain(resume, graph))
        echo_page(page, render_explained, render_options(ctx), as_json=as_json)
        return
    mask, _ = make_mask(reveal)
    found = (mask_page(message, mask) for message in message_pages(resume, graph))
    heading = messages_page(*named, resume)
    if as_json:
        echo_long_json(heading, found)
    else:
        echo_lines(render_messages(heading, found, render_options(ctx)), pager=False)
