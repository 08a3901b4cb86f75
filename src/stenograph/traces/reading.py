"""A place in a session file -> the turns that stand after it and are over, each with its sub-agents.

In: a path, a place that earlier readings reached, and what is known of whether the last turn is over. Out: groups of lines, each
from one prompt to the next, with the turns in them. Each group is understood by itself, so that reading on from a place gives
what reading all of the file would give; memory and time go with what is new. Only whole lines are read. A sub-agent's file that
can't be read costs nothing but what it says: the group comes without it, and with a `Failure` that names it.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path

from msgspec import Struct

from stenograph.errors import DiskError
from stenograph.family import AgentFile, Family, is_session_id, read_family, read_metas
from stenograph.graph import build_graph
from stenograph.inputs import OPENERS, InputKind, classify, is_caveat
from stenograph.records import (
    AssistantRecord,
    ChainedRecord,
    CompactBoundaryRecord,
    Located,
    UserRecord,
    read_all_records,
    read_records,
)
from stenograph.records.tool_results import AgentResult, TeammateResult
from stenograph.traces.mapping import Traced
from stenograph.turns import AgentRun, Session, Turn, TurnStatus, build_session, runs_below
from stenograph.turns.stream import group_by_prompt

# What opens a turn only where the model answers it.
LOCAL = frozenset({InputKind.COMMAND, InputKind.BASH})


class Place(Struct, frozen=True):
    """How far a file was read: all turns before `offset` are told."""

    offset: int = 0
    turns: int = 0
    #: The last group that was told: should it turn out to go on it is read again from there.
    last_offset: int = 0
    last_turns: int = 0


class Closing(Enum):
    """What is known of the last turn in a file, beside its lines."""

    #: Nothing: it is over if it was interrupted or failed.
    UNKNOWN = 0
    #: The client said that it stopped: over if all was answered.
    STOPPED = 1
    #: The session or the turn ended, or nothing was written for long: over, whatever is missing.
    ENDED = 2


class Failure(Struct, frozen=True):
    """A file that something is missing of, because it can't be read."""

    path: Path
    #: What the file system said; never what a file says.
    reason: str
    #: The sub-agent whose lines it would hold; empty where that is not known, and for a session's own file.
    agent_id: str = ""


class Group(Struct, frozen=True):
    """The lines from one prompt to the next, and the turns in them; mostly one."""

    traced: tuple[Traced, ...]
    #: Where it begins, and the number of turns before it.
    offset: int
    turns: int
    #: Where reading goes on.
    after: Place
    #: It was told before, and goes on.
    is_again: bool = False
    #: Files of its sub-agents that could not be read.
    failures: tuple[Failure, ...] = ()


def read_closed(path: Path, place: Place, closing: Closing) -> Iterator[Group]:
    """The groups after a place that are over, in order; those without a turn too. Raises UnreadableError."""
    reader = _Reader(path)
    is_again = bool(place.offset) and _goes_on(next(_groups(path, place.offset), []))
    if is_again or reader.may_have_more(place):
        # The turn that was told last is longer than it seemed: again from its beginning.
        place = Place(place.last_offset, place.last_turns)
    number = place.turns
    waiting: list[Located] = []
    for lines in _groups(path, place.offset):
        if waiting:
            group = reader.group(waiting, number, lines[0].offset, until=reader.time_from(lines), is_again=is_again)
            number, is_again = number + len(group.traced), False
            yield group
        waiting = lines
    until = ""
    if closing is not Closing.ENDED:
        waiting = _without_command_at_end(waiting)
        until = max(_times_in(waiting), default="")  # of what began later the next prompt will say where it belongs
    if waiting:
        group = reader.group(waiting, number, waiting[-1].offset + waiting[-1].length + 1, until=until, is_again=is_again)
        # Lines after a turn may be the beginning of something: they are read again until it is known what.
        if closing is Closing.ENDED or (group.traced and _is_over(group.traced[-1], closing)):
            yield group


def read_group(path: Path, offset: int, turns: int) -> Group | None:
    """One group again, from its beginning; None where the file has become another."""
    groups = _groups(path, offset)
    lines = next(groups, [])
    if not lines:
        return None
    reader = _Reader(path)
    until = reader.time_from(next(groups, []))
    return reader.group(lines, turns, lines[-1].offset + lines[-1].length + 1, until=until)


def _groups(path: Path, offset: int) -> Iterator[list[Located]]:
    groups = group_by_prompt(_whole_lines(path, offset), keep_sidechains=True)
    first, second = next(groups, []), [] if offset else next(groups, [])
    if second and _comes_before_its_prompt(first, second):
        first, second = first + second, []
    yield from (group for group in (first, second) if group)
    yield from groups


