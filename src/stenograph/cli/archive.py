"""`steno archive`: the library's `keep_sessions`, `expiring_sessions` and `open_kept`."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stenograph.cli import NOTHING_MATCHED
from stenograph.cli._arguments import SessionReference, age_before, named_session
from stenograph.cli._consent import consent_options, may_apply
from stenograph.cli._output import echo_page, echo_unreadable, json_option, make_mask, progress, render_options, reveal_option
from stenograph.cli._settings import Settings, again, refuse_demo, shared_options, state_options
from stenograph.errors import UsageError

if TYPE_CHECKING:
    from stenograph.archive import Archive, KeptSession, KeptTotals
    from stenograph.views import ArchiveInstallPage


@click.group(short_help="Keep sessions that Claude Code would delete.", invoke_without_command=True)
@click.option(
    "--expiring",
    metavar="[AGE]",
    is_flag=False,
    flag_value="7d",
    help="List the sessions that Claude Code will delete within AGE (7d if omitted).",
)
@reveal_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema: docs/json.md).")
@shared_options
@click.pass_context
def archive(ctx: click.Context, expiring: str | None, reveal: bool, as_json: bool) -> None:
    """Keep sessions that Claude Code would delete.

    Claude Code deletes sessions that have not changed for 30 days (`cleanupPeriodDays` in its settings). The archive keeps them
    whole, with subagents, outputs stored in separate files, and file history, compressed and readable only by you.
    `steno restore` brings them back byte for byte.

    Without a subcommand, shows what is kept and how long Claude Code keeps sessions. If
    `archive.keep` is true in the config file, commands that search or add up all sessions, such as `steno search`, also keep
    them. To
    keep them even if you do not use steno, run `steno archive install`.

    \b
    Examples:
      steno archive
      steno archive --expiring 3d
      steno archive keep
    """
    if ctx.invoked_subcommand is not None:
        if expiring is not None:
            raise UsageError(f"--expiring conflicts with {ctx.invoked_subcommand}")
        if as_json:
            ctx.default_map = {ctx.invoked_subcommand: {"as_json": True}}
        return
    settings = state_options(ctx)
    if expiring is not None:
        _list_expiring(ctx, settings, expiring, reveal=reveal, as_json=as_json)
        return
    from stenograph.archive import SOON, Archive, default_archive_folder, expiring_sessions, overdue, retention_of, unkept
    from stenograph.views import archive_page, render_archive

    folder = default_archive_folder(os.environ)
    kept, totals = _kept(folder)
    edits = Archive(folder)
    homes = [] if settings.demo else settings.homes  # Claude Code never reads the demo
    soon = unkept(expiring_sessions(folder, homes))
    page = archive_page(
        folder,
        totals,
        sum(each.has_own_file and not each.path.exists() for each in kept),
        (sum(1 for _ in edits.entries()), *edits.originals()),
        automatic=settings.config.archive.keep,
        installed=_installed(settings),
        retention=[retention_of(home) for home in homes],
        expiring=len(soon),
        overdue=len(overdue(soon)),
        within=SOON,
    )
    echo_page(page, render_archive, render_options(ctx), as_json=as_json)


def _kept(folder: Path) -> tuple[list[KeptSession], KeptTotals | None]:
    from stenograph.archive import open_kept

    store = open_kept(folder)
    if store is None:
        return [], None
    try:
        return store.sessions(), store.totals()
    finally:
        store.close()


def _list_expiring(ctx: click.Context, settings: Settings, age: str, *, reveal: bool, as_json: bool) -> None:
    from stenograph.archive import default_archive_folder, expiring_sessions
    from stenograph.sessions import describe
    from stenograph.views import expiring_page, mask_page, render_expiring

    now = datetime.now(UTC)
    within = timedelta(seconds=now.timestamp() - age_before(age, now))
    found = expiring_sessions(default_archive_folder(os.environ), settings.homes, within=within, now=now)
    page = expiring_page([(each, describe(each.file)) for each in found], now + within, partial(again, ctx))
    echo_page(mask_page(page, make_mask(reveal)[0]), render_expiring, render_options(ctx), as_json=as_json)
    if not page.sessions:
        ctx.exit(NOTHING_MATCHED)


def _installed(settings: Settings) -> list[Path]:
    from stenograph.archive import has_keep_hook, plan_timer
    from stenograph.client_settings import home_settings

    places = [path for path in map(home_settings, settings.homes) if has_keep_hook(path)]
    try:
        timer = plan_timer(os.environ)
    except UsageError:
        return places
    return [*places, *(path for path in timer.units if path.suffix == ".timer" and path.is_file())]


@archive.command(short_help="Keep sessions now")
@click.argument("sessions", nargs=-1, metavar="[SESSION]...", type=SessionReference())
@click.option("--quiet", is_flag=True, help="Print nothing. For hooks and timers.")
@json_option
@shared_options
@click.pass_context
def keep(ctx: click.Context, sessions: tuple[str, ...], quiet: bool, as_json: bool) -> None:
    """Keep sessions now.

    Copies the given sessions, or all of them, to the archive. Unchanged files are skipped, and files that have grown are read
    only from the first new line. The sessions themselves do not change.

    \b
    Examples:
      steno archive keep
      steno archive keep 3f2a
    """
    from stenograph.archive import default_archive_folder, keep_sessions
    from stenograph.views import keep_page, render_keep

    settings = state_options(ctx)
    refuse_demo(settings)
    only = {named_session(ctx, each).path for each in sessions} if sessions else None
    folder = default_archive_folder(os.environ)
    with progress("Archiving") as report:
        done = keep_sessions(folder, settings.homes, only=only, progress=None if quiet else report)
    if quiet:
        return
    page = keep_page(done, _kept(folder)[1], folder)
    echo_page(page, render_keep, render_options(ctx), as_json=as_json)
    echo_unreadable(page.findings)


def _timer(text: str) -> Callable[[click.decorators.FC], click.decorators.FC]:
    return click.option("--timer", "is_timer", is_flag=True, help=text)


@archive.command(short_help="Keep sessions automatically, in the background")
@_timer("Use a daily systemd user timer instead of hooks.")
@consent_options
@json_option
@shared_options
@click.pass_context
def install(ctx: click.Context, is_timer: bool, applying: bool, dry_run: bool, as_json: bool) -> None:
    """Keep sessions automatically, in the background.

    Adds hooks to Claude Code's settings that run `steno archive keep` in the background when a session starts or ends and after
    each turn. Claude Code does not wait for them. Nothing else in the file changes; `steno undo` restores it. With --timer, a
    systemd timer runs the command once a day instead. Shows the change and asks.

    \b
    Examples:
      steno archive install
      steno archive install --timer --apply
    """
    _change(ctx, "install", is_timer=is_timer, applying=applying, dry_run=dry_run, as_json=as_json)


@archive.command(short_help="Stop keeping sessions automatically")
@_timer("Remove the systemd timer instead of the hooks.")
@consent_options
@json_option
@shared_options
@click.pass_context
def uninstall(ctx: click.Context, is_timer: bool, applying: bool, dry_run: bool, as_json: bool) -> None:
    """Stop keeping sessions automatically.

    Removes the hooks from Claude Code's settings, or with --timer the systemd timer. Kept sessions stay in the archive. Shows
    the change and asks.

    \b
    Example:
      steno archive uninstall
    """
    _change(ctx, "uninstall", is_timer=is_timer, applying=applying, dry_run=dry_run, as_json=as_json)


def _change(ctx: click.Context, action: str, *, is_timer: bool, applying: bool, dry_run: bool, as_json: bool) -> None:
    from stenograph.archive import Archive, default_archive_folder
    from stenograph.cli._messages import echo_warning
    from stenograph.views import render_archive_install

    settings = state_options(ctx)
    refuse_demo(settings)
    kept = Archive(default_archive_folder(os.environ))
    change = _TimerChange(ctx, settings, action) if is_timer else _HookChange(ctx, settings, action, kept)
    page = change.page(applied=False)
    options = render_options(ctx)
    for warning in page.warnings:
        echo_warning(warning)
    if not as_json and not (applying and page.changed):
        echo_page(page, render_archive_install, options, as_json=False)
    if page.changed and may_apply(applying=applying, dry_run=dry_run, as_json=as_json, apply=page.apply):
        change.carry_out()
        page = change.page(applied=True)
        if not as_json:
            echo_page(page, render_archive_install, options, as_json=False)
    if as_json:
        echo_page(page, render_archive_install, options, as_json=True)


class _HookChange:
    def __init__(self, ctx: click.Context, settings: Settings, action: str, kept: Archive) -> None:
        from stenograph.archive import plan_keep_hook, plan_keep_hook_removal
        from stenograph.client_settings import home_settings

        if settings.explicit and len(settings.homes) > 1:
            raise UsageError("the hooks go into one settings.json", hint="use exactly one --home")
        path = home_settings(settings.homes[0])
        named = settings.homes[:1] if settings.explicit else []
        self._plan = plan_keep_hook(path, named) if action == "install" else plan_keep_hook_removal(path, kept)
        self._ctx, self._action, self._archive = ctx, action, kept
        self._entry: int | None = None

    def carry_out(self) -> None:
        from stenograph.archive import make_change

        entry = make_change(self._plan, self._archive)
        self._entry = entry.number if entry else None

    def page(self, *, applied: bool) -> ArchiveInstallPage:
        from stenograph.views import hook_page

        return hook_page(self._action, self._plan, partial(again, self._ctx), entry=self._entry, applied=applied)


class _TimerChange:
    def __init__(self, ctx: click.Context, settings: Settings, action: str) -> None:
        from stenograph.archive import plan_timer

        self._timer = plan_timer(os.environ, settings.homes if settings.explicit else ())
        self._ctx, self._action = ctx, action

    def carry_out(self) -> None:
        from stenograph.archive import install_timer, uninstall_timer

        (install_timer if self._action == "install" else uninstall_timer)(self._timer, os.environ)

    def page(self, *, applied: bool) -> ArchiveInstallPage:
        from stenograph.views import timer_page

        return timer_page(self._action, self._timer, partial(again, self._ctx), applied=applied)
