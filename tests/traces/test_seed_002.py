"""Seed 002 §4 to §10 as spans, rule by rule: what a receiver gets and, where this exporter differs, what it gets and why.

In: sessions of a few lines, made by hand. The document's algorithms themselves are tested beside the turns; here is what becomes
of each rule in a trace.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.traces.tracing import (
    SESSION,
    Desk,
    all_mapped,
    at,
    counts_told,
    kind_of,
    mapped,
    ns,
    of_kind,
    said,
    timed,
    words_of,
    write,
    write_agent,
)

from stenograph.config.traces import Destination, DestinationKind, SpanLayout, TraceConfig
from stenograph.errors import DeliveryError
from stenograph.testing.lines import Line, assistant, text, tool_result, tool_use, user
from stenograph.traces.history import find_sessions, send_history
from stenograph.traces.mapping import UNKNOWN_MODEL
from stenograph.traces.reading import Closing, Place, read_closed
from stenograph.traces.spans import Span, SpanStatus
from stenograph.traces.state import TraceState

NESTED = TraceConfig(shape=SpanLayout.NESTED)
# §5's own example: flat lines, as the document writes them.
EXAMPLE: list[Line] = [
    {"sessionId": "sess1", "type": "user", "content": "read a file"},
    {"message": {"id": "m1", "role": "assistant", "content": [tool_use("t1", "Read", path="/")]}},
    {"type": "user", "content": [tool_result("t1", "file data")]},
    {"message": {"id": "m2", "role": "assistant", "content": [text("done")]}},
]
# A prompt, a response that asks for two tools at once, their results, and the answer: as 2.1 writes it.
LINES: list[Line] = [
    timed(0, user("u1", "Count and list.", cwd="/home/user/proj", gitBranch="main", version="2.1.200", sessionId=SESSION)),
    timed(2, assistant("a1", "m1", [text("Both.")], "u1")),
    timed(3, assistant("a2", "m1", [tool_use("t1", "Bash", command="wc -l")], "a1")),
    timed(4, assistant("a3", "m1", [tool_use("t2", "Glob", pattern="*")], "a2")),
    timed(9, user("r2", [tool_result("t2", "one two")], "a3")),
    timed(11, user("r1", [tool_result("t1", "4")], "a2")),
    timed(15, assistant("a4", "m2", [text("Four, in two.")], "r1", usage={"input_tokens": 100, "output_tokens": 50})),
]


def prompts(path: Path) -> list[Any]:
    """What each turn was asked, by its root."""
    return [(said(spans[0], "input") or {}).get("content") for spans in mapped(path)]


def generations(path: Path) -> list[Span]:
    return of_kind("generation", all_mapped(path))


def answers(path: Path) -> list[Any]:
    return [(said(span, "output") or {}).get("content") for span in generations(path)]


def named(name: str, spans: list[Span]) -> Span:
    return next(span for span in spans if span.name == name)


# §4 Role detection


def test_section_4_the_role_is_the_type_else_the_role_of_the_message(tmp_path: Path) -> None:
    """§4. A user by its type, an assistant by its message's role: a turn with a generation."""
    path = write(tmp_path, {"type": "user", "content": "hi"}, {"message": {"id": "m", "role": "assistant", "content": "hello"}})
    assert (prompts(path), answers(path)) == (["hi"], ["hello"])


def test_section_4_assistant_lines_with_a_type_are_the_same(tmp_path: Path) -> None:
    """§4 says they have none; in real files every one has. Both are told."""
    path = write(tmp_path, user("u1", "hi"), assistant("a1", "m1", [text("hello")], "u1"))
    assert (prompts(path), answers(path)) == (["hi"], ["hello"])


def test_section_4_any_tool_result_in_an_array_makes_a_tool_result(tmp_path: Path) -> None:
    """§4. No second trace; and the words beside it are no loss, but an interjection: 2.1.19 to 2.1.37 write them so."""
    path = write(
        tmp_path,
        timed(0, user("u1", "Go")),
        timed(1, assistant("a1", "m1", [tool_use("t1")], "u1")),
        timed(2, user("r1", [text("and hurry"), tool_result("t1")], "a1")),
        timed(3, assistant("a2", "m2", [text("Ok.")], "r1")),
    )
    assert prompts(path) == ["Go"]
    assert [(event.name, event.at_ns, event.attributes) for event in mapped(path)[0][0].events] == [
        ("interjection", ns(2), {"text": "and hurry"})
    ]


# §5 Turn grouping


def test_section_5_the_example_of_the_document(tmp_path: Path) -> None:
    """§5. One turn: its root, two generations and the tool between them."""
    (spans,) = mapped(write(tmp_path, *EXAMPLE))
    assert [(kind_of(span), span.name) for span in spans] == [
        ("agent", "Turn 1"),
        ("generation", UNKNOWN_MODEL),
        ("tool", "Read"),
        ("generation", UNKNOWN_MODEL),
    ]
    assert (said(spans[0], "input"), said(spans[0], "output")) == (
        {"role": "user", "content": "read a file"},
        {"role": "assistant", "content": "done"},
    )


