"""The other pages of one session: files, messages, records, one record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyio.to_thread import run_sync
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from stenograph.views import export_text, mask_page
from stenograph.views.html import render_files, render_messages, render_raw, render_records, render_resume
from stenograph.web.answers import tagged_response
from stenograph.web.errors import RequestError
from stenograph.web.parameters import FilesQuery, MessagesQuery, NoQuery, RecordQuery, RecordsQuery
from stenograph.web.session_pages import LARGEST_COMPARED, html_answer, number_of, page_context, timeline_of
from stenograph.web.static_files import export_styles

if TYPE_CHECKING:
    from stenograph.views import TimelinePage
    from stenograph.web.questions import Library

_RECORDS = 200
_MESSAGES = 100
#: What a session can be downloaded as.
_FORMS = {
    "html": "text/html; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
    "json": "application/json",
    "zip": "application/zip",
}


def tab_routes() -> list[Route]:
    return [
        Route("/s/{session_id}/files", files),
        Route("/s/{session_id}/messages", messages),
        Route("/s/{session_id}/records", records),
        Route("/s/{session_id}/resume", resume),
        Route("/s/{session_id}/download/{form}", download),
        Route("/s/{session_id}/raw/{line:int}", raw),
    ]


def _heading(questions: Library, session_id: str) -> TimelinePage:
    page = mask_page(timeline_of(questions, session_id).page(0, -1), questions.masker.mask)
    return replace(page, session=replace(page.session, id=session_id))


def _changed(questions: Library, session_id: str, heading: TimelinePage) -> int:
    """How many files were changed, where the timeline says it too."""
    if heading.size > LARGEST_COMPARED:
        return 0
    return len(questions.files(session_id, FilesQuery(changed=True)).files)


async def files(request: Request) -> Response:
    context, session_id, full = page_context(request), request.path_params["session_id"], bool(number_of(request, "full"))

    def render(questions: Library) -> str:
        page = questions.files(session_id, FilesQuery())
        return render_files(page, _heading(questions, session_id), context, full=full)

    return await html_answer(request, render)


async def messages(request: Request) -> Response:
    context, session_id, offset = page_context(request), request.path_params["session_id"], number_of(request, "offset")
    release = request.query_params.get("release")

    def render(questions: Library) -> str:
        page = questions.messages(session_id, MessagesQuery(release=release, offset=offset, limit=_MESSAGES))
        resume = questions.check_session(session_id, NoQuery()).resume
        heading = _heading(questions, session_id)
        changed = _changed(questions, session_id, heading)
        return render_messages(page, heading, context, resume=resume, offset=offset, limit=_MESSAGES, changed=changed)

    return await html_answer(request, render)


async def resume(request: Request) -> Response:
    """What each release would make of a session: a piece that the inspector fetches."""
    context, session_id = page_context(request), request.path_params["session_id"]
    return await html_answer(
        request,
        lambda questions: render_resume(questions.check_session(session_id, NoQuery()).resume, session_id, context),
    )


async def download(request: Request) -> Response:
    """The session as one file."""
    session_id, form = request.path_params["session_id"], request.path_params["form"]
    if form not in _FORMS:
        raise RequestError(404, "not-found", "a session cannot be downloaded in this form")

    def make() -> bytes:
        questions: Library = request.app.state.questions
        session, file = questions.load(session_id), questions.file(session_id)
        family = questions.boundary.family(file.path)
        return b"".join(export_text(session, file, form, questions.masker.mask, export_styles(), family=family))

    answer = tagged_response(request, await run_sync(make), _FORMS[form])
    name = "".join(letter if letter.isalnum() and letter.isascii() else "-" for letter in session_id)[:60]
    answer.headers["content-disposition"] = f'attachment; filename="{name}.{form}"'
    return answer


async def records(request: Request) -> Response:
    context, session_id = page_context(request), request.path_params["session_id"]
    first, agent = max(1, number_of(request, "first")), request.query_params.get("agent")

    def render(questions: Library) -> str:
        page = questions.records(session_id, RecordsQuery(first=first, limit=_RECORDS, agent=agent))
        agents = [found.agent_id for found in questions.boundary.family(questions.file(session_id).path).agents]
        heading = _heading(questions, session_id)
        changed = _changed(questions, session_id, heading)
        return render_records(page, heading, context, agents=agents, limit=_RECORDS, changed=changed)

    return await html_answer(request, render)


async def raw(request: Request) -> Response:
    context, session_id = page_context(request), request.path_params["session_id"]
    line, agent, piece = request.path_params["line"], request.query_params.get("agent"), bool(number_of(request, "piece"))
    return await html_answer(
        request,
        lambda questions: render_raw(questions.record(session_id, line, RecordQuery(agent=agent)), context, piece=piece),
    )
