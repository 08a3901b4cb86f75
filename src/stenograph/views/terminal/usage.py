"""Tokens and money as tables with bars, and as CSV."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, time, tzinfo

from msgspec import structs

from stenograph.views.pages.usage import ReconciledPage, ReconciliationPage, SpentPage, UsagePage, UsageRowPage
from stenograph.views.terminal.options import BOLD, CYAN, DIM, YELLOW, RenderOptions
from stenograph.views.text import count_of, cut, cut_start, dollars, pad, plain, short_path, thousands, width, wrap

_INDENT = "  "
_BAR = 24
_SHORTEST_BAR = 6
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_SHORT_ID = 8
_FEW = 5
_LONGEST_NAME = 40
#: Narrower terminals have no room for bars.
_LEAST_FOR_BARS = 72
#: Longer names get a line of their own in a narrow terminal.
_LONGEST_NARROW = 22


def counted_sessions(page: UsagePage) -> str:
    """Why usage has more sessions than other pages; empty if it has not."""
    hidden = "sessions that `steno ls` hides" if page.includes_hidden is not False else ""
    hidden += " (if there are any)" if page.includes_hidden is None else ""
    gone = "calls of sessions whose file is gone" if page.includes_gone else ""
    included = ", and ".join(filter(None, (hidden, gone)))
    return f"Includes {included}." if included else ""


def cost(spent: SpentPage) -> str:
    """`~` where a part of it is estimated; empty where nothing has a price."""
    if not spent.cost_micro_usd and spent.unpriced_calls:
        return "unpriced"
    return f"{'~' if spent.estimated_micro_usd else ''}{dollars(spent.cost_micro_usd)}"


def bar(value: int, largest: int, columns: int = _BAR) -> str:
    halves = value * columns * 2 // largest if largest > 0 else 0
    halves = max(halves, 1) if value > 0 else 0
    return "━" * (halves // 2) + ("╸" if halves % 2 else "")


def render_usage(
    page: UsagePage, options: RenderOptions, *, breakdown: bool = False, zone: tzinfo | None = None
) -> Iterator[str]:
    """`zone` is the time zone of the page; None: the system's."""
    total = page.total
    room = None if options.width is None else options.width - len(_INDENT)
    heading = f"{cost(total)} {_span(page, zone)}{count_of(total.sessions, 'session')}, {page.timezone} time"
    yield from (options.paint(f"{_INDENT}{line}", BOLD) for line in wrap(heading, room))
    yield options.paint(f"{_INDENT}{_provenance(page)}", DIM)
    yield ""
    if not page.rows:
        return
    yield from _table(page, options, breakdown=breakdown)
    if page.by == "day" and not breakdown and len(total.models) > 1:
        yield ""
        yield from _models(total, options)
    notes = list(_notes(page))
    if notes:
        yield ""
        yield from (f"{_INDENT}{line}" for note in notes for line in wrap(note, room))
    if room is not None:
        more = f"--by week, model, project, session, …   avoidable cost: {options.command('waste')}"
        yield ""
        yield from (options.paint(f"{_INDENT}{line}", DIM) for line in wrap(more, room))


def _span(page: UsagePage, zone: tzinfo | None) -> str:
    """The range of time that was asked for, else the days of the first and the last call."""
    since, until = (None if moment is None else _moment(moment, zone) for moment in (page.since, page.until))
    if since and until:
        return f"from {since} until {until}, "
    if since or until:
        return f"since {since}, " if since else f"until {until}, "
    if page.first is None or page.last is None:
        return "in all, "
    first, last = (f"{moment.astimezone(zone):%Y-%m-%d}" for moment in (page.first, page.last))
    return f"on {first}, " if first == last else f"from {first} to {last}, "


def _moment(moment: datetime, zone: tzinfo | None) -> str:
    """A date, with the time of day unless that is midnight."""
    with contextlib.suppress(OverflowError):  # the first and the last day there is
        moment = moment.astimezone(zone)
    day = moment.date().isoformat()
    return day if moment.time() == time() else f"{day} {moment:%H:%M}"


def _provenance(page: UsagePage) -> str:
    total = page.total
    parts = [f"measured {dollars(total.measured_micro_usd)}"]
    if total.estimated_micro_usd:
        parts.append(f"estimated ~{dollars(total.estimated_micro_usd)}")
    if total.unpriced_calls:
        parts.append(f"unpriced {count_of(total.unpriced_calls, 'call')}")
    return ", ".join(parts)


