"""Pages of a PDF as a PDF. Clients draw pages with poppler; endpoints accept a PDF as it is. Raises ToolFailed."""

from __future__ import annotations

import re

from stenograph.agent.tools.base import ToolFailed, failed_use

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
        raise ToolFailed("The pages of this PDF can't be told apart: it is damaged, or encrypted.") from None
    return out.getvalue()
