"""No repr of anything that holds a transcript shows what it says."""

from __future__ import annotations

from pathlib import Path

from stenograph.disk import read_ends, read_lines
from stenograph.records import read_records
from stenograph.sessions.loading import load_file
from stenograph.testing.lines import assistant, system, text, tool_result, tool_use, user, write

SECRET = "the-secret-word"


def session_file(tmp_path: Path) -> Path:
    lines = [
        user("u1", SECRET),
        assistant("u2", "m", [tool_use("t", SECRET, a=SECRET)], "u1"),
        user("u3", [tool_result("t", SECRET), text(SECRET)], "u2"),
        system("u4", "away_summary", "u3", content=SECRET),
        system("u5", "compact_boundary", "u4", content=SECRET),
        user("u6", SECRET, "u5", isCompactSummary=True),
    ]
    return write(tmp_path / "session.jsonl", lines)


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
    assert repr(session.branches) == "(<Branch>,)"  # which leads to every turn of the session
