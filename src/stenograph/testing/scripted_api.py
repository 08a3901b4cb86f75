"""A scripted stand-in for the Messages API, on a free port of loopback.

In: the requests of a client. Out: answers played from a script, and the requests, recorded. The script rides in the prompt
(`script_prompt`), so the server keeps no state between requests: the step to play is the number of assistant messages since
the prompt that carries it, and a subagent's prompt carries a script of its own. A prompt without a script gets a short
text. Knows nothing of sessions or files.

    with ScriptedApi() as api:
        run_client(program, home=home, cwd=cwd, args=["-p", "hi"], base_url=api.url)
        api.requests[0].body["messages"]
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import re
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self, TypeAlias

Json: TypeAlias = dict[str, Any]
#: What a step says, in order: {"think": str}, {"text": str} or {"tool": name, "input": {...}}.
Step: TypeAlias = Sequence[Json]

DEFAULT_ANSWER = "Scripted answer."
SCRIPT_OVER = "Nothing left in the script."
_SCRIPT = re.compile(r"SCRIPT:([A-Za-z0-9+/=]+):END")
#: Headers that hold a key; a record of a request goes without them.
_SECRET_HEADERS = frozenset({"x-api-key", "authorization"})


def script_prompt(steps: Sequence[Step], text: str = "") -> str:
    """A prompt that makes the API answer with these steps, one a request."""
    script = base64.b64encode(json.dumps(steps).encode()).decode()
    return f"{text} SCRIPT:{script}:END".lstrip()


@dataclass(frozen=True)
class Request:
    """One request to the Messages endpoint, without its key."""

    path: str
    headers: dict[str, str]
    body: Json


class LoopbackService:
    """A server on loopback that runs in a thread of its own; a context manager. `url` is its address."""

    scheme = "http"

    def __init__(self, server: ThreadingHTTPServer) -> None:
        self._server = server
        self._thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class ScriptedApi(LoopbackService):
    """The server; a context manager. `url` is the base address to give a client, `requests` what came in so far."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self._serial = itertools.count(1)
        api = self

        class Handler(MessagesHandler):
            def answer(self, request: Request, size: int) -> Json:
                api.requests.append(request)
                return build_message(choose_step(request.body), request.body, size, next(api._serial))

        super().__init__(LoopbackServer(("127.0.0.1", 0), Handler))


def choose_step(body: Json) -> Step:
    """The step to play for a request: as many as the assistant messages since the prompt with the script."""
    played = 0
    for message in reversed(body.get("messages", [])):
        if message["role"] == "assistant":
            played += 1
            continue
        scripts = [found for text in _texts(message["content"]) for found in _SCRIPT.findall(text)]
        if scripts:
            steps: list[Step] = json.loads(base64.b64decode(scripts[-1]))
            return steps[played] if played < len(steps) else [{"text": SCRIPT_OVER}]
    return [{"text": DEFAULT_ANSWER}]


def build_message(step: Step, body: Json, size: int, serial: int) -> Json:
    """The whole message of a step, as the API gives it without streaming."""
    digest = hashlib.sha256(f"{serial}".encode()).hexdigest()
    content: list[Json] = []
    for index, part in enumerate(step):
        if "think" in part:
            signature = base64.b64encode(f"signature {digest} {index}".encode()).decode()
            content.append({"type": "thinking", "thinking": part["think"], "signature": signature})
        elif "tool" in part:
            tool_id = "toolu_01" + hashlib.sha256(f"{digest} {index}".encode()).hexdigest()[:22]
            content.append({"type": "tool_use", "id": tool_id, "name": part["tool"], "input": part.get("input", {})})
        else:
            content.append({"type": "text", "text": part["text"]})
    calls_tool = any(block["type"] == "tool_use" for block in content)
    return {
        "id": "msg_01" + digest[:22],
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "claude"),
        "content": content,
        "stop_reason": "tool_use" if calls_tool else "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": max(1, size // 4),
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": max(1, len(json.dumps(content)) // 4),
            "service_tier": "standard",
        },
    }


def stream_events(message: Json) -> Iterator[tuple[str, Json]]:
    """The message as the API streams it: (event name, data) pairs."""
    start = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
    yield "message_start", {"message": start}
    for index, block in enumerate(message["content"]):
        empty, deltas = _stream_block(block)
        yield "content_block_start", {"index": index, "content_block": empty}
        for delta in deltas:
            yield "content_block_delta", {"index": index, "delta": delta}
        yield "content_block_stop", {"index": index}
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield "message_delta", {"delta": end, "usage": {"output_tokens": message["usage"]["output_tokens"]}}
    yield "message_stop", {}


def _stream_block(block: Json) -> tuple[Json, list[Json]]:
    """An empty block to start with, and the deltas that fill it."""
    if block["type"] == "text":
        deltas = [{"type": "text_delta", "text": part} for part in _halves(block["text"])]
        return {"type": "text", "text": ""}, deltas
    if block["type"] == "thinking":
        return {"type": "thinking", "thinking": "", "signature": ""}, [
            {"type": "thinking_delta", "thinking": block["thinking"]},
            {"type": "signature_delta", "signature": block["signature"]},
        ]
    deltas = [{"type": "input_json_delta", "partial_json": part} for part in _halves(json.dumps(block["input"]))]
    return {**block, "input": {}}, deltas


def _halves(text: str) -> list[str]:
    """Two deltas where there is enough for two, so that a client has to join them."""
    middle = len(text) // 2
    return [part for part in (text[:middle], text[middle:]) if part]


def _texts(content: str | list[Json]) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    else:
        yield from (block["text"] for block in content if block.get("type") == "text")


class LoopbackServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that ends drops its connections; that is no failure. Anything else is told as usual."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class MessagesHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body go out in two writes: the second would wait for the other side's delayed acknowledgement of the first.
    disable_nagle_algorithm = True

    def answer(self, request: Request, size: int) -> Json:
        raise NotImplementedError

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Say nothing on stderr."""

    def do_HEAD(self) -> None:
        self._send(200, "application/json", b"")

    def do_GET(self) -> None:
        self._send_json(404, _error("not_found_error"))

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = self.path.partition("?")[0]
        if path.endswith("/count_tokens"):
            self._send_json(200, {"input_tokens": max(1, len(raw) // 4)})
            return
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        if not isinstance(body, dict) or not path.endswith("/v1/messages"):
            self._send_json(404, _error("not_found_error"))
            return
        headers = {name.lower(): value for name, value in self.headers.items() if name.lower() not in _SECRET_HEADERS}
        message = self.answer(Request(path=self.path, headers=headers, body=body), len(raw))
        if not body.get("stream"):
            self._send_json(200, message)
            return
        events = (f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n" for name, data in stream_events(message))
        self._send(200, "text/event-stream", "".join(events).encode())

    def _send_json(self, status: int, value: Json) -> None:
        self._send(status, "application/json", json.dumps(value).encode())

    def _send(self, status: int, kind: str, data: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.send_header("request-id", "req_scripted")
        self.end_headers()
        self.wfile.write(data)


def _error(kind: str) -> Json:
    return {"type": "error", "error": {"type": kind, "message": "scripted"}}
