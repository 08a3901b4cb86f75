"""Which sessions touched a file, and in which turns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from stenograph.views.pages.history import HistoryPage, TouchingPage, TouchPage
from stenograph.views.terminal.options import BOLD, COMMAND, DIM, RenderOptions
from stenograph.views.text import count_of, cut, local_time, plain, short_path, table, when, wrap

_SHORT_ID = 8
_INDENT = "  "
_TURNS_COLUMNS = 18


def render_history(page: HistoryPage, options: RenderOptions) -> Iterator[str]:
    if not page.sessions:
        return
    listed = [call for session in page.sessions for call in session.calls]
    calls = [call for call in listed if not call.copied]
    changes = sum(call.changes for call in calls)
    total = (
        f"{count_of(changes, 'change')} and {count_of(len(calls) - changes, 'read')} of {short_path(page.file)}"
        f" in {count_of(len(page.sessions), 'session')}"
    )
    once = "; copied calls count once" if len(calls) < len(listed) else ""
    room = None if options.width is None else options.width - len(_INDENT)
    yield from (options.paint(f"{_INDENT}{line}", BOLD) for line in wrap(f"{total}, newest first{once}", room))
    yield ""
    rows = [["id", "last", "changed", "read", "title"], *(_row(session, options) for session in page.sessions)]
    heading, *lines = table(rows)
    yield cut(_INDENT + options.paint(heading, DIM), None if options.color else options.width)
    for line in lines:
        yield cut(_INDENT + line, options.width)
    newest = page.sessions[0]
    turn = next((call.turn for call in reversed(newest.calls) if call.turn), None)
    yield ""
    command = options.command("show", newest.id[:_SHORT_ID], *(("--turn", str(turn)) if turn else ()))
    yield f"{_INDENT}open  {options.paint(command, *COMMAND)}"


def _row(session: TouchingPage, options: RenderOptions) -> list[str]:
    columns = None if options.width is None else _TURNS_COLUMNS
    times = [call.time for call in session.calls if call.time]
    return [
        session.id if options.width is None else session.id[:_SHORT_ID],
        _moment(max(times), options) if times else "",
        _turns((call for call in session.calls if call.changes), columns),
        _turns((call for call in session.calls if not call.changes), columns),
        plain(session.title or "(no prompt)"),
    ]


def _moment(moment: datetime, options: RenderOptions) -> str:
    return local_time(moment) if options.width is None else when(moment, options.now or datetime.now(UTC))


def _turns(calls: Iterable[TouchPage], columns: int | None) -> str:
    """The turns of some calls: `turn 2`, `turns 2, 5`; `subagent` for calls in one."""
    calls = list(calls)
    turns = sorted({call.turn for call in calls if call.turn})
    words = [f"turn{'s' if len(turns) > 1 else ''} {', '.join(map(str, turns))}"] if turns else []
    words += ["subagent"] if any(call.agent for call in calls) else []
    words += [f"{failed} failed"] if (failed := sum(call.outcome == "failed" for call in calls)) else []
    return cut(", ".join(words) or ("line" if calls else ""), columns)
