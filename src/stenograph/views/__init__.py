"""Turns -> pages -> what a person reads.

In: turns of a session. Out: page values, and lines for a terminal or a pipe. Knows nothing of commands, pagers and options.

Names are imported when first used: who wants `stenograph.views.text` alone gets nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stenograph.views.build import session_page, turn_page
    from stenograph.views.pages import SessionPage, TurnPage
    from stenograph.views.session import render_session
    from stenograph.views.terminal import Look, render_turn

_HOMES = {
    "Look": "terminal",
    "SessionPage": "pages",
    "TurnPage": "pages",
    "render_session": "session",
    "render_turn": "terminal",
    "session_page": "build",
    "turn_page": "build",
}

__all__ = ["Look", "SessionPage", "TurnPage", "render_session", "render_turn", "session_page", "turn_page"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'stenograph.views' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"stenograph.views.{_HOMES[name]}"), name)
