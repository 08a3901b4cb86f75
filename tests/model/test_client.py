"""The client against a real server on loopback: what it sends, what comes out, and every fault that an endpoint can have."""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import re
import socket
import threading
import zlib
from typing import Any

import pytest
from tests.model.asking import KEY, Clock, ask, asks, client_for, collect, use
from tests.model.raw_endpoint import (
    HELLO,
    LAST_CHUNK,
    STREAM_HEAD,
    Do,
    Part,
    RawEndpoint,
    answer,
    begin,
    block,
    chunk,
    end,
    error,
    event,
    streamed,
    text_block,
)

from stenograph.errors import ModelError, RefusedError, UnreachableError, UsageError
from stenograph.model import client as client_module
from stenograph.model import endpoint as endpoint_module
from stenograph.model import failures, sse
from stenograph.model.client import ModelClient
from stenograph.model.encoding import Request
from stenograph.model.endpoint import endpoint_from_environment
from stenograph.model.events import (
    BlockStart,
    BlockStop,
    MessageStart,
    MessageStop,
    Retrying,
    StreamEvent,
    TextDelta,
)
from stenograph.testing.scripted_api import ScriptedApi, script_prompt

SECRET = "sentinel-of-a-transcript"
HELLO_EVENTS = [
    MessageStart("msg_1", "claude-x", "req_1", {"input_tokens": 7, "output_tokens": 1}),
    BlockStart(0, {"type": "text", "text": ""}),
    TextDelta(0, "Hel"),
    TextDelta(0, "lo"),
    BlockStop(0, {"type": "text", "text": "Hello"}),
    MessageStop("end_turn", None, {"input_tokens": 7, "output_tokens": 5}),
]


def said(events: list[StreamEvent | ModelError]) -> list[str]:
    """The texts of the blocks that count: those after the last retry."""
    last = max((at for at, each in enumerate(events) if isinstance(each, Retrying)), default=-1)
    return [each.block["text"] for each in events[last + 1 :] if isinstance(each, BlockStop)]


def retries(events: list[StreamEvent | ModelError]) -> list[Retrying]:
    return [each for each in events if isinstance(each, Retrying)]


# What is sent


def test_a_request_is_sent_as_the_messages_api_wants_it() -> None:
    with RawEndpoint([HELLO]) as server:
        events = ask(
            f"{server.url}/gateway/",
            None,
            asks("hi", betas=["b-1", "b-2"]),
            ANTHROPIC_AUTH_TOKEN="tok",
            ANTHROPIC_CUSTOM_HEADERS="X-Team: red\nanthropic-beta: b-0\nUser-Agent: mine",
        )
    [request] = server.requests
    assert events == HELLO_EVENTS
    assert (request.method, request.target) == ("POST", "/gateway/v1/messages")
    sent = {"model": "claude-x", "max_tokens": 100, "stream": True}
    content = [{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}]
    assert request.json == {**sent, "messages": [{"role": "user", "content": content}]}
    expected = {
        "host": f"127.0.0.1:{server.port}", "x-api-key": KEY, "authorization": "Bearer tok", "anthropic-version": "2023-06-01",
        "anthropic-beta": "b-0,b-1,b-2", "content-type": "application/json", "accept-encoding": "identity", "x-team": "red",
        "user-agent": "mine", "content-length": str(len(request.body)), "accept": "application/json",
    }  # fmt: skip
    assert request.headers == expected


def test_cache_marks_are_left_out_where_the_environment_says_so() -> None:
    with RawEndpoint([HELLO]) as server:
        ask(server.url, DISABLE_PROMPT_CACHING="1")
    assert b"cache_control" not in server.requests[0].body


def test_the_name_of_a_beta_feature_that_http_does_not_allow_is_refused() -> None:
    with RawEndpoint([HELLO]) as server, pytest.raises(UsageError, match="beta"):
        ask(server.url, None, asks(betas=["a\r\nx-evil: 1"]))
    assert not server.requests


def test_the_scripted_api_is_understood() -> None:
    step: list[dict[str, Any]] = [{"think": "hm"}, {"text": "Hello"}, {"tool": "Bash", "input": {"command": "ls"}}]
    with ScriptedApi() as api:
        request = asks(script_prompt([step]))

        async def run(client: ModelClient) -> tuple[Any, int | None]:
            return await client.complete(request), await client.count_tokens(request)

        (blocks, ending), count = use(client_for(api.url), run)
    assert [(each["type"], each.get("text") or each.get("thinking") or each.get("input")) for each in blocks] == [
        ("thinking", "hm"), ("text", "Hello"), ("tool_use", {"command": "ls"}),
    ]  # fmt: skip
    assert ending.stop_reason == "tool_use"
    assert count is not None
    assert count > 10


# However the bytes come


def test_bytes_in_any_pieces_give_the_same_events() -> None:
    chance = random.Random(11)
    answers: list[list[Part]] = [[bytes([byte]) for byte in HELLO]]
    for _ in range(10):
        cuts = sorted(chance.sample(range(1, len(HELLO)), 12))
        parts: list[Part] = []
        for start, stop in zip([0, *cuts], [*cuts, len(HELLO)], strict=True):
            parts += [HELLO[start:stop], 0.001]
        answers.append(parts)
    with RawEndpoint(*answers) as server:

        async def run(client: ModelClient) -> None:
            for _ in answers:
                # The first has the endpoint's id, the others have fresh ones.
                assert (await collect(client))[1:] == HELLO_EVENTS[1:]

        use(client_for(server.url), run)
    assert len(server.requests) == len(answers)


SSE = begin() + text_block(0, "Hel", "lo") + end()
PLAIN_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nrequest-id: req_1\r\n"


