"""`steno trace`: sessions to a receiver of traces."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from stenograph.cli import FAILED
from stenograph.cli._consent import Consent, consent, consent_options
from stenograph.cli._messages import echo_error, echo_note, echo_warning
from stenograph.cli._output import echo_page, json_option, render_options
from stenograph.cli._settings import again, is_file, named_config, refuse_demo, shared_options, state_options
from stenograph.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from stenograph.client_settings import SettingsChange
    from stenograph.config import TraceConfig
    from stenograph.traces import Candidate, TraceState


@click.group(
    short_help="Send turns to Langfuse, Phoenix, MLflow or any OTLP receiver.",
    invoke_without_command=True,
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@shared_options
@click.pass_context
def trace(ctx: click.Context, as_json: bool) -> None:
    """Send turns to Langfuse, Phoenix, MLflow or any OTLP receiver.

    Without a subcommand, shows where the hooks are installed, where traces go and what they contain. To set it up, see
    docs/tracing.md.

    \b
    Examples:
      steno trace install
      steno trace
    """
    if ctx.invoked_subcommand is not None:
        if as_json and ctx.invoked_subcommand != "hook":
            ctx.default_map = {ctx.invoked_subcommand: {"as_json": True}}
        return
    from stenograph.config import load_trace_config, no_destination, trace_config_file
    from stenograph.traces import default_trace_folder, notes_on_all
    from stenograph.views import render_trace, trace_page

    config = load_trace_config(os.environ, named_config(ctx))
    file = trace_config_file(os.environ, named_config(ctx))
    page = trace_page(
        config,
        file if file is not None and is_file(file) else None,
        default_trace_folder(os.environ),
        installed=_with_hooks(state_options(ctx).homes),
        notes=notes_on_all(config, os.environ),
        missing=no_destination(os.environ, named_config(ctx)),
    )
    echo_page(page, render_trace, render_options(ctx), as_json=as_json)


@trace.command(short_help="Add the hooks to Claude Code's settings")
@click.option("--project", is_flag=True, help="Use .claude/settings.json in this directory, which is often shared through git.")
@click.option("--local", is_flag=True, help="Use .claude/settings.local.json in this directory.")
@click.option("--all-events", is_flag=True, help="Include events that make older releases ignore the whole settings file.")
@consent_options
@json_option
@shared_options
@click.pass_context
def install(
    ctx: click.Context, project: bool, local: bool, all_events: bool, applying: bool, dry_run: bool, as_json: bool
) -> None:
    """Add the hooks to Claude Code's settings.

    Shows the change, then asks; without a terminal, only shows it. Nothing else in the file changes; `steno undo` restores it.
    Hooks of an older install are replaced. The next session reports its turns, and a worker sends them.

    Releases before 2.1.78 ignore a settings file that names an event they do not know. StopFailure and PostCompact are
    therefore added only if the installed Claude Code, and the one that wrote the newest session, know them. Install again
    after an update.

    \b
    Examples:
      steno trace install
      steno trace install --local --apply
    """
    from stenograph.client_settings import client_of_unknown_release, events_known_to
    from stenograph.traces import EVENTS, commands_in, hook_command, hooks_for, oldest_release, plan_install, shared_hook_command

    path = _settings_file(ctx, project, local)
    # Whoever shares a project's settings may have an older client.
    release = None if project else oldest_release(_home(ctx), os.environ)
    events = EVENTS if all_events else events_known_to(release, EVENTS)
    command = shared_hook_command() if project else hook_command()
    change = plan_install(path, hooks_for(command, events), os.environ)
    warnings = [*change.warnings]
    if missing := [event for event in EVENTS if event not in events]:
        who = f"Claude Code {release}" if release else "an older release"
        if not project and (program := client_of_unknown_release(os.environ)):
            who = f"the release of {program} is unknown, and an older one"
        warnings.append(f"left out {' and '.join(missing)}: {who} would ignore the whole file; to add them, use --all-events")
    for other in _others(ctx, path):
        # Clients run what stands in two files alike once (seen with 2.0.76, 2.1.45 and 2.1.325).
        if commands_in(other) != {command}:
            warnings.append(f"{other} also has the hooks, so each event would be recorded twice; remove one of them")
    if project and shutil.which("steno") is None:
        warnings.append("steno is not on PATH here; project hooks do nothing without it")
    change = msgspec.structs.replace(change, warnings=tuple(warnings))
    allowed = consent(applying=applying, dry_run=dry_run, as_json=as_json)
    _carry_out(ctx, "install", change, allowed, as_json=as_json, steps=_next_steps(ctx))


@trace.command(short_help="Remove the hooks from Claude Code's settings")
@click.option("--project", is_flag=True, help="Use .claude/settings.json in this directory.")
@click.option("--local", is_flag=True, help="Use .claude/settings.local.json in this directory.")
@consent_options
@json_option
@shared_options
@click.pass_context
def uninstall(ctx: click.Context, project: bool, local: bool, applying: bool, dry_run: bool, as_json: bool) -> None:
    """Remove the hooks from Claude Code's settings.

    If the file has not changed since the install, it is restored byte for byte. Otherwise only the hooks are removed. Shows the
    change, then asks; without a terminal, only shows it.

    \b
    Example:
      steno trace uninstall
    """
    from stenograph.archive import Archive, default_archive_folder
    from stenograph.traces import plan_uninstall

    path = _settings_file(ctx, project, local)
    change = plan_uninstall(path, Archive(default_archive_folder(os.environ)))
    steps = [f"{other} also has hooks; to remove them: {_uninstall(ctx, other)}" for other in _others(ctx, path)]
    allowed = consent(applying=applying, dry_run=dry_run, as_json=as_json)
    _carry_out(ctx, "uninstall", change, allowed, as_json=as_json, steps=steps)


@trace.command(
    short_help="Record a hook event",
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
)
def hook() -> None:
    """Record a hook event.

    Claude Code runs this if the hooks come from Stenograph's plugin for Claude Code or from `steno trace install --project`.
    Other installed hooks run a script that does the same.

    Reads the event from standard input, writes it to the spool and starts a worker if none is running. Always exits with 0 and
    prints nothing.

    \b
    Example:
      steno trace hook < event.json
    """
    from stenograph.traces import main

    main()


def _next_steps(ctx: click.Context) -> list[str]:
    """What is left to do after an install. A config that can't be read is no reason not to install: hooks do no harm."""
    from stenograph.config import EXAMPLE, load_trace_config, trace_config_file

    test = again(ctx, "trace", "test")
    file = trace_config_file(os.environ, named_config(ctx))
    try:
        config = load_trace_config(os.environ, named_config(ctx))
    except ConfigError as error:
        told = f"Nothing is sent yet: {error}"
        if file is None or os.path.lexists(file):
            return [told, f"Fix it, then run: {test}"]
    else:
        if config.is_off:
            return ["Nothing is sent while STENO_TRACE_OFF is set"]
        if config.destinations:
            return [*(f"Note: {note}" for note in config.notes), f"Next: {test}"]
        told = "Nothing is sent yet: no destination is configured"
    where = f"Add to {file}" if file is not None else "Set STENO_TRACE_CONFIG to a file and add"
    return [told, f"{where}, for example:", *(f"  {line}" for line in EXAMPLE.splitlines()), f"Then: {test}"]


