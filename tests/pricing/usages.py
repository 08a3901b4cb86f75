"""Usages as a file holds them, written short."""

from __future__ import annotations

import json
from typing import Any

from msgspec import Raw

from stenograph.records import Usage
from stenograph.records.messages import read_usage


def usage(**members: Any) -> Usage:
    """A usage with the file's own names; `write_5m` and `write_1h` make a split and its total."""
    short, hour = members.pop("write_5m", None), members.pop("write_1h", None)
    if short is not None or hour is not None:
        members["cache_creation_input_tokens"] = (short or 0) + (hour or 0)
        members["cache_creation"] = {"ephemeral_5m_input_tokens": short or 0, "ephemeral_1h_input_tokens": hour or 0}
    read = read_usage(Raw(json.dumps(members).encode()))
    assert isinstance(read, Usage)
    return read
