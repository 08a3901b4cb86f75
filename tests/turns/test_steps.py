"""Steps: which lines are steps, of which type, and what they hold."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.turns.loading import load, read

from stenograph.testing.lines import assistant, text, tool_result, tool_use, user
from stenograph.turns.steps import Step, StepType, ToolCallRecord, steps


def test_mapping_user_without_tool_result_is_a_user_message() -> None:
    (step,) = steps(read(user("u1", "Hello, help me with...", "p0")))
    assert step == Step(
        type=StepType.USER_MESSAGE,
        content_summary="Hello, help me with...",
        raw_uuid="u1",
        parent_uuid="p0",
        timestamp=datetime(2026, 1, 1, 10, tzinfo=UTC),
    )


def test_mapping_user_with_tool_result_is_a_tool_result() -> None:
    (step,) = steps(read(user("u1", [tool_result("t1", "Command output here...")])))
    assert (step.type, step.content_summary) == (StepType.TOOL_RESULT, "Command output here...")


def test_mapping_assistant_without_tool_use_is_an_assistant_message() -> None:
    (step,) = steps(read(assistant("a1", "m1", [text("I'll help you with...")])))
    assert (step.type, step.content_summary, step.tool_calls) == (StepType.ASSISTANT_MESSAGE, "I'll help you with...", ())


def test_mapping_assistant_with_tool_use_is_a_tool_call_and_a_tool_call_record() -> None:
    (step,) = steps(read(assistant("a1", "m1", [text("Listing."), tool_use("t1", "Bash", command="ls -la")])))
    assert step.type is StepType.TOOL_CALL
    assert step.content_summary == "Listing."
    assert step.tool_calls == (ToolCallRecord("t1", "Bash", {"command": "ls -la"}),)


def test_mapping_content_is_summarised_to_200_characters() -> None:
    long, exact = steps(read(user("u1", "é" * 201), user("u2", "x" * 200)))
    assert long.content_summary == "é" * 200
    assert exact.content_summary == "x" * 200


def test_mapping_a_root_has_no_parent_uuid() -> None:
    (step,) = steps(read(user("u1", "Hi", None)))
    assert step.parent_uuid is None


@pytest.mark.parametrize("kind", ["queue-operation", "system", "summary", "file-history-snapshot"])
def test_filter_metadata_types_are_skipped(kind: str) -> None:
    kept = user("u1", "Hi")
    assert [step.raw_uuid for step in steps(read({"type": kind, "uuid": "x", "content": "text"}, kept))] == ["u1"]


def test_filter_sidechain_records_are_skipped() -> None:
    lines = [user("u1", "Hi"), user("s1", "Go and look", isSidechain=True), user("u2", "Bye", "u1", isSidechain=False)]
    assert [step.raw_uuid for step in steps(read(*lines))] == ["u1", "u2"]


def test_any_other_kind_is_not_a_step() -> None:
    assert steps(read({"type": "progress", "uuid": "x", "data": {}}, {"type": "brand-new", "uuid": "y"})) == []


def test_each_line_is_a_step_of_its_own_where_ours_has_one_call(tmp_path: Path) -> None:
    """The lines of one response are several steps here; ours is one call."""
    lines = [user("u1", "Hi"), assistant("a1", "m1", [text("Listing.")], "u1"), assistant("a2", "m1", [tool_use("t1")], "a1")]
    assert [step.type for step in steps(read(*lines))] == [
        StepType.USER_MESSAGE,
        StepType.ASSISTANT_MESSAGE,
        StepType.TOOL_CALL,
    ]
    (turn,) = load(tmp_path, *lines).turns
    assert len(turn.calls) == 1
