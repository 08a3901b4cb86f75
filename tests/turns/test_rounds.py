"""Round types, rule by rule, and how they differ from turns."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.turns.loading import load, read

from stenograph.records import Record
from stenograph.testing.lines import Line, assistant, text, tool_result, user
from stenograph.turns.rounds import RoundType, round_type, round_types


def one(line: Line) -> Record:
    return read(line)[0]


def test_round_type_1_permission_mode_is_a_new_session_before_all_else() -> None:
    message = one(user("u1", [tool_result("t1")], "p", permissionMode="default"))
    assert round_type(message) is RoundType.NEW_SESSION


def test_round_type_1_a_permission_mode_of_any_type_counts_unless_it_is_null() -> None:
    assert round_type(one(user("u1", "Go", "p", permissionMode=7))) is RoundType.NEW_SESSION
    assert round_type(one(user("u1", "Go", "p", permissionMode=None))) is RoundType.NEW_ROUND


def test_round_type_2_no_parent_is_a_new_session() -> None:
    absent = user("u1", [tool_result("t1")])
    del absent["parentUuid"]
    assert round_type(one(user("u1", [tool_result("t1")], None))) is RoundType.NEW_SESSION
    assert round_type(one(absent)) is RoundType.NEW_SESSION


def test_round_type_3_a_tool_result_continues() -> None:
    late = user("u1", [text("x"), tool_result("t1")], "p", timestamp="2026-01-01T23:00:00Z")
    assert round_type(one(late), one(user("p", "Go"))) is RoundType.CONTINUE


@pytest.mark.parametrize(
    ("timestamp", "expected"),
    [
        ("2026-01-01T10:05:00Z", RoundType.NEW_ROUND),
        ("2026-01-01T10:05:00.001Z", RoundType.RESUME),
        ("2026-01-01T09:00:00Z", RoundType.NEW_ROUND),
        ("whenever", RoundType.NEW_ROUND),
    ],
)
def test_round_type_4_a_gap_over_five_minutes_is_a_resume(timestamp: str, expected: RoundType) -> None:
    before, message = one(user("p", "Go")), one(user("u1", "On", "p", timestamp=timestamp))
    assert round_type(message, before) is expected


def test_round_type_4_the_threshold_is_a_parameter() -> None:
    before, message = one(user("p", "Go")), one(user("u1", "On", "p", timestamp="2026-01-01T10:02:00Z"))
    assert round_type(message, before, threshold_minutes=1) is RoundType.RESUME
    assert round_type(message, before, threshold_minutes=2) is RoundType.NEW_ROUND


def test_round_type_4_without_a_message_before_there_is_no_gap() -> None:
    assert round_type(one(user("u1", "On", "p", timestamp="2030-01-01T00:00:00Z"))) is RoundType.NEW_ROUND


def test_round_types_are_reported_beside_our_turns(tmp_path: Path) -> None:
    session = load(
        tmp_path,
        user("u1", "One"),
        assistant("a1", "m1", [text("1")], "u1"),
        user("u2", "Two", "a1", timestamp="2026-01-01T10:01:00Z"),
        assistant("a2", "m2", [text("2")], "u2"),
        user("u3", "Three", "a2", timestamp="2026-01-01T12:00:00Z"),
        {"type": "system", "subtype": "turn_duration", "uuid": "d", "parentUuid": "u3", "timestamp": "2026-01-01T13:00:00Z"},
        user("u4", "Four", "d", timestamp="2026-01-01T13:00:01Z", permissionMode="plan"),
    )
    by_prompt = {turn.prompt: turn.node for turn in session.all_turns}
    found = round_types(session)
    assert {prompt: found[node].value for prompt, node in by_prompt.items()} == {
        "One": "new_session",
        "Two": "new_round",
        "Three": "resume",
        "Four": "new_session",
    }
    assert round_types(session, threshold_minutes=180)[by_prompt["Three"]] is RoundType.NEW_ROUND


def test_round_types_look_past_what_nobody_said(tmp_path: Path) -> None:
    """The message before a prompt is the last thing said, not a hook's note in between."""
    session = load(
        tmp_path,
        user("u1", "One"),
        {"type": "system", "subtype": "turn_duration", "uuid": "d", "parentUuid": "u1", "timestamp": "2026-01-01T11:00:00Z"},
        user("u2", "Two", "d", timestamp="2026-01-01T11:00:01Z"),
    )
    assert [kind.value for kind in round_types(session).values()] == ["new_session", "resume"]


def test_permission_mode_only_on_the_first_message_is_not_so_and_ours_does_not_ask_it(tmp_path: Path) -> None:
    """79 of the 87 prompts with permissionMode in the corpus have a parent: by the seed each is a new session."""
    lines = [
        user("u1", "One", permissionMode="default"),
        assistant("a1", "m1", [text("1")], "u1"),
        user("u2", "Two", "a1", permissionMode="default"),
    ]
    session = load(tmp_path, *lines)
    assert [kind.value for kind in round_types(session).values()] == ["new_session", "new_session"]
    assert [turn.number for turn in session.turns] == [1, 2]


def test_permission_mode_is_absent_from_most_prompts_and_ours_counts_them(tmp_path: Path) -> None:
    """149 of the 236 prompts in the corpus have none: releases before 2.1.15 never write it."""
    session = load(tmp_path, user("u1", "One"), user("u2", "Two", "u1"))
    assert [turn.prompt for turn in session.turns] == ["One", "Two"]


def test_a_null_parent_is_a_new_session_but_after_a_compaction_ours_goes_on(tmp_path: Path) -> None:
    """A compaction's boundary has a null parent (A6): the chain is not broken by it, and numbers go on."""
    session = load(
        tmp_path,
        user("u1", "One"),
        assistant("a1", "m1", [text("1")], "u1"),
        {"type": "system", "subtype": "compact_boundary", "uuid": "b", "parentUuid": None, "logicalParentUuid": "a1"},
        user("s", "Summary", "b", isCompactSummary=True),
        user("u2", "Two", "s"),
    )
    assert [(turn.number, turn.prompt) for turn in session.turns] == [(1, "One"), (2, "Two")]
