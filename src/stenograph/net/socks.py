"""Connections through a SOCKS proxy, by python-socks, which is imported only then. Raises ProxyRefusedError and OSError."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stenograph.errors import ProxyRefusedError

if TYPE_CHECKING:
    import socket

    from stenograph.net.addresses import Address
    from stenograph.net.proxies import Proxy


def has_socks() -> bool:
    from importlib.util import find_spec

    return find_spec("python_socks") is not None


def connect_through_socks_blocking(proxy: Proxy, address: Address, timeout: float) -> socket.socket:
    from python_socks import ProxyError
    from python_socks.sync import Proxy as SocksProxy

    try:
        return SocksProxy(**_given(proxy)).connect(address.host, address.port, timeout=timeout)
    except ProxyError:
        raise ProxyRefusedError from None


async def connect_through_socks(proxy: Proxy, address: Address, timeout: float) -> socket.socket:
    from python_socks import ProxyError
    from python_socks.async_.asyncio import Proxy as SocksProxy

    try:
        return await SocksProxy(**_given(proxy)).connect(address.host, address.port, timeout=timeout)
    except ProxyError:
        raise ProxyRefusedError from None


def _given(proxy: Proxy) -> dict[str, Any]:
    from python_socks import ProxyType

    at = proxy.address
    kind = ProxyType.SOCKS5 if at.scheme.startswith("socks5") else ProxyType.SOCKS4
    is_remote = at.scheme in ("socks5h", "socks4a")
    return {
        "proxy_type": kind,
        "host": at.host,
        "port": at.port,
        "username": proxy.user or None,
        "password": proxy.password or None,
        "rdns": is_remote,
    }
