"""The proxy on the way to a server, as the environment names it.

In: an address and the variables that name proxies and exceptions. Out: a `Proxy`, or None. Only the environment counts, as for
the client; the system's own settings are not read. Errors name the variable and not what it holds.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from urllib.parse import unquote

from msgspec import Struct

from stenograph.errors import ConfigError
from stenograph.net.addresses import DEFAULT_PORTS, Address, is_loopback, split_url

#: Which variables name the proxy for a scheme, the first that is set. That HTTP_PROXY serves https too is the client's rule.
_VARIABLES = {"https": ("https_proxy", "http_proxy", "all_proxy"), "http": ("http_proxy", "all_proxy")}


class Proxy(Struct, frozen=True):
    """A proxy that speaks plain HTTP."""

    address: Address
    #: The value of `proxy-authorization`; empty where the proxy's URL names no user.
    authorization: str = ""

    def __repr__(self) -> str:
        return f"Proxy({self.address.with_port})"

    @property
    def headers(self) -> dict[str, str]:
        """For requests that go to the proxy itself."""
        return {"proxy-authorization": self.authorization} if self.authorization else {}


def find_proxy(address: Address, environ: Mapping[str, str]) -> Proxy | None:
    """The proxy that the environment names for an address. This machine itself is never reached through one.

    Lower case wins over upper case, as in curl. Raises ConfigError.
    """
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
    if parts is None or parts.scheme != "http":
        raise ConfigError(
            f"{name} can't be used: name a proxy like http://proxy:3128 (SOCKS and TLS to the proxy are not supported)"
        )
    authorization = ""
    if parts.username:
        user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = "Basic " + b64encode(user.encode()).decode()
    return Proxy(Address("http", parts.hostname or "", parts.port or DEFAULT_PORTS["http"]), authorization)


def _is_excepted(address: Address, exceptions: str) -> bool:
    """Whether NO_PROXY names it: hosts and domains separated by commas or blanks, `*` for all, networks like 10.0.0.0/8."""
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
    import ipaddress  # few exceptions are networks

    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:  # the host is a name, or the network is not one
        return False
