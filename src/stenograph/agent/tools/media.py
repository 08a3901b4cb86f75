"""Images and PDF pages for the model. Never drawn or shrunk here: endpoints accept both as they are. Raises ToolFailed."""

from __future__ import annotations

import re
import struct

from stenograph.agent.tools.base import ToolFailed, failed_use

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


MOST_PAGES = 20
_PAGES = re.compile(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?")


def page_range(pages: str) -> tuple[int, int]:
    """First and last page, from 1 (words of 2.1.325)."""
    found = _PAGES.fullmatch(pages)
    first = int(found[1]) if found else 0
    last = int(found[2] or first) if found else 0
    if first < 1 or last < first:
        raise failed_use(
            f'Invalid pages parameter: "{pages}". Give one page ("3") or one range ("1-5"), not a list. To read several pages or'
            " ranges, read each one separately. Pages are 1-indexed."
        )
    if last - first + 1 > MOST_PAGES:
        raise failed_use(f'Page range "{pages}" exceeds maximum of {MOST_PAGES} pages per request. Please use a smaller range.')
    return first, last


def take_pages(data: bytes, first: int, last: int) -> bytes:
    # Slow to load, and rarely needed.
    import io
    import logging

    # What it has to say about damage, for programmers, would go to the terminal.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL + 1)

    try:
        from pypdf import PdfReader, PdfWriter
        from pypdf.errors import PyPdfError
    except ImportError:
        raise ToolFailed("Pages of a PDF need the package pypdf: install stenograph[agent]. The whole PDF can be read.") from None
    try:
        reader = PdfReader(io.BytesIO(data))
        count = len(reader.pages)
        if first > count:
            raise failed_use(f"There is no page {first}: the PDF has {count} page{'s' if count != 1 else ''}.")
        writer = PdfWriter()
        for page in reader.pages[first - 1 : last]:
            writer.add_page(page)
        out = io.BytesIO()
        writer.write(out)
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ToolFailed("The pages of this PDF cannot be read: it is damaged or encrypted.") from None
    return out.getvalue()
