"""Which servers are trusted: the system's authorities, or those of SSL_CERT_FILE and SSL_CERT_DIR, plus one more file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stenograph.errors import UnreadableAuthoritiesError

if TYPE_CHECKING:
    import ssl


def tls_context(authorities: str = "") -> ssl.SSLContext:
    """A context that checks certificates; takes 20 ms. Raises UnreadableAuthoritiesError for the file `authorities`."""
    import ssl

    context = ssl.create_default_context()
    if authorities:
        try:
            context.load_verify_locations(authorities)
        except OSError as error:
            raise UnreadableAuthoritiesError(type(error).__name__) from None
    return context
