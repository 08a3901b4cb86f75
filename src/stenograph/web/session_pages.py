"""The pages of one session: the timeline by chunks, one step."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, TypeVar

from anyio.to_thread import run_sync
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from stenograph.sessions import choose_branch
from stenograph.views import Timeline, find_step, mask_page, render_markdown
from stenograph.views.html import PageContext, render_session, render_step, render_turns
from stenograph.web.answers import tagged_response
from stenograph.web.errors import RequestError
from stenograph.web.parameters import FilesQuery
from stenograph.web.security import CSRF_HEADER
from stenograph.web.static_files import static_version

if TYPE_CHECKING:
    from stenograph.turns import Session
    from stenograph.views import TimelinePage
    from stenograph.web.questions import Library

T = TypeVar("T")
#: Chunks that the first page has, around the turn that was asked for.
_FIRST_CHUNKS = 2
_KEPT = 8
#: Bytes of a session whose changed files are listed beside it; of a larger one they are a page away.
LARGEST_COMPARED = 8_000_000


def session_routes() -> list[Route]:
    return [
        Route("/s/{session_id}", session),
        Route("/s/{session_id}/chunks/{chunk:int}", chunk),
        Route("/s/{session_id}/steps/{step}", step),
        Route("/s/{session_id}/markdown", markdown),
    ]


async def html_answer(request: Request, render: Callable[[Library], str]) -> Response:
    """A page, made once for all who ask for the same one while the session does not change."""
    library: Library = request.app.state.questions
    session_id = request.path_params.get("session_id")

    def make() -> bytes:
        return render(library).encode(errors="replace")

    def answer() -> bytes:
        asked = request.url.path, request.url.query, request.cookies.get("steno_theme")
        return library.answer(session_id, asked, make)

    return for_scripts(request, tagged_response(request, await run_sync(answer), "text/html; charset=utf-8"))


def for_scripts(request: Request, answer: Response) -> Response:
    """With what our own scripts know it by: another server on this port, once we ended, cannot send that."""
    answer.headers[CSRF_HEADER] = request.app.state.access.csrf
    return answer


def page_context(request: Request) -> PageContext:
    theme = request.cookies.get("steno_theme", "")
    return PageContext(
        root=request.scope.get("root_path", ""),
        theme=theme if theme in ("light", "dark") else "",
        csrf=request.app.state.access.csrf,
        live=request.app.state.questions.running,
        allow_edits=request.app.state.viewer.allow_edits,
        version=static_version(),
        program=request.app.state.viewer.program,
    )


def number_of(request: Request, name: str) -> int:
    """A number of the query, 0 where there is none. Raises RequestError."""
    text = request.query_params.get(name, "0")
    if not text.isdecimal() or len(text) > 9:
        raise RequestError(400, "bad-request", f'"{name}" is not a number')
    return int(text)


class Timelines:
    """Timelines of sessions, kept as long as the session is the same, and what the index knows of its calls."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, int], tuple[Session, Collection[int], Timeline]] = OrderedDict()

    def get(self, session: Session, branch: int, copies: Collection[int]) -> Timeline:
        """Raises RequestError for a branch that is not there."""
        kept = self._kept.get((session.id, branch))
        if kept and kept[0] is session and kept[1] == copies:
            return kept[2]
        if branch > len(session.branches):
            raise RequestError(404, "branch-not-found", f"the session has no branch {branch}")
        timeline = Timeline(session, choose_branch(session, branch or None), title=session.title, copies=copies)
        self._kept[(session.id, branch)] = (session, copies, timeline)
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return timeline


_TIMELINES = Timelines()


def timeline_of(questions: Library, session_id: str, branch: int = 0) -> Timeline:
    """Raises SessionNotFoundError, UnreadableError."""
    return _TIMELINES.get(questions.load(session_id), branch, questions.copies(session_id))


def as_asked(page: TimelinePage, request: Request) -> TimelinePage:
    """With the id under which it was asked for: of a file that is not named by its session, the lines name another one."""
    return replace(page, session=replace(page.session, id=request.path_params["session_id"]))


async def session(request: Request) -> Response:
    context, branch, turn = page_context(request), number_of(request, "branch"), number_of(request, "turn")
    part, line = number_of(request, "chunk"), number_of(request, "line")
    full = bool(number_of(request, "full"))

    def render(questions: Library) -> str:
        offered = replace(context, allow_edits=questions.is_editable(request.path_params["session_id"]))
        if not (full or branch or part) and (preview := questions.preview(request.path_params["session_id"], turn)):
            return render_session(as_asked(preview, request), offered)
        timeline = timeline_of(questions, request.path_params["session_id"], branch)
        wanted = timeline.chunk_of_line(turn, line) if line else timeline.chunk_of(turn)
        first = wanted if turn else min(part, max(0, len(timeline.chunks) - 1))
        page = timeline.page(first, first + _FIRST_CHUNKS - 1)
        changed = None
        if page.size <= LARGEST_COMPARED:
            changed = questions.files(request.path_params["session_id"], FilesQuery(changed=True)).files
        deleted = questions.deleted(request.path_params["session_id"])
        shown = as_asked(mask_page(page, questions.masker.mask), request)
        return render_session(shown, offered, changed=changed, deleted=deleted)

    return await html_answer(request, render)


async def chunk(request: Request) -> Response:
    context, branch, number = page_context(request), number_of(request, "branch"), request.path_params["chunk"]

    def render(questions: Library) -> str:
        timeline = timeline_of(questions, request.path_params["session_id"], branch)
        if number >= len(timeline.chunks):
            raise RequestError(404, "not-found", "the session has no such part")
        return render_turns(as_asked(mask_page(timeline.page(number, number), questions.masker.mask), request), context)

    return await html_answer(request, render)


async def step(request: Request) -> Response:
    context, full = page_context(request), bool(number_of(request, "full"))

    def render(questions: Library) -> str:
        session_id = request.path_params["session_id"]
        found = find_step(questions.load(session_id), request.path_params["step"])
        if found is None:
            raise RequestError(404, "not-found", "the session has no such step")
        return render_step(mask_page(found, questions.masker.mask), session_id, context, full=full)

    return await html_answer(request, render)


async def markdown(request: Request) -> Response:
    """The branch, or one turn of it, as Markdown: what the pages copy."""
    branch, turn = number_of(request, "branch"), number_of(request, "turn")

    def render(questions: Library) -> str:
        timeline = timeline_of(questions, request.path_params["session_id"], branch)
        first = timeline.chunk_of(turn) if turn else 0
        last = timeline.last_chunk_of(turn) if turn else None
        page = mask_page(timeline.page(first, last), questions.masker.mask)
        return render_markdown(page, turn or None)

    text = await run_sync(render, request.app.state.questions)
    return for_scripts(request, tagged_response(request, text.encode(errors="replace"), "text/markdown; charset=utf-8"))
