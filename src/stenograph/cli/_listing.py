"""Sessions as lines for a person, and the notes on what a list left out.

In a pipe every line is whole. In a terminal it fits: where a title would get less than its share, first the project is cut to its
last folder, then release, size and steps are left out, then the project is cut further.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import click

from stenograph.cli._session import short_id
from stenograph.cli._text import (
    ELLIPSIS,
    age,
    column_width,
    cut,
    cut_start,
    local_time,
    plain,
    short_path,
    size,
    table,
    terminal_width,
    width,
)
from stenograph.disk import Finding
from stenograph.sessions import HIDDEN, Listing, SessionInfo, Status

_COLORS = {Status.RUNNING: "green", Status.INTERRUPTED: "yellow", Status.FAILED: "red"}
_HEADER = ("id", "status", "changed", "steps", "size", "release", "project", "title")
_RIGHT = frozenset({"steps", "size"})
_PROJECT_COLUMNS = 32
_NARROW_PROJECT_COLUMNS = 8
_TITLE_COLUMNS = 30
#: What a narrow terminal goes without, in this order.
_DISPENSABLE = ("release", "size", "steps")
_GAP = 2
_NO_TITLE = "(no prompt)"


def session_lines(sessions: Sequence[SessionInfo]) -> list[str]:
    """One line a session: id, status, time, steps, size, release, project, title; in a terminal a header before them."""
    columns = terminal_width()
    now = datetime.now(UTC)
    rows = [_row(info, now, narrow=columns is not None) for info in sessions]
    if columns is None or not rows:
        lines = table(rows, _right(_HEADER))
        header = []
    else:
        named = _fitted([dict(zip(_HEADER, row, strict=True)) for row in (list(_HEADER), *rows)], columns)
        kept = tuple(named[0])
        heading, *lines = [cut(line, columns) for line in table([list(row.values()) for row in named], _right(kept))]
        header = [click.style(heading, dim=True)]
    # Colour last: its bytes take no columns.
    start = column_width([*(row[0] for row in rows), *_HEADER[: len(header)]]) + _GAP
    return header + [_colored(line, info, start) for line, info in zip(lines, sessions, strict=True)]


def _right(names: Sequence[str]) -> frozenset[int]:
    return frozenset(index for index, name in enumerate(names) if name in _RIGHT)


def _fitted(rows: list[dict[str, str]], columns: int) -> list[dict[str, str]]:
    """The rows, a header first, made so narrow that titles get their share of the columns, or as narrow as can be."""
    wanted = min(_TITLE_COLUMNS, max(width(row["title"]) for row in rows))
    if _left_for_title(rows, columns) < wanted:
        header, *others = rows
        rows = [header, *({**row, "project": _last_folder(row["project"])} for row in others)]
    for name in _DISPENSABLE:
        if _left_for_title(rows, columns) >= wanted:
            return rows
        rows = [{key: value for key, value in row.items() if key != name} for row in rows]
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


def is_shown_as(info: SessionInfo, name: str) -> bool:
    """Whether this is what the column `project` shows of a session, whole or cut; or its project folder's name."""
    project = short_path(info.project)
    shown = (project, _last_folder(project))
    if name in shown or name == info.path.parent.name:
        return True
    start, ellipsis, end = name.partition(ELLIPSIS)
    return bool(ellipsis and (start or end)) and any(
        each.startswith(start) and each.endswith(end) and len(each) > len(start + end) for each in shown
    )


def _row(info: SessionInfo, now: datetime, *, narrow: bool) -> list[str]:
    project = short_path(info.project)
    title = plain(info.title or "")
    if not width(title):  # nothing that anybody could see
        title = _NO_TITLE
    return [
        short_id(info.id),
        info.status.value,
        age(info.modified, now) if narrow else local_time(info.modified),
        f"{info.steps}{'' if info.steps_exact else '+'}",
        size(info.size),
        plain(info.release or "-"),
        cut_start(project, _PROJECT_COLUMNS) if narrow else project,
        f"[{plain(info.tag)}] {title}" if info.tag else title,
    ]


def _colored(line: str, info: SessionInfo, start: int) -> str:
    if (color := _COLORS.get(info.status)) is None:
        return line
    word = info.status.value
    before, after = line[:start], line[start:]
    return before + click.style(word, fg=color) + after[len(word) :] if after.startswith(word) else line


def left_out_lines(listing: Listing) -> list[str]:
    """`3 older: --limit 0 shows them` and `12 hidden (7 short, 5 empty): --all shows them`."""
    least = "at least " if listing.unseen else ""
    lines = []
    if listing.unseen:
        lines.append(f"{listing.unseen} older not looked at: --limit 0 shows them")
    elif listing.older:
        lines.append(f"{listing.older} older: --limit 0 shows them")
    if listing.hidden:
        hidden = listing.hidden
        parts = ", ".join(f"{hidden[reason]} {words}" for reason, words in HIDDEN.items() if hidden.get(reason))
        lines.append(f"{least}{sum(hidden.values())} hidden ({parts}): --all shows them")
    return lines


def echo_findings(findings: Sequence[Finding]) -> None:
    """What could not be read, one line each, on stderr; what is merely odd is left to `steno doctor`."""
    for finding in findings:
        if is_unreadable(finding):
            click.echo(f"steno: {plain(finding.detail)}", err=True)


def is_unreadable(finding: Finding) -> bool:
    return finding.code.startswith("unreadable")
