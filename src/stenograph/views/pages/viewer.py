"""Where a viewer that was started can be reached."""

from __future__ import annotations

from stenograph.views.pages.page import Document


class ViewerPage(Document, frozen=True, tag="web/1"):
    """`steno web`: printed when the server is ready."""

    link: str
    """To open in a browser. Whoever has it can read every session."""
    api: str
    """The base URL of the API: `http://127.0.0.1:8080/api/v1`."""
    token: str
    """For programs: `Authorization: Bearer TOKEN`."""
    allow_edits: bool
    """Requests may change sessions."""
