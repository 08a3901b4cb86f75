"""Calls that one response asked for at once: where one is dropped, the others stay, wherever they hang.

From 2.1 on each result hangs off its own call and the conversation goes on from the last of them, so that of several calls only
one is on the chain (rule 30). What is left of a session is counted by hand.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.homes import session_id, write_session
from tests.surgery.conversations import Line, called, linked, turn
from tests.surgery.edited import recorded_sessions

from stenograph.surgery import AnyEdit, DropToolCalls, Plan, Selector, StripThinking, make_plan

#: 2.1.325: Read and Grep in one response, Read's result the one that the conversation goes on from, and two Reads alone later.
PARALLEL = next(path for path in recorded_sessions() if path.name.startswith("13e5ec2e"))
READ = DropToolCalls(Selector(tools=("Read",)))


def _sent(plan: Plan, release: str = "2.1.325") -> list[dict[str, Any]]:
    assert (plan.problems, plan.notes) == ([], [])
    return next(outcome.after for outcome in plan.outcomes if outcome.release == release)


def _said(messages: list[dict[str, Any]]) -> list[str]:
    """Each message by its blocks, calls and results by the tool's name."""
    names = {block["id"]: block["name"] for message in messages for block in message["content"] if block["type"] == "tool_use"}

    def said(block: dict[str, Any]) -> str:
        if block["type"] == "text":
            return str(block["text"])
        return block.get("name") or names.get(block.get("tool_use_id", "")) or str(block["type"])

    return [f"{message['role']}: {' '.join(said(block) for block in message['content'])}" for message in messages]


@pytest.mark.parametrize("before", [[], [StripThinking()]], ids=["alone", "without thinking"])
@pytest.mark.parametrize("prune", [False, True])
def test_a_call_beside_a_dropped_one_stays_in_a_recorded_session(before: list[AnyEdit], prune: bool) -> None:
    lines = [json.loads(line) for line in PARALLEL.read_bytes().splitlines()]
    blocks = [block for line in lines if line["type"] == "assistant" for block in line["message"]["content"]]
    others = [block["name"] for block in blocks if block["type"] == "tool_use" and block["name"] != "Read"]
    assert others[:4] == ["Bash", "Glob", "Grep", "TodoWrite"]
    plan = make_plan(PARALLEL, [*before, READ], prune=prune)
    sent = _sent(plan)
    # Of 34 messages the two responses that only read go, each with its result.
    assert (len(plan.outcomes[-1].before), len(sent)) == (34, 30)
    assert [block["name"] for message in sent for block in message["content"] if block["type"] == "tool_use"] == others


def three_at_once(*, last: bool = False) -> list[Line]:
    """A prompt, a response that thinks and calls three tools at once, and, unless that is the last thing, an answer.

    The calls hang one off the other, each result off its own call, and the answer off the result of the first, as 2.1 writes it.
    """
    thinking = {"type": "thinking", "thinking": "Three at once.", "signature": "c2ln"}
    calls = {name: called(name, {}, f"{name} done") for name in ("Read", "Grep", "Glob")}
    lines = linked(
        *turn("Look", answer="Looked."),
        turn("Look again")[0],
        {**calls["Read"][0], "message": {**calls["Read"][0]["message"], "content": [thinking]}},
        *(calls[name][0] for name in ("Read", "Grep", "Glob")),
        *(calls[name][1] for name in ("Glob", "Grep", "Read")),
        turn("", answer="Found.")[1],
    )
    for line in lines[3:7]:
        line["message"] = {**line["message"], "id": "msg_at_once"}
    for line in lines:
        if line["type"] == "assistant":  # thinking is only sent to the model that thought it (rule 32)
            line["message"] = {**line["message"], "model": "claude-sonnet-4-5-20250929"}
    read, grep, glob = (line["uuid"] for line in lines[4:7])
    for line, parent in zip(lines[7:10], (glob, grep, read), strict=True):
        line["parentUuid"] = parent
    return lines[:-1] if last else lines


@pytest.mark.parametrize("prune", [False, True])
@pytest.mark.parametrize("release", ["2.0.76", "2.1.45", "2.1.325"])
def test_of_three_calls_at_once_two_stay_with_their_results_and_the_thinking(release: str, prune: bool, tmp_path: Path) -> None:
    path = write_session(tmp_path, session_id(1), three_at_once())
    assert _said(_sent(make_plan(path, [READ], prune=prune), release)) == [
        "user: Look",
        "assistant: Looked.",
        "user: Look again",
        "assistant: thinking Grep Glob",
        "user: Glob Grep",
        "assistant: Found.",
    ]


@pytest.mark.parametrize("prune", [False, True])
def test_calls_beside_a_dropped_one_stay_at_the_end_of_a_session_too(prune: bool, tmp_path: Path) -> None:
    path = write_session(tmp_path, session_id(1), three_at_once(last=True))
    assert _said(_sent(make_plan(path, [READ], prune=prune))) == [
        "user: Look",
        "assistant: Looked.",
        "user: Look again",
        "assistant: thinking Grep Glob",
        "user: Glob Grep",
        "assistant: No response requested.",
    ]
