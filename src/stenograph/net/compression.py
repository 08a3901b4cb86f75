"""Bodies that a server compressed: gzip and deflate, piece by piece, so that a small body can't fill the memory."""

from __future__ import annotations

from stenograph.errors import MalformedResponseError

#: Bytes made at once.
_MOST = 4 * 1024 * 1024
_GZIP_OR_ZLIB = 32 + 15
_KNOWN = ("gzip", "x-gzip", "deflate")


def can_decompress(encoding: str) -> bool:
    """Whether a body of this `content-encoding` can be read."""
    return encoding.strip().lower() in ("", "identity", *_KNOWN)


def decompressor(encoding: str) -> Decompressor | None:
    """None for a body that is read as it is."""
    return Decompressor() if encoding.strip().lower() in _KNOWN else None


class Decompressor:
    def __init__(self) -> None:
        import zlib

        self._zlib = zlib
        self._stream = zlib.decompressobj(_GZIP_OR_ZLIB)
        self._rest = b""

    @property
    def has_more(self) -> bool:
        """`feed(b"")` gives more."""
        return bool(self._rest)

    def feed(self, data: bytes) -> bytes:
        """What is in these bytes, or a part of it. Raises MalformedResponseError."""
        try:
            made = self._stream.decompress(self._rest + data, _MOST)
        except self._zlib.error:
            raise MalformedResponseError("broken compression") from None
        self._rest = self._stream.unconsumed_tail
        if self._stream.eof and (further := self._stream.unused_data):
            # Gzip may consist of several members.
            self._stream = self._zlib.decompressobj(_GZIP_OR_ZLIB)
            self._rest = further
        return made
