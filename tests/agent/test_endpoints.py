"""Whatever an endpoint sends: the turn ends in an outcome, the session checks, and a resume sends what was sent before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.agent.checking import assert_valid
from tests.agent.contract import check_order
from tests.agent.sending import assert_sendable, live_messages
from tests.agent.world import FAKE_KEY, World, lines_of, of, turn_ends, world_at
from tests.model.raw_endpoint import HELLO, RawEndpoint, answer, begin, block, end, error, event, streamed, text_block

from stenograph.agent.engine.events import Outcome, TurnEnd
from stenograph.agent.recording.resuming import as_user_words
from stenograph.sessions.loading import load_messages

Json = dict[str, Any]


def blocks(*content: Any, stop_reason: str = "end_turn") -> bytes:
    """A stream of blocks that are whole from their start."""
    return streamed(begin(), *(block(index, each) for index, each in enumerate(content)), end(stop_reason))


def message(**changes: Any) -> bytes:
    """A whole message that was not streamed."""
    told = {"id": "m", "type": "message", "role": "assistant", "model": "x", "content": [{"type": "text", "text": "hi"}]}
    return answer(200, {**told, "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1}, **changes})


def call(**changes: Any) -> Json:
    given = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "echo a"}, **changes}
    return {name: value for name, value in given.items() if value is not ...}


def started_with(told: Any, **usage: Any) -> bytes:
    return streamed(event("message_start", message=told), text_block(0, "x"), end(**usage))


def nested(depth: int) -> bytes:
    written = '{"a": ' + "[" * depth + "]" * depth + "}"
    return streamed(
        begin(),
        block(0, call(name="mcp__a__b", input={}), {"type": "input_json_delta", "partial_json": written}),
        end("tool_use"),
    )


FAILED = {
    "a block without a type": blocks({}),
    "a block that is null": blocks(None),
    "a block whose type is a list": blocks({"type": ["text"]}),
    "a block whose type is an object": blocks({"type": {}}),
    "a text that is a number": blocks({"type": "text", "text": 5}),
    "a thought that is a number": blocks({"type": "thinking", "thinking": 5, "signature": []}, {"type": "text", "text": "x"}),
    "a call without an id": blocks(call(id=...), stop_reason="tool_use"),
    "a call without a name": blocks(call(name=...), stop_reason="tool_use"),
    "a call whose id is a number": blocks(call(id=5), stop_reason="tool_use"),
    "a call whose id is a list": blocks(call(id=[1]), stop_reason="tool_use"),
    "a call whose name is a list": blocks(call(name=["Read"]), stop_reason="tool_use"),
    "a call whose name is null": blocks(call(name=None), stop_reason="tool_use"),
    "a call behind one that is right": blocks(call(), call(id=[1]), stop_reason="tool_use"),
    "a result in an answer": blocks({"type": "tool_result", "tool_use_id": "t1", "content": "x"}),
    "a message of other things": message(content=[1, None, "x", {}, {"type": 5}, {"type": "text"}]),
    "a message with a type that is a list": message(content=[{"type": ["a"]}]),
    "a message without a stop reason": message(stop_reason=None),
    "a stream without a stop reason": streamed(begin(), text_block(0, "x"), event("message_stop")),
    "a stop reason that is a number": streamed(
        begin(), text_block(0, "x"), event("message_delta", delta={"stop_reason": 5}), event("message_stop")
    ),
    "an error that repeats the key": error(400, FAKE_KEY, f"{FAKE_KEY} x", request_id=FAKE_KEY),
}
DONE = {
    "a text without its text": blocks({"type": "text"}, {"type": "text", "text": "x"}),
    "a text that is null": blocks({"type": "text", "text": None}, {"type": "text", "text": "x"}),
    "thinking without a signature": blocks({"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "x"}),
    "a call with an input that is a list": blocks(call(input=[1]), stop_reason="tool_use"),
    "a call without an input": blocks(call(input=...), stop_reason="tool_use"),
    "a call with a text in it": streamed(begin(), block(0, call(input={}), {"type": "text_delta", "text": "x"}), end("tool_use")),
    **{f"an input of {depth} levels": nested(depth) for depth in (400, 900)},
    "calls with one id": blocks(call(), call(), call(), stop_reason="tool_use"),
    "no usage": streamed(
        event("message_start", message={"id": "x"}),
        text_block(0, "x"),
        event("message_delta", delta={"stop_reason": "end_turn"}),
        event("message_stop"),
    ),
    "a usage that is a text": message(usage="x"),
    "no beginning": streamed(text_block(0, "x"), end()),
    "counts that are texts": started_with({"usage": {"input_tokens": "a", "output_tokens": [1]}}, output_tokens={"a": 1}),
    "counts that are bools": started_with({"usage": {"input_tokens": True}}),
    "counts below nothing": started_with({"usage": {"input_tokens": -5}}, output_tokens=-(10**9)),
    "counts beyond all": started_with({"usage": {"input_tokens": 10**18}}, output_tokens=10**30),
    "a split that is none": started_with(
        {"usage": {"cache_creation": {"ephemeral_5m_input_tokens": "x"}, "server_tool_use": 5, "service_tier": [1]}}
    ),
    "a split that is a list": started_with({"usage": {"cache_creation": [], "server_tool_use": {"web_search_requests": "a"}}}),
    "half a split": started_with({"usage": {"cache_creation": {"ephemeral_5m_input_tokens": 3}}}),
    "counts of another endpoint": started_with({"usage": {"input_tokens": 5, "cost": 0.1, "details": {"a": 1}}}),
    "ids of other types": started_with({"id": ["x"], "model": {"a": 1}, "usage": []}),
    "the name of no model": started_with({"id": "", "model": "<synthetic>", "usage": {}}),
    "the key in every word": started_with({"id": FAKE_KEY, "model": FAKE_KEY, "usage": {"service_tier": FAKE_KEY}}).replace(
        b"req_1", FAKE_KEY.encode()
    ),
    "the key in a call": blocks(call(id=FAKE_KEY), stop_reason="tool_use"),
}


def play(world: World, *answers: bytes) -> TurnEnd:
    """A prompt that gets these answers, and how it ended; what holds of every session is looked at, and it is resumed."""
    with RawEndpoint(*([each] for each in answers)) as server:
        world.environment = {"ANTHROPIC_BASE_URL": server.url, "CLAUDE_CODE_MAX_RETRIES": "0"}
        seen = world.run("hi")
    check_order(seen)
    sent = live_messages(server.requests[-1].json)
    assert_sendable(sent)
    assert_valid(world.session)
    assert as_user_words(load_messages(world.session).messages or [])[: len(sent)] == sent
    assert FAKE_KEY not in world.session.read_text() + repr(seen)
    with RawEndpoint([HELLO]) as server:
        world.environment["ANTHROPIC_BASE_URL"] = server.url
        [resumed] = turn_ends(world.run("go on", resume=world.session.stem))
    assert (resumed.outcome, resumed.text) == (Outcome.DONE, "Hello")
    assert_sendable(live_messages(server.requests[0].json))
    assert_valid(world.session)
    [end_of_turn] = turn_ends(seen)
    return end_of_turn


@pytest.mark.parametrize("name", FAILED)
def test_what_is_no_answer_fails_the_turn_and_leaves_nothing_behind(name: str, tmp_path: Path) -> None:
    with world_at(tmp_path, {}) as world:
        ended = play(world, FAILED[name], HELLO)
        answers = of("assistant", lines_of(world.session))
    assert ended.outcome is Outcome.FAILED
    assert ended.error
    # The note of the failure, and the answer after the resume.
    assert [line["message"]["model"] for line in answers] == ["<synthetic>", "claude-x"]


@pytest.mark.parametrize("name", DONE)
def test_what_can_be_understood_is_an_answer_like_any_other(name: str, tmp_path: Path) -> None:
    with world_at(tmp_path, {}) as world:
        ended = play(world, DONE[name], HELLO)
        [first, *_] = of("assistant", lines_of(world.session))
    assert ended.outcome is Outcome.DONE
    assert ended.text in ("x", "hi", "Hello")
    assert first["message"]["model"] != "<synthetic>"
    assert first["message"]["id"]


def test_calls_and_answers_with_ids_of_their_own_are_all_there_after_a_resume(tmp_path: Path) -> None:
    same = blocks(call(), call(input={"command": "echo b"}), stop_reason="tool_use")
    with world_at(tmp_path, {}) as world:
        assert play(world, same, same, HELLO).responses == 3
        lines = lines_of(world.session)
    results = [line["message"]["content"][0] for line in of("user", lines) if line.get("toolUseResult")]
    contents = [result["content"] for result in results]
    # Calls of one response run side by side: either may end first.
    assert (sorted(contents[:2]), sorted(contents[2:])) == (["a", "b"], ["a", "b"])
    assert len({result["tool_use_id"] for result in results}) == 4
    # Three answers of the first run; the resumed one begins with the endpoint's id again, behind a prompt.
    assert len({line["message"]["id"] for line in of("assistant", lines)}) == 3