@pytest.mark.parametrize(
    "parts",
    [
        [PLAIN_HEAD + b"content-length: %d\r\n\r\n" % len(SSE) + SSE],
        [PLAIN_HEAD + b"connection: close\r\n\r\n" + SSE, Do.HANG_UP],
        [b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" + HELLO],
        [STREAM_HEAD + chunk(SSE.replace(b"\n", b"\r\n")) + LAST_CHUNK],
        [STREAM_HEAD + chunk(b": comment\n\n" + event("ping") + SSE + event("ping") + b"data: [DONE]\n\n") + LAST_CHUNK],
        [STREAM_HEAD + chunk(b"data: [DONE]\n\ndata: 5\n\ndata: [1]\n\n" + SSE) + LAST_CHUNK],
        [STREAM_HEAD + chunk(SSE.replace(b'"type": "message_start", ', b"")) + LAST_CHUNK],
        [STREAM_HEAD + chunk(SSE.replace(event("message_stop"), b"")) + LAST_CHUNK],
        [STREAM_HEAD + chunk(SSE), Do.WATCH],
        [STREAM_HEAD + chunk(SSE), Do.RESET],
        [STREAM_HEAD + chunk(SSE) + b"nonsense\r\n\r\n"],
        [STREAM_HEAD.replace(b"request-id", b"X-Request-Id") + chunk(SSE) + LAST_CHUNK],
        [HELLO.replace(b"content-type: text/event-stream; charset=utf-8\r\n", b"")],
    ],
    ids=[
        "of a known length", "until the connection ends", "after early answers", "with returns", "among comments and pings",
        "among other data", "named by the event alone", "without the last event", "open for longer", "reset afterwards",
        "before nonsense",
        "with another name for the id", "without a content type",
    ],
)  # fmt: skip
def test_an_answer_is_understood(parts: list[Part]) -> None:
    with RawEndpoint(parts) as server:
        assert ask(server.url) == HELLO_EVENTS
    assert len(server.requests) == 1


def test_an_answer_that_is_not_streamed_is_understood() -> None:
    message = {"id": "msg_1", "model": "claude-x", "content": [{"type": "text", "text": "Hello"}], "stop_reason": "end_turn"}
    with RawEndpoint([answer(200, message, request_id="req_1")]) as server:
        assert ask(server.url) == [
            MessageStart("msg_1", "claude-x", "req_1", {"input_tokens": 0, "output_tokens": 0}),
            BlockStart(0, {"type": "text", "text": ""}),
            TextDelta(0, "Hello"),
            BlockStop(0, {"type": "text", "text": "Hello"}),
            MessageStop("end_turn", None, {"input_tokens": 0, "output_tokens": 0}),
        ]


# Failures that are tried again

TEMPORARY: dict[str, tuple[list[Part], type[ModelError], int, str]] = {
    "overloaded": ([error(529, "overloaded_error")], RefusedError, 529, "overloaded_error"),
    "a fault of theirs": ([error(500, "api_error")], RefusedError, 500, "api_error"),
    "a gateway's page": ([answer(502, b"<html>Bad Gateway</html>")], RefusedError, 502, ""),
    "too many requests": ([error(429, "rate_limit_error")], RefusedError, 429, "rate_limit_error"),
    "a conflict": ([error(409, "conflict_error")], RefusedError, 409, "conflict_error"),
    "a time-out of theirs": ([error(408, "timeout_error")], RefusedError, 408, "timeout_error"),
    "their own word for it": ([error(400, "a_error", x_should_retry="true")], RefusedError, 400, "a_error"),
    "hung up": ([Do.HANG_UP], UnreachableError, 0, ""),
    "reset": ([Do.RESET], UnreachableError, 0, ""),
    "hung up within the head": ([STREAM_HEAD[:30], Do.HANG_UP], UnreachableError, 0, ""),
    "no HTTP": ([b"SSH-2.0-OpenSSH_9.6\r\n\r\n", Do.HANG_UP], UnreachableError, 0, ""),
    "another protocol": ([b"HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n", Do.HANG_UP], UnreachableError, 0, ""),
    "no events at all": ([streamed()], UnreachableError, 200, ""),
    "cut before the first event": ([STREAM_HEAD, Do.HANG_UP], UnreachableError, 200, ""),
    "cut in a text": ([STREAM_HEAD + chunk(begin() + text_block(0, "not this")[:-60]), Do.HANG_UP], UnreachableError, 200, ""),
    "reset in a text": ([STREAM_HEAD + chunk(begin() + text_block(0, "not this")), 0.05, Do.RESET], UnreachableError, 200, ""),
    "ended in a text": ([streamed(begin(), text_block(0, "not this"))], UnreachableError, 200, ""),
    "overloaded in a text": (
        [streamed(begin(), text_block(0, "not this"), event("error", error={"type": "overloaded_error", "message": "x"}))],
        RefusedError, 200, "overloaded_error",
    ),
    "a fault in a text": (
        [streamed(begin(), text_block(0, "not this"), event("error", error={"type": "api_error", "message": "x"}))],
        RefusedError, 200, "api_error",
    ),
    "an error that was not streamed": (
        [answer(200, {"type": "error", "error": {"type": "overloaded_error", "message": "x"}})],
        RefusedError, 200, "overloaded_error",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TEMPORARY)
def test_a_failure_that_passes_is_tried_again_and_what_came_is_forgotten(name: str) -> None:
    parts, kind_of_error, status, kind = TEMPORARY[name]
    clock = Clock()
    with RawEndpoint(parts, parts, [HELLO]) as server:
        events = ask(server.url, clock)
    assert [(each.attempt, each.max_retries, each.wait) for each in retries(events)] == [(1, 10, 0.5), (2, 10, 1.0)]
    assert clock.slept == [0.5, 1.0]
    for each in retries(events):
        assert (type(each.error), each.error.status, each.error.kind) == (kind_of_error, status, kind)
    assert events[-6:] == HELLO_EVENTS
    # Streams that are cut twice are asked for in one piece: see below.
    assert len({request.body for request in server.requests[:2]}) == 1
    is_cut = status == 200 and kind_of_error is UnreachableError
    assert [request.json.get("stream", False) for request in server.requests] == [True, True, not is_cut]


@pytest.mark.parametrize("name", TEMPORARY)
def test_after_the_last_retry_the_failure_is_raised(name: str) -> None:
    with RawEndpoint(TEMPORARY[name][0]) as server:
        events = ask(server.url, CLAUDE_CODE_MAX_RETRIES="1")
    assert len(server.requests) == 2
    assert isinstance(events[-1], TEMPORARY[name][1])
    assert "\n" not in str(events[-1])


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_an_endpoint_that_is_not_started_on_this_machine_is_not_waited_for(host: str) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    clock = Clock()
    [error] = ask(f"http://{host}:{port}", clock)
    assert isinstance(error, UnreachableError)
    assert str(error) == f"nothing listens on {host}:{port}: start the endpoint, or check ANTHROPIC_BASE_URL"
    assert clock.slept == []


def whole(words: str = "whole") -> bytes:
    told = {"id": "msg_2", "type": "message", "role": "assistant", "model": "claude-x", "stop_reason": "end_turn"}
    return answer(200, {**told, "content": [{"type": "text", "text": words}], "usage": {"input_tokens": 1, "output_tokens": 1}})


def test_streams_that_are_always_cut_are_asked_for_in_one_piece_as_2_1_325_does() -> None:
    """What 2.1.325 sent to a server that ends every stream early: two streams, then the same request without `stream` and
    with `max_tokens` 64000 instead of 128000. A thinking budget has to be smaller than that."""
    cut = streamed(begin(), text_block(0, "not this"))
    clock = Clock()
    request = asks()
    request.max_tokens = 128_000
    request.thinking = {"type": "enabled", "budget_tokens": 127_999}
    with RawEndpoint([cut], [cut], [whole()], [cut], [whole("again")]) as server:

        async def twice(client: ModelClient) -> list[StreamEvent | ModelError]:
            return [*await collect(client, request), *await collect(client, request)]

        events = use(client_for(server.url, clock), twice)
    asked = [request.json for request in server.requests]
    assert [each.get("stream", False) for each in asked] == [True, True, False, True, False]
    assert [each["max_tokens"] for each in asked] == [128_000, 128_000, 64_000, 128_000, 64_000]
    assert asked[2]["thinking"] == {"type": "enabled", "budget_tokens": 63_999}
    assert asked[2]["messages"] == asked[0]["messages"]
    assert [each.block["text"] for each in events if isinstance(each, BlockStop)][-1] == "again"
    assert not any(isinstance(each, ModelError) for each in events)
    # The second time one cut is enough.
    assert clock.slept == [0.5, 1.0, 0.5]


def test_streams_are_tried_again_once_they_come_through() -> None:
    cut = streamed(begin(), text_block(0, "not this"))
    with RawEndpoint([cut], [cut], [whole()], [HELLO], [cut], [HELLO]) as server:

        async def thrice(client: ModelClient) -> None:
            for _ in range(3):
                await collect(client)

        use(client_for(server.url), thrice)
    assert [request.json.get("stream", False) for request in server.requests] == [True, True, False, True, True, True]


def test_the_variable_of_the_client_forbids_to_ask_in_one_piece() -> None:
    with RawEndpoint([streamed(begin())]) as server:
        events = ask(server.url, CLAUDE_CODE_MAX_RETRIES="3", CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK="1")
    assert isinstance(events[-1], UnreachableError)
    assert all(request.json["stream"] for request in server.requests)


def _packed(head: bytes, *pieces: bytes) -> list[Part]:
    """A stream in gzip, each piece flushed as servers do, and then sent in two halves."""
    packer = zlib.compressobj(wbits=31)
    parts: list[Part] = [head]
    for piece in pieces:
        packed = packer.compress(piece) + packer.flush(zlib.Z_SYNC_FLUSH)
        parts += [chunk(packed[: len(packed) // 2]), chunk(packed[len(packed) // 2 :])]
    return [*parts, chunk(packer.flush()), LAST_CHUNK]


def test_a_compressed_stream_is_understood_piece_by_piece() -> None:
    head = STREAM_HEAD.replace(b"request-id: ", b"content-encoding: gzip\r\nrequest-id: ")
    parts = _packed(head, begin(), text_block(0, "Hel", "lo"), end())
    with RawEndpoint(parts) as server:
        assert ask(server.url) == HELLO_EVENTS


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_compressed_answers_are_understood(encoding: str) -> None:
    packed = (gzip.compress if encoding == "gzip" else zlib.compress)(SSE)
    with RawEndpoint([answer(200, packed, content_encoding=encoding, content_type="text/event-stream")]) as server:
        assert [each for each in ask(server.url) if isinstance(each, BlockStop)]
    refusal = gzip.compress(b'{"error": {"type": "invalid_request_error", "message": "in gzip"}}')
    with RawEndpoint([answer(400, refusal, content_encoding="gzip")]) as server:
        [failed] = ask(server.url)
    assert "in gzip" in str(failed)


def test_a_compressed_answer_that_is_broken_is_a_cut() -> None:
    packed = gzip.compress(SSE)
    broken = packed[:40] + b"\xff" * 20 + packed[60:]
    with RawEndpoint([answer(200, broken, content_encoding="gzip", content_type="text/event-stream")], [HELLO]) as server:
        assert ask(server.url)[-6:] == HELLO_EVENTS


def test_a_small_answer_that_unpacks_to_gigabytes_is_given_up() -> None:
    bomb = zlib.compressobj(9, wbits=31)
    packed = b"".join(bomb.compress(bytes(2**20)) for _ in range(200)) + bomb.flush()
    with RawEndpoint([answer(200, packed, content_encoding="gzip", content_type="text/event-stream")]) as server:
        failed = ask(server.url)[-1]
    assert isinstance(failed, ModelError)
    assert "without an end" in str(failed)


def test_ten_retries_wait_longer_and_longer() -> None:
    clock = Clock()
    with RawEndpoint([error(529, "overloaded_error")]) as server:
        events = ask(server.url, clock)
    assert len(server.requests) == 11
    assert clock.slept == [0.5, 1, 2, 4, 8, 16, 32, 32, 32, 32]
    assert isinstance(events[-1], RefusedError)


def test_the_wait_that_the_endpoint_asks_for_is_kept() -> None:
    clock = Clock()
    # The clock begins at 1,000,000 s: Mon, 12 Jan 1970 13:46:40 GMT.
    with RawEndpoint(
        [error(429, "rate_limit_error", retry_after="17")],
        [error(529, "overloaded_error", retry_after="Mon, 12 Jan 1970 13:47:40 GMT")],
        [HELLO],
    ) as server:
        events = ask(server.url, clock)
    assert clock.slept == [17.0, 43.0]
    assert [each.error.retry_after for each in retries(events)] == [17.0, 43.0]


def test_a_wait_of_hours_is_not_waited() -> None:
    with RawEndpoint([error(429, "rate_limit_error", retry_after="18000")]) as server:
        [failed] = ask(server.url)
    assert isinstance(failed, RefusedError)
    assert failed.retry_after == 18_000.0


def test_a_server_that_is_not_there_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is elsewhere: this machine's own is not."""
    monkeypatch.setattr(failures, "is_loopback", lambda _host: False)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    events = ask(f"http://127.0.0.1:{port}", CLAUDE_CODE_MAX_RETRIES="1")
    assert [type(each) for each in events] == [Retrying, UnreachableError]
    assert "ConnectionRefusedError" in str(events[-1])


def test_a_name_that_nobody_knows_is_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    def look_up(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "not known")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    [failed] = ask("http://model.invalid", CLAUDE_CODE_MAX_RETRIES="0")
    assert isinstance(failed, UnreachableError)
    assert str(failed) == "cannot resolve model.invalid; check the network and ANTHROPIC_BASE_URL"
    [failed] = ask("http://model.invalid", CLAUDE_CODE_MAX_RETRIES="0", HTTP_PROXY="http://proxy.invalid:3128")
    assert str(failed) == "cannot resolve the proxy's name; check the network and HTTPS_PROXY or HTTP_PROXY"


def test_no_answer_in_time_is_tried_again() -> None:
    with RawEndpoint([5.0], [HELLO]) as server:
        events = ask(server.url, API_TIMEOUT_MS="300")
    assert [str(each.error) for each in retries(events)] == [
        f"127.0.0.1:{server.port} did not answer within 0.3 s (API_TIMEOUT_MS)"
    ]
    assert said(events) == ["Hello"]


def test_a_stream_that_says_nothing_more_is_tried_again() -> None:
    with RawEndpoint([STREAM_HEAD + chunk(begin() + text_block(0, "not this")), 5.0], [HELLO]) as server:
        events = ask(server.url, STENO_IDLE_TIMEOUT_MS="300")
    [retry] = retries(events)
    assert "sent nothing for 0.3 s" in str(retry.error)
    assert said(events) == ["Hello"]


def test_pings_keep_a_slow_stream_alive() -> None:
    pings: list[Part] = [part for _ in range(8) for part in (0.05, chunk(event("ping")))]
    with RawEndpoint([STREAM_HEAD, *pings, chunk(SSE) + LAST_CHUNK]) as server:
        assert ask(server.url, STENO_IDLE_TIMEOUT_MS="300") == HELLO_EVENTS


# Failures that are not

PERMANENT: dict[str, tuple[list[Part], type[ModelError], int, str, str]] = {
    "a bad request": ([error(400, "invalid_request_error", "prompt is too long")], RefusedError, 400, "invalid_request_error",
        "HTTP 400 invalid_request_error: prompt is too long"),
    "a wrong key": ([error(401, "authentication_error", "invalid x-api-key")], RefusedError, 401, "authentication_error",
        "HTTP 401 authentication_error: invalid x-api-key (check ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN)"),
    "no money": ([error(402, "billing_error")], RefusedError, 402, "billing_error", "HTTP 402 billing_error: words"),
    "no model of this name": ([error(404, "not_found_error", "model: x")], RefusedError, 404, "not_found_error",
        "HTTP 404 not_found_error: model: x (check the model's name and ANTHROPIC_BASE_URL)"),
    "a page that is not there": ([answer(404, b"<html>")], RefusedError, 404, "",
        "HTTP 404: check the model's name and ANTHROPIC_BASE_URL"),
    "too large": ([error(413, "request_too_large")], RefusedError, 413, "request_too_large",
        "HTTP 413 request_too_large: words (the conversation is too large for one request: compact it)"),
    "the money of the month": (
        [answer(429, {"error": {
            "type": "rate_limit_error", "message": "x", "details": {"error_code": "enforced_spend_limit_reached"}}})],
        RefusedError, 429, "rate_limit_error", "HTTP 429 rate_limit_error: x"),
    "the credit of another endpoint": ([answer(429, {"error": {"type": "insufficient_quota", "message": "x"}})],
        RefusedError, 429, "insufficient_quota", "HTTP 429 insufficient_quota: x"),
    "their own word for it": ([error(529, "overloaded_error", x_should_retry="false")], RefusedError, 529, "overloaded_error",
        "HTTP 529 overloaded_error: words"),
    "a redirect": ([answer(308, location="https://elsewhere.example")], RefusedError, 308, "",
        "HTTP 308: it redirects: set ANTHROPIC_BASE_URL to the final address"),
    "an error that is a text": ([answer(400, {"error": "no such thing"})], RefusedError, 400, "", "HTTP 400: no such thing"),
    "an error of other types": ([answer(400, {"error": {"type": 5, "message": ["x"]}})], RefusedError, 400, "",
        "HTTP 400 from HOST"),
    "an error that is a list": ([answer(400, b"[1]")], RefusedError, 400, "", "HTTP 400 from HOST"),
    "a bad request in the stream": (
        [streamed(begin(), event("error", error={"type": "invalid_request_error", "message": "no"}))],
        RefusedError, 200, "invalid_request_error", "invalid_request_error in the middle of the answer: no"),
    "an error in the stream that says nothing": ([streamed(begin(), event("error", error=None))], RefusedError, 200, "",
        "an error in the middle of the answer"),
    "a login page": ([answer(200, b"<html>Welcome</html>", content_type="text/html")], ModelError, 200, "",
        "HOST answers with a web page: check ANTHROPIC_BASE_URL"),
    "an answer of another API": ([answer(200, {"choices": []})], ModelError, 200, "",
        "HOST does not speak the Messages API: check ANTHROPIC_BASE_URL"),
    "JSON that is none": ([answer(200, b"{", content_type="application/json")], ModelError, 200, "",
        "HOST does not speak the Messages API: check ANTHROPIC_BASE_URL"),
    "compressed in a way of its own": ([answer(200, b"x", content_encoding="br")], ModelError, 200, "",
        "HOST answers in a compressed form that was not asked for"),
    "no JSON in an event": ([streamed(begin(), b"data: {oops\n\n")], ModelError, 200, "", "HOST sends an event that is not JSON"),
    "brackets without end": ([streamed(begin(), b"data: " + b"[" * 100_000 + b"\n\n")], ModelError, 200, "",
        "HOST sends an event that is not JSON"),
    "no stop reason": ([streamed(begin(), text_block(0, "x"), event("message_stop"))], ModelError, 200, "",
        "HOST ends an answer without a stop reason"),
    "no stop reason in a message": ([answer(200, {"content": [{"type": "text", "text": "x"}], "stop_reason": None})],
        ModelError, 200, "", "HOST ends an answer without a stop reason"),
    "a block that is none": ([streamed(begin(), block(0, {"type": ["text"]}), end())], ModelError, 200, "",
        "HOST sends a block without a type"),
    "a block that is none in a message": ([answer(200, {"content": [None], "stop_reason": "end_turn"})], ModelError, 200, "",
        "HOST sends a block without a type"),
    "bytes that are no UTF-8": ([streamed(begin(), b'data: {"type": "\xff"}\n\n')], ModelError, 200, "",
        "HOST sends an event that is not JSON"),
}  # fmt: skip


@pytest.mark.parametrize("name", PERMANENT)
def test_a_failure_that_would_come_again_is_raised_at_once(name: str) -> None:
    parts, kind_of_error, status, kind, words = PERMANENT[name]
    with RawEndpoint(parts, [HELLO]) as server:
        failed = ask(server.url)[-1]
    assert isinstance(failed, ModelError)
    assert (type(failed), failed.status, failed.kind) == (kind_of_error, status, kind)
    assert str(failed) == words.replace("HOST", f"127.0.0.1:{server.port}")
    assert len(server.requests) == 1


def test_an_event_without_an_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "LONGEST_EVENT", 1_000)
    with RawEndpoint([STREAM_HEAD + chunk(begin() + b"data: " + b"x" * 2_000), Do.WATCH]) as server:
        failed = ask(server.url)[-1]
    assert isinstance(failed, ModelError)
    assert "an event without an end" in str(failed)


def test_a_message_without_an_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "_LONGEST_ANSWER", 1_000)
    with RawEndpoint([answer(200, {"content": ["x" * 2_000]})]) as server:
        [failed] = ask(server.url)
    assert isinstance(failed, ModelError)


def dripping(piece: bytes, *, after: bytes) -> list[Part]:
    """The same again and again for 4 s."""
    parts: list[Part] = [after]
    for _ in range(200):
        parts += [0.02, piece]
    return parts


def test_an_answer_without_an_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "_LONGEST_ANSWER", 5_000)
    start = event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    more = event("content_block_delta", index=0, delta={"type": "text_delta", "text": "x" * 900})
    with RawEndpoint(dripping(chunk(more), after=STREAM_HEAD + chunk(begin() + start))) as server:
        events = ask(server.url)
    assert isinstance(events[-1], ModelError)
    assert str(events[-1]) == f"127.0.0.1:{server.port} sends an answer without an end"
    assert 4 <= sum(isinstance(each, TextDelta) for each in events) <= 6
    assert len(server.requests) == 1


STALLS: dict[str, list[Part]] = {
    "pings": dripping(chunk(event("ping")), after=STREAM_HEAD + chunk(begin())),
    "comments": dripping(chunk(b": still there\n\n"), after=STREAM_HEAD),
    "an event that never ends": dripping(chunk(b"data: 5\n"), after=STREAM_HEAD),
    "deltas of no block": dripping(chunk(event("content_block_delta", index=9)), after=STREAM_HEAD + chunk(begin())),
    "a message that never ends": dripping(b" ", after=b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n"),
    "an error that never ends": dripping(b" ", after=b"HTTP/1.1 400 No\r\n\r\n"),
}


@pytest.mark.parametrize("name", STALLS)
def test_signs_of_life_alone_are_not_waited_for_without_end(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint_module, "STALL_FACTOR", 1.5)
    with RawEndpoint(STALLS[name], [HELLO]) as server:
        events = ask(server.url, STENO_IDLE_TIMEOUT_MS="400")
    [retry] = retries(events)
    assert isinstance(retry.error, UnreachableError)
    assert "sent only pings for 0.6 s (STENO_IDLE_TIMEOUT_MS)" in str(retry.error)
    assert said(events) == ["Hello"]


def test_an_answer_that_goes_on_slowly_is_never_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint_module, "STALL_FACTOR", 1.5)
    # 1 s, where signs of life alone would be given up after 0.6 s.
    slow: list[Part] = [part for _ in range(20) for part in (0.05, chunk(text_block(0, "x")))]
    with RawEndpoint([STREAM_HEAD + chunk(begin()), *slow, chunk(end()) + LAST_CHUNK]) as server:
        events = ask(server.url, STENO_IDLE_TIMEOUT_MS="400")
    assert said(events) == ["x"] * 20
    assert not retries(events)


def test_ids_that_come_again_are_replaced() -> None:
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}
    spoken = [{"role": "assistant", "content": [{**call, "id": "t0"}]}]
    twice = streamed(begin(), block(0, call), block(1, call), block(2, {**call, "id": "t0"}), end("tool_use"))
    with RawEndpoint([twice]) as server:

        async def run(client: ModelClient) -> list[Any]:
            request = Request(model="m", max_tokens=1, messages=[{"role": "user", "content": "hi"}, *spoken])
            return [await collect(client, request) for _ in range(2)]

        answers = use(client_for(server.url), run)
    begins = [events[0].message_id for events in answers]
    assert begins[0] == "msg_1"
    assert begins[1] != "msg_1"
    for events in answers:
        ids = [each.block["id"] for each in events if isinstance(each, BlockStop)]
        assert ids == [each.block["id"] for each in events if isinstance(each, BlockStart)]
        assert ids[0] == "t1"
        assert len({*ids, "t0"}) == 4
        assert all(re.fullmatch(r"toolu_[0-9a-f]{24}", each) for each in ids[1:])


def test_an_error_without_an_end_is_cut() -> None:
    endless = b"HTTP/1.1 400 No\r\n\r\n" + b"x" * 1_000_000
    with RawEndpoint([endless, Do.WATCH]) as server:
        [failed] = ask(server.url)
        assert isinstance(failed, RefusedError)
        assert server.hung_up.wait(5)


def test_a_request_that_is_refused_while_it_is_sent_is_told_as_refused() -> None:
    # 40 MB: more than any buffer on the way takes, so the request is still being sent when the answer comes.
    with RawEndpoint([Do.UNREAD, error(413, "request_too_large"), Do.HANG_UP]) as server:
        [failed] = ask(server.url, None, asks("x" * 40_000_000))
    assert isinstance(failed, RefusedError)
    assert failed.status == 413


def test_errors_are_one_line_and_hold_neither_keys_nor_what_was_said() -> None:
    message = f"the key {KEY} (Bearer token-of-somebody)\n\x1b[31m is wrong " + "x" * 5_000
    with RawEndpoint([error(401, f"kind_{KEY}", message, request_id="req_9")]) as server:
        [failed] = ask(server.url, None, asks(SECRET), ANTHROPIC_AUTH_TOKEN="token-of-somebody")
    told = str(failed)
    assert isinstance(failed, RefusedError)
    assert failed.request_id == "req_9"
    assert told.startswith("HTTP 401 kind_[key]: the key [key] ([key]) [31m is wrong xxx")
    assert told.isprintable()
    assert len(told) < 1_200
    for secret in (KEY, "token-of-somebody", SECRET):
        assert secret not in told + repr(failed) + failed.kind


@pytest.mark.parametrize("status", [200, 400, 529])
def test_an_endpoint_that_repeats_the_key_in_its_own_words_is_not_repeated(status: int) -> None:
    message = {"id": f"msg_{KEY}", "model": KEY, "usage": {"input_tokens": 1, "service_tier": KEY}}
    call = {"type": "tool_use", "id": f"t_{KEY}", "name": f"Bash{KEY}", "input": {}}
    ending = {"stop_reason": KEY, "stop_sequence": KEY, "stop_details": {"category": KEY, "more": [KEY]}}
    stream = streamed(
        event("message_start", message=message),
        block(0, call),
        block(1, {"type": f"new_{KEY}"}),
        event("message_delta", delta=ending),
        event("message_stop"),
    ).replace(b"req_1", f"req_{KEY}".encode())
    with RawEndpoint([stream if status == 200 else error(status, KEY, KEY, request_id=f"req_{KEY}")]) as server:
        events = ask(server.url, CLAUDE_CODE_MAX_RETRIES="1")
    assert KEY not in repr(events)
    for each in events:
        if isinstance(each, ModelError | Retrying):
            failed = each if isinstance(each, ModelError) else each.error
            assert failed.request_id == "req_[key]"
            assert KEY not in f"{failed} {failed.kind}"
    if status == 200:
        [start] = [each for each in events if isinstance(each, MessageStart)]
        assert (start.request_id, start.model) == ("req_[key]", "claude-x")
        assert [each.block["type"] for each in events if isinstance(each, BlockStop)] == ["tool_use", "new_[key]"]


def test_what_the_model_says_stays_as_it_is_whatever_the_key() -> None:
    with RawEndpoint([streamed(begin(), text_block(0, f"a {KEY}"), end())]) as server:
        assert said(ask(server.url)) == [f"a {KEY}"]


@pytest.mark.parametrize("name", [*TEMPORARY, *PERMANENT])
def test_no_failure_shows_a_key_or_the_conversation(name: str) -> None:
    parts = TEMPORARY[name][0] if name in TEMPORARY else PERMANENT[name][0]
    with RawEndpoint(parts) as server:
        events = ask(server.url, None, asks(SECRET), CLAUDE_CODE_MAX_RETRIES="0")
    assert isinstance(events[-1], ModelError)
    assert KEY not in str(events[-1])
    assert SECRET not in str(events[-1])


# Connections


def test_one_connection_serves_requests_one_after_the_other() -> None:
    with RawEndpoint([HELLO], [error(400, "invalid_request_error")], [answer(200, {"input_tokens": 5})], [HELLO]) as server:

        async def run(client: ModelClient) -> None:
            await collect(client)
            await collect(client)
            await client.count_tokens(asks())
            await client.complete(asks())

        use(client_for(server.url), run)
    assert server.connections == [0, 0, 0, 0]


def test_an_end_that_comes_late_is_not_waited_for_and_the_connection_is_kept() -> None:
    has_all, is_sent = threading.Event(), threading.Event()
    with RawEndpoint([STREAM_HEAD + chunk(SSE), has_all.wait, LAST_CHUNK, is_sent.set], [HELLO]) as server:

        async def run(client: ModelClient) -> None:
            assert said(await collect(client)) == ["Hello"]
            has_all.set()
            assert await asyncio.to_thread(is_sent.wait, 5)
            await asyncio.sleep(0.05)
            assert said(await collect(client)) == ["Hello"]

        use(client_for(server.url), run)
    assert server.connections == [0, 0]


def test_a_connection_whose_answer_has_not_ended_is_not_used_again() -> None:
    with RawEndpoint([STREAM_HEAD + chunk(SSE), Do.WATCH], [HELLO]) as server:

        async def run(client: ModelClient) -> None:
            assert said(await collect(client)) == ["Hello"]
            assert said(await collect(client)) == ["Hello"]

        use(client_for(server.url), run)
    assert server.connections == [0, 1]


@pytest.mark.parametrize(
    "parts",
    [
        [HELLO.replace(b"request-id", b"connection: close\r\nrequest-id"), Do.WATCH],
        [HELLO + answer(408)],
        [STREAM_HEAD + chunk(SSE) + b"nonsense\r\n\r\n"],
        [STREAM_HEAD + chunk(SSE), 0.02, b"nonsense\r\n\r\n"],
        [answer(400, b"x", connection="close"), Do.WATCH],
    ],
    ids=["said to be closed", "more than was asked for", "nonsense", "nonsense later", "closed after an error"],
)
def test_a_connection_that_can_not_be_trusted_is_not_used_again(parts: list[Part]) -> None:
    with RawEndpoint(parts, [HELLO]) as server:

        async def run(client: ModelClient) -> None:
            await collect(client)
            await asyncio.sleep(0.05)
            assert said(await collect(client)) == ["Hello"]

        use(client_for(server.url), run)
    assert server.connections[:2] == [0, 1]


def test_a_connection_that_the_server_closed_meanwhile_costs_no_retry() -> None:
    with RawEndpoint([HELLO]) as server:

        async def run(client: ModelClient) -> None:
            assert said(await collect(client)) == ["Hello"]
            server.close_idle()
            await asyncio.sleep(0.05)
            assert said(await collect(client)) == ["Hello"]

        use(client_for(server.url), run)
    assert server.connections == [0, 1]


def test_a_connection_that_the_server_closes_at_the_same_moment_costs_no_retry() -> None:
    with RawEndpoint([HELLO], [Do.RESET], [HELLO]) as server:

        async def run(client: ModelClient) -> None:
            assert said(await collect(client)) == ["Hello"]
            assert said(await collect(client)) == ["Hello"]

        clock = Clock()
        use(client_for(server.url, clock), run)
    assert server.connections == [0, 0, 1]
    assert clock.slept == []


def test_a_connection_that_waited_for_long_is_not_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "_LONGEST_IDLE", 0.05)
    with RawEndpoint([HELLO]) as server:

        async def run(client: ModelClient) -> None:
            await collect(client)
            await asyncio.sleep(0.1)
            await collect(client)

        use(client_for(server.url), run)
    assert server.connections == [0, 1]


