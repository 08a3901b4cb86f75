"""The HTML pages: an address -> a question -> a page value, rendered."""

from __future__ import annotations

from starlette.routing import Route

from stenograph.web.finding_pages import finding_routes
from stenograph.web.home_pages import home
from stenograph.web.session_pages import session_routes
from stenograph.web.static_files import static_routes
from stenograph.web.tab_pages import tab_routes


def html_routes() -> list[Route]:
    return [Route("/", home), *session_routes(), *tab_routes(), *finding_routes(), *static_routes()]
