"""`steno trace backfill`, `sweep`, `status` and `test`: what is sent without hooks, and how it stands."""

from __future__ import annotations

import contextlib
import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from stenograph.cli import FAILED
from stenograph.cli._settings import again, named_config, shared_options, state_options
from stenograph.errors import ConfigError, DeliveryError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from stenograph.config.traces import Destination, TraceConfig
    from stenograph.traces.history import Candidate
    from stenograph.traces.state import TraceState

#: So long another worker is waited for.
_BUSY_SECONDS = 60.0

_destination = click.option("--destination", "names", multiple=True, metavar="NAME", help="Only to this one; may be repeated.")
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.command(short_help="Send all history, or some of it.")
@click.option("--since", metavar="TIME", help="Sessions written since then (2026-01-31, 7d).")
@click.option("--until", metavar="TIME", help="Sessions last written before then.")
@click.option("--project", default="", metavar="TEXT", help="Sessions of projects with this in their folder's name.")
@click.option("--session", "sessions", multiple=True, metavar="SESSION", help="This session; may be repeated.")
@click.option("--dry-run", is_flag=True, help="Only say what would be looked at.")
@_destination
@_json
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

    --json prints {"destinations": [{"name", "sessions", "turns", "spans", "copies", "refused", "bytes", "failures": [{"path",
    "reason"}], "error": null | text}], "candidates", "bytes"}.

    \b
    Example:
      steno trace backfill --since 30d --dry-run
      steno trace backfill --project my-app
    """
    from stenograph.cli._when import moment_of
    from stenograph.sessions import resolve
    from stenograph.traces.history import Filters, find_sessions

    now = datetime.now(UTC)
    homes = state_options(ctx).homes
    filters = Filters(
        since=moment_of(since, now) if since else None,
        until=moment_of(until, now) if until else None,
        project=project,
        session_ids=frozenset(resolve(each, homes).session_id for each in sessions),
    )
    found = find_sessions(homes, filters)
    _send(lambda _, __: found, names, as_json=as_json, dry_run=dry_run)


@click.command(short_help="Send what no hook told of.")
@click.option("--since", metavar="TIME", help="Sessions written since then, and no others.")
@_destination
@_json
@shared_options
@click.pass_context
def sweep(ctx: click.Context, since: str | None, names: tuple[str, ...], as_json: bool) -> None:
    """Send what no hook told of.

    Looks at sessions that were written since an hour before the first hook told of one, that a hook told of and a receiver did
    not take, or that were sent in part before; sends turns that were interrupted, cut off by a crash, or not taken by a receiver
    that failed. For a timer: it takes a moment where there is nothing to do.

    --json prints what `steno trace backfill --json` prints.

    \b
    Example:
      steno trace sweep
    """
    from stenograph.cli._when import moment_of
    from stenograph.traces.history import Filters, find_sessions, followed_sessions

    settings = state_options(ctx)
    if since:
        newer = find_sessions(settings.homes, Filters(since=moment_of(since, datetime.now(UTC))))
        _send(lambda _, __: newer, names, as_json=as_json)
        return
    found = find_sessions(settings.homes)

    def followed(name: str, state: TraceState) -> list[Candidate]:
        chosen = followed_sessions(found, name, state, elsewhere=not settings.explicit)
        if not chosen and state.first_event() is None:
            raise UsageError(f"no hook has told of a session yet; for older sessions: {again(ctx, 'trace', 'backfill')}")
        return chosen

    _send(followed, names, as_json=as_json)


@click.command(short_help="Show what was sent, what is behind, and what failed last.")
@_json
@shared_options
@click.pass_context
def status(ctx: click.Context, as_json: bool) -> None:
    """Show what was sent, what is behind, and what failed last.

    Behind are sessions that were written since an hour before the first hook told of one, that a hook told of and a receiver did
    not take, or that were sent in part before, of which a destination has not acknowledged all; a turn that is not over counts as
    behind.

    --json prints {"worker": "at work" | "none", "spool", "damaged": [path], "destinations": [{"name", "type", "endpoint",
    "turns", "spans", "posts", "refused", "last_success", "last_failure", "last_error", "retry_at", "due", "behind": {"sessions",
    "bytes"}, "failures": [{"path", "reason"}]}]}.

    \b
    Example:
      steno trace status
    """
    from stenograph.cli._text import echo_json
    from stenograph.traces.folder import default_trace_folder, is_held, waiting_events
    from stenograph.traces.history import find_sessions
    from stenograph.traces.state import TraceState

    config = _config()
    folder = default_trace_folder(os.environ)
    settings = state_options(ctx)
    found = find_sessions(settings.homes)
    with TraceState(folder) as state:
        told = [_standing(each, found, state, elsewhere=not settings.explicit) for each in config.destinations]
        damaged = [str(path) for path in state.damaged()]
    report = {
        "worker": "at work" if is_held(folder) else "none",
        "spool": len(waiting_events(folder)),
        "damaged": damaged,
        "destinations": told,
    }
    if as_json:
        echo_json(report)
    else:
        _echo_status(ctx, report, config)


@click.command(short_help="Send one span to each destination, to see that it arrives.")
@_destination
@_json
@shared_options
@click.pass_context
def test(ctx: click.Context, names: tuple[str, ...], as_json: bool) -> None:
    """Send one span to each destination, to see that it arrives.

    The span says nothing of any session. Where it is taken, what failed before is forgotten and what is due is sent at once.

    --json prints {"destinations": [{"name", "endpoint", "taken", "ms", "error": null | text, "notes"}]}.

    \b
    Example:
      steno trace test
    """
    from stenograph.cli._text import echo_json
    from stenograph.traces.folder import default_trace_folder
    from stenograph.traces.keys import notes_on
    from stenograph.traces.state import TraceState
    from stenograph.traces.worker import work
    from stenograph.views.text import plain

    config = _config()
    folder = default_trace_folder(os.environ)
    rows: list[dict[str, Any]] = []
    with TraceState(folder) as state:
        for destination in _chosen(config, names):
            started = time.monotonic()
            error = _try(destination, config)
            if error is None:
                state.note_recovery(destination.name)
            took = round((time.monotonic() - started) * 1000)
            rows.append(
                {
                    "name": destination.name,
                    "endpoint": destination.endpoint,
                    "taken": error is None,
                    "ms": took,
                    "error": error,
                    "notes": notes_on(destination),
                }
            )
    if as_json:
        echo_json({"destinations": rows})
    else:
        for row in rows:
            told = row["error"] or f"took the span in {row['ms']} ms"
            click.echo(plain(f"{row['name']}: {told}"))
            for note in row["notes"]:
                click.echo(plain(f"note: {note}"))
    if any(row["taken"] for row in rows):
        # All destinations, for events become due for all of them at once; each is tried once. A worker that is at work already
        # finds out by itself.
        work(folder, msgspec.structs.replace(config, patience_seconds=0.0))
    if not all(row["taken"] for row in rows):
        ctx.exit(FAILED)


def _config() -> TraceConfig:
    from stenograph.config.traces import load_trace_config, no_destination

    named = named_config(click.get_current_context())
    config = load_trace_config(os.environ, named)
    if config.is_off:
        raise UsageError("everything is off: STENO_TRACE_OFF is set")
    if not config.destinations:
        raise UsageError(no_destination(os.environ, named))
    return config


def _chosen(config: TraceConfig, names: tuple[str, ...]) -> list[Destination]:
    known = {destination.name: destination for destination in config.destinations}
    if unknown := [name for name in names if name not in known]:
        raise UsageError(f"there is no destination {unknown[0]!r}; there are {', '.join(known)}")
    return [known[name] for name in names] if names else list(known.values())


def _send(
    candidates_for: Callable[[str, TraceState], list[Candidate]], names: tuple[str, ...], *, as_json: bool, dry_run: bool = False
) -> None:
    """Send what is behind of the candidates of each destination, by its name."""
    from stenograph.cli._progress import waiting
    from stenograph.cli._text import echo_json
    from stenograph.traces.folder import alone, default_trace_folder
    from stenograph.traces.history import is_behind
    from stenograph.traces.state import TraceState
    from stenograph.views.text import count_of, size

    config = _config()
    chosen = _chosen(config, names)
    folder = default_trace_folder(os.environ)
    rows: list[dict[str, Any]] = []
    with contextlib.ExitStack() as stack:
        if not dry_run:
            with waiting("another worker that sends traces"):
                stack.enter_context(alone(folder, timeout=_BUSY_SECONDS))
        state = stack.enter_context(TraceState(folder))
        candidates = {each.name: candidates_for(each.name, state) for each in chosen}
        for destination in chosen:
            behind = [one for one in candidates[destination.name] if is_behind(one, destination.name, state)]
            if dry_run:
                rows.append({"name": destination.name, "sessions": len(behind), "bytes": sum(one.size for one in behind)})
            else:
                rows.append(_send_to(destination, behind, config, state, folder))
    if as_json:
        sizes = {one.path: one.size for each in candidates.values() for one in each}
        echo_json({"destinations": rows, "candidates": len(sizes), "bytes": sum(sizes.values())})
    elif dry_run:
        for row in rows:
            click.echo(f"{row['name']}: would look at {count_of(row['sessions'], 'session')}, {size(row['bytes'])}")
    else:
        for row in rows:
            _echo_row(row)
    if any(row.get("error") or row.get("failures") for row in rows):
        click.get_current_context().exit(FAILED)


def _send_to(
    destination: Destination, candidates: list[Candidate], config: TraceConfig, state: TraceState, folder: Path
) -> dict[str, Any]:
    from stenograph.cli._progress import progress
    from stenograph.traces.history import send_history

    total = sum(one.size for one in candidates)
    done = 0
    with progress(f"sending to {destination.name}") as show:

        def note(candidate: Candidate) -> None:
            nonlocal done
            done += candidate.size
            if show:
                show(done, total)

        report = send_history(candidates, destination, config, state, folder, progress=note)
    sent = report.sent
    return {
        "name": destination.name,
        "sessions": report.sessions,
        "turns": sent.turns,
        "spans": sent.spans,
        "copies": sent.copies,
        "refused": sent.refused,
        "bytes": sent.read,
        "failures": [{"path": str(each.path), "reason": each.reason} for each in report.failures],
        "error": report.error,
    }


def _echo_row(row: dict[str, Any]) -> None:
    from stenograph.views.text import count_of, plain, size

    told = [count_of(row["turns"], "turn"), f"of {count_of(row['sessions'], 'session')},", count_of(row["spans"], "span")]
    told += [f"from {size(row['bytes'])}"]
    click.echo(plain(f"{row['name']}: {' '.join(told)}"))
    if row["copies"]:
        click.echo(f"  {count_of(row['copies'], 'copy', 'copies')} of turns that it has already")
    if row["refused"]:
        click.echo(f"  {count_of(row['refused'], 'span')} refused by the receiver")
    for failure in row["failures"]:
        click.echo(plain(f"  {failure['reason']}"), err=True)
    if row["error"]:
        click.echo(plain(f"steno: {row['error']}; what was acknowledged stays so, the rest is sent next time"), err=True)


def _standing(destination: Destination, found: list[Candidate], state: TraceState, *, elsewhere: bool) -> dict[str, Any]:
    from stenograph.cli._text import iso
    from stenograph.traces.history import bytes_behind, followed_sessions, is_behind

    def when(at: float | None) -> str | None:
        return iso(datetime.fromtimestamp(at, UTC)) if at else None

    health = state.health(destination.name)
    followed = followed_sessions(found, destination.name, state, elsewhere=elsewhere)
    behind = [
        bytes_behind(one, state.cursor(destination.name, one.path)) for one in followed if is_behind(one, destination.name, state)
    ]
    return {
        "name": destination.name,
        "type": destination.kind.value,
        "endpoint": destination.endpoint,
        "turns": health.turns,
        "spans": health.spans,
        "posts": health.posts,
        "refused": health.refused,
        "last_success": when(health.last_success),
        "last_failure": when(health.last_failure),
        "last_error": health.last_error or None,
        "retry_at": when(health.retry_at),
        "due": len(state.due(destination.name)),
        "behind": {"sessions": len(behind), "bytes": sum(behind)},
        "failures": [
            {"path": str(each.path), "reason": each.reason} for each in state.unread(destination.name) if not _is_gone(each.path)
        ],
    }


def _is_gone(path: Path) -> bool:
    """Nobody is told any more that a file can't be read once it was deleted; one in a folder that can't be read is not gone."""
    try:
        path.lstat()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return False


def _echo_status(ctx: click.Context, report: dict[str, Any], config: TraceConfig) -> None:
    from stenograph.traces.keys import notes_on
    from stenograph.views.text import count_of, plain, size

    for row in report["destinations"]:
        click.echo(click.style(plain(f"{row['name']}  {row['type']}, {row['endpoint']}"), bold=True))
        counts = f"{count_of(row['turns'], 'turn')}, {count_of(row['spans'], 'span')}"
        click.echo(f"  sent    {counts}, last at {row['last_success'] or '-'}")
        behind = row["behind"]
        click.echo(f"  behind  {count_of(behind['sessions'], 'session')}, {size(behind['bytes'])}; {row['due']} due")
        if row["refused"]:
            click.echo(f"  refused {count_of(row['refused'], 'span')}")
        if row["last_error"]:
            click.echo(click.style(plain(f"  failed  {row['last_error']} ({row['last_failure']})"), fg="red"))
            if row["retry_at"]:
                click.echo(f"  again   at {row['retry_at']}, or at once: {again(ctx, 'trace', 'test')}")
        for failure in row["failures"]:
            click.echo(click.style(plain(f"  unread  {failure['reason']}"), fg="red"))
    click.echo(f"worker {report['worker']}, {count_of(report['spool'], 'event')} waiting")
    for path in report["damaged"]:
        told = "was damaged, and a new state was begun: what is sent again has the same ids; delete it once you have seen this"
        click.echo(plain(f"note: {path} {told}"))
    for destination in config.destinations:
        for note in notes_on(destination):
            click.echo(plain(f"note: {note}"))


def _try(destination: Destination, config: TraceConfig) -> str | None:
    """What is wrong, or None."""
    from stenograph.traces.delivery import deliver
    from stenograph.traces.keys import with_keys
    from stenograph.traces.sending import resource_of
    from stenograph.traces.spans import Span, span_id_of, trace_id_of

    now = time.time_ns()
    span = Span(
        trace_id=trace_id_of(f"test {now}"),
        span_id=span_id_of(f"test {now}"),
        parent_id=b"",
        name="steno trace test",
        start_ns=now,
        end_ns=now,
        attributes={"langfuse.observation.type": "span", "openinference.span.kind": "CHAIN"},
    )
    try:
        deliver([span], with_keys(destination, os.environ), resource_of(config))
    except (ConfigError, DeliveryError) as error:
        return str(error)
    return None
