"""The picture of the README: `steno ls` of the demo sessions, as a terminal of 112 columns shows it, in SVG.

The lines come from the command's own renderer, so the picture changes with it. Both themes of a browser are served.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from datetime import timedelta
from html import escape
from pathlib import Path

from stenograph.demo import unpack_demo
from stenograph.index import open_store, session_ticks, sync
from stenograph.sessions import list_sessions
from stenograph.views import RenderOptions, render_sessions, sessions_page, tape_letters
from stenograph.views.text import width

_COLUMNS = 112
_CELL, _LINE, _EDGE = 8.4, 20, 16
_SGR = re.compile(r"\x1b\[([0-9;]*)m")
#: Colors of light and dark terminals, by SGR code.
_COLORS = {
    "31": ("#b3261e", "#ff8a80"),
    "32": ("#116329", "#7ee2a0"),
    "33": ("#7a4d00", "#e3b341"),
    "35": ("#6f3cc3", "#c9a7ff"),
    "36": ("#0b6b74", "#5ecfd8"),
    "94": ("#1f4bb8", "#8ab0ff"),
}


def picture() -> str:
    """The SVG."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = "UTC"
    time.tzset()
    try:
        with tempfile.TemporaryDirectory() as folder:
            return _drawn(["\x1b[2m$\x1b[0m \x1b[1msteno ls\x1b[0m", *_lines(unpack_demo(Path(folder)))])
    finally:
        os.environ.pop("TZ") if before is None else os.environ.update(TZ=before)
        time.tzset()


def _lines(home: Path) -> list[str]:
    listing = list_sessions([home], turns=True)
    store = open_store(None)
    sync(store, [home])
    ticks = session_ticks(store, [info.path for info in listing.sessions])
    page = sessions_page(listing, tapes={path: tape_letters(met) for path, met in ticks.items()})
    # The newest session was there an hour ago, whenever the picture is made.
    now = max(info.last_record for info in listing.sessions) + timedelta(hours=1)
    return list(render_sessions(page, RenderOptions(width=_COLUMNS, color=True, now=now)))


def _drawn(lines: list[str]) -> str:
    wide, high = _EDGE * 2 + round(_COLUMNS * _CELL), _EDGE * 2 + _LINE * len(lines)
    dark = "".join(f".c{code}{{fill:{both[1]}}}" for code, both in _COLORS.items())
    light = "".join(f".c{code}{{fill:{both[0]}}}" for code, both in _COLORS.items())
    style = (
        "text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;white-space:pre;fill:#1b1f24}"
        f".b{{font-weight:700}}.q{{opacity:.62}}rect{{fill:#fdfdfb;stroke:#d0d4d9}}{light}"
        f"@media(prefers-color-scheme:dark){{text{{fill:#e8eaed}}rect{{fill:#121418;stroke:#30343a}}{dark}}}"
    )
    rows = [row for number, line in enumerate(lines) for row in _row(line, _EDGE + _LINE * number + 14)]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" role="img">',
            "<title>steno ls: sessions with a mark, an id, a title, a project, a tape of what happened, turns and time</title>",
            f"<style>{style}</style>",
            f'<rect x=".5" y=".5" width="{wide - 1}" height="{high - 1}" rx="6"/>',
            *rows,
            "</svg>\n",
        ]
    )


def _row(line: str, y: int) -> list[str]:
    found, column, classes = [], 0, ""
    for piece, codes in zip(re.split(r"\x1b\[[0-9;]*m", line), ["", *_SGR.findall(line)], strict=True):
        classes = " ".join({"1": "b", "2": "q"}.get(code, f"c{code}") for code in codes.split(";") if code not in ("", "0"))
        text = piece.rstrip()
        if text.strip():
            start = column + len(text) - len(text.lstrip())
            cells = width(text.lstrip())
            found.append(
                f'<text x="{_EDGE + start * _CELL:.1f}" y="{y}" textLength="{cells * _CELL:.1f}"'
                f' lengthAdjust="spacingAndGlyphs" class="{classes}">{escape(text.lstrip())}</text>'
            )
        column += width(piece)
    return found
