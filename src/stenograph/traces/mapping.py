"""A turn -> the spans of its trace, with ids and times from the records alone: mapping a turn again gives the same spans.

Turn N                      agent; the root
  {model}                   generation, one per API response
  {tool}                    tool; beside the generations, or below the one that asked for it
    {agent's type}          agent, one per prompt of a subagent
      {model} …             at any depth
  compaction
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from msgspec import Struct

from stenograph.config import SpanLayout, TraceConfig
from stenograph.pricing import Cost, price_usage
from stenograph.records import AssistantRecord, ChainedRecord, Record, Usage, time_of
from stenograph.traces import attributes as words
from stenograph.traces.attributes import Response, TraceFacts
from stenograph.traces.spans import Attributes, Span, SpanEvent, SpanKind, SpanStatus, span_id_of, trace_id_of
from stenograph.traces.texts import Texts
from stenograph.turns import AgentRun, ApiCall, CallPart, Compaction, Status, ToolCall, Turn, is_synthetic, said_in

UNKNOWN_MODEL = "unknown"
#: Clients nest a few; Python's stack ends at some hundred.
DEEPEST_AGENT = 200

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: A signed 64-bit number, to the microsecond.
_LATEST = (2**63 - 1) // 1000 * 1000
# Events whose text may be sent: never a person's words.
_TELLABLE = frozenset({"retry", "hook", "model", "permission-mode", "turn-duration"})


class TracedTurn(Struct, frozen=True):
    turn: Turn
    session_id: str
    #: Subagents that began in it without a known caller.
    unlinked: tuple[AgentRun, ...] = ()


class Mapper:
    """How traces look; `counted` are responses whose tokens another trace has reported."""

    def __init__(self, config: TraceConfig, texts: Texts, counted: frozenset[str] = frozenset()) -> None:
        self._config = config
        self._texts = texts
        self._counted = counted

    def spans(self, traced: TracedTurn, at_work: frozenset[str] = frozenset()) -> list[Span]:
        """The spans of a turn, root first, without those of subagents that are still at work."""
        return _Trace(traced, self._config, self._texts, self._counted, at_work).spans()


def seed_of(turn: Turn) -> str:
    """The uuid of the opening, which copies keep (rule 52): a turn's identity."""
    record = turn.context.graph.records[turn.node]
    if not isinstance(record, ChainedRecord):
        return f"line {turn.node}"
    original = record.forkedFrom.get("messageUuid") if record.forkedFrom else None
    if isinstance(original, str) and original:
        return original
    # Lines of other tools may have no uuid.
    return record.uuid or f"{record.sessionId or ''} {record.timestamp or ''}"


