"""Pages as HTML for the viewer. In: page values, already masked, and a `PageContext`. Out: whole documents, or pieces of one.

Knows no HTTP: the server fetches the values, answers under these addresses, and sends the static files of `stenograph.web`. All
links begin with the context's root. Nothing here is inline script or style, and nothing is fetched from another host.

| address | renders |
| --- | --- |
| `/` (`?project=`, `?status=`, `?tag=`, `?q=`, `?sort=`, `?page=`) | `render_home` |
| `/s/{id}` (`?turn=N`, `?branch=N`) | `render_session` of the chunks around a turn |
| `/s/{id}/chunks/{n}` (`?branch=N`) | `render_turns`: one chunk, as a piece |
| `/s/{id}/steps/{tool use id}` (`?full=1`) | `render_step`: what a folded step holds, as a piece |
| `/s/{id}/files`, `/messages`, `/records` | `render_files`, `render_messages`, `render_records` |
| `/s/{id}/raw/{line}` (`?agent=ID`, `?piece=1`) | `render_raw`: a page, or the piece that the drawer shows |
| `/search`, `/usage`, `/stats`, `/health` | `render_search`, `render_usage`, `render_stats`, `render_health` |
"""

from __future__ import annotations

from stenograph.views.html.context import PageContext
from stenograph.views.html.finding import SHOWN_PLACES, SearchAsked, render_health, render_search
from stenograph.views.html.pages import render_error, render_home, render_session, render_step, render_turns
from stenograph.views.html.rendering import compile_templates
from stenograph.views.html.stats import render_stats
from stenograph.views.html.tabs import render_files, render_messages, render_raw, render_records, render_resume
from stenograph.views.html.usage import render_usage

__all__ = [
    "SHOWN_PLACES",
    "PageContext",
    "SearchAsked",
    "compile_templates",
    "render_error",
    "render_files",
    "render_health",
    "render_home",
    "render_messages",
    "render_raw",
    "render_records",
    "render_resume",
    "render_search",
    "render_session",
    "render_stats",
    "render_step",
    "render_turns",
    "render_usage",
]
