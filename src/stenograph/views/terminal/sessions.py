"""Sessions as lines, and the notes on what a list left out.

In a pipe every line is whole. In a terminal it fits: where a title would get less than its share, the tape is left out, then the
branch, then release and size; titles are cut last. Below 72 columns a session takes two lines.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from stenograph.disk import projects_folder
from stenograph.sessions import HIDDEN
from stenograph.views.pages.sessions import OverviewPage, SessionRow, SessionsPage
from stenograph.views.terminal.options import COMMAND, MARKS, OTHER, QUIET, STRONG, YOU, RenderOptions
from stenograph.views.terminal.tape import binned, tape
from stenograph.views.text import (
    ELLIPSIS,
    count_of,
    cut,
    cut_start,
    day,
    local_time,
    money,
    pad,
    plain,
    short_path,
    size,
    table,
    when,
    width,
    will_delete,
    wrap,
)

_LAST = "last"
_RIGHT = frozenset({"turns", "cost", "size", "started", _LAST})
#: Below this a session takes two lines.
_NARROW = 72
#: Tables stop here, however wide the terminal is.
_WIDEST = 140
_PROJECT_COLUMNS = 24
_BRANCH_COLUMNS = 20
#: A title gets at least so many, or what it needs; else columns are left out.
_TITLE_COLUMNS = 28
_LEAST_TITLE = 12
#: What a narrow terminal goes without, in this order.
_DISPENSABLE = ("tape", "branch", "release", "size")
_GAP = 2
NO_TITLE = "(no prompt)"
#: Of print mode and the SDK: most homes have none.
_GROUPS = 5


def render_sessions(page: SessionsPage, options: RenderOptions, *, long: bool = False) -> Iterator[str]:
    """A list. In a terminal it ends with what was left out and what the marks mean; in a pipe it is a header and rows."""
    if options.width is None:
        yield from _piped(page.sessions, options, long=long, sort=page.sort)
        return
    yield from session_lines(page.sessions, options, long=long, sort=page.sort)
    now = options.now or datetime.now(UTC)
    groups = [
        [f"{group.sessions:,} {HIDDEN[group.kind]}", when(group.last_record, now), size(group.size), short_path(group.project)]
        for group in page.groups[:_GROUPS]
    ]
    lines = table(groups, frozenset({0, 1, 2}))
    yield from (f"  {options.paint(cut(line, options.width - _GAP), *QUIET)}" for line in lines)
    left_out = "  ".join(_left_out(page))
    legend = options.legend(row.status for row in page.sessions)
    if left_out or legend:
        yield ""
    yield from (f"  {options.paint(line, *QUIET)}" for line in wrap(left_out, options.width - _GAP) if line)
    if legend:
        yield f"  {legend}"
    if any(row.usd_estimated for row in page.sessions):
        yield f"  {options.paint('~ estimated: old releases did not record all output', *QUIET)}"


def _piped(sessions: Sequence[SessionRow], options: RenderOptions, *, long: bool, sort: str) -> Iterator[str]:
    """Whole ids, dates and paths, the status as a word, nothing cut; color only where it is forced."""
    if not sessions:
        return
    rows = []
    for info in sessions:
        row = {
            "id": plain(info.id),
            "status": "archived" if info.archived else info.status,
            **_moment(info, sort, local_time),
            "turns": "" if info.turns is None else f"{info.turns:,}",
            "cost": _cost(info),
            **({"size": size(info.size)} if long or sort == "size" else {}),
            **({"release": plain(info.release or "")} if long else {}),
            "project": short_path(project_of(info)),
            "branch": plain(info.git_branch or ""),
            "title": _title(info, in_terminal=False),
        }
        rows.append(row)
    rows = _without_empty([{name: name for name in rows[0]}, *rows], ("turns", "cost", "branch"))
    header, *lines = table([list(row.values()) for row in rows], _right(tuple(rows[0])))
    yield header
    start = max(width(row["id"]) for row in rows) + _GAP
    for line, info in zip(lines, sessions, strict=True):
        end = start + len(info.status)
        role = MARKS[info.status][1] if info.status in MARKS else ()
        is_aligned = line[start:end] == info.status
        yield line[:start] + options.paint(line[start:end], *role) + line[end:] if role and is_aligned else line


def session_lines(
    sessions: Sequence[SessionRow], options: RenderOptions, *, long: bool = False, sort: str = _LAST
) -> Iterator[str]:
    """One line a session, or two in a narrow terminal. Columns of which nothing is known are left out, but not the sorted one."""
    if not sessions:
        return
    now = options.now or datetime.now(UTC)
    columns = min(options.width or _WIDEST, _WIDEST)
    if columns < _NARROW:
        for info in sessions:
            yield from _two_lines(info, now, columns, options, sort)
        return
    rows = [_row(info, now, long=long, sort=sort) for info in sessions]
    names, *lines = _aligned(rows, columns - _GAP, options, sort)
    yield f"  {options.paint(names, *QUIET)}"
    for line, info in zip(lines, sessions, strict=True):
        yield f"{options.mark(info.status)}{line}"


def _two_lines(info: SessionRow, now: datetime, columns: int, options: RenderOptions, sort: str) -> Iterator[str]:
    yield options.mark(info.status) + _painted_title(cut(_title(info), columns - _GAP), info, options)
    turns = "" if info.turns is None else count_of(info.turns, "turn")
    amount = size(info.size) if sort == "size" else ""
    facts = "  ".join(filter(None, (last_folder(short_path(project_of(info))), turns, amount, _cost(info))))
    last = "".join(_shown_moment(info, now, sort).values())
    facts = cut(facts, columns - _GAP - len(info.short_id) - _GAP - _GAP - len(last))
    space = " " * max(_GAP, columns - _GAP - len(info.short_id) - _GAP - width(facts) - len(last))
    yield f"  {options.paint(plain(info.short_id), *YOU)}  {facts}{space}{last}"


def _row(info: SessionRow, now: datetime, *, long: bool, sort: str) -> dict[str, str]:
    return {
        "id": plain(info.short_id),
        "title": _title(info),
        "project": cut_start(last_folder(short_path(project_of(info))), _PROJECT_COLUMNS),
        "branch": cut(plain(info.git_branch or ""), _BRANCH_COLUMNS),
        "tape": binned(info.tape),
        **({"release": plain(info.release or "")} if long else {}),
        **({"size": size(info.size)} if long or sort == "size" else {}),
        "turns": "" if info.turns is None else f"{info.turns:,}",
        "cost": _cost(info),
        **_shown_moment(info, now, sort),
    }


def _cost(info: SessionRow) -> str:
    return money(info.usd, estimated=info.usd_estimated, unpriced=info.usd_unpriced)


def _shown_moment(info: SessionRow, now: datetime, sort: str) -> dict[str, str]:
    if info.status == "running" and sort != "started":
        return {_LAST: "now"}
    return _moment(info, sort, lambda moment: when(moment, now))


def _moment(info: SessionRow, sort: str, shown: Callable[[datetime], str]) -> dict[str, str]:
    """What the list is sorted by, or else the last record."""
    if sort == "started":
        return {"started": "" if info.started is None else shown(info.started)}
    return {_LAST: shown(info.last_record)}


def _title(info: SessionRow, *, in_terminal: bool = True) -> str:
    title = plain(info.title or "")
    if not width(title):  # nothing that anybody could see
        title = NO_TITLE
    title = f"[{plain(info.tag)}] {title}" if info.tag else title
    return f"archived  {title}" if info.archived and in_terminal else title


def _painted_title(title: str, info: SessionRow, options: RenderOptions) -> str:
    tag = f"[{plain(info.tag)}]" if info.tag else ""
    return options.paint(tag, *OTHER) + title.removeprefix(tag) if tag and title.startswith(tag) else title


def _aligned(rows: list[dict[str, str]], columns: int, options: RenderOptions, sort: str) -> Iterator[str]:
    """A header and the rows as lines of the same width, painted; without what does not fit beside the titles."""
    table_ = _without_empty([{name: name for name in rows[0]}, *rows], ("branch", "tape", "release", "turns", "cost"))
    wanted = min(_TITLE_COLUMNS, max(width(row["title"]) for row in table_))
    for name in (name for name in _DISPENSABLE if name != sort):
        if _left_for_title(table_, columns) >= wanted:
            break
        table_ = [{key: value for key, value in row.items() if key != name} for row in table_]
    widths = {name: max(width(row[name]) for row in table_) for name in table_[0]}
    widths["title"] = min(widths["title"], max(_LEAST_TITLE, _left_for_title(table_, columns)))
    for number, row in enumerate(table_):
        cells = []
        for name, cell in row.items():
            text = pad(cut(cell, widths[name]), widths[name], right=name in _RIGHT)
            cells.append(_painted(name, text, options) if number else text)
        yield "  ".join(cells).rstrip()


def _painted(name: str, text: str, options: RenderOptions) -> str:
    match name:
        case "id":
            return options.paint(text.rstrip(), *YOU) + " " * (len(text) - len(text.rstrip()))
        case "tape":
            letters = text.rstrip()
            return tape(letters, options) + " " * (len(text) - len(letters))
        case "title" if text.startswith("["):
            tag, bracket, rest = text.partition("]")
            return options.paint(tag + bracket, *OTHER) + rest
    return text


def _left_for_title(rows: list[dict[str, str]], columns: int) -> int:
    return columns - sum(max(width(row[name]) for row in rows) + _GAP for name in rows[0] if name != "title")


def _without_empty(rows: list[dict[str, str]], names: Sequence[str]) -> list[dict[str, str]]:
    """The rows, a header first, without columns that hold nothing."""
    empty = {name for name in names if name in rows[0] and not any(row[name] for row in rows[1:])}
    return [{name: cell for name, cell in row.items() if name not in empty} for row in rows]


def _right(names: Sequence[str]) -> frozenset[int]:
    return frozenset(index for index, name in enumerate(names) if name in _RIGHT and name not in ("started", _LAST))


def last_folder(project: str) -> str:
    return project.replace("\\", "/").rstrip("/").rpartition("/")[2] or project


def project_of(info: SessionRow) -> str:
    return info.project or _folder_of(info)


def _folder_of(info: SessionRow) -> str:
    return os.path.basename(os.path.dirname(info.path))  # noqa: PTH119, PTH120 - text in, text out


def is_shown_as(info: SessionRow, name: str) -> bool:
    """Whether this is what the column `project` shows of a session, whole or cut; or its project directory's name."""
    project = short_path(project_of(info))
    shown = (project, last_folder(project))
    if name in shown or name == _folder_of(info):
        return True
    start, ellipsis, end = name.partition(ELLIPSIS)
    return bool(ellipsis and (start or end)) and any(
        each.startswith(start) and each.endswith(end) and len(each) > len(start + end) for each in shown
    )