class _Trace:
    def __init__(
        self, traced: TracedTurn, config: TraceConfig, texts: Texts, counted: frozenset[str], at_work: frozenset[str]
    ) -> None:
        self._traced = traced
        self._at_work = at_work
        self._config = config
        self._texts = texts
        self._counted = counted
        self._seed = seed_of(traced.turn)
        self._trace_id = trace_id_of(self._seed)
        self._root_id = self._id("turn")
        self._opening = traced.turn.context.graph.records[traced.turn.node]
        self._about = TraceFacts(
            trace_name=f"Turn {traced.turn.number}",
            session_id=traced.session_id,
            user=config.user,
            environment=config.environment,
            tags=config.tags,
            release=self._member("version"),
        )
        self._common = words.common(self._about)
        #: Subagents done, and the current depth.
        self._agents: set[str] = set()
        self._depth = 0
        #: Tools whose subagents are being mapped.
        self._inside: list[str] = []
        self._known_start = _nanoseconds(_first_moment(traced.turn))
        self._prompt = self._prompt_of(traced.turn)

    def spans(self) -> list[Span]:
        turn = self._traced.turn
        inside = list(self._conversation(turn, self._root_id, "", self._prompt))
        inside += [span for run in self._traced.unlinked for span in self._agent(run, self._root_id)]
        inside += [self._compaction(compaction) for compaction in turn.compactions]
        # A background subagent continues after the turn: its time does not count.
        root = self._root(max(_nanoseconds(_last_moment(turn)), self._known_start))
        return [root, *inside]

    def _root(self, end: int) -> Span:
        turn = self._traced.turn
        prompt = self._prompt
        answer = self._texts.answer(turn.answer)
        told = {
            **self._common,
            **words.trace(self._about, self._metadata(), prompt, answer),
            **words.agent(words.AGENT_NAME, prompt, answer),
        }
        status, message = SpanStatus.UNSET, ""
        if turn.status is not Status.DONE:
            level, message = _level(turn)
            told |= words.level(level, message)
            if turn.status is Status.FAILED:
                status = SpanStatus.ERROR
                told["error.type"] = _error_type(turn) or "api_error"
        return Span(
            trace_id=self._trace_id,
            span_id=self._root_id,
            parent_id=b"",
            name=self._about.trace_name,
            start_ns=self._known_start,
            end_ns=max(end, self._known_start),
            attributes=told,
            events=tuple(self._events()),
            status=status,
            status_message=message if status is SpanStatus.ERROR else "",
        )

    def _metadata(self) -> dict[str, str | int]:
        turn = self._traced.turn
        found: dict[str, str | int] = {
            "source": "claude-code",
            "turn_number": turn.number,
            "session_id": self._traced.session_id,
            "opened_by": turn.kind.value,
            "status": turn.status.value,
            "release": self._member("version"),
            "cwd": self._member("cwd"),
            "git_branch": self._member("gitBranch"),
            "permission_mode": self._member("permissionMode"),
            "entrypoint": self._member("entrypoint"),
            "slug": self._member("slug"),
        }
        if (took := turn.duration_ms) is not None:
            found["duration_ms"] = took
        return {name: value for name, value in found.items() if value != ""}

    def _conversation(self, turn: Turn, parent: bytes, whose: str, prompt: str) -> Iterator[Span]:
        first = True
        latest = _nanoseconds(_first_moment(turn)) or self._known_start
        for call in turn.calls:
            if call.part is CallPart.COPY:
                continue
            asked_by = parent
            given = [self._texts.tool_input(tool.input) for tool in call.tool_calls]
            if not call.is_synthetic and not call.is_api_error:
                generation = self._generation(call, parent, whose, prompt if first else "", given, latest)
                yield generation
                first, latest = False, generation.end_ns
                if self._config.shape is SpanLayout.NESTED:
                    asked_by = generation.span_id
            for tool, input_text in zip(call.tool_calls, given, strict=True):
                yield from self._tool(tool, input_text, asked_by, latest, turn)

    def _generation(self, call: ApiCall, parent: bytes, whose: str, prompt: str, given: list[str], latest: int) -> Span:
        """`given`: the inputs of its tool calls as text."""
        counted = call.part is not CallPart.WHOLE or call.message_id in self._counted or not _has_usage(call)
        response = Response(
            model=self._texts.name(call.model),
            asked_model=self._texts.name(next((record.requestedModel for record in call.records if record.requestedModel), "")),
            message_id=self._texts.name(call.message_id),
            request_id=self._texts.name(call.request_id),
            stop_reason=self._texts.name(call.stop_reason or ""),
            tool_count=len(call.tool_calls),
            tokens=None if counted else call.tokens,
            cost=None if counted else _cost_of(call),
        )
        name = self._texts.name
        asked = [(name(tool.id), name(tool.name), text) for tool, text in zip(call.tool_calls, given, strict=True)]
        end = _nanoseconds(call.ended) or latest
        key = call.message_id or _uuid_of(call.records[0])
        return Span(
            trace_id=self._trace_id,
            span_id=self._id("generation", whose, key),
            parent_id=parent,
            name=response.model or UNKNOWN_MODEL,
            kind=SpanKind.CLIENT,
            start_ns=min(_nanoseconds(call.started) or latest, end),
            end_ns=end,
            attributes={
                **self._common,
                **words.generation(response, prompt, self._texts.answer(call.text), self._texts.thinking(call.thinking), asked),
            },
        )

    def _tool(self, tool: ToolCall, given: str, parent: bytes, latest: int, turn: Turn) -> Iterator[Span]:
        start = _nanoseconds(tool.started) or latest
        end = max(_nanoseconds(tool.ended if tool.answered else _last_moment(turn)) or start, start)
        name = self._texts.name(tool.name)
        told = {
            **self._common,
            **words.tool(name, self._texts.name(tool.id), given, self._texts.tool_output(tool.result)),
        }
        status, message = SpanStatus.UNSET, ""
        if tool.is_error:
            status, message = SpanStatus.ERROR, "the tool failed or was denied"
            told |= {**words.level("ERROR", message), "error.type": "tool_error"}
        elif not tool.answered:
            told |= words.level("WARNING", "no result")
        line = _uuid_of(turn.context.graph.records[tool.use_node])
        # No span may be inside itself, whatever a file says.
        span_id = self._id("tool", tool.id, line) if tool.id in self._inside else self._id("tool", tool.id or line)
        yield Span(self._trace_id, span_id, parent, name, start, end, told, status=status, status_message=message)
        if tool.agent is not None:
            self._inside.append(tool.id)
            yield from self._agent(tool.agent, span_id)
            self._inside.pop()

    def _agent(self, run: AgentRun, parent: bytes) -> Iterator[Span]:
        """One span per prompt: a subagent may be asked again later."""
        # A file may claim that an agent started itself or its ancestor.
        if run.agent_id in self._at_work or run.agent_id in self._agents or self._depth >= DEEPEST_AGENT:
            return
        self._agents.add(run.agent_id)
        self._depth += 1
        name = self._texts.name(run.agent_type) or "agent"
        agent_id = _lasting_id(run)
        for place, turn in enumerate(run.turns):
            span_id = self._id("agent", agent_id, _uuid_of(turn.context.graph.records[turn.node]))
            start = _nanoseconds(_first_moment(turn)) or self._known_start
            prompt = self._prompt_of(turn) or (self._texts.prompt(run.asked) if not place else "")
            told = {**self._common, **words.agent(name, prompt, self._texts.answer(turn.answer))}
            told["langfuse.observation.metadata.agent_id"] = agent_id
            if run.description:
                told["langfuse.observation.metadata.description"] = self._texts.prompt(run.description)
            if run.background:
                told["langfuse.observation.metadata.background"] = True
            if turn.status is not Status.DONE:
                told |= words.level(*_level(turn))
            if self._depth == DEEPEST_AGENT and turn.agent_runs:
                told["langfuse.observation.metadata.left_out"] = "subagents of this one: nested too deeply"
            end = max(_nanoseconds(_last_moment(turn)), start)
            yield Span(self._trace_id, span_id, parent, name, start, end, told)
            yield from self._conversation(turn, span_id, agent_id, prompt)
        self._depth -= 1

    def _compaction(self, compaction: Compaction) -> Span:
        end = _nanoseconds(compaction.at) or self._known_start
        metadata = compaction.record.compactMetadata or None
        took = (metadata.durationMs or 0) if metadata else 0
        start = max(0, end - int(took * 1_000_000)) if 0 < took < 1e9 else end
        told = words.compaction(
            self._texts.name(compaction.trigger),
            compaction.tokens_before,
            compaction.tokens_after,
            self._texts.answer(compaction.summary),
        )
        return Span(
            self._trace_id,
            self._id("compaction", compaction.record.uuid or ""),
            self._root_id,
            "compaction",
            start,
            end,
            {**self._common, **told},
        )

    def _events(self) -> Iterator[SpanEvent]:
        turn = self._traced.turn
        for event in turn.events:
            told: Attributes = {"what": self._texts.name(event.what)} if event.what and event.kind in _TELLABLE else {}
            yield SpanEvent(event.kind, _nanoseconds(event.at) or self._known_start, told)
        for interjection in turn.interjections:
            record = turn.context.graph.records[interjection.node]
            text = self._texts.prompt(interjection.text)
            yield SpanEvent("interjection", _moment_of(record) or self._known_start, {"text": text} if text else {})

    def _prompt_of(self, turn: Turn) -> str:
        return self._texts.prompt(turn.prompt)

    def _member(self, name: str) -> str:
        value = getattr(self._opening, name, None) if isinstance(self._opening, ChainedRecord) else None
        return self._texts.name(value) if isinstance(value, str) else ""

    def _id(self, *parts: str) -> bytes:
        return span_id_of(" ".join((self._seed, *parts)))


