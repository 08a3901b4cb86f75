"""`steno check`: drift and damage of files, directories and homes, and what clients would make of a session."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stenograph.cli import FAILED, FINDINGS
from stenograph.cli._arguments import SessionReference, any_project_option
from stenograph.cli._messages import echo_error, echo_note, echo_warning
from stenograph.cli._output import echo_page, json_option, render_options
from stenograph.cli._settings import again, is_folder, shared_options, state_options
from stenograph.errors import StenographError, UsageError

if TYPE_CHECKING:
    from stenograph.views import CheckPage


@click.command(short_help="Check sessions for damage, drift and losses on resume.")
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=SessionReference())
@any_project_option
@click.option("--strict", is_flag=True, help="Exit with 1 if there is drift or damage.")
@click.option("--since", metavar="TIME", help="Check only files changed since TIME: a date (2026-01-31) or an age (36h, 7d, 2w).")
@click.option(
    "--resume/--no-resume",
    "resuming",
    default=None,
    help="Show what clients would lose on resume. [default: for a single session]",
)
@click.option("--baseline", type=click.Path(path_type=Path), metavar="FILE", help="Ignore findings listed in this baseline.")
@click.option("--write-baseline", type=click.Path(path_type=Path), metavar="FILE", help="Write all findings to this baseline.")
@click.option("--explain", is_flag=True, help="Explain each finding, and list every file.")
@click.option(
    "--jobs", type=click.IntRange(min=1, max=64), metavar="N", help="Number of processes. [default: 2 for large checks]"
)
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
    explain: bool,
    jobs: int | None,
    as_json: bool,
) -> None:
    """Check sessions for damage, drift and losses on resume.

    PATH is a session file, a directory, a Claude config directory, or a SESSION. Without PATH, checks all sessions.

    Damage is broken lines, links or files. Drift is a difference from the recorded format of a release: UNKNOWN_TYPE,
    NEW_FIELD, TYPE_MISMATCH or MISSING_FIELD. Losses are what a client would not send on resume; `steno messages SESSION
    --lost` says why. Piped output and JSON contain nothing that was said in a
    session. In a terminal, titles are shown too.

    \b
    Examples:
      steno check last
      steno check ~/.claude --since 7d --strict
    """
    from stenograph.check import baseline_of, read_baseline, without
    from stenograph.check import check as check_files
    from stenograph.check import write_baseline as write
    from stenograph.cli._arguments import moment_of
    from stenograph.cli._output import progress
    from stenograph.views import check_page, render_check

    accepted = read_baseline(baseline) if baseline else None
    after = moment_of(since, datetime.now(UTC)) if since else None
    places = _places(ctx, paths)
    with progress("Checking") as report_progress:
        report = check_files(places, since=after, jobs=jobs, progress=report_progress, resuming=resuming)
    if write_baseline:
        write(baseline_of(report), write_baseline)
        click.echo(f"wrote all findings to {write_baseline}", err=True)
    page = check_page(without(report, accepted) if accepted else report, partial(again, ctx))
    options = render_options(ctx)
    titles = {} if as_json or options.width is None else _titles(page)
    echo_page(page, partial(render_check, explain=explain, titles=titles), options, as_json=as_json)
    if page.note:
        echo_note(page.note)
    is_failed = bool({failure.path for failure in page.failures} & set(map(str, places)))
    for failure in page.failures:
        (echo_error if is_failed else echo_warning)(failure.detail)
    if is_failed:
        ctx.exit(FAILED)
    if strict and not page.is_clean:
        ctx.exit(FINDINGS)


def _titles(page: CheckPage) -> dict[str, str]:
    """Of the sessions with findings, secrets masked. Files of subagents have none."""
    from stenograph.cli._output import make_mask
    from stenograph.family import is_session_id
    from stenograph.sessions import glance, title_of

    mask, _ = make_mask(reveal=False)
    damaged = {place.path for each in page.damage for place in each.places}
    losing = {each.path for each in page.resume if not each.whole}
    titles = {}
    for path in map(Path, damaged | losing):
        with contextlib.suppress(StenographError):
            if is_session_id(path.stem) and (title := title_of(glance(path))):
                titles[str(path)] = mask(title)
    return titles


def _places(ctx: click.Context, paths: tuple[str, ...]) -> list[Path]:
    from stenograph.cli.inventory import place_of

    homes = state_options(ctx).homes
    places = [place_of(ctx, path) for path in paths] or [home for home in homes if is_folder(home)]
    if not places:
        told = ", ".join(map(str, homes))
        raise UsageError(f"no sessions in {told} (directory does not exist)", hint="steno --demo check")
    return places