def _left_out(page: SessionsPage) -> list[str]:
    """`12 of 38 sessions (--limit 0 for all)` and `65 hidden: 61 short, 4 empty (--all)`, for the last line of a list."""
    parts = []
    listed = len(page.sessions)
    if page.unseen:
        parts.append(f"{listed:,} of more than {listed + page.unseen:,} sessions (--limit 0 for all)")
    elif page.older:
        parts.append(f"{listed:,} of {count_of(listed + page.older, 'session')} (--limit 0 for all)")
    if page.hidden:
        parts.append("{} hidden: {} (--all)".format(*_hidden(page)))
    return parts


def left_out_lines(page: SessionsPage) -> list[str]:
    """What a list in a pipe left out, for stderr."""
    lines = []
    if page.unseen:
        lines.append(f"{count_of(page.unseen, 'older session')} not listed; use --limit 0")
    elif page.older:
        lines.append(f"{count_of(page.older, 'more session')} not listed; use --limit 0")
    if page.hidden:
        lines.append("{} hidden ({}); use --all".format(*_hidden(page)))
    return lines


def _hidden(page: SessionsPage) -> tuple[str, str]:
    """How many sessions a list hides, and how many for each reason."""
    reasons = ", ".join(f"{page.hidden[reason]} {words}" for reason, words in HIDDEN.items() if page.hidden.get(reason))
    return f"{'at least ' if page.unseen else ''}{sum(page.hidden.values())}", reasons


