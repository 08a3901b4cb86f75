"""Values -> responses: pages as JSON with an ETag, errors as JSON or as a small page."""

from __future__ import annotations

import hashlib
import secrets
from html import escape
from http import HTTPStatus
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import Scope

from stenograph.views import Document, encode_page
from stenograph.web.errors import RequestError

if TYPE_CHECKING:
    from stenograph.views.html import PageContext

#: Placeholders of secrets differ from server to server, so what an earlier one sent is not the same.
_SERVER = secrets.token_bytes(8)


def json_response(request: Request, page: Document, status: int = 200) -> Response:
    """A page as JSON; 304 without it where the client has it already."""
    return tagged_response(request, encode_page(page), "application/json", status)


def tagged_response(request: Request, body: bytes, media_type: str, status: int = 200) -> Response:
    tag = f'"{hashlib.blake2b(body, key=_SERVER, digest_size=12).hexdigest()}"'
    headers = {"etag": tag}
    if status == HTTPStatus.OK and request.method in ("GET", "HEAD") and _has(request, tag):
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    return Response(body, status, headers, media_type)


def _has(request: Request, tag: str) -> bool:
    known = [each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(",")]
    return tag in known


def error_page(request: Request, error: RequestError, context: PageContext) -> Response:
    """An error for who is let in: a document for programs, a page for people."""
    if request.scope["path"].startswith("/api/"):
        return error_response(request.scope, error)
    from stenograph.views.html import render_error

    headers = {"allow": error.allow} if error.allow else {}
    heading = _HEADINGS.get(error.code) or HTTPStatus(error.status).phrase
    return HTMLResponse(render_error(heading, error.detail, context), error.status, headers)


_HEADINGS = {
    "session-not-found": "No such session",
    "branch-not-found": "No such branch",
    "agent-not-found": "No such subagent",
    "not-found": "Nothing here",
    "busy": "The session is in use",
    "unreadable": "The session cannot be read",
    "outside": "Not shown",
    "failed": "Something went wrong",
}


def error_response(scope: Scope, error: RequestError) -> Response:
    """The same for who is not: no style, no link that would not work."""
    headers = {"allow": error.allow} if error.allow else {}
    if scope["path"].startswith("/api/"):
        return Response(encode_page(error.page), error.status, headers, "application/json")
    words = HTTPStatus(error.status).phrase
    body = f'<meta name="color-scheme" content="light dark"><title>{words}</title>'
    body += f"<main><h1>{words}</h1><p>{escape(error.detail)}</p></main>"
    return HTMLResponse(_DOCUMENT.format(body), error.status, headers)


def landing_response(target: str, cookie: str) -> Response:
    """Lets a browser in and takes it to the address without the token.

    By a page and not by a redirect: a browser that came from another site's link does not send a strict cookie to where it is
    redirected.
    """
    body = f'<meta http-equiv="refresh" content="0;url={escape(target)}"><title>Stenograph</title>'
    body += f'<p><a href="{escape(target)}">Open the viewer</a></p>'
    return HTMLResponse(_DOCUMENT.format(body), headers={"set-cookie": cookie, "cache-control": "no-store"})


_DOCUMENT = '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">{}</html>\n'
