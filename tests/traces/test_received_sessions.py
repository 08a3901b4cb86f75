"""Recorded sessions in real receivers: what Phoenix and MLflow hold, asked through their own APIs, is what the sessions say.

Expectations come from the lines, read with `json` alone (`tracing.foreseen`), and from what the spans were before they were sent.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from lab.receivers import MLflow, Phoenix, ReceivedSession, ReceivedSpan, ReceivedTrace
from tests.traces.tracing import RECORDED, all_mapped, foreseen, kind_of, of_kind, summed

from stenograph.config.traces import Destination, DestinationKind, TraceConfig
from stenograph.traces.delivery import Sender
from stenograph.traces.reading import Closing
from stenograph.traces.sending import SessionSender, resource_of
from stenograph.traces.spans import Span
from stenograph.traces.state import TraceState

pytestmark = pytest.mark.receivers

T = TypeVar("T")
PROJECT = "recorded-sessions"
#: A session each with sub-agents, parallel tools, a compaction, an interrupt: the longest that each release recorded.
RELEASES = ("1.0.128", "2.0.76", "2.1.45", "2.1.325")
KINDS = {"agent": "AGENT", "generation": "LLM", "tool": "TOOL", "span": "CHAIN"}


@functools.cache
def _sessions() -> list[Path]:
    """Forks are left to tests/traces/test_sending.py: 1.0.128 gives copies new times, 2.1.45 leaves out some of their lines."""
    found: dict[Path, set[bytes]] = {}
    for release in RELEASES:
        own = [path for path in (RECORDED / release).rglob("*.jsonl") if "agent-" not in path.name]
        traces = {path: {span.trace_id for span in all_mapped(path)} for path in own}
        longest = sorted(own, key=lambda path: (len(all_mapped(path)), path.name), reverse=True)
        alone = (path for path in longest if not any(traces[path] & taken for taken in found.values()))
        for _ in range(2):
            path = next(alone)
            found[path] = traces[path]
    return list(found)


class Held:
    """A receiver with the recorded sessions in it."""

    def __init__(self, server: Phoenix | MLflow, folder: Path) -> None:
        self._server = server
        kind = DestinationKind.PHOENIX if isinstance(server, Phoenix) else DestinationKind.MLFLOW
        self._destination = Destination("receiver", kind, server.otlp_url, dict(server.headers), timeout_seconds=60.0)
        self._config = TraceConfig(project=PROJECT)
        self._folder = folder

    def send(self, state: str = "state") -> None:
        with (
            TraceState(self._folder / state) as kept,
            Sender(self._destination, resource_of(self._config), patience_seconds=60.0) as sender,
        ):
            sessions = SessionSender(self._destination, self._config, kept, sender, None, lambda: time.time() + 3600.0)
            for path in _sessions():
                sessions.send(path, Closing.ENDED)

    def spans(self) -> list[ReceivedSpan]:
        return self._ask(lambda phoenix: phoenix.spans(PROJECT), lambda mlflow: mlflow.spans())

    def traces(self) -> list[ReceivedTrace]:
        return self._ask(lambda phoenix: phoenix.traces(PROJECT), lambda mlflow: mlflow.traces())

    def sessions(self) -> list[ReceivedSession]:
        return self._ask(lambda phoenix: phoenix.sessions(PROJECT), lambda mlflow: mlflow.sessions())

    def _ask(self, of_phoenix: Callable[[Phoenix], T], of_mlflow: Callable[[MLflow], T]) -> T:
        if isinstance(self._server, MLflow):
            return of_mlflow(self._server)
        self._server.settle()
        return of_phoenix(self._server)


@pytest.fixture(params=["phoenix", "mlflow"])
def held(request: pytest.FixtureRequest, tmp_path: Path) -> Held:
    return Held(request.getfixturevalue(request.param), tmp_path)


def _sent() -> list[Span]:
    return [span for path in _sessions() for span in all_mapped(path)]


def test_a_receiver_holds_every_response_tool_and_sub_agent_of_the_sessions_once(held: Held) -> None:
    held.send()
    back = held.spans()
    assert len({span.span_id for span in back}) == len(back)
    by_id = {span.span_id: span for span in back}
    sent = _sent()
    assert by_id.keys() == {span.span_id.hex() for span in sent}
    for span in sent:
        found = by_id[span.span_id.hex()]
        assert (found.trace_id, found.parent_id, found.name) == (span.trace_id.hex(), span.parent_id.hex(), span.name)
        assert (found.start_ns, found.end_ns) == (span.start_ns, span.end_ns)  # whole milliseconds: nothing is rounded
        assert found.kind == KINDS[kind_of(span)]
        assert (found.status == "ERROR") == (span.status == 2)
        assert found.events == tuple(event.name for event in span.events)
    expected = [foreseen(path) for path in _sessions()]
    responses = {name: counts for each in expected for name, (_, counts) in each.responses.items()}
    tools = {tool for each in expected for tool in each.tools}
    assert sum(span.kind == "LLM" for span in back) == len(responses)
    assert sum(span.kind == "TOOL" for span in back) == len(tools)
    given, output, read, short, hour = summed(responses.values())
    counted = [span for span in back if span.input_tokens is not None]
    assert sum(span.input_tokens or 0 for span in counted) == given + read + short + hour
    assert sum(span.output_tokens or 0 for span in counted) == output


def test_sums_and_sessions_are_those_of_the_lines(held: Held) -> None:
    held.send()
    roots = {span.trace_id.hex(): span for span in _sent() if not span.parent_id}
    traces = held.traces()
    assert {trace.trace_id for trace in traces} == roots.keys()
    responses = {name: counts for path in _sessions() for name, (_, counts) in foreseen(path).responses.items()}
    given, output, read, short, hour = summed(responses.values())
    # Sub-agents' too: tools stand beside the responses.
    assert sum(trace.input_tokens for trace in traces) == given + read + short + hour
    assert sum(trace.output_tokens for trace in traces) == output
    of_session: dict[str, set[str]] = {}
    for trace_id, root in roots.items():
        of_session.setdefault(str(root.attributes["session.id"]), set()).add(trace_id)
    assert {session.session_id: set(session.trace_ids) for session in held.sessions()} == of_session
    assert all(len(of_kind("agent", [span])) == 1 for span in roots.values())


def test_all_sent_again_without_a_state_changes_nothing(held: Held) -> None:
    held.send()
    before = sorted(held.spans(), key=lambda span: span.span_id)
    held.send("another state")
    assert sorted(held.spans(), key=lambda span: span.span_id) == before