def render_overview(page: OverviewPage, options: RenderOptions, *, demo: bool = False) -> Iterator[str]:
    """What is here: counts first, then the newest sessions by day, then what to run next."""
    if not page.sessions:
        yield from _nothing(page)
        return
    shown = page.sessions - page.hidden
    of = f"{count_of(shown, 'session')} in {count_of(len(page.projects), 'project')}"
    running = f", {page.running} running" if page.running else ""
    spent = f", {money(page.usd, estimated=page.usd_estimated)} in the last 30 days" if page.usd else ""
    yield f"  {options.paint(f'{of}{running}{spent}', *STRONG)}{options.paint('  (demo)', *QUIET) if demo else ''}"
    missing = [home.path for home in page.homes if not home.exists]
    yield from (f"{options.mark('care')}{short_path(path)} does not exist" for path in missing)
    if page.newest and options.width is None:
        yield ""
        yield from _piped(page.newest, options, long=False, sort=_LAST)
    elif page.newest:
        yield from _by_day(page, options, shown)
    older = shown - len(page.newest)
    parts = [options.paint(f"and {older:,} older", *QUIET)] if older > 0 else []
    if page.hidden:
        parts.append(options.paint(f"{page.hidden:,} hidden (ls --all)", *QUIET))
    if options.width is not None:
        parts += filter(None, [options.legend(row.status for row in page.newest)])
    if parts:
        yield ""
        yield f"  {'  '.join(parts)}"
    if page.expiring:
        deletes = will_delete(page.expiring, page.overdue, page.expiring_days)
        yield ""
        first, *more = wrap(deletes, None if options.width is None else options.width - 2)
        yield options.mark("care") + first
        yield from (f"  {line}" for line in more)
        yield f"  try: {options.paint(options.command('archive', 'keep'), *COMMAND)}"
    yield ""
    yield from _next_commands(page, options)