_HEADINGS = {"agent": "agent", "block": "5-hour block", "branch": "branch"}


def _table(page: UsagePage, options: RenderOptions, *, breakdown: bool) -> Iterator[str]:
    largest = max(row.cost_micro_usd for row in page.rows)
    is_narrow = options.width is not None and options.width < _LEAST_FOR_BARS
    is_session = page.by == "session"
    if is_narrow and any(width(_whole_label(page, row)) > _LONGEST_NARROW for row in page.rows):
        yield from _two_lines(page, options, breakdown=breakdown)
        return
    calls = "tool calls" if page.by == "tool" else "calls"
    heading = [_HEADINGS.get(page.by, page.by), "cost", "", *(() if is_session else ("sessions",)), calls, "tokens"]
    rows = [heading]
    # Rows of the table -> what their bars show.
    shares: dict[int, int] = {}
    for row in _with_gaps(page, options):
        if isinstance(row, str):
            rows.append([row, "", "", *(() if is_session else ("",)), "", ""])
            continue
        shares[len(rows)] = row.cost_micro_usd
        rows.append(_cells(_label(page, row, options), row, "", is_session))
        if breakdown:
            rows += [_cells(f"  {plain(model.model)}", model, "", is_session) for model in row.models]
    rows.append(_cells("total", _total(page), "", is_session))
    columns = 0 if options.width is None or is_narrow else _room_for_bars(rows, options.width)
    for place, share in shares.items():
        rows[place][2] = bar(share, largest, columns) if columns else ""
    if not columns:
        rows = [[*row[:2], *row[3:]] for row in rows]
    right = {1, *range(3 if columns else 2, len(rows[0]))}
    yield from _lines(rows, right, options, dim_first=True, bold_last=True, colored=2 if columns else None)


def _two_lines(page: UsagePage, options: RenderOptions, *, breakdown: bool) -> Iterator[str]:
    """Names that a narrow terminal would cut get a line of their own."""
    room = (options.width or 0) - len(_INDENT)
    counted = "tool call" if page.by == "tool" else "call"
    for row in page.rows:
        label = _whole_label(page, row)
        yield _INDENT + (cut_start(label, room) if page.by == "project" else cut(label, room))
        yield from _facts(row, options, counted, is_session=page.by == "session")
        for model in row.models if breakdown else ():
            yield f"{_INDENT}  {options.paint(plain(model.model), DIM)}"
            yield from _facts(model, options, counted, is_session=True)
    yield options.paint(f"{_INDENT}total  {cost(page.total)}  {count_of(_total(page).calls, counted)}", BOLD)


def _total(page: UsagePage) -> UsageRowPage:
    """The total as the last row of a table: by tool it adds up tool calls, as the rows do."""
    if page.by != "tool":
        return page.total
    return structs.replace(page.total, calls=sum(row.calls for row in page.rows))


def _facts(spent: SpentPage, options: RenderOptions, counted: str, *, is_session: bool) -> Iterator[str]:
    sessions = count_of(spent.sessions, "session") if isinstance(spent, UsageRowPage) and not is_session else ""
    facts = "  ".join(filter(None, (sessions, count_of(spent.calls, counted), f"{thousands(spent.all_tokens)} tokens")))
    space = " " * max(2, (options.width or 0) - 2 * len(_INDENT) - width(facts) - width(cost(spent)))
    yield f"{_INDENT}  {options.paint(facts, DIM)}{space}{cost(spent)}"


def _whole_label(page: UsagePage, row: UsageRowPage) -> str:
    if page.by == "session":
        return f"{row.name[:_SHORT_ID]}  {plain(row.title or '(no prompt)')}"
    return short_path(row.name) if page.by == "project" else plain(row.name)


def _cells(name: str, spent: SpentPage, drawn: str, is_session: bool) -> list[str]:
    sessions = [] if is_session else [f"{spent.sessions:,}" if isinstance(spent, UsageRowPage) else ""]
    return [name, cost(spent), drawn, *sessions, f"{spent.calls:,}", thousands(spent.all_tokens)]


