"""Seed 002 §4 to §6 and §8 to §10, rule by rule: what it says and, where real files say otherwise, what ours says and why."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.reference.seed002 import (
    GroupedTurn,
    content_of,
    find_previous_session,
    group_turns,
    is_tool_result,
    line_offsets,
    match_tool_results,
    merge_assistant_parts,
    next_line,
    role_of,
    timestamp_of,
)
from tests.turns.loading import load, read

from stenograph.inputs import InputKind
from stenograph.records import AssistantRecord, Record, TextBlock, ToolUseBlock, read_records
from stenograph.sessions.loading import load_file
from stenograph.testing.lines import Line, assistant, text, tool_result, tool_use, user
from stenograph.turns import Status

# §5's own example: flat lines, as the document writes them.
EXAMPLE: list[Line] = [
    {"sessionId": "sess1", "type": "user", "content": "read a file"},
    {"message": {"id": "m1", "role": "assistant", "content": [tool_use("t1", "Read", path="/")]}},
    {"type": "user", "content": [tool_result("t1", "file data")]},
    {"message": {"id": "m2", "role": "assistant", "content": [text("done")]}},
]


def grouped(*lines: Line) -> tuple[list[GroupedTurn], int]:
    return group_turns(read(*lines))


def texts(turn: GroupedTurn) -> list[list[str]]:
    """The texts of each assistant message of a turn."""
    return [[b.text or "" for b in message.content if isinstance(b, TextBlock)] for message in turn.assistants]


# §4 Role detection


@pytest.mark.parametrize(
    ("line", "role"),
    [
        ({"type": "user", "content": "hello"}, "user"),
        ({"message": {"role": "assistant", "content": []}}, "assistant"),
        ({"message": {"role": "user", "content": "hello"}}, "user"),
        ({"type": "system", "message": {"role": "assistant"}}, "system"),
        ({"type": None, "message": {"role": "assistant", "content": []}}, "assistant"),
        ({"type": "brand-new"}, "brand-new"),
        ({"sessionId": "s"}, None),
    ],
)
def test_section_4_the_role_is_the_type_else_the_role_of_the_message(line: Line, role: str | None) -> None:
    (record,) = read(line)
    assert role_of(record) == role


def test_section_4_assistant_lines_have_no_type_but_in_real_files_they_have() -> None:
    """Every assistant line of the corpus has `type`; both are read."""
    flat, real = read(EXAMPLE[1], assistant("a1", "m1", [text("done")]))
    assert role_of(flat) == role_of(real) == "assistant"


def test_section_4_a_line_that_is_no_object_has_no_role(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(b"[1]\n")
    assert [role_of(located.record) for located in read_records(tmp_path / "x.jsonl")] == [None]


def test_section_4_any_tool_result_in_an_array_makes_a_tool_result() -> None:
    plain, among, words, string = read(
        user("1", [tool_result("t1")]),
        user("2", [text("and"), tool_result("t1")]),
        user("3", [text("hi")]),
        user("4", "tool_result"),
    )
    assert [is_tool_result(record) for record in (plain, among, words, string)] == [True, True, False, False]


def test_section_4_words_beside_a_tool_result_are_lost_but_ours_has_an_interjection(tmp_path: Path) -> None:
    """2.1.19 to 2.1.37 write what a person said in mid-turn beside the result (22 lines of 20,197 counted in public files)."""
    lines = [
        user("u1", "Go"),
        assistant("a1", "m1", [tool_use("t1")], "u1"),
        user("r1", [tool_result("t1"), text("we are #169")], "a1"),
        assistant("a2", "m2", [text("Ok.")], "r1"),
    ]
    (theirs,), _ = grouped(*lines)
    assert content_of(theirs.user) == "Go"
    (ours,) = load(tmp_path, *lines).turns
    assert [said.text for said in ours.interjections] == ["we are #169"]


# §5 Turn grouping


def test_section_5_the_example_of_the_document() -> None:
    (turn,), consumed = grouped(*EXAMPLE)
    assert content_of(turn.user) == "read a file"
    assert [message.message_id for message in turn.assistants] == ["m1", "m2"]
    assert [type(block) for block in turn.assistants[0].content] == [ToolUseBlock]
    assert len(turn.tool_results) == 1
    assert consumed == 4


def test_section_5_the_example_of_the_document_is_one_turn_of_ours_too(tmp_path: Path) -> None:
    """Flat lines have no parents: ours takes the line before."""
    (turn,) = load(tmp_path, *EXAMPLE).turns
    assert (turn.prompt, turn.answer, [tool.result for tool in turn.tool_calls]) == ("read a file", "done", ["file data"])


def test_section_5_meta_messages_are_skipped() -> None:
    (turn,), _ = grouped(user("u1", "Go"), user("x", "rubric", isMeta=True), assistant("a1", "m1", [text("Ok")]))
    assert content_of(turn.user) == "Go"


def test_section_5_a_tool_result_belongs_to_the_turn_and_starts_none() -> None:
    turns, _ = grouped(*EXAMPLE)
    assert [len(turn.tool_results) for turn in turns] == [1]


def test_section_5_any_other_user_message_starts_a_turn() -> None:
    turns, _ = grouped(
        user("u1", "One"), assistant("a1", "m1", [text("1")]), user("u2", [text("Two")]), assistant("a2", "m2", [text("2")])
    )
    assert [texts(turn) for turn in turns] == [[["1"]], [["2"]]]


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("<local-command-stdout>ok</local-command-stdout>", InputKind.LOCAL_OUTPUT),
        ([text("[Request interrupted by user]")], InputKind.INTERRUPT),
    ],
)
def test_section_5_what_the_client_said_starts_a_turn_but_none_of_ours(tmp_path: Path, content: object, kind: InputKind) -> None:
    """Neither is marked as meta, and nobody typed it: ours knows it by what it says (A2, A7)."""
    lines = [
        user("u1", "Go"),
        assistant("a1", "m1", [text("1")], "u1"),
        user("x", content, "a1"),
        assistant("a2", "m2", [text("2")], "x"),
    ]
    assert len(grouped(*lines)[0]) == 2
    session = load(tmp_path, *lines)
    assert [turn.prompt for turn in session.turns] == ["Go"]
    assert session.context.inputs[2].kind is kind


def test_section_5_lines_with_the_same_id_are_parts_of_one_message() -> None:
    (turn,), _ = grouped(user("u1", "Go"), assistant("a1", "m1", [text("1")]), assistant("a2", "m1", [text("2")]))
    assert texts(turn) == [["1", "2"]]


def test_section_5_a_new_id_starts_a_new_message() -> None:
    (turn,), _ = grouped(user("u1", "Go"), assistant("a1", "m1", [text("1")]), assistant("a2", "m2", [text("2")]))
    assert texts(turn) == [["1"], ["2"]]


def test_section_5_a_tool_result_does_not_part_the_lines_of_a_message() -> None:
    """As the clients do (rule 28)."""
    (turn,), _ = grouped(
        user("u", "Go"),
        assistant("a", "m1", [tool_use("t1")]),
        user("r", [tool_result("t1")]),
        assistant("b", "m1", [tool_use("t2")]),
    )
    assert [[b.id for b in message.content if isinstance(b, ToolUseBlock)] for message in turn.assistants] == [["t1", "t2"]]


def test_section_5_an_id_that_comes_back_starts_a_new_message_but_ours_merges_it(tmp_path: Path) -> None:
    """By adjacency three messages; by `message.id`, wherever the lines stand, two calls, each paid once."""
    lines = [
        user("u1", "Go"),
        assistant("a1", "m1", [text("1")], "u1"),
        assistant("a2", "m2", [text("2")], "a1"),
        assistant("a3", "m1", [text("3")], "a2"),
    ]
    (turn,), _ = grouped(*lines)
    assert texts(turn) == [["1"], ["2"], ["3"]]
    assert [call.text for call in load(tmp_path, *lines).calls] == ["1\n\n3", "2"]


def test_section_5_a_turn_needs_a_user_message() -> None:
    assert grouped(assistant("a1", "m1", [text("1")])) == ([], 0)


def test_section_5_a_turn_needs_an_assistant_message_but_ours_does_not(tmp_path: Path) -> None:
    """A prompt that nobody answered was asked all the same: ours has it, and says that it was left."""
    lines = [user("u1", "One"), user("u2", "Two", "u1"), assistant("a2", "m2", [text("2")], "u2")]
    turns, consumed = grouped(*lines)
    assert [content_of(turn.user) for turn in turns] == ["Two"]
    assert consumed == 3
    session = load(tmp_path, *lines)
    assert [(turn.prompt, turn.status) for turn in session.turns] == [
        ("One", Status.INTERRUPTED),
        ("Two", Status.DONE),
    ]


def test_section_5_consumed_is_the_end_of_the_last_complete_turn() -> None:
    done = [user("u1", "One"), assistant("a1", "m1", [tool_use("t1")]), user("r1", [tool_result("t1")])]
    assert grouped(*done)[1] == 3
    assert grouped(*done, user("x", "meta", isMeta=True), {"type": "summary"}, user("u2", "Two"))[1] == 3


def test_section_5_consumed_is_nothing_without_a_complete_turn() -> None:
    assert grouped(user("u1", "One"))[1] == 0


# §6 Timestamps and contents


@pytest.mark.parametrize(
    ("line", "moment"),
    [
        ({"timestamp": "2025-01-15T10:00:05Z", "message": {"role": "user", "timestamp": "2024-01-01T00:00:00Z"}}, 2025),
        ({"message": {"role": "user", "timestamp": "2024-01-01T00:00:00Z"}}, 2024),
        ({"timestamp": None, "message": {"role": "user", "timestamp": "2024-01-01T00:00:00Z"}}, 2024),
        ({"timestamp": 1736935205, "message": {"role": "user", "timestamp": "2024-01-01T00:00:00Z"}}, None),
        ({"message": {"role": "user"}}, None),
        ({"timestamp": "yesterday", "message": {"role": "user"}}, None),
    ],
)
def test_section_6_the_timestamp_of_the_line_goes_before_that_of_the_message(line: Line, moment: int | None) -> None:
    (record,) = read(line)
    found = timestamp_of(record)
    assert (found.year if found else None) == moment


def test_section_6_timestamps_are_moments_in_time() -> None:
    (record,) = read(user("u1", "Hi", timestamp="2025-01-15T10:00:05Z"))
    assert timestamp_of(record) == datetime(2025, 1, 15, 10, 0, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("line", "content"),
    [
        ({"type": "user", "message": {"content": "inside"}, "content": "outside"}, "inside"),
        ({"type": "user", "content": "outside"}, "outside"),
        ({"type": "user", "message": {"role": "user"}, "content": "outside"}, None),
        ({"type": "user", "message": "a string", "content": "outside"}, "outside"),
    ],
)
def test_section_6_the_content_of_the_message_goes_before_that_of_the_line(line: Line, content: str | None) -> None:
    (record,) = read(line)
    assert content_of(record) == content


# §8 Incremental processing


def lines_in(folder: Path, *lines: Line | str) -> Path:
    path = folder / "t.jsonl"
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines), encoding="utf-8")
    return path


def test_section_8_line_offsets_count_lines_that_cannot_be_parsed(tmp_path: Path) -> None:
    path = lines_in(tmp_path, EXAMPLE[0], "{torn", "", *EXAMPLE[1:])
    records, offsets = line_offsets(read_records(path))
    assert offsets == [1, 4, 5, 6]
    assert [role_of(record) for record in records] == ["user", "assistant", "user", "assistant"]


def test_section_8_lines_up_to_the_last_line_are_skipped(tmp_path: Path) -> None:
    _, offsets = line_offsets(read_records(lines_in(tmp_path, *EXAMPLE)), last_line=2)
    assert offsets == [3, 4]


def test_section_8_the_last_line_moves_to_the_last_message_of_the_last_complete_turn(tmp_path: Path) -> None:
    path = lines_in(tmp_path, "{torn", *EXAMPLE, {"type": "user", "content": "next"})
    records, offsets = line_offsets(read_records(path))
    _, consumed = group_turns(records)
    assert next_line(offsets, consumed) == 5


def test_section_8_an_incomplete_turn_is_read_again_and_may_be_complete_then(tmp_path: Path) -> None:
    path = lines_in(tmp_path, EXAMPLE[0])
    records, offsets = line_offsets(read_records(path))
    last_line = next_line(offsets, group_turns(records)[1], last_line=0)
    assert last_line == 0
    path = lines_in(tmp_path, *EXAMPLE)
    records, offsets = line_offsets(read_records(path), last_line)
    turns, consumed = group_turns(records)
    assert (len(turns), next_line(offsets, consumed, last_line)) == (1, 4)


def test_section_8_what_comes_late_to_a_turn_is_lost_by_the_position_but_ours_has_it(tmp_path: Path) -> None:
    """A turn is "complete" with its first answer: read in between, the rest of it has no user message and is dropped."""
    path = lines_in(tmp_path, *EXAMPLE[:2])
    records, offsets = line_offsets(read_records(path))
    last_line = next_line(offsets, group_turns(records)[1])
    records, _ = line_offsets(read_records(lines_in(tmp_path, *EXAMPLE)), last_line)
    assert group_turns(records) == ([], 0)
    assert [turn.answer for turn in load(tmp_path, *EXAMPLE).turns] == ["done"]


# §9 Edge cases


def test_section_9_multi_part_assistant_contents_are_joined_and_the_first_part_gives_the_rest() -> None:
    first = assistant("a1", "m1", [text("1")], model="first", usage={"output_tokens": 2})
    second = assistant("a2", "m1", [text("2")], model="second", usage={"output_tokens": 480})
    parts = [record for record in read(first, second) if isinstance(record, AssistantRecord)]
    merged = merge_assistant_parts(parts)
    assert [block.text for block in merged.content if isinstance(block, TextBlock)] == ["1", "2"]
    assert (merged.first.uuid, merged.model) == ("a1", "first")


def test_section_9_multi_part_usage_is_the_first_parts_but_ours_is_the_greatest(tmp_path: Path) -> None:
    """Usage grows from line to line in 737 responses of the corpus: the first part's is too small."""
    lines = [
        user("u1", "Go"),
        assistant("a1", "m1", [text("1")], "u1", usage={"input_tokens": 5, "output_tokens": 2}),
        assistant("a2", "m1", [text("2")], "a1", usage={"input_tokens": 5, "output_tokens": 480}),
    ]
    ((theirs,),) = [turn.assistants for turn in grouped(*lines)[0]]
    assert theirs.usage is not None
    assert theirs.usage.output_tokens == 2
    assert load(tmp_path, *lines).tokens.output == 480


