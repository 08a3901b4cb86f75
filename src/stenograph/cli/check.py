"""`steno check`: drift and damage of files, folders and homes, and what clients would make of a session."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stenograph.cli import FAILED, NOTHING_MATCHED
from stenograph.cli._session import SessionReference
from stenograph.cli._settings import is_folder, shared_options, state_options
from stenograph.errors import DiskError, UsageError

if TYPE_CHECKING:
    from stenograph.check import DamageFinding, DriftFinding, Report
    from stenograph.check.resumability import Resumability

_AGE = re.compile(r"(\d{1,6})([hdw])")
_HOURS = {"h": 1, "d": 24, "w": 168}
#: Of one code; --json has them all.
_MOST_ROWS = 30


@click.command(short_help="Check files for drift, damage and what clients would lose of them.")
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=SessionReference())
@click.option("--strict", is_flag=True, help="Exit with 1 where drift or damage is found.")
@click.option("--since", metavar="WHEN", help="Only files changed since then: a date (2026-01-31), or an age (36h, 7d, 2w).")
@click.option("--resume/--no-resume", "resuming", default=None, help="What clients would lose. [default: for a single session]")
@click.option("--baseline", type=click.Path(path_type=Path), metavar="FILE", help="Leave out what this file accepts.")
@click.option("--write-baseline", type=click.Path(path_type=Path), metavar="FILE", help="Accept all that is found, from now on.")
@click.option("--jobs", type=click.IntRange(min=1, max=64), metavar="N", help="Processes. [default: 2 where it pays]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
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

    --json prints {"files", "lines", "size", "recorded": [releases], "drift": [{"code", "shape", "field", "met", "known_types",
    "count", "releases", "path", "line", "known_in", "sample"}], "damage": [{"code", "meaning", "count", "files", "path",
    "line"}], "resume": [{"path", "release", "whole", "refused", "said", "lost"}], "failures": [{"path", "detail"}]}.

    \b
    Example:
      steno check last
      steno check ~/.claude --since 7d --strict
    """
    from stenograph.check import baseline_of, read_baseline, without
    from stenograph.check import check as check_files
    from stenograph.check import write_baseline as write
    from stenograph.cli._progress import progress
    from stenograph.cli._text import echo_json, plain
    from stenograph.cli.inventory import place_of
    from stenograph.disk import Finding

    settings = state_options(ctx)
    accepted = read_baseline(baseline) if baseline else None
    after = moment_of(since, datetime.now(UTC)) if since else None
    places = [place_of(path, settings.homes) for path in paths] or [home for home in settings.homes if is_folder(home)]
    if not places:
        homes = ", ".join(map(str, settings.homes))
        raise UsageError(f"no sessions in {homes} (there is no such home); `steno --demo check` checks the demo's")
    with progress("checking") as report_progress:
        report = check_files(places, since=after, jobs=jobs, progress=report_progress)
    if write_baseline:
        write(baseline_of(report), write_baseline)
        click.echo(f"{write_baseline} accepts what was found", err=True)
    if accepted:
        report = without(report, accepted)
    single = len(places) == 1 and places[0].is_file()
    resumed: dict[Path, list[Resumability]] = {}
    for place in places if resuming or (resuming is None and single) else ():
        if place.is_file():
            from stenograph.check.resumability import resumability

            try:
                resumed[place] = resumability(place)
            except DiskError as error:
                report.failures.append(Finding("unreadable", place, detail=f"what clients would send is not known: {error}"))
    if as_json:
        echo_json(_json(report, resumed))
    else:
        _echo(report, resumed)
    for failure in report.failures:
        click.echo(f"steno: {plain(failure.detail)}", err=True)
    if any(failure.path in places for failure in report.failures):
        ctx.exit(FAILED)
    if strict and not report.is_clean:
        ctx.exit(NOTHING_MATCHED)


def moment_of(text: str, now: datetime) -> float:
    """Seconds since 1970 of a date, or of an age before now. Raises UsageError."""
    if found := _AGE.fullmatch(text):
        return (now - timedelta(hours=int(found[1]) * _HOURS[found[2]])).timestamp()
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        raise UsageError(f"{text!r} is neither a date like 2026-01-31 nor an age like 7d") from None


