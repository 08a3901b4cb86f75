"""A place in a session file -> the finished turns after it, as they are traced."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from stenograph.family import is_session_id, read_family
from stenograph.inputs import Status
from stenograph.records import ChainedRecord
from stenograph.traces.mapping import TracedTurn
from stenograph.turns import AgentRun, Place, ReadFailure, ReadTurn, Turn, TurnReader, runs_below

__all__ = ["Closing", "Group", "Place", "ReadFailure", "read_closed", "read_group", "runs_in"]


#: The turn's own, the next one, and one more in case the next was rewound.
_PROMPTS_AFTER_GROUP = 3


class Closing(Enum):
    """What is known of the last turn besides its lines."""

    #: Over if interrupted or failed.
    UNKNOWN = 0
    #: The client said that it stopped: over if answered.
    STOPPED = 1
    #: The session ended or was quiet for long: over.
    ENDED = 2


class Group(Struct, frozen=True):
    """A turn; or trailing lines that belong to none."""

    traced: tuple[TracedTurn, ...]
    #: Where it begins, and the number of turns before it on its chain.
    offset: int
    turns: int
    after: Place
    #: It was sent before and continues.
    is_again: bool = False
    #: Subagent files that could not be read.
    failures: tuple[ReadFailure, ...] = ()
    #: Lines up to `after`, since the group before, that are not JSON objects.
    skipped: int = 0


def read_closed(path: Path, place: Place, closing: Closing) -> Iterator[Group]:
    """Finished turns in order. Raises UnreadableError."""
    reader = TurnReader(path, read_family(path), place)
    is_ended = closing is Closing.ENDED
    after = place
    for each in reader.turns(is_ended=is_ended):
        if each.is_last and not is_ended and not _is_over(each.turn, closing):
            return
        skipped = reader.count_damaged(after.offset, each.after.offset)
        after = replace(each.after, offset=max(after.offset, each.after.offset))
        yield _group(path, each, skipped)
    if is_ended and after.offset < reader.end:
        skipped = reader.count_damaged(after.offset, reader.end)
        yield Group((), after.offset, after.turns, replace(after, offset=reader.end), skipped=skipped)


def read_group(path: Path, offset: int, turns: int) -> Group | None:
    """One turn again, from its beginning; None if the file was replaced."""
    family = read_family(path)
    # Lines after the next turn rarely belong to this one; if so, it is not found without them.
    for prompts in (_PROMPTS_AFTER_GROUP, None):
        reader = TurnReader(path, family, Place(offset, 0, offset, turns), prompts=prompts)
        for index, begin in enumerate(reader.begins()):
            if begin == offset:
                return _group(path, reader.read(index))
    return None


def _group(path: Path, each: ReadTurn, skipped: int = 0) -> Group:
    traced = TracedTurn(each.turn, _session_id(path, each.turn), each.unlinked)
    return Group((traced,), each.offset, each.after.last_turns, each.after, each.is_again, each.failures, skipped)


def _is_over(turn: Turn, closing: Closing) -> bool:
    return turn.is_over and (closing is Closing.STOPPED or turn.status is not Status.DONE)


def _session_id(path: Path, turn: Turn) -> str:
    """The session a turn happened in: copies by old releases keep the old id, and a continuation has it on its first line."""
    records = turn.context.graph.records
    named = [record.sessionId for node in turn.nodes if isinstance(record := records[node], ChainedRecord)]
    is_own = path.stem in named or not named
    return named[0] if not is_own and isinstance(named[0], str) and is_session_id(named[0]) else path.stem


def runs_in(traced: TracedTurn) -> Iterator[AgentRun]:
    """All subagents of a turn, at any depth."""
    return runs_below([*traced.turn.agent_runs, *traced.unlinked])
