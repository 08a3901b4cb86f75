"""One piece of a file <-> the bytes that are kept of it: compressed against bytes that come before it."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import zstandard

_LEVEL = 3
_LARGEST_WINDOW = 27


def pack(piece: bytes, before: bytes) -> bytes:
    import zstandard

    window = min(max((len(before) + len(piece)).bit_length(), 17), _LARGEST_WINDOW)
    parameters = zstandard.ZstdCompressionParameters.from_level(_LEVEL, window_log=window, enable_ldm=True)
    return zstandard.ZstdCompressor(dict_data=_dictionary(before), compression_params=parameters).compress(piece)


def unpack(data: bytes, before: bytes, size: int) -> bytes | None:
    """None if it is damaged."""
    import zstandard

    unpacker = zstandard.ZstdDecompressor(dict_data=_dictionary(before), max_window_size=1 << _LARGEST_WINDOW)
    try:
        return unpacker.decompress(data, max_output_size=size)
    except zstandard.ZstdError:
        return None


def digest_of(piece: bytes) -> bytes:
    return hashlib.sha256(piece).digest()[:16]


def _dictionary(before: bytes) -> zstandard.ZstdCompressionDict | None:
    import zstandard

    # zstd ignores dictionaries under eight bytes.
    return zstandard.ZstdCompressionDict(before, dict_type=zstandard.DICT_TYPE_RAWCONTENT) if len(before) >= 8 else None
