"""What went wrong with a request, in one line that says what to do next, and whether to retry.

The endpoint's own words are part of it, cut, without the keys that some endpoints repeat.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from stenograph.errors import (
    CertificateRequiredError,
    MalformedResponseError,
    ModelError,
    NetworkError,
    NetworkTimeoutError,
    ProxyRefusedError,
    RefusedError,
    UnknownHostError,
    UnreachableError,
    UnreadableCertificateError,
    UntrustedCertificateError,
)
from stenograph.model.endpoint import Endpoint
from stenograph.model.events import Json
from stenograph.model.json_text import read_json
from stenograph.net import ResponseHead, is_loopback, read_number, read_retry_after

#: Characters of the endpoint's words.
_LONGEST_WORDS = 1_000
#: What the endpoint's words don't say.
_REMEDIES = {
    401: "check ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN",
    403: "the key may not use this",
    404: "check the model's name and ANTHROPIC_BASE_URL",
    405: "check ANTHROPIC_BASE_URL",
    407: "the proxy requires a user and a password: HTTPS_PROXY=http://user:password@proxy:3128",
    413: "the conversation is too large for one request: compact it",
}
#: Kinds of 429 that waiting does not help against: money is spent.
_SPENT = re.compile(r"spend_limit|usage_limit|quota|credit_balance|billing")


def _certificate_remedy(reason: str, variable: str) -> str:
    """By OpenSSL's words. `variable`: which names the host."""
    if "expired" in reason or "not yet valid" in reason:
        return "check the clock of this machine, or have the certificate renewed"
    if "ismatch" in reason or "not valid for" in reason:
        return f"check the host in {variable}"
    return "add its certificate authority with NODE_EXTRA_CA_CERTS"


class NoProgressError(NetworkTimeoutError):
    """Bytes come, but nothing of an answer: pings, or endless events."""


class Failures:
    """Of one endpoint."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._secrets = endpoint.secrets
        self._host = endpoint.address.authority
        self._idle_timeout = endpoint.idle_timeout
        self._longest_stall = endpoint.longest_stall
        self._has_proxy = endpoint.proxy is not None
        self._address = endpoint.address.with_port
        self._is_local = endpoint.proxy is None and is_loopback(endpoint.address.host)

    def of_answer(self, head: ResponseHead, body: bytes, *, now: float) -> RequestFailure:
        """`now`: seconds since 1970, for dates in `retry-after`."""
        told = _read_error(body)
        kind, words, code = _member(told, "type"), _member(told, "message"), _error_code(told)
        retry_after = asked_wait(head.headers, now=now)
        said = self._clean(words) or _REMEDIES.get(head.status, "")
        if 300 <= head.status < 400:
            said = "it redirects: set ANTHROPIC_BASE_URL to the final address"
        elif words and head.status in _REMEDIES:
            said += f" ({_REMEDIES[head.status]})"
        named = f"HTTP {head.status} {self._clean(kind)}".rstrip()
        error = RefusedError(
            f"{named}: {said}" if said else f"{named} from {self._host}",
            status=head.status,
            kind=self._clean(kind),
            request_id=self.request_id_of(head),
            retry_after=retry_after,
        )
        is_spent = head.status == 429 and retry_after is None and _SPENT.search(f"{kind} {code}") is not None
        return RequestFailure(error, is_status_temporary(head.status, head.headers) and not is_spent)

    def of_error_event(self, head: ResponseHead, event: Json) -> RequestFailure:
        """An error in the middle of a successful stream."""
        told = event.get("error")
        told = told if isinstance(told, dict) else {}
        kind, words = self._clean(_member(told, "type")), self._clean(_member(told, "message"))
        error = RefusedError(
            f"{kind or 'an error'} in the middle of the answer" + (f": {words}" if words else ""),
            status=head.status,
            kind=kind,
            request_id=self.request_id_of(head),
        )
        return RequestFailure(error, is_temporary_in_stream(kind))

    def of_content(self, head: ResponseHead, told: str) -> RequestFailure:
        """Not an answer of the Messages API; a retry would give the same."""
        error = ModelError(f"{self._host} {told}", status=head.status, request_id=self.request_id_of(head))
        return RequestFailure(error, is_temporary=False)

    def of_silence(self, told: str, head: ResponseHead | None = None) -> RequestFailure:
        """An answer that did not come, or not to its end."""
        return self._unreachable(f"{self._host} {told}", head, is_temporary=True)

    def of_cut(self, told: str, head: ResponseHead) -> RequestFailure:
        """An answer that ended too early."""
        return replace(self.of_silence(told, head), is_cut=True)

    def of_exception(self, error: NetworkError, head: ResponseHead | None = None) -> RequestFailure:
        """Of what the transport raised."""
        if isinstance(error, ProxyRefusedError):
            remedy = _REMEDIES[407] if error.status == 407 else "check HTTPS_PROXY or ALL_PROXY"
            status = f" (HTTP {error.status})" if error.status else ""
            told = f"the proxy does not connect to {self._host}{status}: {remedy}"
            return self._unreachable(told, head, is_temporary=is_status_temporary(error.status, {}))
        if isinstance(error, UntrustedCertificateError):
            whose = "the proxy" if error.is_proxy else self._host
            told = f"{whose} has a certificate that is not trusted ({error.reason}): "
            told += _certificate_remedy(error.reason, "HTTPS_PROXY" if error.is_proxy else "ANTHROPIC_BASE_URL")
            return self._unreachable(told, head, is_temporary=False)
        if isinstance(error, UnreadableCertificateError):
            told = f"cannot use the certificates of {error.variables}; check the files, and the passphrase of a key"
            return self._unreachable(told, head, is_temporary=False)
        if isinstance(error, CertificateRequiredError):
            told = f"{self._host} requires a client certificate: set CLAUDE_CODE_CLIENT_CERT and CLAUDE_CODE_CLIENT_KEY"
            return self._unreachable(told, head, is_temporary=False)
        if isinstance(error, NoProgressError):
            limit = f"{self._longest_stall:g} s (STENO_IDLE_TIMEOUT_MS)"
            return self.of_silence(f"sent only pings for {limit}", head)
        if head is not None and isinstance(error, NetworkTimeoutError):
            return self.of_silence(f"sent nothing for {self._idle_timeout:g} s (STENO_IDLE_TIMEOUT_MS)", head)
        if head is not None:
            return self.of_cut(f"broke off in the middle of the answer ({error.reason})", head)
        if isinstance(error, NetworkTimeoutError):
            return self.of_silence("could not be connected to in time")
        if isinstance(error, MalformedResponseError):
            return self.of_silence("closed the connection without an answer, or does not speak HTTP/1.1")
        if isinstance(error, UnknownHostError):
            told = f"cannot resolve {self._host}; check the network and ANTHROPIC_BASE_URL"
            if self._has_proxy:  # whose name was looked up
                told = "cannot resolve the proxy's name; check the network and HTTPS_PROXY or HTTP_PROXY"
            return self._unreachable(told, head, is_temporary=True)
        if self._is_local and error.errno == errno.ECONNREFUSED:
            # Nothing on the way can fail: whoever waits would wait for a program that is not there.
            told = f"nothing listens on {self._address}: start the endpoint, or check ANTHROPIC_BASE_URL"
            return self._unreachable(told, head, is_temporary=False)
        return self.of_silence(f"cannot be reached ({error.reason}); check the network and ANTHROPIC_BASE_URL")

    def _unreachable(self, told: str, head: ResponseHead | None, *, is_temporary: bool) -> RequestFailure:
        status, request_id = (head.status, self.request_id_of(head)) if head is not None else (0, "")
        return RequestFailure(UnreachableError(told, status=status, request_id=request_id), is_temporary)

    def request_id_of(self, head: ResponseHead) -> str:
        """The endpoint's own."""
        return self._clean(head.headers.get("request-id") or head.headers.get("x-request-id") or "")

    def hide(self, words: str) -> str:
        """The endpoint's words without the keys that it was sent."""
        for secret in self._secrets:
            words = words.replace(secret, "[key]")
        return words

    def _clean(self, words: str) -> str:
        words = self.hide(words)
        words = " ".join("".join(letter if letter.isprintable() else " " for letter in words[: 4 * _LONGEST_WORDS]).split())
        return words if len(words) <= _LONGEST_WORDS else words[: _LONGEST_WORDS - 1] + "…"