def test_section_5_meta_messages_are_skipped(tmp_path: Path) -> None:
    """§5."""
    path = write(tmp_path, user("u1", "Go"), user("x", "the rubric", "u1", isMeta=True), assistant("a1", "m1", [text("Ok")], "x"))
    assert prompts(path) == ["Go"]
    assert not any("rubric" in words_of(span) for span in all_mapped(path))


def test_section_5_a_tool_result_belongs_to_the_turn_and_starts_none(tmp_path: Path) -> None:
    """§5."""
    (spans,) = mapped(write(tmp_path, *LINES))
    assert [span.name for span in of_kind("tool", spans)] == ["Bash", "Glob"]


def test_section_5_any_other_user_message_starts_a_turn(tmp_path: Path) -> None:
    """§5. Each turn is a trace of its own, numbered from 1."""
    path = write(
        tmp_path,
        user("u1", "One"),
        assistant("a1", "m1", [text("1")], "u1"),
        user("u2", [text("Two")], "a1"),
        assistant("a2", "m2", [text("2")], "u2"),
    )
    first, second = mapped(path)
    assert [first[0].name, second[0].name] == ["Turn 1", "Turn 2"]
    assert {span.trace_id for span in first}.isdisjoint({span.trace_id for span in second})


@pytest.mark.parametrize(
    ("content", "event"),
    [("<local-command-stdout>ok</local-command-stdout>", []), ([text("[Request interrupted by user]")], ["interrupt"])],
)
def test_section_5_what_the_client_said_starts_a_turn_but_no_trace_of_ours(
    tmp_path: Path, content: object, event: list[str]
) -> None:
    """§5 makes a turn of them. Nobody typed them: an interrupt is an event of its turn, printed output is neither."""
    path = write(tmp_path, user("u1", "Go"), assistant("a1", "m1", [text("1")], "u1"), user("x", content, "a1"))
    assert prompts(path) == ["Go"]
    assert [each.name for each in mapped(path)[0][0].events] == event


def test_section_5_lines_with_the_same_id_are_parts_of_one_generation(tmp_path: Path) -> None:
    """§5. A tool result in between does not part them, as in the clients (rule 28)."""
    path = write(
        tmp_path,
        user("u1", "Go"),
        assistant("a1", "m1", [text("One.")], "u1"),
        assistant("a2", "m1", [tool_use("t1")], "a1"),
        user("r1", [tool_result("t1")], "a2"),
        assistant("a3", "m1", [text("Two.")], "r1"),
    )
    (generation,) = generations(path)
    assert said(generation, "output")["content"] == "One.\n\nTwo."


def test_section_5_a_new_id_starts_a_new_generation(tmp_path: Path) -> None:
    """§5."""
    path = write(tmp_path, user("u", "Go"), assistant("a", "m1", [text("1")], "u"), assistant("b", "m2", [text("2")], "a"))
    assert answers(path) == ["1", "2"]


def test_section_5_an_id_that_comes_back_starts_a_new_message_but_ours_is_one_generation(tmp_path: Path) -> None:
    """§5 goes by adjacency. A response is paid once, wherever its lines stand: one span for one `message.id`."""
    lines = [
        assistant("a1", "m1", [text("1")], "u1", usage={"output_tokens": 7}),
        assistant("a2", "m2", [text("2")], "a1"),
        assistant("a3", "m1", [text("3")], "a2", usage={"output_tokens": 7}),
    ]
    path = write(tmp_path, user("u1", "Go"), *lines)
    assert answers(path) == ["1\n\n3", "2"]
    assert [counts_told(span)[1] for span in generations(path)] == [7, 0]


def test_section_5_a_turn_needs_a_user_message_but_ours_does_not(tmp_path: Path) -> None:
    """§5 drops it. A file that was cut begins in the middle of a turn: what was said and paid is told, without a prompt."""
    path = write(tmp_path, assistant("a1", "m1", [text("1")], usage={"output_tokens": 7}))
    assert prompts(path) == [None]
    assert [counts_told(span)[1] for span in generations(path)] == [7]


def test_section_5_a_turn_needs_an_assistant_message_but_ours_is_told_when_it_is_closed(tmp_path: Path) -> None:
    """§5 drops it. A prompt that nobody answered was asked: told once the next prompt, or the end, says that nobody will."""
    lines = [user("u1", "One"), user("u2", "Two", "u1")]
    path = write(tmp_path, *lines)
    assert [spans[0].name for spans in mapped(path, closing=Closing.UNKNOWN)] == ["Turn 1"]
    assert [spans[0].name for spans in mapped(path, closing=Closing.STOPPED)] == ["Turn 1"]
    told = [(spans[0].attributes["langfuse.observation.level"], len(spans)) for spans in mapped(path)]
    assert told == [("WARNING", 1), ("WARNING", 1)]


