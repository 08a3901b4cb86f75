"""Regular expressions of a user's making, which must not hang a search: one that takes too long on a text gives up.

The standard library's engine tries exponentially many ways for patterns such as `(a|aa)+$`, and cannot be stopped from another
thread. `regex` takes the same patterns and a limit of time; it is imported only here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stenograph.errors import UsageError

# For one text, in seconds. A text of 10 MB takes a tenth of it with any pattern that does not explode.
_SECONDS = 2.0


class BoundedPattern:
    """A compiled pattern; its methods raise UsageError where a text takes too long."""

    def __init__(self, text: str) -> None:
        """Raises UsageError for an invalid pattern."""
        import regex

        try:
            self._pattern = regex.compile(text)
        except regex.error as error:
            raise UsageError(f"invalid regular expression: {error}") from error

    def search(self, text: str) -> Any:
        try:
            return self._pattern.search(text, timeout=_SECONDS)
        except TimeoutError:
            raise _too_slow() from None

    def finditer(self, text: str) -> Iterator[Any]:
        try:
            yield from self._pattern.finditer(text, timeout=_SECONDS)
        except TimeoutError:
            raise _too_slow() from None


def _too_slow() -> UsageError:
    return UsageError(
        f"the regular expression takes longer than {_SECONDS:g} s on one text",
        why="repeated choices such as (a|aa)+ try every way to split a text",
        hint="use a pattern without repeated choices, or search for words",
    )
