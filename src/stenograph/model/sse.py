"""Server-sent events from bytes in any pieces.

Lines end with LF, CR LF or CR only: U+2028 is a letter. Comments and other fields are dropped, and so is an event cut off by
the end of the stream.
"""

from __future__ import annotations

#: Bytes, far beyond any real event.
LONGEST_EVENT = 64 * 1024 * 1024

_BOM = b"\xef\xbb\xbf"


class EventReader:
    def __init__(self) -> None:
        #: A list: joining at every piece would be quadratic.
        self._pieces: list[bytes] = []
        self._held = 0
        self._ends_with_newline = False
        self._after_return = False
        #: Until past a possible byte-order mark.
        self._beginning: bytes | None = b""

    @property
    def is_too_long(self) -> bool:
        return self._held > LONGEST_EVENT

    def feed(self, data: bytes) -> list[tuple[bytes, bytes]]:
        """The (name, data) of the events that these bytes complete."""
        if self._beginning is not None:
            data = self._beginning + data
            if len(data) < len(_BOM) and _BOM.startswith(data):
                self._beginning = data
                return []
            self._beginning = None
            data = data.removeprefix(_BOM)
        # A return ends its line at once; a following newline belongs to it.
        if self._after_return and data:
            data = data.removeprefix(b"\n")
            self._after_return = False
        if b"\r" in data:
            self._after_return = data.endswith(b"\r")
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if not data:
            return []
        # An empty line ends an event. Only the new bytes and their seam are searched.
        is_whole = b"\n\n" in data or (self._ends_with_newline and data.startswith(b"\n"))
        self._pieces.append(data)
        self._held += len(data)
        self._ends_with_newline = data.endswith(b"\n")
        if not is_whole:
            return []
        *blocks, rest = b"".join(self._pieces).split(b"\n\n")
        self._pieces = [rest] if rest else []
        self._held = len(rest)
        # If the rest is empty, its newline has been used up.
        self._ends_with_newline = rest.endswith(b"\n")
        return [event for block in blocks if (event := _read_event(block)) is not None]


def _read_event(block: bytes) -> tuple[bytes, bytes] | None:
    name = b""
    lines: list[bytes] = []
    for line in block.split(b"\n"):
        if line.startswith(b"data:"):
            lines.append(line[5:].removeprefix(b" "))
        elif line.startswith(b"event:"):
            name = line[6:].removeprefix(b" ")
        elif line == b"data":
            lines.append(b"")
        elif line == b"event":
            name = b""
    return (name, b"\n".join(lines)) if lines else None