def _lines(
    rows: Sequence[Sequence[str]],
    right: Iterable[int],
    options: RenderOptions,
    *,
    dim_first: bool,
    bold_last: bool,
    colored: int | None = None,
) -> Iterator[str]:
    right = set(right)
    widths = [max(width(row[column]) for row in rows) for column in range(len(rows[0]))]
    for place, row in enumerate(rows):
        cells = []
        for column, cell in enumerate(row):
            padded = pad(cell, widths[column], right=column in right)
            cells.append(options.paint(padded, CYAN) if column == colored and cell else padded)
        line = _INDENT + "  ".join(cells).rstrip()
        if dim_first and not place:
            line = options.paint(line, DIM)
        elif bold_last and place == len(rows) - 1:
            line = options.paint(line, BOLD)
        yield line


def _room_for_bars(rows: Sequence[Sequence[str]], columns: int) -> int:
    """What the other cells leave; none if that is too little to compare by."""
    taken = sum(max(width(row[column]) for row in rows) + 2 for column in range(len(rows[0])))
    room = min(_BAR, columns - len(_INDENT) - taken + 2)
    return room if room >= _SHORTEST_BAR else 0


def _label(page: UsagePage, row: UsageRowPage, options: RenderOptions) -> str:
    if options.width is None:
        return plain(row.name)
    room = max(16, min(_LONGEST_NAME, options.width - (38 if options.width < _LEAST_FOR_BARS else 48)))
    if page.by == "session":
        title = plain(row.title or "(no prompt)")
        return f"{row.name[:_SHORT_ID]}  {cut(title, room - _SHORT_ID - 2)}"
    if page.by == "project":
        return cut_start(short_path(row.name), room)
    if page.by == "day" and row.start is not None:
        return day_name(date.fromisoformat(row.name), options.now or datetime.now(UTC))
    return cut(plain(row.name), room)


def day_name(day: date, now: datetime) -> str:
    """`Mon 9 Nov`; of another year `2025-11-09`."""
    return f"{_DAYS[day.weekday()]} {day.day} {_MONTHS[day.month - 1]}" if day.year == now.year else day.isoformat()


def _with_gaps(page: UsagePage, options: RenderOptions) -> Iterator[UsageRowPage | str]:
    """The rows, and on a terminal the days between them on which nothing happened, as long as they are few."""
    before: date | None = None
    for row in page.rows:
        if page.by == "day" and row.start is not None and options.width is not None:
            day = date.fromisoformat(row.name)
            gap = (day - before).days - 1 if before else 0
            if before and 0 < gap <= _FEW:
                for place in range(gap):
                    yield day_name(date.fromordinal(before.toordinal() + place + 1), options.now or datetime.now(UTC))
            before = day
        yield row


def _models(total: UsageRowPage, options: RenderOptions) -> Iterator[str]:
    largest = max(model.cost_micro_usd for model in total.models)
    rows = [["model", "cost", "", "calls", "tokens"]]
    for model in total.models:
        drawn = bar(model.cost_micro_usd, largest) if options.width is not None else ""
        rows.append([plain(model.model), cost(model), drawn, f"{model.calls:,}", thousands(model.all_tokens)])
    if options.width is None or options.width < 72:
        rows = [[*row[:2], *row[3:]] for row in rows]
        yield from _lines(rows, {1, 2, 3}, options, dim_first=True, bold_last=False)
    else:
        yield from _lines(rows, {1, 3, 4}, options, dim_first=True, bold_last=False, colored=2)


def _notes(page: UsagePage) -> Iterator[str]:
    if page.client_sessions:
        yield (
            f"Claude Code's own figure: equal to the cent in {page.client_equal:,} of"
            f" {count_of(page.client_sessions, 'session')} (--reconcile)."
        )
    if counted := counted_sessions(page):
        yield counted
    if page.unpriced_models:
        yield f"No price: {', '.join(plain(model) for model in page.unpriced_models[:_FEW])}. Set one with --prices."
    if page.total.estimated_output:
        yield f"Estimated: {page.total.estimated_output:,} output tokens that old releases did not record."
    if page.interrupted_calls:
        yield (
            f"Not charged: {count_of(page.interrupted_calls, 'interrupted response')}"
            f" with {thousands(page.interrupted_tokens)} tokens."
        )
    if page.copied_calls:
        yield f"Counted once: {count_of(page.copied_calls, 'copy', 'copies')} of calls in resumed, forked or cloned sessions."


