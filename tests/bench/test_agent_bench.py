"""What the scripted endpoint of the agents' bench plays and counts, and how the bench runs an agent that it does not know."""

from __future__ import annotations

import http.client
import json
import sys
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.agent_endpoint import Endpoint, Play, agent_endpoint, play_prompt
from bench.agent_peers import Agent, run_agent
from bench.agent_session import write_edits
from bench.surgery_tools import ToolFailed

TOOLS = [{"name": "shell"}]
CALL = {"tool": "shell", "input": {"command": "true {n}"}}
# Sends the prompt, then a result for each call, until no call comes; `{result}` is what it says of each.
LOOP = """
import json, os, sys, urllib.request
messages = [{{"role": "user", "content": sys.argv[1]}}]
while True:
    body = json.dumps({{"model": "m", "tools": [{{"name": "shell"}}], "messages": messages}}).encode()
    with urllib.request.urlopen(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", body) as answer:
        content = json.load(answer)["content"]
    calls = [block["id"] for block in content if block["type"] == "tool_use"]
    if not calls:
        break
    results = [{{"type": "tool_result", "tool_use_id": call, {result}}} for call in calls]
    messages += [{{"role": "assistant", "content": content}}, {{"role": "user", "content": results}}]
sys.exit({code})
"""


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    with agent_endpoint() as started:
        yield started


def _post(endpoint: Endpoint, body: dict[str, Any]) -> bytes:
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(endpoint.url).netloc, timeout=10)
    try:
        connection.request("POST", "/v1/messages?beta=true", json.dumps({"model": "m", **body}))
        return connection.getresponse().read()
    finally:
        connection.close()


def _messages(play: Play, answers: int) -> list[dict[str, Any]]:
    results = [{"role": "assistant", "content": "a call"}, {"role": "user", "content": "its result"}] * answers
    return [{"role": "user", "content": [{"type": "text", "text": play_prompt(play)}]}, *results]


def _agent(result: str = '"content": "ok"', code: int = 0) -> Agent:
    program = LOOP.format(result=result, code=code)
    return Agent("loop", lambda prompt, more: (sys.executable, "-c", program, prompt, *more), shell=CALL, reader=None)


@pytest.mark.parametrize(("answers", "said"), [(0, "true 0"), (2, "true 2"), (3, "Done.")])
def test_a_step_is_played_as_often_as_asked_for_and_then_the_end(endpoint: Endpoint, answers: int, said: str) -> None:
    answer = json.loads(_post(endpoint, {"tools": TOOLS, "messages": _messages(Play([CALL], 3), answers)}))
    block = answer["content"][0]
    assert said in (block.get("text"), block.get("input", {}).get("command"))


def test_a_long_text_comes_with_an_event_for_each_piece(endpoint: Endpoint) -> None:
    body = _post(endpoint, {"tools": TOOLS, "stream": True, "messages": _messages(Play(pieces=500), 0)})
    events = [json.loads(line.removeprefix(b"data: ")) for line in body.splitlines() if line.startswith(b"data: ")]
    deltas = [event["delta"]["text"] for event in events if event["type"] == "content_block_delta"]
    assert deltas == ["word "] * 500
    kinds = [event["type"] for event in events if event["type"] != "content_block_delta"]
    assert kinds == ["message_start", "content_block_start", "content_block_stop", "message_delta", "message_stop"]


def test_only_requests_with_something_to_play_and_tools_are_counted(endpoint: Endpoint) -> None:
    endpoint.take_times()
    _post(endpoint, {"messages": _messages(Play(), 0)})  # a title, say
    _post(endpoint, {"tools": TOOLS, "messages": [{"role": "user", "content": "hi"}]})
    _post(endpoint, {"tools": TOOLS, "messages": _messages(Play(), 0)})
    assert len(endpoint.take_times()) == 1
    assert endpoint.take_times() == []


def test_a_run_has_a_gap_for_each_call_and_times_that_fit_into_it(endpoint: Endpoint, tmp_path: Path) -> None:
    run = run_agent(_agent(), endpoint, Play([CALL] * 2, 5), tmp_path)
    assert len(run.gaps) == 5
    assert all(gap > 0 for gap in run.gaps)
    assert 0 < run.first < run.first + sum(run.gaps) < run.wall
    # A bare interpreter has some megabytes.
    assert 5 < run.memory < 200


def test_an_agent_that_ends_early_or_with_failed_calls_or_with_an_error_is_not_measured(
    endpoint: Endpoint, tmp_path: Path
) -> None:
    with pytest.raises(ToolFailed, match="2 calls failed"):
        run_agent(_agent('"content": "no", "is_error": True'), endpoint, Play([CALL], 2), tmp_path)
    with pytest.raises(ToolFailed, match="ended with 3"):
        run_agent(_agent(code=3), endpoint, Play([CALL], 1), tmp_path)
    silent = Agent("silent", lambda _prompt, _more: (sys.executable, "-c", ""), shell=CALL, reader=None)
    with pytest.raises(ToolFailed, match="sent 0 requests in the place of 2"):
        run_agent(silent, endpoint, Play([CALL], 1), tmp_path)


def test_the_session_of_edits_is_a_chain_of_which_little_is_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.agent_session.SIZE", 1_000_000)
    path = tmp_path / "session.jsonl"
    write_edits(path, "11111111-1111-4111-8111-111111111111")
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert [line["parentUuid"] for line in lines] == [None, *(line["uuid"] for line in lines[:-1])]
    assert path.stat().st_size >= 1_000_000
    assert sum(len(json.dumps(line["message"])) for line in lines) < 20_000
