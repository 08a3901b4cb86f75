"""What the tests of traces share: sessions at hand and by hand, their spans, and a sender with a receiver on loopback.

In: paths of recorded sessions, or lines. Out: spans as the library maps them, spans as a receiver holds them, and what a reading
of the lines with `json` alone says should be in them: it shares no code with what is tested.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeVar

import pytest
from lab.otlp_sink import Keeps, OtlpSink, SinkSpan
from tests.corpora import FIXTURES
from tests.turns.independent_count import lines_of, message_id, model, owner, role, uses_of

from stenograph.config.traces import Destination, DestinationKind, TraceConfig
from stenograph.redact import Masker
from stenograph.testing.lines import Line
from stenograph.traces.delivery import Sender
from stenograph.traces.mapping import Mapper
from stenograph.traces.reading import Closing, Place, read_closed
from stenograph.traces.sending import Sent, SessionSender, resource_of
from stenograph.traces.spans import Span
from stenograph.traces.state import TraceState
from stenograph.traces.texts import Texts

S = TypeVar("S", Span, SinkSpan)
RECORDED = FIXTURES / "recorded"
#: The name of sessions that are made by hand.
SESSION = "5e551000-0000-4000-8000-000000000001"
#: 2026-01-01T10:00:00Z in seconds since 1970.
_TEN_O_CLOCK = 1_767_261_600


def at(seconds: float) -> str:
    """A line's time: so many seconds after ten o'clock."""
    return f"2026-01-01T10:{int(seconds) // 60:02}:{seconds % 60:06.3f}Z"


def ns(seconds: float) -> int:
    """The same time as a span has it."""
    return _TEN_O_CLOCK * 1_000_000_000 + round(seconds * 1000) * 1_000_000


def timed(seconds: float, line: Line) -> Line:
    return line | {"timestamp": at(seconds)}


def write(folder: Path, *lines: Line | str, name: str = SESSION) -> Path:
    """A session's file; a string is a line as it stands."""
    path = folder / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines), encoding="utf-8")
    return path


def write_agent(session: Path, agent_id: str, tool_use_id: str, *lines: Line, **meta: object) -> Path:
    """A sub-agent's file and its meta file, where 2.1.112 and later put them."""
    agent = session.parent / session.stem / "subagents" / f"agent-{agent_id}.jsonl"
    agent.parent.mkdir(parents=True, exist_ok=True)
    agent.write_text("".join(json.dumps(line | {"isSidechain": True, "agentId": agent_id}) + "\n" for line in lines), "utf-8")
    agent.with_suffix(".meta.json").write_text(json.dumps({"toolUseId": tool_use_id, **meta}), "utf-8")
    return agent


def recorded_sessions(*releases: str) -> list[Any]:
    """Every recorded session that is not an agent's file, as parameters; with releases, those of others in full runs only."""
    found = []
    for path in sorted(RECORDED.rglob("*.jsonl")):
        if "subagents" in path.parts or "agent-" in path.name:
            continue
        name = path.relative_to(RECORDED)
        marks = [pytest.mark.full] if releases and name.parts[0] not in releases else []
        found.append(pytest.param(path, id=name.as_posix(), marks=marks))
    return found


def mapped(path: Path, config: TraceConfig | None = None, closing: Closing = Closing.ENDED) -> list[list[Span]]:
    """The spans of each turn of a file, as they would be sent."""
    config = config or TraceConfig()
    mapper = Mapper(config, Texts(config.content, Masker() if config.redact else None))
    return [mapper.spans(traced) for group in read_closed(path, Place(), closing) for traced in group.traced]


def all_mapped(path: Path, config: TraceConfig | None = None) -> list[Span]:
    return [span for spans in mapped(path, config) for span in spans]


def kind_of(span: Span | SinkSpan) -> str:
    """`agent`, `generation`, `tool`, or `span` for a compaction."""
    return str(span.attributes["langfuse.observation.type"])


def of_kind(kind: str, spans: Iterable[S]) -> list[S]:
    return [span for span in spans if kind_of(span) == kind]


def said(span: Span | SinkSpan, what: str) -> Any:
    """`input`, `output`, `usage_details`, … as Langfuse reads it; None where it is not there."""
    found = span.attributes.get(f"langfuse.observation.{what}")
    return json.loads(found) if isinstance(found, str) and found.startswith(("{", "[")) else found


def words_of(span: Span | SinkSpan) -> str:
    """All that a span says, in one text."""
    events = [(event.name, event.attributes) for event in span.events]
    return json.dumps([span.name, span.status_message, span.attributes, events], ensure_ascii=False)


class Foreseen(NamedTuple):
    """What the lines of a family say, read with `json` alone."""

    #: Message id -> model and the greatest counts of its lines: input, output, cache read, written for 5 minutes, for an hour.
    responses: dict[str, tuple[str, list[int]]]
    tools: set[str]
    #: How many sub-agents there are: files, and beginnings of sidechains among the session's own lines (1.0).
    agents: int
    #: Boundaries, by uuid.
    compactions: set[str]


