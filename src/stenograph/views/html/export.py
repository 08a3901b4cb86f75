"""A session as one HTML file that needs nothing else: styles inside, no script, no link to the viewer."""

from __future__ import annotations

import re

from stenograph.views.html.context import PageContext
from stenograph.views.html.rendering import StepPlace, Template
from stenograph.views.pages.timeline import TimelinePage

#: What only a script or the viewer itself could answer.
_OWN_STYLES = "[data-js],.acts,a.more,a.raw{display:none!important}.export{max-width:900px;margin:0 auto;padding:24px 16px}"
# Links of pages begin with the context's root, which no text of a session can: all of it is escaped.
_ROOT = "steno-viewer:"
_LINK = re.compile(rf'\s(?:href|data-[a-z]+)="{_ROOT}[^"]*"')
_BUTTON = re.compile(r'<button class="secret"[^>]*>(.*?)</button>', re.DOTALL)


def render_export(page: TimelinePage, styles: str) -> str:
    """The whole of a timeline, nothing left out; `styles` are those of the viewer."""
    context = PageContext(root=_ROOT)
    place = StepPlace(_ROOT, page.session.id, full=True, most=1_000_000)
    text = Template("export.html").render(page=page, place=place, context=context, styles=_safe(styles + _OWN_STYLES))
    return _BUTTON.sub(r"<mark>\1</mark>", _LINK.sub("", text))


def _safe(styles: str) -> str:
    """Styles are ours, and end where they should."""
    return styles.replace("</", "<\\/")