def test_section_5_consumed_is_the_end_of_the_last_turn_that_is_over(tmp_path: Path) -> None:
    """§5. Ours is a place in bytes; behind it everything is read again."""
    path = write(tmp_path, *LINES, user("u2", "Two", "a4"))
    end = sum(len(line) + 1 for line in path.read_bytes().split(b"\n")[:7])
    (group,) = read_closed(path, Place(), Closing.STOPPED)
    assert (group.after.offset, group.after.turns) == (end, 1)


def test_section_5_consumed_is_nothing_without_a_turn_that_is_over(tmp_path: Path) -> None:
    """§5."""
    path = write(tmp_path, {"type": "file-history-snapshot", "messageId": "x", "snapshot": {}}, user("u1", "One"))
    assert list(read_closed(path, Place(), Closing.STOPPED)) == []


# §6 Important fields


def test_section_6_the_session_id_groups_traces(tmp_path: Path) -> None:
    """§6. On every span, for receivers that read only some of them."""
    spans = all_mapped(write(tmp_path, *LINES))
    assert {span.attributes["session.id"] for span in spans} == {SESSION}
    assert {span.attributes["gen_ai.conversation.id"] for span in spans} == {SESSION}


def test_section_6_the_model_names_its_generation(tmp_path: Path) -> None:
    """§6."""
    path = write(tmp_path, user("u1", "Go"), assistant("a1", "m1", [text("1")], "u1", model="claude-sonnet-4-5-20250929"))
    (generation,) = generations(path)
    assert generation.name == "claude-sonnet-4-5-20250929"
    for family in ("langfuse.observation.model.name", "gen_ai.response.model", "llm.model_name"):
        assert generation.attributes[family] == generation.name


@pytest.mark.parametrize("timestamp", [1736935205, None, "yesterday"])
def test_section_6_timestamps_that_are_none_are_ignored(tmp_path: Path, timestamp: object) -> None:
    """§6. The next time that is known takes their place, never the clock: read again, the span must be the same."""
    lines = [timed(0, user("u1", "Go")), assistant("a1", "m1", [text("1")], "u1") | {"timestamp": timestamp}]
    (root, generation) = all_mapped(write(tmp_path, *lines))
    assert (root.start_ns, root.end_ns, generation.start_ns, generation.end_ns) == (ns(0), ns(0), ns(0), ns(0))


def test_section_6_the_timestamp_of_the_line_is_the_only_one_of_ours(tmp_path: Path) -> None:
    """§6 falls back to `message.timestamp`, which no line of 33 recorded releases and of the public sessions has."""
    answer = assistant("a1", "m1", [text("1")], "u1", timestamp=at(50))
    assert generations(write(tmp_path, timed(0, user("u1", "Go")), timed(5, answer)))[0].end_ns == ns(5)
    assert generations(write(tmp_path, timed(0, user("u1", "Go")), answer | {"timestamp": None}))[0].end_ns == ns(0)


@pytest.mark.parametrize(
    ("line", "prompt"),
    [
        ({"type": "user", "message": {"role": "user", "content": "inside"}, "content": "outside"}, "inside"),
        ({"type": "user", "content": "outside"}, "outside"),
    ],
)
def test_section_6_the_content_of_the_message_goes_before_that_of_the_line(tmp_path: Path, line: Line, prompt: str) -> None:
    """§6."""
    assert prompts(write(tmp_path, line)) == [prompt]


# §7 Trace mapping


def test_section_7_tools_stand_under_the_generation_that_asked_for_them(tmp_path: Path) -> None:
    """§7's hierarchy, which is the shape `nested`."""
    (spans,) = mapped(write(tmp_path, *LINES), NESTED)
    root, first, *_ = spans
    parents = {span.name: span.parent_id for span in spans if kind_of(span) == "tool"}
    assert parents == {"Bash": first.span_id, "Glob": first.span_id}
    assert [span.parent_id for span in of_kind("generation", spans)] == [root.span_id, root.span_id]
    assert (root.parent_id, kind_of(root)) == (b"", "agent")


@pytest.mark.parametrize(
    ("kind", "shape", "is_nested"),
    [
        (DestinationKind.LANGFUSE, SpanLayout.AUTO, True),
        (DestinationKind.OTLP, SpanLayout.AUTO, False),
        (DestinationKind.MLFLOW, SpanLayout.AUTO, False),
        (DestinationKind.PHOENIX, SpanLayout.AUTO, False),
        (DestinationKind.LANGFUSE, SpanLayout.SIBLINGS, False),
        (DestinationKind.MLFLOW, SpanLayout.NESTED, True),
    ],
)
def test_section_7_langfuse_gets_the_nested_tree_unless_asked_otherwise(
    kind: DestinationKind, shape: SpanLayout, is_nested: bool, tmp_path: Path
) -> None:
    with Desk(tmp_path, kind=kind, config=TraceConfig(shape=shape)) as desk:
        desk.send(write(tmp_path, *LINES))
        generation, root = desk.of_kind("generation")[0].span_id, desk.roots[0].span_id
        assert {tool.parent_id for tool in desk.of_kind("tool")} == {generation if is_nested else root}


