"""Sessions as lines, and the notes on what a list left out.

In a pipe every line is whole. In a terminal it fits: where a title would get less than its share, first the project is cut to its
last directory, then release, size and turns are left out, then the project is cut further.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from stenograph.disk import projects_folder
from stenograph.family import is_session_id
from stenograph.sessions import HIDDEN, LAST
from stenograph.views.pages.sessions import OverviewPage, SessionRow, SessionsPage
from stenograph.views.terminal.options import BOLD, DIM, GREEN, RED, YELLOW, RenderOptions
from stenograph.views.text import (
    ELLIPSIS,
    age,
    column_width,
    count_of,
    cut,
    cut_start,
    local_time,
    plain,
    short_path,
    size,
    table,
    width,
)

_COLORS = {"running": GREEN, "interrupted": YELLOW, "failed": RED}
_HEADER = ("id", "status", "last", "turns", "size", "release", "project", "title")
_RIGHT = frozenset({"turns", "size"})
_PROJECT_COLUMNS = 32
_NARROW_PROJECT_COLUMNS = 8
_TITLE_COLUMNS = 24
#: What a narrow terminal goes without, in this order.
_DISPENSABLE = ("release", "size", "turns")
_GAP = 2
NO_TITLE = "(no prompt)"
_SHORT_ID = 8
#: Of print mode and the SDK: most homes have none.
_GROUPS = 5


def render_sessions(page: SessionsPage, options: RenderOptions) -> Iterator[str]:
    yield from session_lines(page.sessions, options, page.sort)
    if options.width is None:
        return
    now = options.now or datetime.now(UTC)
    rows = [
        [f"{group.sessions:,} {HIDDEN[group.kind]}", age(group.last_record, now), size(group.size), short_path(group.project)]
        for group in page.groups[:_GROUPS]
    ]
    yield from (options.paint(cut(line, options.width), DIM) for line in table(rows, frozenset({0, 2})))


def session_lines(sessions: Sequence[SessionRow], options: RenderOptions, sort: str = "last") -> Iterator[str]:
    """A header and one line a session; turns only where they were counted, and always what they are sorted by."""
    if not sessions:
        return
    columns = options.width
    now = options.now or datetime.now(UTC)
    header = tuple("started" if name == "last" and sort == "started" else name for name in _HEADER)
    rows = [header, *(_row(info, now, narrow=columns is not None, sort=sort) for info in sessions)]
    named = [dict(zip(header, row, strict=True)) for row in rows]
    if all(info.turns is None for info in sessions):
        named = _without(named, "turns")
    if columns is not None:
        named = _fitted(named, columns, sort)
    heading, *lines = [cut(line, columns) for line in table([list(row.values()) for row in named], _right(tuple(named[0])))]
    # Color last: its bytes take no columns.
    start = column_width(row["id"] for row in named) + _GAP
    yield options.paint(heading, DIM)
    for line, info in zip(lines, sessions, strict=True):
        yield _colored(line, info.status, start, options)


def _without(rows: list[dict[str, str]], name: str) -> list[dict[str, str]]:
    return [{key: value for key, value in row.items() if key != name} for row in rows]


def _right(names: Sequence[str]) -> frozenset[int]:
    return frozenset(index for index, name in enumerate(names) if name in _RIGHT)


def _fitted(rows: list[dict[str, str]], columns: int, sort: str) -> list[dict[str, str]]:
    """The rows, a header first, made so narrow that titles get their share of the columns, or as narrow as can be."""
    wanted = min(_TITLE_COLUMNS, max(width(row["title"]) for row in rows))
    if _left_for_title(rows, columns) < wanted:
        header, *others = rows
        rows = [header, *({**row, "project": _last_folder(row["project"])} for row in others)]
    for name in (name for name in _DISPENSABLE if name != sort):
        if _left_for_title(rows, columns) >= wanted:
            return rows
        rows = _without(rows, name)
    if (missing := wanted - _left_for_title(rows, columns)) > 0:
        project = max(_NARROW_PROJECT_COLUMNS, _widest(rows, "project") - missing)
        rows = [{**row, "project": cut(row["project"], project)} for row in rows]
    return rows


def _left_for_title(rows: list[dict[str, str]], columns: int) -> int:
    return columns - sum(_widest(rows, name) + _GAP for name in rows[0] if name != "title")


def _widest(rows: list[dict[str, str]], name: str) -> int:
    return max(width(row[name]) for row in rows)


def _last_folder(project: str) -> str:
    return project.replace("\\", "/").rstrip("/").rpartition("/")[2] or project


def project_of(info: SessionRow) -> str:
    return info.project or _folder_of(info)


def _folder_of(info: SessionRow) -> str:
    return os.path.basename(os.path.dirname(info.path))  # noqa: PTH119, PTH120 - text in, text out


def is_shown_as(info: SessionRow, name: str) -> bool:
    """Whether this is what the column `project` shows of a session, whole or cut; or its project folder's name."""
    project = short_path(project_of(info))
    shown = (project, _last_folder(project))
    if name in shown or name == _folder_of(info):
        return True
    start, ellipsis, end = name.partition(ELLIPSIS)
    return bool(ellipsis and (start or end)) and any(
        each.startswith(start) and each.endswith(end) and len(each) > len(start + end) for each in shown
    )


