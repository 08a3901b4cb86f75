"""`num_turns` of a result. The expected numbers are those of 2.1.325, which played the same scenes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lab.observatory.scenes import Scene, cue, say, text, tool
from tests.agent.world import world_at

from stenograph.agent.engine import events
from stenograph.agent.engine.session import Agent
from stenograph.agent.faces.stream_json import StreamMessages

SLOW = "sleep 30"
SCENES: dict[str, Scene] = {
    "parallel": [
        say(*(tool("Bash", command=f"echo {number}") for number in (1, 2, 3))),
        say(tool("Bash", command="echo 4")),
        say(text("Finished.")),
    ],
    "plain": [say(text("ok"))],
    "stopped": [
        say(tool("Bash", command="echo 1")),
        say(tool("Bash", command=SLOW), tool("Bash", command="echo 2")),
        say(text("never")),
    ],
}


@pytest.mark.parametrize(
    ("scene", "changes", "count"),
    [
        ("parallel", {}, 5),
        ("plain", {}, 1),
        ("stopped", {}, 5),
        ("parallel", {"max_turns": 1}, 2),
        ("parallel", {"max_turns": 2}, 3),
    ],
)
def test_turns_are_counted_as_the_client_counts_them(tmp_path: Path, scene: str, changes: dict[str, Any], count: int) -> None:
    def during(agent: Agent, event: events.Event) -> None:
        if isinstance(event, events.ToolBegin) and event.given["command"] == SLOW:
            agent.interrupt()

    messages = StreamMessages(release="2.1.325")
    with world_at(tmp_path, SCENES) as world:
        for event in world.run(cue(scene), during=during, **changes):
            list(messages.of(event))
    assert messages.last_result is not None
    assert messages.last_result["num_turns"] == count
