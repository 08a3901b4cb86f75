"""Seed 001 §4 to §7, rule by rule: what its algorithms say and, where real files say otherwise, what ours says and why."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.reference.seed001 import ToolCallPair, deduplicate_messages, detect_turns, pair_tool_calls, without_synthetic
from tests.turns.loading import load, read

from stenograph.records import AssistantRecord, ThinkingBlock, decode, encode
from stenograph.testing.lines import Line, assistant, text, tool_result, tool_use, user
from stenograph.turns import Status

GREP = {"mode": "files_with_matches", "filenames": ["a.ts", "b.ts"], "numFiles": 20}
# A turn as the document sees it: a string, a final response with a tool use, its result, a final answer.
PLAIN = [
    user("u1", "Find it"),
    assistant("a1", "m1", [tool_use("t1", "Grep", pattern="x")], "u1", stop_reason="tool_use"),
    user("r1", [tool_result("t1", "Found 20 files...")], "a1", toolUseResult=GREP),
    assistant("a2", "m2", [text("There.")], "r1", stop_reason="end_turn"),
]
# §6's own example: thinking, text and tool use of one response on three lines.
STREAMED = [
    user("u1", "Find it"),
    assistant("a1", "m1", [{"type": "thinking", "thinking": "Hm.", "signature": "s"}], "u1", usage={"output_tokens": 2}),
    assistant("a2", "m1", [text("I look.")], "a1", usage={"output_tokens": 2}),
    assistant("a3", "m1", [tool_use("t1")], "a2", stop_reason="tool_use", usage={"output_tokens": 480}),
]


def without_stop_reasons(lines: list[Line]) -> list[Line]:
    """The same lines as releases 2.1.11 to 2.1.56 write them: null on every line."""
    copy: list[Line] = json.loads(json.dumps(lines))
    for line in copy:
        if line["type"] == "assistant":
            line["message"]["stop_reason"] = None
    return copy


# §4 Turn detection


def test_section_4_string_content_starts_a_turn() -> None:
    turns = detect_turns(read(user("u1", "One"), user("u2", "Two", "u1")))
    assert [(turn.start_entry_uuid, turn.user_message) for turn in turns] == [("u1", "One"), ("u2", "Two")]


@pytest.mark.parametrize(
    "content",
    [
        "<command-name>/cost</command-name>",
        "<local-command-stdout>$1.20</local-command-stdout>",
        "<bash-stdout>ok</bash-stdout><bash-stderr></bash-stderr>",
    ],
)
def test_section_4_string_content_that_nobody_typed_as_a_prompt_is_no_turn_of_ours(tmp_path: Path, content: str) -> None:
    """Strings are also commands and their output: 143 of the corpus's 320 strings are no prompts."""
    lines = [*PLAIN, user("x", content, "a2")]
    assert len(detect_turns(read(*lines))) == 2
    assert [turn.prompt for turn in load(tmp_path, *lines).turns] == ["Find it"]


def test_section_4_a_compaction_summary_is_no_turn_of_ours(tmp_path: Path) -> None:
    """It is a string, but the client's own (rule 48)."""
    boundary = {"type": "system", "subtype": "compact_boundary", "uuid": "b", "parentUuid": None, "logicalParentUuid": "a2"}
    lines = [*PLAIN, boundary, user("s", "This session is being continued...", "b", isCompactSummary=True)]
    assert len(detect_turns(read(*lines))) == 2
    session = load(tmp_path, *lines)
    assert len(session.turns) == 1
    assert len(session.compactions) == 1


def test_section_4_array_content_continues_the_turn() -> None:
    (turn,) = detect_turns(read(*PLAIN))
    assert turn.assistant_responses == ("a1", "a2")


def test_section_4_array_content_that_is_a_prompt_is_a_turn_of_ours(tmp_path: Path) -> None:
    """Arrays are also prompts: 59 in the corpus, from editors and with pictures."""
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}
    opened = text("<ide_opened_file>The user opened a.py.</ide_opened_file>")
    lines = [*PLAIN, user("u2", [opened, text("Go on")], "a2"), user("u3", [picture, text("What is it?")], "u2")]
    assert len(detect_turns(read(*lines))) == 1
    assert [turn.prompt for turn in load(tmp_path, *lines).turns] == ["Find it", "Go on", "What is it?"]


def test_section_4_only_final_messages_are_responses() -> None:
    (turn,) = detect_turns(read(*STREAMED))
    assert turn.assistant_responses == ("a3",)
    assert [call.tool_use_id for call in turn.tool_calls] == ["t1"]


