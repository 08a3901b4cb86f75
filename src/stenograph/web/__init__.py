"""The viewer's server and its HTTP API: pages of `views` over HTTP, on this machine only.

In: requests from a browser or a program of the same user. Out: HTML, JSON and live events. Knows the web framework, which no
other layer does, and nothing of the format of sessions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stenograph._exports import lazy_exports

if TYPE_CHECKING:
    from stenograph.web.launching import LaunchPage
    from stenograph.web.security import Access
    from stenograph.web.server import create_app, serve
    from stenograph.web.shelf import Viewer

_MODULES = {
    "shelf": "Viewer",
    "launching": "LaunchPage",
    "security": "Access",
    "server": "create_app serve",
}

__all__ = ["Access", "LaunchPage", "Viewer", "create_app", "serve"]

__getattr__, __dir__ = lazy_exports(__name__, _MODULES, __all__)
