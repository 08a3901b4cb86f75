"""Style, scripts and the icon: read once, and sent from memory.

Their address has a version that changes with them, so a browser keeps them and asks no more. Scripts import each other by
relative addresses, which have it too.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from stenograph.web.answers import tagged_response
from stenograph.web.errors import RequestError

_FOLDER = Path(__file__).parent / "static"
_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
_ASKED = "private, no-cache"
_FOREVER = "private, max-age=31536000, immutable"


@cache
def _files() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(_FOLDER.iterdir()) if path.suffix in _TYPES}


@cache
def static_version() -> str:
    digest = hashlib.blake2b(digest_size=8)
    for name, data in _files().items():
        digest.update(f"{name} {len(data)} ".encode() + data)
    return digest.hexdigest()


def static_routes() -> list[Route]:
    return [
        Route("/static/{name}", static),
        Route("/static/{version}/{name}", static),
        Route("/favicon.ico", icon),
    ]


async def static(request: Request) -> Response:
    answer = _answer(request, request.path_params["name"])
    if request.path_params.get("version") == static_version():
        answer.headers["cache-control"] = _FOREVER
    return answer


async def icon(request: Request) -> Response:
    """What a browser asks for where a page names no icon."""
    return _answer(request, "icon.svg")


def _answer(request: Request, name: str) -> Response:
    """Raises RequestError."""
    data = _files().get(name)
    if data is None:
        raise RequestError(404, "not-found", "there is nothing at this address")
    answer = tagged_response(request, data, _TYPES[Path(name).suffix])
    answer.headers["cache-control"] = _ASKED
    return answer


def export_styles() -> str:
    """The style of a session that is saved as one file."""
    return "\n".join(_files()[name].decode() for name in ("icons.css", "style.css"))