def test_section_4_an_absent_stop_reason_counts_as_final() -> None:
    """`undefined !== null` in the document's language."""
    line = assistant("a1", "m1", [text("Hi")], "u1")
    del line["message"]["stop_reason"]
    (turn,) = detect_turns(read(user("u1", "Hi"), line))
    assert turn.assistant_responses == ("a1",)


def test_section_4_final_messages_are_not_what_ours_looks_for(tmp_path: Path) -> None:
    """stop_reason is null on all lines of 2,154 of the corpus's 2,921 responses: the document finds no answer to them."""
    lines = without_stop_reasons(PLAIN)
    (theirs,) = detect_turns(read(*lines))
    assert (theirs.assistant_responses, theirs.tool_calls) == ((), ())
    (ours,) = load(tmp_path, *lines).turns
    assert (ours.answer, [tool.result for tool in ours.tool_calls]) == ("There.", ["Found 20 files..."])


def test_section_4_a_tool_result_fills_the_first_open_call_with_its_id() -> None:
    again = [assistant("a3", "m3", [tool_use("t1", "Grep")], "a2", stop_reason="tool_use"), user("r2", [tool_result("t1")], "a3")]
    (turn,) = detect_turns(read(*PLAIN, *again))
    assert turn.tool_calls == (ToolCallPair("t1", "Grep", "a1", "r1"), ToolCallPair("t1", "Grep", "a3", "r2"))


def test_section_4_a_tool_result_of_an_earlier_turn_fills_nothing_but_ours_pairs_it(tmp_path: Path) -> None:
    """Results may come after the next prompt was written; ours pairs by id over the whole graph."""
    lines = [PLAIN[0], PLAIN[1], user("u2", "And now?", "a1"), user("r1", [tool_result("t1", "late")], "u2")]
    first, second = detect_turns(read(*lines))
    assert first.tool_calls[0].result_entry_uuid is None
    assert second.tool_calls == ()
    session = load(tmp_path, *lines)
    assert [tool.result for tool in session.turns[0].tool_calls] == ["late"]


def test_section_4_what_stands_before_the_first_turn_is_left_out() -> None:
    turns = detect_turns(read(assistant("a0", "m0", [text("Earlier")], stop_reason="end_turn"), *PLAIN))
    assert [turn.assistant_responses for turn in turns] == [("a1", "a2")]


def test_section_4_the_last_turn_is_there_though_nothing_answered_it(tmp_path: Path) -> None:
    (turn,) = detect_turns(read(user("u1", "Hello?")))
    assert (turn.assistant_responses, turn.tool_calls) == ((), ())
    assert [turn.status for turn in load(tmp_path, user("u1", "Hello?")).turns] == [Status.INTERRUPTED]


def test_section_4_a_rewound_prompt_is_a_turn_in_file_order_where_ours_is_another_branch(tmp_path: Path) -> None:
    """The document reads lines, not the tree: what a person took back stands beside what they kept (A4)."""
    lines = [*PLAIN, user("u2", "Left", "a2"), assistant("a3", "m3", [text("L")], "u2"), user("u3", "Right", "a2")]
    assert [turn.user_message for turn in detect_turns(read(*lines))] == ["Find it", "Left", "Right"]
    session = load(tmp_path, *lines)
    assert [turn.prompt for turn in session.turns] == ["Find it", "Right"]
    assert len(session.branches) == 2


# §5 Tool call pairing


def test_section_5_uses_and_results_are_paired_by_id() -> None:
    (match,) = pair_tool_calls(read(*PLAIN))
    assert (match.tool_use_id, match.tool_name, match.input) == ("t1", "Grep", {"pattern": "x"})
    assert (match.tool_use_entry_uuid, match.tool_result_entry_uuid, match.result) == ("a1", "r1", "Found 20 files...")


def test_section_5_the_structured_result_goes_with_the_pair() -> None:
    (match,) = pair_tool_calls(read(*PLAIN))
    assert getattr(match.result_metadata, "numFiles", None) == 20


def test_section_5_only_final_messages_are_paired_but_ours_pairs_all(tmp_path: Path) -> None:
    """As in §4: without a stop_reason the document sees no tool use at all."""
    lines = without_stop_reasons(PLAIN)
    assert pair_tool_calls(read(*lines)) == []
    assert [tool.answered for tool in load(tmp_path, *lines).tool_calls] == [True]


