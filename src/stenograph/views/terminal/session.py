"""A session as lines to read, made piece by piece."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stenograph.views.pages.session import BranchPage, Piece, SessionHeading
from stenograph.views.pages.transcript import TurnPage
from stenograph.views.terminal.options import BOLD, DIM, YELLOW, RenderOptions
from stenograph.views.terminal.transcript import render_agent, render_parts, render_turn
from stenograph.views.text import count_of, cut, local_time, one_line, thousands


def render_session(pieces: Iterable[Piece], options: RenderOptions) -> Iterator[str]:
    """The lines of a page's pieces, the heading first."""
    parting: dict[int, list[BranchPage]] = {}
    for piece in pieces:
        if isinstance(piece, SessionHeading):
            for other in piece.branches:
                if other.number != piece.branch:
                    parting.setdefault(other.shared, []).append(other)
            yield from _heading(piece, options)
            if piece.notes:
                yield ""
                yield from render_parts(piece.notes, options)
            if piece.whole:
                yield from _branches(parting.get(0, ()), options)
        elif isinstance(piece, TurnPage):
            yield from render_turn(piece, options)
            if lines := list(_branches(parting.get(piece.number, ()), options)):
                yield from ("", *lines)
        else:
            yield from ("", options.paint("· a sub-agent that no tool call here started", DIM))
            yield from render_agent(piece, options)


def _heading(page: SessionHeading, options: RenderOptions) -> Iterator[str]:
    title = one_line(page.title or "") or page.id
    yield options.paint(cut(title, options.width), BOLD)
    facts = [page.id if page.title else "", page.project, page.release]
    yield options.paint(cut(" · ".join(one_line(fact) for fact in facts if fact), options.width), DIM)
    branches = len(page.branches)
    tokens = f"{thousands(page.tokens.sent)} tokens in, {thousands(page.tokens.output)} out"
    tokens += " on all branches" if branches > 1 else ""
    counts = [
        local_time(page.started) if page.started else "",
        count_of(page.turns, "turn"),
        count_of(page.agents, "sub-agent") if page.agents else "",
        tokens if page.tokens.sent or page.tokens.output else "",
        f"branch {page.branch} of {branches}" if branches > 1 else "",
    ]
    yield options.paint(cut(" · ".join(count for count in counts if count), options.width), DIM)
    for other in page.continues:
        yield options.paint(f"goes on from session {one_line(other)}", DIM)


def _branches(branches: Iterable[BranchPage], options: RenderOptions) -> Iterator[str]:
    """A line for each other branch that parts from the one that is shown."""
    for other in branches:
        rest = other.turns - other.shared
        where = f"after turn {other.shared}" if other.shared else "before the first turn"
        more = f", {count_of(rest, 'turn')} of its own (--branch {other.number})" if rest else ", and ends there"
        yield options.paint(f"branch {other.number} parts {where}{more}", YELLOW)
