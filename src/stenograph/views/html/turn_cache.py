"""Turns as HTML, kept by what they hold: of a session that runs, all turns but the last are the same each time they are drawn."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Mapping

from stenograph.views.encode import encode_page
from stenograph.views.html.context import PageContext
from stenograph.views.html.rendering import StepPlace, Template
from stenograph.views.pages.timeline import TimelineTurn

#: Characters of all turns that are kept.
_KEPT = 8 << 20


class _TurnCache:
    def __init__(self) -> None:
        self._kept: OrderedDict[bytes, str] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def get(self, key: bytes) -> str | None:
        with self._lock:
            if (html := self._kept.get(key)) is not None:
                self._kept.move_to_end(key)
            return html

    def keep(self, key: bytes, html: str) -> None:
        with self._lock:
            if key not in self._kept:
                self._kept[key] = html
                self._size += len(html)
            while self._size > _KEPT:
                self._size -= len(self._kept.popitem(last=False)[1])


_CACHE = _TurnCache()


def turn_html(turn: TimelineTurn, place: StepPlace, prompts: Mapping[int, str], context: PageContext) -> str:
    """One turn, or a part of it. What it looks like depends on nothing else: not on the time, nor on the theme."""
    about = (place.base, place.query, str(place.shown), context.program, prompts.get(turn.number, ""))
    key = hashlib.blake2b("\0".join(about).encode(errors="surrogatepass"), digest_size=16, key=b"turn")
    key.update(encode_page(turn))
    html = _CACHE.get(key.digest())
    if html is None:
        html = Template("turns.html").render(turns=[turn], prompts=prompts, place=place, context=context)
        _CACHE.keep(key.digest(), html)
    return html
