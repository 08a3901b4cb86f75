"""`usage` as an endpoint writes it -> the API's members, each of its own type; they are recorded, summed and priced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stenograph.model.events import Json

#: Larger sums would outgrow JSON.
MOST_TOKENS = 10**12

TOKEN_COUNTS = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
#: A missing count in one is 0.
_GROUPS = {
    "cache_creation": ("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"),
    "server_tool_use": ("web_search_requests", "web_fetch_requests"),
    "output_tokens_details": ("thinking_tokens",),
}
_WORDS = ("service_tier", "inference_geo", "speed")
#: Members that may be null.
_NULLABLE = (*_WORDS, "iterations", "output_tokens_details", "fallback_credit")


def read_usage(told: object, hide: Callable[[str], str]) -> Json:
    """`hide` removes what must not be shown."""
    if not isinstance(told, dict):
        return {}
    usage = _read_counted(told)
    usage |= {name: hide(value) for name in _WORDS if isinstance(value := told.get(name), str)}
    if isinstance(iterations := told.get("iterations"), list):
        usage["iterations"] = [_read_iteration(each, hide) for each in iterations if isinstance(each, dict)]
    return usage | {name: None for name in _NULLABLE if name in told and told[name] is None}


def put_over(before: Json, later: Json) -> Json:
    """Later counts are sums and replace; null replaces nothing."""
    return before | {name: value for name, value in later.items() if value is not None or name not in before}


def _read_counted(told: Json) -> Json:
    usage: Json = {name: told[name] for name in TOKEN_COUNTS if _is_count(told.get(name))}
    for name, members in _GROUPS.items():
        group = told.get(name)
        if isinstance(group, dict) and any(_is_count(group.get(member)) for member in members):
            usage[name] = {member: group[member] if _is_count(group.get(member)) else 0 for member in members}
    return usage


def _read_iteration(told: Json, hide: Callable[[str], str]) -> Json:
    kind = told.get("type")
    return _read_counted(told) | ({"type": hide(kind)} if isinstance(kind, str) else {})


def _is_count(value: Any) -> bool:
    # A bool is an int too.
    return type(value) is int and 0 <= value <= MOST_TOKENS
