"""Compactions that fail, that are forced by a window that is full, and that are killed halfway."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.observatory.scenes import Fail, Say, Scene, cue, say, text, think, tool
from tests.agent.checking import assert_resumes_as_it_was, assert_valid
from tests.agent.contract import check_order
from tests.agent.sending import assert_sendable, is_question_for_summary, live_messages
from tests.agent.world import Json, World, lines_of, turn_ends, world_at
from tests.conftest import Client
from tests.messages.asking import ask_question, of_file
from tests.messages.golden import compare_with_answer, our_messages

from stenograph.agent.context.limits import Limits
from stenograph.agent.engine import events
from stenograph.agent.engine.compaction import limit_of
from stenograph.agent.engine.events import Outcome

NEWEST = "2.1.325"
TOO_LONG = "prompt is too long: 214000 tokens > 200000 maximum"
# As the Messages API, vLLM and llama.cpp put it.
NO_ROOM = "input length and `max_tokens` exceed context limit: 180000 + 32000 > 200000, decrease input length or `max_tokens`"
NO_ROOM_VLLM = (
    "'max_tokens' or 'max_completion_tokens' is too large: 32000. This model's maximum context length is 40960 tokens "
    "and your request has 20000 input tokens (32000 > 40960 - 20000)."
)
NO_ROOM_AT_ALL = (
    "input length and `max_tokens` exceed context limit: 199000 + 32000 > 200000, decrease input length or `max_tokens`"
)
TOO_LONG_LLAMA = "the request exceeds the available context size (8192 tokens), try increasing it"
REFUSED = Fail(400, "invalid_request_error", say(text("never")), times=99, message=TOO_LONG)
SUMMARY = say(text("<summary>In short.</summary>"))

SCENES: dict[str, Scene] = {
    "plain": [say(text("Hello."))],
    "tools": [say(think("I look."), tool("Bash", command="echo one")), say(text("Seen."))],
    "full": [Say([tool("Bash", command="echo more")], usage={"input_tokens": 190_000}), say(text("Gone on."))],
    "grows": [say(tool("Bash", command=f"seq {number}000 {number + 5}000")) for number in range(1, 5)],
    "grows-by-blocks": [
        say(think("All of it."), *(tool("Read", file_path="big.txt", offset=number) for number in (1, 2, 3))),
    ],
    "fuller": [
        *(Say([tool("Bash", command="echo more")], usage={"input_tokens": 190_000 + number}) for number in range(4)),
        say(text("Gone on.")),
    ],
    "no-room": [Fail(400, "invalid_request_error", say(text("Fits.")), times=1, message=NO_ROOM)],
    "no-room-vllm": [Fail(400, "BadRequestError", say(text("Fits.")), times=1, message=NO_ROOM_VLLM)],
    "no-room-at-all": [Fail(400, "invalid_request_error", say(text("Fits.")), times=1, message=NO_ROOM_AT_ALL)],
    "too-long-llama": [Fail(400, "invalid_request_error", say(text("Fits.")), times=1, message=TOO_LONG_LLAMA)],
    "too-long": [Fail(400, "invalid_request_error", say(text("never")), times=1, message=TOO_LONG)],
    "too-long-later": [
        say(tool("Bash", command="echo first")),
        Fail(400, "invalid_request_error", say(text("never")), times=1, message=TOO_LONG),
    ],
}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with world_at(tmp_path, SCENES) as made:
        yield made


def messages_text(body: Json) -> str:
    return json.dumps(body["messages"])


FAILURES: dict[str, Say | Fail] = {
    "the endpoint refuses": Fail(400, "invalid_request_error", say(text("never")), times=99),
    "the summary is empty": say(text("<summary>\n\n</summary>")),
    "there are no words": Say([think("Hm.")]),
    "the model declines": Say([text("I can't help with that.")], stop_reason="refusal"),
    "the model calls a tool": say(tool("Bash", command="touch called")),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_a_compaction_that_fails_leaves_the_conversation_as_it_was(world: World, failure: str) -> None:
    world.stage.answer_when(is_question_for_summary, FAILURES[failure])
    seen = world.run(cue("tools"), "/compact", cue("plain"))
    check_order(seen)
    assert [end.outcome for end in turn_ends(seen)] == [Outcome.DONE, Outcome.FAILED, Outcome.DONE]
    assert [event.trigger for event in seen if isinstance(event, events.CompactionFailed)] == ["manual"]
    assert not [line for line in lines_of(world.session) if line.get("subtype") == "compact_boundary"]
    sent = live_messages(world.asked()[-1])
    assert_sendable(sent)
    assert sent[0]["content"][0]["text"] == cue("tools")
    assert not (world.cwd / "called").exists()
    assert_valid(world.session)
    assert_resumes_as_it_was(world, world.session)


def test_a_compaction_that_fails_on_its_own_account_does_not_end_the_turn(world: World) -> None:
    world.stage.answer_when(is_question_for_summary, FAILURES["the endpoint refuses"])
    seen = world.run(cue("full"), window=200_000)
    check_order(seen)
    (end,) = turn_ends(seen)
    assert (end.outcome, end.text) == (Outcome.DONE, "Gone on.")
    assert [event.trigger for event in seen if isinstance(event, events.CompactionFailed)] == ["auto"]
    assert_valid(world.session)


def test_a_compaction_that_failed_is_not_tried_again_before_the_conversation_has_grown(world: World) -> None:
    world.stage.answer_when(is_question_for_summary, FAILURES["the endpoint refuses"])
    seen = world.run(cue("fuller"), window=200_000)
    assert [end.text for end in turn_ends(seen)] == ["Gone on."]
    assert len([event for event in seen if isinstance(event, events.CompactionFailed)]) == 1


@pytest.mark.parametrize(("scene", "room"), [("no-room", 20_000), ("no-room-vllm", 20_960)])
def test_an_answer_that_has_no_room_is_asked_for_again_with_fewer_tokens(world: World, scene: str, room: int) -> None:
    seen = world.run(cue("plain"), cue(scene))
    check_order(seen)
    assert [(end.outcome, end.text) for end in turn_ends(seen)] == [(Outcome.DONE, "Hello."), (Outcome.DONE, "Fits.")]
    assert not [event for event in seen if isinstance(event, events.CompactionBegin)]
    # A little less than there is: endpoints count differently.
    assert 0.9 * room < world.asked()[-1]["max_tokens"] < room
    assert_valid(world.session)


@pytest.mark.parametrize("scene", ["too-long", "too-long-later", "no-room-at-all", "too-long-llama"])
def test_a_prompt_that_is_too_long_is_compacted_once_and_gone_on_with(world: World, scene: str) -> None:
    world.stage.answer_when(is_question_for_summary, SUMMARY)
    seen = world.run(cue("plain"), cue(scene))
    check_order(seen)
    assert [end.outcome for end in turn_ends(seen)] == [Outcome.DONE, Outcome.DONE]
    assert [event.trigger for event in seen if isinstance(event, events.CompactionEnd)] == ["auto"]
    (first,) = live_messages(world.asked()[-1])
    assert "In short." in first["content"][0]["text"]
    assert_valid(world.session)
    assert_resumes_as_it_was(world, world.session)


def test_what_stays_too_long_ends_the_turn_and_is_compacted_once_only(world: World) -> None:
    world.stage.answer_when(is_question_for_summary, SUMMARY)
    world.stage.answer_when(lambda body: "never fits" in messages_text(body) or "In short" in messages_text(body), REFUSED)
    seen = world.run(cue("plain"), "This never fits.")
    check_order(seen)
    assert [end.outcome for end in turn_ends(seen)] == [Outcome.DONE, Outcome.OUT_OF_WINDOW]
    assert len([event for event in seen if isinstance(event, events.CompactionEnd)]) == 1
    assert_valid(world.session)


@pytest.mark.parametrize("scene", ["grows", "grows-by-blocks"])
def test_a_conversation_that_has_outgrown_the_window_is_summarised_from_the_ends_of_its_long_parts(
    world: World, scene: str
) -> None:
    """An endpoint that refuses by length refuses the question for a summary too, which is longer still."""
    (world.cwd / "big.txt").write_text("".join(f"line {number} of a big file\n" for number in range(1500)))
    world.stage.answer_when(lambda body: len(messages_text(body)) > 60_000, REFUSED)
    world.stage.answer_when(is_question_for_summary, SUMMARY)
    seen = world.run(cue(scene), cue("plain"))
    check_order(seen)
    assert [end.outcome for end in turn_ends(seen)] == [Outcome.DONE, Outcome.DONE]
    assert len([event for event in seen if isinstance(event, events.CompactionEnd)]) == 1
    refused, answered = filter(is_question_for_summary, world.asked())
    assert len(messages_text(refused)) > 60_000 > len(messages_text(answered)) > 4_000
    assert_sendable(live_messages(answered))
    assert_valid(world.session)
    assert_resumes_as_it_was(world, world.session)


def test_where_the_question_itself_is_too_long_the_turn_ends_and_nothing_is_lost(world: World) -> None:
    world.stage.answer_when(lambda body: "never fits" in messages_text(body), REFUSED)
    seen = world.run(cue("plain"), "This never fits.")
    assert [end.outcome for end in turn_ends(seen)] == [Outcome.DONE, Outcome.OUT_OF_WINDOW]
    assert not [line for line in lines_of(world.session) if line.get("subtype") == "compact_boundary"]
    assert_valid(world.session)


@pytest.mark.clients
def test_a_compaction_that_was_killed_before_its_summary_is_as_if_it_never_was(world: World, client: Client) -> None:
    world.run(cue("tools"), "/compact", session_id="4d2b9c33-0000-4000-8000-00000000000e")
    path = world.session
    lines = path.read_bytes().splitlines(keepends=True)
    place = next(place for place, line in enumerate(lines) if b'"compact_boundary"' in line)
    for torn in (b"", lines[place + 1][:60]):
        path.write_bytes(b"".join(lines[: place + 1]) + torn)
        world.run(cue("plain"), resume=path.stem)
        sent = live_messages(world.asked()[-1])
        assert_sendable(sent)
        assert sent[0]["content"][0]["text"] == cue("tools")
        question = of_file(path, None)
        answer = ask_question(client(NEWEST), question, 90)
        difference = compare_with_answer(NEWEST, question.data, answer, our_messages(NEWEST, question.data, path))
        assert difference is None, difference
        assert "[scene plain]" in json.dumps(answer.messages)
        assert "[scene tools]" in json.dumps(answer.messages)


@pytest.mark.parametrize(
    ("model", "options", "limit"),
    [
        # The window less 20,000 for the summary and 13,000 for results.
        ("claude-opus-5-5", {}, 967_000),
        ("claude-sonnet-4-6", {}, 167_000),
        ("claude-sonnet-4-6[1m]", {}, 967_000),
        ("other", {"window": 128_000}, 95_000),
        ("other", {"window": 128_000, "max_tokens": 4_000}, 111_000),
        # Too small for those: half of it.
        ("other", {"window": 32_000}, 16_000),
    ],
)
def test_the_limit_leaves_room_for_a_summary_and_for_results(model: str, options: dict[str, int], limit: int) -> None:
    assert limit_of(model, Limits({}, None, **options)) == limit
