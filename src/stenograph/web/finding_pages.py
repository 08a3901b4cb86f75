"""Search, usage and health."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from anyio.to_thread import run_sync
from msgspec.structs import replace
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from stenograph.errors import UsageError
from stenograph.views import tape_letters, usage_csv
from stenograph.views.html import SearchAsked, render_health, render_search, render_stats, render_usage
from stenograph.web.answers import tagged_response
from stenograph.web.parameters import CheckQuery, ScopeQuery, SearchQuery, UsageQuery, read_query
from stenograph.web.session_pages import html_answer, page_context

if TYPE_CHECKING:
    from stenograph.web.questions import Library

_MOST_SESSIONS = 200
#: Resuming is worked out for the newest sessions.
_MOST_RESUMED = 30
_LINES, _MORE_LINES = 5, 50


def finding_routes() -> list[Route]:
    return [
        Route("/search", search),
        Route("/usage", usage),
        Route("/usage.csv", usage_table),
        Route("/stats", stats),
        Route("/health", health),
    ]


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
                    tool=asked.tool or None,
                    since=asked.since or None,
                    newest=bool(asked.newest),
                    facets=True,
                    errors=bool(asked.errors),
                    limit=min(_MOST_SESSIONS, int(asked.limit)) if asked.limit.isdecimal() else 20,
                    lines=_MORE_LINES if asked.lines else _LINES,
                )
            )
        except UsageError as error:
            return render_search(None, asked, context, problem=str(error))
        paths = [Path(hit.path) for hit in page.hits]
        tapes = {str(path): tape_letters(ticks) for path, ticks in questions.ticks(paths).items()}
        return render_search(page, asked, context, tapes=tapes)

    return await html_answer(request, render)


_DEFAULTS: dict[str, str] = {name: getattr(SearchAsked(), name) for name in SearchAsked.__struct_fields__}


def _usage_query(request: Request, since: str) -> UsageQuery:
    """Raises RequestError."""
    asked = {"by": request.query_params.get("by", "day")} | ({} if since == "all" else {"since": since})
    return read_query(QueryParams(asked), UsageQuery)


async def usage(request: Request) -> Response:
    context, since = page_context(request), request.query_params.get("since", "30d")
    over_time = _usage_query(request, since)

    def render(questions: Library) -> str:
        projects = questions.usage(replace(over_time, by="project"))
        sessions = questions.usage(replace(over_time, by="session"))
        days = questions.usage(replace(over_time, by="day"))
        return render_usage(
            questions.usage(over_time),
            projects,
            sessions,
            context,
            since=since,
            days=days,
            reconciled=questions.reconciliation(over_time),
            waste=questions.waste(over_time),
        )

    return await html_answer(request, render)


async def usage_table(request: Request) -> Response:
    """The rows of the usage page, to be opened in a spreadsheet."""
    over_time = _usage_query(request, request.query_params.get("since", "30d"))
    text = await run_sync(lambda: "".join(f"{line}\n" for line in usage_csv(request.app.state.questions.usage(over_time))))
    answer = tagged_response(request, text.encode(errors="replace"), "text/csv; charset=utf-8")
    answer.headers["content-disposition"] = f'attachment; filename="usage-by-{over_time.by}.csv"'
    return answer


async def stats(request: Request) -> Response:
    context, since = page_context(request), request.query_params.get("since", "30d")
    scope = read_query(QueryParams({} if since == "all" else {"since": since}), ScopeQuery)

    def render(questions: Library) -> str:
        return render_stats(questions.stats(scope), context, since=since, titles=_titles(questions))

    return await html_answer(request, render)


def _titles(questions: Library) -> dict[str, str]:
    return {info.id: questions.masker.mask(info.title) for info in questions.listing().sessions if info.title}


async def health(request: Request) -> Response:
    context = page_context(request)

    def render(questions: Library) -> str:
        listed = questions.listing().sessions
        newest = [info.path for info in listed if info.hidden is None][:_MOST_RESUMED]
        page = replace(questions.check(CheckQuery()), resume=questions.check_resuming(newest))
        portable = questions.find_portable(page)
        return render_health(
            page,
            context,
            titles=_titles(questions),
            archive=questions.kept(),
            sessions={info.path.stem for info in listed},
            portable=portable.saved,
            unknown=portable.unknown,
        )

    return await html_answer(request, render)
