"""Which servers are trusted.

The system's authorities, or those of SSL_CERT_FILE and SSL_CERT_DIR instead, which OpenSSL reads itself; and those of one more
file where a caller names it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stenograph.errors import UnreadableAuthoritiesError

if TYPE_CHECKING:
    import ssl


def tls_context(authorities: str = "") -> ssl.SSLContext:
    """A context for connections that check the server's certificate. It takes 20 ms: make one only where TLS is spoken.

    `authorities` names a file of further authorities. Raises UnreadableAuthoritiesError where it can't be used.
    """
    import ssl

    context = ssl.create_default_context()
    if authorities:
        try:
            context.load_verify_locations(authorities)
        except OSError as error:
            raise UnreadableAuthoritiesError(type(error).__name__) from None
    return context