def test_section_9_missing_timestamp_gives_none(tmp_path: Path) -> None:
    (turn,), _ = grouped(*EXAMPLE)
    assert (timestamp_of(turn.user), turn.assistants[0].timestamp) == (None, None)
    (ours,) = load(tmp_path, *EXAMPLE).turns
    assert (ours.started, ours.ended, ours.duration_ms) == (None, None, None)


def test_section_9_tool_use_without_matching_result_has_no_output(tmp_path: Path) -> None:
    """Ours says so with `answered`, and with a finding."""
    (turn,), _ = grouped(*EXAMPLE[:2], {"type": "user", "content": [tool_result("another", "x")]})
    assert [(match.use.id, match.output) for match in match_tool_results(turn)] == [("t1", None)]
    assert [tool.answered for tool in load(tmp_path, *EXAMPLE[:2]).tool_calls] == [False]


def test_section_9_tool_use_with_matching_result_has_its_content() -> None:
    (turn,), _ = grouped(*EXAMPLE)
    assert [(match.use.name, match.output) for match in match_tool_results(turn)] == [("Read", "file data")]


def test_section_9_incomplete_turn_at_the_end_gives_no_turn_but_ours_is_open(tmp_path: Path) -> None:
    """Somebody waits for the answer: ours has the turn, open."""
    lines = [*EXAMPLE, {"type": "user", "content": "more"}]
    turns, consumed = grouped(*lines)
    assert (len(turns), consumed) == (1, 4)
    assert [turn.status for turn in load(tmp_path, *lines).turns] == [Status.DONE, Status.RUNNING]