def test_streams_at_one_time_have_connections_of_their_own() -> None:
    # Nobody is answered before all have asked.
    with RawEndpoint([HELLO], before=threading.Barrier(8, timeout=5).wait) as server:

        async def run(client: ModelClient) -> list[Any]:
            return await asyncio.gather(*(collect(client) for _ in range(8)))

        assert [events[1:] for events in use(client_for(server.url), run)] == [HELLO_EVENTS[1:]] * 8
    assert sorted(server.connections) == list(range(8))


def begin_and_wait() -> list[Part]:
    return [
        STREAM_HEAD + chunk(begin() + event("content_block_start", index=0, content_block={"type": "text", "text": ""})),
        Do.WATCH,
    ]


@pytest.mark.parametrize("parts", [[Do.WATCH], begin_and_wait()], ids=["before the answer", "in the answer"])
def test_cancelling_the_reader_closes_the_connection(parts: list[Part]) -> None:
    with RawEndpoint(parts) as server:

        async def run(client: ModelClient) -> None:
            reader = asyncio.create_task(collect(client))
            while not server.requests:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.05)
            reader.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reader
            assert await asyncio.to_thread(server.hung_up.wait, 5)

        use(client_for(server.url), run)


def test_a_reader_that_stops_early_closes_the_connection() -> None:
    with RawEndpoint(begin_and_wait()) as server:

        async def run(client: ModelClient) -> None:
            events = client.stream(asks())
            await anext(events)
            await events.aclose()
            assert await asyncio.to_thread(server.hung_up.wait, 5)

        use(client_for(server.url), run)


