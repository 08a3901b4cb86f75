"""How traces are set up, what was sent, and a change of settings -> lines."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

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
from stenograph.views.terminal.options import BAD, BOLD, COMMAND, CYAN, GREEN, QUIET, RED, STRONG, RenderOptions
from stenograph.views.text import count_of, cut, plain, short_path, size, table, when, width, wrap

_COLORS = {"+": GREEN, "-": RED, "@": CYAN}
#: What was done, and what there is where nothing is to be done.
_DONE = {"install": "Added the hooks to", "uninstall": "Removed the hooks from"}
_NOTHING = {"install": "hooks are already installed", "uninstall": "no steno hooks found"}
_DAMAGED = "was damaged and replaced; turns sent again keep their ids. You can delete it"


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
    """In a terminal the verdict comes first, then a table, then what is wrong; in a pipe each destination in lines."""
    if options.width is not None and page.destinations:
        yield from _drawn_status(page, options, options.width)
        return
    for row in page.destinations:
        yield from _status(row, options)
    yield f"worker {page.worker}, {count_of(page.events_waiting, 'event')} waiting"
    yield from (plain(f"note: {path} {_DAMAGED}") for path in page.damaged)
    yield from (plain(f"note: {note}") for row in page.destinations for note in row.notes)


#: Below this the endpoint gets a line of its own.
_NARROW = 72


def _drawn_status(page: TraceStatusPage, options: RenderOptions, columns: int) -> Iterator[str]:
    now = options.now or datetime.now(UTC)
    room = columns - 2
    for line in wrap(plain(" ".join(map(_verdict, page.destinations))), room):
        yield f"  {options.paint(line, *STRONG)}"
    yield ""
    rows = [["", "sent", "behind", "last sent"]]
    for row in page.destinations:
        behind = count_of(row.behind.sessions, "session") if row.behind.sessions else "0"
        last = when(row.last_success, now) if row.last_success else "never"
        rows.append([plain(row.name), count_of(row.turns, "turn"), behind, last])
    heading, *lines = table(rows, frozenset({1, 2, 3}))
    yield f"  {options.paint(heading if columns < _NARROW else f'{heading}  endpoint', *QUIET)}"
    for line, row in zip(lines, page.destinations, strict=True):
        mark = options.mark("failed" if row.last_error else "passed" if not row.behind.sessions else "care")
        where = f"{row.endpoint} ({row.kind})"
        if columns < _NARROW:
            yield mark + line
            yield f"  {options.paint(cut(plain(where), room), *QUIET)}"
        else:
            yield f"{mark}{line}  {options.paint(cut(plain(where), max(12, room - width(line) - 2)), *QUIET)}"
    for row in page.destinations:
        yield from _problems(row, options, now, room)
    yield ""
    hooks = ", ".join(short_path(path) for path in page.installed) or f"not installed  {options.command('trace', 'install')}"
    facts = [
        ("hooks", hooks),
        ("worker", f"{page.worker}, {count_of(page.events_waiting, 'event')} waiting"),
        ("secrets", "masked before sending" if page.redact else "sent as they are"),
    ]
    for name, fact in facts:
        needs_care = (name == "hooks" and not page.installed) or (name == "secrets" and not page.redact)
        first, *more = wrap(fact, room - 9)
        yield f"{options.mark('care') if needs_care else '  '}{options.paint(f'{name:<7}', *QUIET)}  {first}"
        yield from (f"{' ' * 11}{line}" for line in more)
    notes = [f"{path} {_DAMAGED}." for path in page.damaged] + [note for row in page.destinations for note in row.notes]
    for note in notes:
        first, *more = wrap(plain(note), room)
        yield options.mark("care") + first
        yield from (f"  {line}" for line in more)


def _problems(row: DestinationStatusPage, options: RenderOptions, now: datetime, room: int) -> Iterator[str]:
    if row.last_error:
        failed = f" ({when(row.last_failure, now)})" if row.last_failure else ""
        retry = f", next at {when(row.retry_at, now)}" if row.retry_at else ""
        first, *more = wrap(plain(f"{row.name}: {row.last_error}{failed}{retry}"), room)
        yield ""
        yield options.mark("failed") + options.paint(first, *BAD)
        yield from (f"  {options.paint(line, *BAD)}" for line in more)
        if row.behind.sessions:
            later = count_of(row.behind.sessions, "session")
            yield f"  Nothing is lost: {later}, {size(row.behind.size)}, will be sent later."
        yield f"  try: {options.paint(options.command('trace', 'test'), *COMMAND)}"
    told = [f"{count_of(row.refused, 'span')} refused by the receiver"] if row.refused else []
    told += [f"cannot read {failure.detail}" for failure in row.failures]
    told += [f"skipped {count_of(each.lines, 'line')} that are not valid JSON: {short_path(each.path)}" for each in row.skipped]
    for each in told:
        first, *more = wrap(plain(f"{row.name}: {each}"), room)
        yield ""
        yield options.mark("care") + first
        yield from (f"  {line}" for line in more)


def _verdict(row: DestinationStatusPage) -> str:
    if row.last_error:
        return f"{row.name} fails."
    if row.behind.sessions:
        return f"{row.name} is behind by {count_of(row.behind.sessions, 'session')}."
    return f"{row.name} is up to date."


def _status(row: DestinationStatusPage, options: RenderOptions) -> Iterator[str]:
    yield options.paint(plain(f"{row.name}  {row.kind}, {row.endpoint}"), BOLD)
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
