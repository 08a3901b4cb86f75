"""Something wrong or odd about a file: a value beside the result. Never repeats what a transcript says."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec


class Finding(msgspec.Struct, frozen=True):
    #: In kebab-case: `torn-tail`, `broken-link`.
    code: str
    path: Path | None = None
    #: Counted from 1; 0 is the file as a whole.
    line: int = 0
    offset: int = 0
    length: int = 0
    #: One sentence for a person; never transcript content.
    detail: str = ""


C = TypeVar("C", bound=type)


def redacted_repr(kind: C) -> C:
    """A class decorator: `repr` gives the class's name only."""

    def name_only(self: object) -> str:
        return f"<{type(self).__name__}>"

    kind.__repr__ = name_only  # type: ignore[method-assign, assignment]
    return kind
