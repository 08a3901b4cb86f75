"""A session file -> one destination: finished turns are mapped, posted, and noted once acknowledged.

The transcript is the queue: only the acknowledged place is kept, and stays after a DeliveryError. Sending again is harmless.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from stenograph.config import Destination, SpanLayout, TraceConfig
from stenograph.disk import read_slice
from stenograph.errors import ConfigError, DeliveryError, DiskError
from stenograph.records import gc_paused
from stenograph.redact import Masker
from stenograph.sessions import as_unreadable
from stenograph.traces.delivery import Delivery, Sender, deliver
from stenograph.traces.keys import with_keys
from stenograph.traces.mapping import Mapper, TracedTurn, seed_of
from stenograph.traces.reading import Closing, Group, Place, ReadFailure, read_closed, read_group, runs_in
from stenograph.traces.spans import Attributes, Span, span_id_of, trace_id_of
from stenograph.traces.state import Cursor, Receipt, TraceState, Waiting
from stenograph.traces.takeover import lines_sent, offset_after
from stenograph.traces.texts import Texts
from stenograph.turns import AgentRun, runs_below

#: Bytes before a place that are compared to detect a rewritten file.
_REMEMBERED = 64
#: Bytes read before posting: bounds memory, and what is posted again after a crash.
_BITE_BYTES = 4_000_000
#: A background subagent whose file was quiet this long after an answer is done.
AGENT_QUIET_SECONDS = 2.0


class Sent(Struct, frozen=True):
    turns: int = 0
    spans: int = 0
    #: Turns sent before: copies in a fork or clone.
    copies: int = 0
    #: Spans refused for good.
    refused: int = 0
    #: Bytes of the session's own file.
    read: int = 0
    #: Lines of the session's own file that are not JSON objects.
    skipped: int = 0
    #: Files that could not be read.
    failures: tuple[ReadFailure, ...] = ()
    #: Subagents that answered so recently that they may continue; sent later.
    unsettled: int = 0

    def __add__(self, other: Sent) -> Sent:
        return Sent(*(a + b for a, b in zip(msgspec.structs.astuple(self), msgspec.structs.astuple(other), strict=True)))


def resource_of(config: TraceConfig) -> Attributes:
    """Resource attributes, by the names that receivers know."""
    found: Attributes = {"service.name": config.project, "openinference.project.name": config.project}
    if config.environment:
        found["deployment.environment.name"] = config.environment
    return found


class _Chosen(Struct):
    """What to send, and what its acknowledgement means."""

    spans: list[Span] = []
    #: Of turns not sent before.
    traces: list[bytes] = []
    seen: set[bytes] = set()
    #: Of turns that another program sent.
    taken: list[bytes] = []
    #: Key -> trace.
    told: dict[str, bytes] = {}
    waiting: list[Waiting] = []
    copies: int = 0
    unsettled: int = 0


class _Due(NamedTuple):
    """A turn that may have to be sent."""

    traced: TracedTurn
    trace_id: bytes
    #: Its subagents that are at work, and the ids of all that can't be sent yet.
    working: list[AgentRun]
    unfinished: set[str]
    keys: list[str]


class SessionSender:
    def __init__(
        self,
        destination: Destination,
        config: TraceConfig,
        state: TraceState,
        sender: Sender,
        masker: Masker | None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._name = destination.name
        self._is_langfuse = destination.is_langfuse
        if config.shape is SpanLayout.AUTO:
            config = replace(config, shape=SpanLayout.NESTED if self._is_langfuse else SpanLayout.SIBLINGS)
        self._config = config
        self._state = state
        self._sender = sender
        self._texts = Texts(config.content, masker)
        self._clock = clock

    def send(self, path: Path, closing: Closing) -> Sent:
        """Send what is new of a session. Raises DeliveryError, UnreadableError, UnwritableError.

        A subagent's unreadable file is a failure in the result, and is tried again with the next send.
        """
        with gc_paused():
            parts = [*self._send_waiting(path, closing), *self._send_new(path, closing)]
        sent = sum(parts, Sent())
        if parts:
            self._state.note_unread(self._name, path, sent.failures)
        return sent

    def _send_new(self, path: Path, closing: Closing) -> Iterator[Sent]:
        bite: list[Group] = []
        for group in _understood(path, read_closed(path, self._place(path), closing)):
            bite.append(group)
            if group.after.offset - bite[0].offset >= _BITE_BYTES:
                yield self._send_groups(path, bite, closing)
                bite = []
        if bite:
            yield self._send_groups(path, bite, closing)

    def _place(self, path: Path) -> Place:
        cursor = self._state.cursor(self._name, path)
        if cursor is None:
            return Place()
        if _digest_before(path, cursor.place.offset) != cursor.digest_before:
            self._state.forget_file(self._name, path)
            return Place()
        return cursor.place

    def _taken_over(self, path: Path) -> int:
        """The offset before which turns are at the destination though we did not send them."""
        if not self._is_langfuse:
            return 0
        known = self._state.taken_offset(self._name, path)
        if known is not None or self._state.cursor(self._name, path):
            return known or 0
        if lines := lines_sent(path):
            self._state.take_over(self._name, path, lines, offset_after(path, lines))
        return self._state.taken_offset(self._name, path) or 0

    def _send_groups(self, path: Path, groups: list[Group], closing: Closing) -> Sent:
        chosen = self._choose(path, groups, closing)
        after = _last_told(groups, self._place_before(path, groups[0]))
        skipped = sum(group.skipped for group in groups)
        delivery = self._deliver(path, chosen, Cursor(after, _digest_before(path, after.offset)), skipped)
        return Sent(
            skipped=skipped,
            turns=len(chosen.traces),
            spans=delivery.sent,
            copies=chosen.copies,
            refused=len(delivery.bad),
            read=groups[-1].after.offset - groups[0].offset,
            failures=tuple(failure for group in groups for failure in group.failures),
            unsettled=chosen.unsettled,
        )

    def _choose(self, path: Path, groups: list[Group], closing: Closing) -> _Chosen:
        """What the destination lacks of some groups."""
        chosen = _Chosen()
        taken_over = self._taken_over(path)
        with as_unreadable(path):
            due = [[self._due(group, traced, closing) for traced in group.traced] for group in groups]
        # Only the keys needed, for all turns at once: a query for each takes longer than a short turn.
        told_before = self._state.traces_that_told(self._name, [key for turns in due for turn in turns for key in turn.keys])
        for group, turns in zip(groups, due, strict=True):
            at_work: set[str] = set()
            for traced, trace_id, working, unfinished, keys in turns:
                known = {key: told_before[key] for key in keys if key in told_before}
                known |= {key: chosen.told[key] for key in keys if key in chosen.told}
                told_elsewhere = frozenset(key for key, trace in known.items() if trace != trace_id)
                # A fork's copy has no subagents, and in 2.1.29 and 2.1.45 no parallel calls: the original sends those.
                is_told = all(key in known for key in keys) and self._is_sent(trace_id, chosen)
                with as_unreadable(path):
                    is_copy = _is_copy(traced, told_elsewhere)
                if group.offset < taken_over:
                    chosen.taken.append(trace_id)
                    chosen.told |= dict.fromkeys(keys, trace_id)
                if group.offset < taken_over or (not group.is_again and (is_told or is_copy)):
                    chosen.copies += 1
                    continue
                at_work |= unfinished
                chosen.unsettled += sum(run.turns[-1].is_over for run in working)
                with as_unreadable(path):
                    spans = Mapper(self._config, self._texts, told_elsewhere).spans(traced, frozenset(unfinished))
                chosen.spans += spans[1:] if group.is_again and self._has_lost_some(traced, trace_id, keys) else spans
                chosen.traces.append(trace_id)
                chosen.seen.add(trace_id)
                chosen.told |= dict.fromkeys((key for key in keys if key not in told_elsewhere), trace_id)
            if at_work or group.is_again:
                chosen.waiting.append(Waiting(group.offset, group.turns, frozenset(at_work)))
        return chosen

    def _is_sent(self, trace_id: bytes, chosen: _Chosen) -> bool:
        return trace_id in chosen.seen or self._state.is_sent(self._name, trace_id)

    def _due(self, group: Group, traced: TracedTurn, closing: Closing) -> _Due:
        working = [run for run in runs_in(traced) if self._is_at_work(run, closing)]
        # Unreadable files are waited for like unwritten ones.
        unfinished = {failure.agent_id for failure in group.failures if failure.agent_id} | {run.agent_id for run in working}
        return _Due(traced, trace_id_of(seed_of(traced.turn)), working, unfinished, _keys_of(traced, without=unfinished))

    def _deliver(self, path: Path, chosen: _Chosen, cursor: Cursor, skipped: int = 0) -> Delivery:
        delivery = self._sender.send(chosen.spans)
        self._state.acknowledge(
            self._name,
            Receipt(
                path=path,
                cursor=cursor,
                turns=len(chosen.traces),
                spans=delivery.sent,
                posts=delivery.posts,
                trace_ids=(*chosen.traces, *chosen.taken),
                told=chosen.told,
                waiting=tuple(chosen.waiting),
                refused=delivery.bad,
                skipped=skipped,
                at=self._clock(),
            ),
        )
        return delivery

    def _send_waiting(self, path: Path, closing: Closing) -> Iterator[Sent]:
        """Subagents that were at work or unreadable when their turn was sent, and are done now."""
        cursor = self._state.cursor(self._name, path)
        if cursor is None or _digest_before(path, cursor.place.offset) != cursor.digest_before:
            return
        for each in self._state.waiting(self._name, path):
            with as_unreadable(path):
                group = read_group(path, each.start, each.turns)
                told = group.traced if group else ()
                failures = group.failures if group else ()
                unread = {failure.agent_id for failure in failures}
                runs = {run.agent_id: run for traced in told for run in runs_in(traced)}
                working = [run for id_, run in runs.items() if id_ in each.agents and self._is_at_work(run, closing)]
                at_work = frozenset(each.agents & (unread | {run.agent_id for run in working}))
                unsettled = sum(run.turns[-1].is_over for run in working)
            if at_work == each.agents:
                yield Sent(failures=failures, unsettled=unsettled)
                continue
            with as_unreadable(path):
                late = {run.agent_id for run in runs_below(runs[id_] for id_ in each.agents - at_work if id_ in runs)}
                # Those that began after their turn was sent are not covered: the turn is read again for them.
                rest = runs.keys() - late
                chosen = _Chosen(
                    spans=[span for traced in told for span in self._late_spans(traced, each.agents, at_work)],
                    told={key: trace_id_of(seed_of(traced.turn)) for traced in told for key in _keys_of(traced, rest)},
                    waiting=[Waiting(each.start, each.turns, at_work)],
                )
            delivery = self._deliver(path, chosen, cursor)
            yield Sent(spans=delivery.sent, refused=len(delivery.bad), failures=failures, unsettled=unsettled)

    def _late_spans(self, traced: TracedTurn, before: frozenset[str], now: frozenset[str]) -> list[Span]:
        mapper = Mapper(self._config, self._texts)
        told = {span.span_id for span in mapper.spans(traced, before)}
        return [span for span in mapper.spans(traced, now) if span.span_id not in told]

    def _place_before(self, path: Path, group: Group) -> Place:
        cursor = self._state.cursor(self._name, path)
        return cursor.place if cursor and cursor.place.offset <= group.offset else Place(group.offset, group.turns)

    def _has_lost_some(self, traced: TracedTurn, trace_id: bytes, keys: list[str]) -> bool:
        """A late result may branch off before the answer and so take it out of its turn: the root stays as it was sent."""
        found = self._state.traces_that_told(self._name, {*keys, _opening(traced)})
        return sum(trace == trace_id for trace in found.values()) < self._state.count_told(self._name, trace_id)

    def _is_at_work(self, run: AgentRun, closing: Closing) -> bool:
        """Whether a subagent may continue. Background ones and warm-ups outlive their turn, a failed turn and `/clear` too."""
        if not run.turns or (run.tool_use_id and not run.background):
            return False
        may_go_on = not run.turns[-1].is_over
        if run.path is None:  # its lines are the session's own (1.0)
            return may_go_on and closing is not Closing.ENDED
        try:
            # abs: a file from the future must not stay young for ever.
            quiet = abs(self._clock() - run.path.stat().st_mtime)
        except OSError:
            return False
        if may_go_on:
            return closing is not Closing.ENDED or quiet < self._config.quiet_seconds
        return quiet < AGENT_QUIET_SECONDS


def _understood(path: Path, groups: Iterator[Group]) -> Iterator[Group]:
    """Errors from reading a hostile file become UnreadableError; errors from sending meanwhile pass."""
    with as_unreadable(path):
        yield from groups


def _keys_of(traced: TracedTurn, without: Collection[str] = ()) -> list[str]:
    """What a turn holds, by keys that its copies keep (see `state`), without some subagents."""
    runs = [run for run in runs_in(traced) if run.agent_id not in without]
    turns = (traced.turn, *(turn for run in runs for turn in run.turns))
    found = [call.message_id for turn in turns for call in turn.calls if call.message_id]
    found += [f"tool {tool.id}" for turn in turns for tool in turn.tool_calls if tool.id]
    found += [f"compaction {each.record.uuid}" for each in traced.turn.compactions]
    return found if _responses(traced) else [*found, _opening(traced)]


def _responses(traced: TracedTurn) -> list[str]:
    return [call.message_id for call in traced.turn.calls if call.message_id and not call.is_synthetic]


def _opening(traced: TracedTurn) -> str:
    """Identifies copies of an unanswered turn; only its digest is kept."""
    at = traced.turn.started
    return f"opening {at.isoformat()} {traced.turn.prompt}" if at else f"opening {seed_of(traced.turn)}"


def _is_copy(traced: TracedTurn, told_elsewhere: frozenset[str]) -> bool:
    """Whether other traces sent every response of a turn: clones have new uuids but the API's ids."""
    return all(key in told_elsewhere for key in _responses(traced) or [_opening(traced)])


def _last_told(groups: list[Group], before: Place) -> Place:
    """A group without a turn leaves the last turn unchanged."""
    place = before
    for group in groups:
        after = group.after
        place = after if group.traced else replace(place, offset=after.offset, turns=after.turns)
    return place


def _digest_before(path: Path, offset: int) -> bytes:
    """Empty if the file is shorter than that, so that a cut file differs."""
    try:
        data = read_slice(path, max(0, offset - _REMEMBERED), offset)
    except DiskError:
        return b""
    return sha256(data).digest()[:12] if len(data) == min(offset, _REMEMBERED) else b""


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
            error = _send_test_span(destination, config, environ)
            if error is None:
                state.note_recovery(destination.name)
            probes.append(Probe(destination, round((time.monotonic() - started) * 1000), error))
    return probes


def _send_test_span(destination: Destination, config: TraceConfig, environ: Mapping[str, str]) -> str | None:
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
