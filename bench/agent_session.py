"""A generated session of 100 MB that fits into a model's window without a compaction: edits of long files.

Its lines are long because each result of an edit keeps the whole file as it was (`originalFile`), which is never sent: of the
100 MB about 600 kB are.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

SIZE = 100_000_000
START = datetime(2026, 1, 1, tzinfo=UTC)
#: Of a file of 200 kB.
LINES = 5_000
MESSAGES_IN_A_TURN = 4


def write_edits(path: Path, session: str) -> None:
    """A linear session, each line hanging off the one before, with a turn for each edit."""
    original = "".join(f"{number:05} a line of a long source file\n" for number in range(LINES))
    size = turn = 0
    with path.open("w", encoding="utf-8") as file:
        while size < SIZE:
            for place, line in enumerate(_turn(turn, original)):
                number = turn * MESSAGES_IN_A_TURN + place
                linked = {
                    "parentUuid": f"00000000-0000-4000-8000-{number - 1:012}" if number else None,
                    "isSidechain": False,
                    "userType": "external",
                    "cwd": "/home/user/project",
                    "sessionId": session,
                    "version": "2.1.325",
                    **line,
                    "uuid": f"00000000-0000-4000-8000-{number:012}",
                    "timestamp": (START + timedelta(seconds=number)).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
                }
                size += file.write(json.dumps(linked, separators=(",", ":")) + "\n")
            turn += 1


def _turn(turn: int, original: str) -> list[dict[str, Any]]:
    old, new = f"{turn:05} a line of a long source file", f"{turn:05} another line"
    path = "/home/user/project/long.py"
    edit = {"file_path": path, "old_string": old, "new_string": new}
    use = {"type": "tool_use", "id": f"toolu_{turn:024}", "name": "Edit", "input": edit}
    said = f"The file {path} has been updated successfully."
    result = {"type": "tool_result", "tool_use_id": use["id"], "content": said}
    kept = {
        "filePath": path,
        "oldString": old,
        "newString": new,
        "originalFile": original,
        "structuredPatch": [],
        "userModified": False,
        "replaceAll": False,
    }
    return [
        {"type": "user", "message": {"role": "user", "content": f"Change line {turn}."}},
        _answer(f"msg_{turn:024}", use, "tool_use"),
        {"type": "user", "message": {"role": "user", "content": [result]}, "toolUseResult": kept},
        _answer(f"msg_{turn:023}b", {"type": "text", "text": "It is changed. " * 20}, "end_turn"),
    ]


def _answer(message: str, block: dict[str, Any], stop_reason: str) -> dict[str, Any]:
    usage = {"input_tokens": 1000, "output_tokens": 100, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    said = {"id": message, "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": [block]}
    return {"type": "assistant", "message": {**said, "stop_reason": stop_reason, "stop_sequence": None, "usage": usage}}
