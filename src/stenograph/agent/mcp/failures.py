"""What went wrong with a server, in a line."""

from __future__ import annotations

#: Of a server that wants a login, and what the user can do.
NEEDS_LOGIN = "needs authentication: use /mcp in the console (steno agent)"


class LoginNeeded(Exception):  # noqa: N818 - a state of the server, not an error of the program
    """The server wants a login, and there is none that it accepts."""

    def __init__(self) -> None:
        super().__init__(f"it {NEEDS_LOGIN}")


def cause_of(error: BaseException) -> BaseException:
    """The SDK raises groups of exceptions; the first in them is the cause."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
