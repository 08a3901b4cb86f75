"""Blocks put together from whatever an endpoint sends, in the order that readers rely on."""

from __future__ import annotations

import re
from typing import Any

import pytest

from stenograph.model import assembly
from stenograph.model.assembly import Assembler, MalformedAnswer
from stenograph.model.events import (
    BlockStart,
    BlockStop,
    InputDelta,
    MessageStart,
    MessageStop,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
)

Json = dict[str, Any]
START = ("message_start", {"message": {"id": "msg_1", "model": "claude-x", "usage": {"input_tokens": 7, "output_tokens": 1}}})
STOP: tuple[str, Json] = ("message_stop", {})


def started(index: Any, **block: Any) -> tuple[str, Json]:
    return "content_block_start", {"index": index, "content_block": block}


def delta(index: Any, **members: Any) -> tuple[str, Json]:
    return "content_block_delta", {"index": index, "delta": members}


def stopped(index: Any) -> tuple[str, Json]:
    return "content_block_stop", {"index": index}


def ended(stop_reason: Any = "end_turn", usage: Any = None, **more: Any) -> tuple[str, Json]:
    return "message_delta", {"delta": {"stop_reason": stop_reason, **more}, "usage": usage}


def assemble(*events: tuple[str, Any]) -> list[StreamEvent]:
    assembler = Assembler("req_1", model="claude-asked")
    made: list[StreamEvent] = []
    for kind, event in events:
        assembler.feed(kind, event, made)
    return [*made, assembler.finish()]


def blocks(*events: tuple[str, Any]) -> list[BlockStop]:
    return [event for event in assemble(START, *events, ended(), STOP) if isinstance(event, BlockStop)]


def test_an_answer_of_every_common_block() -> None:
    assert assemble(
        START,
        ("ping", {}),
        started(0, type="thinking", thinking="", signature=""),
        delta(0, type="thinking_delta", thinking="hm, "),
        delta(0, type="thinking_delta", thinking="yes"),
        delta(0, type="signature_delta", signature="c2ln"),
        stopped(0),
        started(1, type="text", text=""),
        delta(1, type="text_delta", text="Hel"),
        delta(1, type="text_delta", text="lo"),
        stopped(1),
        started(2, type="tool_use", id="t1", name="Bash", input={}),
        delta(2, type="input_json_delta", partial_json=""),
        delta(2, type="input_json_delta", partial_json='{"command": '),
        delta(2, type="input_json_delta", partial_json='"ls"}'),
        stopped(2),
        ended("tool_use", {"output_tokens": 50}),
        STOP,
    ) == [
        MessageStart("msg_1", "claude-x", "req_1", {"input_tokens": 7, "output_tokens": 1}),
        BlockStart(0, {"type": "thinking", "thinking": "", "signature": ""}),
        ThinkingDelta(0, "hm, "),
        ThinkingDelta(0, "yes"),
        BlockStop(0, {"type": "thinking", "thinking": "hm, yes", "signature": "c2ln"}),
        BlockStart(1, {"type": "text", "text": ""}),
        TextDelta(1, "Hel"),
        TextDelta(1, "lo"),
        BlockStop(1, {"type": "text", "text": "Hello"}),
        BlockStart(2, {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}),
        InputDelta(2, ""),
        InputDelta(2, '{"command": '),
        InputDelta(2, '"ls"}'),
        BlockStop(2, {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}),
        MessageStop("tool_use", None, {"input_tokens": 7, "output_tokens": 50}),
    ]


def test_thinking_that_is_not_shown_has_its_signature_alone() -> None:
    [block] = blocks(started(0, type="thinking", thinking=""), delta(0, type="signature_delta", signature="c2ln"), stopped(0))
    assert block.block == {"type": "thinking", "thinking": "", "signature": "c2ln"}


def test_a_block_that_is_not_known_is_passed_on_whole() -> None:
    [redacted, new] = blocks(
        started(0, type="redacted_thinking", data="x"),
        stopped(0),
        started(1, type="fallback", why={"a": 1}),
        delta(1, type="fallback_delta", text={"not": "a text"}),
        stopped(1),
    )
    assert redacted.block == {"type": "redacted_thinking", "data": "x"}
    assert new.block == {"type": "fallback", "why": {"a": 1}}


def test_inputs_of_tools_that_the_endpoint_runs_are_put_together_too() -> None:
    [block] = blocks(
        started(0, type="server_tool_use", id="s1", name="web_search", input={}),
        delta(0, type="input_json_delta", partial_json='{"query":"x"}'),
        stopped(0),
    )
    assert block.block["input"] == {"query": "x"}


