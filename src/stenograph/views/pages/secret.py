"""One secret, unmasked because somebody asked for it."""

from __future__ import annotations

from stenograph.views.pages.page import Document


class SecretPage(Document, frozen=True, tag="secret/1"):
    """The secret behind a placeholder."""

    placeholder: str
    secret: str
