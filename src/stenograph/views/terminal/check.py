"""A check -> lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from stenograph.views.pages.check import CheckPage, DamagedFilePage, DamagePage, DriftPage, ResumabilityPage
from stenograph.views.terminal.options import BAD, BOLD, CARE, DIM, GOOD, STRONG, RenderOptions
from stenograph.views.text import count_of, cut, short_path, size, table

#: Of each kind of damage; JSON has them all.
_MOST_FILES = 5
#: With more drift in several files, the fields of one kind share a line.
_MOST_DETAILED = 10
_MOST_FIELDS = 4
_MOST_RELEASES = 4
_SAMPLE_COLUMNS = 200


def render_check(page: CheckPage, options: RenderOptions) -> Iterator[str]:
    """In a terminal, behind a gutter for the marks."""
    if options.width is None:
        yield from _lines(page, options)
        return
    marks = (options.mark("care"), options.mark("failed"))
    for line in _lines(page, options.narrower(2)):
        yield line if line.startswith(marks) or not line else f"  {line}"


def _lines(page: CheckPage, options: RenderOptions) -> Iterator[str]:
    yield options.paint(_verdict(page), *(GOOD if page.is_clean else STRONG))
    recorded = page.recorded
    against = f"against {count_of(len(recorded), 'recorded release')}, {recorded[0]} to {recorded[-1]}"
    yield options.paint(f"{count_of(page.files, 'file')}, {count_of(page.lines, 'line')}, {size(page.size)}, {against}", DIM)
    for heading, is_ordinary in (("Damage", False), ("Not damage", True)):
        if found := [each for each in page.damage if each.ordinary is is_ordinary]:
            yield from _heading(heading, options)
            for damage in found:
                yield from _damage(damage, options)
    if page.drift:
        yield from _heading("Drift", options)
        yield from _drift(page, options)
    sessions = {path: list(answers) for path, answers in groupby(page.resume, lambda each: each.path)}
    for path, answers in sessions.items():
        yield from _heading(f"Resume {short_path(path)}" if len(sessions) > 1 else "Resume", options)
        yield from _resumability(answers)
        if explain := next((each.explain for each in answers if each.explain), None):
            yield f"Why: {explain}"


def _verdict(page: CheckPage) -> str:
    found = page.summary
    parts = []
    if found.damage:
        parts.append(f"damage in {count_of(found.damaged_files, 'file')} ({count_of(found.damage, 'finding')})")
    if found.drift:
        parts.append(f"drift in {_some(found.drifting_releases, _MOST_RELEASES)} ({count_of(found.drift, 'finding')})")
    if found.unreadable:
        parts.append(f"{count_of(found.unreadable, 'unreadable file')}")
    verdict = "; ".join(parts) or ("nothing wrong" if page.damage else "nothing found")
    return verdict[0].upper() + verdict[1:] + "."


def _some(names: Sequence[str], most: int) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def _heading(text: str, options: RenderOptions) -> list[str]:
    return ["", options.paint(text, BOLD)]


def _drift(page: CheckPage, options: RenderOptions) -> Iterator[str]:
    if page.files == 1 or len(page.drift) <= _MOST_DETAILED:
        for each in page.drift:
            yield from _one_drift(each, options)
        return
    for (code, shape), alike in groupby(page.drift, lambda each: (each.code, each.shape)):
        group = list(alike)
        fields = _some([each.field for each in group if each.field], _MOST_FIELDS)
        releases = _some(list(dict.fromkeys(release for each in group for release in each.releases)), _MOST_RELEASES)
        yield f"{options.paint(code, *CARE)}  {options.paint(f'{shape} {fields}'.rstrip(), BOLD)}"
        yield f"    {count_of(sum(each.count for each in group), 'time')}, in {releases}; first {_place(group[0])}"
    yield options.paint("Each field with a sample: --json, or check the file.", DIM)


def _one_drift(found: DriftPage, options: RenderOptions) -> Iterator[str]:
    what = f"{found.shape} {found.field}" if found.field else found.shape
    if found.met:
        what += f": {found.met}, known {' or '.join(found.known_types)}"
    known = f"known in {found.known_in}" if found.known_in else "never recorded"
    releases = _some(found.releases, _MOST_RELEASES)
    yield f"{options.paint(found.code, *CARE)}  {options.paint(what, BOLD)}"
    yield f"    {count_of(found.count, 'time')}, in {releases}; {known}; first {_place(found)}"
    sample = ", ".join(f"{name}: {kind}" for name, kind in found.sample.items())
    yield options.paint(f"    {{{cut(sample, (options.width or _SAMPLE_COLUMNS) - 6)}}}", DIM)


def _damage(found: DamagePage, options: RenderOptions) -> Iterator[str]:
    times = f"{count_of(found.count, 'time')} in {count_of(found.files, 'file')}"
    mark = "" if options.width is None else options.mark("care" if found.ordinary else "failed")
    yield f"{mark}{options.paint(found.code, *(CARE if found.ordinary else BAD))}  {times}"
    if found.detail:
        yield options.paint(f"    {found.detail}", DIM)
    for place in found.places[:_MOST_FILES]:
        yield f"    {_place(place)}" + (f"  {count_of(place.count, 'time')}" if place.count > 1 else "")
    if found.files > _MOST_FILES:
        yield f"    and {count_of(found.files - _MOST_FILES, 'more file', 'more files')}: --json lists them"


def _place(found: DriftPage | DamagedFilePage) -> str:
    path = short_path(found.path or "")
    return path if found.line is None else f"{path}:{found.line}"


def _resumability(answers: Sequence[ResumabilityPage]) -> list[str]:
    rows = [["release", "", "messages lost", "tool calls lost", "thinking lost"]]
    for each in answers:
        verdict = f"refused (rule {each.refused})" if each.refused else "whole" if each.whole else "loses"
        lost, said = each.lost, each.said
        numbers = ((lost.messages, said.messages), (lost.tool_calls, said.tool_calls), (lost.thinking, said.thinking))
        rows.append([each.release, verdict, *(f"{gone} of {there}" for gone, there in numbers)])
    return table(rows, frozenset({2, 3, 4}))
