"""How traces are set up, what was sent, and a change of settings -> lines."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from stenograph.views.pages.trace import (
    BackfillPage,
    BackfillRow,
    DestinationStatusPage,
    SettingsChangePage,
    TracePage,
    TraceSettingsPage,
    TraceStatusPage,
    TraceTestPage,
)
from stenograph.views.terminal.options import BOLD, CYAN, GREEN, RED, STRONG, RenderOptions
from stenograph.views.text import count_of, plain, short_path, size

_COLORS = {"+": GREEN, "-": RED, "@": CYAN}
#: What was done, and what there is where nothing is to be done.
_DONE = {"install": "Added the hooks to", "uninstall": "Removed the hooks from"}
_NOTHING = {"install": "hooks are already installed", "uninstall": "no steno hooks found"}
_DAMAGED = "was damaged and replaced; turns sent again keep their ids. Delete it when you have read this"


def render_trace(page: TracePage, options: RenderOptions) -> Iterator[str]:  # noqa: ARG001
    yield from (f"hooks are in {short_path(path)}" for path in page.installed)
    if not page.installed:
        yield "no hooks are installed; try: steno trace install"
    yield from (plain(f"{each.name}: {each.kind}, {each.endpoint}") for each in page.destinations)
    yield plain(page.problem or (_settings(page.settings) if page.settings else ""))
    yield from (plain(f"note: {note}") for note in page.notes)


def _settings(settings: TraceSettingsPage) -> str:
    parts = [f"project {settings.project}", "secrets are masked" if settings.redact else "secrets are not masked"]
    for name in settings.changed_content:
        length = settings.content[name]
        parts.append(f"{length:,} characters of {name}" if length else f"no {name}")
    return ", ".join(parts)


def render_settings_diff(page: SettingsChangePage, options: RenderOptions) -> Iterator[str]:
    for line in map(_plain_line, page.diff):
        yield options.paint(line, *([_COLORS[line[0]]] if line[:1] in _COLORS else []))


def render_settings_change(page: SettingsChangePage, options: RenderOptions) -> Iterator[str]:  # noqa: ARG001
    where = short_path(page.path)
    yield f"{_DONE[page.action]} {where}" if page.applied else f"Nothing to do: {_NOTHING[page.action]} in {where}"
    if page.undo:
        yield f"Undo: {page.undo}"
    yield from map(_plain_line, page.next)


def _plain_line(line: str) -> str:
    """A line of a file, its indentation kept."""
    words = line.lstrip(" \t+-")
    lead = line[: len(line) - len(words)].replace("\t", "    ")
    return lead + plain(words)


def render_backfill(page: BackfillPage, options: RenderOptions) -> Iterator[str]:  # noqa: ARG001
    for row in page.destinations:
        if page.dry_run:
            yield plain(f"{row.name}: would read {count_of(row.sessions, 'session')}, {size(row.size)}")
        else:
            yield from _sent(row)


def _sent(row: BackfillRow) -> Iterator[str]:
    turns = f"{count_of(row.turns, 'turn')} of {count_of(row.sessions, 'session')}"
    yield plain(f"{row.name}: {turns}, {count_of(row.spans, 'span')} from {size(row.size)}")
    if row.copies:
        yield f"  {count_of(row.copies, 'copy', 'copies')} of turns already delivered"
    if row.refused:
        yield f"  {count_of(row.refused, 'span')} rejected by the receiver"
    if row.skipped:
        yield f"  {count_of(row.skipped, 'line')} skipped: not valid JSON"


def render_trace_status(page: TraceStatusPage, options: RenderOptions) -> Iterator[str]:
    """In a terminal the verdict comes first; then each destination, and what is wrong with it."""
    if options.width is not None and page.destinations:
        yield f"  {options.paint(plain(' '.join(map(_verdict, page.destinations))), *STRONG)}"
        yield ""
    for row in page.destinations:
        yield from _status(row, options)
    yield f"worker {page.worker}, {count_of(page.events_waiting, 'event')} waiting"
    yield from (plain(f"note: {path} {_DAMAGED}") for path in page.damaged)
    yield from (plain(f"note: {note}") for row in page.destinations for note in row.notes)


def _verdict(row: DestinationStatusPage) -> str:
    if row.last_error:
        return f"{row.name} fails."
    if row.behind.sessions:
        return f"{row.name} is behind by {count_of(row.behind.sessions, 'session')}."
    return f"{row.name} is up to date."


def _status(row: DestinationStatusPage, options: RenderOptions) -> Iterator[str]:
    gutter = "" if options.width is None else options.mark("failed" if row.last_error else "passed")
    yield gutter + options.paint(plain(f"{row.name}  {row.kind}, {row.endpoint}"), BOLD)
    yield f"  sent    {count_of(row.turns, 'turn')}, {count_of(row.spans, 'span')}, last at {_time(row.last_success)}"
    yield f"  behind  {count_of(row.behind.sessions, 'session')}, {size(row.behind.size)}; {row.due} due"
    if row.refused:
        yield f"  refused {count_of(row.refused, 'span')}"
    if row.last_error:
        yield options.paint(plain(f"  failed  {row.last_error} ({_time(row.last_failure)})"), RED)
        if row.retry_at:
            yield f"  again   at {_time(row.retry_at)}, or now: {options.command('trace', 'test')}"
    for failure in row.failures:
        yield options.paint(plain(f"  unread  {failure.detail}"), RED)
    for each in row.skipped:
        yield plain(f"  skipped {count_of(each.lines, 'line')} that are not valid JSON: {short_path(each.path)}")


def render_trace_test(page: TraceTestPage, options: RenderOptions) -> Iterator[str]:  # noqa: ARG001
    for probe in page.destinations:
        yield plain(f"{probe.name}: {probe.error or f'accepted the test span in {probe.duration_ms} ms'}")
        yield from (plain(f"note: {note}") for note in probe.notes)


def _time(moment: datetime | None) -> str:
    return moment.isoformat().replace("+00:00", "Z") if moment else "-"
