"""Read Claude Code sessions as they really are: records, turns, and what a person would say happened.

    import stenograph

    session = stenograph.load("last")
    print(session.turns[0].prompt)

Names are imported when first used, so that `import stenograph` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stenograph.version import __version__

if TYPE_CHECKING:
    from stenograph.records import decode, encode, read_records
    from stenograph.sessions import list_sessions, resolve
    from stenograph.sessions.load import load, stream
    from stenograph.sessions.messages import load_messages
    from stenograph.turns import AgentRun, ApiCall, Session, ToolCall, Turn

_HOMES = {
    "AgentRun": "stenograph.turns",
    "ApiCall": "stenograph.turns",
    "Session": "stenograph.turns",
    "ToolCall": "stenograph.turns",
    "Turn": "stenograph.turns",
    "decode": "stenograph.records",
    "encode": "stenograph.records",
    "list_sessions": "stenograph.sessions",
    "load": "stenograph.sessions.load",
    "load_messages": "stenograph.sessions.messages",
    "read_records": "stenograph.records",
    "resolve": "stenograph.sessions",
    "stream": "stenograph.sessions.load",
}

__all__ = [
    "AgentRun",
    "ApiCall",
    "Session",
    "ToolCall",
    "Turn",
    "__version__",
    "decode",
    "encode",
    "list_sessions",
    "load",
    "load_messages",
    "read_records",
    "resolve",
    "stream",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'stenograph' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
