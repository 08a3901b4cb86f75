"""The JSON API, version 1: a table of questions, from which the routes and the API's document are made."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any, TypeAlias
from urllib.parse import quote, urlencode

import msgspec
from anyio.to_thread import run_sync
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from stenograph.views import (
    CheckPage,
    Document,
    EditPage,
    EditsPage,
    FilesPage,
    LostPage,
    MessagesPage,
    OverviewPage,
    RecordPage,
    RecordsPage,
    ResumePage,
    SearchPage,
    SecretPage,
    SessionPage,
    SessionsPage,
    StatsPage,
    StepsPage,
    SummaryPage,
    TurnsPage,
    UndoPage,
    UsagePage,
    WastePage,
    encode_page,
)
from stenograph.web.answers import json_response, tagged_response
from stenograph.web.errors import RequestError
from stenograph.web.live import session_events
from stenograph.web.parameters import (
    CheckQuery,
    EditBody,
    FilesQuery,
    MessagesQuery,
    NoQuery,
    Parameters,
    RecordQuery,
    RecordsQuery,
    ReleaseQuery,
    RevealBody,
    ScopeQuery,
    SearchQuery,
    SessionsQuery,
    StepsQuery,
    TurnsQuery,
    UndoBody,
    UsageQuery,
    read_body,
    read_query,
)
from stenograph.web.questions import Library
from stenograph.web.security import is_from_here

API = "/api/v1"
#: Named in an address, and so given to a question before its parameters.
PATH_PARAMETERS = {"session_id": "The id of a session.", "line": "The number of a line, from 1."}

# Before an answer that is kept: whether more follows it.
_MORE, _LAST = b"+", b"."

Ask: TypeAlias = Callable[..., Document]


class Operation(Struct, frozen=True):
    """One question, or one thing to do."""

    name: str
    path: str
    ask: Ask
    query: type[Parameters]
    answer: type[Document]
    summary: str
    #: The parameter that pages through the answer; empty for an answer that comes whole.
    paged_by: str = ""
    #: For what is done with POST: what the request holds.
    body: type[Parameters] | None = None

    @property
    def method(self) -> str:
        return "GET" if self.body is None else "POST"

    @property
    def is_kept(self) -> bool:
        """Whether the answer is the same as long as the session's files are, or for a moment."""
        return self.body is None and self.name not in ("resume", "edits")

    @property
    def names(self) -> list[str]:
        return [name for name in PATH_PARAMETERS if f"{{{name}}}" in self.path]


_SESSION = "/sessions/{session_id}"
ENDPOINTS = (
    Operation(
        "overview", "/overview", lambda ask, _: ask.overview(), NoQuery, OverviewPage, "Projects, newest sessions, totals."
    ),
    Operation("sessions", "/sessions", Library.sessions, SessionsQuery, SessionsPage, "Sessions, newest first.", "offset"),
    Operation(
        "session",
        _SESSION,
        Library.session,
        TurnsQuery,
        SessionPage,
        "A session to read: heading and some turns.",
        "first",
    ),
    Operation(
        "turns",
        f"{_SESSION}/turns",
        Library.turns,
        TurnsQuery,
        TurnsPage,
        "Turns with calls, tool calls, subagents.",
        "first",
    ),
    Operation("records", f"{_SESSION}/records", Library.records, RecordsQuery, RecordsPage, "The lines of a session.", "first"),
    Operation(
        "record",
        f"{_SESSION}/records/{{line}}",
        Library.record,
        RecordQuery,
        RecordPage,
        "One line as it is in the file.",
    ),
    Operation(
        "steps",
        f"{_SESSION}/steps",
        Library.steps,
        StepsQuery,
        StepsPage,
        "Prompts, answers, calls and results.",
        "offset",
    ),
    Operation(
        "files",
        f"{_SESSION}/files",
        Library.files,
        FilesQuery,
        FilesPage,
        "Files that were read and changed, with diffs.",
    ),
    Operation(
        "messages",
        f"{_SESSION}/messages",
        Library.messages,
        MessagesQuery,
        MessagesPage,
        "What a resume would send.",
        "offset",
    ),
    Operation("summary", f"{_SESSION}/summary", Library.summary, NoQuery, SummaryPage, "What happened, in numbers."),
    Operation("lost", f"{_SESSION}/lost", Library.lost, ReleaseQuery, LostPage, "What a client would lose on resume."),
    Operation("resume", f"{_SESSION}/resume", Library.resume, NoQuery, ResumePage, "The command that resumes a session."),
    Operation(
        "check-session",
        f"{_SESSION}/check",
        Library.check_session,
        NoQuery,
        CheckPage,
        "Damage, drift and losses on resume.",
    ),
    Operation("edits", f"{_SESSION}/edits", Library.edits, NoQuery, EditsPage, "The edits of a session, oldest first."),
    Operation("search", "/search", Library.search, SearchQuery, SearchPage, "Full text over everything that was said and done."),
    Operation("usage", "/usage", Library.usage, UsageQuery, UsagePage, "Tokens and cost, each call counted once."),
    Operation("stats", "/stats", Library.stats, ScopeQuery, StatsPage, "What happened, and what filled the context."),
    Operation("waste", "/waste", Library.waste, ScopeQuery, WastePage, "What was paid for nothing, estimated."),
    Operation("check", "/check", Library.check, CheckQuery, CheckPage, "Damage and drift of all sessions."),
)
ACTIONS = (
    Operation("reveal", "/reveal", Library.reveal, NoQuery, SecretPage, "Show one secret that was masked.", body=RevealBody),
    Operation("edit", f"{_SESSION}/edit", Library.edit, NoQuery, EditPage, "Plan edits, and apply them.", body=EditBody),
    Operation("undo", f"{_SESSION}/undo", Library.undo, NoQuery, UndoPage, "Undo an edit.", body=UndoBody),
)


