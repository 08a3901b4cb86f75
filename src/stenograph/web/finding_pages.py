"""Search and health."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from stenograph.errors import UsageError
from stenograph.views.html import SearchAsked, render_health, render_search
from stenograph.web.parameters import CheckQuery, SearchQuery
from stenograph.web.session_pages import html_answer, page_context

if TYPE_CHECKING:
    from stenograph.web.questions import Questions

_MOST_SESSIONS = 200
_LINES, _MORE_LINES = 5, 50


def finding_routes() -> list[Route]:
    return [Route("/search", search), Route("/health", health)]


async def search(request: Request) -> Response:
    context, given = page_context(request), request.query_params
    asked = SearchAsked(**{name: given.get(name, default)[:400] for name, default in _DEFAULTS.items()})

    def render(questions: Questions) -> str:
        if not asked.q.strip():
            return render_search(None, asked, context)
        try:
            page = questions.search(
                SearchQuery(
                    q=asked.q,
                    kinds=asked.kinds,
                    project=asked.project or None,
                    since=asked.since or None,
                    errors=bool(asked.errors),
                    limit=min(_MOST_SESSIONS, int(asked.limit)) if asked.limit.isdecimal() else 20,
                    lines=_MORE_LINES if asked.lines else _LINES,
                )
            )
        except UsageError as error:
            return render_search(None, asked, context, problem=str(error))
        return render_search(page, asked, context)

    return await html_answer(request, render)


_DEFAULTS: dict[str, str] = {name: getattr(SearchAsked(), name) for name in SearchAsked.__struct_fields__}


async def health(request: Request) -> Response:
    context = page_context(request)

    def render(questions: Questions) -> str:
        titles = {row.id: row.title for row in questions.titles()}
        return render_health(questions.check(CheckQuery()), context, titles=titles)

    return await html_answer(request, render)
