"""What the real receivers make of OTLP requests: the facts behind docs/tracing-receivers.md, asked of the servers.

Expected numbers are counted by hand from what is posted; prices are the vendor's for the model ($3 and $15 a million, cache
reads 0.1, five-minute writes 1.25 and one-hour writes 2 times the input).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from urllib.error import HTTPError

import pytest
from lab.receivers import MLflow, Phoenix, ReceivedSession, ReceivedSpan, ReceivedTrace
from tests.traces.otlp_by_hand import PROJECT, SpanByHand, Value, id_of, request_of

pytestmark = pytest.mark.receivers

#: 2025-02-19 21:20:00.123456789: history, and no whole microsecond.
START_NS = 1_740_000_000_123_456_789
SECOND = 1_000_000_000
MODEL = "claude-sonnet-4-5-20250929"

AGENT: dict[str, Value] = {
    "openinference.span.kind": "AGENT",
    "langfuse.observation.type": "agent",
    "gen_ai.operation.name": "invoke_agent",
}
TOOL: dict[str, Value] = {
    "openinference.span.kind": "TOOL",
    "langfuse.observation.type": "tool",
    "gen_ai.operation.name": "execute_tool",
}


def generation(plain: int, cache_read: int, cache_write: int, output: int) -> dict[str, Value]:
    """The attributes of a response in three families. The prompt of the last two holds the cached tokens as well."""
    prompt = plain + cache_read + cache_write
    usage = {
        "input": plain,
        "output": output,
        "cache_read_input_tokens": cache_read,
        "input_cache_creation_5m": cache_write,
    }
    return {
        "langfuse.observation.type": "generation",
        "langfuse.observation.usage_details": json.dumps(usage),
        "openinference.span.kind": "LLM",
        "llm.provider": "anthropic",
        "llm.model_name": MODEL,
        "llm.token_count.prompt": prompt,
        "llm.token_count.completion": output,
        "llm.token_count.total": prompt + output,
        "llm.token_count.prompt_details.cache_read": cache_read,
        "llm.token_count.prompt_details.cache_write": cache_write,
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": MODEL,
        "gen_ai.usage.input_tokens": prompt,
        "gen_ai.usage.output_tokens": output,
        "gen_ai.usage.cache_read.input_tokens": cache_read,
        "gen_ai.usage.cache_write.input_tokens": cache_write,
        "gen_ai.usage.cache_creation.input_tokens": cache_write,
    }


def turn(trace: str, tools_under: str = "turn") -> list[SpanByHand]:
    """A turn with a generation, a tool that runs a sub-agent, its generation, and a tool that failed."""
    of_trace: dict[str, Value] = {"session.id": "a-session", "user.id": "a-user", "tag.tags": ["one", "two"]}

    def span(name: str, parent: str, start: int, end: int, attributes: dict[str, Value], is_error: bool = False) -> SpanByHand:
        return SpanByHand(
            trace, name, parent, START_NS + start * SECOND, START_NS + end * SECOND, {**of_trace, **attributes}, is_error
        )

    said: dict[str, Value] = {"input.value": "do it", "output.value": "done"}
    return [
        span("turn", "", 0, 10, AGENT | said),
        span("first answer", "turn", 0, 2, generation(100, 1000, 100, 10)),
        span("Agent", tools_under, 2, 8, TOOL | {"tool.name": "Agent", "gen_ai.tool.name": "Agent"}),
        span("sub-agent", "Agent", 3, 7, AGENT),
        span("its answer", "sub-agent", 3, 6, generation(10, 0, 0, 5)),
        span("Bash", "sub-agent", 6, 7, TOOL | {"tool.name": "Bash", "gen_ai.tool.name": "Bash"}, is_error=True),
    ]


@dataclass(frozen=True)
class Held:
    """A receiver without the differences of its readers."""

    post: Callable[[bytes], None]
    spans: Callable[[], list[ReceivedSpan]]
    traces: Callable[[], list[ReceivedTrace]]
    sessions: Callable[[], list[ReceivedSession]]
    #: What it keeps of START_NS.
    start_ns: int

    def post_all(self, *batches: Iterable[SpanByHand]) -> None:
        for batch in batches:
            self.post(request_of(batch))

    def wait_for(self, name: str) -> None:
        """Phoenix acknowledges what it has not read yet; it stores the spans of a request in their order."""
        deadline = time.monotonic() + 30.0
        while name not in {span.name for span in self.spans()}:
            assert time.monotonic() < deadline, name

    def by_name(self) -> dict[str, ReceivedSpan]:
        spans = self.spans()
        assert len({span.name for span in spans}) == len(spans)
        return {span.name: span for span in spans}


def held_by_phoenix(phoenix: Phoenix) -> Held:
    def settled() -> str:
        phoenix.settle()
        return PROJECT

    return Held(
        phoenix.post,
        lambda: phoenix.spans(settled()),
        lambda: phoenix.traces(settled()),
        lambda: phoenix.sessions(settled()),
        start_ns=1_740_000_000_123_457_000,
    )


def held_by_mlflow(mlflow: MLflow) -> Held:
    return Held(mlflow.post, mlflow.spans, mlflow.traces, mlflow.sessions, start_ns=START_NS)


@pytest.fixture(params=["phoenix", "mlflow"])
def held(request: pytest.FixtureRequest) -> Held:
    server = request.getfixturevalue(request.param)
    return held_by_phoenix(server) if isinstance(server, Phoenix) else held_by_mlflow(server)


def test_spans_come_back_with_their_ids_nesting_times_kinds_and_failures(held: Held) -> None:
    posted = turn("a")
    held.post_all(posted)
    found = held.by_name()
    assert found.keys() == {span.name for span in posted}
    for span in posted:
        back = found[span.name]
        ids = (back.trace_id, back.span_id, back.parent_id)
        assert ids == (span.trace_id.hex(), span.span_id.hex(), span.parent_id.hex()), span.name
        assert back.start_ns == span.start_ns - START_NS + held.start_ns, span.name
        assert back.end_ns == span.end_ns - START_NS + held.start_ns, span.name
        assert back.kind == span.attributes["openinference.span.kind"]
        assert (back.status, back.status_message) == (("ERROR", "it failed") if span.is_error else ("UNSET", ""))


def test_tokens_and_money_are_counted_for_each_response(held: Held) -> None:
    held.post_all(turn("a"))
    found = held.by_name()
    counted = {name: (span.input_tokens, span.output_tokens) for name, span in found.items() if span.input_tokens is not None}
    assert counted == {"first answer": (1200, 10), "its answer": (10, 5)}
    # 100 x $3 + 1000 x $0.30 + 100 x $3.75 + 10 x $15, and 10 x $3 + 5 x $15, a million
    assert found["first answer"].cost == pytest.approx(0.001125)
    assert found["its answer"].cost == pytest.approx(0.000105)


def test_a_trace_has_the_tokens_and_the_money_of_its_sub_agent_where_tools_stand_beside_responses(held: Held) -> None:
    held.post_all(turn("a"))
    (trace,) = held.traces()
    assert trace.trace_id == turn("a")[0].trace_id.hex()
    assert (trace.input_tokens, trace.output_tokens) == (1210, 15)
    assert trace.cost == pytest.approx(0.001230)
    assert (trace.session_id, trace.end_ns - trace.start_ns) == ("a-session", 10 * SECOND)
    assert (trace.input.strip('"'), trace.output.strip('"')) == ("do it", "done")


def test_phoenix_adds_up_the_tokens_of_tools_under_responses(phoenix: Phoenix) -> None:
    held = held_by_phoenix(phoenix)
    held.post_all(turn("a", tools_under="first answer"))
    (trace,) = held.traces()
    assert (trace.input_tokens, trace.output_tokens) == (1210, 15)
    assert trace.cost == pytest.approx(0.001230)


def test_mlflow_leaves_out_everything_below_a_span_that_has_tokens(mlflow: MLflow) -> None:
    held = held_by_mlflow(mlflow)
    held.post_all(turn("a", tools_under="first answer"))
    (trace,) = held.traces()
    assert (trace.input_tokens, trace.output_tokens) == (1200, 10)
    assert trace.cost == pytest.approx(0.001125)


def test_what_is_posted_twice_is_held_once(held: Held) -> None:
    held.post_all(turn("a"))
    held.post_all([*turn("a"), SpanByHand("b", "last", "", START_NS + SECOND, START_NS + 2 * SECOND)])
    held.wait_for("last")
    assert len(held.spans()) == len(turn("a")) + 1
    trace, _ = held.traces()
    assert (trace.input_tokens, trace.output_tokens) == (1210, 15)
    assert trace.cost == pytest.approx(0.001230)


@pytest.mark.parametrize(("receiver", "kept"), [("phoenix", "first"), ("mlflow", "second")])
def test_of_two_spans_with_one_id_phoenix_keeps_the_first_and_mlflow_the_second(
    receiver: str, kept: str, request: pytest.FixtureRequest
) -> None:
    server = request.getfixturevalue(receiver)
    held = held_by_phoenix(server) if isinstance(server, Phoenix) else held_by_mlflow(server)
    for said in ("first", "second"):
        again = SpanByHand("a", "turn", "", START_NS, START_NS + SECOND, {**AGENT, "input.value": said})
        held.post_all([again, SpanByHand("b", said, "", START_NS, START_NS + SECOND)])
        held.wait_for(said)
    assert held.by_name()["turn"].attributes["input.value"] == kept


def test_a_root_may_come_after_its_children(held: Held) -> None:
    root, *children = turn("a")
    held.post_all(children, [root])
    found = held.by_name()
    assert len(found) == len(children) + 1
    assert found["first answer"].parent_id == found["turn"].span_id
    (trace,) = held.traces()
    assert (trace.input_tokens, trace.output_tokens) == (1210, 15)
    assert trace.cost == pytest.approx(0.001230)
    assert (trace.session_id, trace.input.strip('"')) == ("a-session", "do it")
    assert trace.end_ns - trace.start_ns == 10 * SECOND


def test_a_background_agent_may_come_after_its_turn(held: Held) -> None:
    spans = turn("a")
    held.post_all(spans[:3], spans[3:])
    assert len(held.spans()) == len(spans)
    (trace,) = held.traces()
    assert (trace.input_tokens, trace.output_tokens) == (1210, 15)
    assert trace.cost == pytest.approx(0.001230)


def test_turns_of_one_session_are_found_by_it(held: Held) -> None:
    later = [
        SpanByHand(span.trace, span.name, span.parent, span.start_ns + 60 * SECOND, span.end_ns + 60 * SECOND, span.attributes)
        for span in turn("b")
    ]
    held.post_all(later, turn("a"))
    (session,) = held.sessions()
    assert (session.session_id, session.input_tokens, session.output_tokens) == ("a-session", 2420, 30)
    assert session.trace_ids == (turn("a")[0].trace_id.hex(), later[0].trace_id.hex())
    assert session.end_ns - session.start_ns == 70 * SECOND


# What is understood of one family of attributes alone, or of one attribute: each span is a trace of its own.
ALONE: dict[str, dict[str, Value]] = {
    "gen_ai response": {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": MODEL,
        "gen_ai.usage.input_tokens": 1200,
        "gen_ai.usage.output_tokens": 10,
        "gen_ai.usage.cache_read.input_tokens": 1000,
        "gen_ai.usage.cache_write.input_tokens": 100,
        "gen_ai.conversation.id": "a-conversation",
    },
    "gen_ai response, older name": {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": MODEL,
        "gen_ai.usage.input_tokens": 1200,
        "gen_ai.usage.output_tokens": 10,
        "gen_ai.usage.cache_read.input_tokens": 1000,
        "gen_ai.usage.cache_creation.input_tokens": 100,
    },
    "gen_ai tool": {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "Bash",
        "gen_ai.tool.call.arguments": '{"command": "ls"}',
        "gen_ai.tool.call.result": "a file",
    },
    "gen_ai agent": {"gen_ai.operation.name": "invoke_agent"},
    "langfuse response": {
        "langfuse.observation.type": "generation",
        "langfuse.observation.model.name": MODEL,
        "langfuse.observation.usage_details": '{"input": 1200, "output": 10}',
        "langfuse.observation.input": "hi",
        "langfuse.session.id": "a-session",
        "langfuse.user.id": "a-user",
    },
    "openinference response": {
        "openinference.span.kind": "LLM",
        "llm.model_name": MODEL,
        "llm.token_count.prompt": 1200,
        "llm.token_count.completion": 10,
        "llm.token_count.prompt_details.cache_read": 1000,
        "llm.token_count.prompt_details.cache_write": 100,
        "llm.cost.total": 9.5,
        "session.id": "another-session",
        "user.id": "a-user",
    },
    "prompt without the cache": {
        "openinference.span.kind": "LLM",
        "llm.model_name": MODEL,
        "llm.token_count.prompt": 100,
        "llm.token_count.completion": 10,
        "llm.token_count.prompt_details.cache_read": 1000,
        "llm.token_count.prompt_details.cache_write": 100,
    },
    "agent with tokens": {
        "openinference.span.kind": "AGENT",
        "llm.token_count.prompt": 1200,
        "llm.token_count.completion": 10,
    },
    "nothing": {},
    "mlflow's own": {
        "openinference.span.kind": "LLM",
        "llm.model_name": MODEL,
        "llm.token_count.prompt": 1200,
        "llm.token_count.completion": 10,
        "mlflow.llm.cost": '{"input_cost": 1.0, "output_cost": 2.0, "total_cost": 3.0}',
        "mlflow.traceTag.mlflow.traceName": "Turn 7",
        "mlflow.traceTag.colour": "red",
    },
    "mlflow's usage": {
        "openinference.span.kind": "LLM",
        "llm.model_name": MODEL,
        "llm.provider": "anthropic",
        "mlflow.chat.tokenUsage": json.dumps(
            {
                "input_tokens": 1200,
                "output_tokens": 10,
                "total_tokens": 1210,
                "cache_read_input_tokens": 1000,
                "cache_creation_input_tokens": 100,
                "cache_creation_input_tokens_above_1hr": 100,
            }
        ),
    },
}


def post_alone(held: Held) -> tuple[dict[str, ReceivedSpan], dict[str, ReceivedTrace]]:
    """By the names of `ALONE`, what is held of each."""
    held.post_all(SpanByHand(name, name, "", START_NS, START_NS + SECOND, attributes) for name, attributes in ALONE.items())
    spans = held.by_name()
    assert spans.keys() == ALONE.keys()
    traces = {trace.trace_id: trace for trace in held.traces()}
    return spans, {name: traces[span.trace_id] for name, span in spans.items()}


def test_which_attributes_phoenix_understands(phoenix: Phoenix) -> None:
    spans, traces = post_alone(held_by_phoenix(phoenix))
    assert {name: span.kind for name, span in spans.items()} == {
        "gen_ai response": "LLM",
        "gen_ai response, older name": "LLM",
        "gen_ai tool": "TOOL",
        "gen_ai agent": "AGENT",
        "langfuse response": "UNKNOWN",
        "openinference response": "LLM",
        "prompt without the cache": "LLM",
        "agent with tokens": "AGENT",
        "nothing": "UNKNOWN",
        "mlflow's own": "LLM",
        "mlflow's usage": "LLM",
    }
    assert {name: (span.input_tokens, span.output_tokens) for name, span in spans.items() if span.input_tokens} == {
        "gen_ai response": (1200, 10),
        "gen_ai response, older name": (1200, 10),
        "openinference response": (1200, 10),
        "prompt without the cache": (100, 10),
        "mlflow's own": (1200, 10),
    }
    money = {name: span.cost for name, span in spans.items() if span.cost is not None}
    assert money == {
        # 200 x $3: cache_write is not known, only cache_creation
        "gen_ai response": pytest.approx(0.00105),
        "gen_ai response, older name": pytest.approx(0.001125),
        "openinference response": pytest.approx(0.001125),  # not the $9.50 that it was told
        # 100 tokens that were neither read from the cache nor written to it are free then
        "prompt without the cache": pytest.approx(0.000825),
        "mlflow's own": pytest.approx(0.00375),
    }
    assert {name: trace.session_id for name, trace in traces.items() if trace.session_id} == {
        "gen_ai response": "a-conversation",
        "openinference response": "another-session",
    }
    models = {name: span.attributes.get("llm.model_name") for name, span in spans.items()}
    assert (models["gen_ai response"], models["langfuse response"]) == (MODEL, None)
    tool = spans["gen_ai tool"].attributes
    assert (tool["tool.name"], tool["tool.parameters.command"], tool["output.value"]) == ("Bash", "ls", "a file")
    assert "input.value" not in tool
    assert "input.value" not in spans["langfuse response"].attributes


def test_which_attributes_mlflow_understands(mlflow: MLflow) -> None:
    spans, traces = post_alone(held_by_mlflow(mlflow))
    assert {name: span.kind for name, span in spans.items()} == {
        "gen_ai response": "CHAT_MODEL",
        "gen_ai response, older name": "CHAT_MODEL",
        "gen_ai tool": "TOOL",
        "gen_ai agent": "AGENT",
        "langfuse response": "LLM",
        "openinference response": "LLM",
        "prompt without the cache": "LLM",
        "agent with tokens": "AGENT",
        "nothing": "UNKNOWN",
        "mlflow's own": "LLM",
        "mlflow's usage": "LLM",
    }
    assert {name for name, span in spans.items() if (span.input_tokens, span.output_tokens) == (1200, 10)} == {
        "gen_ai response",
        "gen_ai response, older name",
        "openinference response",
        "agent with tokens",
        "mlflow's own",
        "mlflow's usage",
    }
    assert spans["langfuse response"].input_tokens is None
    money = {name: span.cost for name, span in spans.items() if span.cost is not None}
    assert money == {
        "gen_ai response": pytest.approx(0.001125),
        "gen_ai response, older name": pytest.approx(0.001125),
        "openinference response": pytest.approx(0.001125),
        "prompt without the cache": pytest.approx(0.000825),
        "mlflow's own": 3.0,
        "mlflow's usage": pytest.approx(0.00135),  # the 100 written tokens for an hour: $6 a million
    }
    assert {name: (trace.session_id, trace.user_id) for name, trace in traces.items() if trace.session_id or trace.user_id} == {
        "gen_ai response": ("a-conversation", ""),
        "openinference response": ("another-session", "a-user"),
    }
    models = {name: span.attributes.get("mlflow.llm.model") for name, span in spans.items()}
    assert (models["gen_ai response"], models["openinference response"], models["langfuse response"]) == (MODEL, MODEL, None)
    assert spans["langfuse response"].attributes["mlflow.spanInputs"] == "hi"
    assert spans["gen_ai tool"].attributes["mlflow.spanInputs"] == {"command": "ls"}
    own = traces["mlflow's own"]
    assert (own.name, own.tags["colour"]) == ("Turn 7", "red")
    assert traces["nothing"].name == ""


@pytest.mark.parametrize(("sent", "shown"), [({}, "application/json"), ({"output.mime_type": "text/plain"}, "text/plain")])
def test_phoenix_takes_words_beside_gen_ai_attributes_for_json_unless_told_their_type(
    sent: dict[str, Value], shown: str, phoenix: Phoenix
) -> None:
    attributes: dict[str, Value] = {"gen_ai.operation.name": "chat", "gen_ai.response.model": MODEL, "output.value": "words"}
    held = held_by_phoenix(phoenix)
    held.post_all([SpanByHand("a", "answer", "", START_NS, START_NS + SECOND, {**attributes, **sent})])
    (span,) = held.spans()
    assert (span.attributes["output.value"], span.attributes["output.mime_type"]) == ("words", shown)


def test_mlflow_shows_the_resource_as_tags_of_a_trace_and_no_others(mlflow: MLflow) -> None:
    mlflow.post(request_of(turn("a")))
    (trace,) = mlflow.traces()
    assert {name: value for name, value in trace.tags.items() if not name.startswith("mlflow.")} == {
        "service.name": "by-hand",
        "openinference.project.name": PROJECT,
    }
    assert (trace.user_id, trace.name) == ("a-user", "")


def test_mlflow_refuses_a_whole_batch_for_one_span_that_it_can_not_store(mlflow: MLflow) -> None:
    long = SpanByHand("b", "long", "", START_NS, START_NS + SECOND, {"session.id": "s" * 251})
    with pytest.raises(HTTPError) as refused:
        mlflow.post(request_of([*turn("a"), long]))
    refused.value.close()
    assert (refused.value.code, mlflow.spans()) == (400, [])


def test_a_receiver_is_empty_at_the_start_of_each_test_and_can_be_emptied(phoenix: Phoenix, mlflow: MLflow) -> None:
    assert (phoenix.spans(PROJECT), mlflow.spans()) == ([], [])
    for held in (held_by_phoenix(phoenix), held_by_mlflow(mlflow)):
        held.post_all(turn("a"))
        assert held.spans()
    phoenix.post(request_of(turn("b"), project="default"))
    phoenix.settle()
    phoenix.empty()
    mlflow.empty()
    assert (phoenix.spans(PROJECT), phoenix.spans("default"), mlflow.spans()) == ([], [], [])
    phoenix.post(request_of(turn("a")))
    phoenix.settle()
    assert {span.span_id for span in phoenix.spans(PROJECT)} == {id_of("a", span.name).hex() for span in turn("a")}


def test_more_than_a_page_holds_is_all_read(phoenix: Phoenix, mlflow: MLflow) -> None:
    many = [SpanByHand(f"trace {n}", f"span {n}", "", START_NS + n, START_NS + n + SECOND) for n in range(5)]
    for held in (held_by_phoenix(Phoenix(phoenix.address, page_size=2)), held_by_mlflow(MLflow(mlflow.address, page_size=2))):
        held.post_all(many)
        assert held.by_name().keys() == {span.name for span in many}
        assert {trace.trace_id for trace in held.traces()} == {span.trace_id.hex() for span in many}
