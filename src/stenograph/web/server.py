"""The application, and the process that serves it on the loopback interface."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import logging
import sys
import threading
from collections.abc import Callable
from typing import Any

import uvicorn
from anyio.to_thread import current_default_thread_limiter
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from stenograph.errors import StenographError
from stenograph.net import loopback_listener
from stenograph.web.answers import error_page
from stenograph.web.api import api_routes
from stenograph.web.connections import LONGEST_INCOMPLETE_HEAD, BrowserConnection
from stenograph.web.errors import RequestError, request_error
from stenograph.web.live import Hub
from stenograph.web.questions import Library
from stenograph.web.routes import html_routes
from stenograph.web.security import Access, Guard
from stenograph.web.session_pages import page_context
from stenograph.web.shelf import Viewer

#: Connections that are accepted before any of them is read.
_BACKLOG = 128
#: Seconds that open connections get when the server stops.
_FAREWELL = 1
_THREADS = 8
_TURN_SECONDS = 0.001
_GARBAGE = (20_000, 10, 5)
#: glibc's number for how many arenas `malloc` keeps, and how many are enough for threads that take turns.
_M_ARENA_MAX, _ARENAS = -8, 2


def create_app(viewer: Viewer, access: Access, library: Library | None = None) -> ASGIApp:
    """The application behind its guard."""
    app = Starlette(
        routes=[*api_routes(), *html_routes()],
        exception_handlers={
            RequestError: _refuse,
            StenographError: _explain,
            HTTPException: _not_found,
            Exception: _fail,
        },
    )
    app.state.questions = library or Library(viewer)
    app.state.hub = Hub(app.state.questions.masker.mask, app.state.questions.boundary.contains)
    app.state.viewer = viewer
    app.state.access = access
    return Guard(app, access)


async def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestError)
    return error_page(request, error, page_context(request))


async def _explain(request: Request, error: Exception) -> Response:
    assert isinstance(error, StenographError)
    return error_page(request, request_error(error), page_context(request))


async def _not_found(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        refused = RequestError(405, "method-not-allowed", "this address does not take that method")
        refused.allow = (error.headers or {}).get("Allow", "")
    else:
        refused = RequestError(error.status_code, "not-found", "there is nothing at this address")
    return error_page(request, refused, page_context(request))


async def _fail(request: Request, error: Exception) -> Response:
    # Not the error's text: it may hold what a transcript says. Starlette raises the error again, for the log.
    failed = RequestError(500, "failed", f"unexpected error {type(error).__name__} (STENO_DEBUG=1 prints the traceback)")
    return error_page(request, failed, page_context(request))


def _ignore() -> None:
    pass


def serve(viewer: Viewer, *, port: int = 0, started: Callable[[Access], None], stopped: Callable[[], None] = _ignore) -> None:
    """Serve until Ctrl-C; `started` is called once requests are taken, `stopped` when no more are, also before a signal ends the
    process. Raises UsageError where the port is taken."""
    with loopback_listener(port) as listener:
        Server(viewer, Access(listener.getsockname()[1]), started, stopped).run(sockets=[listener])


class Server(uvicorn.Server):
    """Serves one viewer; setting `should_exit` stops it."""

    def __init__(
        self, viewer: Viewer, access: Access, started: Callable[[Access], None], stopped: Callable[[], None] = _ignore
    ) -> None:
        self._access = access
        self._library = Library(viewer)
        self._started = started
        self._stopped = stopped
        for name in ("uvicorn", "uvicorn.error"):
            logging.getLogger(name).disabled = not viewer.debug
        super().__init__(
            uvicorn.Config(
                create_app(viewer, access, self._library),
                access_log=False,
                backlog=_BACKLOG,
                h11_max_incomplete_event_size=LONGEST_INCOMPLETE_HEAD,
                http=BrowserConnection,
                lifespan="off",
                log_config=None,
                proxy_headers=False,
                server_header=False,
                timeout_graceful_shutdown=_FAREWELL,
                ws="none",
            )
        )

    def _prepare(self) -> None:
        """What the first pages need: the list, and what renders pages."""
        from stenograph.views import HomeQuery
        from stenograph.views.html import PageContext, compile_templates, render_home
        from stenograph.web.home_pages import ask_home

        compile_templates()
        # Who asks meanwhile is told of an error; a list that is read ahead is missed by nobody.
        with contextlib.suppress(StenographError, RequestError):
            render_home(ask_home(self._library, HomeQuery()), PageContext())

    async def startup(self, sockets: Any = None) -> None:
        # Commands end soon and hardly look for garbage; sessions that were loaded and replaced would stay for long.
        gc.set_threshold(*_GARBAGE)
        _share_arenas()
        # Threads that compute take turns with this one, which sends: few of them, and short turns.
        sys.setswitchinterval(_TURN_SECONDS)
        current_default_thread_limiter().total_tokens = _THREADS
        await super().startup(sockets)
        # The list of sessions is read while the browser starts.
        threading.Thread(target=self._prepare, daemon=True, name="steno-list").start()
        self._started(self._access)

    async def shutdown(self, sockets: Any = None) -> None:
        self._stopped()
        await super().shutdown(sockets)
        self._library.close()


def _share_arenas() -> None:
    """With an arena for each thread, what replaced sessions leave behind in them adds up: after ten minutes of a live session
    it was three times what the session needs. Other C libraries have no such setting."""
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _ARENAS)