def test_citations_are_kept() -> None:
    [block] = blocks(
        started(0, type="text", text="", citations=[]),
        delta(0, type="text_delta", text="a"),
        delta(0, type="citations_delta", citation={"cited_text": "b"}),
        stopped(0),
    )
    assert block.block == {"type": "text", "text": "a", "citations": [{"cited_text": "b"}]}


@pytest.mark.parametrize(
    ("start", "parts", "given", "unparsed"),
    [
        ({}, [], {}, ""),
        ({}, ["{}"], {}, ""),
        ({}, [" \n"], {}, ""),
        ({"a": 1}, [], {"a": 1}, ""),
        ({}, ['{"a": "\\ud83d\\ude00 \u2028"}'], {"a": "😀 \u2028"}, ""),
        ({}, ['{"a": "\\ud83d', ' b"}'], {"a": "\ufffd b"}, ""),
        ({}, ['{"a": "b'], {}, '{"a": "b'),
        ({}, ['{"a": "\\ud83d'], {}, '{"a": "\\ud83d'),
        ({}, ["[1]"], {}, "[1]"),
        ({}, ["null"], {}, "null"),
        ({}, ['{"a": 1} x'], {}, '{"a": 1} x'),
        ({}, ["[" * 100_000], {}, "[" * 100_000),
        ("text", [], {}, "text"),
        ([1], [], {}, "[1]"),
        ("", [], {}, ""),
        (None, [], {}, ""),
    ],
)
def test_the_input_of_a_tool_is_an_object_or_kept_as_it_was_written(
    start: Any, parts: list[str], given: Json, unparsed: str
) -> None:
    deltas = [delta(0, type="input_json_delta", partial_json=part) for part in parts]
    [block] = blocks(started(0, type="tool_use", id="t", name="n", input=start), *deltas, stopped(0))
    assert (block.block["input"], block.unparsed_input) == (given, unparsed)


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        ({"input_tokens": 7, "output_tokens": 1}, {"output_tokens": 50}, {"input_tokens": 7, "output_tokens": 50}),
        ({"input_tokens": 7}, {"input_tokens": 9, "output_tokens": 50}, {"input_tokens": 9, "output_tokens": 50}),
        (
            {"input_tokens": 7, "speed": "fast"},
            {"input_tokens": None, "speed": None, "inference_geo": None},
            {"input_tokens": 7, "output_tokens": 0, "speed": "fast", "inference_geo": None},
        ),
        (None, {"output_tokens": 50}, {"input_tokens": 0, "output_tokens": 50}),
        ({"input_tokens": 7}, None, {"input_tokens": 7, "output_tokens": 0}),
        ({"input_tokens": 7}, "many", {"input_tokens": 7, "output_tokens": 0}),
        ({"input_tokens": 7}, {"input_tokens": True, "output_tokens": -1}, {"input_tokens": 7, "output_tokens": 0}),
    ],
)
def test_usage_is_the_beginning_with_the_end_put_over_it(first: Any, last: Any, expected: Json) -> None:
    end = assemble(("message_start", {"message": {"usage": first}}), ended(usage=last), STOP)[-1]
    assert isinstance(end, MessageStop)
    assert end.usage == expected


@pytest.mark.parametrize(
    "reason", ["end_turn", "tool_use", "max_tokens", "pause_turn", "refusal", "model_context_window_exceeded", "of_tomorrow"]
)
def test_every_stop_reason_is_told(reason: str) -> None:
    assert assemble(START, ended(reason), STOP)[-1] == MessageStop(reason, None, {"input_tokens": 7, "output_tokens": 1})


def test_what_stopped_it_is_told() -> None:
    end = assemble(START, ended("stop_sequence", stop_sequence="END"), STOP)[-1]
    assert isinstance(end, MessageStop)
    assert end.stop_sequence == "END"
    end = assemble(START, ended("refusal", stop_details={"category": "x"}), STOP)[-1]
    assert isinstance(end, MessageStop)
    assert end.stop_details == {"category": "x"}


# What endpoints get wrong

