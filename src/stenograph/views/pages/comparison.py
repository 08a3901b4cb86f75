"""Two sessions, or two branches of one: where they part, and what differs from there on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stenograph.views.pages.page import Document, Page
from stenograph.views.pages.turns import TurnDetail, turn_detail

if TYPE_CHECKING:
    from stenograph.analysis import Comparison, Side
    from stenograph.turns import Session


class SidePage(Page, frozen=True):
    """One of the two sides."""

    id: str
    path: str
    branch: int
    """From 1."""
    turns: tuple[TurnDetail, ...]
    """From where they diverge."""
    only_files: tuple[str, ...]
    """Files read or changed in those turns, but not in the other's; relative to the session's directory if they are in it."""


class ComparisonPage(Document, frozen=True, tag="comparison/1"):
    """`steno diff`: where two sessions or branches diverge, and what differs from there."""

    shared: int
    """How many turns are the same on both sides, counted from the first."""
    parting: str
    """`same`, `ahead` (one continues where the other ends), `answer` (same prompt, different answer) or `prompt`."""
    a: SidePage
    b: SidePage
    common_files: tuple[str, ...]
    """Files that both touched after they diverged."""


def comparison_page(found: Comparison, first: tuple[Session, int], second: tuple[Session, int]) -> ComparisonPage:
    return ComparisonPage(
        shared=found.shared,
        parting=found.parting,
        a=_side(found.first, *first),
        b=_side(found.second, *second),
        common_files=found.common_files,
    )


def _side(side: Side, session: Session, branch: int) -> SidePage:
    seen: set[str] = set()
    return SidePage(
        id=session.id,
        path=str(session.path or ""),
        branch=branch,
        turns=tuple(turn_detail(turn, seen=seen) for turn in side.rest),
        only_files=side.only_files,
    )
