"""Where a request goes: hosts, ports, and the proxy on the way.

In: addresses as people write them, and the variables that name proxies. Out: an `Address` that can be connected to. Nothing is
looked up here. No error shows an address: people put keys into them.
"""

from __future__ import annotations

import ipaddress
import re
from base64 import b64encode
from collections.abc import Mapping
from urllib.parse import SplitResult, unquote, urlsplit

from msgspec import Struct

from stenograph.errors import ConfigError

_PORTS = {"http": 80, "https": 443}
#: What may stand in the target of a request and in a host.
_PLAIN = re.compile(r"[!-~]*")


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
        """For the header `host`: without the port where it is the usual one."""
        return self._name if self.port == _PORTS[self.scheme] else f"{self._name}:{self.port}"

    @property
    def with_port(self) -> str:
        """For CONNECT, which always names it."""
        return f"{self._name}:{self.port}"

    @property
    def _name(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host


class Proxy(Struct, frozen=True):
    """A proxy that speaks plain HTTP."""

    address: Address
    #: The value of `proxy-authorization`; empty where the proxy's address names no user.
    authorization: str = ""

    def __repr__(self) -> str:
        return f"Proxy({self.address.with_port})"


def read_address(written: str, *, name: str) -> tuple[Address, str]:
    """A server and the path on it, without a slash at the end. `name` is the variable to tell of. Raises ConfigError."""
    parts = _split(written)
    if parts is None or parts.scheme not in _PORTS:
        raise ConfigError(f"{name} is no address: write it like https://example.com")
    if "@" in parts.netloc:
        raise ConfigError(f"{name} holds a user or a key: name it in ANTHROPIC_API_KEY or ANTHROPIC_CUSTOM_HEADERS")
    if parts.query or parts.fragment:
        raise ConfigError(f"{name} has a `?` or a `#`: name the address alone, without /v1/messages")
    return Address(parts.scheme, parts.hostname or "", parts.port or _PORTS[parts.scheme]), parts.path.rstrip("/")


def find_proxy(address: Address, environ: Mapping[str, str]) -> Proxy | None:
    """The proxy that the environment names for an address. This machine itself is never reached through one.

    For https that is HTTPS_PROXY, else HTTP_PROXY, as the client's documentation has it. Small letters win, as in curl.
    Raises ConfigError.
    """
    if is_loopback(address.host) or _is_excepted(address, _either(environ, "no_proxy")):
        return None
    names = ("https_proxy", "http_proxy") if address.is_secure else ("http_proxy",)
    for name in names:
        if written := _either(environ, name):
            return _read_proxy(written, name.upper())
    return None


def is_loopback(host: str) -> bool:
    return host in ("localhost", "::1") or host.endswith(".localhost") or re.fullmatch(r"127(\.\d+){3}", host) is not None


def _read_proxy(written: str, name: str) -> Proxy:
    parts = _split(written if "://" in written else f"http://{written}")
    if parts is None or parts.scheme != "http":
        raise ConfigError(
            f"{name} can't be used: name a proxy like http://proxy:3128 (SOCKS and TLS to the proxy are not spoken)"
        )
    authorization = ""
    if parts.username:
        user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = "Basic " + b64encode(user.encode()).decode()
    return Proxy(Address("http", parts.hostname or "", parts.port or _PORTS["http"]), authorization)


def _split(written: str) -> SplitResult | None:
    """None for what can't be connected to."""
    try:
        parts = urlsplit(written.strip())
        # What DNS does not allow raises a UnicodeError, with the name in it, as late as a connection is made.
        labels = (parts.hostname or "").removesuffix(".").split(".")
        is_usable = parts.port != 0 and all(0 < len(label) < 64 for label in labels)
    except ValueError:
        return None
    return parts if is_usable and _PLAIN.fullmatch(parts.netloc + parts.path) else None


def _either(environ: Mapping[str, str], name: str) -> str:
    return (environ.get(name) or environ.get(name.upper()) or "").strip()


def _is_excepted(address: Address, exceptions: str) -> bool:
    """Whether NO_PROXY names it: hosts and domains with commas or blanks between, `*` for all, networks like 10.0.0.0/8."""
    for written in exceptions.replace(",", " ").split():
        if written == "*":
            return True
        if "/" in written:
            if _is_in_network(address.host, written):
                return True
            continue
        name, _, port = written.rpartition(":") if re.search(r"[^:]:\d+$", written) else (written, "", "")
        name = name.strip("[]").removeprefix("*").removeprefix(".").lower()
        if port and int(port) != address.port:
            continue
        if name and (address.host == name or address.host.endswith(f".{name}")):
            return True
    return False


def _is_in_network(host: str, network: str) -> bool:
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:  # a host with a name, or no network
        return False
