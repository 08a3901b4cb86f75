"""Print mode: what is written of a session, in which shapes, and with which exit code.

`MEMBERS` are the members that client 2.1.325 wrote in the same situations; the claude-agent-sdk reads what we write as it reads
the client's.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import threading
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from claude_agent_sdk import AssistantMessage, ResultMessage, SystemMessage, UserMessage
from claude_agent_sdk._internal.message_parser import parse_message
from claude_agent_sdk.types import StreamEvent

from stenograph.agent.engine import events
from stenograph.agent.engine.events import Event, Outcome
from stenograph.agent.faces.print_input import LinePrompts, whole_prompt
from stenograph.agent.faces.print_mode import OutputFormat, run_print
from stenograph.agent.faces.stream_json import StreamMessages
from stenograph.errors import UsageError

Json = dict[str, Any]
SESSION = "11111111-2222-4333-8444-555555555555"
MODEL = "claude-opus-5-5"
USAGE: Json = {
    "input_tokens": 11636,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "output_tokens": 76,
    "service_tier": "standard",
}
SECOND_USAGE: Json = {**USAGE, "input_tokens": 11743, "output_tokens": 9}
BASH: Json = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "echo hi"}}
THINKING: Json = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
RESULT: Json = {"tool_use_id": "toolu_1", "type": "tool_result", "content": "hi", "is_error": False}

#: What 2.1.325 writes, by type and subtype.
_STREAM = "api_message_id event parent_tool_use_id session_id type uuid"
MEMBERS = {
    "assistant": "agent_id api_error_status api_error_type error is_api_error_message message parent_tool_use_id session_id"
    " timestamp type uuid",
    "result/error_max_turns": "duration_api_ms duration_ms errors is_error modelUsage num_turns permission_denials result_index"
    " session_id stop_reason subtype terminal_reason total_cost_usd type usage uuid",
    "result/success": "api_error_status duration_api_ms duration_ms is_error local_command modelUsage num_turns"
    " permission_denials result result_index session_id stop_reason subtype terminal_reason total_cost_usd type usage uuid",
    "stream_event/content_block_delta": _STREAM,
    "stream_event/content_block_start": _STREAM,
    "stream_event/content_block_stop": _STREAM,
    "stream_event/message_delta": _STREAM,
    "stream_event/message_start": _STREAM,
    "stream_event/message_stop": _STREAM,
    "system/api_retry": "attempt error error_status max_retries retry_delay_ms session_id subtype type uuid",
    "system/compact_boundary": "compact_metadata session_id subtype type uuid",
    "system/informational": "content level session_id subtype type uuid",
    "system/init": "agents apiKeySource claude_code_version cwd mcp_servers model output_style permissionMode plugins session_id"
    " skills slash_commands subtype tools type uuid stenograph",
    "system/permission_denied": "message session_id subtype tool_name tool_use_id type uuid",
    "system/status": "compact_result session_id status subtype type uuid",
    "user": "agent_id isReplay message parent_tool_use_id session_id timestamp tool_result_meta tool_use_result type uuid",
}


def begin() -> events.SessionBegin:
    return events.SessionBegin(
        session_id=SESSION,
        path="/x/s.jsonl",
        cwd="/x",
        model=MODEL,
        tools=["Agent", "Bash"],
        permission_mode="default",
    )


def end(**given: Any) -> events.SessionEnd:
    members: Json = {"turns": 1, "responses": 2, "duration_ms": 9, "api_duration_ms": 5, "usage": {}, "denials": []}
    return events.SessionEnd(session_id=SESSION, **(members | given))


def response(content: list[Json], usage: Json, stop: str, agent: str | None = None, uuid: str = "u-last") -> list[Event]:
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage,
    }
    begun = {"input_tokens": 3, "output_tokens": 1}
    told: list[Event] = [events.ResponseBegin(message_id="msg_1", model=MODEL, usage=begun, agent_id=agent)]
    for index, block in enumerate(content):
        kind = block["type"]
        told.append(
            events.BlockBegin(index=index, kind=kind, tool=block.get("name", ""), tool_use_id=block.get("id", ""), agent_id=agent)
        )
        if kind == "text":
            told.append(events.TextChunk(index=index, text=block["text"], agent_id=agent))
        elif kind == "thinking":
            told.append(events.ThinkingChunk(index=index, text=block["thinking"], agent_id=agent))
        else:
            told.append(events.InputChunk(index=index, partial_json=json.dumps(block["input"]), agent_id=agent))
        told.append(events.BlockEnd(index=index, block=block, agent_id=agent))
    told.append(
        events.ResponseEnd(
            message=message,
            uuids=[*(f"u-{index}" for index in range(len(content) - 1)), uuid],
            stop_reason=stop,
            usage=usage,
            agent_id=agent,
        )
    )
    return told


def call(block: Json, result: Json, structured: Any = "x", agent: str | None = None, **given: Any) -> list[Event]:
    name = {"tool_use_id": block["id"], "tool": block["name"]}
    return [
        events.ToolBegin(**name, given=block["input"], agent_id=agent),
        events.ToolEnd(
            **name,
            result=result,
            structured=structured,
            uuid="u-result",
            is_error=bool(result.get("is_error")),
            agent_id=agent,
            **given,
        ),
    ]


def turn_end(outcome: Outcome = Outcome.DONE, text: str = "All done.", **given: Any) -> events.TurnEnd:
    members: Json = {"stop_reason": "end_turn", "responses": 2, "duration_ms": 294, "api_duration_ms": 81}
    return events.TurnEnd(outcome=outcome, text=text, **(members | given))


def prompt(text: str = "do it") -> events.TurnBegin:
    return events.TurnBegin(prompt=text, uuid="u-prompt")


#: The session that 2.1.325 was asked for: thinking, words and a call; then the answer.
SIMPLE: list[Event] = [
    begin(),
    prompt(),
    *response([THINKING, {"type": "text", "text": "Hello"}, BASH], USAGE, "tool_use"),
    *call(BASH, RESULT, {"stdout": "hi"}),
    *response([{"type": "text", "text": "All done."}], SECOND_USAGE, "end_turn"),
    turn_end(),
    end(),
]


def printed(told: Sequence[Event], output_format: str = "text", **given: Any) -> tuple[str, int, str]:
    async def stream() -> AsyncIterator[Event]:
        for event in told:
            yield event

    shown = {name: given.pop(name) for name in ("include_partial", "replay_prompts") if name in given}
    output, notes = io.StringIO(), io.StringIO()
    messages = StreamMessages(release="2.1.325", key_source="ANTHROPIC_API_KEY", **shown)
    code = asyncio.run(run_print(stream(), output, OutputFormat(output_format), messages=messages, notes=notes, **given))
    return output.getvalue(), code, notes.getvalue()


def lines(told: Sequence[Event], **given: Any) -> list[Json]:
    text, _, _ = printed(told, "stream-json", **given)
    return [json.loads(line) for line in text.splitlines()]


def kind(message: Json) -> str:
    if message["type"] == "stream_event":
        return f"stream_event/{message['event']['type']}"
    return "/".join([message["type"], *([message["subtype"]] if message.get("subtype") else [])])


def kinds(messages: list[Json]) -> list[str]:
    return [kind(message) for message in messages]


# Formats


def test_text_is_the_last_answer_alone() -> None:
    assert printed(SIMPLE) == ("All done.\n", 0, "")


def test_json_is_one_result_and_with_verbose_all_messages() -> None:
    text, code, _ = printed(SIMPLE, "json")
    assert code == 0
    assert text.count("\n") == 1
    assert json.loads(text)["result"] == "All done."
    text, _, _ = printed(SIMPLE, "json", verbose=True)
    assert kinds(json.loads(text)) == kinds(lines(SIMPLE))


def test_a_stream_has_the_messages_that_2_1_325_writes_in_their_order() -> None:
    messages = lines(SIMPLE)
    # Beside these the client counts tokens of thinking, in messages of a kind that is not documented.
    assert kinds(messages) == ["system/init", "assistant", "assistant", "assistant", "user", "assistant", "result/success"]
    assert [message["message"]["content"][0]["type"] for message in messages[1:4]] == ["thinking", "text", "tool_use"]
    assert messages[3]["uuid"] == "u-last"
    assert messages[4]["message"] == {"role": "user", "content": [RESULT]}
    assert messages[4]["tool_use_result"] == {"stdout": "hi"}
    assert {message["session_id"] for message in messages} == {SESSION}


def test_the_result_counts_and_charges_as_2_1_325_did_for_the_same_session() -> None:
    result = lines(SIMPLE)[-1]
    # Its own figures for these two responses.
    assert result["usage"]["input_tokens"] == 23379
    assert result["usage"]["output_tokens"] == 85
    assert result["total_cost_usd"] == pytest.approx(0.095216)
    assert result["num_turns"] == 2
    assert result["stop_reason"] == "end_turn"
    assert result["terminal_reason"] == "completed"
    assert result["modelUsage"][MODEL]["inputTokens"] == 23379
    assert result["modelUsage"][MODEL]["costUSD"] == pytest.approx(0.095216)
    assert result["permission_denials"] == []
    assert (result["duration_ms"], result["duration_api_ms"]) == (294, 81)


def test_pieces_of_answers_are_told_as_the_api_streams_them() -> None:
    messages = [message["event"] for message in lines(SIMPLE, include_partial=True) if message["type"] == "stream_event"]
    assert [event["type"] for event in messages[:5]] == [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
    ]
    assert messages[2]["delta"] == {"type": "thinking_delta", "thinking": "hm"}
    assert messages[3]["delta"] == {"type": "signature_delta", "signature": "c2ln"}
    starts = [event["content_block"] for event in messages if event["type"] == "content_block_start"]
    assert starts[:3] == [
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "text", "text": ""},
        {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}},
    ]
    ends = [event for event in messages if event["type"] == "message_delta"]
    assert ends[0]["delta"] == {"stop_reason": "tool_use", "stop_sequence": None}
    assert [event["type"] for event in messages].count("message_stop") == 2


def test_a_stream_without_partial_messages_has_no_pieces() -> None:
    assert not [one for one in kinds(lines(SIMPLE)) if one.startswith("stream_event")]


# What goes wrong


@pytest.mark.parametrize(
    ("turn", "text", "code"),
    [
        (turn_end(), "All done.", 0),
        (turn_end(Outcome.OUT_OF_TURNS, "", responses=2), "Error: Reached max turns (2)", 1),  # 2.1.325
        (turn_end(Outcome.FAILED, "", error="HTTP 400: words", status=400), "API Error: HTTP 400: words", 1),
        (turn_end(Outcome.OUT_OF_TOKENS, "cut o"), "cut o", 1),
        (turn_end(Outcome.REFUSED, ""), "API Error: the model declined to answer", 1),
        (turn_end(Outcome.OUT_OF_WINDOW, ""), "API Error: the conversation does not fit the model's window any more", 1),
        (turn_end(Outcome.INTERRUPTED, "half"), "half", 130),
    ],
)
def test_the_exit_code_says_how_the_turn_ended(turn: events.TurnEnd, text: str, code: int) -> None:
    told: list[Event] = [begin(), prompt(), turn, end()]
    assert printed(told)[:2] == (f"{text}\n", code)
    for output_format in ("json", "stream-json"):
        written, given, _ = printed(told, output_format)
        assert given == code
        assert json.loads(written.splitlines()[-1])["is_error"] is (code != 0)


def test_a_limit_of_turns_is_told_as_2_1_325_tells_it() -> None:
    result = lines([begin(), prompt(), turn_end(Outcome.OUT_OF_TURNS, "", stop_reason="tool_use"), end()])[-1]
    assert result["subtype"] == "error_max_turns"
    assert result["errors"] == ["Reached maximum number of turns (2)"]
    assert result["num_turns"] == 3
    assert result["terminal_reason"] == "max_turns"
    assert "result" not in result


def test_a_failure_is_a_message_and_a_result_as_2_1_325_tells_it() -> None:
    failed = turn_end(Outcome.FAILED, "", error="HTTP 400: words", status=400, responses=0)
    *_, message, result = lines([begin(), prompt(), failed, end()])
    assert message["type"] == "assistant"
    assert message["message"]["model"] == "<synthetic>"
    assert message["is_api_error_message"] is True
    assert message["api_error_status"] == result["api_error_status"] == 400
    assert (result["subtype"], result["is_error"], result["terminal_reason"]) == ("success", True, "api_error")
    assert result["result"] == message["message"]["content"][0]["text"] == "API Error: HTTP 400: words"


def test_what_was_denied_is_told_and_listed() -> None:
    words = "Claude requested permissions to use Bash, but you haven't granted it yet."
    denied = {"type": "tool_result", "content": words, "is_error": True, "tool_use_id": "toolu_1"}
    told = [
        begin(),
        prompt(),
        *response([BASH], USAGE, "tool_use"),
        *call(BASH, denied, f"Error: {words}", denied_by="user-rejected", is_denied=True),
    ]
    messages = lines([*told, turn_end(), end()])
    assert kinds(messages)[2:4] == ["system/permission_denied", "user"]
    assert messages[2]["message"] == words
    assert messages[-1]["permission_denials"] == [
        {"tool_name": "Bash", "tool_use_id": "toolu_1", "tool_input": {"command": "echo hi"}}
    ]


def test_a_call_that_was_stopped_was_not_denied() -> None:
    stopped = {"type": "tool_result", "content": "stop", "is_error": True, "tool_use_id": "toolu_1"}
    told = call(BASH, stopped, "User rejected tool use", denied_by="user-rejected")
    messages = lines([begin(), prompt(), *told, turn_end(Outcome.INTERRUPTED), end()])
    assert messages[-1]["permission_denials"] == []
    assert messages[-1]["subtype"] == "error_during_execution"


def test_retries_compactions_and_notices_are_system_messages_and_notices_lines_for_people() -> None:
    told: list[Event] = [
        begin(),
        prompt("/compact"),
        events.Retry(attempt=1, max_retries=10, wait=0.594, reason="HTTP 529", status=529),
        events.CompactionBegin(trigger="manual", tokens=11607),
        events.CompactionEnd(trigger="manual", tokens_before=11607, tokens_after=2518),
        events.Notice(text="two\nlines"),
        turn_end(text="", responses=0),
        end(),
    ]
    messages = lines(told)
    assert kinds(messages)[1:-1] == [
        "system/api_retry",
        "system/status",
        "system/status",
        "system/compact_boundary",
        "system/informational",
    ]
    assert messages[1]["retry_delay_ms"] == 594
    assert messages[4]["compact_metadata"] == {"trigger": "manual", "pre_tokens": 11607, "post_tokens": 2518}
    notes = "note: HTTP 529; retrying in 0.6 s (1 of 10)\nnote: two lines\n"
    assert printed(told)[1:] == printed(told, "json")[1:] == (0, notes)
    assert printed(told, "stream-json")[2] == ""


@pytest.mark.parametrize(("wait", "words"), [(0.04, "0 s"), (4.0, "4 s"), (4.26, "4.3 s"), (31.7, "32 s"), (120.0, "120 s")])
def test_a_wait_is_told_in_seconds_that_a_person_reads(wait: float, words: str) -> None:
    retry = events.Retry(attempt=3, max_retries=10, wait=wait, reason="HTTP 529:\nbusy", status=529)
    notes = printed([begin(), prompt(), retry, turn_end(), end()])[2]
    assert notes == f"note: HTTP 529: busy; retrying in {words} (3 of 10)\n"


class Closed(io.StringIO):
    def write(self, _: str) -> int:
        raise BrokenPipeError


def test_notes_that_nobody_reads_don_t_cost_the_answer() -> None:
    async def stream() -> AsyncIterator[Event]:
        for event in told:
            yield event

    told: list[Event] = [begin(), prompt(), events.Notice(text="x"), turn_end(), end()]
    output = io.StringIO()
    messages = StreamMessages(release="2.1.325")
    assert asyncio.run(run_print(stream(), output, messages=messages, notes=Closed())) == 0
    assert output.getvalue() == "All done.\n"


def test_an_interruption_before_the_answer_prints_no_empty_line_and_says_so() -> None:
    told: list[Event] = [begin(), prompt(), turn_end(Outcome.INTERRUPTED, ""), end()]
    assert printed(told) == ("", 130, "note: interrupted\n")
    assert printed(told, "stream-json")[2] == ""


def test_a_compaction_that_was_asked_for_says_what_it_came_to() -> None:
    done = events.CompactionEnd(trigger="manual", tokens_before=190_000, tokens_after=1_200)
    told: list[Event] = [begin(), prompt("/compact"), done, turn_end(text="", responses=0, stop_reason=""), end()]
    words = "Compacted: 190,000 -> 1,200 tokens"
    assert printed(told) == (f"{words}\n", 0, "")
    result = json.loads(printed(told, "json")[0])
    assert (result["result"], result["is_error"], result["local_command"]) == (words, False, "compact")


def test_a_compaction_that_failed_says_why_and_blames_no_api() -> None:
    failed = events.CompactionFailed(trigger="manual", reason="nothing to compact yet")
    told: list[Event] = [begin(), prompt("/compact"), failed, turn_end(Outcome.FAILED, "", responses=0), end()]
    assert printed(told) == ("nothing to compact yet\n", 1, "")
    *_, message, result = lines(told)
    assert result["result"] == message["message"]["content"][0]["text"] == "nothing to compact yet"
    assert (result["is_error"], result["local_command"]) == (True, "compact")
    # As 2.1.325: neither of these is a failure of the API.
    assert not {"is_api_error_message", "error"} & message.keys()
    assert "terminal_reason" not in result


def test_a_compaction_of_an_agent_or_on_the_way_is_not_the_answer() -> None:
    on_the_way = events.CompactionEnd(trigger="auto", tokens_before=9, tokens_after=1)
    of_agent = events.CompactionFailed(trigger="manual", reason="x", agent_id="a")
    before: list[Event] = [
        prompt("/compact"),
        events.CompactionEnd(trigger="manual", tokens_before=9, tokens_after=1),
        turn_end(),
    ]
    assert printed([begin(), *before, prompt(), on_the_way, of_agent, turn_end(), end()]) == (
        "All done.\n",
        0,
        "note: compacted the conversation from 9 tokens to about 1\n",
    )


def test_a_session_without_a_prompt_prints_nothing() -> None:
    for output_format in OutputFormat:
        assert printed([begin(), end(turns=0, responses=0)], output_format) == ("", 0, "")


# Several turns, several conversations


def test_each_turn_has_a_result_and_the_last_one_decides() -> None:
    first = [
        prompt("one"),
        *response([{"type": "text", "text": "a"}], USAGE, "end_turn"),
        turn_end(Outcome.FAILED, "", error="x"),
    ]
    second = [prompt("two"), *response([{"type": "text", "text": "b"}], SECOND_USAGE, "end_turn"), turn_end(text="b")]
    told = [begin(), *first, *second, end()]
    results = [message for message in lines(told) if message["type"] == "result"]
    # Usage is the turn's; money, models and the time of the API are the session's, as with 2.1.325.
    assert [result["usage"]["input_tokens"] for result in results] == [11636, 11743]
    assert [result["modelUsage"][MODEL]["inputTokens"] for result in results] == [11636, 23379]
    assert [result["duration_api_ms"] for result in results] == [81, 162]
    assert [result["result_index"] for result in results] == [0, 1]
    assert results[0]["total_cost_usd"] < results[1]["total_cost_usd"]
    assert kinds(lines(told)).count("system/init") == 2
    assert printed(told) == ("b\n", 0, "")


def test_prompts_are_replayed_where_that_is_asked_for() -> None:
    replayed = [message for message in lines(SIMPLE, replay_prompts=True) if message.get("isReplay")]
    assert [message["message"] for message in replayed] == [{"role": "user", "content": "do it"}]
    assert replayed[0]["uuid"] == "u-prompt"


def test_what_agents_say_names_the_call_that_started_them() -> None:
    calls: list[Json] = [{"type": "tool_use", "id": f"toolu_{name}", "name": "Agent", "input": {}} for name in "ab"]
    progress: list[Event] = [
        events.ToolProgress(tool_use_id=f"toolu_{name}", data={"type": "agent_progress", "agentId": f"agent-{name}"})
        for name in "ab"
    ]
    inner = [
        event
        for name in "ba"
        for event in (
            events.TurnBegin(prompt=f"task {name}", uuid="u", agent_id=f"agent-{name}"),
            *response([{"type": "text", "text": name}], USAGE, "end_turn", f"agent-{name}"),
            turn_end(text=name, agent_id=f"agent-{name}"),
        )
    ]
    begun: list[Event] = [events.ToolBegin(tool_use_id=one["id"], tool="Agent", given={}) for one in calls]
    messages = lines([begin(), prompt(), *begun, *progress, *inner, turn_end(text="main"), end()])
    told = [(one["type"], one["agent_id"], one["parent_tool_use_id"]) for one in messages if one.get("agent_id")]
    assert told == [
        ("user", "agent-b", "toolu_b"),
        ("assistant", "agent-b", "toolu_b"),
        ("user", "agent-a", "toolu_a"),
        ("assistant", "agent-a", "toolu_a"),
    ]
    assert kinds(messages).count("result/success") == 1
    result = messages[-1]
    assert result["usage"]["input_tokens"] == 0
    assert result["modelUsage"][MODEL]["inputTokens"] == 2 * 11636


def test_the_one_result_at_the_end_holds_what_no_response_told_of() -> None:
    small = {"input_tokens": 1_000_000, "output_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    main = {"input_tokens": 23379, "output_tokens": 85}
    text, _, _ = printed([*SIMPLE[:-1], end(usage={"claude-haiku-4-5": small, MODEL: main})], "json")
    result = json.loads(text)
    # A million tokens of the small model cost one dollar (docs/pricing.md).
    assert result["total_cost_usd"] == pytest.approx(1.095216)
    assert result["modelUsage"]["claude-haiku-4-5"]["inputTokens"] == 1_000_000


def test_each_result_of_a_stream_holds_what_no_response_told_of_so_far() -> None:
    small = {"input_tokens": 1_000_000, "output_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    first: list[Event] = [prompt(), turn_end(session_usage={"claude-haiku-4-5": small})]
    double = {"claude-haiku-4-5": {**small, "input_tokens": 2_000_000}}
    second: list[Event] = [prompt(), turn_end(session_usage=double)]
    results = [one for one in lines([begin(), *first, *second, end(usage=double)]) if one["type"] == "result"]
    assert [result["total_cost_usd"] for result in results] == [pytest.approx(1), pytest.approx(2)]


def test_counts_that_are_no_counts_cost_nothing() -> None:
    odd: Json = {"input_tokens": "many", "output_tokens": None, "cache_creation": 3, "server_tool_use": []}
    result = lines([begin(), prompt(), *response([{"type": "text", "text": "a"}], odd, "end_turn"), turn_end(), end()])[-1]
    assert result["total_cost_usd"] == 0
    assert result["usage"]["input_tokens"] == 0


# Readers of the client's output


def test_every_message_has_members_of_the_clients_and_the_sdk_reads_it() -> None:
    denied = {"type": "tool_result", "content": "no", "is_error": True, "tool_use_id": "toolu_1"}
    told: list[Event] = [
        *SIMPLE[:-2],
        events.Retry(attempt=1, max_retries=10, wait=1, reason="x", status=529),
        *call(BASH, denied, "Error: no", denied_by="permission-rule", is_denied=True),
        events.CompactionBegin(trigger="auto", tokens=1),
        events.CompactionEnd(trigger="auto", tokens_before=1, tokens_after=1),
        events.Notice(text="x"),
        turn_end(Outcome.OUT_OF_TURNS),
        prompt(),
        turn_end(Outcome.FAILED, error="x"),
        end(),
    ]
    messages = lines(told, include_partial=True, replay_prompts=True)
    seen = set()
    for message in messages:
        seen.add(kind(message))
        assert set(message) <= set(MEMBERS[kind(message)].split()), kind(message)
        expected = {
            "system": SystemMessage,
            "assistant": AssistantMessage,
            "user": UserMessage,
            "result": ResultMessage,
            "stream_event": StreamEvent,
        }
        assert isinstance(parse_message(message), expected[message["type"]])
    assert seen == set(MEMBERS)


# What is asked


@pytest.mark.parametrize(
    ("argument", "piped", "prompt_text"),
    [
        ("argument words", b"from stdin", "argument words\nfrom stdin"),  # 2.1.325
        (None, b"from stdin", "from stdin"),
        ("argument", b"", "argument"),
        ("argument", None, "argument"),
        (None, b"\xff\xfe", "��"),
    ],
)
def test_a_prompt_is_the_argument_and_what_stands_on_stdin(argument: str | None, piped: bytes | None, prompt_text: str) -> None:
    assert whole_prompt(argument, _piped(piped)) == prompt_text


@pytest.mark.parametrize(("argument", "piped"), [(None, b""), (None, None), ("", b" \n"), (" ", None)])
def test_no_prompt_at_all_is_an_error(argument: str | None, piped: bytes | None) -> None:
    with pytest.raises(UsageError, match="no prompt; give one"):
        whole_prompt(argument, _piped(piped))


@pytest.mark.parametrize(
    ("argument", "piped", "prompt_text"),
    [
        ("/compact", None, "/compact"),
        (None, b"/compact\n", "/compact"),
        ("/compact  the tests", None, "/compact the tests"),
        ("/compact", b"the tests\n", "/compact the tests"),
        ("/", None, "/"),
        ("/x/y is gone", None, "/x/y is gone"),
        ("//help", None, "//help"),
        ("/usr is full", None, "/usr is full"),
        ("what does /help do?", None, "what does /help do?"),
    ],
)
def test_a_command_is_known_by_its_name_and_a_path_is_none(argument: str | None, piped: bytes | None, prompt_text: str) -> None:
    assert whole_prompt(argument, _piped(piped)) == prompt_text


@pytest.mark.parametrize("prompt_text", ["/help", "/clear\n", " /compacted"])
def test_an_unknown_command_is_not_asked(prompt_text: str) -> None:
    with pytest.raises(UsageError, match=r"unknown command /[a-z-]+; with -p, only /compact and your own commands work"):
        whole_prompt(prompt_text, None)


@pytest.mark.parametrize("prompt_text", ["/api returns 500", "/no-such thing at all", "/foo\nbar"])
def test_a_prompt_that_begins_with_a_slash_is_asked(prompt_text: str) -> None:
    """As 2.1.325 asks them."""
    assert whole_prompt(prompt_text, None) == prompt_text


def test_a_stdin_that_stays_open_and_says_nothing_is_not_waited_for() -> None:
    reading, writing = os.pipe()
    assert whole_prompt("argument", reading, patience=0.05) == "argument"
    os.close(writing)
    os.close(reading)


def _piped(data: bytes | None) -> int | None:
    if data is None:
        return None
    reading, writing = os.pipe()
    os.write(writing, data)
    os.close(writing)
    return reading


def user(content: Any) -> bytes:
    return json.dumps({"type": "user", "message": {"role": "user", "content": content}}).encode()


def read_lines(*written: bytes) -> tuple[list[Any], str]:
    async def read() -> tuple[list[Any], str]:
        descriptor = _piped(b"\n".join(written))
        assert descriptor is not None
        prompts = LinePrompts(descriptor)
        others = set(threading.enumerate())
        found = [one async for one in prompts]
        # Its reader may not be done, and a number that is closed is the next pipe's.
        for reader in set(threading.enumerate()) - others:
            reader.join(5)
        os.close(descriptor)
        return found, prompts.problem

    return asyncio.run(read())


def test_prompts_come_as_lines_of_json() -> None:
    blocks = [{"type": "text", "text": "second"}]
    assert read_lines(user("one"), b"", b'{"type":"other"}', user(blocks), user("last\u2028line")) == (
        ["one", blocks, "last\u2028line"],
        "",
    )
    assert read_lines(b"") == ([], "")
    assert read_lines(user("/compact\n"), user([{"type": "text", "text": "/compact x"}])) == (["/compact", "/compact x"], "")


@pytest.mark.parametrize(
    "line",
    [
        b"not json",
        b"[]",
        b"{}",
        b"\xff",
        b'{"type":"user"}',
        b'{"type":"user","message":{"role":"user"}}',
        user(""),
        user([]),
        user([{"text": "x"}]),
        user([{"type": "text"}]),
        user([{"type": "text", "text": 5}]),
        user([{"type": "tool_result", "tool_use_id": "toolu_1", "content": "x"}]),
        user(5),
        user("/help"),
        user([{"type": "text", "text": "/help"}]),
        b'{"type":"user","message":{"role":"assistant","content":"x"}}',
    ],
)
def test_a_line_that_is_no_prompt_ends_the_prompts_with_a_reason(line: bytes) -> None:
    found, problem = read_lines(user("one"), line, user("two"))
    assert found == ["one"]
    assert problem.startswith("line 2 on stdin ")
    assert "\n" not in problem


def test_a_prompt_is_there_before_stdin_ends_and_no_more_after_a_stop() -> None:
    async def read() -> list[Any]:
        reading, writing = os.pipe()
        prompts = LinePrompts(reading)
        found = []
        os.write(writing, user("one") + b"\n")
        async for one in prompts:
            found.append(one)
            threading.Timer(0.05, os.write, (writing, user("two") + b"\n")).start()
            prompts.stop()
        await asyncio.sleep(0.1)
        os.close(writing)
        return found

    assert asyncio.run(asyncio.wait_for(read(), 5)) == ["one"]


def test_a_long_line_is_put_together_from_its_pieces() -> None:
    async def read() -> list[Any]:
        reading, writing = os.pipe()
        line = user("x" * 3_000_000)

        def write() -> None:
            with os.fdopen(writing, "wb") as file:
                file.write(line)

        threading.Thread(target=write).start()
        found = [one async for one in LinePrompts(reading)]
        os.close(reading)
        return found

    assert [len(one) for one in asyncio.run(read())] == [3_000_000]