TEXT_EVENTS = (started(0, type="text", text=""), delta(0, type="text_delta", text="a"), stopped(0))
ODD = {
    "a block that is not ended before the next": (started(0, type="text", text=""), delta(0, type="text_delta", text="a"),
        started(1, type="text", text=""), delta(1, type="text_delta", text="b"), stopped(1)),
    "a block that is not ended at all": (*TEXT_EVENTS, started(1, type="text", text=""), delta(1, type="text_delta", text="b")),
    "one number for all": (*TEXT_EVENTS, started(0, type="text", text=""), delta(0, type="text_delta", text="b"), stopped(0)),
    "no numbers": tuple((kind, {name: value for name, value in event.items() if name != "index"}) for kind, event in
        (*TEXT_EVENTS, started(0, type="text", text="b"), stopped(0))),
    "a second end": (*TEXT_EVENTS, stopped(0), started(1, type="text", text="b"), stopped(0), stopped(1)),
    "deltas of another block": (*TEXT_EVENTS, delta(0, type="text_delta", text="x"), started(1, type="text", text=""),
        delta(7, type="text_delta", text="x"), delta(1, type="text_delta", text="b"), stopped(1)),
    "deltas of another type": (*TEXT_EVENTS, started(1, type="text", text="b"), delta(1, type="text_delta", text=5),
        ("content_block_delta", {"index": 1, "delta": "x"}), delta(1, type="text_delta"), delta(1), stopped(1)),
    "a second beginning": (*TEXT_EVENTS, START, started(1, type="text", text="b"), stopped(1)),
    "kinds of tomorrow": (*TEXT_EVENTS, ("content_block_note", {"index": 0}), started(1, type="text", text="b"), stopped(1)),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_blocks_never_overlap_and_their_numbers_increase_whatever_is_sent(name: str) -> None:
    events = assemble(START, *ODD[name], ended(), STOP)
    assert [event.block["text"] for event in events if isinstance(event, BlockStop)] == ["a", "b"]
    order = [(type(event), getattr(event, "index", None)) for event in events if isinstance(event, BlockStart | BlockStop)]
    assert order == [(BlockStart, 0), (BlockStop, 0), (BlockStart, 1), (BlockStop, 1)]
    assert [type(event) for event in events].count(MessageStart) == 1
    assert isinstance(events[0], MessageStart)


def test_a_missing_beginning_is_made_up() -> None:
    events = assemble(*TEXT_EVENTS, ended(), STOP)
    assert_made_up(events[0])


def assert_made_up(begin: StreamEvent) -> None:
    assert isinstance(begin, MessageStart)
    assert re.fullmatch(r"msg_[0-9a-f]{24}", begin.message_id)
    assert (begin.model, begin.request_id, begin.usage) == ("claude-asked", "req_1", {"input_tokens": 0, "output_tokens": 0})


NO_MESSAGES: list[Any] = [
    None, [], "x", {}, {"id": 5, "model": None, "usage": []}, {"id": ["a"], "model": {"a": 1}}, {"id": "", "model": ""},
    {"id": "a\nb", "model": "a\nb"}, {"id": "x" * 300, "model": "x" * 300},
    {"model": "<synthetic>", "usage": {"input_tokens": "7"}},
]  # fmt: skip


@pytest.mark.parametrize("message", NO_MESSAGES)
def test_a_beginning_of_another_type_says_nothing(message: Any) -> None:
    assert_made_up(assemble(("message_start", {"message": message}), ended(), STOP)[0])


def test_an_answer_is_complete_with_a_stop_reason_even_without_the_last_event() -> None:
    assembler = Assembler("")
    made: list[StreamEvent] = []
    for (kind, event), expected in [(STOP, False), (START, False), (ended(""), False), (ended(5), False), (ended(), True)]:
        assembler.feed(kind, event, made)
        assert assembler.is_complete is expected
    assembler = Assembler("")
    for (kind, event), expected in [
        (START, False),
        (ended(None), False),
        (ended(), True),
        (started(0, type="text", text=""), False),
        (stopped(0), True),
    ]:
        assembler.feed(kind, event, made)
        assert assembler.is_complete is expected


def test_a_message_that_was_not_streamed_gives_the_same_events() -> None:
    assembler = Assembler("req_1")
    made: list[StreamEvent] = []
    content: list[Json] = [
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "text", "text": "Hello"},
        {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}},
    ]
    usage = {"input_tokens": 7, "output_tokens": 9}
    assembler.feed_message({"id": "msg_1", "model": "m", "content": content, "stop_reason": "tool_use", "usage": usage}, made)
    assert [*made, assembler.finish()] == [
        MessageStart("msg_1", "m", "req_1", usage),
        BlockStart(0, {"type": "thinking", "thinking": "", "signature": "c2ln"}),
        ThinkingDelta(0, "hm"),
        BlockStop(0, content[0]),
        BlockStart(1, {"type": "text", "text": ""}),
        TextDelta(1, "Hello"),
        BlockStop(1, content[1]),
        BlockStart(2, content[2]),
        BlockStop(2, content[2]),
        MessageStop("tool_use", None, usage),
    ]