def _by_day(page: OverviewPage, options: RenderOptions, shown: int) -> Iterator[str]:
    now = options.now or datetime.now(UTC)
    rows = iter(session_lines(page.newest, options))
    per_row = 2 if min(options.width or _WIDEST, _WIDEST) < _NARROW else 1
    header = next(rows, "") if per_row == 1 else ""
    seen, recent = "", 0
    for info in page.newest:
        date = local_time(info.last_record)[: len("2026-01-31")]
        name = day(info.last_record, now)
        if name != seen:
            count = page.days.get(date, 0)
            recent += count if name != "earlier" else 0
            spent = f", {money(page.costs[date])}" if name != "earlier" and page.costs.get(date) else ""
            label = f"  {name}, {count_of(count if name != 'earlier' else shown - recent, 'session')}{spent}"
            yield ""
            yield _over_columns(label, header if not seen else "", options)
            seen = name
        for _ in range(per_row):
            yield next(rows)


def _over_columns(label: str, header: str, options: RenderOptions) -> str:
    """A day's heading, with the names of the columns on its right; those on the left explain themselves."""
    names = re.sub(r"\x1b\[[0-9;]*m", "", header)
    right = re.search(r"  +(?:turns|cost|last)\b.*$", names)
    if right is None:
        return options.paint(label, *QUIET)
    space = len(names) - len(right[0].lstrip()) - width(label)
    return options.paint(f"{label}{' ' * space}{right[0].lstrip()}" if space > 1 else label, *QUIET)


def _next_commands(page: OverviewPage, options: RenderOptions) -> Iterator[str]:
    command = options.command
    tries = [(command("ls"), "list all sessions") if page.newest else (command("ls", "--all"), "include hidden sessions")]
    if page.has_last:
        is_piped = options.width is None
        tries += [(command("show", *(["last"] if is_piped else [])), "read the newest one" if is_piped else "choose one to read")]
    tries += [
        (f"{command('search')} WORDS", "find what was said or done"),
        (command("usage"), "what it cost, day by day"),
        (command("doctor"), "show the setup and what is wrong"),
    ]
    columns = max(width(each) for each, _ in tries)
    for each, what in tries:  # commands quote what is not harmless
        fits = options.width is None or _GAP + columns + _GAP + width(what) <= options.width
        about = options.paint(f"  {what}", *QUIET) if fits else ""
        yield f"  {options.paint(pad(each, columns) if fits else each, *COMMAND)}{about}"


def _nothing(page: OverviewPage) -> Iterator[str]:
    yield "No sessions found in:"
    for home in page.homes:
        yield f"  {short_path(os.fspath(projects_folder(Path(home.path))))}"
    yield "Try the demo sessions: steno --demo. Other directory: --home DIR."
