"""The HTML pages: an address -> a question -> a page value, rendered."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from stenograph.web.finding_pages import finding_routes
from stenograph.web.home_pages import home
from stenograph.web.session_pages import session_routes
from stenograph.web.tab_pages import STATIC, tab_routes


async def icon(_: Request) -> Response:
    """What a browser asks for where a page names no icon."""
    return FileResponse(STATIC / "icon.svg")


def html_routes() -> list[Route | Mount]:
    return [
        Route("/", home),
        *session_routes(),
        *tab_routes(),
        *finding_routes(),
        Route("/favicon.ico", icon),
        Mount("/static", StaticFiles(directory=STATIC, check_dir=False)),
    ]
