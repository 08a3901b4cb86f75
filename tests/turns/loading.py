"""Lines that were built by hand, as the library reads them."""

from __future__ import annotations

from pathlib import Path

from stenograph.records import Record, decode
from stenograph.sessions.loading import load_file
from stenograph.testing.lines import Line, encode, write
from stenograph.turns import Session


def read(*lines: Line) -> list[Record]:
    return [decode(encode([line]).rstrip(b"\n")) for line in lines]


def load(folder: Path, *lines: Line, name: str = "session") -> Session:
    """The lines as a file, loaded as a whole session: what the library says of them."""
    return load_file(write(folder / f"{name}.jsonl", lines))
