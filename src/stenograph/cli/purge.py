"""`steno purge`: the library's `traces.plan_purge` and `purge_session`."""

from __future__ import annotations

import os
from functools import partial

import click

from stenograph.cli._arguments import session_to_change
from stenograph.cli._consent import consent, consent_options
from stenograph.cli._output import echo_page, json_option, render_options
from stenograph.cli._settings import again, demo_refusal, refuse_demo, shared_options, state_options


@click.command(short_help="Delete a session for good.")
@session_to_change
@consent_options
@json_option
@shared_options
@click.pass_context
def purge(ctx: click.Context, session: str, applying: bool, dry_run: bool, as_json: bool) -> None:
    """Delete a session for good.

    This cannot be undone; `steno rm` only moves a session to the archive. Deletes the session's files, everything in the archive
    that belongs to it, its tracing state, and the whole search index, which is rebuilt when needed. Only hashes of message ids
    are kept, so that tracing does not send the same turns again from a fork. Lists the turns that were sent to trace receivers.
    Also lists clones, which keep their copies of the turns. Sessions that exist only in the archive can be purged by id.

    Shows what would be deleted, then asks; without a terminal, only shows it.

    \b
    Examples:
      steno purge 3f2a
      steno purge 3f2a --apply
    """
    from stenograph.archive import Archive, default_archive_folder
    from stenograph.index import store_path
    from stenograph.traces import default_trace_folder, plan_purge, purge_session
    from stenograph.views import PurgePage, purge_page, render_purge

    settings = state_options(ctx)
    archive = Archive(default_archive_folder(os.environ))
    folder = default_trace_folder(os.environ)
    plan = plan_purge(session, settings.homes, archive, folder, store_path(os.environ))
    seconds = settings.config.active_seconds

    def carry_out() -> PurgePage:
        refuse_demo(settings, plan.path)
        purge_session(plan, archive, folder, active_seconds=seconds)
        return purge_page(plan, partial(again, ctx), is_applied=True, busy=None, refusal=None)

    allowed = consent(applying=applying, dry_run=dry_run, as_json=as_json)
    if allowed.is_given:
        echo_page(carry_out(), render_purge, render_options(ctx), as_json=as_json)
        return
    busy = None if plan.path is None else archive.why_busy(plan.path, active_seconds=seconds)
    refusal = demo_refusal(ctx, settings, plan.path)
    page = purge_page(plan, partial(again, ctx), is_applied=False, busy=str(busy) if busy else None, refusal=refusal)
    options = render_options(ctx, asks=allowed.may_ask and page.apply is not None)
    echo_page(page, render_purge, options, as_json=as_json)
    if page.apply is not None and allowed.ask():
        carry_out()
        click.echo(f"Deleted {page.id} for good.")
