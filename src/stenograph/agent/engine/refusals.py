"""What an endpoint means by an error: overloaded, too long, no room for so long an answer."""

from __future__ import annotations

import re

from stenograph.errors import ModelError

# Compiled when an endpoint refuses something.
_TOO_LONG = r"prompt is too long|context (?:window|length|size|limit)|maximum context|too many tokens|input is too long"
#: Input fits, but not with so long an answer: the Messages API, and vLLM.
_NO_ROOM = (
    r"exceed context limit: (?P<input>\d+) \+ \d+ > (?P<window>\d+)",
    r"maximum context length is (?P<window>\d+) tokens and your request has (?P<input>\d+) input tokens",
)
#: Tokens by which endpoints may count differently in the next request.
_MARGIN = 1_000


def is_overloaded(error: ModelError) -> bool:
    return error.status == 529 or error.kind == "overloaded_error"


def is_too_long(error: ModelError) -> bool:
    """Whether a request was refused for its length."""
    return error.status == 413 or (error.status == 400 and bool(re.search(_TOO_LONG, str(error), re.IGNORECASE)))


def room_left(error: ModelError) -> int:
    """Tokens that an endpoint says are left for an answer, after it refused a longer one; 0 if it says nothing of the kind."""
    found = next((match for pattern in _NO_ROOM if (match := re.search(pattern, str(error), re.IGNORECASE))), None)
    return max(0, int(found["window"]) - int(found["input"]) - _MARGIN) if found else 0
