"""What holds of every session that the agent has written.

In: a session's file, and the world that it was written in. Out: nothing, or a failed assertion.
"""

from __future__ import annotations

from pathlib import Path

from tests.agent.sending import live_messages
from tests.agent.world import World, lines_of

from stenograph.agent.recording.resuming import as_user_words
from stenograph.check import check
from stenograph.sessions.loading import load_messages


def assert_valid(path: Path) -> None:
    """The file has one linear chain, times that increase, every call answered, and nothing that the checker knows of."""
    lines = lines_of(path)
    chained = [line for line in lines if "uuid" in line]
    parent = None
    for line in chained:
        assert line["parentUuid"] == (None if line.get("subtype") == "compact_boundary" else parent)
        parent = parent if line["type"] == "progress" else line["uuid"]
    times = [line["timestamp"] for line in chained]
    assert times == sorted(set(times))
    blocks = [
        block
        for line in chained
        if isinstance(line.get("message", {}).get("content"), list)
        for block in line["message"]["content"]
    ]
    uses = [block["id"] for block in blocks if block["type"] == "tool_use"]
    results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    assert sorted(uses) == sorted(results)
    report = check([path])
    assert (report.drift, report.damage, report.failures) == ([], [], [])


def assert_resumes_as_it_was(world: World, path: Path) -> None:
    """What the newest client would send on resume begins with what was last sent, and ends with what was answered to it."""
    sent = live_messages(world.asked()[-1])
    assert as_user_words(load_messages(path).messages or [])[: len(sent)] == sent
