"""Media type and size of images. Never changes them: endpoints shrink them themselves."""

from __future__ import annotations

import struct

SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp"})
#: The API's limit for one image, in base64.
LONGEST_BASE64 = 5 * 1024 * 1024
#: The API's limit, in pixels.
LONGEST_SIDE = 8000


def media_type(data: bytes) -> str | None:
    """By the first bytes; None unless the API accepts it."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return None


def dimensions(data: bytes) -> tuple[int, int] | None:
    """(width, height)"""
    try:
        match media_type(data):
            case "image/png":
                return _pair(struct.unpack_from(">II", data, 16))
            case "image/gif":
                return _pair(struct.unpack_from("<HH", data, 6))
            case "image/jpeg":
                return _jpeg(data)
            case "image/webp":
                return _webp(data)
            case _:
                return None
    except (struct.error, IndexError):
        return None


def _pair(values: tuple[int, ...]) -> tuple[int, int]:
    return values[0], values[1]


def _jpeg(data: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 < len(data):
        if data[at] != 0xFF:
            return None
        marker = data[at + 1]
        if marker == 0xFF:  # a filling byte
            at += 1
            continue
        # A start of frame; C4, C8 and CC are tables.
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack_from(">HH", data, at + 5)
            return width, height
        at += 2 + struct.unpack_from(">H", data, at + 2)[0]
    return None


def _webp(data: bytes) -> tuple[int, int] | None:
    kind = data[12:16]
    if kind == b"VP8X":
        return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
    if kind == b"VP8L":
        bits = struct.unpack_from("<I", data, 21)[0]
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 ":
        width, height = struct.unpack_from("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF
    return None
