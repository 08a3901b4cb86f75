"""Why a request to the viewer's API was refused."""

from __future__ import annotations

from stenograph.views.pages.page import Document


class ErrorPage(Document, frozen=True, tag="error/1"):
    """An error of the viewer's API."""

    status: int
    """The HTTP status code."""
    code: str
    """What went wrong, in kebab-case: `session-not-found`."""
    detail: str
    """One sentence; never text of a session."""
