"""A place in a session file -> the turns that stand behind it and are over, as they are traced.

In: a path, a place that earlier readings reached, and what is known of whether the last turn is over. Out: groups, each with one
turn, or with none where lines belong to no turn. What a turn is, and where it begins and ends, `turns.reader` knows.
"""

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


#: The turn's own, the next one, and one more in case the next one was taken back.
_PROMPTS_AFTER_GROUP = 3


class Closing(Enum):
    """What is known of the last turn in a file, beside its lines."""

    #: Nothing: it is over if it was interrupted or failed.
    UNKNOWN = 0
    #: The client said that it stopped: over if all was answered.
    STOPPED = 1
    #: The session or the turn ended, or nothing was written for long: over, whatever is missing.
    ENDED = 2


class Group(Struct, frozen=True):
    """A turn and where it stands; or lines behind the last one that belong to none."""

    traced: tuple[TracedTurn, ...]
    #: Where it begins, and the number of turns before it on its chain.
    offset: int
    turns: int
    #: Where reading goes on.
    after: Place
    #: It was told before, and goes on.
    is_again: bool = False
    #: Files of its sub-agents that could not be read.
    failures: tuple[ReadFailure, ...] = ()


def read_closed(path: Path, place: Place, closing: Closing) -> Iterator[Group]:
    """The turns after a place that are over, in order. Raises UnreadableError."""
    reader = TurnReader(path, read_family(path), place)
    is_ended = closing is Closing.ENDED
    after = place
    for each in reader.turns(is_ended=is_ended):
        if each.is_last and not is_ended and not _is_over(each.turn, closing):
            return
        after = each.after
        yield _group(path, each)
    if is_ended and after.offset < reader.end:
        yield Group((), after.offset, after.turns, replace(after, offset=reader.end))


def read_group(path: Path, offset: int, turns: int) -> Group | None:
    """One turn again, from its beginning; None where the file has become another."""
    family = read_family(path)
    # What follows the next turn hardly ever belongs to this one; where it does, this one is not found without it.
    for prompts in (_PROMPTS_AFTER_GROUP, None):
        reader = TurnReader(path, family, Place(offset, 0, offset, turns), prompts=prompts)
        for index, (_, begin) in enumerate(reader.places()):
            if begin == offset:
                return _group(path, reader.read(index))
    return None


def _group(path: Path, each: ReadTurn) -> Group:
    traced = TracedTurn(each.turn, _session_id(path, each.turn), each.unlinked)
    return Group((traced,), each.offset, each.after.last_turns, each.after, each.is_again, each.failures)


def _is_over(turn: Turn, closing: Closing) -> bool:
    """Whether nothing more is to come."""
    return turn.is_over and (closing is Closing.STOPPED or turn.status is not Status.DONE)


def _session_id(path: Path, turn: Turn) -> str:
    """The session that a turn happened in: forks of old releases keep the old id on copies."""
    record = turn.context.graph.records[turn.node]
    named = record.sessionId if isinstance(record, ChainedRecord) else None
    return named if isinstance(named, str) and is_session_id(named) else path.stem


def runs_in(traced: TracedTurn) -> Iterator[AgentRun]:
    """All sub-agents of a turn, at any depth."""
    return runs_below([*traced.turn.agent_runs, *traced.unlinked])