def _others(ctx: click.Context, path: Path) -> list[Path]:
    return [place for place in _with_hooks([_home(ctx)]) if os.path.realpath(place) != os.path.realpath(path)]


def _with_hooks(homes: Sequence[Path]) -> list[Path]:
    """The settings files with our hooks."""
    from stenograph.client_settings import settings_files
    from stenograph.traces import is_installed

    return [place for place in settings_files(homes, Path.cwd()) if is_installed(place)]


def _uninstall(ctx: click.Context, path: Path) -> str:
    from stenograph.client_settings import project_settings

    option = dict(zip(project_settings(Path.cwd()), ("--project", "--local"), strict=True)).get(path)
    return again(ctx, "trace", "uninstall", *([option] if option else []))


def _settings_file(ctx: click.Context, project: bool, local: bool) -> Path:
    from stenograph.client_settings import home_settings, project_settings

    settings = state_options(ctx)
    refuse_demo(settings)
    if project and local:
        raise UsageError("--project conflicts with --local")
    if project or local:
        return project_settings(Path.cwd())[local]
    if settings.explicit and len(settings.homes) > 1:
        raise UsageError("use exactly one --home: the hooks go into its settings.json")
    return home_settings(_home(ctx))


def _home(ctx: click.Context) -> Path:
    """Of several usual ones the client reads the first."""
    home = state_options(ctx).homes[0]
    return home.parent if home.name == "projects" else home


