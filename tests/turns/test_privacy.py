"""No repr of anything that holds a transcript shows what it says."""

from __future__ import annotations

import json
from pathlib import Path

from stenograph.disk import read_ends, read_lines
from stenograph.records import read_records
from stenograph.sessions.loading import load_file

SECRET = "the-secret-word"


def session_file(tmp_path: Path) -> Path:
    use = {"type": "tool_use", "id": "t", "name": SECRET, "input": {"a": SECRET}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": SECRET}
    lines = [
        {"type": "user", "uuid": "u1", "parentUuid": None, "message": {"content": SECRET}},
        {"type": "assistant", "uuid": "u2", "parentUuid": "u1", "message": {"id": "m", "content": [use]}},
        {"type": "user", "uuid": "u3", "parentUuid": "u2", "message": {"content": [result, {"type": "text", "text": SECRET}]}},
        {"type": "system", "subtype": "away_summary", "uuid": "u4", "parentUuid": "u3", "content": SECRET},
        {"type": "system", "subtype": "compact_boundary", "uuid": "u5", "parentUuid": "u4", "content": SECRET},
        {"type": "user", "uuid": "u6", "parentUuid": "u5", "isCompactSummary": True, "message": {"content": SECRET}},
    ]
    path = tmp_path / "session.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_no_repr_shows_what_a_transcript_says(tmp_path: Path) -> None:
    path = session_file(tmp_path)
    session = load_file(path)
    (turn,) = session.turns
    shown = [
        *read_lines(path), read_ends(path, 10_000, 10_000), *read_records(path), session, session.graph, session.context,
        session.branches, turn, turn.opening, turn.calls, turn.tool_calls, turn.interjections, turn.events, turn.compactions,
        session.findings,
    ]  # fmt: skip
    assert turn.interjections
    assert turn.events
    assert turn.compactions
    assert SECRET not in repr(shown)
