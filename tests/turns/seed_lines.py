"""Lines for the tests of the seed documents' algorithms: built by hand, read by the library."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from stenograph.records import Record, decode
from stenograph.sessions.load import load_file
from stenograph.turns import Session

Line = dict[str, Any]


def user(uuid: str, content: object, parent: str | None = None, **more: object) -> Line:
    return {
        "type": "user",
        "uuid": uuid,
        "parentUuid": parent,
        "timestamp": "2026-01-01T10:00:00Z",
        "message": {"role": "user", "content": content},
        **more,
    }


def assistant(uuid: str, message_id: str | None, content: object, parent: str | None = None, **message: object) -> Line:
    """`message` adds to the message: stop_reason, usage, model. Without stop_reason it is null, as it mostly is in real files."""
    inside = {"role": "assistant", "model": "claude-x", "content": content, "stop_reason": None, **message}
    if message_id is not None:
        inside["id"] = message_id
    return {"type": "assistant", "uuid": uuid, "parentUuid": parent, "timestamp": "2026-01-01T10:00:05Z", "message": inside}


def text(words: str) -> Line:
    return {"type": "text", "text": words}


def use(tool_use_id: str, name: str = "Bash", **given: object) -> Line:
    return {"type": "tool_use", "id": tool_use_id, "name": name, "input": given}


def result(tool_use_id: str, content: object = "done", **more: object) -> Line:
    return {"type": "tool_result", "tool_use_id": tool_use_id, "content": content, **more}


def read(*lines: Line) -> list[Record]:
    return [decode(json.dumps(line).encode()) for line in lines]


def load(folder: Path, *lines: Line, name: str = "session") -> Session:
    """The lines as a file, loaded as a whole session: what the library says of them."""
    path = folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return load_file(path)
