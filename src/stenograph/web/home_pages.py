"""The first page: all sessions of the homes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from stenograph.errors import StenographError
from stenograph.pricing import window_of_calls
from stenograph.sessions import SORTS
from stenograph.views import HomeQuery, LivePage, ViewerHomePage, home_page, mask_page, tool_step
from stenograph.views.html import render_home
from stenograph.web.errors import RequestError
from stenograph.web.session_pages import html_answer, number_of, page_context

if TYPE_CHECKING:
    from stenograph.sessions import SessionInfo
    from stenograph.turns import Turn
    from stenograph.web.questions import Library


async def home(request: Request) -> Response:
    asked = request.query_params
    query = HomeQuery(
        project=asked.get("project", ""),
        status=asked.get("status", ""),
        tag=asked.get("tag", ""),
        words=asked.get("q", "")[:400],
        hidden=asked.get("hidden", ""),
        expiring=bool(number_of(request, "expiring")),
        sort=found if (found := asked.get("sort", "last")) in (*SORTS, "cost") else "last",
        page=max(1, number_of(request, "page")),
    )

    def render(questions: Library) -> str:
        page = ask_home(questions, query)
        # How many sessions are running is known now.
        return render_home(page, page_context(request))

    return await html_answer(request, render)


def ask_home(questions: Library, query: HomeQuery) -> ViewerHomePage:
    listing = questions.listing()
    page = home_page(
        listing,
        query,
        counted=questions.counted,
        drawn=questions.drawn,
        costs=questions.costs,
        expiring=questions.expiring(),
        live=lambda running: _live(questions, running),
    )
    return mask_page(page, questions.masker.mask)


def _live(questions: Library, running: Iterable[SessionInfo]) -> Iterator[LivePage]:
    for info in running:
        try:
            session = questions.load(info.id)
        except (StenographError, RequestError):
            continue  # it was deleted, can't be read or leads elsewhere: its row says so
        turn = session.turns[-1] if session.turns else None
        sent = [(call.model, each) for turn in session.turns for call in turn.calls if (each := call.tokens.prompt)]
        step, since = _running_step(turn) if turn else ("", None)
        yield LivePage(
            id=info.id,
            title=info.title,
            project=info.cwd,
            turn=turn.number if turn else 1,
            step=step,
            since=since,
            context=sent[-1][1] if sent else None,
            context_window=window_of_calls(sent),
            text=turn.answer if turn else "",
        )


def _running_step(turn: Turn) -> tuple[str, datetime | None]:
    """What a turn waits for, and since when."""
    if not turn.tool_calls or turn.tool_calls[-1].answered:
        return "", None
    step = tool_step(turn.tool_calls[-1], is_live=True)
    return f"{step.name} {step.title}".strip(), step.at
