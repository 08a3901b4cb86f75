"""A session file -> one destination: what is new and over is mapped, posted, and noted once it is acknowledged.

In: a path, a destination with its connection, the state, and what is known of the last turn. Out: what was sent. The transcript
itself is the queue: nothing is kept but the place up to which a receiver has acknowledged it. Raises DeliveryError, and then the
place is where it was; to send again is harmless.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec import Struct

from stenograph.disk.lines import read_slice
from stenograph.errors import DiskError
from stenograph.redact import Masker
from stenograph.sessions.understanding import understanding
from stenograph.traces.config import Destination, TraceConfig
from stenograph.traces.delivery import Delivery, Sender
from stenograph.traces.mapping import Mapper, Traced, seed_of
from stenograph.traces.reading import Closing, Group, Place, is_unfinished, read_closed, read_group, runs_in
from stenograph.traces.spans import Attributes, Span, trace_id_of
from stenograph.traces.state import Cursor, Receipt, TraceState, Waiting
from stenograph.traces.texts import Texts
from stenograph.turns import AgentRun

#: So many bytes before a place are compared to see that the file still holds what was read.
_REMEMBERED = 64
#: So much is read before it is posted: memory, and what a crash makes us post again.
_BITE_BYTES = 4_000_000
#: A sub-agent in the background whose file was not written for so long, and whose last word is an answer, is done.
_AGENT_QUIET_SECONDS = 2.0


class Sent(Struct, frozen=True):
    turns: int = 0
    spans: int = 0
    #: Turns that were told before: a fork's or a clone's copies.
    copies: int = 0
    #: Spans that the receiver refused for good.
    refused: int = 0
    #: Bytes of the session's own file that were read.
    read: int = 0

    def __add__(self, other: Sent) -> Sent:
        return Sent(*(a + b for a, b in zip(msgspec.structs.astuple(self), msgspec.structs.astuple(other), strict=True)))


def resource_of(config: TraceConfig) -> Attributes:
    """What holds for all spans of a request: whose they are, by the names that receivers know."""
    found: Attributes = {"service.name": config.project, "openinference.project.name": config.project}
    if config.environment:
        found["deployment.environment.name"] = config.environment
    return found


class SessionSender:
    """Sends sessions to one destination over one connection."""

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
        self._config = config
        self._state = state
        self._sender = sender
        self._texts = Texts(config.content, masker)
        self._clock = clock

    def send(self, path: Path, closing: Closing) -> Sent:
        """Send what is new of a session. Raises DeliveryError, UnreadableError, UnwritableError."""
        return sum((*self._send_waiting(path, closing), *self._send_new(path, closing)), Sent())

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
        if _behind(path, cursor.place.offset) != cursor.behind:
            self._state.forget_file(self._name, path)
            return Place()
        return cursor.place

    def _send_groups(self, path: Path, groups: list[Group], closing: Closing) -> Sent:
        spans: list[Span] = []
        traces: list[bytes] = []
        calls: dict[str, bytes] = {}
        waiting: list[Waiting] = []
        copies = 0
        for group in groups:
            at_work: set[str] = set()
            for traced in group.traced:
                trace_id = trace_id_of(seed_of(traced.turn))
                unfinished = {run.agent_id for run in runs_in(traced) if self._is_at_work(run, closing)}
                said = _ids_in(traced, without=unfinished)
                # Of `calls` only what is asked for: to copy all of them takes longer than a short turn does.
                known = self._state.traces_of_calls(self._name, said) | {id_: calls[id_] for id_ in said if id_ in calls}
                told_elsewhere = frozenset(id_ for id_, trace in known.items() if trace != trace_id)
                # A fork's copy of a turn is without sub-agents, and in 2.1.29 and 2.1.45 without parallel calls: what it lacks
                # is told by the original, under the same ids.
                is_told = self._is_told(trace_id, traces) and all(id_ in known for id_ in said)
                if not group.is_again and (is_told or _is_copy(traced, told_elsewhere)):
                    copies += 1
                    continue
                at_work |= unfinished
                with understanding(path):
                    spans += Mapper(self._config, self._texts, told_elsewhere).spans(traced, frozenset(unfinished))
                traces.append(trace_id)
                calls |= dict.fromkeys((id_ for id_ in said if id_ not in told_elsewhere), trace_id)
            if at_work or group.is_again:
                waiting.append(Waiting(group.offset, group.turns, frozenset(at_work)))
        delivery = self._sender.send(spans) if spans else None
        after = _last_told(groups, self._place_before(path, groups[0]))
        self._state.acknowledge(
            self._name,
            Receipt(
                path=path,
                cursor=Cursor(after, _behind(path, after.offset)),
                turns=len(traces),
                spans=delivery.sent if delivery else 0,
                posts=delivery.posts if delivery else 0,
                trace_ids=tuple(traces),
                calls=calls,
                waiting=tuple(waiting),
                refused=_refused(delivery),
                at=self._clock(),
            ),
        )
        refused = len(delivery.bad) if delivery else 0
        return Sent(len(traces), len(spans) - refused, copies, refused, groups[-1].after.offset - groups[0].offset)

    def _send_waiting(self, path: Path, closing: Closing) -> Iterator[Sent]:
        """The sub-agents that were at work when their turn was told, and are done now."""
        cursor = self._state.cursor(self._name, path)
        if cursor is None or _behind(path, cursor.place.offset) != cursor.behind:
            return
        for each in self._state.waiting(self._name, path):
            with understanding(path):
                group = read_group(path, each.start, each.turns)
                told = group.traced if group else ()
                runs = {run.agent_id: run for traced in told for run in runs_in(traced)}
                at_work = frozenset(id_ for id_ in each.agents if id_ in runs and self._is_at_work(runs[id_], closing))
                if at_work == each.agents:
                    continue
                spans = [span for traced in told for span in self._late_spans(traced, each.agents, at_work)]
            delivery = self._sender.send(spans) if spans else None
            left = Waiting(each.start, each.turns, at_work)
            self._state.acknowledge(
                self._name,
                Receipt(
                    path=path,
                    cursor=cursor,
                    turns=0,
                    spans=delivery.sent if delivery else 0,
                    posts=delivery.posts if delivery else 0,
                    calls={id_: trace_id_of(seed_of(traced.turn)) for traced in told for id_ in _ids_in(traced, at_work)},
                    waiting=(left,),
                    refused=_refused(delivery),
                    at=self._clock(),
                ),
            )
            yield Sent(spans=delivery.sent if delivery else 0, refused=len(delivery.bad) if delivery else 0)

    def _late_spans(self, traced: Traced, before: frozenset[str], now: frozenset[str]) -> list[Span]:
        mapper = Mapper(self._config, self._texts)
        told = {span.span_id for span in mapper.spans(traced, before)}
        return [span for span in mapper.spans(traced, now) if span.span_id not in told]

    def _place_before(self, path: Path, group: Group) -> Place:
        cursor = self._state.cursor(self._name, path)
        return cursor.place if cursor and cursor.place.offset <= group.offset else Place(group.offset, group.turns)

    def _is_told(self, trace_id: bytes, now: list[bytes]) -> bool:
        return trace_id in now or self._state.is_sent(self._name, trace_id)

    def _is_at_work(self, run: AgentRun, closing: Closing) -> bool:
        """Whether a sub-agent may still have something to say; those in the background, and warm-ups, outlive their turn."""
        if closing is Closing.ENDED or not run.turns or (run.tool_use_id and not run.background):
            return False
        if is_unfinished(run.turns[-1]):
            return True
        try:
            return run.path is not None and self._clock() - run.path.stat().st_mtime < _AGENT_QUIET_SECONDS
        except OSError:
            return False


def _refused(delivery: Delivery | None) -> tuple[tuple[bytes, bytes, int, int], ...]:
    return tuple((bad.trace_id, bad.span_id, bad.status, bad.size) for bad in delivery.bad) if delivery else ()


def _understood(path: Path, groups: Iterator[Group]) -> Iterator[Group]:
    """What reading a hostile file raises is told as UnreadableError; what sending raises meanwhile stays what it is."""
    with understanding(path):
        yield from groups


def _ids_in(traced: Traced, without: Collection[str] = ()) -> list[str]:
    """What is in a turn, by ids that copies keep: of responses, tool uses and compactions; sub-agents `without` left aside."""
    runs = [run for run in runs_in(traced) if run.agent_id not in without]
    turns = (traced.turn, *traced.strays, *(turn for run in runs for turn in run.turns))
    found = [call.message_id for turn in turns for call in turn.calls if call.message_id]
    found += [f"tool {tool.id}" for turn in turns for tool in turn.tool_calls if tool.id]
    found += [f"compaction {each.record.uuid}" for each in traced.turn.compactions]
    return found if _responses(traced) else [*found, _opening(traced)]


def _responses(traced: Traced) -> list[str]:
    return [call.message_id for call in traced.turn.calls if call.message_id and not call.is_synthetic]


def _opening(traced: Traced) -> str:
    """What a copy of a turn that nobody answered is known by; only its digest is kept."""
    at = traced.turn.started
    return f"opening {at.isoformat()} {traced.turn.prompt}" if at else f"opening {seed_of(traced.turn)}"


def _is_copy(traced: Traced, told_elsewhere: frozenset[str]) -> bool:
    """Whether all that a model said in a turn was told in other traces: a clone has other uuids, but the API's ids stay."""
    return all(id_ in told_elsewhere for id_ in _responses(traced) or [_opening(traced)])


def _last_told(groups: list[Group], before: Place) -> Place:
    """Where reading goes on; a group without a turn leaves the last turn what it was."""
    place = before
    for group in groups:
        after = group.after
        place = after if group.traced else msgspec.structs.replace(place, offset=after.offset, turns=after.turns)
    return place


def _behind(path: Path, offset: int) -> bytes:
    """A digest of the bytes before an offset; of fewer where the file is shorter, so that a cut file differs."""
    try:
        data = read_slice(path, max(0, offset - _REMEMBERED), offset)
    except DiskError:
        return b""
    return sha256(data).digest()[:12] if len(data) == min(offset, _REMEMBERED) else b""
