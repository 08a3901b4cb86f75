"""The script that makes a shell complete commands and sessions."""

from __future__ import annotations

from stenograph.views.pages.page import Document


class CompletionPage(Document, frozen=True, tag="completion/1"):
    """`steno completion`: the script for a shell."""

    shell: str
    """`bash`, `zsh` or `fish`."""
    script: str