def test_section_5_a_use_without_a_result_is_in_no_pair_but_ours_keeps_it(tmp_path: Path) -> None:
    """ "Should not happen": 5 in the corpus, where sessions were cut. Ours has the call, and a finding."""
    assert pair_tool_calls(read(*PLAIN[:2])) == []
    session = load(tmp_path, *PLAIN[:2])
    assert [(tool.name, tool.answered) for tool in session.tool_calls] == [("Grep", False)]
    assert [finding.code for finding in session.findings] == ["unanswered-tool-use"]


def test_section_5_a_result_without_a_use_is_in_no_pair_but_ours_finds_it(tmp_path: Path) -> None:
    lines = [user("u1", "Hi"), user("r1", [tool_result("gone")], "u1")]
    assert pair_tool_calls(read(*lines)) == []
    assert [finding.code for finding in load(tmp_path, *lines).findings] == ["orphan-tool-result"]


def test_section_5_a_second_result_is_left_out(tmp_path: Path) -> None:
    """Ours takes the first too, as 2.1.325 does (rule 45), and says that there are two."""
    lines = [*PLAIN, user("r2", [tool_result("t1", "again")], "a2")]
    assert [match.result for match in pair_tool_calls(read(*lines))] == ["Found 20 files..."]
    session = load(tmp_path, *lines)
    assert [tool.result for tool in session.tool_calls] == ["Found 20 files..."]
    assert [finding.code for finding in session.findings] == ["duplicate-tool-result"]


def test_section_5_a_result_before_its_use_is_lost_but_ours_pairs_it(tmp_path: Path) -> None:
    """Releases 2.1.81 to 2.1.172 write some results before the line they answer: file order is not the order."""
    lines = [PLAIN[0], PLAIN[2], PLAIN[1], PLAIN[3]]
    assert pair_tool_calls(read(*lines)) == []
    assert [tool.result for tool in load(tmp_path, *lines).tool_calls] == ["Found 20 files..."]


# §6 Deduplication


def test_section_6_lines_are_grouped_by_message_id() -> None:
    found = deduplicate_messages(read(*PLAIN))
    assert list(found) == ["m1", "m2"]


def test_section_6_the_final_entry_is_the_one_with_a_stop_reason() -> None:
    message = deduplicate_messages(read(*STREAMED))["m1"]
    assert (message.final_entry_uuid, message.streaming_entry_uuids) == ("a3", ("a1", "a2"))
    assert message.usage is not None
    assert message.usage.output_tokens == 480


def test_section_6_without_a_stop_reason_the_most_output_tokens_decide() -> None:
    lines = without_stop_reasons(STREAMED)
    assert deduplicate_messages(read(*lines))["m1"].final_entry_uuid == "a3"
    for line in lines[1:]:
        line["message"]["usage"] = {"output_tokens": 7}
    assert deduplicate_messages(read(*lines))["m1"].final_entry_uuid == "a1", "of equals the first"


def test_section_6_only_the_final_entry_is_used_but_ours_keeps_every_block(tmp_path: Path) -> None:
    """Each line holds other blocks (1,907 of 2,921 responses in the corpus have several lines): the document loses text."""
    (block,) = deduplicate_messages(read(*STREAMED))["m1"].content_blocks
    assert type(block).__name__ == "ToolUseBlock"
    (call,) = load(tmp_path, *STREAMED).calls
    assert (call.thinking, call.text, [tool.id for tool in call.tool_calls]) == ("Hm.", "I look.", ["t1"])
    assert call.tokens.output == 480


def test_section_6_where_every_line_has_a_stop_reason_the_first_is_final_but_ours_keeps_the_tool_use(tmp_path: Path) -> None:
    """From 2.1.101 on: 389 responses in the corpus. `find` stops at the first, and the tool use on the last is gone."""
    lines = json.loads(json.dumps(STREAMED))
    for line in lines[1:]:
        line["message"]["stop_reason"] = "tool_use"
    assert deduplicate_messages(read(*lines))["m1"].final_entry_uuid == "a1"
    assert [tool.id for tool in load(tmp_path, *lines).tool_calls] == ["t1"]


def test_section_6_responses_without_an_id_are_all_one_but_ours_merges_neighbours_only(tmp_path: Path) -> None:
    """One `undefined` key for all. Rule 27: only neighbours without an id are one response."""
    lines = [
        user("u1", "One"),
        assistant("a1", None, [text("First")], "u1"),
        user("u2", "Two", "a1"),
        assistant("a2", None, [text("Second")], "u2"),
    ]
    assert list(deduplicate_messages(read(*lines))) == [None]
    assert [call.text for call in load(tmp_path, *lines).calls] == ["First", "Second"]


