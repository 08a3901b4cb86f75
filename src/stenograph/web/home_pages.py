"""The first page: all sessions of the homes."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from stenograph.errors import StenographError
from stenograph.index import open_store, session_ticks, store_path
from stenograph.sessions import SORTS, list_sessions
from stenograph.views import mask_page
from stenograph.views.html import render_home
from stenograph.views.pages.home import HomeQuery, LivePage, ViewerHomePage, home_page
from stenograph.views.pages.timeline_tools import tool_step
from stenograph.web.session_pages import html_answer, number_of, page_context

if TYPE_CHECKING:
    from stenograph.index import Tick
    from stenograph.sessions import SessionInfo
    from stenograph.turns import Turn
    from stenograph.web.questions import Questions


async def home(request: Request) -> Response:
    context, asked = page_context(request), request.query_params
    query = HomeQuery(
        project=asked.get("project", ""),
        status=asked.get("status", ""),
        tag=asked.get("tag", ""),
        words=asked.get("q", "")[:400],
        hidden=asked.get("hidden", ""),
        expiring=bool(number_of(request, "expiring")),
        sort=found if (found := asked.get("sort", "last")) in SORTS else "last",
        page=max(1, number_of(request, "page")),
    )
    return await html_answer(request, lambda questions: render_home(ask_home(questions, query), context))


def ask_home(questions: Questions, query: HomeQuery) -> ViewerHomePage:
    listing = list_sessions(questions.homes, everything=True, turns=False, active_seconds=questions.config.active_seconds)
    page = home_page(listing, query, ticks=_ticks, live=lambda running: _live(questions, running))
    return mask_page(page, questions.masker.mask)


def _ticks(paths: Sequence[Path]) -> Mapping[Path, Sequence[Tick]]:
    """From the index as it is: the list does not wait for it."""
    store = open_store(store_path(os.environ))
    with contextlib.closing(store):
        return session_ticks(store, paths)


def _live(questions: Questions, running: Iterable[SessionInfo]) -> Iterator[LivePage]:
    for info in running:
        try:
            session = questions.load(info.id)
        except StenographError:
            continue  # it was deleted, or can't be read: its row says so
        turn = session.turns[-1] if session.turns else None
        yield LivePage(
            id=info.id,
            title=info.title,
            project=info.cwd,
            turn=turn.number if turn else 1,
            step=_step(turn) if turn else "",
            since=turn.started if turn else None,
            context=_context(turn) if turn else None,
            text=turn.answer if turn else "",
        )


def _step(turn: Turn) -> str:
    if not turn.tool_calls or turn.tool_calls[-1].answered:
        return ""
    step = tool_step(turn.tool_calls[-1], is_live=True)
    return f"{step.name} {step.title}".strip()


def _context(turn: Turn) -> int | None:
    for call in reversed(turn.calls):
        tokens = call.tokens
        if sent := tokens.input + tokens.cache_read + tokens.cache_write:
            return sent
    return None