def test_cancelling_the_wait_before_a_retry_ends_it() -> None:
    with RawEndpoint([error(529, "overloaded_error", retry_after="60")]) as server:

        async def run(client: ModelClient) -> None:
            reader = asyncio.create_task(collect(client))
            while not server.requests:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.05)
            reader.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reader

        endpoint = endpoint_from_environment({"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": KEY})
        use(ModelClient(endpoint), run)
    assert len(server.requests) == 1


def test_closing_the_client_ends_the_streams_that_are_under_way() -> None:
    with RawEndpoint(begin_and_wait()) as server:

        async def run(client: ModelClient) -> list[Any]:
            reader = asyncio.create_task(collect(client))
            while not server.requests:
                await asyncio.sleep(0.01)
            await client.aclose()
            return await reader + await collect(client)

        events = use(client_for(server.url), run)
    assert isinstance(events[-1], UnreachableError)
    assert "closed" in str(events[-1])
    assert len(server.requests) == 1


# Answers as a whole, and counts


def test_a_whole_answer_forgets_what_a_retry_takes_back() -> None:
    with RawEndpoint([STREAM_HEAD + chunk(begin() + text_block(0, "not this")), Do.HANG_UP], [HELLO]) as server:
        blocks, ending = use(client_for(server.url), lambda client: client.complete(asks()))
    assert blocks == [{"type": "text", "text": "Hello"}]
    assert ending == HELLO_EVENTS[-1]


