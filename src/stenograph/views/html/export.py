"""A session as one HTML file that needs nothing else: styles inside, no script, no link to the viewer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from msgspec.structs import replace

from stenograph.views.html.context import PageContext
from stenograph.views.html.rendering import StepPlace, Template
from stenograph.views.pages.timeline import TimelinePage, TimelineTurn

#: What only a script or the viewer itself could answer.
_OWN_STYLES = "[data-js],.acts,a.more,a.raw{display:none!important}.export{max-width:900px;margin:0 auto;padding:24px 16px}"
# Links of pages begin with the context's root. Text may look like one of them, but not like a tag: all of it is escaped.
_ROOT = "steno-viewer:"
_TAG = re.compile(r'<[a-z](?:[^<>"]|"[^"]*")*+>')
_LINK = re.compile(rf'\s(?:href|data-[a-z]+)="{_ROOT}[^"]*"')
_BUTTON = re.compile(r'<button class="secret"[^>]*>(.*?)</button>', re.DOTALL)


def render_export(page: TimelinePage, styles: str) -> str:
    """The whole of a timeline, nothing left out; `styles` are those of the viewer."""
    context = PageContext(root=_ROOT)
    place = StepPlace(_ROOT, page.session.id, full=True, most=1_000_000)
    text = Template("export.html").render(
        page=page, turns=_whole(page.turns), place=place, context=context, styles=_safe(styles + _OWN_STYLES)
    )
    return _BUTTON.sub(r"<mark>\1</mark>", _TAG.sub(lambda tag: _LINK.sub("", tag[0]), text))


def _whole(turns: Iterable[TimelineTurn]) -> Iterator[TimelineTurn]:
    """Turns in one piece: only the viewer, which fetches a timeline in chunks, needs a long turn in parts."""
    for _, parts in groupby(turns, key=lambda turn: turn.number):
        first, *more = parts
        yield replace(first, steps=sum((part.steps for part in more), first.steps)) if more else first


def _safe(styles: str) -> str:
    """Styles are ours, and end where they should."""
    return styles.replace("</", "<\\/")