def _carry_out(
    ctx: click.Context, action: str, change: SettingsChange, allowed: Consent, *, as_json: bool, steps: list[str]
) -> None:
    from stenograph.archive import Archive, default_archive_folder, make_change
    from stenograph.views import render_settings_change, render_settings_diff, settings_change_page

    page_of = partial(settings_change_page, action, change, steps, partial(again, ctx))
    page = page_of(entry=None, applied=False)
    options = render_options(ctx)
    if not as_json:
        for warning in page.warnings:
            echo_warning(warning)
        echo_page(page, render_settings_diff, options, as_json=False)
    is_allowed = page.changed and (allowed.is_given or allowed.ask())
    if page.changed and not is_allowed and not as_json:
        if not allowed.may_ask:
            echo_note("nothing was written", hint="" if allowed.is_dry_run else "add --apply")
        return
    if is_allowed:
        entry = make_change(change, Archive(default_archive_folder(os.environ)))
        page = page_of(entry=entry, applied=True)
    echo_page(page, render_settings_change, options, as_json=as_json)


_to = click.option("--destination", "names", multiple=True, metavar="NAME", help="Send only to this destination. Repeatable.")


@trace.command(short_help="Send past sessions")
@click.option("--since", metavar="TIME", help="Only sessions changed since TIME: a date (2026-01-31) or an age (7d).")
@click.option("--until", metavar="TIME", help="Only sessions last changed before TIME.")
@click.option(
    "--project", default="", metavar="TEXT", help="Only projects whose encoded directory name (-home-me-my-app) contains this."
)
@click.option("--session", "sessions", multiple=True, metavar="SESSION", help="Only this session. Repeatable.")
@click.option("--dry-run", is_flag=True, help="Show what would be sent, and send nothing.")
@_to
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
    """Send past sessions.

    You can stop and restart a backfill: turns already delivered are skipped, and so are copies of a turn in forks and clones.
    Unfinished turns are left for the hooks to report.

    \b
    Examples:
      steno trace backfill --since 30d --dry-run
      steno trace backfill --project my-app
    """
    from stenograph.cli._arguments import moment_of
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
    _send_behind(ctx, lambda _, __: found, names, as_json=as_json, dry_run=dry_run)


@trace.command(short_help="Send turns that hooks did not report or receivers did not accept")
@click.option("--since", metavar="TIME", help="Only sessions changed since TIME: a date (2026-01-31) or an age (7d).")
@_to
@json_option
@shared_options
@click.pass_context
def sweep(ctx: click.Context, since: str | None, names: tuple[str, ...], as_json: bool) -> None:
    """Send turns that hooks did not report or receivers did not accept.

    Sends turns that were interrupted, lost in a crash or not accepted by a receiver. Checks sessions that changed after the hooks
    recorded their first event or in the hour before it, sessions with turns that a receiver did not accept, and sessions that
    were sent only in part. Fast if there is nothing to send, so you can run it from a timer.

    \b
    Example:
      steno trace sweep
    """
    from stenograph.cli._arguments import moment_of
    from stenograph.traces import Filters, find_sessions, followed_sessions

    settings = state_options(ctx)
    if since:
        newer = find_sessions(settings.homes, Filters(since=moment_of(since, datetime.now(UTC))))
        _send_behind(ctx, lambda _, __: newer, names, as_json=as_json)
        return
    found = find_sessions(settings.homes)

    def followed(name: str, state: TraceState) -> list[Candidate]:
        chosen = followed_sessions(found, name, state, elsewhere=not settings.explicit)
        if not chosen and state.first_event() is None:
            raise UsageError("no hook event recorded yet", hint=f"send older sessions: {again(ctx, 'trace', 'backfill')}")
        return chosen

    _send_behind(ctx, followed, names, as_json=as_json)


