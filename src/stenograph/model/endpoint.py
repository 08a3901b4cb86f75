"""Which endpoint is used, and how, from environment variables.

Keys come only from the variables. Errors name the variable, never its value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

from stenograph.errors import ConfigError, UsageError
from stenograph.net import Address, Proxy, Tls, find_proxy, read_url, tls_from_environment

DEFAULT_BASE_URL = "https://api.anthropic.com"
#: Seconds until an answer begins, as the client's default API_TIMEOUT_MS.
TIMEOUT = 600.0
#: Seconds without a byte. Endpoints send `ping` far more often.
IDLE_TIMEOUT = 300.0
#: Idle timeouts that may pass with signs of life only. Models think silently for a quarter of an hour and more.
STALL_FACTOR = 6
MAX_RETRIES = 10
#: The clients' maximum of CLAUDE_CODE_MAX_RETRIES.
MOST_RETRIES = 15

_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_HEADER_VALUE = re.compile(r"[ \t!-~]*")
#: Ours to set: another value would break the exchange.
_RESERVED = frozenset({"host", "content-length", "transfer-encoding", "connection", "accept-encoding", "expect", "upgrade"})
_KEY_HEADERS = frozenset({"x-api-key", "authorization"})


class Endpoint(Struct, frozen=True, kw_only=True):
    address: Address
    #: Before `/v1/messages`; without a trailing slash.
    path: str = ""
    #: Keys and the user's own, in lower case. They override a request's.
    headers: dict[str, str]
    proxy: Proxy | None = None
    timeout: float = TIMEOUT
    idle_timeout: float = IDLE_TIMEOUT
    max_retries: int = MAX_RETRIES
    #: Off for endpoints that refuse the marks.
    marks_cache: bool = True
    tls: Tls = Tls()
    #: Ask without streaming where streams are always cut off.
    falls_back: bool = True

    def __repr__(self) -> str:
        """Without the keys: it ends up in tracebacks."""
        return f"Endpoint({self.address.scheme}://{self.address.authority}{self.path})"

    @property
    def longest_stall(self) -> float:
        """Seconds in which bytes come, but nothing of an answer."""
        return self.idle_timeout * STALL_FACTOR

    @property
    def secrets(self) -> list[str]:
        """What no message may show, longest first."""
        told = [*self.headers.values(), self.tls.passphrase]
        if self.proxy:
            told += [self.proxy.authorization, self.proxy.password]
        keys = {part for value in told for part in (value, value.rpartition(" ")[2])}
        return sorted((key for key in keys if len(key) >= 8), key=len, reverse=True)


def endpoint_from_environment(environ: Mapping[str, str]) -> Endpoint:
    """Raises UsageError without a key, ConfigError for an invalid variable."""
    address, path = _base_url(environ.get("ANTHROPIC_BASE_URL", "").strip() or DEFAULT_BASE_URL)
    headers = {}
    # Both if both are set, as 2.1.325 does.
    if key := environ.get("ANTHROPIC_API_KEY", "").strip():
        headers["x-api-key"] = _value(key, "ANTHROPIC_API_KEY")
    if token := environ.get("ANTHROPIC_AUTH_TOKEN", "").strip():
        headers["authorization"] = "Bearer " + _value(token, "ANTHROPIC_AUTH_TOKEN")
    headers |= _custom_headers(environ.get("ANTHROPIC_CUSTOM_HEADERS", ""))
    if not _KEY_HEADERS & headers.keys():
        raise UsageError("no API key; set ANTHROPIC_API_KEY, or ANTHROPIC_AUTH_TOKEN for a bearer token")
    return Endpoint(
        address=address,
        path=path,
        headers=headers,
        proxy=find_proxy(address, environ),
        timeout=_seconds(environ, "API_TIMEOUT_MS", TIMEOUT),
        idle_timeout=_seconds(environ, "STENO_IDLE_TIMEOUT_MS", IDLE_TIMEOUT),
        max_retries=min(int(_number(environ, "CLAUDE_CODE_MAX_RETRIES", MAX_RETRIES)), MOST_RETRIES),
        marks_cache=not _is_on(environ, "DISABLE_PROMPT_CACHING"),
        tls=tls_from_environment(environ, identifies=True),
        falls_back=not _is_on(environ, "CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK"),
    )


def _is_on(environ: Mapping[str, str], name: str) -> bool:
    return environ.get(name, "").strip().lower() in ("1", "true", "yes", "on")


def _base_url(written: str) -> tuple[Address, str]:
    url = read_url(written)
    if url is None:
        raise ConfigError("ANTHROPIC_BASE_URL is not a URL like https://example.com")
    if url.has_user:
        raise ConfigError("ANTHROPIC_BASE_URL has a user or a key; use ANTHROPIC_API_KEY or ANTHROPIC_CUSTOM_HEADERS instead")
    if url.query or url.fragment:
        raise ConfigError("ANTHROPIC_BASE_URL has a `?` or a `#`; use the address alone, without /v1/messages")
    return url.address, url.path.rstrip("/")


def _custom_headers(written: str) -> dict[str, str]:
    """From lines like `Name: value`."""
    headers = {}
    for line in re.split(r"[\r\n]+", written):
        if not line.strip():
            continue
        name, colon, value = line.partition(":")
        name = name.strip().lower()
        if not colon or not _HEADER_NAME.fullmatch(name):
            raise ConfigError("ANTHROPIC_CUSTOM_HEADERS is not valid; write a line like `Name: value` for each header")
        if name in _RESERVED:
            raise ConfigError(f"ANTHROPIC_CUSTOM_HEADERS cannot set the header {name}")
        headers[name] = _value(value.strip(), "ANTHROPIC_CUSTOM_HEADERS")
    return headers


def _value(value: str, name: str) -> str:
    if not _HEADER_VALUE.fullmatch(value):
        raise ConfigError(f"{name} has a character that HTTP headers do not allow; was it copied completely?")
    return value


def _seconds(environ: Mapping[str, str], name: str, default: float) -> float:
    return _number(environ, name, default * 1000) / 1000 or default


def _number(environ: Mapping[str, str], name: str, default: float) -> float:
    written = environ.get(name, "").strip()
    if not written:
        return default
    if not (written.isascii() and written.isdigit() and len(written) <= 12):
        raise ConfigError(f"{name} must be a whole number, 0 or more")
    return float(written)