def foreseen(path: Path) -> Foreseen:
    own, agents = lines_of(path), agents_of(path)
    lines = own + [line for agent in agents for line in lines_of(agent)]
    responses: dict[str, tuple[str, list[int]]] = {}
    for line in lines:
        if role(line) == "assistant" and model(line) != "<synthetic>" and not line.get("isApiErrorMessage"):
            name = str(message_id(line))
            before = responses[name][1] if name in responses else [0] * 5
            counts = _counts(line["message"].get("usage") or {})
            responses[name] = (str(model(line)), [max(pair) for pair in zip(before, counts, strict=True)])
    inline = [line for line in own if line.get("isSidechain") and not line.get("parentUuid")]
    return Foreseen(
        responses,
        {use for line in lines for use in uses_of(line)},
        len(agents) + len(inline),
        {line["uuid"] for line in own if line.get("subtype") == "compact_boundary"},
    )


def _counts(usage: dict[str, Any]) -> list[int]:
    hour = (usage.get("cache_creation") or {}).get("ephemeral_1h_input_tokens", 0)
    written = usage.get("cache_creation_input_tokens") or 0
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens")
    return [*(usage.get(name) or 0 for name in names), written - hour, hour]


def counts_told(span: Span | SinkSpan) -> list[int]:
    """The same counts as a generation tells them to Langfuse."""
    details = said(span, "usage_details") or {}
    names = ("input", "output", "cache_read_input_tokens", "input_cache_creation_5m", "input_cache_creation_1h")
    return [details.get(name, 0) for name in names]


def summed(counts: Iterable[list[int]]) -> list[int]:
    return [sum(column) for column in zip([0] * 5, *counts, strict=True)]


class Desk:
    """A receiver, a state and a sender: what is needed to trace. A context manager.

    `later` is added to the clock: by default sub-agents' files were written long ago.
    """

    def __init__(
        self,
        folder: Path,
        *,
        keeps: Keeps = Keeps.LAST,
        later: float = 3600.0,
        config: TraceConfig | None = None,
        kind: DestinationKind = DestinationKind.OTLP,
    ) -> None:
        self._kind = kind
        self.sink = OtlpSink(keeps=keeps)
        self.folder = folder / "state"
        self.later = later
        self.config = config or TraceConfig()

    def __enter__(self) -> Self:
        self.sink.__enter__()
        self.destination = Destination("desk", self._kind, self.sink.endpoint)
        self.state = TraceState(self.folder)
        self.sender = Sender(self.destination, resource_of(self.config))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.sender.close()
        self.state.close()
        self.sink.__exit__(kind, error, trace)

    def send(self, path: Path, closing: Closing = Closing.ENDED) -> Sent:
        masker = Masker() if self.config.redact else None
        sessions = SessionSender(self.destination, self.config, self.state, self.sender, masker, self.now)
        return sessions.send(path, closing)

    def now(self) -> float:
        return time.time() + self.later

    @property
    def spans(self) -> list[SinkSpan]:
        return self.sink.spans

    def of_kind(self, kind: str) -> list[SinkSpan]:
        return of_kind(kind, self.spans)

    @property
    def roots(self) -> list[SinkSpan]:
        return [span for span in self.spans if not span.parent_id]

    @property
    def tokens(self) -> list[int]:
        return summed(counts_told(span) for span in self.of_kind("generation"))


def told(span: SinkSpan) -> tuple[Any, ...]:
    """What must not depend on when a session was read: ids, parent, name, times, tokens."""
    return (span.trace_id, span.span_id, span.parent_id, span.name, span.start_ns, span.end_ns, counts_told(span))


class Growing:
    """A copy of a recorded session that grows line by line, its sub-agents' files in step with it by their times."""

    def __init__(self, original: Path, folder: Path) -> None:
        self.path = folder / original.parent.name / original.name
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._lines = original.read_bytes().splitlines(keepends=True)
        self._agents: list[tuple[str, Path, bytes]] = []
        for agent in agents_of(original):
            copy = self.path.parent / agent.relative_to(original.parent)
            copy.parent.mkdir(parents=True, exist_ok=True)
            meta = agent.with_suffix(".meta.json")
            if meta.exists():
                copy.with_suffix(".meta.json").write_bytes(meta.read_bytes())
            self._agents += [(_time_of(line), copy, line) for line in agent.read_bytes().splitlines(keepends=True)]
        self._agents.sort(key=lambda each: each[0])

    def lines(self) -> Iterator[bytes]:
        """Each line after it was written, with those of sub-agents that are older; at last what sub-agents wrote later."""
        now = ""
        self.path.touch()
        for line in self._lines:
            now = max(now, _time_of(line))
            self._write_agents(now)
            with self.path.open("ab") as file:
                file.write(line)
            yield line
        self._write_agents("\x7f")

    def write_all(self) -> Path:
        for _ in self.lines():
            pass
        return self.path

    def _write_agents(self, now: str) -> None:
        while self._agents and self._agents[0][0] <= now:
            _, path, line = self._agents.pop(0)
            with path.open("ab") as file:
                file.write(line)


def agents_of(session: Path) -> list[Path]:
    """The files of a session's sub-agents, in whatever layout."""
    below = sorted((session.parent / session.stem).rglob("agent-*.jsonl"))
    beside = [path for path in sorted(session.parent.glob("agent-*.jsonl")) if owner(path, {session}) == session]
    return [*below, *beside]


def _time_of(line: bytes) -> str:
    return str(json.loads(line).get("timestamp") or "")
