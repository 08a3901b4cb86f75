"""Why an edit does nothing, in words, and which calls a selection means."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.homes import assistant, session_id, user, write_session
from tests.surgery.conversations import Line, called, linked, turn

from stenograph.surgery import (
    AnyEdit,
    DropAgents,
    DropImages,
    DropToolCalls,
    DropTurns,
    Selector,
    StripThinking,
    TruncateResults,
    make_plan,
)
from stenograph.surgery.changes import cut_text
from stenograph.testing.lines import text

SIGNED: Line = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (DropTurns(Selector(keep_last=3)), "this session has 3 turns, and the last 3 are kept"),
        (DropTurns(Selector(keep_last=10)), "this session has 3 turns, and the last 10 are kept"),
        (DropTurns(Selector(before="2020-01-01T00:00:00Z")), "no turn started before that time"),
        (StripThinking(refused_only=True), "all of its thinking is signed"),
        (StripThinking(Selector(turns=((2, 2),)), refused_only=True), "no thinking"),
        (DropImages(), "no images or documents"),
        (DropAgents(), "this session has no subagents"),
        (TruncateResults(limit=20), "no result is longer than 20 characters"),
        (TruncateResults(limit=8), "1 result is longer than 8 characters, but truncating would save less than its note adds"),
    ],
)
def test_an_edit_that_does_nothing_says_why(edit: AnyEdit, why: str, tmp_path: Path) -> None:
    lines = [
        user("One"),
        assistant(SIGNED, text("Yes.")),
        *turn("Two", called("Bash", {"command": "a"}, "ten digits")),
        *turn("Three"),
    ]
    plan = make_plan(write_session(tmp_path, session_id(1), linked(*lines)), [edit])
    assert plan.is_empty
    assert [effect.note for effect in plan.done] == [why]


def test_a_text_that_was_cut_before_is_not_cut_again_although_its_note_is_longer_than_the_next_would_be() -> None:
    short = cut_text("x" * 100_000, 8)
    assert short == "xxxxx\n[… 99,992 characters cut …]\nxxx"
    assert cut_text(short, 8) == cut_text(short, 10) == short


def _agent(number: int) -> list[Line]:
    """A subagent among the session's own lines, as releases before 2.0 wrote it."""
    asked, said = user(f"Look at part {number}", isSidechain=True), assistant(text(f"Part {number} is fine."), isSidechain=True)
    return [asked, said]


def _two_agents(home: Path) -> Path:
    """One turn: a command, then two subagents, each with its two lines between the call and the result."""
    lines: list[Line] = [user("Look at both"), *called("Bash", {"command": "ls"}, "a b")]
    for number in (1, 2):
        use, result = called("Task", {"prompt": f"Look at part {number}"}, f"Part {number} is fine.", identity=f"toolu_{number}")
        lines += [use, *_agent(number), result]
    chain = linked(*lines, assistant(text("Both are.")))
    for place, line in enumerate(chain):
        if line["isSidechain"]:
            line["parentUuid"] = chain[place - 1]["uuid"] if line["type"] == "assistant" else None
        elif chain[place - 1]["isSidechain"]:
            line["parentUuid"] = chain[place - 3]["uuid"]
    return write_session(home, session_id(1), chain)


def test_only_the_lines_of_the_selected_subagent_leave_the_file(tmp_path: Path) -> None:
    path = _two_agents(tmp_path)
    plan = make_plan(path, [DropAgents(Selector(calls=("toolu_2",)))])
    assert plan.problems == []
    assert [effect.counts for effect in plan.done] == [{"lines": 2}]
    before = path.read_bytes().splitlines()
    assert b"".join(plan.new_file()).splitlines() == [line for line in before if not (b"true" in line and b"art 2" in line)]


def test_a_selection_by_subagent_finds_a_call_behind_others_of_the_same_turn(tmp_path: Path) -> None:
    path = _two_agents(tmp_path)
    session = make_plan(path, []).working.session
    assert [run.tool_use_id for run in session.agents] == ["toolu_1", "toolu_2"]
    plan = make_plan(path, [DropToolCalls(Selector(agents=(session.agents[1].agent_id,)))])
    assert [effect.counts for effect in plan.done] == [{"tool calls": 1}]
