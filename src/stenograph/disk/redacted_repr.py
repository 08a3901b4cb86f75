"""Values that hold what a transcript says must not say it in a log: their repr is their name alone."""

from __future__ import annotations

from typing import TypeVar

C = TypeVar("C", bound=type)


def redacted_repr(kind: C) -> C:
    """A class decorator: `repr` gives the class's name and nothing of its fields."""

    def name_only(self: object) -> str:
        return f"<{type(self).__name__}>"

    kind.__repr__ = name_only  # type: ignore[method-assign, assignment]
    return kind
