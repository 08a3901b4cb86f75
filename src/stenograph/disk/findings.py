"""Something wrong or odd about a file: a value beside the result, not a log line and not an exception.

Findings say what and where. They never repeat what a transcript says.
"""

from __future__ import annotations

from pathlib import Path

import msgspec


class Finding(msgspec.Struct, frozen=True):
    #: What it is, in kebab-case: `torn-tail`, `broken-link`.
    code: str
    path: Path | None = None
    #: Counted from 1; 0 is the file as a whole.
    line: int = 0
    #: The bytes it is about, counted from the start of the file.
    offset: int = 0
    length: int = 0
    #: One sentence for a person; never transcript content.
    detail: str = ""
