"""Events in the spool -> spans at every destination, in the background, one worker at a time.

An event becomes a row of what is due before it is deleted, so that neither a crash nor a failing receiver loses it. The worker
waits, bounded, until the transcript holds the announced answer, sends, and retries for a while; the next one takes the rest.
"""

from __future__ import annotations

import contextlib
import os
import random
import time
from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from stenograph.config import Destination, TraceConfig, load_trace_config
from stenograph.disk import read_slice, remove_file
from stenograph.errors import BusyError, DeliveryError, DiskError, StenographError, UnreadableError
from stenograph.records import AssistantRecord, decode, text_of
from stenograph.redact import Masker
from stenograph.traces.delivery import LONGEST_RETRY_AFTER, PERMANENT_WAIT, Sender, next_wait
from stenograph.traces.folder import alone, clear_leftovers, default_trace_folder, is_held, mask_key, waiting_events
from stenograph.traces.history import candidate_of, is_behind, previous_sessions
from stenograph.traces.keys import with_keys
from stenograph.traces.reading import Closing, ReadFailure
from stenograph.traces.sending import AGENT_QUIET_SECONDS, SessionSender, resource_of
from stenograph.traces.state import Due, TraceState

#: Seconds to wait for the announced answer, and for the transcript to be still.
LONGEST_WAIT_FOR_ANSWER = 5.0
STILL_SECONDS = 0.4
_LOOK_EVERY = 0.1
#: What an older event announced was written long ago, or never will be.
_FRESH_SECONDS = 30.0
#: After this many failed sessions (5xx) in a row the receiver is at fault, not the sessions.
_FAILURES_IN_A_ROW = 5
#: How often to wait for a subagent that has just answered.
_LOOKS_AT_AGENTS = 3
#: A session counts as written since hooks were installed if it was written this long before the first event: events come after
#: what they report, and the first ones may have been lost.
FIRST_EVENT_MARGIN = 3600.0
#: The answer is looked for in the last bytes.
_TAIL_BYTES = 300_000
_CLOSINGS = {"Stop": Closing.STOPPED, "StopFailure": Closing.ENDED, "SessionEnd": Closing.ENDED}


class HookEvent(Struct, frozen=True):
    """What a hook wrote; see `hook.event_of`."""

    hook_event_name: str = ""
    transcript_path: str = ""
    received_ns: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 0
    answer_sha256: str = ""

    @property
    def closing(self) -> Closing:
        return _CLOSINGS.get(self.hook_event_name, Closing.UNKNOWN)


class Timing(Struct, frozen=True):
    """Clocks and chance, which tests replace."""

    now: Callable[[], float] = time.time
    steady: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    #: Numbers from 0 to 1.
    chance: Callable[[], float] = random.random


def main() -> None:
    with contextlib.suppress(StenographError):  # `steno trace status` shows what failed
        work(default_trace_folder(os.environ), load_trace_config(os.environ))


def send_due(config: TraceConfig, folder: Path) -> None:
    """Send what is due to all destinations, each tried once, unless a worker is running."""
    work(folder, replace(config, patience_seconds=0.0))


def work(folder: Path, config: TraceConfig, timing: Timing | None = None) -> None:
    """Empty the spool and send what is due. Raises StenographError if the state is unusable."""
    timing = timing or Timing()
    while True:
        with contextlib.suppress(BusyError), alone(folder), TraceState(folder) as state:
            Worker(folder, config, state, timing).run()
        # An event that came after the last look, while we held the lock, must not wait for the next hook.
        if not waiting_events(folder) or is_held(folder):
            return


