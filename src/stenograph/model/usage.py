"""The counts of a response, as far as they are counts.

In: `usage` as an endpoint writes it, which may be anything. Out: the members that the Messages API has, each of its own type;
all else is left out, for it is recorded, summed up and priced as it stands. Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stenograph.model.events import Json

#: Far beyond any count of tokens. Sums of larger ones would outgrow what JSON can hold.
MOST_TOKENS = 10**12

TOKEN_COUNTS = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
#: Objects of counts. They come whole: a count that is missing in one is 0.
_GROUPS = {
    "cache_creation": ("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"),
    "server_tool_use": ("web_search_requests", "web_fetch_requests"),
    "output_tokens_details": ("thinking_tokens",),
}
_WORDS = ("service_tier", "inference_geo", "speed")
#: Members that say something by being null.
_NULLABLE = (*_WORDS, "iterations", "output_tokens_details", "fallback_credit")


def read_usage(told: object, hide: Callable[[str], str]) -> Json:
    """What of it can be used. `hide` takes out of a text what must not be shown."""
    if not isinstance(told, dict):
        return {}
    usage = _read_counted(told)
    usage |= {name: hide(value) for name in _WORDS if isinstance(value := told.get(name), str)}
    if isinstance(iterations := told.get("iterations"), list):
        usage["iterations"] = [_read_iteration(each, hide) for each in iterations if isinstance(each, dict)]
    return usage | {name: None for name in _NULLABLE if name in told and told[name] is None}


def put_over(before: Json, later: Json) -> Json:
    """Later counts are sums, so they replace; what is null says nothing where something was said."""
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