def test_section_9_json_parse_failure_is_skipped_but_ours_says_so(tmp_path: Path) -> None:
    """A skipped line is somebody's loss: ours is silent about none."""
    (tmp_path / "bad").mkdir()
    path = lines_in(tmp_path / "bad", *EXAMPLE[:2], "{not json}", *EXAMPLE[2:])
    records, _ = line_offsets(read_records(path))
    assert len(group_turns(records)[0]) == 1
    session = load_file(path)
    assert [(finding.code, finding.line) for finding in session.findings] == [("damaged-line-not-json", 3)]
    assert len(session.turns) == 1


def test_section_9_assistants_without_an_id_are_merged_with_neighbours_without_one(tmp_path: Path) -> None:
    """So does ours, and so do the clients (rule 27)."""
    lines = [user("u1", "Go"), assistant("a1", None, [text("1")], "u1"), assistant("a2", None, [text("2")], "a1")]
    (turn,), _ = grouped(*lines)
    assert texts(turn) == [["1", "2"]]
    assert [call.text for call in load(tmp_path, *lines).calls] == ["1\n\n2"]


def test_section_9_an_assistant_without_an_id_stands_alone_when_the_next_has_one() -> None:
    (turn,), _ = grouped(user("u1", "Go"), assistant("a1", None, [text("1")]), assistant("a2", "m2", [text("2")]))
    assert texts(turn) == [["1"], ["2"]]


