"""Through LiteLLM's proxy to a model that speaks only OpenAI's chat completions: calls, results and counts arrive."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from lab.receivers import ReceiverMissing, Server, default_receivers_folder, install_receiver
from lab.receivers.litellm import MASTER_KEY, MODEL, litellm
from tests.agent.checking import assert_valid
from tests.agent.world import turn_ends, world_at
from tests.conftest import Need

from stenograph.agent.engine.events import Outcome
from stenograph.testing.scripted_api import LoopbackServer, LoopbackService

Json = dict[str, Any]
_ENVIRONMENT = dict(os.environ)


def chunk(delta: Json, finish: str | None = None) -> Json:
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "scripted",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}  # fmt: skip


def call(**given: str) -> Json:
    return {"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": given}]}


USAGE = {"prompt_tokens": 123, "completion_tokens": 9, "total_tokens": 132}
#: The answers, one a request, as servers stream them.
ANSWERS = [
    [
        chunk({"role": "assistant", "content": "Looking. "}),
        chunk(call(name="Bash", arguments="")),
        chunk(call(arguments='{"command": "echo from-a-tool"}')),
        chunk({}, "tool_calls"),
    ],
    [chunk({"role": "assistant", "content": "It said from"}), chunk({"content": "-a-tool."}), chunk({}, "stop")],
]


class Backend(LoopbackService):
    """A server of chat completions that plays `ANSWERS`. A context manager."""

    def __init__(self) -> None:
        self.asked: list[Json] = []
        backend = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                pass

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                backend.asked.append(body)
                answered = sum(message["role"] == "assistant" for message in body["messages"])
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                for each in [*ANSWERS[answered], {**chunk({}), "choices": [], "usage": USAGE}]:
                    self.wfile.write(f"data: {json.dumps(each)}\n\n".encode())
                self.wfile.write(b"data: [DONE]\n\n")

        super().__init__(LoopbackServer(("127.0.0.1", 0), Handler))


@pytest.fixture
def proxied(tmp_path: Path, need: Need) -> Iterator[tuple[str, Backend]]:
    with Backend() as backend:
        receiver = litellm(backend.url)
        try:
            installed = install_receiver(default_receivers_folder(_ENVIRONMENT), receiver, _ENVIRONMENT)
        except ReceiverMissing as missing:
            need("receivers", str(missing))
            raise
        work = tmp_path / "litellm"
        work.mkdir()
        server = Server(receiver.launch(installed, work))
        try:
            assert server.wait_until_healthy(), (work / "server.log").read_text()[-2000:]
            yield server.address, backend
        finally:
            server.stop()


@pytest.mark.receivers
@pytest.mark.proof
def test_a_model_behind_litellm_calls_a_tool_and_answers(proxied: tuple[str, Backend], tmp_path: Path) -> None:
    address, backend = proxied
    with world_at(tmp_path, {}) as world:
        world.environment = {"ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": MASTER_KEY}
        [end] = turn_ends(world.run("Say it.", model=MODEL))
        assert_valid(world.session)
    assert (end.outcome, end.text, end.responses) == (Outcome.DONE, "It said from-a-tool.", 2)
    assert (end.session_usage[MODEL]["input_tokens"], end.session_usage[MODEL]["output_tokens"]) == (246, 18)
    told = backend.asked[-1]["messages"]
    assert [message["role"] for message in told] == ["system", "user", "assistant", "tool"]
    assert (told[-1]["content"], told[-1]["tool_call_id"]) == ("from-a-tool", told[-2]["tool_calls"][0]["id"])
