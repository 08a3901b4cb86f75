"""The HTML pages: an address -> a question -> a page value, rendered."""

from __future__ import annotations

from pathlib import Path

from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from stenograph.web.home_pages import home
from stenograph.web.session_pages import session_routes


def html_routes() -> list[Route | Mount]:
    return [
        Route("/", home),
        *session_routes(),
        Mount("/static", StaticFiles(directory=Path(__file__).parent / "static", check_dir=False)),
    ]
