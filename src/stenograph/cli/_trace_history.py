"""`steno trace backfill`, `sweep`, `status` and `test`: what is sent without hooks, and how it stands."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from stenograph.cli import FAILED
from stenograph.cli._output import echo_page, json_option, render_options
from stenograph.cli._settings import again, named_config, shared_options, state_options
from stenograph.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from stenograph.config import TraceConfig
    from stenograph.traces import Candidate, TraceState

_destination = click.option("--destination", "names", multiple=True, metavar="NAME", help="Only to this one; may be repeated.")


@click.command(short_help="Send all history, or some of it.")
@click.option("--since", metavar="TIME", help="Sessions written since then (2026-01-31, 7d).")
@click.option("--until", metavar="TIME", help="Sessions last written before then.")
@click.option("--project", default="", metavar="TEXT", help="Sessions of projects with this in their folder's name.")
@click.option("--session", "sessions", multiple=True, metavar="SESSION", help="This session; may be repeated.")
@click.option("--dry-run", is_flag=True, help="Only say what would be looked at.")
@_destination
@json_option
@shared_options
@click.pass_context
def backfill(
    ctx: click.Context,
    since: str | None,
    until: str | None,
    project: str,
    sessions: tuple[str, ...],
    dry_run: bool,
    names: tuple[str, ...],
    as_json: bool,
) -> None:
    """Send all history, or some of it.

    Turns that a destination has already are passed over, so that it can be stopped and begun again; copies that forks and clones
    made of a turn are passed over too. A turn that is not over is left to its hook.

    \b
    Example:
      steno trace backfill --since 30d --dry-run
      steno trace backfill --project my-app
    """
    from stenograph.cli._when import moment_of
    from stenograph.sessions import resolve
    from stenograph.traces import Filters, find_sessions

    now = datetime.now(UTC)
    homes = state_options(ctx).homes
    filters = Filters(
        since=moment_of(since, now) if since else None,
        until=moment_of(until, now) if until else None,
        project=project,
        session_ids=frozenset(resolve(each, homes).session_id for each in sessions),
    )
    found = find_sessions(homes, filters)
    _send(ctx, lambda _, __: found, names, as_json=as_json, dry_run=dry_run)


@click.command(short_help="Send what no hook told of.")
@click.option("--since", metavar="TIME", help="Sessions written since then, and no others.")
@_destination
@json_option
@shared_options
@click.pass_context
def sweep(ctx: click.Context, since: str | None, names: tuple[str, ...], as_json: bool) -> None:
    """Send what no hook told of.

    Looks at sessions that were written since an hour before the first hook told of one, that a hook told of and a receiver did
    not take, or that were sent in part before; sends turns that were interrupted, cut off by a crash, or not taken by a receiver
    that failed. For a timer: it takes a moment where there is nothing to do.

    \b
    Example:
      steno trace sweep
    """
    from stenograph.cli._when import moment_of
    from stenograph.traces import Filters, find_sessions, followed_sessions

    settings = state_options(ctx)
    if since:
        newer = find_sessions(settings.homes, Filters(since=moment_of(since, datetime.now(UTC))))
        _send(ctx, lambda _, __: newer, names, as_json=as_json)
        return
    found = find_sessions(settings.homes)

    def followed(name: str, state: TraceState) -> list[Candidate]:
        chosen = followed_sessions(found, name, state, elsewhere=not settings.explicit)
        if not chosen and state.first_event() is None:
            raise UsageError(f"no hook has told of a session yet; for older sessions: {again(ctx, 'trace', 'backfill')}")
        return chosen

    _send(ctx, followed, names, as_json=as_json)


@click.command(short_help="Show what was sent, what is behind, and what failed last.")
@json_option
@shared_options
@click.pass_context
def status(ctx: click.Context, as_json: bool) -> None:
    """Show what was sent, what is behind, and what failed last.

    Behind are sessions that were written since an hour before the first hook told of one, that a hook told of and a receiver did
    not take, or that were sent in part before, of which a destination has not acknowledged all; a turn that is not over counts as
    behind.

    \b
    Example:
      steno trace status
    """
    from stenograph.traces import default_trace_folder
    from stenograph.views import render_trace_status, trace_status_page

    settings = state_options(ctx)
    folder = default_trace_folder(os.environ)
    page = trace_status_page(_config(), folder, settings.homes, elsewhere=not settings.explicit)
    echo_page(page, render_trace_status, render_options(ctx), as_json=as_json)


@click.command(short_help="Send one span to each destination, to see that it arrives.")
@_destination
@json_option
@shared_options
@click.pass_context
def test(ctx: click.Context, names: tuple[str, ...], as_json: bool) -> None:
    """Send one span to each destination, to see that it arrives.

    The span says nothing of any session. Where it is taken, what failed before is forgotten and what is due is sent at once.

    \b
    Example:
      steno trace test
    """
    from stenograph.traces import default_trace_folder, probe, select_destinations, send_due
    from stenograph.views import render_trace_test, trace_test_page

    config = _config()
    folder = default_trace_folder(os.environ)
    page = trace_test_page(probe(select_destinations(config, names), config, folder, os.environ))
    echo_page(page, render_trace_test, render_options(ctx), as_json=as_json)
    if any(row.accepted for row in page.destinations):
        send_due(config, folder)
    if not all(row.accepted for row in page.destinations):
        ctx.exit(FAILED)


def _config() -> TraceConfig:
    from stenograph.config import load_trace_config, no_destination

    named = named_config(click.get_current_context())
    config = load_trace_config(os.environ, named)
    if config.is_off:
        raise UsageError("everything is off: STENO_TRACE_OFF is set")
    if not config.destinations:
        raise UsageError(no_destination(os.environ, named))
    return config


def _send(
    ctx: click.Context,
    candidates_for: Callable[[str, TraceState], list[Candidate]],
    names: tuple[str, ...],
    *,
    as_json: bool,
    dry_run: bool = False,
) -> None:
    """Send what is behind of the candidates of each destination, by its name."""
    from stenograph.cli._progress import progress, waiting
    from stenograph.traces import backfill, default_trace_folder, select_destinations
    from stenograph.views import backfill_page, plain, render_backfill

    config = _config()
    done = backfill(
        candidates_for,
        select_destinations(config, names),
        config,
        default_trace_folder(os.environ),
        dry_run=dry_run,
        waiting=lambda: waiting("another worker that sends traces"),
        progress=lambda name: progress(f"sending to {name}"),
    )
    page = backfill_page(done)
    echo_page(page, render_backfill, render_options(ctx), as_json=as_json)
    for row in page.destinations if not as_json else ():
        for failure in row.failures:
            click.echo(plain(f"  {failure.detail}"), err=True)
        if row.error:
            click.echo(plain(f"steno: {row.error}; what was acknowledged stays so, the rest is sent next time"), err=True)
    if any(row.error or row.failures for row in page.destinations):
        ctx.exit(FAILED)
