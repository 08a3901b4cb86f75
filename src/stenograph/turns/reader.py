"""A session's files -> its turns, from any place in the file on.

One turn is held at a time, read from its own lines. Numbers, lines, status and tokens are those of the whole session, as far as
it has been written. Reading resumes at the last known turn; where something hangs off a line before that, as after a rewind, all
lines are outlined again. Only whole lines are read.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from operator import itemgetter
from pathlib import Path

from msgspec import Struct

from stenograph.family import Family
from stenograph.graph import NOWHERE
from stenograph.inputs import Input, InputKind, InputReader, is_note
from stenograph.records import (
    AssistantRecord,
    CompactBoundaryRecord,
    DamagedRecord,
    Located,
    Record,
    UserRecord,
    gc_paused,
    read_records,
)
from stenograph.turns.agent_files import AgentFiles, ReadFailure, TimeSpan
from stenograph.turns.lines import KIND_NUMBERS, TurnLines, locate_lines, read_turn
from stenograph.turns.model import AgentRun, Turn
from stenograph.turns.outline import Outline

# Said by something other than the model, so that a turn is longer than it seemed.
_SAID = frozenset({InputKind.TOOL_RESULT, InputKind.INTERRUPT})


class Place(Struct, frozen=True):
    """How far a file was read: the turns before `offset` are known."""

    offset: int = 0
    #: The number of the last known turn, the offset of its first line, and how many turns precede it on its chain.
    turns: int = 0
    last_offset: int = 0
    last_turns: int = 0
    #: How many lines precede it in the file.
    last_lines: int = 0


class TurnPlace(Struct, frozen=True):
    """Where a turn is. Offsets of its first line, of its opening, and of the opening of the turn before on its chain."""

    begin: int
    opening: int
    #: None: it is the first one, or the one that reading began with.
    previous: int | None
    #: The time of its opening, as written.
    started: str | None
    lines: TurnLines


class ReadTurn(Struct, frozen=True):
    """A turn, read from its own lines."""

    turn: Turn
    #: Of its first line.
    offset: int
    #: Where reading continues.
    after: Place
    #: It was known before, and has grown.
    is_again: bool = False
    is_last: bool = False
    #: Subagents that began in it, started by nothing known.
    unlinked: tuple[AgentRun, ...] = ()
    failures: tuple[ReadFailure, ...] = ()


class TurnReader:
    """The turns of one session file behind a place; without a family, subagents' files are not read. Raises UnreadableError.

    With `prompts`, nothing is read behind that many of them. `watch` sees each line, from the beginning of the last known turn
    on, with what it is as an input; `inputs` then has seen them too. With `unended`, a last line counts that lacks only its
    newline: a client reads it.
    """

    def __init__(
        self,
        path: Path,
        family: Family | None = None,
        place: Place | None = None,
        *,
        prompts: int | None = None,
        watch: Callable[[Located, Input | None], None] | None = None,
        inputs: InputReader | None = None,
        unended: bool = False,
    ) -> None:
        self._path = path
        self._unended = unended
        self._prompts = prompts
        self._watch = watch
        self._inputs = inputs or InputReader()
        self._place = place or Place()
        self._spilled = family.tool_results if family else ()
        self._agents = AgentFiles(path, family) if family else None
        with gc_paused():
            self._outline = self._read_outline()
        #: Where each turn begins: at its first line, which may be a snapshot before its prompt.
        self._begins: list[int] = []
        opened = -1
        for turn in self._outline.turns:
            begin, opens = self._outline.begin(turn), self._opens_at(turn)
            self._begins.append(begin if begin > opened else opens)
            opened = opens
        begins = [self._outline.begin(turn) for turn in self._outline.turns]
        self._after_first = self._find_after_first()
        #: Subagents with lines in the file itself: where each begins, and its lines.
        offsets = self._outline.lines.offsets
        self._inline = sorted((offsets[nodes[0]], nodes) for nodes in self._outline.agents.values())
        self._later = [*reversed(list(accumulate(reversed(begins[1:]), min))), sys.maxsize]

    @property
    def end(self) -> int:
        return max(self._outline.end, self._place.offset)

    def count_damaged(self, begin: int, end: int) -> int:
        """How many lines between two offsets are not JSON objects; blank ones do not count."""
        damaged = self._outline.damaged
        return max(0, bisect_left(damaged, end) - bisect_left(damaged, begin))

    def turns(self, *, is_ended: bool = True) -> Iterator[ReadTurn]:
        """The turns with lines behind the place; of those known before only what says something more.

        Without `is_ended` more may come: a local command at the end may be incomplete, so it is left out, as are unnamed
        subagents that began after the last line.
        """
        for index, turn in enumerate(self._outline.turns):
            if not self._is_new(index, turn):
                continue
            yield self.read(index, is_ended=is_ended)

    def __len__(self) -> int:
        return len(self._outline.turns)

    def begins(self) -> list[int]:
        """The offset of each turn's first line, in the order of their openings."""
        return [self._outline.begin(turn) for turn in self._outline.turns]

    def places(self) -> Iterator[TurnPlace]:
        """Where each turn is, in the order of their openings."""
        offsets = self._outline.lines.offsets
        for index, turn in enumerate(self._outline.turns):
            started = self._outline.lines.records.timestamp(turn.node)
            yield TurnPlace(
                begin=self._outline.begin(turn),
                opening=offsets[turn.node],
                previous=offsets[turn.previous] if turn.previous >= 0 else None,
                started=started if isinstance(started, str) else None,
                lines=self.lines(index),
            )

    @property
    def start(self) -> int:
        """Where reading began: the turns before are not here."""
        return self._place.last_offset

    @property
    def current(self) -> int | None:
        """Where the last turn of the branch that a client resumes opens."""
        turn = self._outline.current
        return None if turn is None else self._outline.lines.offsets[turn.node]

    @property
    def current_turns(self) -> int:
        """How many turns the branch has that a client continues."""
        return self._number(self._outline.current) if self._outline.current else 0

    def read(self, index: int, *, is_ended: bool = True) -> ReadTurn:
        outlined = self._outline.turns[index]
        begin, is_last = self._outline.begin(outlined), index + 1 == len(self._begins)
        nodes = outlined.nodes
        if is_last and not is_ended:
            nodes = self._without_command_at_end(nodes)
        end = self._end_of(nodes) if is_last else self._begins[index + 1]
        turn, unlinked = read_turn(self._path, self.lines(index, nodes, is_ended=is_ended), self._agents, self._spilled)
        failures = self._agents.take_failures() if self._agents else ()
        after = self._after(index, end)
        return ReadTurn(turn, begin, after, self._opens_at(outlined) < self._place.offset, is_last, unlinked, failures)

    @property
    def place(self) -> Place:
        """Where to read on once all turns here are known."""
        return self._after(len(self._begins) - 1, self.end) if self._begins else self._place

    def _after(self, index: int, end: int) -> Place:
        outlined = self._outline.turns[index]
        begin, number = self._outline.begin(outlined), self._number(outlined)
        # Nobody can begin at a split-off turn, nor where lines of other turns are on the wrong side.
        can_begin = outlined.parted_from < 0 and begin == self._begins[index] and begin <= self._later[index]
        can_begin = can_begin and min(self._outline.shared_lines(outlined), default=outlined.nodes[0]) >= outlined.nodes[0]
        lines = self._outline.lines.numbers[outlined.nodes[0]] - 1
        start = (begin, number - 1, lines) if can_begin else (0, 0, 0)
        return Place(max(end, self._place.offset), number, *start)

    def _read_outline(self) -> Outline:
        place = self._place
        lines = self._lines(place.last_offset)
        outline = Outline(self._path, lines, self._prompts, place.last_lines, watch=self._watch, inputs=self._inputs)
        if place.last_offset and outline.needs_what_is_before():
            self._place = Place(place.offset)
            outline = Outline(self._path, self._lines(0))
        return outline

    def _lines(self, offset: int) -> Iterator[Located]:
        return _whole_lines(self._path, offset, unended=self._unended)

    def _number(self, turn: Turn) -> int:
        """A turn's place on its chain, counted from where reading began."""
        turn = self._outline.whole(turn)
        return turn.number + self._place.last_turns if turn.node in self._after_first else turn.number

    def _find_after_first(self) -> set[int]:
        """The openings of the turn that reading began with and of all that continue it."""
        found: set[int] = set()
        for turn in sorted(self._outline.turns, key=lambda turn: turn.number) if self._place.last_offset else ():
            if self._outline.whole(turn) is self._outline.turns[0] or turn.previous in found:
                found.add(turn.node)
        return found

    def _opens_at(self, turn: Turn) -> int:
        """Where its prompt is: a snapshot before it may have counted to the turn before."""
        return self._outline.lines.offsets[turn.node]

    def _is_new(self, index: int, turn: Turn) -> bool:
        offset = self._place.offset
        if self._opens_at(turn) >= offset:
            return True
        graph, inputs = self._outline.graph, self._outline.context.inputs
        late = [node for node in turn.nodes if self._outline.lines.offsets[node] >= offset]
        if any(_says(graph.records[node]) or (node in inputs and inputs[node].kind in _SAID) for node in late):
            return True
        is_known_last = self._outline.begin(turn) == self._place.last_offset
        if not is_known_last or self._agents is None:
            return False
        return self._agents.any_began_in(locate_lines(self._path, self.lines(index)), self._span(index, is_ended=True))

    def _without_command_at_end(self, nodes: tuple[int, ...]) -> tuple[int, ...]:
        """Only all lines of a local command together say that nobody asked the model."""
        records, inputs = self._outline.graph.records, self._outline.context.inputs
        for place in range(len(nodes) - 1, 0, -1):
            if isinstance(records[nodes[place]], AssistantRecord):
                break
            understood = inputs.get(nodes[place])
            if understood is not None and understood.kind is InputKind.META and understood.text:
                return nodes[:place]
        return nodes

    def _end_of(self, nodes: tuple[int, ...]) -> int:
        if nodes[-1] == self._outline.turns[-1].nodes[-1]:
            return self._outline.end
        return self._outline.behind(nodes[-1])

    def lines(self, index: int, nodes: Sequence[int] | None = None, *, is_ended: bool = True) -> TurnLines:
        """What it takes to read a turn alone; `nodes` where it is not all of its lines."""
        outline, outlined = self._outline, self._outline.turns[index]
        nodes = outlined.nodes if nodes is None else nodes
        kept = sorted({*nodes, *self._inline_agents(index), *outline.shared_lines(outlined)})
        at = {node: place for place, node in enumerate(kept)}
        own = set(nodes) if len(kept) > len(nodes) else at.keys()
        inputs, changes = outline.context.inputs, outline.context.changes
        opener = outlined.parted_from if outlined.parted_from >= 0 else outlined.node
        return TurnLines(
            number=self._number(outlined),
            ranges=tuple(self._ranges(kept)),
            node=at[outlined.node],
            opener=at[opener] if opener in inputs else NOWHERE,
            kinds=bytes(KIND_NUMBERS[inputs[node].kind] if node in inputs else 0 for node in kept),
            span=self._span(index, is_ended=is_ended),
            is_left=outlined.is_left,
            others=tuple(place for place, node in enumerate(kept) if node not in own),
            changes=tuple((at[node], *changes[node]) for node in nodes if node in changes),
            said_before=self._said_before(outlined),
        )

    def _said_before(self, turn: Turn) -> str | None:
        if turn.previous < 0:
            return None
        graph = self._outline.graph
        before = graph.before[turn.node]
        while before >= 0 and not isinstance(graph.records[before], UserRecord | AssistantRecord):
            before = graph.before[before]
        at = self._outline.lines.records.timestamp(before) if before >= 0 else ""
        return at if isinstance(at, str) else ""

    def _inline_agents(self, index: int) -> list[int]:
        """The lines of subagents that begin inside a turn, or before the first."""
        begin = self._begins[index] if index or self._place.last_offset else 0
        end = self._begins[index + 1] if index + 1 < len(self._begins) else None
        first = bisect_left(self._inline, begin, key=itemgetter(0))
        last = len(self._inline) if end is None else bisect_left(self._inline, end, key=itemgetter(0))
        return [node for _, nodes in self._inline[first:last] for node in nodes]

    def _ranges(self, nodes: Sequence[int]) -> Iterator[tuple[int, int, int]]:
        """Where lines are, adjacent ones as one range, with the number of the first."""
        lines, first = self._outline.lines, 0
        for place, node in enumerate(nodes, 1):
            if place == len(nodes) or lines.offsets[nodes[place]] != self._outline.behind(node):
                yield lines.offsets[nodes[first]], self._outline.behind(node), lines.numbers[nodes[first]]
                first = place

    def _span(self, index: int, *, is_ended: bool) -> TimeSpan:
        is_first = not index and not self._place.last_offset
        is_last = index + 1 == len(self._begins)
        end = None if is_last else self._begins[index + 1]
        since = "" if is_first else next(self._times(self._begins[index], end), None)
        if not is_last:
            return TimeSpan(since, next(self._times(self._begins[index + 1]), ""))
        return TimeSpan(since, "" if is_ended else max(self._times(self._begins[index]), default=""))

    def _times(self, begin: int, end: int | None = None) -> Iterator[str]:
        """The times of the lines from an offset on, as text, which sorts by time."""
        lines = self._outline.lines
        for node in self._outline.from_offset(begin):
            if end is not None and lines.offsets[node] >= end:
                return
            if isinstance(at := lines.records.timestamp(node), str):
                yield at


def _says(record: Record) -> bool:
    return isinstance(record, CompactBoundaryRecord) or (
        isinstance(record, AssistantRecord) and not (record.isSidechain or is_note(record))
    )


def _whole_lines(path: Path, offset: int, *, unended: bool = False) -> Iterator[Located]:
    try:
        size = path.stat().st_size
    except OSError:
        size = 0
    for located in read_records(path, offset):
        # Its newline is not there yet.
        if located.offset + located.length >= size and not (unended and not isinstance(located.record, DamagedRecord)):
            return
        yield located