@trace.command(short_help="Show what was sent, what is pending and what failed")
@json_option
@shared_options
@click.pass_context
def status(ctx: click.Context, as_json: bool) -> None:
    """Show what was sent, what is pending and what failed.

    Pending sessions have turns that a destination has not acknowledged, including unfinished ones. Sessions that
    last changed more than an hour before the hooks recorded their first event are not counted, unless they were sent in part.

    \b
    Example:
      steno trace status
    """
    from stenograph.traces import default_trace_folder
    from stenograph.views import render_trace_status, trace_status_page

    settings = state_options(ctx)
    folder = default_trace_folder(os.environ)
    page = trace_status_page(
        _working_config(), folder, settings.homes, elsewhere=not settings.explicit, installed=_with_hooks(settings.homes)
    )
    echo_page(page, render_trace_status, render_options(ctx), as_json=as_json)


@trace.command(short_help="Send a test span to each destination")
@_to
@json_option
@shared_options
@click.pass_context
def test(ctx: click.Context, names: tuple[str, ...], as_json: bool) -> None:
    """Send a test span to each destination.

    The span contains nothing from a session. If it is accepted, earlier failures are forgotten and pending turns are sent at
    once.

    \b
    Example:
      steno trace test
    """
    from stenograph.traces import default_trace_folder, probe, select_destinations, send_due
    from stenograph.views import render_trace_test, trace_test_page

    config = _working_config()
    folder = default_trace_folder(os.environ)
    page = trace_test_page(probe(select_destinations(config, names), config, folder, os.environ))
    echo_page(page, render_trace_test, render_options(ctx), as_json=as_json)
    if any(row.accepted for row in page.destinations):
        send_due(config, folder)
    if not all(row.accepted for row in page.destinations):
        ctx.exit(FAILED)


def _working_config() -> TraceConfig:
    from stenograph.config import load_trace_config, no_destination

    named = named_config(click.get_current_context())
    config = load_trace_config(os.environ, named)
    if config.is_off:
        raise UsageError("tracing is disabled (STENO_TRACE_OFF is set)")
    if not config.destinations:
        raise UsageError(no_destination(os.environ, named))
    return config


def _send_behind(
    ctx: click.Context,
    candidates_for: Callable[[str, TraceState], list[Candidate]],
    names: tuple[str, ...],
    *,
    as_json: bool,
    dry_run: bool = False,
) -> None:
    from stenograph.cli._output import progress, waiting
    from stenograph.traces import backfill, default_trace_folder, select_destinations
    from stenograph.views import backfill_page, plain, render_backfill

    config = _working_config()
    done = backfill(
        candidates_for,
        select_destinations(config, names),
        config,
        default_trace_folder(os.environ),
        dry_run=dry_run,
        waiting=lambda: waiting("another tracing worker"),
        progress=lambda name: progress(f"Sending to {name}"),
    )
    page = backfill_page(done)
    echo_page(page, render_backfill, render_options(ctx), as_json=as_json)
    for row in page.destinations if not as_json else ():
        for failure in row.failures:
            click.echo(plain(f"  {failure.detail}"), err=True)
        if row.error:
            echo_error(row.error, why="delivered turns are kept; the rest is retried next time")
    if any(row.error or row.failures for row in page.destinations):
        ctx.exit(FAILED)
