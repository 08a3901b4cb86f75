"""Read Claude Code sessions as they really are: records, turns, and what a person would say happened.

    import stenograph

    session = stenograph.load("last")
    print(session.title, session.model, session.turns[0].prompt)

`load`, `stream`, `load_messages` and `resolve` take an id, a unique prefix, a title, a path or `last`. They and `list_sessions`
look in the homes of the environment unless others are given. Names are imported when first used: `import stenograph` is cheap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stenograph.version import __version__

if TYPE_CHECKING:
    from stenograph.errors import StenographError
    from stenograph.records import decode, encode, read_records
    from stenograph.sessions import Listing, SessionInfo, list_sessions, resolve
    from stenograph.sessions.loading import load, load_messages, stream
    from stenograph.turns import AgentRun, ApiCall, Session, ToolCall, Turn

_MODULES = {
    "AgentRun": "stenograph.turns",
    "ApiCall": "stenograph.turns",
    "Listing": "stenograph.sessions",
    "Session": "stenograph.turns",
    "SessionInfo": "stenograph.sessions",
    "StenographError": "stenograph.errors",
    "ToolCall": "stenograph.turns",
    "Turn": "stenograph.turns",
    "decode": "stenograph.records",
    "encode": "stenograph.records",
    "list_sessions": "stenograph.sessions",
    "load": "stenograph.sessions.loading",
    "load_messages": "stenograph.sessions.loading",
    "read_records": "stenograph.records",
    "resolve": "stenograph.sessions",
    "stream": "stenograph.sessions.loading",
}

__all__ = [
    "AgentRun",
    "ApiCall",
    "Listing",
    "Session",
    "SessionInfo",
    "StenographError",
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
    if name not in _MODULES:
        raise AttributeError(f"module 'stenograph' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return __all__
