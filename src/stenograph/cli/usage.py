"""`steno usage`: tokens and cost, each call counted once."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from stenograph.cli import NOTHING_MATCHED
from stenograph.cli._messages import echo_note, echo_warning
from stenograph.cli._output import (
    echo_json,
    echo_lines,
    echo_page,
    json_option,
    make_mask,
    pager_option,
    render_options,
)
from stenograph.cli._settings import GivenPath, shared_options, state_options
from stenograph.cli._usage import moments, parse_zone, synced_usage
from stenograph.errors import UsageError

if TYPE_CHECKING:
    from datetime import tzinfo

    from stenograph.analysis import Reconciled, UsageTable
    from stenograph.cli._settings import Settings
    from stenograph.index import IndexStore, UsageSync
    from stenograph.pricing import Tariff

_BY = ("day", "week", "month", "model", "project", "session", "agent", "tool", "branch", "block")
OVER_BUDGET = 1
_MICRO = 1_000_000
#: Options that another one would leave without effect.
_CONFLICTS = {
    "--reconcile": ("--csv", "--statusline", "--by", "--breakdown", "--fail-above"),
    "--statusline": ("--by", "--since", "--until", "--breakdown", "--fail-above"),
}


@click.command(short_help="Show tokens and cost by day, model, project and more.")
@click.option("--by", type=click.Choice(_BY), default="day", show_default=True, help="What to group by. A block is five hours.")
@click.option("--since", metavar="TIME", help="Only calls since TIME: a date (2026-01-31) or an age (36h, 7d, 2w).")
@click.option("--until", metavar="TIME", help="Only calls before TIME.")
@click.option("--tz", "zone_name", metavar="ZONE", help="Time zone of days and dates, such as Europe/Berlin. [default: system]")
@click.option("--breakdown", is_flag=True, help="Split each row by model.")
@click.option(
    "--prices",
    "prices_file",
    type=GivenPath(path_type=Path),
    metavar="FILE",
    help="Prefer the prices in this TOML file to the built-in ones.",
)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@click.option("--fail-above", metavar="AMOUNT", type=float, help="Exit with 1 if the total exceeds this many USD.")
@click.option("--reconcile", "wants_reconciliation", is_flag=True, help="Compare each session with Claude Code's own figure.")
@click.option("--statusline", is_flag=True, help="Print a status line for Claude Code, which passes its state on stdin.")
@pager_option
@json_option
@shared_options
@click.pass_context
def usage(
    ctx: click.Context,
    by: str,
    since: str | None,
    until: str | None,
    zone_name: str | None,
    breakdown: bool,
    prices_file: Path | None,
    as_csv: bool,
    fail_above: float | None,
    wants_reconciliation: bool,
    statusline: bool,
    pager: bool,
    as_json: bool,
) -> None:
    """Show tokens and cost by day, model, project and more.

    Every model call counts once, even if a resume, fork or clone copied it. Subagents are included. Prices are Claude Code's
    own. A cost with ~ is partly estimated: old releases did not record all output. Models without a price are listed, and their
    cost is not guessed. See docs/usage.md.

    \b
    Examples:
      steno usage --since 7d
      steno usage --by model --since 2026-11-01 --csv
      steno usage --since 24h --fail-above 20
      steno usage --reconcile
    """
    from stenograph.pricing import Tariff, read_prices_file

    _check_options(ctx)
    settings = state_options(ctx)
    zone = parse_zone(zone_name)
    tariff = Tariff(read_prices_file(prices_file) if prices_file else None)
    if statusline:
        _print_status(settings, tariff, zone)
        return
    start, stop = moments(since, until, zone)
    store, report = synced_usage(ctx)
    if wants_reconciliation:
        _reconcile(ctx, store, report, settings, tariff, (start, stop), as_json=as_json)
        return
    from stenograph.analysis import UsageBy, UsageScope, unlisted_sessions, usage_table
    from stenograph.views import usage_page

    homes = tuple(settings.homes)
    scope = UsageScope(homes, start, stop)
    table = usage_table(store, scope, tariff, by=UsageBy(by), zone=zone)
    page = usage_page(
        table,
        report,
        timezone=zone_name or _system_zone(),
        prices=tariff.source,
        since=start,
        until=stop,
        titles=_titles(store, table),
        reconciled=None if as_json or as_csv else _compared(store, homes, tariff, start, stop),
        unlisted=None if as_csv else unlisted_sessions(store, scope),
        mask=make_mask(False)[0] if by in ("session", "project", "branch", "tool", "agent") else make_mask(True)[0],
    )
    if as_json:
        echo_json(page)
    elif as_csv:
        from stenograph.views import usage_csv

        echo_lines(usage_csv(page, breakdown=breakdown), pager=False)
    else:
        from stenograph.views import render_usage

        echo_lines(render_usage(page, render_options(ctx), breakdown=breakdown, zone=zone), pager=pager)
    for finding in page.findings:
        if finding.code.startswith(("unreadable", "unwritable")):
            echo_warning(finding.detail)
    if fail_above is not None and page.total.cost_micro_usd > (limit := round(fail_above * _MICRO)):
        echo_warning(_budget_words(page.total.cost_micro_usd, limit))
        ctx.exit(OVER_BUDGET)
    if not page.rows and fail_above is None:
        echo_note("no calls found")
        ctx.exit(NOTHING_MATCHED)


def _check_options(ctx: click.Context) -> None:
    """Raises UsageError for options that do not go together, or would be ignored."""
    options = {param.name: param.opts[0] for param in ctx.command.params}
    given = {option for name, option in options.items() if name and _is_given(ctx, name)}
    if len(given & {"--csv", "--json", "--statusline"}) > 1:
        raise UsageError("use only one of --json, --csv and --statusline")
    for option, others in _CONFLICTS.items():
        if option in given and (ignored := [other for other in others if other in given]):
            raise UsageError(f"{option} conflicts with {' and '.join(ignored)}")
    limit = ctx.params["fail_above"]
    if limit is not None and not 0 <= limit < float("inf"):
        raise UsageError("--fail-above must be a positive number, or 0")


def _is_given(ctx: click.Context, name: str) -> bool:
    return ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE


def _budget_words(spent: int, limit: int) -> str:
    """Two amounts in microdollars, with all digits of the limit and as many as tell them apart."""
    digits = next(digits for digits in range(2, 7) if not limit % 10 ** (6 - digits))
    while digits < 6 and round(spent, digits - 6) == limit:
        digits += 1
    return f"${spent / _MICRO:,.{digits}f} is more than ${limit / _MICRO:,.{digits}f}"


def _compared(
    store: IndexStore, homes: tuple[Path, ...], tariff: Tariff, since: float | None, until: float | None
) -> list[Reconciled]:
    from stenograph.analysis import reconcile_sessions

    return reconcile_sessions(store, homes, tariff, since=since, until=until, explain=False)


def _reconcile(
    ctx: click.Context,
    store: IndexStore,
    report: UsageSync,
    settings: Settings,
    tariff: Tariff,
    between: tuple[float | None, float | None],
    *,
    as_json: bool,
) -> None:
    from stenograph.analysis import reconcile_sessions
    from stenograph.views import reconciliation_page, render_reconciliation

    since, until = between
    found = reconcile_sessions(store, tuple(settings.homes), tariff, since=since, until=until)
    page = reconciliation_page(found, stale=report.pending > 0, mask=make_mask(False)[0])
    echo_page(page, render_reconciliation, render_options(ctx), as_json=as_json)


def _print_status(settings: Settings, tariff: Tariff, zone: tzinfo | None) -> None:
    from stenograph.analysis import read_status_input, status_now
    from stenograph.index import open_store, store_path
    from stenograph.views import status_line

    given = read_status_input(sys.stdin.buffer.read())
    store = open_store(store_path(os.environ))
    click.echo(status_line(status_now(store, given, tuple(settings.homes), tariff, zone=zone)))


def _titles(store: IndexStore, table: UsageTable) -> dict[Path, str | None]:
    """What lists call the sessions of a table."""
    paths = [row.path for row in table.rows if row.path]
    if not paths:
        return {}
    from stenograph.errors import StenographError
    from stenograph.sessions import describe, session_at

    known = {Path(os.fsdecode(path)): title for path, title in store.connection.execute("SELECT path, title FROM sessions")}
    for path in paths:
        if path not in known:
            try:
                known[path] = describe(session_at(path), written=set()).title
            except StenographError:
                known[path] = None
    return known


def _is_zone(name: str) -> bool:
    try:
        parse_zone(name)
    except UsageError:
        return False
    return True


def _system_zone() -> str:
    """The system's time zone, by its name where it says so, else by its abbreviation."""
    import time

    if named := os.environ.get("TZ", "").lstrip(":"):
        # A name that the system does not know means UTC to it, whatever it is.
        return named if _is_zone(named) or time.timezone or time.daylight else "UTC"
    try:
        target = os.readlink("/etc/localtime")  # noqa: PTH115 - text in, text out
    except OSError:
        target = ""
    return target.partition("zoneinfo/")[2] or time.tzname[0]
