"""What a plan shows before it is applied: sizes counted by hand."""

from __future__ import annotations

from pathlib import Path

from tests.homes import assistant, session_id, user, write_session
from tests.surgery.conversations import Line, called, linked, turn

from stenograph.surgery import AnyEdit, DropImages, DropToolCalls, Selector, TruncateResults, make_plan
from stenograph.surgery.preview import CallChange, DroppedBlocks, Preview, preview
from stenograph.testing.lines import text

IMAGE: Line = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}


def _preview(home: Path, lines: list[Line], *edits: AnyEdit) -> Preview:
    plan = make_plan(write_session(home, session_id(1), linked(*lines)), list(edits))
    assert plan.problems == []
    return preview(plan)


def _interrupted() -> list[Line]:
    """Two calls with a result of 7 and of 9,000 characters, and one that was never answered."""
    unanswered = {"type": "tool_use", "id": "toolu_open", "name": "Read", "input": {"file_path": "/x"}}
    return [
        *turn("One", called("Bash", {"command": "a"}, "7 chars"), called("Bash", {"command": "b"}, "x" * 9_000)),
        user("Two"),
        assistant(unanswered),
    ]


def test_calls_that_leave_are_shown_with_the_size_of_their_results_and_one_without_a_result_with_none(tmp_path: Path) -> None:
    shown = _preview(tmp_path, _interrupted(), DropToolCalls())
    assert shown.calls == [CallChange(1, "Bash", 7, None), CallChange(1, "Bash", 9_000, None), CallChange(2, "Read", 0, None)]


def test_only_the_result_that_is_truncated_is_shown(tmp_path: Path) -> None:
    shown = _preview(tmp_path, _interrupted(), TruncateResults(limit=1_000))
    # 1,000 characters and "\n[… 8,000 characters cut …]\n".
    assert shown.calls == [CallChange(1, "Bash", 9_000, 1_028)]


def test_an_image_that_leaves_a_result_does_not_change_the_size_of_its_text(tmp_path: Path) -> None:
    answer = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [text("seen"), IMAGE]}
    use = {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {}}
    lines = [user("Look"), assistant(use), user([answer]), assistant(text("Nice."))]
    shown = _preview(tmp_path, lines, DropImages())
    assert shown.calls == []
    assert shown.blocks == [DroppedBlocks(1, "images", 1)]
    gone = _preview(tmp_path, lines, DropToolCalls(Selector(tools=("Read",))))
    assert gone.calls == [CallChange(1, "Read", 4, None)]