def test_section_7_langfuse_is_known_by_its_address_too() -> None:
    """Its documentation has it as a plain OTLP receiver with a header."""
    for endpoint, is_langfuse in (
        ("https://cloud.langfuse.com/api/public/otel/v1/traces", True),
        ("https://example.com/below/api/public/otel/v1/traces?x=1", True),
        ("https://example.com/v1/traces", False),
    ):
        assert Destination("x", DestinationKind.OTLP, endpoint).is_langfuse is is_langfuse


def test_section_7_tools_stand_beside_generations_by_default(tmp_path: Path) -> None:
    """Ours: MLflow leaves out what is below a span with usage, so that sub-agents' tokens under a generation would be lost."""
    (spans,) = mapped(write(tmp_path, *LINES))
    assert {span.parent_id for span in spans[1:]} == {spans[0].span_id}


def test_section_7_trace_and_root_are_called_turn_n(tmp_path: Path) -> None:
    """§7."""
    (spans,) = mapped(write(tmp_path, *LINES))
    assert spans[0].name == "Turn 1"
    assert {span.attributes["langfuse.trace.name"] for span in spans} == {"Turn 1"}


@pytest.mark.parametrize("what", ["langfuse.trace", "langfuse.observation"])
def test_section_7_trace_and_root_carry_the_prompt_and_the_last_answer(tmp_path: Path, what: str) -> None:
    """§7. The last answer that has words."""
    (spans,) = mapped(write(tmp_path, *LINES))
    assert json.loads(str(spans[0].attributes[f"{what}.input"])) == {"role": "user", "content": "Count and list."}
    assert json.loads(str(spans[0].attributes[f"{what}.output"])) == {"role": "assistant", "content": "Four, in two."}


def test_section_7_only_the_first_generation_carries_the_input(tmp_path: Path) -> None:
    """§7."""
    first, second = generations(write(tmp_path, *LINES))
    assert said(first, "input") == {"role": "user", "content": "Count and list."}
    assert said(second, "input") is None
    assert not [
        name for name in second.attributes if "input.value" in name or "input.messages" in name or "input_messages" in name
    ]


def test_section_7_every_generation_carries_its_own_answer(tmp_path: Path) -> None:
    """§7. And, beyond it, the tools it asked for."""
    first, second = generations(write(tmp_path, *LINES))
    calls = [{"id": "t1", "name": "Bash"}, {"id": "t2", "name": "Glob"}]
    assert said(first, "output") == {"role": "assistant", "content": "Both.", "tool_calls": calls}
    assert said(second, "output") == {"role": "assistant", "content": "Four, in two."}


def test_section_7_a_tool_carries_its_input_and_its_result(tmp_path: Path) -> None:
    """§7."""
    bash, glob = of_kind("tool", all_mapped(write(tmp_path, *LINES)))
    assert (said(bash, "input"), said(bash, "output")) == ({"command": "wc -l"}, "4")
    assert (said(glob, "input"), said(glob, "output")) == ({"pattern": "*"}, "one two")


def test_section_7_trace_and_root_last_from_the_prompt_to_the_latest_line(tmp_path: Path) -> None:
    """§7."""
    root = all_mapped(write(tmp_path, *LINES))[0]
    assert (root.start_ns, root.end_ns) == (ns(0), ns(15))


def test_section_7_a_generation_lasts_from_its_input_to_its_last_line(tmp_path: Path) -> None:
    """§7 begins it with its first line, which is written when its first block is whole, and ends it where the next one begins:
    that adds the tools' time to the model's, and ends the last one with the wall clock."""
    first, second = generations(write(tmp_path, *LINES))
    assert (first.start_ns, first.end_ns) == (ns(0), ns(4))
    assert (second.start_ns, second.end_ns) == (ns(11), ns(15))


def test_section_7_a_tool_lasts_from_its_use_to_its_result_so_that_parallel_ones_overlap(tmp_path: Path) -> None:
    """§7 begins every tool with its response; ours with the line that holds its use."""
    bash, glob = of_kind("tool", all_mapped(write(tmp_path, *LINES)))
    assert (bash.start_ns, bash.end_ns) == (ns(3), ns(11))
    assert (glob.start_ns, glob.end_ns) == (ns(4), ns(9))


def test_section_7_usage_has_input_output_total_and_what_was_cached(tmp_path: Path) -> None:
    """§7's total leaves the cached tokens out; Langfuse adds up what it is given, so ours is the sum of all. Cache writes for 5
    minutes and for an hour have different prices and stand apart."""
    usage = {
        "input_tokens": 100,
        "output_tokens": 50,
        "cache_read_input_tokens": 20,
        "cache_creation_input_tokens": 30,
        "cache_creation": {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20},
    }
    (generation,) = generations(write(tmp_path, user("u1", "Go"), assistant("a1", "m1", [text("1")], "u1", usage=usage)))
    assert said(generation, "usage_details") == {
        "input": 100,
        "output": 50,
        "cache_read_input_tokens": 20,
        "input_cache_creation_5m": 10,
        "input_cache_creation_1h": 20,
        "total": 200,
    }
    told = generation.attributes
    assert (told["gen_ai.usage.input_tokens"], told["gen_ai.usage.output_tokens"]) == (150, 50)
    assert (told["llm.token_count.prompt"], told["llm.token_count.completion"], told["llm.token_count.total"]) == (150, 50, 200)