class Worker:
    def __init__(self, folder: Path, config: TraceConfig, state: TraceState, timing: Timing) -> None:
        self._folder = folder
        self._config = config
        self._state = state
        self._timing = timing
        self._masker = Masker(key=mask_key(folder)) if config.redact else None
        #: Sessions with a subagent that has just answered, and how often each was tried again for that.
        self._unsettled: dict[Path, Due] = {}
        self._looks: Counter[Path] = Counter()

    def run(self) -> None:
        started = self._timing.steady()
        clear_leftovers(self._folder, self._timing.now())
        while True:
            self._take_in()
            for destination in self._config.destinations:
                self._send_due(destination)
            if waiting_events(self._folder) or self._look_again():
                continue
            wait = self._next_try()
            if wait is None or self._timing.steady() - started + wait > self._config.patience_seconds:
                return
            # In steps: a hook may report something for a destination that works.
            self._timing.sleep(min(wait, 1.0))

    def _take_in(self) -> None:
        """Events -> what is due. An event is deleted only once that is written."""
        names = [destination.name for destination in self._config.destinations]
        events = [(path, _read_event(path)) for path in waiting_events(self._folder)]
        if received := [event.received_ns for _, event in events if event and event.received_ns]:
            self._state.note_first_event(min(received) / 1e9 - FIRST_EVENT_MARGIN)
        # Of a session that stopped several times, wait for the last answer only.
        last = {event.transcript_path: event for _, event in events if event and event.closing is Closing.STOPPED}
        for path, event in events:
            transcript = Path(event.transcript_path) if event else None
            if event and transcript and names and transcript.is_absolute():
                is_fresh = self._timing.now() - event.received_ns / 1e9 < _FRESH_SECONDS
                if is_fresh and last.get(event.transcript_path) is event:
                    wait_for_answer(transcript, event.answer_sha256, self._timing)
                self._make_previous_due(transcript, event.received_ns)
                self._state.make_due(names, transcript, event.closing, event.received_ns)
            remove_file(path)

    def _make_previous_due(self, transcript: Path, stamp: int) -> None:
        """What the sessions before a continuation lack, due before it; once, when it is first sent."""
        names = [each.name for each in self._config.destinations if self._state.cursor(each.name, transcript) is None]
        previous = previous_sessions(transcript) if names else {}
        for place, (path, closing) in enumerate(previous.items()):
            candidate = candidate_of(path)
            behind = [name for name in names if candidate and is_behind(candidate, name, self._state)]
            self._state.make_due(behind, path, closing, stamp - len(previous) + place)

    def _send_due(self, destination: Destination) -> None:
        due = self._state.due(destination.name)
        if not due or self._wait_for(destination.name):
            return
        try:
            with Sender(with_keys(destination, os.environ), resource_of(self._config)) as sender:
                sessions = SessionSender(destination, self._config, self._state, sender, self._masker, self._timing.now)
                self._send_each(sessions, due)
        except StenographError as error:
            self._note(destination.name, error)

    def _send_each(self, sessions: SessionSender, due: list[Due]) -> None:
        """A session that a receiver fails at does not hold up the others, and is tried after them from now on."""
        failed: DeliveryError | None = None
        in_a_row = 0
        for each in due:
            try:
                self._send(sessions, each)
                in_a_row = 0
            except DeliveryError as error:
                if error.status < 500:
                    raise
                self._state.put_off(each)
                failed, in_a_row = error, in_a_row + 1
                if error.retry_after or in_a_row >= _FAILURES_IN_A_ROW:
                    break
        if failed:
            raise failed

    def _look_again(self) -> bool:
        """Whether sessions are due once more, after a moment in which their subagents may have continued."""
        again = {path: due for path, due in self._unsettled.items() if self._looks[path] < _LOOKS_AT_AGENTS}
        self._unsettled = {}
        if not again:
            return False
        self._timing.sleep(AGENT_QUIET_SECONDS)
        self._looks.update(again.keys())
        for path, due in again.items():
            self._state.make_due([each.name for each in self._config.destinations], path, due.closing, due.stamp)
        return True

    def _send(self, sessions: SessionSender, due: Due) -> None:
        try:
            if sessions.send(due.path, due.closing).unsettled:
                self._unsettled[due.path] = due
        except UnreadableError as error:
            # Unreadable, or never written (`--no-session-persistence`).
            is_there = os.path.exists(due.path)  # noqa: PTH110 - `Path.exists` raises for a name that is too long
            self._state.note_unread(due.destination, due.path, [ReadFailure(due.path, str(error))] if is_there else [])
        self._state.settle(due)

    def _note(self, name: str, error: StenographError) -> None:
        wait = next_wait(self._state.health(name).failures, error, self._timing.chance)
        now = self._timing.now()
        self._state.note_failure(name, str(error), now + wait, now)

    def _next_try(self) -> float | None:
        """Seconds until a failed destination may be tried again; None if nothing is due."""
        waits = [max(0.05, self._wait_for(each.name)) for each in self._config.destinations if self._state.due(each.name)]
        return min(waits, default=None)

    def _wait_for(self, name: str) -> float:
        left = self._state.health(name).retry_at - self._timing.now()
        # Longer than any wait: the clock was set back.
        return left if 0 < left <= max(PERMANENT_WAIT, LONGEST_RETRY_AFTER) else 0.0


def wait_for_answer(transcript: Path, answer_sha256: str, timing: Timing) -> None:
    """Wait, bounded, until a transcript holds the announced answer and is still: it is written behind the hook's back."""
    deadline = timing.steady() + LONGEST_WAIT_FOR_ANSWER
    size, since, found = -1, timing.steady(), not answer_sha256
    while (now := timing.steady()) < deadline:
        try:
            grown = transcript.stat().st_size
        except OSError:
            grown = -1
        if grown != size:
            size, since = grown, now
            found = found or answer_sha256 in _last_answers(transcript, size)
        elif found and now - since >= STILL_SECONDS:
            return
        timing.sleep(_LOOK_EVERY)


def _last_answers(transcript: Path, size: int) -> set[str]:
    if size <= 0:
        return set()
    try:
        lines = read_slice(transcript, max(0, size - _TAIL_BYTES), size).split(b"\n")
    except DiskError:
        return set()
    found = set()
    for line in lines[1 if size > _TAIL_BYTES else 0 :]:
        record = decode(line)
        if isinstance(record, AssistantRecord) and not record.isSidechain and (text := text_of(record.content)):
            found |= {_digest(text), _digest(text.strip())}
    return found


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _read_event(path: Path) -> HookEvent | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=HookEvent)
    except (OSError, msgspec.MsgspecError, ValueError):
        return None  # torn or not ours


if __name__ == "__main__":
    main()
