"""The proxy for an address, from the environment alone, as for the client. Errors name the variable, not its value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import unquote

from msgspec import Struct

from stenograph.errors import ConfigError
from stenograph.net.addresses import DEFAULT_PORTS, Address, is_loopback, split_url
from stenograph.net.socks import has_socks

#: Variables by scheme, the first that is set. HTTP_PROXY serves https too, as in the client.
_VARIABLES = {"https": ("https_proxy", "http_proxy", "all_proxy"), "http": ("http_proxy", "all_proxy")}


#: By scheme. With an `h` or `a` the proxy looks names up.
_PORTS = {**DEFAULT_PORTS, **dict.fromkeys(("socks4", "socks4a", "socks5", "socks5h"), 1080)}


class Proxy(Struct, frozen=True):
    """A proxy that speaks HTTP, plain or over TLS, or SOCKS."""

    address: Address
    user: str = ""
    password: str = ""

    def __repr__(self) -> str:
        return f"Proxy({self.address.scheme}://{self.address.with_port})"

    @property
    def is_socks(self) -> bool:
        return self.address.scheme.startswith("socks")

    @property
    def authorization(self) -> str:
        """The value of `proxy-authorization`."""
        from base64 import b64encode  # most have no proxy

        return "Basic " + b64encode(f"{self.user}:{self.password}".encode()).decode() if self.user else ""

    @property
    def headers(self) -> dict[str, str]:
        return {"proxy-authorization": self.authorization} if self.user and not self.is_socks else {}


def find_proxy(address: Address, environ: Mapping[str, str]) -> Proxy | None:
    """Loopback is never reached through a proxy. Lower case wins, as in curl. Raises ConfigError."""
    if is_loopback(address.host) or _is_excepted(address, _either(environ, "no_proxy")):
        return None
    for name in _VARIABLES[address.scheme]:
        if written := _either(environ, name):
            return _read_proxy(written, name.upper())
    return None


def _either(environ: Mapping[str, str], name: str) -> str:
    written = environ.get(name, "")
    # In a CGI program HTTP_PROXY is a header that anybody can send (CVE-2016-1000110).
    if not written and not (name == "http_proxy" and "REQUEST_METHOD" in environ):
        written = environ.get(name.upper(), "")
    return written.strip()


def _read_proxy(written: str, name: str) -> Proxy:
    parts = split_url(written if "://" in written else f"http://{written}")
    if parts is None or parts.scheme not in _PORTS:
        raise ConfigError(f"cannot use {name}; use a proxy such as http://proxy:3128 or socks5h://proxy:1080")
    address = Address(parts.scheme, parts.hostname or "", parts.port or _PORTS[parts.scheme])
    proxy = Proxy(address, unquote(parts.username or ""), unquote(parts.password or ""))
    if proxy.is_socks and not has_socks():
        raise ConfigError(f"cannot use {name}: SOCKS needs the package python-socks, which the extra `agent` installs")
    return proxy


def _is_excepted(address: Address, exceptions: str) -> bool:
    """NO_PROXY: hosts and domains separated by commas or blanks, `*` for all, networks like 10.0.0.0/8."""
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
    import ipaddress

    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:  # a name, or not a network
        return False
