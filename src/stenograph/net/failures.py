"""What a library raised on the way to a server -> one of our network errors."""

from __future__ import annotations

from stenograph.errors import (
    MalformedResponseError,
    NetworkError,
    NetworkTimeoutError,
    UnknownHostError,
    UntrustedCertificateError,
)


def network_error(error: Exception) -> NetworkError:
    """In: an OSError, or an error of an HTTP library. Of its text nothing is kept: it may quote a server or a proxy."""
    import socket  # whoever has such an error has loaded these
    import ssl

    reason = type(error).__name__
    match error:
        case ssl.SSLCertVerificationError():
            # OpenSSL's own words; the server has no part in them.
            return UntrustedCertificateError(error.verify_message)
        case TimeoutError():
            return NetworkTimeoutError(reason)
        case socket.gaierror() | UnicodeError():  # the second for names that DNS does not allow
            return UnknownHostError(reason)
        case OSError(errno=int(number)):
            return NetworkError(reason, errno=number)
        case OSError():
            return NetworkError(reason)
    return MalformedResponseError(reason)