# §7 Caveats


def test_section_7_1_synthetic_messages_are_filtered_out_but_ours_keeps_and_marks_them(tmp_path: Path) -> None:
    """Clients send them again on resume (rule 35), so they are part of the conversation; they are no answer."""
    made_up = assistant("a3", "x", [text("No response requested.")], "a2", model="<synthetic>", stop_reason="stop_sequence")
    kept = [record.uuid for record in without_synthetic(read(*PLAIN, made_up)) if isinstance(record, AssistantRecord)]
    assert kept == ["a1", "a2"]
    (turn,) = load(tmp_path, *PLAIN, made_up).turns
    assert [call.is_synthetic for call in turn.calls] == [False, False, True]
    assert turn.answer == "There."


def test_section_7_2_releases_with_and_without_streaming_lines_give_the_same_turns(tmp_path: Path) -> None:
    """The document needs to know which release wrote a line; ours never asks stop_reason."""
    with_stops = load(tmp_path, *STREAMED, name="with")
    without = load(tmp_path, *without_stop_reasons(STREAMED), name="without")
    assert [(c.text, c.thinking, len(c.tool_calls)) for c in with_stops.calls] == [("I look.", "Hm.", 1)]
    assert [(c.text, c.thinking, len(c.tool_calls)) for c in without.calls] == [("I look.", "Hm.", 1)]


def test_section_7_3_a_session_may_cross_releases(tmp_path: Path) -> None:
    lines = [line | {"version": version} for line, version in zip(PLAIN, ["2.0.37", "2.0.37", "2.0.42", "2.0.42"], strict=True)]
    assert len(detect_turns(read(*lines))) == 1
    assert [turn.status for turn in load(tmp_path, *lines).turns] == [Status.DONE]


def test_section_7_4_queue_operations_have_no_uuid_and_stand_outside_the_chain(tmp_path: Path) -> None:
    queued = {"type": "queue-operation", "operation": "enqueue", "timestamp": "2026-01-01T10:00:01Z", "content": "also this"}
    lines = [PLAIN[0], queued, *PLAIN[1:]]
    assert detect_turns(read(*lines)) == detect_turns(read(*PLAIN))
    session = load(tmp_path, *lines)
    assert [turn.prompt for turn in session.turns] == ["Find it"]
    assert session.findings == ()
    assert session.graph.parents[1] == -1


def test_section_7_4_a_prompt_that_was_queued_and_taken_in_mid_turn_is_an_interjection_of_ours(tmp_path: Path) -> None:
    """Old releases tell of it in the queue's lines alone (A3): leaving them out loses a person's words."""
    enqueue = {"type": "queue-operation", "operation": "enqueue", "content": "also this"}
    remove = {"type": "queue-operation", "operation": "remove", "content": "also this"}
    (turn,) = load(tmp_path, PLAIN[0], enqueue, PLAIN[1], remove, *PLAIN[2:]).turns
    assert [said.text for said in turn.interjections] == ["also this"]


def test_section_7_5_a_snapshot_may_name_a_record_of_the_chain_or_nothing_there(tmp_path: Path) -> None:
    named = {"type": "file-history-snapshot", "messageId": "u1", "snapshot": {}, "isSnapshotUpdate": False}
    made_up = named | {"messageId": "nobody"}
    session = load(tmp_path, named, *PLAIN, made_up)
    (turn,) = session.turns
    assert turn.nodes == (0, 1, 2, 3, 4, 5), "the one before its prompt by the name, the one behind it by its place"


def test_section_7_6_thinking_signatures_are_preserved() -> None:
    line = json.dumps(STREAMED[1]).encode()
    record = decode(line)
    assert isinstance(record, AssistantRecord)
    assert isinstance(record.content, tuple)
    (block,) = record.content
    assert isinstance(block, ThinkingBlock)
    assert block.signature == "s"
    assert encode(record) == line


def test_section_7_7_the_structured_result_of_an_error_is_a_string(tmp_path: Path) -> None:
    failed = user("r1", [tool_result("t1", "File not found", is_error=True)], "a1", toolUseResult="Error: File not found")
    lines = [*PLAIN[:2], failed]
    assert [match.result_metadata for match in pair_tool_calls(read(*lines))] == ["Error: File not found"]
    (tool,) = load(tmp_path, *lines).tool_calls
    assert (tool.is_error, tool.structured) == (True, "Error: File not found")