def test_section_7_no_usage_no_usage_details(tmp_path: Path) -> None:
    """§7. Nothing is not the same as none."""
    (generation,) = generations(write(tmp_path, user("u1", "Go"), assistant("a1", "m1", [text("1")], "u1")))
    assert not [name for name in generation.attributes if "usage" in name or "token_count" in name or "cost" in name]


def test_section_7_the_trace_has_source_turn_number_and_session_id(tmp_path: Path) -> None:
    """§7. And the client's release, folder and branch, as the exporter of that time had them too."""
    told = all_mapped(write(tmp_path, *LINES))[0].attributes
    expected = {"source": "claude-code", "turn_number": 1, "session_id": SESSION}
    expected |= {"release": "2.1.200", "cwd": "/home/user/proj", "git_branch": "main"}
    assert {name: told[f"langfuse.trace.metadata.{name}"] for name in expected} == expected
    assert json.loads(str(told["metadata"])).items() >= expected.items()


def test_section_7_a_generation_has_its_tool_count(tmp_path: Path) -> None:
    """§7."""
    told = [span.attributes["langfuse.observation.metadata.tool_count"] for span in generations(write(tmp_path, *LINES))]
    assert told == [2, 0]


def test_section_7_a_tool_has_its_name_and_id(tmp_path: Path) -> None:
    """§7."""
    told = of_kind("tool", all_mapped(write(tmp_path, *LINES)))
    names = [tuple(span.attributes[f"langfuse.observation.metadata.tool_{what}"] for what in ("name", "id")) for span in told]
    assert names == [("Bash", "t1"), ("Glob", "t2")]


def test_section_7_knows_no_sub_agents_but_ours_nests_them_at_any_depth(tmp_path: Path) -> None:
    """Their files hold most of what some turns cost."""
    path = write(tmp_path, user("u1", "Go"), assistant("a1", "m1", [tool_use("t1", "Agent", prompt="Look.")], "u1"))
    inner = [user("s1", "Look."), assistant("s2", "m2", [tool_use("t2", "Agent", prompt="Deeper.")], "s1")]
    write_agent(path, "aaa", "t1", *inner, agentType="explorer")
    write_agent(path, "bbb", "t2", user("d1", "Deeper."), assistant("d2", "m3", [text("Deep.")], "d1"), agentType="diver")
    spans = {span.span_id: span for span in all_mapped(path)}
    way = []
    at_span = next(span for span in spans.values() if kind_of(span) == "generation" and "Deep." in words_of(span))
    while at_span.parent_id:
        at_span = spans[at_span.parent_id]
        way.append(at_span.name)
    assert way == ["diver", "Agent", "explorer", "Agent", "Turn 1"]


# §8 Incremental processing


def test_section_8_each_session_has_a_position_that_survives(tmp_path: Path) -> None:
    """§8's state is one file by session id; ours is by file and destination, and holds bytes instead of lines."""
    path = write(tmp_path, *LINES)
    with Desk(tmp_path) as desk:
        desk.send(path)
    with TraceState(desk.folder) as state:
        cursor = state.cursor("desk", path)
    assert cursor is not None
    assert (cursor.place.offset, cursor.place.turns) == (path.stat().st_size, 1)


def test_section_8_lines_before_the_position_are_not_processed_again(tmp_path: Path) -> None:
    """§8."""
    path = write(tmp_path, *LINES)
    with Desk(tmp_path) as desk:
        assert (desk.send(path).turns, desk.send(path).turns) == (1, 0)
        assert {span.times for span in desk.spans} == {1}


def test_section_8_lines_that_cannot_be_parsed_are_skipped_and_the_position_is_right(tmp_path: Path) -> None:
    """§8's lineOffsets."""
    path = write(tmp_path, "{torn", *LINES[:1], "", "[1]", *LINES[1:], "{torn too")
    with Desk(tmp_path) as desk:
        sent = desk.send(path)
        assert (sent.turns, sent.skipped) == (1, 3)
        write(tmp_path, "{torn", *LINES[:1], "", "[1]", *LINES[1:], "{torn too", timed(20, user("u2", "Two", "a4")), "3")
        sent = desk.send(path)
        assert (sent.turns, sent.skipped) == (1, 1)
        assert sorted(span.name for span in desk.roots) == ["Turn 1", "Turn 2"]
        assert desk.state.skipped("desk") == {path: 4}
        write(tmp_path, "{torn", *LINES)
        desk.send(path)
        assert desk.state.skipped("desk") == {path: 1}


