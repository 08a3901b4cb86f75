"""Connections to servers: addresses, proxies, TLS, delays, and one blocking connection. Does not know what is sent over it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stenograph._exports import lazy_exports

if TYPE_CHECKING:
    from stenograph.net.addresses import Address, Url, canonical_host, is_loopback, read_url
    from stenograph.net.compression import Decompressor, can_decompress, decompressor
    from stenograph.net.connection import Connection, ResponseHead, network_error, read_number, read_retry_after
    from stenograph.net.listening import loopback_listener
    from stenograph.net.proxies import Proxy, find_proxy
    from stenograph.net.socks import connect_through_socks
    from stenograph.net.tls import Tls, proxy_certificate_checked, tls_context, tls_from_environment

_MODULES = {
    "addresses": "Address Url canonical_host is_loopback read_url",
    "compression": "Decompressor can_decompress decompressor",
    "connection": "Connection ResponseHead network_error read_number read_retry_after",
    "listening": "loopback_listener",
    "proxies": "Proxy find_proxy",
    "socks": "connect_through_socks",
    "tls": "Tls proxy_certificate_checked tls_context tls_from_environment",
}

__all__ = [
    "Address",
    "Connection",
    "Decompressor",
    "Proxy",
    "ResponseHead",
    "Tls",
    "Url",
    "can_decompress",
    "canonical_host",
    "connect_through_socks",
    "decompressor",
    "find_proxy",
    "is_loopback",
    "loopback_listener",
    "network_error",
    "proxy_certificate_checked",
    "read_number",
    "read_retry_after",
    "read_url",
    "tls_context",
    "tls_from_environment",
]

__getattr__, __dir__ = lazy_exports(__name__, _MODULES, __all__)
