"""Search, usage and health."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from stenograph.errors import UsageError
from stenograph.views.html import SearchAsked, render_health, render_search, render_usage
from stenograph.web.parameters import CheckQuery, SearchQuery, UsageQuery, read_query
from stenograph.web.session_pages import html_answer, page_context

if TYPE_CHECKING:
    from stenograph.web.questions import Library

_MOST_SESSIONS = 200
#: Resuming is worked out for the newest sessions: it takes a few hundredths of a second for each.
_MOST_RESUMED = 30
_LINES, _MORE_LINES = 5, 50


def finding_routes() -> list[Route]:
    return [Route("/search", search), Route("/usage", usage), Route("/health", health)]


async def search(request: Request) -> Response:
    context, given = page_context(request), request.query_params
    asked = SearchAsked(**{name: given.get(name, default)[:400] for name, default in _DEFAULTS.items()})

    def render(questions: Library) -> str:
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


async def usage(request: Request) -> Response:
    context, since = page_context(request), request.query_params.get("since", "30d")
    asked = {"by": request.query_params.get("by", "day")} | ({} if since == "all" else {"since": since})
    over_time = read_query(QueryParams(asked), UsageQuery)

    def render(questions: Library) -> str:
        projects = questions.usage(replace(over_time, by="project"))
        sessions = questions.usage(replace(over_time, by="session"))
        return render_usage(
            questions.usage(over_time),
            projects,
            sessions,
            context,
            since=since,
            reconciled=questions.reconciliation(over_time),
            waste=questions.waste(over_time),
        )

    return await html_answer(request, render)


async def health(request: Request) -> Response:
    context = page_context(request)

    def render(questions: Library) -> str:
        titles = {info.id: questions.masker.mask(info.title) for info in questions.listing().sessions if info.title}
        newest = [info.path for info in questions.listing().sessions if info.hidden is None][:_MOST_RESUMED]
        page = replace(questions.check(CheckQuery()), resume=questions.check_resuming(newest))
        return render_health(page, context, titles=titles)

    return await html_answer(request, render)
