"""Send to each destination what it lacks of some sessions, or only count it.

Holds the worker's lock while sending. An error of one destination is part of its report and does not stop the others.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from stenograph.config import Destination, TraceConfig
from stenograph.errors import UsageError
from stenograph.traces.folder import alone
from stenograph.traces.history import BackfillReport, Candidate, is_behind, send_history
from stenograph.traces.sending import Sent
from stenograph.traces.state import TraceState

#: How long to wait for another worker.
BUSY_SECONDS = 60.0

#: Called with the bytes done and the bytes in total.
Progress: TypeAlias = Callable[[int, int], None]


class Backfill(Struct, frozen=True):
    #: Nothing was sent; reports hold the sessions and bytes that would be read.
    is_dry: bool
    reports: dict[str, BackfillReport]
    #: Sessions selected, whether a destination has them or not, and their size.
    candidates: int
    size: int


def select_destinations(config: TraceConfig, names: Sequence[str]) -> list[Destination]:
    """The destinations with these names, or all of them. Raises UsageError."""
    known = {destination.name: destination for destination in config.destinations}
    if unknown := [name for name in names if name not in known]:
        raise UsageError(f"there is no destination {unknown[0]!r}; there are {', '.join(known)}")
    return [known[name] for name in names] if names else list(known.values())


def backfill(
    candidates_for: Callable[[str, TraceState], list[Candidate]],
    destinations: Sequence[Destination],
    config: TraceConfig,
    folder: Path,
    *,
    dry_run: bool = False,
    waiting: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext,
    progress: Callable[[str], contextlib.AbstractContextManager[Progress | None]] = lambda _: contextlib.nullcontext(),
) -> Backfill:
    """Send what each destination lacks of its candidates.

    `waiting` surrounds the wait for another worker, `progress` the work for one destination. Raises BusyError, UnwritableError.
    """
    with contextlib.ExitStack() as stack:
        if not dry_run:
            with waiting():
                stack.enter_context(alone(folder, timeout=BUSY_SECONDS))
        state = stack.enter_context(TraceState(folder))
        candidates = {each.name: candidates_for(each.name, state) for each in destinations}
        reports = {}
        for destination in destinations:
            behind = [one for one in candidates[destination.name] if is_behind(one, destination.name, state)]
            if dry_run:
                reports[destination.name] = BackfillReport(Sent(read=sum(one.size for one in behind)), len(behind))
                continue
            with progress(destination.name) as show:
                reports[destination.name] = send_history(
                    behind, destination, config, state, folder, progress=_counting(behind, show)
                )
    sizes = {one.path: one.size for each in candidates.values() for one in each}
    return Backfill(dry_run, reports, len(sizes), sum(sizes.values()))


def _counting(candidates: Sequence[Candidate], show: Progress | None) -> Callable[[Candidate], None]:
    total, done = sum(one.size for one in candidates), 0

    def note(candidate: Candidate) -> None:
        nonlocal done
        done += candidate.size
        if show:
            show(done, total)

    return note