def test_a_tool_whose_input_is_no_json_is_passed_on_with_its_text() -> None:
    start = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}
    cut = block(0, start, {"type": "input_json_delta", "partial_json": '{"command": "l'})
    with RawEndpoint([streamed(begin(), cut, end("max_tokens"))]) as server:
        ended = [each for each in ask(server.url) if isinstance(each, BlockStop)]
    assert ended == [BlockStop(0, start, '{"command": "l')]


def test_tokens_are_counted_where_the_endpoint_counts() -> None:
    with RawEndpoint([answer(200, {"input_tokens": 42})]) as server:
        request = Request(model="m", max_tokens=5, messages=[{"role": "user", "content": "x"}], betas=["b"])
        assert use(client_for(server.url), lambda client: client.count_tokens(request)) == 42
    [got] = server.requests
    assert (got.target, got.headers["anthropic-beta"]) == ("/v1/messages/count_tokens", "b")
    assert set(got.json) == {"model", "messages"}


@pytest.mark.parametrize("status", [404, 405, 501])
def test_an_endpoint_that_does_not_count_is_asked_once(status: int) -> None:
    with RawEndpoint([answer(status, b"no")]) as server:

        async def run(client: ModelClient) -> list[int | None]:
            return [await client.count_tokens(asks()), await client.count_tokens(asks())]

        assert use(client_for(server.url), run) == [None, None]
    assert len(server.requests) == 1


