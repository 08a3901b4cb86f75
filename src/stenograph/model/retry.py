"""Which failures are retried, and after how long. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from stenograph.errors import ModelError
from stenograph.net import read_number, read_retry_after

FIRST_WAIT = 0.5
LONGEST_WAIT = 32.0
#: The share of a wait that is random, so that clients don't return all at once.
JITTER = 0.25
#: Seconds. A longer retry-after ends the request.
LONGEST_RETRY_AFTER = 3_600.0

_TEMPORARY_STATUSES = frozenset({408, 409, 429})
#: In the middle of a stream. `invalid_request_error` and the like would recur.
_TEMPORARY_KINDS = frozenset({"overloaded_error", "api_error", "rate_limit_error", "timeout_error"})


class RequestFailure(Struct, frozen=True):
    error: ModelError
    #: A retry may help.
    is_temporary: bool


def is_status_temporary(status: int, headers: Mapping[str, str]) -> bool:
    """By status; the endpoint's `x-should-retry` wins."""
    said = headers.get("x-should-retry", "").strip().lower()
    if said in ("true", "false"):
        return said == "true"
    return status in _TEMPORARY_STATUSES or status >= 500


def is_temporary_in_stream(kind: str) -> bool:
    return kind in _TEMPORARY_KINDS


def asked_wait(headers: Mapping[str, str], *, now: float) -> float | None:
    """Seconds that the endpoint asks for. `now`: seconds since 1970."""
    if (milliseconds := read_number(headers.get("retry-after-ms", ""))) is not None:
        return milliseconds / 1000
    return read_retry_after(headers.get("retry-after", ""), now=now)


def wait_before(attempt: int, retry_after: float | None, chance: float) -> float:
    """Seconds before retry `attempt` (from 1). `chance` is between 0 and 1."""
    if retry_after is not None:
        return retry_after
    doubled = FIRST_WAIT * 2.0 ** min(attempt - 1, 16)
    return min(doubled, LONGEST_WAIT) * (1 - JITTER * chance)
