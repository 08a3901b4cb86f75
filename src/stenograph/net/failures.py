"""Errors of libraries on the way to a server -> our network errors."""

from __future__ import annotations

from stenograph.errors import (
    MalformedResponseError,
    NetworkError,
    NetworkTimeoutError,
    UnknownHostError,
    UntrustedCertificateError,
)


def network_error(error: Exception) -> NetworkError:
    """Takes an OSError or an error of an HTTP library. Keeps none of its text: it may quote a server or a proxy."""
    import socket
    import ssl

    reason = type(error).__name__
    match error:
        case ssl.SSLCertVerificationError():
            # OpenSSL's own words, not the server's.
            return UntrustedCertificateError(error.verify_message)
        case TimeoutError():
            return NetworkTimeoutError(reason)
        case socket.gaierror() | UnicodeError():  # UnicodeError: invalid DNS names
            return UnknownHostError(reason)
        case OSError(errno=int(number)):
            return NetworkError(reason, errno=number)
        case OSError():
            return NetworkError(reason)
    return MalformedResponseError(reason)