def api_routes() -> list[BaseRoute]:
    found = [Route(API + endpoint.path, _handler(endpoint), methods=[endpoint.method]) for endpoint in (*ENDPOINTS, *ACTIONS)]
    return [
        *found,
        Route(f"{API}{_SESSION}/events", session_events, methods=["GET"]),
        Route(f"{API}/openapi.json", openapi, methods=["GET"]),
    ]


def _handler(endpoint: Operation) -> Callable[[Request], Any]:
    async def handle(request: Request) -> Response:
        query = read_query(request.query_params, endpoint.query)
        named = [_named(request, name) for name in endpoint.names]
        questions: Library = request.app.state.questions
        if endpoint.body is not None:
            return await _act(request, endpoint, questions, named)

        def make() -> bytes:
            page = endpoint.ask(questions, *named, query)
            return (_MORE if endpoint.paged_by and has_more(page, query) else _LAST) + encode_page(page)

        def ask() -> bytes:
            about = str(named[0]) if named else None
            return questions.answer(about, (endpoint.name, *named, query), make) if endpoint.is_kept else make()

        made = await run_sync(ask)
        answer = tagged_response(request, made[1:], "application/json")
        if made[:1] == _MORE and answer.status_code == HTTPStatus.OK:
            answer.headers["link"] = _next(request, query, endpoint.paged_by)
        return answer

    return handle


async def _act(request: Request, endpoint: Operation, questions: Library, named: list[Any]) -> Response:
    """Never kept by a browser, and only for who is on this machine."""
    assert endpoint.body is not None
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise RequestError(415, "not-json", "send application/json")
    if not is_from_here(request.scope):
        raise RequestError(403, "not-local", "this works on the same machine only")
    body = read_body(await request.body(), endpoint.body)
    page = await run_sync(lambda: endpoint.ask(questions, *named, body))
    answer = json_response(request, page)
    answer.headers["cache-control"] = "no-store"
    return answer


def _named(request: Request, name: str) -> str | int:
    value: str = request.path_params[name]
    if name != "line":
        return value
    if not (value.isascii() and value.isdecimal() and 0 < len(value) < 10 and int(value)):
        raise RequestError(400, "invalid-parameter", "a line must be a number, 1 or more")
    return int(value)


def has_more(page: Document, query: Parameters) -> bool:
    """Whether something follows what is on a page."""
    match page, query:
        case SessionsPage(), _:
            return page.older > 0
        case SessionPage(), TurnsQuery():
            return query.first + query.limit <= page.session.turns
        case TurnsPage(), TurnsQuery():
            return len(page.turns) == query.limit
        case RecordsPage(), RecordsQuery():
            return query.first + len(page.records) <= page.total
        case StepsPage(), StepsQuery():
            return query.offset + len(page.steps) < page.total
        case MessagesPage(), MessagesQuery():
            return len(page.messages) == query.limit
        case _:
            return False


def _next(request: Request, query: Parameters, name: str) -> str:
    """The header that names the next page."""
    behind = getattr(query, name) + query.limit  # type: ignore[attr-defined]
    parameters = {**dict(request.query_params), name: behind}
    # A session's id is a file's name, which may have any letters.
    return f'<{quote(request.scope["path"])}?{urlencode(parameters)}>; rel="next"'


async def openapi(request: Request) -> Response:
    from stenograph.web.openapi import openapi_document

    return tagged_response(request, msgspec.json.encode(openapi_document()), "application/json")
