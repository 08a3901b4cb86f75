"""Text as a store can hold it. By itself, because what reads turns takes longer to load than one line takes to read."""

from __future__ import annotations


def clean(text: str | None) -> str | None:
    """The text as SQLite takes it: half a surrogate pair is not text."""
    if text is None or text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="replace").decode()
    return text
