"""The HTML pages: an address -> a question -> a page value, rendered."""

from __future__ import annotations

from starlette.convertors import Convertor, register_url_convertor
from starlette.routing import Route

from stenograph.web.finding_pages import finding_routes
from stenograph.web.home_pages import home
from stenograph.web.session_pages import session_routes
from stenograph.web.static_files import static_routes
from stenograph.web.tab_pages import tab_routes


class _NumberConvertor(Convertor[int]):
    """A number of nine digits at most: Python refuses to read very long ones."""

    regex = "[0-9]{1,9}"

    def convert(self, value: str) -> int:
        return int(value)

    def to_string(self, value: int) -> str:
        return str(value)


def html_routes() -> list[Route]:
    register_url_convertor("int", _NumberConvertor())
    return [Route("/", home), *session_routes(), *tab_routes(), *finding_routes(), *static_routes()]
