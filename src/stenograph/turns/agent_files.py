"""Which subagents' files belong to which turn: by their meta file, by a result that names them, else by the time they began."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from stenograph.errors import DiskError
from stenograph.family import AgentFile, Family, read_metas
from stenograph.records import (
    AgentResult,
    AssistantRecord,
    ChainedRecord,
    Located,
    TeammateResult,
    UserRecord,
    read_all_records,
    read_records,
)


class ReadFailure(Struct, frozen=True):
    """A file that can't be read."""

    path: Path
    #: From the file system, never from a file.
    reason: str
    #: The subagent whose lines it would hold; empty if unknown, and for a session's own file.
    agent_id: str = ""


class TimeSpan(NamedTuple):
    """When a turn begins and ends, as lines write times; an empty `until` is open.

    The first turn of a file also gets what began before it (`since` is empty), one without times nothing (None).
    """

    since: str | None
    until: str


class AgentFiles:
    """The subagents' files of one session."""

    def __init__(self, path: Path, family: Family) -> None:
        self._path = path
        self.metas, damaged = read_metas(family.agents)
        self._failures = {
            finding.path: ReadFailure(finding.path, finding.detail)
            for finding in (*family.hidden_agents, *damaged)
            if finding.path and finding.code != "damaged-meta"
        }
        self._named_by_meta: dict[str, list[AgentFile]] = {}
        self._without_meta: dict[str, AgentFile] = {}
        for agent in family.agents:
            meta = self.metas.get(agent.agent_id)
            if meta and meta.tool_use_id:
                self._named_by_meta.setdefault(meta.tool_use_id, []).append(agent)
            else:
                self._without_meta[agent.agent_id] = agent
        self._beginnings: dict[Path, str] = {}

    def take_failures(self) -> tuple[ReadFailure, ...]:
        """What could not be read since the last call."""
        failures, self._failures = tuple(self._failures.values()), {}
        return failures

    def of(self, lines: Iterable[Located], span: TimeSpan) -> list[tuple[Path, str, list[Located]]]:
        found: dict[Path, tuple[Path, str, list[Located]]] = {}
        waiting: list[Iterable[Located]] = [lines]
        while waiting:
            uses, named = _mentioned(waiting.pop())
            agents = [agent for use in uses for agent in self._named_by_meta.get(use, ())]
            agents += [self._without_meta[agent_id] for agent_id in named if agent_id in self._without_meta]
            for agent in agents:
                if agent.path not in found:
                    records = self._read(agent)
                    found[agent.path] = (agent.path, agent.agent_id, records)
                    waiting.append(records)
        for agent in self._without_meta.values():
            if agent.path not in found and self._is_stray(agent, span):
                found[agent.path] = (agent.path, agent.agent_id, self._read(agent))
        return list(found.values())

    def any_began_in(self, lines: Iterable[Located], span: TimeSpan) -> bool:
        """Whether a subagent that nothing names may have begun in a turn."""
        if not self._without_meta:
            return False
        _, named = _mentioned(lines)
        return any(self._is_stray(agent, span) for id_, agent in self._without_meta.items() if id_ not in named)

    def _is_stray(self, agent: AgentFile, span: TimeSpan) -> bool:
        """Whether only its time says where an agent belongs, and that is in the turn."""
        began = self._began(agent)
        if began is None or span.since is None or agent.agent_id in self._all_named:
            return False
        return span.since <= began and (not span.until or began < span.until)

    def _began(self, agent: AgentFile) -> str | None:
        if agent.path not in self._beginnings:
            try:
                times = (located.record.timestamp for located in read_records(agent.path) if _is_chained(located))  # type: ignore[attr-defined]
                self._beginnings[agent.path] = next((time for time in times if isinstance(time, str)), "")
            except DiskError as error:
                # Its turn is unknown, so none waits for it.
                self._failures[error.path] = ReadFailure(error.path, str(error))
                return None
        return self._beginnings[agent.path]

    def _read(self, agent: AgentFile) -> list[Located]:
        try:
            return list(read_all_records(agent.path))
        except DiskError as error:
            self._failures[error.path] = ReadFailure(error.path, str(error), agent.agent_id)
            return []

    @functools.cached_property
    def _all_named(self) -> set[str]:
        """Agents named by any result; needed only for agents without a meta file (before 2.1)."""
        return _mentioned(read_records(self._path))[1]


def _is_chained(located: Located) -> bool:
    return isinstance(located.record, ChainedRecord)


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
