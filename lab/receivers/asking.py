"""HTTP to a server on loopback, for the readers: JSON in and out, never through a proxy.

Knows nothing of what is asked.
"""

from __future__ import annotations

import gzip
import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

ANSWER_TIMEOUT = 60.0
_POST_TIMEOUT = 20.0

# The caller's proxy settings are for other hosts than this one.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def ask(method: str, url: str, body: object = None) -> Any:
    """The answer's JSON, None for an empty answer and for "not found". Raises OSError otherwise."""
    data = None if body is None else json.dumps(body).encode()
    try:
        answer = send(method, url, data, {"Content-Type": "application/json"})
    except urllib.error.HTTPError as refused:
        with refused:
            if refused.code == 404:
                return None
            raise
    return json.loads(answer) if answer else None


def send(method: str, url: str, body: bytes | None, headers: Mapping[str, str], timeout: float = ANSWER_TIMEOUT) -> bytes:
    """The body of the answer. Raises OSError where there is none or its status says that it failed."""
    request = urllib.request.Request(url, data=body, headers=dict(headers), method=method)
    with _OPENER.open(request, timeout=timeout) as answer:
        content: bytes = answer.read()
        return content


def post_protobuf(url: str, body: bytes, headers: Mapping[str, str]) -> None:
    """Post as exporters do, with gzip; once more after a time-out, as a receiver may be slow with its first request."""
    headers = {"Content-Type": "application/x-protobuf", "Content-Encoding": "gzip", **headers}
    packed = gzip.compress(body)
    try:
        send("POST", url, packed, headers, _POST_TIMEOUT)
    except TimeoutError:
        send("POST", url, packed, headers)


def responds(url: str) -> bool:
    """Whether a server answers there with success."""
    try:
        send("GET", url, None, {}, timeout=5.0)
    except OSError:
        return False
    return True
