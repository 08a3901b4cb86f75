"""Arize Phoenix: how it is run, and what it holds, by its REST and GraphQL APIs.

In: the address of a server. Out: plain values. A post is acknowledged before its spans are read: `settle` waits until they are
stored. Its ids are global, and a trace stays in the project of its first span, so `empty` makes it forget everything. Knows
nothing of how spans are made.
"""

from __future__ import annotations

import secrets
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from lab.receivers.asking import ask, post_protobuf
from lab.receivers.received import ReceivedSession, ReceivedSpan, ReceivedTrace
from lab.receivers.server import Receiver, programs_of

SETTLE_TIMEOUT = 30.0
_DEFAULT_PROJECT = "default"

_SPANS = """query ($project: String!, $first: Int!, $after: String) {
  getProjectByName(name: $project) {
    spans(first: $first, after: $after) {
      pageInfo { hasNextPage endCursor }
      edges { node { spanId tokenCountPrompt tokenCountCompletion costSummary { total { cost } } } }
    }
  }
}"""
_TRACE = """query ($id: ID!) {
  node(id: $id) { ... on Trace {
    session { sessionId }
    costSummary { total { cost } }
    rootSpan { name statusCode input { value } output { value } attributes }
  } }
}"""


def _command(installed: Path, work: Path, port: int, grpc_port: int) -> tuple[list[str], dict[str, str]]:
    environment = {
        "PHOENIX_WORKING_DIR": str(work),
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(port),
        "PHOENIX_GRPC_PORT": str(grpc_port),
        # Nothing leaves the machine, and nothing runs that no test asks for.
        "PHOENIX_TELEMETRY_ENABLED": "false",
        "PHOENIX_ALLOW_EXTERNAL_RESOURCES": "false",
        "PHOENIX_DISABLE_AGENT_ASSISTANT": "true",
        "PHOENIX_ENABLE_MCP_SERVER": "false",
    }
    return [str(programs_of(installed) / "phoenix"), "serve"], environment


PHOENIX = Receiver("phoenix", "arize-phoenix", "20.26.1", "/healthz", _command, Path(__file__).with_name("phoenix.txt"))