@pytest.mark.parametrize("body", [{}, {"input_tokens": "many"}, b"[]", b"x"])
def test_a_count_that_is_none_is_none(body: Any) -> None:
    with RawEndpoint([answer(200, body)]) as server:
        assert use(client_for(server.url), lambda client: client.count_tokens(asks())) is None


def test_counting_is_tried_again_and_refused_like_anything_else() -> None:
    clock = Clock()
    with RawEndpoint(
        [Do.HANG_UP],
        [error(529, "overloaded_error")],
        [answer(200, {"input_tokens": 1})[:-5], Do.HANG_UP],
        [answer(200, {"input_tokens": 1})],
    ) as server:
        assert use(client_for(server.url, clock), lambda client: client.count_tokens(asks())) == 1
    assert clock.slept == [0.5, 1.0, 2.0]
    with RawEndpoint([error(400, "invalid_request_error")]) as server, pytest.raises(RefusedError, match="400"):
        use(client_for(server.url), lambda client: client.count_tokens(asks()))


def test_a_large_answer_is_not_taken_faster_than_it_is_read() -> None:
    piece = json.dumps(
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "x" * 100_000}}
    ).encode()
    # 30 MB: the buffers of the system take about ten.
    many = chunk(b"data: " + piece + b"\n\n") * 300
    start = chunk(begin() + event("content_block_start", index=0, content_block={"type": "text", "text": ""}))
    is_sent = threading.Event()
    with RawEndpoint([STREAM_HEAD + start, many, is_sent.set, chunk(end()) + LAST_CHUNK]) as server:

        async def run(client: ModelClient) -> int:
            total = 0
            async for each in client.stream(asks()):
                if isinstance(each, TextDelta):
                    total += len(each.text)
                    if total == 100_000:
                        await asyncio.sleep(0.3)
                        assert not is_sent.is_set()
            return total

        assert use(client_for(server.url), run) == 30_000_000