def render_reconciliation(page: ReconciliationPage, options: RenderOptions) -> Iterator[str]:
    if not page.sessions:
        yield f"{_INDENT}No session has a total from Claude Code. Older releases do not write one."
        return
    count = len(page.sessions)
    yield options.paint(f"{_INDENT}Equal to Claude Code's own figure in {page.equal:,} of {count_of(count, 'session')}", BOLD)
    yield f"{_INDENT}steno {dollars(page.ours_micro_usd)}, Claude Code {dollars(page.theirs_micro_usd)}"
    different = [session for session in page.sessions if not session.equal]
    if not different:
        return
    yield ""
    rows = [["session", "steno", "Claude Code", "difference"]]
    for session in different:
        name = session.id if options.width is None else session.id[:_SHORT_ID]
        amounts = (session.ours_micro_usd, session.theirs_micro_usd)
        rows.append([name, *map(_exact, amounts), _exact(session.difference_micro_usd, signed=True)])
    head, *lines = _lines(rows, {1, 2, 3}, options, dim_first=True, bold_last=False)
    yield head
    for session, line in zip(different, lines, strict=True):
        yield line
        for amount, why, is_known in _whys(session):
            shown = f"{_INDENT * 2}{amount:>12}  "
            words = wrap(why, options.width - len(shown)) if options.width is not None else [why]
            for number, text in enumerate(words):
                row = (shown if not number else " " * len(shown)) + text
                yield row if is_known else options.paint(row, YELLOW)
    yield ""
    yield f"{_INDENT}Not explained: {dollars(page.unexplained_micro_usd)}. See docs/usage.md."


def _exact(micro_usd: int, *, signed: bool = False) -> str:
    text = f"${abs(micro_usd) / 1_000_000:.6f}"
    return f"{'-' if micro_usd < 0 else '+' if signed else ''}{text}"


def _whys(session: ReconciledPage) -> Iterator[tuple[str, str, bool]]:
    """What makes the difference, by how much, and whether it is known."""
    together = [gap.reason for gap in session.reasons if gap.micro_usd is None]
    for gap in session.reasons:
        if gap.micro_usd is not None:
            yield _exact(gap.micro_usd, signed=True), gap.reason, True
    if session.unpriced_calls:
        yield _exact(session.rest_micro_usd, signed=True), "a model without a price here", True
    elif session.rest_micro_usd:
        yield _exact(session.rest_micro_usd, signed=True), "; ".join(together) or "nothing in its files", bool(together)


_COLUMNS = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")


def usage_csv(page: UsagePage, *, breakdown: bool = False) -> Iterator[str]:
    """One line per row, or per row and model; money in dollars, exact to a microdollar."""
    yield _csv([
        page.by, *(("title", "project") if page.by == "session" else ()), *(("model",) if breakdown else ()), "calls", *_COLUMNS,
        "web_searches", "estimated_output", "cost_usd", "measured_usd", "estimated_usd", "unpriced_calls",
    ])  # fmt: skip
    for row in page.rows:
        named = [row.name, *((row.title or "", row.project or "") if page.by == "session" else ())]
        for model in row.models if breakdown else (None,):
            spent: SpentPage = row if model is None else model
            yield _csv([
                *named, *((model.model,) if model else ()), spent.calls,
                *(getattr(spent.tokens, name) for name in _COLUMNS), spent.web_searches, spent.estimated_output,
                _usd(spent.cost_micro_usd), _usd(spent.measured_micro_usd), _usd(spent.estimated_micro_usd), spent.unpriced_calls,
            ])  # fmt: skip


def _usd(micro_usd: int) -> str:
    return f"{micro_usd // 1_000_000}.{micro_usd % 1_000_000:06d}"


def _csv(cells: Iterable[object]) -> str:
    return ",".join(_quoted(str(cell)) for cell in cells)


def _quoted(cell: str) -> str:
    cell = plain(cell)
    # A spreadsheet would run it.
    if cell[:1] in ("=", "+", "@"):
        cell = f"'{cell}"
    return '"' + cell.replace('"', '""') + '"' if any(character in cell for character in ',"\n') else cell
