"""Send one test span to each destination. It says nothing of any session; success clears earlier failures."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from stenograph.config import Destination, TraceConfig
from stenograph.errors import ConfigError, DeliveryError
from stenograph.traces.delivery import deliver
from stenograph.traces.keys import with_keys
from stenograph.traces.sending import resource_of
from stenograph.traces.spans import Span, span_id_of, trace_id_of
from stenograph.traces.state import TraceState


class Probe(Struct, frozen=True):
    destination: Destination
    duration_ms: int
    #: None if the span was accepted.
    error: str | None


def probe(destinations: Sequence[Destination], config: TraceConfig, folder: Path, environ: Mapping[str, str]) -> list[Probe]:
    """Send a span to each destination; `environ` may hold its keys. Raises UnwritableError."""
    probes = []
    with TraceState(folder) as state:
        for destination in destinations:
            started = time.monotonic()
            error = _try(destination, config, environ)
            if error is None:
                state.note_recovery(destination.name)
            probes.append(Probe(destination, round((time.monotonic() - started) * 1000), error))
    return probes


def send_due(config: TraceConfig, folder: Path) -> None:
    """Send what is due to all destinations, each tried once, unless a worker is running."""
    from stenograph.traces.worker import work

    work(folder, replace(config, patience_seconds=0.0))


def _try(destination: Destination, config: TraceConfig, environ: Mapping[str, str]) -> str | None:
    now = time.time_ns()
    span = Span(
        trace_id=trace_id_of(f"test {now}"),
        span_id=span_id_of(f"test {now}"),
        parent_id=b"",
        name="steno trace test",
        start_ns=now,
        end_ns=now,
        attributes={"langfuse.observation.type": "span", "openinference.span.kind": "CHAIN"},
    )
    try:
        deliver([span], with_keys(destination, environ), resource_of(config))
    except (ConfigError, DeliveryError) as error:
        return str(error)
    return None
