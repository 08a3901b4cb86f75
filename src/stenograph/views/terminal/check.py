"""A check -> lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from stenograph.views.pages.check import CheckPage, DamagedFilePage, DamagePage, DriftPage, ResumabilityPage
from stenograph.views.terminal.options import BAD, BOLD, CARE, COMMAND, DIM, GOOD, QUIET, STRONG, YOU, RenderOptions
from stenograph.views.text import count_of, cut, cut_start, plain, short_id, short_path, size, table, width, wrap

#: Of each kind of damage; JSON has them all.
_MOST_FILES = 5
#: With more kinds of damage, only `--explain` says what each means.
_MOST_MEANINGS = 4
_GUTTER = 2
#: Of a session in the table of losses.
_NAME_COLUMNS, _LEAST_NAME = 32, 14
_LOSS_COLUMNS = 14
#: With more drift in several files, the fields of one kind share a line.
_MOST_DETAILED = 10
_MOST_FIELDS = 4
_MOST_RELEASES = 4
_SAMPLE_COLUMNS = 200


def render_check(
    page: CheckPage, options: RenderOptions, *, explain: bool = False, titles: Mapping[str, str] | None = None
) -> Iterator[str]:
    """The verdict, counts, then damage by file, losses, and drift; with `explain` every file and what each finding means.

    In a pipe, kinds of findings with their files. `titles` are those of sessions, by path: only a terminal shows them.
    """
    names = titles or {}
    if options.width is None:
        yield from _lines(page, options, explain=explain)
        return
    inside = options.narrower(_GUTTER)
    yield from (f"  {options.paint(line, *(GOOD if page.is_clean else STRONG))}" for line in wrap(_verdict(page), inside.width))
    yield from (f"  {options.paint(line, *QUIET)}" for line in wrap(_scope(page), inside.width))
    if not page.is_clean:
        yield ""
        yield from _counts(page, options)
    for heading, is_ordinary in (("Damage", False), ("Harmless", True)):
        if found := [each for each in page.damage if each.ordinary is is_ordinary]:
            yield from ("", f"  {options.paint(heading, *STRONG)}")
            yield from _by_file(found, options, names, explain=explain, is_ordinary=is_ordinary)
    yield from _losses(page, options, names)
    if page.drift:
        about = f"{count_of(len(page.drift), 'finding')}, in {_some(page.summary.drifting_releases, _MOST_RELEASES)}"
        yield from ("", f"  {options.paint('Drift', *STRONG)}  {options.paint(cut(about, (inside.width or 0) - 7), *QUIET)}")
        for line in _drift(page, inside, explain=explain):
            yield f"{'  ' if line.startswith(' ') else options.mark('care')}{line}"
    if not page.is_clean:
        more = [] if explain or not (page.damage or page.drift) else ["what each means: --explain"]
        yield ""
        for line in wrap("  ".join(["exit 1 on findings: --strict", *more, "all: --json"]), inside.width):
            yield f"  {options.paint(line, *QUIET)}"


def _scope(page: CheckPage) -> str:
    recorded = page.recorded
    against = f"against {count_of(len(recorded), 'recorded release')}, {recorded[0]} to {recorded[-1]}"
    return f"{count_of(page.files, 'file')}, {count_of(page.lines, 'line')}, {size(page.size)}, {against}"


def _counts(page: CheckPage, options: RenderOptions) -> Iterator[str]:
    found = page.summary
    losing = {each.path for each in page.resume if not each.whole}
    rows = [
        ("failed", "damage", found.damaged_files, found.damage, "broken lines, links or files"),
        ("care", "loss", len(losing), sum(not each.whole for each in page.resume), "not sent when some releases resume"),
        ("care", "drift", None, found.drift, "unlike what releases were recorded to write"),
        ("failed", "unreadable", found.unreadable, found.unreadable, "no right to read them"),
    ]
    kept = [row for row in rows if row[3]]
    cells = [[name, "" if files is None else f"{files:,}", f"{count:,}", f" {what}"] for _, name, files, count, what in kept]
    heading, *lines = table([["", "files", "findings", ""], *cells], frozenset({1, 2}))
    yield f"  {options.paint(heading, *QUIET)}"
    for line, (mark, name, *_) in zip(lines, kept, strict=True):
        rest = cut(line, (options.width or 0) - _GUTTER)[len(name) :]
        yield options.mark(mark) + options.paint(name, *(BAD if mark == "failed" else CARE)) + rest


def _by_file(
    found: Sequence[DamagePage], options: RenderOptions, titles: Mapping[str, str], *, explain: bool, is_ordinary: bool
) -> Iterator[str]:
    room = (options.width or 0) - _GUTTER
    files: dict[str, list[tuple[DamagePage, DamagedFilePage]]] = {}
    for damage in found:
        for place in damage.places:
            files.setdefault(place.path, []).append((damage, place))
    listed = sorted(files.items(), key=lambda each: (-sum(place.count for _, place in each[1]), each[0]))
    for path, damages in listed if explain else listed[:_MOST_FILES]:
        mark = options.mark("care" if is_ordinary else "failed")
        if path in titles:
            yield mark + _session(path, titles, options, room)
            yield f"    {options.paint(cut_start(short_path(path), room - 2), *QUIET)}"
        else:
            yield mark + cut_start(short_path(path), room)
        for damage, place in damages:
            line = "" if place.line is None else f"line {place.line:,}"
            times = count_of(place.count, "time") + (", first in " if line else "") if place.count > 1 else ""
            yield f"    {options.paint(damage.code, *(CARE if is_ordinary else BAD))}  {times}{line}".rstrip()
    if (left := len(listed) - _MOST_FILES) > 0 and not explain:
        more = f"and {count_of(left, 'more file', 'more files')} (--explain)"
        yield f"  {options.paint(more, *QUIET)}"
    if not explain and len(found) > _MOST_MEANINGS:
        return
    for damage in found:
        for number, line in enumerate(wrap(f"{damage.code}: {damage.detail}", room - 4)):
            yield f"    {'  ' if number else ''}{options.paint(line, *QUIET)}"


def _losses(page: CheckPage, options: RenderOptions, titles: Mapping[str, str]) -> Iterator[str]:
    """Of one session in numbers; of several, what each release would lose."""
    sessions = {path: list(answers) for path, answers in groupby(page.resume, lambda each: each.path)}
    if not sessions:
        return
    room = (options.width or 0) - _GUTTER
    yield ""
    if len(sessions) == 1:
        [answers] = sessions.values()
        yield f"  {options.paint('Loss on resume', *STRONG)}"
        for line, each in zip(_resumability(answers), (None, *answers), strict=True):
            mark = "  " if each is None else options.mark("passed" if each.whole else "care")
            yield mark + (options.paint(cut(line, room), *QUIET) if each is None else cut(line, room))
    else:
        releases = list(dict.fromkeys(each.release for answers in sessions.values() for each in answers))
        losing = {path: answers for path, answers in sessions.items() if not all(each.whole for each in answers)}
        rows = [["Loss on resume", *releases]]
        names = max(_LEAST_NAME, min(_NAME_COLUMNS, room - _LOSS_COLUMNS * len(releases)))
        for path, answers in losing.items():
            name = f"{_name(path)}  {plain(titles[path])}" if path in titles else _name(path)
            by_release = {each.release: each for each in answers}
            rows.append(
                [
                    cut(name, names),
                    *(_loss(by_release[release]) if release in by_release else "" for release in releases),
                ]
            )
        for number, line in enumerate(table(rows)):
            yield options.mark("care") + cut(line, room) if number else f"  {options.paint(cut(line, room), *STRONG)}"
        if whole := len(sessions) - len(losing):
            sent = f"{count_of(whole, 'session')} sent whole by every release"
            yield f"  {options.paint(sent, *QUIET)}"
    why = [each.explain for each in page.resume if each.explain]
    yield from (f"  try: {options.paint(command, *COMMAND)}" for command in why[:1])


def _session(path: str, titles: Mapping[str, str], options: RenderOptions, room: int) -> str:
    name = _name(path)
    return f"{options.paint(name, *YOU)}  {cut(plain(titles[path]), room - width(name) - 2)}"


def _name(path: str) -> str:
    return short_id(path.replace("\\", "/").rpartition("/")[2].removesuffix(".jsonl"))


def _loss(found: ResumabilityPage) -> str:
    if found.whole:
        return "all sent"
    if found.refused:
        return f"refused (rule {found.refused})"
    lost = found.lost
    parts = ((lost.messages, "message"), (lost.tool_calls, "tool call"), (lost.thinking, "thought"))
    return next((count_of(count, noun) for count, noun in parts if count), "all sent")


def _lines(page: CheckPage, options: RenderOptions, *, explain: bool) -> Iterator[str]:
    yield options.paint(_verdict(page), *(GOOD if page.is_clean else STRONG))
    yield options.paint(_scope(page), DIM)
    for heading, is_ordinary in (("Damage", False), ("Harmless", True)):
        if found := [each for each in page.damage if each.ordinary is is_ordinary]:
            yield from _heading(heading, options)
            for damage in found:
                yield from _damage(damage, options, explain=explain)
    if page.drift:
        yield from _heading("Drift", options)
        yield from _drift(page, options, explain=explain)
    sessions = {path: list(answers) for path, answers in groupby(page.resume, lambda each: each.path)}
    for path, answers in sessions.items():
        yield from _heading(f"Resume {short_path(path)}" if len(sessions) > 1 else "Resume", options)
        yield from _resumability(answers)
        if hint := next((each.explain for each in answers if each.explain), None):
            yield f"Why: {hint}"


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


def _drift(page: CheckPage, options: RenderOptions, *, explain: bool) -> Iterator[str]:
    most = _MOST_DETAILED if options.width is None else 1
    if explain or page.files == 1 or len(page.drift) <= most:
        for each in page.drift:
            yield from _one_drift(each, options)
        return
    for (code, shape), alike in groupby(page.drift, lambda each: (each.code, each.shape)):
        group = list(alike)
        fields = _some([each.field for each in group if each.field], _MOST_FIELDS)
        releases = _some(list(dict.fromkeys(release for each in group for release in each.releases)), _MOST_RELEASES)
        yield f"{options.paint(code, *CARE)}  {options.paint(f'{shape} {fields}'.rstrip(), BOLD)}"
        times = f"{count_of(sum(each.count for each in group), 'time')}, in {releases}; first"
        yield from _with_place(times, group[0], options)
    if options.width is None:
        yield options.paint("Each field with a sample: --explain", DIM)


def _one_drift(found: DriftPage, options: RenderOptions) -> Iterator[str]:
    what = f"{found.shape} {found.field}" if found.field else found.shape
    if found.met:
        what += f": {found.met}, known {' or '.join(found.known_types)}"
    known = f"known in {found.known_in}" if found.known_in else "never recorded"
    releases = _some(found.releases, _MOST_RELEASES)
    yield f"{options.paint(found.code, *CARE)}  {options.paint(what, BOLD)}"
    yield from _with_place(f"{count_of(found.count, 'time')}, in {releases}; {known}; first", found, options)
    sample = ", ".join(f"{name}: {kind}" for name, kind in found.sample.items())
    yield options.paint(f"    {{{cut(sample, (options.width or _SAMPLE_COLUMNS) - 6)}}}", DIM)


def _with_place(facts: str, found: DriftPage, options: RenderOptions) -> Iterator[str]:
    """In a terminal the file has a line of its own, its end shown."""
    if options.width is None:
        yield f"    {facts} {_place(found)}"
        return
    yield from (f"    {line}" for line in wrap(f"{facts} in", options.width - 4))
    yield f"    {cut_start(_place(found), options.width - 4)}"


def _damage(found: DamagePage, options: RenderOptions, *, explain: bool) -> Iterator[str]:
    times = f"{count_of(found.count, 'time')} in {count_of(found.files, 'file')}"
    yield f"{options.paint(found.code, *(CARE if found.ordinary else BAD))}  {times}"
    if found.detail:
        yield options.paint(f"    {found.detail}", DIM)
    for place in found.places if explain else found.places[:_MOST_FILES]:
        yield f"    {_place(place)}" + (f"  {count_of(place.count, 'time')}" if place.count > 1 else "")
    if found.files > _MOST_FILES and not explain:
        yield f"    and {count_of(found.files - _MOST_FILES, 'more file', 'more files')}: --explain lists them"


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
