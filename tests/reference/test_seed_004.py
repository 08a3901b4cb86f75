"""Seed 004's rules of rounds, inputs and filters: what it says and, where real files say otherwise, what ours says."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.reference.seed004 import InputType, input_type, parse_content_blocks, round_features, round_type, starts_round
from tests.turns.loading import load, read

from stenograph.inputs import InputKind
from stenograph.records import Record
from stenograph.testing.lines import Line, assistant, text, tool_result, tool_use, user
from stenograph.turns import Status
from stenograph.turns.rounds import RoundType

SELECTION = text("<ide_selection>The user selected the lines 78 to 78 from a.py</ide_selection>")
OPENED = text("<ide_opened_file>The user opened the file a.py in the IDE.</ide_opened_file>")
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}


def one(line: Line) -> Record:
    return read(line)[0]


# Rounds: the three rules


def test_round_rule_1_permission_mode_begins_a_round() -> None:
    assert starts_round(one(user("u1", [tool_result("t1")], "p", permissionMode="default")))


def test_round_rule_2_a_tool_result_without_permission_mode_goes_on() -> None:
    assert not starts_round(one(user("u1", [tool_result("t1")], "p")))


def test_round_rule_3_neither_begins_a_round() -> None:
    assert starts_round(one(user("u1", [text("Go")], "p")))
    assert starts_round(one(user("u1", "Go", "p")))


# Inputs


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ([SELECTION, text("帮我实现##v0.2.3的任务...")], InputType.IDE_SELECTION),
        ([OPENED, text("继续")], InputType.IDE_OPENED_FILE),
        ([tool_result("call_xxx", "...")], InputType.TOOL_RESULT),
        ([text("帮我分析这个项目的结构")], InputType.TEXT),
        ("帮我分析这个项目的结构", InputType.TEXT),
        ([OPENED, SELECTION], InputType.IDE_SELECTION),
        ([IMAGE, text("What is it?")], None),
        ([], None),
    ],
)
def test_input_types_by_their_signs(content: object, expected: InputType | None) -> None:
    assert input_type(one(user("u1", content))) is expected


@pytest.mark.parametrize(
    ("content", "kind", "words"),
    [
        ([SELECTION, text("帮我实现")], InputKind.IDE_SELECTION, "帮我实现"),
        ([OPENED, text("继续")], InputKind.IDE_OPENED_FILE, "继续"),
        ([text("帮我分析")], InputKind.PROMPT, "帮我分析"),
    ],
)
def test_input_types_are_ours_too_with_the_persons_own_words(
    tmp_path: Path, content: object, kind: InputKind, words: str
) -> None:
    (turn,) = load(tmp_path, user("u1", content)).turns
    assert (turn.kind, turn.prompt) == (kind, words)


@pytest.mark.parametrize(
    ("content", "more", "kind"),
    [
        ("<command-name>/cost</command-name>", {}, InputKind.COMMAND),
        ("<bash-input>ls</bash-input>", {}, InputKind.BASH),
        ("<local-command-stdout>1</local-command-stdout>", {}, InputKind.LOCAL_OUTPUT),
        ("<task-notification>done</task-notification>", {}, InputKind.NOTIFICATION),
        ([text("[Request interrupted by user]")], {}, InputKind.INTERRUPT),
        ([text("Base directory for this skill")], {"isMeta": True}, InputKind.META),
        ("This session is being continued", {"isCompactSummary": True}, InputKind.COMPACTION_SUMMARY),
    ],
)
def test_input_types_lump_together_as_text_what_ours_tells_apart(
    tmp_path: Path, content: object, more: Line, kind: InputKind
) -> None:
    """The seed knows four kinds; what the client puts in the user's mouth is text to it."""
    line = user("u1", content, **more)
    assert input_type(one(line)) is InputType.TEXT
    assert load(tmp_path, line).context.inputs[0].kind is kind


def test_input_type_of_a_picture_is_none_but_ours_is_a_prompt(tmp_path: Path) -> None:
    (turn,) = load(tmp_path, user("u1", [IMAGE, text("What is it?")])).turns
    assert (turn.kind, turn.opening.images) == (InputKind.IMAGE, 1)


