"""The HTML pages: an address -> a question -> a page value, rendered."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from stenograph.web.answers import tagged_response

if TYPE_CHECKING:
    from stenograph.web.questions import Questions

T = TypeVar("T")


def html_routes() -> list[Route | Mount]:
    return [
        Route("/", home),
        Route("/s/{session_id}", session),
        Mount("/static", StaticFiles(directory=Path(__file__).parent / "static", check_dir=False)),
    ]


async def ask(request: Request, question: Callable[[Questions], T]) -> T:
    questions: Questions = request.app.state.questions
    return await run_sync(question, questions)


async def home(request: Request) -> Response:
    page = await ask(request, lambda questions: questions.sessions(limit=100))
    rows = "".join(
        f'<li><a href="/s/{quote(row.id, safe="")}">{escape(row.title or row.id)}</a> '
        f"{escape(row.project or '')} {row.status} {row.last_record:%Y-%m-%d %H:%M}</li>"
        for row in page.sessions
    )
    return _document(request, "Sessions", f"<h1>Sessions</h1><ul>{rows}</ul>")


async def session(request: Request) -> Response:
    session_id = request.path_params["session_id"]
    page = await ask(request, lambda questions: questions.session(session_id))
    turns = "".join(
        f'<section id="t{turn.number}"><h2>Turn {turn.number}</h2>'
        + "".join(f"<pre>{escape(text)}</pre>" for part in turn.parts if (text := getattr(part, "text", "")))
        + "</section>"
        for turn in page.turns
    )
    title = page.session.title or page.session.id
    return _document(request, title, f"<h1>{escape(title)}</h1>{turns}")


def _document(request: Request, title: str, body: str) -> Response:
    text = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>{body}</html>\n'
    return tagged_response(request, text.encode(errors="replace"), "text/html; charset=utf-8")
