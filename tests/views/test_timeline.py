"""The viewer's timeline beside what a client recorded."""

from __future__ import annotations

from tests.corpora import ROOT

from stenograph.analysis import PARTS
from stenograph.sessions import load_file
from stenograph.views.pages.timeline_turns import Timeline


def test_memory_files_are_a_part_of_the_context_of_their_own() -> None:
    """2.1.325 records what it adds to the conversation, instructions among it."""
    (path,) = (ROOT / "recordings" / "2.1.325" / "furnished").glob("*.jsonl")
    session = load_file(path)
    calls = Timeline(session, session.branches[0]).page().calls
    assert calls
    assert all(call.parts[PARTS.index("memory")] > 0 for call in calls)
