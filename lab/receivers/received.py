"""What a receiver holds, as plain values that do not depend on the receiver.

Ids are lower-case hex; a missing parent, name, session or user is the empty string; times are nanoseconds since 1970 (Phoenix
keeps microseconds, rounded); money is US dollars. Knows neither HTTP nor any receiver.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class ReceivedSpan:
    trace_id: str
    span_id: str
    parent_id: str
    name: str
    #: As the receiver understood the span: AGENT, LLM, TOOL, CHAIN, UNKNOWN...
    kind: str
    start_ns: int
    end_ns: int
    #: UNSET, OK or ERROR.
    status: str
    status_message: str
    attributes: dict[str, object]
    #: The span's own, as the receiver counts them (cached input included); None where it counts none.
    input_tokens: int | None = None
    output_tokens: int | None = None
    #: What the receiver says that the span cost; None where it does not know.
    cost: float | None = None
    #: The names of the span's events, in their order.
    events: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReceivedTrace:
    trace_id: str
    name: str
    session_id: str
    user_id: str
    start_ns: int
    end_ns: int
    #: Of the whole trace, added up by the receiver.
    input_tokens: int
    output_tokens: int
    cost: float | None
    #: OK, ERROR, IN_PROGRESS; empty where the receiver has no such thing.
    state: str = ""
    #: What the receiver shows as the request and the response of the trace.
    input: str = ""
    output: str = ""
    tags: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ReceivedSession:
    session_id: str
    #: In order of time.
    trace_ids: tuple[str, ...]
    start_ns: int
    end_ns: int
    input_tokens: int
    output_tokens: int
