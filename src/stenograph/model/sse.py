"""Server-sent events, from bytes in any pieces.

In: bytes as they come from the network. Out: (name, data) of each event that is whole; the name is empty where the event gives
none. Lines end with LF, CR LF or CR and with nothing else: a U+2028 in a text is a letter. Comments and fields other than `event`
and `data` are left out. What stands in the data is not looked at. An event that the end of the stream cuts off is no event.
"""

from __future__ import annotations

#: Bytes of one event, far beyond any that an endpoint sends: what goes on longer is no event stream.
LONGEST_EVENT = 64 * 1024 * 1024

_BOM = b"\xef\xbb\xbf"


class EventReader:
    def __init__(self) -> None:
        #: What came of an event that is not whole. A list, because joining at every piece would be quadratic.
        self._pieces: list[bytes] = []
        self._held = 0
        self._ends_with_newline = False
        self._after_return = False
        #: Not yet past the place where a byte order mark may stand.
        self._beginning: bytes | None = b""

    @property
    def is_too_long(self) -> bool:
        return self._held > LONGEST_EVENT

    def feed(self, data: bytes) -> list[tuple[bytes, bytes]]:
        """The events that these bytes complete."""
        if self._beginning is not None:
            data = self._beginning + data
            if len(data) < len(_BOM) and _BOM.startswith(data):
                self._beginning = data
                return []
            self._beginning = None
            data = data.removeprefix(_BOM)
        # A return ends its line at once; the newline that may follow it belongs to it.
        if self._after_return and data:
            data = data.removeprefix(b"\n")
            self._after_return = False
        if b"\r" in data:
            self._after_return = data.endswith(b"\r")
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if not data:
            return []
        # An empty line ends an event. Only the new bytes are searched, and the seam before them.
        is_whole = b"\n\n" in data or (self._ends_with_newline and data.startswith(b"\n"))
        self._pieces.append(data)
        self._held += len(data)
        self._ends_with_newline = data.endswith(b"\n")
        if not is_whole:
            return []
        *blocks, rest = b"".join(self._pieces).split(b"\n\n")
        self._pieces = [rest] if rest else []
        self._held = len(rest)
        # Where the rest is empty the newline before it has been used up.
        self._ends_with_newline = rest.endswith(b"\n")
        return [event for block in blocks if (event := _read_event(block)) is not None]


def _read_event(block: bytes) -> tuple[bytes, bytes] | None:
    name = b""
    lines: list[bytes] = []
    for line in block.split(b"\n"):
        field, _, value = line.partition(b":")
        if field == b"data":
            lines.append(value.removeprefix(b" "))
        elif field == b"event":
            name = value.removeprefix(b" ")
    return (name, b"\n".join(lines)) if lines else None