class Phoenix:
    """What a Phoenix server holds."""

    def __init__(self, address: str, page_size: int = 1000) -> None:
        self.address = address
        self._page_size = page_size
        #: Where spans are posted: OTLP over HTTP, protobuf only. The project is the resource's `openinference.project.name`.
        self.otlp_url = f"{address}/v1/traces"
        self.headers: dict[str, str] = {}

    def settle(self) -> None:
        """Wait until what was posted can be read: nothing more came while a marker went the same way. Raises TimeoutError.

        Spans that change nothing, as they are held already, may still be under way: wait for one that was posted after them.
        """
        deadline = time.monotonic() + SETTLE_TIMEOUT
        newest: dict[str, str] | None = None
        while newest != (newest := self._newest()):
            self._pass_a_marker(deadline)

    def _newest(self) -> dict[str, str]:
        """By project the last row that was stored; rows are numbered."""
        newest = {}
        for project in self.projects():
            page = ask("GET", f"{self.address}/v1/projects/{quote(project)}/spans?limit=1")
            if page and page["data"]:
                newest[project] = page["data"][0]["id"]
        return newest

    def _pass_a_marker(self, deadline: float) -> None:
        project, now = f"settle-{secrets.token_hex(8)}", datetime.now(UTC).isoformat()
        marker = {
            "name": "marker",
            "context": {"trace_id": secrets.token_hex(16), "span_id": secrets.token_hex(8)},
            "span_kind": "CHAIN",
            "start_time": now,
            "end_time": now,
            "status_code": "OK",
        }
        ask("POST", f"{self.address}/v1/projects/{project}/spans", {"data": [marker]})
        while not (ask("GET", f"{self.address}/v1/projects/{project}/spans") or {}).get("data"):
            if time.monotonic() > deadline:
                raise TimeoutError("Phoenix did not store what was posted")
            time.sleep(0.02)
        self._forget(project)

    def post(self, request: bytes) -> None:
        """An OTLP request, answered with success. Raises OSError."""
        post_protobuf(self.otlp_url, request, self.headers)

    def empty(self) -> None:
        """Forget all projects with everything in them."""
        self.settle()
        for project in self.projects():
            self._forget(project)

    def projects(self) -> list[str]:
        return [project["name"] for project in self._pages("/v1/projects")]

    def spans(self, project: str) -> list[ReceivedSpan]:
        """All spans of a project by their start, with the tokens and the cost that Phoenix counts; none when it is unknown."""
        counted = self._counted(project)
        spans = [_span(raw, counted[raw["context"]["span_id"]]) for raw in self._pages(f"/v1/projects/{quote(project)}/spans")]
        return sorted(spans, key=lambda span: (span.start_ns, -span.end_ns))

    def traces(self, project: str) -> list[ReceivedTrace]:
        """All traces of a project by their start."""
        traces = [self._trace(raw) for raw in self._pages(f"/v1/projects/{quote(project)}/traces")]
        return sorted(traces, key=lambda trace: trace.start_ns)

    def sessions(self, project: str) -> list[ReceivedSession]:
        """All sessions of a project by their start."""
        sessions = [
            ReceivedSession(
                raw["session_id"],
                tuple(trace["trace_id"] for trace in sorted(raw["traces"], key=lambda trace: str(trace["start_time"]))),
                _ns(raw["start_time"]),
                _ns(raw["end_time"]),
                raw["token_count_prompt"],
                raw["token_count_completion"],
            )
            for raw in self._pages(f"/v1/projects/{quote(project)}/sessions")
        ]
        return sorted(sessions, key=lambda session: session.start_ns)

    def _trace(self, raw: Any) -> ReceivedTrace:
        more = self._graphql(_TRACE, id=raw["id"])["node"]
        root = more["rootSpan"] or {}
        return ReceivedTrace(
            trace_id=raw["trace_id"],
            name=root.get("name", ""),
            session_id=(more["session"] or {}).get("sessionId", ""),
            user_id="",
            start_ns=_ns(raw["start_time"]),
            end_ns=_ns(raw["end_time"]),
            input_tokens=raw["token_count_prompt"],
            output_tokens=raw["token_count_completion"],
            cost=_total(more),
            state=root.get("statusCode", ""),
            input=(root.get("input") or {}).get("value", ""),
            output=(root.get("output") or {}).get("value", ""),
        )

    def _counted(self, project: str) -> dict[str, Any]:
        """By span id what only GraphQL tells: the tokens as columns, and the cost."""
        counted: dict[str, Any] = {}
        after = None
        while found := self._graphql(_SPANS, project=project, first=self._page_size, after=after)["getProjectByName"]:
            counted |= {edge["node"]["spanId"]: edge["node"] for edge in found["spans"]["edges"]}
            if not found["spans"]["pageInfo"]["hasNextPage"]:
                break
            after = found["spans"]["pageInfo"]["endCursor"]
        return counted

    def _graphql(self, query: str, **variables: object) -> Any:
        answer = ask("POST", f"{self.address}/graphql", {"query": query, "variables": variables})
        if errors := answer.get("errors"):
            raise OSError(f"Phoenix refused a query: {errors[0]['message']}")
        return answer["data"]

    def _pages(self, path: str) -> list[Any]:
        """All rows of a listing; none when there is no such project."""
        rows: list[Any] = []
        cursor: dict[str, str] = {}
        while page := ask("GET", f"{self.address}{path}?{urlencode({'limit': self._page_size, **cursor})}"):
            rows += page["data"]
            if not page["next_cursor"]:
                break
            cursor = {"cursor": page["next_cursor"]}
        return rows

    def _forget(self, project: str) -> None:
        # The default project can't be deleted itself, only all that it holds.
        all_times = urlencode({"start_time": "1970-01-01T00:00:00Z", "end_time": "2100-01-01T00:00:00Z"})
        held = f"/traces?{all_times}" if project == _DEFAULT_PROJECT else ""
        ask("DELETE", f"{self.address}/v1/projects/{quote(project)}{held}")


def _span(raw: Any, counted: Any) -> ReceivedSpan:
    return ReceivedSpan(
        trace_id=raw["context"]["trace_id"],
        span_id=raw["context"]["span_id"],
        parent_id=raw["parent_id"] or "",
        name=raw["name"],
        kind=raw["span_kind"],
        start_ns=_ns(raw["start_time"]),
        end_ns=_ns(raw["end_time"]),
        status=raw["status_code"],
        status_message=raw["status_message"],
        attributes=raw["attributes"],
        input_tokens=counted["tokenCountPrompt"],
        output_tokens=counted["tokenCountCompletion"],
        cost=_total(counted),
        events=tuple(event["name"] for event in raw["events"]),
    )


def _total(node: Any) -> float | None:
    cost: float | None = ((node["costSummary"] or {}).get("total") or {}).get("cost")
    return cost


def _ns(moment: str) -> int:
    # By whole numbers: a float of this size has no microseconds left.
    since = datetime.fromisoformat(moment) - datetime(1970, 1, 1, tzinfo=UTC)
    return since // timedelta(microseconds=1) * 1000
