"""What every page needs to know beside its value."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec import Struct, field

from stenograph.views.text import quoted


class PageContext(Struct, frozen=True, kw_only=True):
    #: Where the viewer is mounted, without a slash at its end; empty for the root of its host.
    root: str = ""
    #: `light`, `dark`, or empty for what the system says; from the cookie `steno_theme`.
    theme: str = ""
    #: How many sessions are running.
    live: int = 0
    #: Repeated in requests that are not only questions, as the header `X-Steno-CSRF`.
    csrf: str = ""
    #: Whether sessions may be edited from the pages.
    allow_edits: bool = False
    #: Changes with the static files, so that browsers may keep them.
    version: str = "0"
    #: What commands to paste begin with: the program, and the options that name what is served.
    program: str = "steno"
    #: When the page is made.
    now: datetime = field(default_factory=lambda: datetime.now(UTC))

    def command(self, *words: str) -> str:
        """A command line of ours that can be pasted."""
        return " ".join([self.program, *(quoted(word) for word in words)])
