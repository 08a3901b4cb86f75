"""The Messages API of a scenario, on a free port of loopback: it plays scenes, and remembers which tools it was shown.

In: scenes, and the requests of a client. Out: answers, streamed or whole; statuses, slow streams and streams that break where
a scene says so. The step to play is the number of assistant messages since the prompt that names the scene. Requests a client
makes on its own account (titles, summaries, searches) get an answer of the form they ask for. Knows nothing of sessions.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

from lab.observatory.scenes import Fail, Say, Scene, Step, cued_scene, say, text
from lab.observatory.schemas import smallest_value
from stenograph.testing.scripted_api import Json, LoopbackServer, LoopbackService, MessagesHandler, stream_events

DEFAULT_ANSWER = "Scripted answer."
_DEFAULT = say(text(DEFAULT_ANSWER))
_OVER = say(text("Nothing left in the scene."))
_SUMMARY = say(text("<analysis>Scripted analysis.</analysis>\n\n<summary>\n1. Primary Request: scripted.\n</summary>"))


class Stage(LoopbackService):
    """The server; a context manager. `url` is the base address to give a client."""

    def __init__(self) -> None:
        self.requests: list[Json] = []
        #: Each request that was answered, with the message and what it was made from.
        self.answered: list[tuple[Json, Json, Say]] = []
        #: Every text that was said, so that what comes from us can be told from what comes from the vendor.
        self.spoken: set[str] = set()
        self._scenes: dict[str, Scene] = {}
        self._answers: list[tuple[Callable[[Json], bool], Say | Fail]] = []
        self._failures: Counter[Hashable] = Counter()
        self._played: Counter[str] = Counter()
        self._serial = itertools.count(1)
        self._lock = threading.Lock()
        stage = self

        class Handler(_StageHandler):
            def choose(self, body: Json) -> Say | Fail:
                return stage._choose(body)

            def build(self, answer: Say, body: Json) -> Json:
                return stage._build(answer, body)

        super().__init__(LoopbackServer(("127.0.0.1", 0), Handler))

    def add(self, name: str, scene: Scene) -> None:
        self._scenes[name] = scene

    def answer_when(self, predicate: Callable[[Json], bool], answer: Say | Fail) -> None:
        """Give this answer to every request of which the predicate holds, whatever its scene; of several the one added first."""
        self._answers.append((predicate, answer))

    def _choose(self, body: Json) -> Say | Fail:
        with self._lock:
            self.requests.append(body)
            for number, (predicate, answer) in enumerate(self._answers):
                if predicate(body):
                    return self._fail_or_then(number, answer) if isinstance(answer, Fail) else answer
            own = _own_account(body)
            if own is not None:
                return own
            name, played = _place(body)
            if name is None or name not in self._scenes:
                return _DEFAULT
            scene = self._scenes[name]
            if callable(scene):
                scene = self._scenes[name] = scene(body)
            steps: Sequence[Step] = scene
            step = steps[played] if played < len(steps) else _OVER
            self._played[name] = max(self._played[name], played + 1)
            if isinstance(step, Fail):
                return self._fail_or_then((name, played), step)
        return step(body) if callable(step) else step

    def _fail_or_then(self, place: Hashable, step: Fail) -> Say | Fail:
        self._failures[place] += 1
        return step if self._failures[place] <= step.times else step.then

    def asked_for(self, scene: str) -> bool:
        """Whether a request belonged to a scene."""
        return self._played[scene] > 0

    def wait_for_end(self, scene: str, timeout: float = 15.0) -> None:
        """Wait until the last step of another scene was asked for, and a little more for the client to take it in."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            steps = self._scenes[scene]
            if not callable(steps) and self._played[scene] >= len(steps):
                break
            time.sleep(0.05)
        time.sleep(0.8)

    def _build(self, answer: Say, body: Json) -> Json:
        """The whole message of an answer, as the API gives it without streaming."""
        digest = hashlib.sha256(f"{next(self._serial)}".encode()).hexdigest()
        content = [_finish_block(block, digest, index) for index, block in enumerate(answer.blocks)]
        with self._lock:
            self.spoken.update(_strings(content))
        calls_tool = any(block["type"] == "tool_use" for block in content)
        message = {
            "id": "msg_01" + digest[:22],
            "type": "message",
            "role": "assistant",
            "model": body.get("model", "claude"),
            "content": content,
            "stop_reason": answer.stop_reason or ("tool_use" if calls_tool else "end_turn"),
            "stop_sequence": None,
            "usage": {
                "input_tokens": 3,
                "cache_creation_input_tokens": 100,
                "cache_read_input_tokens": 1000,
                "cache_creation": {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 0},
                "output_tokens": max(5, len(json.dumps(content)) // 4),
                "service_tier": "standard",
                **answer.usage,
            },
        }
        with self._lock:
            self.answered.append((body, message, answer))
        return message


def _finish_block(block: Json, digest: str, index: int) -> Json:
    """A block as the API sends it, with the id or signature that only the API can give."""
    own = hashlib.sha256(f"{digest} {index}".encode()).hexdigest()
    match block["type"]:
        case "thinking":
            return {**block, "signature": base64.b64encode(f"signature {own}".encode()).decode()}
        case "tool_use":
            return {"type": "tool_use", "id": "toolu_01" + own[:22], "name": block["name"], "input": block["input"]}
    return dict(block)


def _place(body: Json) -> tuple[str | None, int]:
    """The scene a request belongs to, and how many of its steps were played."""
    played = 0
    between: list[Json] = []
    for message in reversed([{"role": "assistant"}, *body.get("messages", [])]):
        if message["role"] != "assistant":
            between.insert(0, message)
        elif (name := _cue_of(between)) is not None:
            return name, played
        else:
            played, between = played + 1, []
    return None, 0


def _cue_of(messages: Sequence[Json]) -> str | None:
    """The scene named between two answers: in a person's words rather than in reminders, which may repeat old prompts."""
    texts = [(message["role"], words) for message in messages for words in _message_texts(message)]
    own = [words for role, words in texts if role == "user" and not words.startswith("<system-reminder>")]
    return cued_scene("\n".join(own)) or cued_scene("\n".join(words for _, words in texts))


def _own_account(body: Json) -> Say | None:
    """The answer to a request that no prompt asked for: a summary, a title, a search; None for one of the conversation."""
    messages = body.get("messages", [])
    last = "\n".join(_message_texts(messages[-1])) if messages else ""
    if "detailed summary of" in last:
        return _SUMMARY
    tools = body.get("tools") or []
    if any(str(one.get("type", "")).startswith("web_search") for one in tools):
        return _search_answer()
    wanted = (body.get("output_config") or {}).get("format") or body.get("output_format") or {}
    if not tools and wanted.get("type") == "json_schema":
        return say(text(json.dumps(smallest_value(wanted.get("schema", {})))))
    if not tools:
        return say(text(json.dumps({"isNewTopic": True, "title": "Scripted title"})))
    return None


def _search_answer() -> Say:
    found = {
        "type": "web_search_result",
        "title": "Found page",
        "url": "https://example.com/",
        "encrypted_content": "ZW5j",
        "page_age": None,
    }
    return say(
        text("Searching."),
        {"type": "server_tool_use", "id": "srvtoolu_01", "name": "web_search", "input": {"query": "scripted"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_01", "content": [found]},
        text("Found it."),
    )


def _message_texts(message: Json) -> list[str]:
    content = message["content"]
    return [content] if isinstance(content, str) else [block["text"] for block in content if block.get("type") == "text"]


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from itertools.chain.from_iterable(map(_strings, value.values()))
    elif isinstance(value, list | tuple):
        yield from itertools.chain.from_iterable(map(_strings, value))


def _events(message: Json) -> Iterator[tuple[str, Json]]:
    """The message as the API streams it. Blocks of the server's own tools come whole in their first event."""
    deltas = {"text", "thinking", "tool_use"}
    plain = {**message, "content": [block for block in message["content"] if block["type"] in deltas]}
    if len(plain["content"]) == len(message["content"]):
        yield from stream_events(message)
        return
    parts = {id(block): list(stream_events({**message, "content": [block]}))[1:-2] for block in plain["content"]}
    whole = list(stream_events({**message, "content": []}))
    yield whole[0]
    for index, block in enumerate(message["content"]):
        if id(block) in parts:
            for name, data in parts[id(block)]:
                yield name, {**data, "index": index}
        else:
            yield "content_block_start", {"index": index, "content_block": block}
            yield "content_block_stop", {"index": index}
    yield from whole[-2:]


class _StageHandler(MessagesHandler):
    def choose(self, body: Json) -> Say | Fail:
        raise NotImplementedError

    def build(self, answer: Say, body: Json) -> Json:
        raise NotImplementedError

    def do_POST(self) -> None:  # noqa: N802 - the name is the base class's
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = self.path.partition("?")[0]
        if path.endswith("/count_tokens"):
            self._send_json(200, {"input_tokens": max(1, len(raw) // 4)})
            return
        if not path.endswith("/v1/messages"):
            self._send_json(404, {"type": "error", "error": {"type": "not_found_error", "message": "scripted"}})
            return
        body: Json = json.loads(raw)
        answer = self.choose(body)
        if isinstance(answer, Fail):
            self._send_json(answer.status, {"type": "error", "error": {"type": answer.kind, "message": answer.message}})
            return
        if answer.delay:
            time.sleep(answer.delay)
        message = self.build(answer, body)
        if body.get("stream"):
            self._stream(answer, message)
        else:
            self._send_json(200, message)

    def _stream(self, answer: Say, message: Json) -> None:
        events = [_wire(name, data) for name, data in _in_pieces(_events(message), answer.piece)]
        if answer.overloaded_after is not None:
            events = events[: answer.overloaded_after]
            events.append(_wire("error", {"error": {"type": "overloaded_error", "message": "Overloaded"}}))
        events = events[: answer.cut_after]
        if not answer.pause and answer.cut_after is None:
            self._send(200, "text/event-stream", b"".join(events))
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("request-id", "req_scripted")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for event in events:
            self.wfile.write(event)
            self.wfile.flush()
            time.sleep(answer.pause)


def _in_pieces(events: Iterator[tuple[str, Json]], size: int | None) -> Iterator[tuple[str, Json]]:
    for name, data in events:
        words = data.get("delta", {}).get("text", "")
        if size is None or not words:
            yield name, data
            continue
        for start in range(0, len(words), size):
            yield name, {**data, "delta": {**data["delta"], "text": words[start : start + size]}}


def _wire(name: str, data: dict[str, Any]) -> bytes:
    return f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n".encode()
