from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from stenograph.testing.scripted_api import DEFAULT_ANSWER, SCRIPT_OVER, ScriptedApi, script_prompt


def post(api: ScriptedApi, path: str, body: object) -> bytes:
    request = urllib.request.Request(
        api.url + path, data=json.dumps(body).encode(), headers={"x-api-key": "secret", "X-Other": "kept"}
    )
    with urllib.request.urlopen(request, timeout=10) as response:
        data: bytes = response.read()
    return data


def ask(api: ScriptedApi, *messages: object, **more: object) -> Any:
    return json.loads(post(api, "/v1/messages", {"model": "m", "messages": messages, **more}))


def user(text: str) -> dict[str, object]:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


ASSISTANT = {"role": "assistant", "content": [{"type": "text", "text": "whatever"}]}


def test_a_plain_prompt_gets_a_plain_answer() -> None:
    with ScriptedApi() as api:
        message = ask(api, {"role": "user", "content": "hi"})
    assert message["content"] == [{"type": "text", "text": DEFAULT_ANSWER}]
    assert (message["stop_reason"], message["model"], message["role"]) == ("end_turn", "m", "assistant")


def test_a_script_is_played_step_by_step_and_then_is_over() -> None:
    prompt = user(script_prompt([[{"think": "hm"}, {"tool": "Bash", "input": {"command": "ls"}}], [{"text": "done"}]], "go"))
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x", "content": "ok"}]}
    with ScriptedApi() as api:
        first = ask(api, prompt)
        second = ask(api, prompt, ASSISTANT, result)
        third = ask(api, prompt, ASSISTANT, result, ASSISTANT, user("and now?"))
    assert [block["type"] for block in first["content"]] == ["thinking", "tool_use"]
    assert first["content"][1]["input"] == {"command": "ls"}
    assert first["stop_reason"] == "tool_use"
    assert [block["text"] for block in second["content"]] == ["done"]
    assert [block["text"] for block in third["content"]] == [SCRIPT_OVER]
    assert first["id"] != second["id"]


def test_a_stream_says_the_same_as_the_message() -> None:
    step: list[dict[str, Any]] = [{"think": "hm"}, {"text": "hello"}, {"tool": "Bash", "input": {"command": "ls"}}]
    with ScriptedApi() as api:
        raw = post(api, "/v1/messages?beta=true", {"messages": [user(script_prompt([step]))], "stream": True})
    events = [json.loads(part.split("data: ", 1)[1]) for part in raw.decode().split("\n\n") if part]
    assert [events[0]["type"], events[-2]["type"], events[-1]["type"]] == ["message_start", "message_delta", "message_stop"]
    assert events[-2]["delta"]["stop_reason"] == "tool_use"
    deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]
    assert "".join(delta.get("text", "") for delta in deltas) == "hello"
    assert "".join(delta.get("thinking", "") for delta in deltas) == "hm"
    assert json.loads("".join(delta.get("partial_json", "") for delta in deltas)) == {"command": "ls"}


def test_requests_are_recorded_without_the_key() -> None:
    with ScriptedApi() as api:
        ask(api, user("hi"), system="s")
    [request] = api.requests
    assert request.body["system"] == "s"
    assert request.headers["x-other"] == "kept"
    assert "secret" not in str(request)


def test_tokens_are_counted_and_everything_else_is_not_found() -> None:
    with ScriptedApi() as api:
        assert json.loads(post(api, "/v1/messages/count_tokens", {"messages": []}))["input_tokens"] > 0
        for path, body in (("/v1/other", {}), ("/v1/messages", [])):
            with pytest.raises(urllib.error.HTTPError) as caught:
                post(api, path, body)
            assert caught.value.code == 404
            caught.value.close()
        assert api.requests == []
