"""What cc-langfuse sent before: its state file -> how many lines of a session are at Langfuse already."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from stenograph.disk import read_lines, read_whole
from stenograph.errors import DiskError

_STATE = Path("state", "cc-langfuse_state.json")


class _Entry(Struct, frozen=True):
    #: Up to the end of the last turn it sent, counting every line of the file.
    last_line: Annotated[int, Meta(ge=0)] = 0


def lines_sent(path: Path) -> int:
    """The number of lines at the beginning of a session file whose turns cc-langfuse has sent."""
    usual = Path(os.path.expanduser("~")) / ".claude"  # noqa: PTH111 - Path.expanduser raises without a home
    for home in dict.fromkeys((*path.parents[2:3], usual)):
        try:
            entries = msgspec.json.decode(read_whole(home / _STATE), type=dict[str, msgspec.Raw])
            return msgspec.json.decode(entries[path.stem], type=_Entry).last_line
        except (DiskError, KeyError, msgspec.MsgspecError):
            continue
    return 0


def offset_after(path: Path, lines: int) -> int:
    """Where the line after some lines begins. Raises UnreadableError."""
    offset = 0
    for line in islice(read_lines(path), lines):
        offset = line.offset + len(line.data) + 1
    return offset
