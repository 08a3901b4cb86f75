"""`python -m bench.agent_endpoint`: the scripted Messages endpoint that all agents of the bench talk to, and the clock beside it.

Prints its port and serves on loopback until its standard input ends. In a process of its own, so that what it costs is no part of
what is measured. What to play rides in the prompt (`play_prompt`), so the endpoint keeps nothing of a run but the times of its
requests, which `GET /times` gives out and forgets. Streams come as the API's do: chunked, a chunk for each event. Times are of
the system's monotonic clock, which all processes of a machine share. Knows nothing of agents: a request counts when it holds a
prompt with something to play, and tools; what else a client asks for, a title or a number of tokens, gets a short answer.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from bench.figures import ROOT
from stenograph.testing.scripted_api import Json, Step, build_message, stream_events

_PLAY = re.compile(rb"PLAY:([A-Za-z0-9+/=]+):END")
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
#: What is said of the size of every prompt, in characters: no agent shall compact in the middle of a measure.
_SIZE = 4000
_HEAD_END = b"\r\n\r\n"


class Play(msgspec.Struct, frozen=True):
    """What the endpoint answers to one prompt: a step again and again, each time after the results of the one before."""

    #: Parts as in `stenograph.testing.scripted_api`; `{n}` in them becomes the number of the request.
    step: list[Json] = []
    times: int = 0
    #: What is said at the end.
    end: list[Json] = msgspec.field(default_factory=lambda: [{"text": "Done."}])
    #: The end is one text of so many pieces, an event each.
    pieces: int = 0


class Asked(NamedTuple):
    """One request that a play answered."""

    #: The last byte of the request was there.
    arrived: float
    #: The last byte of the answer was given to the system.
    answered: float
    #: Bytes of its body.
    size: int
    #: Results at its end that say of themselves that the call failed.
    errors: int


def play_prompt(play: Play) -> str:
    return f"Play what is asked for. PLAY:{base64.b64encode(msgspec.json.encode(play)).decode()}:END"


class Endpoint(NamedTuple):
    url: str

    def take_times(self) -> list[Asked]:
        """The requests since the last call, in the order in which they came."""
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"{self.url}/times") as answer:
            return [Asked(*times) for times in json.load(answer)]


@contextlib.contextmanager
def agent_endpoint() -> Iterator[Endpoint]:
    command = [sys.executable, "-m", "bench.agent_endpoint"]
    # Leaving ends its input, and waits for it.
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None
        yield Endpoint(f"http://127.0.0.1:{int(process.stdout.readline())}")


def choose(body: Json) -> tuple[Step, int] | None:
    """The step to play for a request, with the pieces that its text comes in, or None where nothing is to be played."""
    if not body.get("tools"):
        return None
    played = 0
    for message in reversed(body["messages"]):
        if message["role"] == "assistant":
            played += 1
        elif message["role"] == "user" and (found := _PLAY.search(msgspec.json.encode(message["content"]))):
            play = msgspec.json.decode(base64.b64decode(found[1]), type=Play)
            if played < play.times:
                return json.loads(json.dumps(play.step).replace("{n}", str(played))), 0
            return play.end, play.pieces
    return None


def count_errors(body: Json) -> int:
    """Failed calls among the results that a request ends with."""
    content = body["messages"][-1]["content"]
    return 0 if isinstance(content, str) else sum(bool(block.get("is_error")) for block in content)


class _Connection(asyncio.Protocol):
    """One connection: requests one after the other, each with a length."""

    times: list[Asked] = []  # noqa: RUF012 - of all connections together
    serial = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport
        self._received = bytearray()
        self._needed = 0

    def data_received(self, data: bytes) -> None:
        self._received += data
        while len(self._received) >= self._needed:
            end = self._received.find(_HEAD_END)
            if end < 0:
                return
            head = bytes(self._received[:end])
            length = _LENGTH.search(head)
            self._needed = end + len(_HEAD_END) + (int(length[1]) if length else 0)
            if len(self._received) < self._needed:
                return
            arrived = time.monotonic()
            body = bytes(self._received[end + len(_HEAD_END) : self._needed])
            del self._received[: self._needed]
            self._needed = 0
            self._answer(head, body, arrived)

    def _answer(self, head: bytes, body: bytes, arrived: float) -> None:
        method, path = head.split(b" ", 2)[:2]
        path = path.partition(b"?")[0]
        if path == b"/times":
            self._send(b"application/json", msgspec.json.encode(_Connection.times))
            _Connection.times = []
        elif path.endswith(b"/count_tokens"):
            self._send(b"application/json", b'{"input_tokens":1000}')
        elif path.endswith(b"/v1/messages"):
            self._answer_message(msgspec.json.decode(body), len(body), arrived)
        else:
            self._send(b"application/json", b"" if method == b"HEAD" else b"{}")

    def _answer_message(self, request: Json, size: int, arrived: float) -> None:
        _Connection.serial += 1
        chosen = choose(request)
        step, pieces = chosen or ([{"text": "A short answer."}], 0)
        message = build_message(step, request, _SIZE, _Connection.serial)
        if request.get("stream"):
            self._send_stream(message, pieces)
        else:
            if pieces:
                message["content"] = [{"type": "text", "text": "word " * pieces}]
            self._send(b"application/json", msgspec.json.encode(message))
        if chosen is not None:
            _Connection.times.append(Asked(arrived, time.monotonic(), size, count_errors(request)))

    def _send_stream(self, message: Json, pieces: int) -> None:
        events = [_event(name, data) for name, data in stream_events(message)]
        if pieces:
            # In the place of the text's own, which stand between the first two events and the last three.
            events[2:-3] = [_long_text(pieces)]
        head = (
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nrequest-id: req_bench\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        self._transport.write(head + b"".join(events) + b"0\r\n\r\n")

    def _send(self, kind: bytes, data: bytes) -> None:
        head = b"HTTP/1.1 200 OK\r\ncontent-type: %b\r\nrequest-id: req_bench\r\ncontent-length: %d\r\n\r\n"
        self._transport.write(head % (kind, len(data)) + data)


def _event(name: str, data: Json) -> bytes:
    event = b"event: %b\ndata: %b\n\n" % (name.encode(), json.dumps({"type": name, **data}).encode())
    return b"%x\r\n%b\r\n" % (len(event), event)


@lru_cache(maxsize=1)
def _long_text(pieces: int) -> bytes:
    delta: dict[str, Any] = {"index": 0, "delta": {"type": "text_delta", "text": "word "}}
    return _event("content_block_delta", delta) * pieces


async def _serve() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(_Connection, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(_serve())