def short_id(name: str) -> str:
    """The first part of a session's id; of a file that is not named by one the whole name, harmless."""
    return name[:_SHORT_ID] if is_session_id(name) else plain(name)


def _row(info: SessionRow, now: datetime, *, narrow: bool, sort: str = "last") -> tuple[str, ...]:
    project = short_path(project_of(info))
    title = plain(info.title or "")
    if not width(title):  # nothing that anybody could see
        title = NO_TITLE
    when = info.started if sort == "started" else info.last_record
    return (
        short_id(info.id) if narrow else plain(info.id),
        info.status,
        "" if when is None else age(when, now) if narrow else local_time(when),
        "" if info.turns is None else f"{info.turns:,}",
        size(info.size),
        plain(info.release or "-"),
        cut_start(project, _PROJECT_COLUMNS) if narrow else project,
        f"[{plain(info.tag)}] {title}" if info.tag else title,
    )


def _colored(line: str, status: str, start: int, options: RenderOptions) -> str:
    if (color := _COLORS.get(status)) is None:
        return line
    before, after = line[:start], line[start:]
    return before + options.paint(status, color) + after[len(status) :] if after.startswith(status) else line


def left_out_lines(page: SessionsPage) -> list[str]:
    """`3 more sessions not listed; use --limit 0` and `12 hidden (7 short, 5 empty): --all shows them`."""
    least = "at least " if page.unseen else ""
    lines = []
    if page.unseen:
        lines.append(f"{count_of(page.unseen, 'older session')} not listed; use --limit 0")
    elif page.older:
        lines.append(f"{count_of(page.older, 'more session')} not listed; use --limit 0")
    if page.hidden:
        parts = ", ".join(f"{page.hidden[reason]} {words}" for reason, words in HIDDEN.items() if page.hidden.get(reason))
        lines.append(f"{least}{sum(page.hidden.values())} hidden ({parts}); use --all")
    return lines


_PROJECTS = 5


def render_overview(page: OverviewPage, options: RenderOptions, *, demo: bool = False) -> Iterator[str]:
    if not page.sessions:
        yield from _nothing(page)
        return
    yield options.paint("Homes" if len(page.homes) > 1 else "Home", BOLD)
    for home in page.homes:
        yield f"  {short_path(home.path)}{'' if home.exists else '  (does not exist)'}{'  (demo)' if demo else ''}"
    yield f"  {count_of(page.sessions, 'session')}, {count_of(len(page.projects), 'project')}, {size(page.size)}"
    yield options.paint("Projects", BOLD)
    now = options.now or datetime.now(UTC)
    rows = [
        [short_path(row.project), count_of(row.sessions, "session"), age(row.modified, now)] for row in page.projects[:_PROJECTS]
    ]
    yield from (f"  {line}" for line in table(rows, frozenset({1})))
    if len(page.projects) > _PROJECTS:
        yield f"  and {len(page.projects) - _PROJECTS} more"
    if page.newest:
        yield options.paint("Newest sessions", BOLD)
        yield from session_lines(page.newest, options)
    if page.hidden:
        are = "is" if page.hidden == 1 else "are"
        yield f"  ({count_of(page.hidden, 'session')} {are} hidden: short, empty or without an answer)"
    yield options.paint("Try", BOLD)
    command = options.command
    tries = [
        (command("ls"), "all sessions, newest first") if page.newest else (command("ls", "--all"), "include hidden sessions")
    ]
    if page.has_last:
        tries += [(command("inventory", LAST), "count records in the newest session")]
        tries += [(command("check", LAST), "check the newest session")]
    tries += [(command("doctor"), "show the setup and what is wrong with it")]
    yield from (f"  {line}" for line in table(tries))  # commands quote what is not harmless


def _nothing(page: OverviewPage) -> Iterator[str]:
    yield "No sessions found in:"
    for home in page.homes:
        yield f"  {short_path(os.fspath(projects_folder(Path(home.path))))}"
    yield "Try the demo sessions: `steno --demo`. Other directory: `--home DIR`."