def test_section_8_the_turn_count_goes_on_where_it_was(tmp_path: Path) -> None:
    """§8."""
    path = write(tmp_path, *LINES)
    with Desk(tmp_path) as desk:
        desk.send(path)
        write(tmp_path, *LINES, user("u2", "Two", "a4"), assistant("a5", "m3", [text("2")], "u2"))
        desk.send(path)
        assert [span.attributes["langfuse.trace.metadata.turn_number"] for span in desk.roots] == [1, 2]


def test_section_8_an_incomplete_turn_is_read_again_and_told_when_it_is_complete(tmp_path: Path) -> None:
    """§8."""
    path = write(tmp_path, *LINES[:1])
    with Desk(tmp_path) as desk:
        assert desk.send(path, Closing.STOPPED).turns == 0
        write(tmp_path, *LINES)
        assert desk.send(path, Closing.STOPPED).turns == 1
        assert [said(span, "output") for span in desk.roots] == [{"role": "assistant", "content": "Four, in two."}]


def test_section_8_what_comes_late_to_a_turn_is_lost_by_the_position_but_ours_tells_it(tmp_path: Path) -> None:
    """§8 calls a turn complete with its first answer; the rest has no user message then and is dropped. Ours tells the turn again
    under the same ids."""
    path = write(tmp_path, *LINES[:2])
    with Desk(tmp_path) as desk:
        desk.send(path, Closing.STOPPED)
        write(tmp_path, *LINES)
        desk.send(path, Closing.STOPPED)
        assert [(kind_of(span), span.name) for span in desk.spans] == [
            ("agent", "Turn 1"),
            ("generation", "claude-x"),
            ("tool", "Bash"),
            ("tool", "Glob"),
            ("generation", "claude-x"),
        ]
        assert [said(span, "output") for span in desk.roots] == [{"role": "assistant", "content": "Four, in two."}]


def test_section_8_the_position_moves_before_the_receiver_has_answered_but_ours_does_not(tmp_path: Path) -> None:
    """§8 writes it whatever became of the traces: a receiver that failed had lost them."""
    path = write(tmp_path, *LINES)
    with Desk(tmp_path) as desk:
        desk.sink.fail(500)
        with pytest.raises(DeliveryError, match="500"):
            desk.send(path)
        assert desk.state.cursor("desk", path) is None
        assert desk.send(path).turns == 1


# §9 Edge cases


def test_section_9_multi_part_contents_are_joined_and_the_greatest_usage_counts(tmp_path: Path) -> None:
    """§9 takes the first part's usage. It grows from line to line in sub-agents' files: the first is too small."""
    parts = [
        assistant("a1", "m1", [text("1")], "u1", model="first", usage={"input_tokens": 5, "output_tokens": 2}),
        assistant("a2", "m1", [text("2")], "a1", model="second", usage={"input_tokens": 5, "output_tokens": 480}),
    ]
    (generation,) = generations(write(tmp_path, user("u1", "Go"), *parts))
    assert (generation.name, said(generation, "output")["content"]) == ("first", "1\n\n2")
    assert counts_told(generation)[:2] == [5, 480]


def test_section_9_missing_timestamp_omits_the_time_but_ours_takes_the_nearest(tmp_path: Path) -> None:
    """§9 leaves it to the SDK's clock. A span sent again has to be the same span, so a time comes from the lines or is 0."""
    lines = [
        timed(0, user("u1", "Go")),
        assistant("a1", "m1", [tool_use("t1")], "u1"),
        user("r1", [tool_result("t1")], "a1"),
        timed(8, assistant("a2", "m2", [text("Ok")], "r1")),
    ]
    for line in lines[1:3]:
        del line["timestamp"]
    path = write(tmp_path, *lines)
    assert [(span.start_ns, span.end_ns) for span in all_mapped(path)] == [
        (ns(0), ns(8)),
        (ns(0), ns(0)),
        (ns(0), ns(0)),
        (ns(8), ns(8)),
    ]
    assert {(span.start_ns, span.end_ns) for span in all_mapped(write(tmp_path, *EXAMPLE))} == {(0, 0)}


def test_section_9_a_tool_use_without_a_result_has_no_output(tmp_path: Path) -> None:
    """§9 says null. Ours ends with its turn, and says why there is none."""
    other = timed(6, user("r", [tool_result("another", "x")], "a3"))
    bash, _ = of_kind("tool", all_mapped(write(tmp_path, *LINES[:4], other)))
    assert said(bash, "output") is None
    assert (bash.attributes["langfuse.observation.level"], bash.end_ns) == ("WARNING", ns(6))


