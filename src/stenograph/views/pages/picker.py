"""Sessions to choose from, and a look at the one that is selected."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from stenograph.redact import Mask, as_is
from stenograph.views.masking import mask_page
from stenograph.views.pages.page import Page
from stenograph.views.pages.search import HitLinePage, line_page
from stenograph.views.pages.transcript import TurnPage
from stenograph.views.pages.turn_parts import turn_page

if TYPE_CHECKING:
    from stenograph.index import Pick, PickFilter, Picks
    from stenograph.turns import Turn


class PickRow(Page, frozen=True):
    """A session that can be chosen."""

    id: str
    short_id: str
    """The shortest prefix that no other session has, of at least four characters."""
    path: str
    title: str | None
    project: str | None
    branch: str | None
    model: str | None
    """The last one that answered."""
    status: str
    turns: int | None
    modified: datetime
    line: HitLinePage | None
    """The line that matches best."""


class PickerPage(Page, frozen=True):
    """The sessions that match what was typed, best first."""

    query: str
    verb: str
    """What Enter does with the selected one."""
    sessions: int
    """How many there are in all."""
    total: int
    """How many of them match, those beyond the limit included."""
    matches: int
    """How many of their lines do."""
    filter: str | None
    """What the list is narrowed to: `this project`, a status or a tag."""
    filters: tuple[str, ...]
    """What it can be narrowed by: `project`, `status`, `tag`."""
    edits: bool
    """Whether a key edits the selected one."""
    rows: tuple[PickRow, ...]


def picker_page(
    text: str,
    verb: str,
    picks: Picks,
    sessions: int,
    only: PickFilter | None = None,
    filters: Sequence[PickFilter] = (),
    *,
    edits: bool = False,
    mask: Mask = as_is,
) -> PickerPage:
    """`only` is what the list is narrowed to, `filters` what it can be."""
    page = PickerPage(
        query=text,
        verb=verb,
        sessions=sessions,
        total=picks.total,
        matches=picks.matches,
        filter=_named(only) if only is not None else None,
        filters=tuple(dict.fromkeys(each.kind for each in filters)),
        edits=edits,
        rows=tuple(_row(pick, picks, mask) for pick in picks.picks),
    )
    return mask_page(page, mask)


def _named(only: PickFilter) -> str:
    return "this project" if only.kind == "project" else f"tag {only.value}" if only.kind == "tag" else only.value


def preview_page(turn: Turn, mask: Mask = as_is) -> TurnPage:
    return mask_page(turn_page(turn, agents=False), mask)


def _row(pick: Pick, picks: Picks, mask: Mask) -> PickRow:
    info = pick.row.info
    return PickRow(
        id=info.id,
        short_id=info.short_id,
        path=str(info.path),
        title=info.title,
        project=info.project,
        branch=info.branch,
        model=pick.row.models[-1] if pick.row.models else None,
        status=info.status.value,
        turns=info.turns,
        modified=info.last_record,
        line=line_page(pick.line, picks.query, mask) if pick.line and picks.query else None,
    )
