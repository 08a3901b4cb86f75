"""The way to a server: addresses, proxies, TLS, waiting, and one blocking connection; nothing of what is said on it."""

from stenograph.net.addresses import Address, Url, canonical_host, is_loopback, read_url
from stenograph.net.connection import Connection, ResponseHead, network_error, read_number, read_retry_after, tls_context
from stenograph.net.listening import loopback_listener
from stenograph.net.proxies import Proxy, find_proxy

__all__ = [
    "Address",
    "Connection",
    "Proxy",
    "ResponseHead",
    "Url",
    "canonical_host",
    "find_proxy",
    "is_loopback",
    "loopback_listener",
    "network_error",
    "read_number",
    "read_retry_after",
    "read_url",
    "tls_context",
]
