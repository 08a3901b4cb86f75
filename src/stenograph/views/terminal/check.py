"""A check -> lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from stenograph.views.pages.check import CheckPage, DamagePage, DriftPage, ResumabilityPage
from stenograph.views.terminal.options import BOLD, DIM, GREEN, YELLOW, RenderOptions
from stenograph.views.text import count_of, cut, short_path, size, table

#: Of one code; JSON has them all.
_MOST_ROWS = 30
_MOST_RELEASES = 4
_SAMPLE_COLUMNS = 200


def render_check(page: CheckPage, options: RenderOptions) -> Iterator[str]:
    recorded = page.recorded
    against = f"against {count_of(len(recorded), 'recorded release')}, {recorded[0]} to {recorded[-1]}"
    yield f"{count_of(page.files, 'file')}, {count_of(page.lines, 'line')}, {size(page.size)}, {against}"
    if page.drift:
        yield from _heading("Drift", options)
        yield from _drift(page.drift, options)
    if page.damage:
        yield from _heading("Damage", options)
        for damage in page.damage:
            yield from _damage(damage, options)
    if page.is_clean:
        yield options.paint("nothing found", GREEN)
    sessions = {path: list(answers) for path, answers in groupby(page.resume, lambda each: each.path)}
    for path, answers in sessions.items():
        yield from _heading(f"Resume {short_path(path)}" if len(sessions) > 1 else "Resume", options)
        yield from _resumability(answers)
        if explain := next((each.explain for each in answers if each.explain), None):
            yield f"Why: {explain}"


def _heading(text: str, options: RenderOptions) -> list[str]:
    return ["", options.paint(text, BOLD)]


def _drift(found: Sequence[DriftPage], options: RenderOptions) -> Iterator[str]:
    met: Counter[str] = Counter()
    for each in found:
        met[each.code] += 1
        if met[each.code] <= _MOST_ROWS:
            yield from _one_drift(each, options)
    for code, number in met.items():
        if number > _MOST_ROWS:
            yield f"and {number - _MOST_ROWS} more {code}: --json has them all"


def _one_drift(found: DriftPage, options: RenderOptions) -> Iterator[str]:
    what = f"{found.shape} {found.field}" if found.field else found.shape
    if found.met:
        what += f": {found.met}, known {' or '.join(found.known_types)}"
    known = f"known in {found.known_in}" if found.known_in else "never recorded"
    more = len(found.releases) - _MOST_RELEASES
    releases = ", ".join(found.releases[:_MOST_RELEASES]) + (f" and {more} more" if more > 0 else "")
    yield f"{options.paint(found.code, YELLOW)}  {options.paint(what, BOLD)}"
    yield f"    {count_of(found.count, 'time')}, in {releases}; {known}; first {_place(found)}"
    sample = ", ".join(f"{name}: {kind}" for name, kind in found.sample.items())
    yield options.paint(f"    {{{cut(sample, (options.width or _SAMPLE_COLUMNS) - 6)}}}", DIM)


def _damage(found: DamagePage, options: RenderOptions) -> Iterator[str]:
    times = f"{count_of(found.count, 'time')} in {count_of(found.files, 'file')}"
    yield f"{options.paint(found.code, YELLOW)}  {times}; first {_place(found)}"
    if found.detail:
        yield options.paint(f"    {found.detail}", DIM)


def _place(found: DriftPage | DamagePage) -> str:
    path = short_path(found.path or "")
    return path if found.line is None else f"{path}:{found.line}"


def _resumability(answers: Sequence[ResumabilityPage]) -> list[str]:
    rows = [["release", "", "messages", "tool calls", "thinking"]]
    for each in answers:
        verdict = f"refused (rule {each.refused})" if each.refused else "whole" if each.whole else "loses"
        lost, said = each.lost, each.said
        numbers = ((lost.messages, said.messages), (lost.tool_calls, said.tool_calls), (lost.thinking, said.thinking))
        rows.append([each.release, verdict, *(f"{gone} of {there}" for gone, there in numbers)])
    return table(rows, frozenset({2, 3, 4}))
