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
from stenograph.web.session_pages import session_routes

if TYPE_CHECKING:
    from stenograph.web.questions import Questions

T = TypeVar("T")


def html_routes() -> list[Route | Mount]:
    return [
        Route("/", home),
        *session_routes(),
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


def _document(request: Request, title: str, body: str) -> Response:
    text = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>{body}</html>\n'
    return tagged_response(request, text.encode(errors="replace"), "text/html; charset=utf-8")