def test_section_9_a_tool_use_without_a_result_does_not_hold_the_answer_back(tmp_path: Path) -> None:
    """§9 sends the turn at once, with output null. A result that comes later is sent under the same ids."""
    without = [line for line in LINES if line["uuid"] != "r1"]
    without[-1] = without[-1] | {"parentUuid": "r2"}
    late = timed(30, user("r1", [tool_result("t1", "4")], "a2"))
    with Desk(tmp_path) as desk:
        assert desk.send(write(tmp_path, *without), Closing.STOPPED).turns == 1
        first = {span.span_id: span for span in desk.spans}
        (bash,) = [span for span in first.values() if span.name == "Bash"]
        assert (said(bash, "output"), bash.attributes["langfuse.observation.level"]) == (None, "WARNING")
        (root,) = desk.roots
        assert root.attributes["langfuse.trace.metadata.status"] == "done"

        following = [timed(40, user("u2", "Two", "a4")), timed(41, assistant("a5", "m3", [text("2")], "u2"))]
        for lines, closing in (([], Closing.STOPPED), ([], Closing.ENDED), (following, Closing.STOPPED)):
            desk.send(write(tmp_path, *without, late, *lines), closing)
            assert {span.span_id for span in desk.spans if span.trace_id == root.trace_id} == first.keys()
            assert [said(span, "output") for span in desk.spans if span.name == "Bash"] == ["4"]
            assert said(desk.roots[0], "output")["content"] == "Four, in two."
        assert [span.name for span in desk.roots] == ["Turn 1", "Turn 2"]


def test_section_9_a_tool_use_that_is_the_last_word_is_waited_for(tmp_path: Path) -> None:
    """A Stop may come before the last lines are written: while the model owes an answer the turn is not over."""
    assert mapped(write(tmp_path, *LINES[:4]), closing=Closing.STOPPED) == []
    assert mapped(write(tmp_path, *LINES[:5]), closing=Closing.STOPPED) == []


def test_section_9_a_tool_that_failed_is_an_error(tmp_path: Path) -> None:
    """§9 does not say; the exporter of that time sets the level ERROR."""
    failed = timed(5, user("r", [tool_result("t1", "no such file", is_error=True)], "a3"))
    bash, _ = of_kind("tool", all_mapped(write(tmp_path, *LINES[:4], failed)))
    assert (bash.attributes["langfuse.observation.level"], bash.status) == ("ERROR", SpanStatus.ERROR)
    assert "no such file" not in bash.status_message


def test_section_9_an_incomplete_turn_at_the_end_is_told_by_its_age_or_the_sessions_end(tmp_path: Path) -> None:
    """§9 never tells it. Ours does once nothing will come: with an interrupt at once, else at the end."""
    path = write(tmp_path, *LINES, user("u2", "more", "a4"))
    assert len(mapped(path, closing=Closing.STOPPED)) == 1
    assert len(mapped(path, closing=Closing.ENDED)) == 2
    path = write(tmp_path, *LINES, user("u2", "more", "a4"), user("x", [text("[Request interrupted by user]")], "u2"))
    assert len(mapped(path, closing=Closing.UNKNOWN)) == 2


def test_section_9_json_parse_failure_is_skipped(tmp_path: Path) -> None:
    """§9."""
    assert [len(spans) for spans in mapped(write(tmp_path, *EXAMPLE[:2], "{not json}", *EXAMPLE[2:]))] == [4]


def test_section_9_assistants_without_an_id_are_merged_with_neighbours_without_one(tmp_path: Path) -> None:
    """§9, and rule 27."""
    path = write(tmp_path, user("u1", "Go"), assistant("a", None, [text("1")], "u1"), assistant("b", None, [text("2")], "a"))
    assert answers(path) == ["1\n\n2"]


def test_section_9_an_assistant_without_an_id_stands_alone_beside_one_that_has_one(tmp_path: Path) -> None:
    """§9; §5 would add it to the message before it, rule 27 does not: an id and none are different responses."""
    first = [assistant("a", None, [text("1")], "u1"), assistant("b", "m2", [text("2")], "a")]
    second = [assistant("a", "m1", [text("1")], "u1"), assistant("b", None, [text("2")], "a")]
    for lines in (first, second):
        path = write(tmp_path, user("u1", "Go"), *lines)
        assert answers(path) == ["1", "2"]
        assert len({span.span_id for span in generations(path)}) == 2


def test_section_9_meta_messages_interleaved_are_as_if_they_were_not_there(tmp_path: Path) -> None:
    """§9."""
    with_meta: list[Line] = []
    for number, line in enumerate(LINES):
        with_meta += [line, timed(number, user(f"x{number}", "scaffolding", line["uuid"], isMeta=True))]
    with_meta[-1]["timestamp"] = at(60)

    def told(path: Path) -> list[tuple[object, ...]]:
        return [(span.span_id, span.parent_id, span.name, span.start_ns, span.end_ns) for span in all_mapped(path)]

    assert told(write(tmp_path, *with_meta)) == told(write(tmp_path, *LINES))


def test_section_9_a_meta_line_of_the_assistant_is_no_generation(tmp_path: Path) -> None:
    """§2 has one as an example, without a model: neither a generation nor the answer."""
    meta: Line = {"message": {"id": "m9", "role": "assistant", "content": "meta response"}, "isMeta": True}
    after = timed(20, assistant("a5", "m9", [text("meta response")], "a4") | {"isMeta": True})
    for lines in ([*EXAMPLE[:2], meta, *EXAMPLE[2:]], [*EXAMPLE, meta]):
        path = write(tmp_path, *lines)
        assert answers(path) == ["", "done"]
        assert said(all_mapped(path)[0], "output") == {"role": "assistant", "content": "done"}
    assert not any("meta response" in words_of(span) for span in all_mapped(write(tmp_path, *LINES, after)))
    assert all_mapped(write(tmp_path, *LINES, after))[0].end_ns == ns(15)