def test_input_of_an_open_file_alone_is_no_turn_of_ours(tmp_path: Path) -> None:
    """Editors write the note about the open file as a line of its own before the prompt (5 in the corpus): nobody asked yet."""
    lines = [user("u1", [OPENED]), user("u2", [text("Read it")], "u1"), assistant("a1", "m1", [text("Done")], "u2")]
    assert input_type(one(lines[0])) is InputType.IDE_OPENED_FILE
    assert [(turn.number, turn.prompt, turn.status) for turn in load(tmp_path, *lines).turns] == [(1, "Read it", Status.DONE)]


# Round features


@pytest.mark.parametrize(
    ("line", "round_name", "complexity"),
    [
        (user("u1", [SELECTION, text("帮我实现xxx功能...")], None), "first", "high"),
        (user("u1", [OPENED, text("继续")], "p"), "continue", "low"),
        (user("u1", [OPENED, text("下一步")], "p"), "continue", "low"),
        (user("u1", [OPENED, text("将xxx更新到文档")], "p"), "resume", "medium"),
        (user("u1", [tool_result("t1")], "p"), "tool_result", None),
        (user("u1", [text("帮我")], "p"), None, None),
    ],
)
def test_round_features_by_the_table(line: Line, round_name: str | None, complexity: str | None) -> None:
    features = round_features(one(line))
    assert (features.round, features.complexity) == (round_name, complexity)
    assert features.has_parent == (line["parentUuid"] is not None)


# Filters


def test_filter_empty_text_and_thinking_are_kept() -> None:
    message = one(assistant("a1", "m1", [text(""), {"type": "thinking", "thinking": "", "signature": "s"}]))
    assert parse_content_blocks(message) == [{"type": "text", "text": ""}, {"type": "thinking", "thinking": ""}]


def test_filter_tool_blocks_are_kept_under_the_seeds_names() -> None:
    assert parse_content_blocks(one(assistant("a1", "m1", [tool_use("t1", "Read", file_path="a")]))) == [
        {"type": "tool_use", "tool_name": "Read", "tool_input": {"file_path": "a"}, "tool_use_id": "t1"}
    ]
    assert parse_content_blocks(one(user("r1", [tool_result("t1", [text("x")], is_error=True)]))) == [
        {"type": "tool_result", "tool_use_id": "t1", "content": [text("x")], "is_error": True}
    ]
    assert parse_content_blocks(one(user("r1", [{"type": "tool_result"}]))) == [
        {"type": "tool_result", "tool_use_id": "", "content": "", "is_error": False}
    ]


def test_filter_strings_and_pictures_are_lost_but_not_in_ours(tmp_path: Path) -> None:
    """The seed expects arrays of four types; strings are most prompts (177 of 236 in the corpus)."""
    assert parse_content_blocks(one(user("u1", "Go"))) == []
    assert parse_content_blocks(one(user("u1", [IMAGE]))) == []
    assert [turn.prompt for turn in load(tmp_path, user("u1", "Go")).turns] == ["Go"]


def test_filter_messages_without_content_do_not_break_the_chain(tmp_path: Path) -> None:
    """The seed's warning, kept by ours: empty lines stay nodes, and what hangs off them finds its turn."""
    lines = [
        user("u1", "Go"),
        assistant("a1", "m1", [], "u1"),
        assistant("a2", "m1", [text("")], "a1"),
        user("x", [], "a2"),
        assistant("a3", "m2", [text("Done")], "x"),
    ]
    (turn,) = load(tmp_path, *lines).turns
    assert (turn.nodes, turn.answer) == ((0, 1, 2, 3, 4), "Done")


def test_filter_a_message_with_only_a_tool_use_does_not_break_the_turn(tmp_path: Path) -> None:
    lines = [
        user("u1", "Go"),
        assistant("a1", "m1", [tool_use("t1")], "u1"),
        user("r1", [tool_result("t1", "")], "a1"),
        assistant("a2", "m2", [text("Done")], "r1"),
    ]
    (turn,) = load(tmp_path, *lines).turns
    assert (len(turn.calls), turn.answer) == (2, "Done")


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
