"""URLs, hosts and ports, without lookups. No value or error quotes a URL: people put keys into them."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct

DEFAULT_PORTS = {"http": 80, "https": 443}

#: Allowed in a request target and a host.
_PLAIN = re.compile(r"[!-~]*")
#: Hosts that may be a number in one of its spellings.
_NUMERIC_HOST = re.compile(r"[0-9][0-9a-fx.]*|[0-9a-f.]*:[0-9a-f:.]*")


class Address(Struct, frozen=True):
    """A server, or a proxy."""

    scheme: str
    host: str
    port: int

    @property
    def is_secure(self) -> bool:
        return self.scheme == "https"

    @property
    def authority(self) -> str:
        """For the header `host`: without the scheme's default port."""
        return self._name if self.port == DEFAULT_PORTS[self.scheme] else self.with_port

    @property
    def with_port(self) -> str:
        """For CONNECT, which always names the port."""
        return f"{self._name}:{self.port}"

    @property
    def _name(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host


class Url(Struct, frozen=True):
    """An http or https URL that can be connected to."""

    address: Address
    path: str
    query: str
    fragment: str
    #: A user or a password precedes the host.
    has_user: bool

    @property
    def target(self) -> str:
        return (self.path or "/") + (f"?{self.query}" if self.query else "")


def read_url(written: str) -> Url | None:
    """None for anything but a usable http or https URL."""
    parts = split_url(written)
    if parts is None or parts.scheme not in DEFAULT_PORTS:
        return None
    address = Address(parts.scheme, parts.hostname or "", parts.port or DEFAULT_PORTS[parts.scheme])
    return Url(address, parts.path, parts.query, parts.fragment, "@" in parts.netloc)


def split_url(written: str) -> SplitResult | None:
    """The parts of a URL of any scheme; None if host, port or characters are invalid."""
    try:
        parts = urlsplit(written.strip())
        # An invalid DNS name would raise a UnicodeError that quotes it, as late as on connecting.
        labels = (parts.hostname or "").removesuffix(".").split(".")
        is_usable = parts.port != 0 and all(0 < len(label) < 64 for label in labels)
    except ValueError:
        return None
    return parts if is_usable and _PLAIN.fullmatch(parts.netloc + parts.path + parts.query) else None


def is_loopback(host: str) -> bool:
    return host in ("localhost", "::1") or host.endswith(".localhost") or re.fullmatch(r"127(\.\d+){3}", host) is not None


def canonical_host(host: str) -> str:
    """One spelling for a host: `127.1`, `0x7f000001` and `2130706433` are 127.0.0.1, and so is `0`."""
    host = host.lower().rstrip(".")
    if not _NUMERIC_HOST.fullmatch(host):
        return host
    import ipaddress
    import socket

    try:
        if ":" not in host:
            host = socket.inet_ntoa(socket.inet_aton(host))
        address = ipaddress.ip_address(host)
    except (OSError, ValueError):  # a name that looks like a number
        return host
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(str(address), str(address))
