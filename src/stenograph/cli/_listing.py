"""Sessions as lines for a person, and the notes on what a list left out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import click

from stenograph.cli._text import age, cut, cut_start, local_time, plain, short_path, size, table, terminal_width, width
from stenograph.disk import Finding
from stenograph.sessions import HIDDEN, SessionInfo, Status

_COLORS = {Status.RUNNING: "green", Status.INTERRUPTED: "yellow", Status.FAILED: "red"}
_RIGHT = frozenset({3, 4})
_PROJECT_COLUMNS = 32
_NO_TITLE = "(no prompt)"
_SHORT_ID = 8


def session_lines(sessions: Sequence[SessionInfo]) -> list[str]:
    """One line a session: id, status, time, steps, size, release, project, title; cut to the terminal, whole in a pipe."""
    columns = terminal_width()
    now = datetime.now(UTC)
    rows = [_row(info, now, narrow=columns is not None) for info in sessions]
    lines = table(rows, _RIGHT)
    if columns is not None:
        lines = [cut(line, columns) for line in lines]
    # Colour last: its bytes take no columns.
    start = max((width(row[0]) for row in rows), default=0) + 2
    return [_colored(line, info, start) for line, info in zip(lines, sessions, strict=True)]


def _row(info: SessionInfo, now: datetime, *, narrow: bool) -> list[str]:
    project = short_path(info.project)
    title = plain(info.title or _NO_TITLE)
    return [
        info.id[:_SHORT_ID] if len(info.id) == 36 else plain(info.id),
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


def hidden_line(hidden: dict[str, int]) -> str:
    """`12 hidden (7 short, 3 empty): --all shows them`."""
    parts = ", ".join(f"{hidden[reason]} {words}" for reason, words in HIDDEN.items() if hidden.get(reason))
    return f"{sum(hidden.values())} hidden ({parts}): --all shows them"


def echo_findings(findings: Sequence[Finding]) -> None:
    """What could not be read, one line each, on stderr; what is merely odd is left to `steno doctor`."""
    for finding in findings:
        if finding.code.startswith("unreadable"):
            click.echo(f"steno: {plain(finding.detail)}", err=True)
