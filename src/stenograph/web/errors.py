"""What a request can fail with: one status, one code that programs can compare, one sentence. Never text of a session."""

from __future__ import annotations

from stenograph.errors import (
    AmbiguousSessionError,
    BusyError,
    DiskError,
    RecordError,
    SessionNotFoundError,
    StenographError,
    UsageError,
)
from stenograph.views import ErrorPage


class RequestError(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: int, code: str, detail: str, *, allow: str = "") -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        #: With 405: the methods that the address has.
        self.allow = allow

    @property
    def page(self) -> ErrorPage:
        return ErrorPage(status=self.status, code=self.code, detail=self.detail)


_STATUS: tuple[tuple[type[StenographError], int, str], ...] = (
    (SessionNotFoundError, 404, "session-not-found"),
    (AmbiguousSessionError, 409, "ambiguous-session"),
    (UsageError, 400, "invalid-request"),
    (BusyError, 409, "busy"),
    (DiskError, 503, "unreadable"),
    (RecordError, 422, "unusable-record"),
)


def request_error(error: StenographError) -> RequestError:
    """What a library error is to a client of the server."""
    for kind, status, code in _STATUS:
        if isinstance(error, kind):
            return RequestError(status, code, str(error).partition("\n")[0])
    return RequestError(500, "failed", str(error).partition("\n")[0])
