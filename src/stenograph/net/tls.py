"""Whom TLS trusts, and how we identify ourselves. Errors name the variable, not its value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec import Struct

from stenograph.errors import ConfigError, UnreadableCertificateError, UntrustedCertificateError

if TYPE_CHECKING:
    import ssl

#: OpenSSL's own: trusted instead of the system's authorities.
_INSTEAD = ("SSL_CERT_FILE", "SSL_CERT_DIR")
#: Trusted in addition. `requests` would trust nothing else, but its bundles hold the public authorities too.
_ADDED = ("NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE")
_CERTIFICATE, _KEY, _PASSPHRASE = "CLAUDE_CODE_CLIENT_CERT", "CLAUDE_CODE_CLIENT_KEY", "CLAUDE_CODE_CLIENT_KEY_PASSPHRASE"


class Tls(Struct, frozen=True, kw_only=True):
    """Files, by the variables that name them."""

    instead: dict[str, str] = {}
    added: dict[str, str] = {}
    #: A certificate of ours and its key, for servers that want one; empty for none.
    certificate: str = ""
    key: str = ""
    passphrase: str = ""

    def __repr__(self) -> str:
        """Without the passphrase: it ends up in tracebacks."""
        return f"Tls({', '.join([*self.instead, *self.added])})"

    @property
    def without_certificate(self) -> Tls:
        """For a proxy: our certificate is for the server."""
        return Tls(instead=self.instead, added=self.added)


def tls_from_environment(environ: Mapping[str, str], *, identifies: bool = False) -> Tls:
    """`identifies`: with the client's certificate, which is for the endpoint and nobody else. Raises ConfigError."""

    def named(*names: str) -> dict[str, str]:
        return {name: value for name in names if (value := environ.get(name, "").strip())}

    own = named(_CERTIFICATE, _KEY) if identifies else {}
    if _KEY in own and _CERTIFICATE not in own:
        raise ConfigError(f"{_KEY} requires {_CERTIFICATE}")
    return Tls(
        instead=named(*_INSTEAD),
        added=named(*_ADDED),
        certificate=own.get(_CERTIFICATE, ""),
        key=own.get(_KEY, ""),
        passphrase=environ.get(_PASSPHRASE, "") if own else "",
    )


def tls_context(tls: Tls) -> ssl.SSLContext:
    """A context that checks certificates; takes 20 ms. Raises UnreadableCertificateError."""
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # `create_default_context` asks for more than RFC 5280 since Python 3.13: authorities of companies often lack it, and no
    # other client minds.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN | ssl.VERIFY_X509_TRUSTED_FIRST
    if not tls.instead:
        context.load_default_certs()
    for name, path in {**tls.instead, **tls.added}.items():
        _trust(context, name, path)
    if tls.certificate:
        try:
            # Without a passphrase OpenSSL would ask on the terminal.
            context.load_cert_chain(tls.certificate, tls.key or None, password=tls.passphrase)
        except (OSError, ValueError):
            raise UnreadableCertificateError(f"{_CERTIFICATE} and {_KEY}") from None
    return context


@contextmanager
def proxy_certificate_checked() -> Iterator[None]:
    """While TLS to a proxy begins. Raises UntrustedCertificateError."""
    import ssl

    try:
        yield
    except ssl.SSLCertVerificationError as error:
        raise UntrustedCertificateError(error.verify_message, is_proxy=True) from None


def _trust(context: ssl.SSLContext, name: str, path: str) -> None:
    from pathlib import Path

    try:
        # Other tools take a directory of hashed names in both variables.
        if Path(path).is_dir():
            context.load_verify_locations(capath=path)
        else:
            context.load_verify_locations(cafile=path)
    except (OSError, ValueError):
        raise UnreadableCertificateError(name) from None
