"""Every session and turn that read or changed a file."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from stenograph.redact import Mask, as_is
from stenograph.views.masking import mask_page
from stenograph.views.pages.page import Document, Page

if TYPE_CHECKING:
    from stenograph.index import SyncReport, Touch


class TouchPage(Page, frozen=True):
    """A tool call on the file."""

    turn: int | None
    """The turn of the session; null in a subagent."""
    agent: str | None
    """The id of the subagent that made the call."""
    time: datetime | None
    tool: str
    path: str
    """As the tool got it."""
    changes: bool
    """True if the tool writes files, false if it reads them."""
    outcome: str
    """`done`, `failed` or `unanswered`."""
    file: str
    """The session file that contains the call."""
    line: int
    """Counted from 1."""
    copied: bool
    """A resume, fork or clone copied it: the same call is listed in another session."""


class TouchingPage(Page, frozen=True):
    """A session that touched the file."""

    id: str
    path: str
    title: str | None
    project: str | None
    calls: tuple[TouchPage, ...]
    """Oldest first."""


class HistoryPage(Document, frozen=True, tag="history/1"):
    """`steno history`: the sessions that read or changed a file, most recent first."""

    file: str
    stale: bool
    """The index was not brought up to date within the time allowed, so newer calls may be missing."""
    sessions: tuple[TouchingPage, ...]


def history_page(
    file: str, touches: Iterable[Touch], report: SyncReport, changing: frozenset[str], mask: Mask = as_is
) -> HistoryPage:
    """`changing` names the tools that write files."""
    by_session: dict[str, list[Touch]] = {}
    for touch in touches:
        by_session.setdefault(str(touch.path), []).append(touch)
    ordered = sorted(by_session.values(), key=lambda some: -max(touch.time or 0.0 for touch in some))
    page = HistoryPage(
        file=file,
        stale=report.pending > 0,
        sessions=tuple(
            TouchingPage(
                id=some[0].session,
                path=str(some[0].path),
                title=some[0].title,
                project=some[0].project,
                calls=tuple(_touch_page(touch, changing) for touch in some),
            )
            for some in ordered
        ),
    )
    return mask_page(page, mask)


def _touch_page(touch: Touch, changing: frozenset[str]) -> TouchPage:
    return TouchPage(
        turn=touch.turn,
        agent=touch.agent,
        time=None if touch.time is None else datetime.fromtimestamp(touch.time, UTC),
        tool=touch.tool,
        path=touch.target,
        changes=touch.tool in changing,
        outcome="failed" if touch.failed else "unanswered" if touch.unanswered else "done",
        file=str(touch.file),
        line=touch.line,
        copied=touch.is_copy,
    )