def test_section_9_an_assistant_without_an_id_joins_the_message_before_but_not_in_ours(tmp_path: Path) -> None:
    """§5: "absent: append to currentParts", whatever is in them. Rule 27: an id and none are different messages."""
    lines = [user("u1", "Go"), assistant("a1", "m1", [text("1")], "u1"), assistant("a2", None, [text("2")], "a1")]
    (turn,), _ = grouped(*lines)
    assert texts(turn) == [["1", "2"]]
    assert [call.text for call in load(tmp_path, *lines).calls] == ["1", "2"]


def test_section_9_meta_messages_interleaved_are_as_if_they_were_not_there() -> None:
    meta_answer = assistant("x2", "m9", "meta response") | {"isMeta": True}
    with_meta: list[Line] = []
    for line in EXAMPLE:
        with_meta += [user("x1", "scaffolding", isMeta=True), line, meta_answer]
    (without,), _ = grouped(*EXAMPLE)
    (turn,), consumed = grouped(*with_meta)
    assert [m.message_id for m in turn.assistants] == [m.message_id for m in without.assistants]
    assert consumed == 11, "the last message of the turn, not the meta line behind it"


def test_section_9_meta_messages_start_no_turn_of_ours_but_are_kept(tmp_path: Path) -> None:
    """Clients send them (rule 35): they are part of what the model saw, and their nodes stay with the turn."""
    lines = [
        user("u1", "<command-message>fix</command-message><command-name>/fix</command-name>"),
        user("x", "rubric", "u1", isMeta=True),
        assistant("a1", "m1", [text("Fixed.")], "x"),
    ]
    (turn,) = load(tmp_path, *lines).turns
    assert (turn.prompt, turn.answer, turn.nodes) == ("/fix", "Fixed.", (0, 1, 2))