def _read_error(body: bytes) -> Mapping[str, Any]:
    """{"error": {"type", "message"}} or {"error": "words"}"""
    try:
        told = read_json(body)
    except ValueError:  # a proxy's web page
        return {}
    error = told.get("error") if isinstance(told, dict) else None
    if isinstance(error, str):
        return {"message": error}
    return error if isinstance(error, dict) else {}


def _error_code(told: Mapping[str, Any]) -> str:
    details = told.get("details")
    return _member(details, "error_code") if isinstance(details, dict) else _member(told, "code")


def _member(told: Mapping[str, Any], name: str) -> str:
    value = told.get(name)
    return value if isinstance(value, str) else ""


FIRST_WAIT = 0.5
LONGEST_WAIT = 32.0
#: The share of a wait that is random, so that clients don't return all at once.
JITTER = 0.25
#: Seconds. A longer retry-after ends the request.
LONGEST_RETRY_AFTER = 3_600.0

_TEMPORARY_STATUSES = frozenset({408, 409, 429})
#: In the middle of a stream. `invalid_request_error` and the like would recur.
_TEMPORARY_KINDS = frozenset({"overloaded_error", "api_error", "rate_limit_error", "timeout_error"})


class RequestFailure(Struct, frozen=True):
    error: ModelError
    #: A retry may help.
    is_temporary: bool
    #: The answer had begun.
    is_cut: bool = False


def is_status_temporary(status: int, headers: Mapping[str, str]) -> bool:
    """By status; the endpoint's `x-should-retry` wins."""
    said = headers.get("x-should-retry", "").strip().lower()
    if said in ("true", "false"):
        return said == "true"
    return status in _TEMPORARY_STATUSES or status >= 500


def is_temporary_in_stream(kind: str) -> bool:
    return kind in _TEMPORARY_KINDS


def asked_wait(headers: Mapping[str, str], *, now: float) -> float | None:
    """Seconds that the endpoint asks for. `now`: seconds since 1970."""
    if (milliseconds := read_number(headers.get("retry-after-ms", ""))) is not None:
        return milliseconds / 1000
    return read_retry_after(headers.get("retry-after", ""), now=now)


def wait_before(attempt: int, retry_after: float | None, chance: float) -> float:
    """Seconds before retry `attempt` (from 1). `chance` is between 0 and 1."""
    if retry_after is not None:
        return retry_after
    doubled = FIRST_WAIT * 2.0 ** min(attempt - 1, 16)
    return min(doubled, LONGEST_WAIT) * (1 - JITTER * chance)
