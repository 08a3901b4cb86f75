"""MLflow's tracking server: how it is run, and what it holds, by its REST API.

In: the address of a server. Out: plain values. A post is stored when it is acknowledged. All is in one experiment, "0". Knows
nothing of how spans are made.
"""

from __future__ import annotations

import base64
import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from lab.receivers.asking import ask, post_protobuf
from lab.receivers.received import ReceivedSession, ReceivedSpan, ReceivedTrace
from lab.receivers.server import Receiver, programs_of

EXPERIMENT = "0"


def _command(installed: Path, work: Path, port: int, _: int) -> tuple[list[str], dict[str, str]]:
    environment = {
        "MLFLOW_DISABLE_TELEMETRY": "true",
        # Without this it starts seven more processes, 2 GB of memory.
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
        # Prices as the release knows them: the first post would wait for newer ones from the network, for longer than some
        # senders wait for an answer.
        "MLFLOW_MODEL_CATALOG_URI": "",
    }
    command = [str(programs_of(installed) / "mlflow"), "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    command += ["--backend-store-uri", f"sqlite:///{work / 'mlflow.db'}", "--artifacts-destination", str(work / "artifacts")]
    return command, environment


MLFLOW = Receiver("mlflow", "mlflow", "3.17.2", "/health", _command, Path(__file__).with_name("mlflow.txt"))


class MLflow:
    """What an MLflow server holds."""

    def __init__(self, address: str, page_size: int = 100) -> None:
        self.address = address
        self._page_size = page_size
        #: Where spans are posted: OTLP over HTTP, protobuf or JSON, with `headers`.
        self.otlp_url = f"{address}/v1/traces"
        self.headers = {"x-mlflow-experiment-id": EXPERIMENT}

    def post(self, request: bytes) -> None:
        """An OTLP request, answered with success. Raises OSError."""
        post_protobuf(self.otlp_url, request, self.headers)

    def empty(self) -> None:
        """Forget all traces."""
        tomorrow_ms = int(time.time() + 86_400) * 1000
        which = {"experiment_id": EXPERIMENT, "max_timestamp_millis": tomorrow_ms, "max_traces": 1_000_000}
        ask("POST", f"{self.address}/api/3.0/mlflow/traces/delete-traces", which)

    def traces(self) -> list[ReceivedTrace]:
        """All traces by their start."""
        return sorted((_trace(raw) for raw in self._infos()), key=lambda trace: trace.start_ns)

    def sessions(self) -> list[ReceivedSession]:
        """All sessions by their start: the traces that name the same one (MLflow keeps no more of a session)."""
        by_session: dict[str, list[ReceivedTrace]] = {}
        for trace in self.traces():
            if trace.session_id:
                by_session.setdefault(trace.session_id, []).append(trace)
        return [
            ReceivedSession(
                session_id,
                tuple(trace.trace_id for trace in traces),
                min(trace.start_ns for trace in traces),
                max(trace.end_ns for trace in traces),
                sum(trace.input_tokens for trace in traces),
                sum(trace.output_tokens for trace in traces),
            )
            for session_id, traces in by_session.items()
        ]

    def spans(self) -> list[ReceivedSpan]:
        """All spans by their start, with the tokens and the cost that MLflow counts."""
        spans = [_span(raw) for info in self._infos() for raw in self._trace_of(info["trace_id"])["spans"]]
        return sorted(spans, key=lambda span: (span.start_ns, -span.end_ns))

    def _infos(self) -> list[Any]:
        where = {"type": "MLFLOW_EXPERIMENT", "mlflow_experiment": {"experiment_id": EXPERIMENT}}
        asked: dict[str, object] = {"locations": [where], "max_results": self._page_size}
        infos: list[Any] = []
        while page := ask("POST", f"{self.address}/api/3.0/mlflow/traces/search", asked):
            infos += page.get("traces", [])
            if not page.get("next_page_token"):
                break
            asked["page_token"] = page["next_page_token"]
        return infos

    def _trace_of(self, trace_id: str) -> Any:
        return ask("GET", f"{self.address}/api/3.0/mlflow/traces/get?{urlencode({'trace_id': trace_id})}")["trace"]


def _trace(raw: Any) -> ReceivedTrace:
    told, tags = raw.get("trace_metadata", {}), raw.get("tags", {})
    usage, cost = json.loads(told.get("mlflow.trace.tokenUsage", "{}")), json.loads(told.get("mlflow.trace.cost", "{}"))
    start_ns = _ns(raw["request_time"])
    return ReceivedTrace(
        trace_id=raw["trace_id"].removeprefix("tr-"),
        name=tags.get("mlflow.traceName", ""),
        session_id=told.get("mlflow.trace.session", ""),
        user_id=told.get("mlflow.trace.user", ""),
        start_ns=start_ns,
        end_ns=start_ns + round(float(raw.get("execution_duration", "0s").removesuffix("s")) * 1000) * 1_000_000,
        input_tokens=usage.get("input_tokens", 0),
        output_tokens=usage.get("output_tokens", 0),
        cost=cost.get("total_cost"),
        state=raw.get("state", ""),
        input=raw.get("request_preview", ""),
        output=raw.get("response_preview", ""),
        tags=tags,
    )


def _span(raw: Any) -> ReceivedSpan:
    attributes = {pair["key"]: _value(pair["value"]) for pair in raw.get("attributes", [])}
    status = raw.get("status", {})
    usage, cost = attributes.get("mlflow.chat.tokenUsage"), attributes.get("mlflow.llm.cost")
    return ReceivedSpan(
        trace_id=_hex(raw["trace_id"]),
        span_id=_hex(raw["span_id"]),
        parent_id=_hex(raw.get("parent_span_id", "")),
        name=raw["name"],
        kind=str(attributes.get("mlflow.spanType", "UNKNOWN")),
        start_ns=int(raw["start_time_unix_nano"]),
        end_ns=int(raw["end_time_unix_nano"]),
        status=status.get("code", "UNSET").removeprefix("STATUS_CODE_"),
        status_message=status.get("message", ""),
        attributes=attributes,
        input_tokens=usage.get("input_tokens") if isinstance(usage, dict) else None,
        output_tokens=usage.get("output_tokens") if isinstance(usage, dict) else None,
        cost=cost.get("total_cost") if isinstance(cost, dict) else None,
        events=tuple(event["name"] for event in raw.get("events", [])),
    )


def _value(raw: Any) -> object:
    """The plain value of an OTLP one in MLflow's JSON."""
    if not raw:
        return None
    ((kind, value),) = raw.items()
    if kind == "array_value":
        return [_value(each) for each in value.get("values", [])]
    if kind == "kvlist_value":
        return {pair["key"]: _value(pair["value"]) for pair in value.get("values", [])}
    return int(value) if kind == "int_value" else value


def _hex(id_in_base64: str) -> str:
    return base64.b64decode(id_in_base64).hex()


def _ns(moment: str) -> int:
    since = datetime.fromisoformat(moment) - datetime(1970, 1, 1, tzinfo=UTC)
    return since // timedelta(microseconds=1) * 1000