# §10 Session transitions


def first_of(line: Line) -> Record:
    return read(line)[0]


def test_section_10_a_normal_session_begins_with_a_snapshot_and_has_no_previous_one(tmp_path: Path) -> None:
    first = first_of({"type": "file-history-snapshot", "messageId": "x", "snapshot": {}})
    assert find_previous_session(first, "now", tmp_path) is None


def test_section_10_the_first_line_of_a_continuation_names_the_previous_session(tmp_path: Path) -> None:
    (tmp_path / "before.jsonl").touch()
    first = first_of(user("u1", "Go", sessionId="before"))
    assert find_previous_session(first, "now", tmp_path) == tmp_path / "before.jsonl"


def test_section_10_its_own_id_on_the_first_line_names_no_previous_session(tmp_path: Path) -> None:
    (tmp_path / "now.jsonl").touch()
    assert find_previous_session(first_of(user("u1", "Go", sessionId="now")), "now", tmp_path) is None


def test_section_10_without_the_previous_transcript_there_is_nothing_to_recover(tmp_path: Path) -> None:
    assert find_previous_session(first_of(user("u1", "Go", sessionId="before")), "now", tmp_path) is None


def test_section_10_a_first_line_that_cannot_be_parsed_blocks_nothing(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(b"{torn\n")
    (located,) = read_records(tmp_path / "x.jsonl")
    assert find_previous_session(located.record, "now", tmp_path) is None


def test_section_10_an_id_that_leads_out_of_the_folder_is_none(tmp_path: Path) -> None:
    """The id becomes part of a path: a file must not choose which other file is read."""
    (tmp_path / "outside.jsonl").touch()
    (tmp_path / "in").mkdir()
    assert find_previous_session(first_of(user("u1", "Go", sessionId="../outside")), "now", tmp_path / "in") is None


def test_section_10_ours_links_a_continuation_and_says_by_which_evidence(tmp_path: Path) -> None:
    """Whether the other file is there or not: the link is what the lines say."""
    session = load(tmp_path, user("u1", "Go", sessionId="before"), user("u2", "On", "u1", sessionId="now"), name="now")
    assert [(link.session_id, link.evidence) for link in session.continues] == [("before", "first-line")]


def test_section_10_ours_links_a_session_that_is_named_further_down(tmp_path: Path) -> None:
    """Forks by 2.0.76 and 2.1.45 keep the old id on copied lines (rule 52), behind lines without any."""
    snapshot = {"type": "file-history-snapshot", "messageId": "x", "snapshot": {}}
    lines = [snapshot, user("u1", "Go", sessionId="before"), user("u2", "On", "u1", sessionId="now")]
    assert find_previous_session(first_of(snapshot), "now", tmp_path) is None
    session = load(tmp_path, *lines, name="now")
    assert [(link.session_id, link.evidence) for link in session.continues] == [("before", "copied-records")]