def _lasting_id(run: AgentRun) -> str:
    """Agents within the session's own lines (1.0) are named by a line number, which depends on where reading began."""
    if run.path is None and run.turns and run.agent_id.startswith("line-"):
        return _uuid_of(run.turns[0].context.graph.records[run.turns[0].node]) or run.agent_id
    return run.agent_id


def _level(turn: Turn) -> tuple[str, str]:
    """Langfuse's level, and why."""
    if turn.status is Status.FAILED:
        return "ERROR", "the API failed"
    return "WARNING", "interrupted" if turn.is_over else "no answer"


def _has_usage(call: ApiCall) -> bool:
    """Without any usage nothing is reported, which is not the same as zero."""
    return any(record.message and isinstance(record.message.usage, Usage) for record in call.records)


def _cost_of(call: ApiCall) -> Cost | None:
    """By its dearest line, as a session's cost is counted."""
    costs = [
        price_usage(usage, record.requestedModel or call.model)
        for record in call.records
        if record.message and isinstance(usage := record.message.usage, Usage)
    ]
    return max(costs, key=lambda cost: cost.usd, default=None)


def _error_type(turn: Turn) -> str:
    """The client's own word for the failure, such as `rate_limit`."""
    for call in reversed(turn.calls):
        if call.is_api_error:
            found = next((word for record in call.records if isinstance(word := record.error, str)), "")
            return found if found.isidentifier() else ""
    return ""


def _first_moment(turn: Turn) -> datetime | None:
    if started := turn.started:
        return started
    records = turn.context.graph.records
    return next((at for node in turn.nodes if (at := time_of(records[node]))), None)


def _last_moment(turn: Turn) -> datetime | None:
    """Without what the client makes up when it resumes, days later."""
    records = turn.context.graph.records
    said = (records[node] for node in said_in(turn.context, turn.nodes))
    times = (time_of(record) for record in said if not (isinstance(record, AssistantRecord) and is_synthetic(record)))
    return max((at for at in times if at), default=None)


def _moment_of(record: Record) -> int:
    return _nanoseconds(time_of(record))


def _nanoseconds(at: datetime | None) -> int:
    """Since 1970; 0 for no time. Capped at 2262: MLflow fails for good at later times."""
    if at is None:
        return 0
    passed = at - _EPOCH
    return min(max(0, ((passed.days * 86_400 + passed.seconds) * 1_000_000 + passed.microseconds) * 1000), _LATEST)


def _uuid_of(record: object) -> str:
    if isinstance(record, ChainedRecord):
        return record.uuid or record.timestamp or ""
    return ""