def _comes_before_its_prompt(first: list[Located], second: list[Located]) -> bool:
    """Whether what a file begins with belongs to the prompt after it: a sub-agent that warmed up, or the answer, which 2.1.45
    in the terminal may write before its prompt."""
    spoken = [each.record for each in first if isinstance(each.record, UserRecord | AssistantRecord)]
    if spoken and all(record.isSidechain for record in spoken):
        return True
    prompts = {each.record.uuid for each in second if isinstance(each.record, UserRecord) and each.record.uuid}
    return any(isinstance(record, AssistantRecord) and record.parentUuid in prompts for record in spoken)


def _whole_lines(path: Path, offset: int) -> Iterator[Located]:
    try:
        size = path.stat().st_size
    except OSError:
        size = 0
    for located in read_records(path, offset):
        if located.offset + located.length >= size:
            return  # its newline is not there yet
        yield located


def _goes_on(lines: list[Located]) -> bool:
    """Whether lines that begin without a prompt say something of the turn before them, or end it with a compaction."""
    for located in lines:
        record = located.record
        if isinstance(record, CompactBoundaryRecord):
            return True
        if isinstance(record, AssistantRecord) and not record.isSidechain:
            return True
        if isinstance(record, UserRecord) and not record.isSidechain:
            kind = classify(record).kind
            if kind in OPENERS - LOCAL:
                return False
            if kind in (InputKind.TOOL_RESULT, InputKind.INTERRUPT):
                return True
    return False


def _without_command_at_end(lines: list[Located]) -> list[Located]:
    """Without a local command that may not be whole: only all of its lines together say that nobody asked the model."""
    for place in range(len(lines) - 1, -1, -1):
        record = lines[place].record
        if isinstance(record, AssistantRecord):
            break
        if isinstance(record, UserRecord) and is_caveat(classify(record)):
            return lines[:place]
    return lines


def _is_over(traced: Traced, closing: Closing) -> bool:
    """Whether nothing more is to come."""
    turns = (traced.turn, *traced.strays)
    if any(is_unfinished(turn) for turn in turns):
        return False
    return closing is Closing.STOPPED or not any(turn.status is TurnStatus.COMPLETE for turn in turns)


def is_unfinished(turn: Turn) -> bool:
    """Whether the last turn of a file, or of a sub-agent's, may go on.

    Its status alone does not say so: where a sub-agent's lines come after those of its turn, that one seems to be left behind.
    """
    if turn.status is TurnStatus.INTERRUPTED:
        return not any(event.kind == "interrupt" for event in turn.events)
    return turn.status is TurnStatus.OPEN


