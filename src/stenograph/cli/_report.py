"""What `steno check` found, as JSON and as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from stenograph.check import DamageFinding, DriftFinding, Report
    from stenograph.check.resumability import Resumability

#: Of one code; --json has them all.
_MOST_ROWS = 30
_MOST_RELEASES = 4


def report_data(report: Report, resumed: dict[Path, list[Resumability]]) -> dict[str, Any]:
    from stenograph.drift import load_registry

    return {
        "files": report.files,
        "lines": report.lines,
        "size": report.size,
        "recorded": load_registry().recorded,
        "drift": [_drift_data(each) for each in report.drift],
        "damage": [_damage_data(each) for each in report.damage],
        "resume": [_resumability_data(path, each) for path, answers in resumed.items() for each in answers],
        "failures": [{"path": str(failure.path), "detail": failure.detail} for failure in report.failures],
    }


def _drift_data(found: DriftFinding) -> dict[str, Any]:
    import msgspec

    told = {**msgspec.structs.asdict(found), "path": str(found.path)}
    del told["file"]
    return told


def _damage_data(found: DamageFinding) -> dict[str, Any]:
    from stenograph.check import DAMAGE

    return {
        "code": found.code,
        "meaning": DAMAGE.get(found.code, ""),
        "count": found.count,
        "files": len(found.files),
        "path": str(found.path),
        "line": found.line,
    }


def _resumability_data(path: Path, found: Resumability) -> dict[str, Any]:
    import msgspec

    return {
        "path": str(path),
        "release": found.release,
        "whole": found.is_whole,
        "refused": found.refused or None,
        "said": msgspec.to_builtins(found.lost.said),
        "lost": msgspec.to_builtins(found.lost.total),
    }


def echo_report(report: Report, resumed: dict[Path, list[Resumability]], why: Callable[[Path, str], str]) -> None:
    """`why` is the command that says what a release loses of a session."""
    from stenograph.drift import load_registry
    from stenograph.views.text import count_of, size

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
        if first := next((each for each in answers if not each.is_whole), None):
            click.echo(f"Why: {why(path, first.release)}")


def _echo_drift(found: list[DriftFinding]) -> None:
    from stenograph.cli._output import terminal_width

    columns = terminal_width() or 200
    met: Counter[str] = Counter()
    for each in found:
        met[each.code] += 1
        if met[each.code] <= _MOST_ROWS:
            _echo_one_drift(each, columns)
    for code, number in met.items():
        if number > _MOST_ROWS:
            click.echo(f"and {number - _MOST_ROWS} more {code}: --json has them all")


def _echo_one_drift(found: DriftFinding, columns: int) -> None:
    from stenograph.views.text import count_of, cut

    what = f"{found.shape} {found.field}".rstrip()
    if found.met:
        what += f": {found.met}, known {' or '.join(found.known_types)}"
    known = f"known in {found.known_in}" if found.known_in else "never recorded"
    more = len(found.releases) - _MOST_RELEASES
    releases = ", ".join(found.releases[:_MOST_RELEASES]) + (f" and {more} more" if more > 0 else "")
    click.echo(f"{click.style(found.code, fg='yellow')}  {click.style(what, bold=True)}")
    click.echo(f"    {count_of(found.count, 'time')}, in {releases}; {known}; first {_short(found.path)}:{found.line}")
    sample = ", ".join(f"{name}: {kind}" for name, kind in found.sample.items())
    click.echo(click.style(f"    {{{cut(sample, columns - 6)}}}", dim=True))


def _echo_damage(found: list[DamageFinding]) -> None:
    from stenograph.check import DAMAGE
    from stenograph.views.text import count_of

    for each in found:
        times = f"{count_of(each.count, 'time')} in {count_of(len(each.files), 'file')}"
        place = f"{_short(each.path)}:{each.line}" if each.line else _short(each.path)
        click.echo(f"{click.style(each.code, fg='yellow')}  {times}; first {place}")
        if each.code in DAMAGE:
            click.echo(click.style(f"    {DAMAGE[each.code]}", dim=True))


def _echo_resumability(answers: list[Resumability]) -> None:
    from stenograph.views.text import table

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
    from stenograph.views.text import plain, short_path

    return plain(short_path(str(path)))