# §10 Session transitions

BEFORE = "5e551000-0000-4000-8000-000000000000"


def transition(folder: Path) -> tuple[Path, Path]:
    """A session that a plan ended without a Stop, and the one that goes on from it: its first line names the other."""
    old = [user("u1", "Plan it.", sessionId=BEFORE), assistant("a1", "m1", [text("A plan.")], "u1") | {"sessionId": BEFORE}]
    before = write(folder, *old, name=BEFORE)
    new = [user("u2", "Do it.", "a1", sessionId=SESSION), assistant("a2", "m2", [text("Done.")], "u2")]
    return before, write(folder, {"type": "user", "isMeta": True, "sessionId": BEFORE, "uuid": "x", "content": "on"}, *new)


def test_section_10_a_normal_session_is_told_by_itself(tmp_path: Path) -> None:
    """§10."""
    path = write(tmp_path, {"type": "file-history-snapshot", "messageId": "x", "snapshot": {}}, *LINES)
    with Desk(tmp_path) as desk:
        assert desk.send(path).turns == 1


def test_section_10_the_previous_session_is_told_though_no_hook_told_of_it(tmp_path: Path) -> None:
    """§10 looks into the first line of the next one. Ours looks at every file that is behind (sweep), whatever its lines say."""
    folder = tmp_path / "home" / "projects" / "proj"
    before, now = transition(folder)
    with Desk(tmp_path) as desk:
        desk.send(now, Closing.STOPPED)
        assert [said(root, "output")["content"] for root in desk.roots] == ["Done."]
        candidates = find_sessions([tmp_path / "home"])
        assert {each.path for each in candidates} == {before, now}
        report = send_history(candidates, desk.destination, desk.config, desk.state, tmp_path / "t", clock=desk.now)
        assert (report.error, report.failures) == (None, ())
        assert sorted(said(root, "output")["content"] for root in desk.roots) == ["A plan.", "Done."]
        assert {span.times for span in desk.spans} == {1}


def test_section_10_each_turn_is_told_under_the_session_it_happened_in(tmp_path: Path) -> None:
    """§10 files them under the session that is processed."""
    before, now = transition(tmp_path)
    assert {span.attributes["session.id"] for span in all_mapped(before)} == {BEFORE}
    assert {span.attributes["session.id"] for span in all_mapped(now)} == {SESSION}


def test_section_10_a_turn_whose_prompt_names_the_previous_session_is_told_under_its_own(tmp_path: Path) -> None:
    """§10's own example: the first line alone has the old id, and is a prompt. Its turn is the first of the new session."""
    first = user("u2", "Do it.", "a1", sessionId=BEFORE)
    path = write(tmp_path, first, assistant("a2", "m2", [text("Done.")], "u2") | {"sessionId": SESSION})
    (spans,) = mapped(path)
    assert {span.attributes["session.id"] for span in spans} == {SESSION}
    assert (spans[0].name, spans[0].attributes["langfuse.trace.metadata.session_id"]) == ("Turn 1", SESSION)


def test_section_10_a_copied_turn_stays_with_the_session_it_was_copied_from(tmp_path: Path) -> None:
    """Forks of old releases keep the old id on every line of a copy."""
    copied = [user("u1", "Plan it.", sessionId=BEFORE), assistant("a1", "m1", [text("A plan.")], "u1") | {"sessionId": BEFORE}]
    own = [user("u2", "Do it.", "a1", sessionId=SESSION), assistant("a2", "m2", [text("Done.")], "u2") | {"sessionId": SESSION}]
    ids = [spans[0].attributes["session.id"] for spans in mapped(write(tmp_path, *copied, *own))]
    assert ids == [BEFORE, SESSION]


def test_section_10_a_previous_session_that_cannot_be_read_blocks_nothing(tmp_path: Path) -> None:
    """§10."""
    before, now = transition(tmp_path / "home" / "projects" / "proj")
    before.unlink()
    before.mkdir()
    with Desk(tmp_path) as desk:
        candidates = find_sessions([tmp_path / "home"])
        send_history(candidates, desk.destination, desk.config, desk.state, tmp_path / "t", clock=desk.now)
        assert [said(root, "output")["content"] for root in desk.roots] == ["Done."]
    assert now.exists()


def test_section_10_an_id_that_leads_out_of_the_folder_is_none(tmp_path: Path) -> None:
    """§10 makes a path of it. Ours makes nothing of an id that is none: the file's own name is the session then."""
    (spans,) = mapped(write(tmp_path, user("u1", "Go", sessionId="../outside"), assistant("a1", "m1", [text("1")], "u1")))
    assert {span.attributes["session.id"] for span in spans} == {SESSION}