def _json(report: Report, resumed: dict[Path, list[Resumability]]) -> dict[str, Any]:
    import msgspec

    from stenograph.check import DAMAGE
    from stenograph.drift import load_registry

    drift = [{**msgspec.structs.asdict(each), "path": str(each.path)} for each in report.drift]
    for told in drift:
        del told["file"]
    damage = [
        {
            "code": each.code,
            "meaning": DAMAGE.get(each.code, ""),
            "count": each.count,
            "files": len(each.files),
            "path": str(each.path),
            "line": each.line,
        }
        for each in report.damage
    ]
    resume = [
        {
            "path": str(path),
            "release": each.release,
            "whole": each.is_whole,
            "refused": each.refused or None,
            "said": msgspec.to_builtins(each.lost.said),
            "lost": msgspec.to_builtins(each.lost.total),
        }
        for path, answers in resumed.items()
        for each in answers
    ]
    return {
        "files": report.files,
        "lines": report.lines,
        "size": report.size,
        "recorded": load_registry().recorded,
        "drift": drift,
        "damage": damage,
        "resume": resume,
        "failures": [{"path": str(failure.path), "detail": failure.detail} for failure in report.failures],
    }


def _echo(report: Report, resumed: dict[Path, list[Resumability]]) -> None:
    from stenograph.cli._text import count_of, quoted, size
    from stenograph.drift import load_registry

    recorded = load_registry().recorded
    against = f"against {count_of(len(recorded), 'recorded release')}, {recorded[0]} to {recorded[-1]}"
    click.echo(f"{count_of(report.files, 'file')}, {count_of(report.lines, 'line')}, {size(report.size)}, {against}")
    if report.drift:
        _heading("Drift")
        _echo_drift(report.drift)
    if report.damage:
        _heading("Damage")
        _echo_damage(report.damage)
    if report.is_clean:
        click.echo(click.style("nothing found", fg="green"))
    for path, answers in resumed.items():
        _heading(f"Resume {_short(path)}" if len(resumed) > 1 else "Resume")
        _echo_resumability(answers)
        for each in answers:
            if not each.is_whole:
                click.echo(f"Why: steno messages {quoted(path.stem)} --as-of {each.release} --lost")
                break


def _echo_drift(found: list[DriftFinding]) -> None:
    from stenograph.cli._text import count_of, cut, terminal_width

    columns = terminal_width()
    shown: dict[str, int] = {}
    for each in found:
        shown[each.code] = shown.get(each.code, 0) + 1
        if shown[each.code] > _MOST_ROWS:
            continue
        what = f"{each.shape} {each.field}".rstrip()
        if each.met:
            what += f": {each.met}, known {' or '.join(each.known_types)}"
        known = f"known in {each.known_in}" if each.known_in else "never recorded"
        releases = ", ".join(each.releases[:4]) + (f" and {len(each.releases) - 4} more" if len(each.releases) > 4 else "")
        click.echo(f"{click.style(each.code, fg='yellow')}  {click.style(what, bold=True)}")
        click.echo(f"    {count_of(each.count, 'time')}, in {releases}; {known}; first {_short(each.path)}:{each.line}")
        sample = ", ".join(f"{name}: {kind}" for name, kind in each.sample.items())
        click.echo(click.style(f"    {{{cut(sample, (columns or 200) - 6)}}}", dim=True))
    for code, number in shown.items():
        if number > _MOST_ROWS:
            click.echo(f"and {number - _MOST_ROWS} more {code}: --json has them all")


def _echo_damage(found: list[DamageFinding]) -> None:
    from stenograph.check import DAMAGE
    from stenograph.cli._text import count_of

    for each in found:
        times = f"{count_of(each.count, 'time')} in {count_of(len(each.files), 'file')}"
        place = f"{_short(each.path)}:{each.line}" if each.line else _short(each.path)
        click.echo(f"{click.style(each.code, fg='yellow')}  {times}; first {place}")
        if each.code in DAMAGE:
            click.echo(click.style(f"    {DAMAGE[each.code]}", dim=True))


def _echo_resumability(answers: list[Resumability]) -> None:
    from stenograph.cli._text import table

    rows = [["release", "", "messages", "tool calls", "thinking"]]
    for each in answers:
        verdict = f"refused (rule {each.refused})" if each.refused else "whole" if each.is_whole else "loses"
        lost, said = each.lost.total, each.lost.said
        numbers = [
            f"{gone} of {there}"
            for gone, there in (
                (lost.messages, said.messages),
                (lost.tool_calls, said.tool_calls),
                (lost.thinking, said.thinking),
            )
        ]
        rows.append([each.release, verdict, *numbers])
    for line in table(rows, frozenset({2, 3, 4})):
        click.echo(line)


def _heading(text: str) -> None:
    click.echo(click.style(f"\n{text}", bold=True))


def _short(path: Path) -> str:
    from stenograph.cli._text import plain, short_path

    return plain(short_path(str(path)))