# Blocks that are none

CALL = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}
WRONG_NAMES: list[Any] = [None, "", 5, ["a"], {}]
NO_BLOCKS: dict[str, Any] = {
    "nothing": None,
    "a text": "x",
    "a list": [],
    "no type": {"text": "x"},
    "an empty type": {"type": ""},
    "a type that is null": {"type": None},
    "a type that is a list": {"type": ["text"]},
    "a type that is an object": {"type": {}},
    "a text that is a number": {"type": "text", "text": 5},
    "a text that is an object": {"type": "text", "text": {}},
    "citations that are a number": {"type": "text", "text": "", "citations": 5},
    "a thought that is a number": {"type": "thinking", "thinking": 5, "signature": ""},
    "a signature that is a list": {"type": "thinking", "thinking": "", "signature": []},
    **{f"a call whose {member} is {value!r}": {**CALL, member: value} for member in ("id", "name") for value in WRONG_NAMES},
    "a call without an id": {"type": "tool_use", "name": "Bash", "input": {}},
    "a call without a name": {"type": "tool_use", "id": "t1", "input": {}},
    "a call of theirs without an id": {"type": "server_tool_use", "name": "web_search"},
    "a result": {"type": "tool_result", "tool_use_id": "t1", "content": "x"},
}


@pytest.mark.parametrize("name", NO_BLOCKS)
def test_a_block_of_another_shape_is_no_answer(name: str) -> None:
    with pytest.raises(MalformedAnswer):
        assemble(START, ("content_block_start", {"index": 0, "content_block": NO_BLOCKS[name]}))
    with pytest.raises(MalformedAnswer):
        Assembler("").feed_message({"content": [{"type": "text", "text": "x"}, NO_BLOCKS[name]], "stop_reason": "end_turn"}, [])


@pytest.mark.parametrize("stop", [ended(None), ended(""), ended(5), ended(["end_turn"]), STOP])
def test_an_answer_without_a_stop_reason_is_none(stop: tuple[str, Json]) -> None:
    with pytest.raises(MalformedAnswer, match="stop reason"):
        assemble(START, *TEXT_EVENTS, stop, STOP)


def test_a_text_that_is_empty_may_be_left_out() -> None:
    [text, null, thought] = blocks(started(0, type="text"), started(1, type="text", text=None), started(2, type="thinking"))
    assert text.block == null.block == {"type": "text", "text": ""}
    assert thought.block == {"type": "thinking", "thinking": "", "signature": ""}


def test_a_text_that_is_left_out_at_the_start_comes_in_deltas() -> None:
    [text] = blocks(started(0, type="text"), delta(0, type="text_delta", text="a"))
    assert text.block == {"type": "text", "text": "a"}


def test_deltas_of_another_kind_of_block_change_nothing() -> None:
    deltas = [
        delta(0, type="text_delta", text="x"),
        delta(0, type="thinking_delta", thinking="x"),
        delta(0, type="signature_delta", signature="x"),
        delta(0, type="citations_delta", citation={"a": 1}),
        delta(0, type="input_json_delta", partial_json="{}"),
        delta(0, type=["text_delta"]),
    ]
    [call] = blocks(started(0, **CALL), *deltas[:4], *deltas[5:])
    assert call.block == CALL
    [text] = blocks(started(0, type="text", text="a"), *deltas[1:3], *deltas[4:])
    assert text.block == {"type": "text", "text": "a"}


def test_deltas_of_a_block_that_is_not_known_are_put_together() -> None:
    [block] = blocks(
        started(0, type="fallback", text=5, citations=5),
        delta(0, type="text_delta", text="a"),
        delta(0, type="citations_delta", citation={"cited_text": "b"}),
    )
    assert block.block == {"type": "fallback", "text": "a", "citations": [{"cited_text": "b"}]}


def test_blocks_without_end_are_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assembly, "MOST_BLOCKS", 2)
    assert len(blocks(*TEXT_EVENTS, *TEXT_EVENTS)) == 2
    with pytest.raises(MalformedAnswer, match="without end"):
        blocks(*TEXT_EVENTS, *TEXT_EVENTS, *TEXT_EVENTS)
