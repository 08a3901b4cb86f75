"""A real client with our hooks in its settings, a scripted API before it and a receiver behind it.

In: the program of a client and scenes to play. Out: what the API answered, as it answered it, and what the receiver holds once
the worker has gone. The hooks are those that `steno trace install` writes. Nothing is read from transcripts, but in the terminal
to see that a step is over.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from lab.clients import client_environment, run_client
from lab.observatory.scenes import Say
from lab.observatory.stage import Stage
from lab.observatory.studio import Studio
from lab.otlp_sink import OtlpSink, SinkSpan
from tests.cli.running import SOURCE
from tests.traces.tracing import kind_of, of_kind, said

from stenograph.testing.scripted_api import Json
from stenograph.traces.folder import is_held, waiting_events

#: Seconds; a worker is done in two or three, on a busy machine in ten.
PATIENCE = 60.0
_CONFIG = '[[trace.destinations]]\nname = "sink"\nurl = "{url}"\n'


class Recorder(Stage):
    """A stage that keeps what it answered in conversations; titles and summaries, which come without tools, are not kept."""

    def __init__(self) -> None:
        super().__init__()
        self.answers: list[Json] = []
        #: Ids of answers to agents that 2.0.76 starts on its own account; it does not always wait for them.
        self.warmups: set[str] = set()

    def _build(self, answer: Say, body: Json) -> Json:
        message = super()._build(answer, body)
        if body.get("tools"):
            self.answers.append(message)
        elif "Warmup" in str(body["messages"][-1]["content"]):
            self.warmups.add(message["id"])
        return message


class Live:
    """A context manager: a studio with hooks in its settings, and a receiver. `variables` are what the client gets beside."""

    def __init__(self, program: Path, release: str, scratch: Path, *, by_variables: bool = False) -> None:
        self.studio = Studio(program, release, scratch)
        self.studio.stage._server.server_close()  # another plays in its place
        self.api = self.studio.stage = Recorder()
        self.sink = OtlpSink()
        self.by_variables = by_variables
        self.variables: dict[str, str] = {}

    def __enter__(self) -> Self:
        self.studio.__enter__()
        self.sink.__enter__()
        if self.by_variables:
            self.variables = {"STENO_TRACE_URL": self.sink.url}
        else:
            config = self.studio.home / ".config" / "stenograph" / "config.toml"
            config.parent.mkdir(parents=True)
            config.write_text(_CONFIG.format(url=self.sink.url), encoding="utf-8")
        self.steno("trace", "install", "--apply")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            self.wait_for_worker()
        finally:
            self.sink.__exit__(kind, error, trace)
            self.studio.__exit__(kind, error, trace)

    def steno(self, *args: str) -> bytes:
        """Run a command of ours as the user of that home, with the client on the path."""
        environment = client_environment(self.studio.home, self.api.url)
        environment["PATH"] = os.pathsep.join((str(self.studio.program.parent), environment["PATH"]))
        environment["PYTHONPATH"] = str(SOURCE)
        done = subprocess.run(
            [sys.executable, "-m", "stenograph", *args],
            cwd=self.studio.project,
            env={**environment, **self.variables},
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def run(self, prompt: str, *args: str, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[bytes]:
        """One prompt in print mode. It ends, and whoever waits for its output is not kept waiting by a worker."""
        return run_client(
            self.studio.program,
            home=self.studio.home,
            cwd=self.studio.project,
            args=["-p", prompt, *args],
            base_url=self.api.url,
            extra_environment={**self.variables, **(environment or {})},
        )

    @property
    def folder(self) -> Path:
        return self.studio.home / ".local" / "state" / "stenograph" / "traces"

    def wait_for_worker(self) -> None:
        """Until no event waits and nobody works; a hook may still be on its way when its client has ended."""
        deadline = time.monotonic() + PATIENCE
        idle_since = None
        while time.monotonic() < deadline:
            if waiting_events(self.folder) or not self.folder.exists() or is_held(self.folder):
                idle_since = None
            elif idle_since is None:
                idle_since = time.monotonic()
            elif time.monotonic() - idle_since > 1.0:
                return
            time.sleep(0.1)
        raise AssertionError("the worker did not end, or never began")

    def wait_for_roots(self, count: int) -> list[SinkSpan]:
        """The roots in the order in which their turns began, once there are so many and the worker has gone."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and len(self.roots) < count:
            time.sleep(0.1)
        self.wait_for_worker()
        assert len(self.roots) == count
        return self.roots

    @property
    def roots(self) -> list[SinkSpan]:
        return sorted((span for span in self.sink.spans if not span.parent_id), key=lambda span: span.start_ns)

    def below(self, parent: SinkSpan, kind: str = "") -> list[SinkSpan]:
        """The spans under one, of a kind, in the order of their times."""
        found = [span for span in self.sink.spans if (span.trace_id, span.parent_id) == (parent.trace_id, parent.span_id)]
        return sorted(of_kind(kind, found) if kind else found, key=lambda span: (span.start_ns, span.end_ns))

    def without_warmups(self, spans: Sequence[SinkSpan]) -> list[SinkSpan]:
        """Without agents that 2.0.76 starts on its own account: which turn they are told with depends on who saw them first."""
        kept = [span for span in spans if span.attributes.get("gen_ai.response.id") not in self.api.warmups]
        return [span for span in kept if texts([span], "input") != ["Warmup"]]

    def assert_all_answers_arrived(self) -> None:
        """Each response that the API gave is one generation, with its words and its tokens; nothing came twice."""
        held = {span.attributes["gen_ai.response.id"]: span for span in of_kind("generation", self.sink.spans)}
        assert len(of_kind("generation", self.sink.spans)) == len(held)
        assert sorted(held.keys() - self.api.warmups) == sorted(message["id"] for message in self.api.answers)
        for message in self.api.answers:
            span = held[message["id"]]
            assert usage_told(span) == usage_written(message, self.studio.release)
            assert (said(span, "output") or {}).get("content", "") == words_in(message)
        parents = {(span.trace_id, span.span_id) for span in self.sink.spans}
        assert all((span.trace_id, span.parent_id) in parents for span in self.sink.spans if span.parent_id)


def usage_written(message: Json, release: str) -> dict[str, int]:
    """What the API reported, by the names that receivers know, as far as the client wrote it down."""
    usage = message["usage"]
    # 2.1.45 writes the count that a stream begins with, and never the one that it ends with.
    output = 1 if release == "2.1.45" else usage["output_tokens"]
    return {
        "input": usage["input_tokens"],
        "output": output,
        "cache_read_input_tokens": usage["cache_read_input_tokens"],
        "input_cache_creation_5m": usage["cache_creation_input_tokens"],
    }


def usage_told(span: SinkSpan) -> dict[str, int]:
    told: dict[str, int] = said(span, "usage_details")
    return {name: count for name, count in told.items() if name != "total"}


def words_in(message: Json) -> str:
    return "\n".join(block["text"] for block in message["content"] if block["type"] == "text")


def texts(spans: Sequence[SinkSpan], what: str = "output") -> list[Any]:
    """The texts that spans have as input or output."""
    found = [said(span, what) for span in spans]
    return [text["content"] if isinstance(text, dict) and "content" in text else text for text in found]


def outline(live: Live, span: SinkSpan) -> list[Any]:
    """A span and what is below it: kind and name, and so on; without agents that the client started on its own account. Models
    are called `model`."""
    name = "model" if kind_of(span) == "generation" else span.name
    return [
        f"{kind_of(span)} {name}",
        *(outline(live, each) for each in live.below(span) if texts([each], "input") != ["Warmup"]),
    ]
