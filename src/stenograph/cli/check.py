"""`steno check`: drift and damage of files, folders and homes, and what clients would make of a session."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import click

from stenograph.cli import FAILED, FINDINGS
from stenograph.cli._arguments import SessionReference
from stenograph.cli._output import echo_page, json_option, render_options
from stenograph.cli._settings import again, is_folder, shared_options, state_options
from stenograph.errors import UsageError


@click.command(short_help="Check files for drift, damage and what clients would lose of them.")
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=SessionReference())
@click.option("--strict", is_flag=True, help="Exit with 1 where drift or damage is found.")
@click.option("--since", metavar="WHEN", help="Only files changed since then: a date (2026-01-31), or an age (36h, 7d, 2w).")
@click.option("--resume/--no-resume", "resuming", default=None, help="What clients would lose. [default: for a single session]")
@click.option("--baseline", type=click.Path(path_type=Path), metavar="FILE", help="Leave out what this file accepts.")
@click.option("--write-baseline", type=click.Path(path_type=Path), metavar="FILE", help="Accept all that is found, from now on.")
@click.option("--jobs", type=click.IntRange(min=1, max=64), metavar="N", help="Processes. [default: 2 where it pays]")
@json_option
@shared_options
@click.pass_context
def check(
    ctx: click.Context,
    paths: tuple[str, ...],
    strict: bool,
    since: str | None,
    resuming: bool | None,
    baseline: Path | None,
    write_baseline: Path | None,
    jobs: int | None,
    as_json: bool,
) -> None:
    """Check files for drift, damage and what clients would lose of them.

    PATH is a session file, a folder, a home, or a SESSION: an id, a prefix, a title, `last`; without one the homes are checked.
    Drift is what differs from what each release was recorded to write: UNKNOWN_TYPE, NEW_FIELD, TYPE_MISMATCH, MISSING_FIELD.
    Damage is what is broken in lines, trees and families. No value is ever shown: samples have types in their place, and names of
    unknown kinds and fields only where they look like names.
    What clients would lose of a session is told for information; `steno messages SESSION --as-of RELEASE --lost` says why.

    \b
    Example:
      steno check last
      steno check ~/.claude --since 7d --strict
    """
    from stenograph.check import baseline_of, read_baseline, without
    from stenograph.check import check as check_files
    from stenograph.check import write_baseline as write
    from stenograph.cli._arguments import moment_of
    from stenograph.cli._output import progress
    from stenograph.views import check_page, plain, render_check

    accepted = read_baseline(baseline) if baseline else None
    after = moment_of(since, datetime.now(UTC)) if since else None
    places = _places(paths, state_options(ctx).homes)
    with progress("checking") as report_progress:
        report = check_files(places, since=after, jobs=jobs, progress=report_progress, resuming=resuming)
    if write_baseline:
        write(baseline_of(report), write_baseline)
        click.echo(f"{write_baseline} accepts what was found", err=True)
    page = check_page(without(report, accepted) if accepted else report, partial(again, ctx))
    echo_page(page, render_check, render_options(ctx), as_json=as_json)
    if page.note:
        click.echo(f"note: {page.note}", err=True)
    for failure in page.failures:
        click.echo(f"steno: {plain(failure.detail)}", err=True)
    if {failure.path for failure in page.failures} & set(map(str, places)):
        ctx.exit(FAILED)
    if strict and not page.is_clean:
        ctx.exit(FINDINGS)


def _places(paths: tuple[str, ...], homes: list[Path]) -> list[Path]:
    from stenograph.cli.inventory import place_of

    places = [place_of(path, homes) for path in paths] or [home for home in homes if is_folder(home)]
    if not places:
        told = ", ".join(map(str, homes))
        raise UsageError(f"no sessions in {told} (there is no such home); `steno --demo check` checks the demo's")
    return places