class _Reader:
    """Understands the groups of one file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._family: Family = read_family(path)
        self._metas, damaged = read_metas(self._family.agents)
        #: What could not be read since the last group, by path.
        self._failures = {
            finding.path: Failure(finding.path, finding.detail)
            for finding in (*self._family.hidden_agents, *damaged)
            if finding.path and finding.code != "damaged-meta"
        }
        self._named_by_meta: dict[str, list[AgentFile]] = {}
        self._without_meta: dict[str, AgentFile] = {}
        for agent in self._family.agents:
            meta = self._metas.get(agent.agent_id)
            if meta and meta.tool_use_id:
                self._named_by_meta.setdefault(meta.tool_use_id, []).append(agent)
            else:
                self._without_meta[agent.agent_id] = agent
        self._beginnings: dict[Path, str] = {}
        #: From where on a time was looked for, where it was found, and which; see `time_from`.
        self._next_time = (0, -1, "")

    def group(self, lines: list[Located], turns: int, end: int, *, until: str = "", is_again: bool = False) -> Group:
        """The turns of a group; `until` is when the next one begins."""
        begin = lines[0].offset
        agents = self._agents_of(lines, _since(lines, turns), until)
        graph = build_graph([(self._path, "", lines), *agents])
        metas = {agent_id: self._metas[agent_id] for _, agent_id, _ in agents if agent_id in self._metas}
        session = build_session(graph, self._path.stem, self._family, metas)
        traced = self._traced(session, turns)
        last = (begin, turns) if traced else (0, 0)
        failures, self._failures = tuple(self._failures.values()), {}
        return Group(traced, begin, turns, Place(end, turns + len(traced), *last), is_again, failures)

    def _traced(self, session: Session, turns: int) -> tuple[Traced, ...]:
        own: list[list[Turn]] = []
        for turn in session.all_turns:
            if own and turn.kind is InputKind.EMPTY and not turn.prompt:
                own[-1].append(turn)
            else:
                own.append([turn])
        unlinked = [run for run in session.agents if not run.tool_use_id and run.turns]
        return tuple(
            Traced(
                turn=first,
                number=turns + place,
                session_id=self._session_id(first),
                strays=tuple(strays),
                # Of what started them nothing is known. They began in this group: told with the turn that it always has.
                unlinked=tuple(unlinked) if place == 1 else (),
            )
            for place, (first, *strays) in enumerate(own, 1)
        )

    def _session_id(self, turn: Turn) -> str:
        """The session that a turn happened in: forks of old releases keep the old id on copies."""
        record = turn.context.graph.records[turn.node]
        named = record.sessionId if isinstance(record, ChainedRecord) else None
        return named if isinstance(named, str) and is_session_id(named) else self._path.stem

    def may_have_more(self, place: Place) -> bool:
        """Whether an agent that nothing names may have begun in the turn that was told last, after it was told."""
        if not place.offset or not self._without_meta:
            return False
        groups = _groups(self._path, place.last_offset)
        lines, until = next(groups, []), self.time_from(next(groups, []))
        since = _since(lines, place.last_turns)
        _, named = _mentioned(lines)
        return any(self._is_stray(agent, since, until) for id_, agent in self._without_meta.items() if id_ not in named)

    def time_from(self, lines: list[Located]) -> str:
        """The first time in some lines or after them; empty where there is none. Only agents that nothing names ask for it."""
        if (found := _begin_of(lines)) or not lines or not self._without_meta:
            return found
        begin = lines[0].offset
        looked_from, found_at, time = self._next_time
        if not looked_from <= begin <= found_at:
            found_at, time = sys.maxsize, ""
            for located in read_records(self._path, begin):
                if time := _begin_of([located]):
                    found_at = located.offset
                    break
            self._next_time = (begin, found_at, time)
        return time

    def _is_stray(self, agent: AgentFile, since: str | None, until: str) -> bool:
        """Whether nothing but its time says where an agent belongs, and that is between two prompts (`until` may be open).

        One without a time belongs to what a file begins with, as does one whose session has no times, so that it is told once.
        """
        began = self._began(agent)
        if began is None or since is None or agent.agent_id in self._all_named:
            return False
        return since <= began and (not until or began < until)

    def _began(self, agent: AgentFile) -> str | None:
        if agent.path not in self._beginnings:
            try:
                self._beginnings[agent.path] = _begin_of(read_records(agent.path))
            except DiskError as error:
                # Which turn it belongs to is not known, so none waits for it.
                self._failures[error.path] = Failure(error.path, str(error))
                return None
        return self._beginnings[agent.path]

    def _agents_of(self, lines: list[Located], since: str | None, until: str) -> list[tuple[Path, str, list[Located]]]:
        """The files of the sub-agents that some lines started, and of those that these started."""
        found: dict[Path, tuple[Path, str, list[Located]]] = {}
        waiting: list[Iterable[Located]] = [lines]
        while waiting:
            uses, named = _mentioned(waiting.pop())
            agents = [agent for use in uses for agent in self._named_by_meta.get(use, ())]
            agents += [self._without_meta[agent_id] for agent_id in named if agent_id in self._without_meta]
            for agent in agents:
                if agent.path not in found:
                    records = self._read_agent(agent)
                    found[agent.path] = (agent.path, agent.agent_id, records)
                    waiting.append(records)
        for agent in self._without_meta.values():
            if agent.path not in found and self._is_stray(agent, since, until):
                found[agent.path] = (agent.path, agent.agent_id, self._read_agent(agent))
        return list(found.values())

    def _read_agent(self, agent: AgentFile) -> list[Located]:
        try:
            return list(read_all_records(agent.path))
        except DiskError as error:
            self._failures[error.path] = Failure(error.path, str(error), agent.agent_id)
            return []

    @functools.cached_property
    def _all_named(self) -> set[str]:
        """The agents that any result of the file names; asked for only where an agent has no meta file (before 2.1)."""
        return _mentioned(read_records(self._path))[1]


def _mentioned(lines: Iterable[Located]) -> tuple[set[str], set[str]]:
    """The ids of tool uses, and of agents that results name."""
    uses: set[str] = set()
    agents: set[str] = set()
    for located in lines:
        record = located.record
        if isinstance(record, AssistantRecord):
            blocks = record.content if isinstance(record.content, tuple) else ()
            uses.update(id_ for block in blocks if isinstance(id_ := getattr(block, "id", None), str))
        elif isinstance(record, UserRecord):
            result = record.toolUseResult
            name = result.agentId if isinstance(result, AgentResult) else None
            name = result.agent_id if isinstance(result, TeammateResult) else name
            if isinstance(name, str) and name:
                agents.add(name)
    return uses, agents


def _since(lines: list[Located], turns: int) -> str | None:
    """From when on agents belong to a group: to the first one also those before its prompt, to one without times none."""
    return (_begin_of(lines) or None) if turns else ""


def _begin_of(lines: Iterable[Located]) -> str:
    return next(_times_in(lines), "")


def _times_in(lines: Iterable[Located]) -> Iterator[str]:
    """The times of some lines; as text, which sorts by time as clients write it."""
    for located in lines:
        if isinstance(located.record, ChainedRecord) and isinstance(at := located.record.timestamp, str):
            yield at


def runs_in(traced: Traced) -> Iterator[AgentRun]:
    """All sub-agents of a turn, at any depth."""
    return runs_below([*traced.turn.agent_runs, *(run for stray in traced.strays for run in stray.agent_runs), *traced.unlinked])
