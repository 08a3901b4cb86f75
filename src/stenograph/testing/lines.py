"""Lines of session files, built by hand: small dicts in the client's own spelling, for tests that need a session of their own.

    from stenograph.testing.lines import assistant, text, tool_result, tool_use, user, write

    write(path, [
        user("u1", "List the files"),
        assistant("a1", "msg_1", [tool_use("toolu_1", "Bash", command="ls")], parent="u1"),
        user("u2", [tool_result("toolu_1", "README.md")], parent="a1"),
        assistant("a2", "msg_2", [text("One file.")], parent="u2"),
    ])

A line holds only what links and names it, so that a test shows what it is about; anything else is given by name, and may replace
what is there. Nothing of the library is used: what reads sessions is not tested by what it writes itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Line = dict[str, Any]

PROMPTED = "2026-01-01T10:00:00Z"
ANSWERED = "2026-01-01T10:00:05Z"


def user(uuid: str | None, content: object, parent: str | None = None, **members: object) -> Line:
    """A prompt (a string or blocks), or tool results (blocks). Without a UUID it has no place in a conversation, and no time."""
    return {"type": "user", **_place(uuid, parent, PROMPTED), "message": {"role": "user", "content": content}, **members}


def assistant(uuid: str | None, message_id: str | None, content: object, parent: str | None = None, **message: object) -> Line:
    """A line of a response; lines of one response share its id. `message` adds to the message: stop_reason, usage, model.

    Without `stop_reason` it is null, as it mostly is in real files.
    """
    inside = {"role": "assistant", "model": "claude-x", "content": content, "stop_reason": None, **message}
    if message_id is not None:
        inside["id"] = message_id
    return {"type": "assistant", **_place(uuid, parent, ANSWERED), "message": inside}


def system(uuid: str | None, subtype: str, parent: str | None = None, **members: object) -> Line:
    """What a client notes in the conversation: a compaction, an error, how long a turn took."""
    return {"type": "system", "subtype": subtype, **_place(uuid, parent, ANSWERED), **members}


def beside(kind: str, **members: object) -> Line:
    """A line outside the conversation: a title, a tag, a summary, a snapshot of files."""
    return {"type": kind, **members}


def _place(uuid: str | None, parent: str | None, time: str) -> Line:
    return {} if uuid is None else {"uuid": uuid, "parentUuid": parent, "timestamp": time}


def text(words: str) -> Line:
    return {"type": "text", "text": words}


def tool_use(tool_use_id: str = "toolu_1", name: str = "Bash", **given: object) -> Line:
    """`given` is the tool's input."""
    return {"type": "tool_use", "id": tool_use_id, "name": name, "input": given}


def tool_result(tool_use_id: str = "toolu_1", content: object = "done", **members: object) -> Line:
    return {"type": "tool_result", "tool_use_id": tool_use_id, "content": content, **members}


def encode(lines: Iterable[Line]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def write(path: Path, lines: Iterable[Line]) -> Path:
    """A session file with these lines; its directory is made if it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encode(lines))
    return path
