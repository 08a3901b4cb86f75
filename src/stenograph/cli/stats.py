"""`steno stats` and `steno waste`: what happened in sessions, and what was paid for nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from stenograph.cli import NOTHING_MATCHED
from stenograph.cli._arguments import named_session
from stenograph.cli._messages import echo_note
from stenograph.cli._output import (
    echo_json,
    echo_lines,
    json_option,
    make_mask,
    pager_option,
    progress,
    render_options,
    reveal_option,
)
from stenograph.cli._settings import shared_options, state_options
from stenograph.cli._usage import moments, parse_zone, synced_usage
from stenograph.errors import in_quotes

if TYPE_CHECKING:
    from datetime import tzinfo

    from stenograph.analysis import KnownSession

F = TypeVar("F", bound=Callable[..., Any])


def _scope_options(command: F) -> F:
    for option in (
        click.option("--tz", "zone_name", metavar="ZONE", help="Time zone of dates, such as Europe/Berlin. [default: system]"),
        click.option("--until", metavar="TIME", help="Only sessions with a call before TIME."),
        click.option("--since", metavar="TIME", help="Only sessions with a call since TIME: a date (2026-01-31) or an age (7d)."),
    ):
        command = option(command)
    return command


@click.command(short_help="Show activity, errors, waits and what filled the context.")
@click.argument("session", required=False, metavar="[SESSION]")
@_scope_options
@click.option(
    "--list",
    "wanted",
    metavar="FIGURE",
    help="List the turns behind a figure: rebuilt, rewound, failed:Bash, … All figures: docs/usage.md.",
)
@pager_option
@reveal_option
@json_option
@shared_options
@click.pass_context
def stats(
    ctx: click.Context,
    session: str | None,
    since: str | None,
    until: str | None,
    zone_name: str | None,
    wanted: str | None,
    pager: bool,
    reveal: bool,
    as_json: bool,
) -> None:
    """Show activity, errors, waits and what filled the context.

    Covers one session or all of them. What filled the context is computed from the growth of the prompt between calls; growth
    that cannot be attributed is shown as unknown. A turn that a fork copied counts once. Results are cached in the index.

    \b
    Examples:
      steno stats --since 30d
      steno stats last
      steno stats --list failed:Bash
    """
    from stenograph.analysis import stats_of
    from stenograph.views import list_turns, render_stats, stats_page

    zone = parse_zone(zone_name)
    found = _known(ctx, session, since, until, zone)
    page = stats_page(stats_of(found, zone=zone), make_mask(reveal)[0])
    options = render_options(ctx)
    turns = list(list_turns(page, wanted, options)) if wanted else []
    if as_json:
        echo_json(page)
    else:
        echo_lines(turns if wanted else render_stats(page, options), pager=pager)
    if not found or (wanted and not turns and not as_json):
        echo_note(_nothing_listed(wanted) if found and wanted else "no calls found")
        ctx.exit(NOTHING_MATCHED)


def _nothing_listed(wanted: str) -> str:
    kind, _, tool = wanted.partition(":")
    if kind == "failed":
        return f"no call of the tool {in_quotes(tool)} failed" if tool else "no tool call failed"
    return f"no turns behind {in_quotes(kind)}"


@click.command(short_help="Find avoidable cost.")
@click.argument("finding", required=False, type=click.IntRange(min=1), metavar="[N]")
@click.option("--session", metavar="SESSION", help="Only this session.")
@_scope_options
@pager_option
@reveal_option
@json_option
@shared_options
@click.pass_context
def waste(
    ctx: click.Context,
    finding: int | None,
    session: str | None,
    since: str | None,
    until: str | None,
    zone_name: str | None,
    pager: bool,
    reveal: bool,
    as_json: bool,
) -> None:
    """Find avoidable cost.

    Lists what could have been avoided, most expensive first, and the edit, setting or habit that avoids it. The
    total cost is what `steno usage` shows for the same sessions; the amounts of the findings are estimates. With a number, lists
    the turns behind that finding.

    \b
    Examples:
      steno waste --since 30d
      steno waste 2
    """
    from stenograph.analysis import find_waste
    from stenograph.views import list_waste, render_waste, waste_page

    found = _known(ctx, session, since, until, parse_zone(zone_name))
    page = waste_page(find_waste(found), found, make_mask(reveal)[0])
    options = render_options(ctx)
    if as_json:
        echo_json(page)
    else:
        given = {"--session": session, "--since": since, "--until": until, "--tz": zone_name}
        scope = [word for name, value in given.items() if value for word in (name, value)]
        echo_lines(list_waste(page, finding, options) if finding else render_waste(page, options, scope), pager=pager)


def _known(
    ctx: click.Context, session: str | None, since: str | None, until: str | None, zone: tzinfo | None
) -> list[KnownSession]:
    from stenograph.analysis import known_sessions
    from stenograph.pricing import Tariff

    settings = state_options(ctx)
    only = named_session(ctx, session).path if session else None
    start, stop = moments(since, until, zone)
    store, _ = synced_usage(ctx)
    with progress("Reading sessions") as show:
        return known_sessions(store, settings.homes, Tariff(), since=start, until=stop, only=only, progress=show)
