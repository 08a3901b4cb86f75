"""A live session, followed: what is new in its file and its subagents' files since the last look.

Every look reads only what was added: each file has a cursor behind its last whole line. A file that was cut or rewritten is read
again from its start, without repeating records already reported. When `/clear` opens another file in the project directory, that
one is followed. Nothing in the new file says which session was cleared: if the old one continues, it was another client's
`/clear`, and the old one is followed again.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from stat import S_ISREG

from msgspec import Struct

from stenograph.disk import read_lines
from stenograph.errors import DiskError
from stenograph.family import AgentFile, AgentLayout, agents_folder, find_family, list_project, named_owner, session_folder
from stenograph.inputs import InputKind, InputReader
from stenograph.records import AssistantRecord, ChainedRecord, DamagedRecord, Record, UserRecord, decode, moment, read_records
from stenograph.turns import TurnReader

# What is compared to see that the file still holds what was read from it.
_REMEMBERED = 64
# Where a new file says that it comes from `/clear`: within its first lines.
_FIRST_LINES = 12
# How many records are known again when a file is read a second time.
_SEEN = 50_000
# Of a session that was left, how much is told when it turns out to go on.
_HEARD = 1000
# A directory whose time is younger may have changed again without getting another one: file systems' clocks are coarse.
_YOUNG_SECONDS = 2.0
# Agents in the session's own directory; of others their lines say whose they are.
_INSIDE = frozenset({AgentLayout.NESTED, AgentLayout.WORKFLOW})


class Update(Struct, frozen=True):
    """One thing that happened."""

    #: `record`; `damaged` (a line that is none); `cut` (the file was cut or rewritten); `agent` (a subagent began);
    #: `cleared` (the conversation goes on in another file, `path`); `returned` (that was another client's `/clear`, back to
    #: `path`); `gone` (the file is not there any more).
    kind: str
    path: Path
    #: The subagent whose file it is; empty for the session's own.
    agent_id: str = ""
    record: Record | None = None


class _Cursor(Struct):
    path: Path
    agent_id: str = ""
    offset: int = 0
    #: The last bytes before the offset.
    behind: bytes = b""
    #: Device and number of the file that was read.
    identity: tuple[int, int] | None = None
    gone: bool = False


class _Left(Struct):
    cursor: _Cursor
    agents: dict[Path, _Cursor]
    #: When the other one began.
    since: datetime | None
    heard: deque[Update]


class _Seen:
    def __init__(self, most: int = _SEEN) -> None:
        self._most = most
        self._uuids: dict[str, None] = {}

    def add(self, uuid: str) -> bool:
        is_new = self._uuids.pop(uuid, self) is self
        self._uuids[uuid] = None
        if len(self._uuids) > self._most:
            del self._uuids[next(iter(self._uuids))]
        return is_new

    def __iter__(self) -> Iterator[str]:
        return iter(self._uuids)


class Follower:
    """Follows one session; `path` is the file that it is in now."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._cursor = _Cursor(path)
        self._agents: dict[Path, _Cursor] = {}
        self._left: _Left | None = None
        self._seen = _Seen()
        self._last_said: datetime | None = None
        #: Where in its file `start` began.
        self.began_at = 0
        self._known_files = {file.path for file in list_project(path.parent).sessions} | {path}
        self._not_ours: set[Path] = set()
        # What was in the directories when they were last looked into, and is not decided yet.
        self._folder_times: dict[Path, int] = {}
        self._new_files: list[Path] = []
        self._new_agents: list[AgentFile] = []
        # Agents that were there before are followed from where they are.
        self._find_agents()
        for cursor in self._agents.values():
            _skip_to_end(cursor)

    def start(self, turns: int = 1) -> list[Update]:
        """The last so many turns, as updates; what comes after them is for `poll`. Raises UnreadableError."""
        for located in read_records(self.path):
            record = located.record
            self._note(record)
            if isinstance(record, ChainedRecord) and isinstance(record.uuid, str):
                self._seen.add(record.uuid)
        if not turns:
            _skip_to_end(self._cursor)
            return []
        begins = TurnReader(self.path).begins()
        self.began_at = self._cursor.offset = begins[-turns] if turns <= len(begins) else 0
        told, self._seen = self._seen, _Seen()
        updates = self._read(self._cursor)
        for uuid in self._seen:
            told.add(uuid)
        self._seen = told
        return updates

    def poll(self) -> list[Update]:
        """What happened since the last look."""
        updates = self._return()
        updates += self._look_at(self._cursor)
        updates += self._find_agents()
        for cursor in list(self._agents.values()):
            updates += self._look_at(cursor)
        if (successor := self._successor()) is not None:
            updates += self._look_at(self._cursor)  # its last words
            since = _began(successor)
            if self._last_said is not None and since is not None and self._last_said > since:
                return updates  # it was talked in since: not the one that was cleared
            self._left = _Left(self._cursor, self._agents, since, deque(maxlen=_HEARD))
            self._follow(_Cursor(successor), {})
            updates.append(Update("cleared", successor))
            updates += self._look_at(self._cursor)
        return updates

    def _return(self) -> list[Update]:
        left = self._left
        if left is None:
            return []
        left.heard.extend(self._look_at(left.cursor))
        if left.cursor.gone:
            self._left = None
            return []
        if not any(_goes_on(update.record, left.since) for update in left.heard):
            return []
        self._left = None
        self._follow(left.cursor, left.agents)
        for update in left.heard:
            if update.record is not None:
                self._note(update.record)
        return [Update("returned", self.path), *left.heard]

    def _follow(self, cursor: _Cursor, agents: dict[Path, _Cursor]) -> None:
        self.path, self._cursor, self._agents = cursor.path, cursor, agents
        self._last_said = None
        self._not_ours.clear()
        self._folder_times.clear()

    def _note(self, record: Record) -> None:
        if isinstance(record, UserRecord | AssistantRecord) and not record.isSidechain and (at := moment(record.timestamp)):
            self._last_said = at if self._last_said is None else max(at, self._last_said)

    def _look_at(self, cursor: _Cursor) -> list[Update]:
        try:
            status = os.stat(cursor.path)  # noqa: PTH116
            if not S_ISREG(status.st_mode):
                raise FileNotFoundError  # what stands in its place is not read: a pipe would never end
        except OSError:
            told, cursor.gone = cursor.gone, True
            return [] if told else [Update("gone", cursor.path, cursor.agent_id)]
        cursor.gone = False
        identity = (status.st_dev, status.st_ino)
        replaced = cursor.identity is not None and cursor.identity != identity
        cursor.identity = identity
        if status.st_size == cursor.offset and not replaced:
            return []
        updates: list[Update] = []
        if status.st_size < cursor.offset or not _still_there(cursor):
            updates.append(Update("cut", cursor.path, cursor.agent_id))
            cursor.offset, cursor.behind = 0, b""
        try:
            return updates + self._read(cursor)
        except DiskError:
            return updates  # it vanished between the two looks: the next one says so

    def _read(self, cursor: _Cursor) -> list[Update]:
        updates: list[Update] = []
        for line in read_lines(cursor.path, cursor.offset):
            record = decode(line.data)
            if isinstance(record, DamagedRecord) and not line.ended:
                break  # half a line: its writer is at work
            cursor.offset = line.offset + len(line.data) + line.ended
            cursor.behind = (cursor.behind + bytes(line.data[-_REMEMBERED:]) + b"\n" * line.ended)[-_REMEMBERED:]
            if isinstance(record, DamagedRecord):
                if record.reason != "blank":
                    updates.append(Update("damaged", cursor.path, cursor.agent_id, record))
                continue
            uuid = record.uuid if isinstance(record, ChainedRecord) else None
            if isinstance(uuid, str) and not self._seen.add(uuid):
                continue
            if cursor is self._cursor:
                self._note(record)
            updates.append(Update("record", cursor.path, cursor.agent_id, record))
        return updates

    def _look_around(self) -> None:
        """List the directories where files may come, if one of them changed since they were listed."""
        own = session_folder(self.path)
        folders = [self.path.parent, own, *self._folder_times]
        times = {folder: time_ for folder in folders if (time_ := _folder_time(folder)) is not None}
        youngest = max(times.values(), default=0)
        if times == self._folder_times and time.time() - youngest / 1e9 > _YOUNG_SECONDS:
            return
        # Before they are listed: what comes meanwhile is seen the next time.
        below = [Path(folder) for folder, _, _ in os.walk(agents_folder(self.path))]
        self._folder_times = times | {folder: time_ for folder in below if (time_ := _folder_time(folder)) is not None}
        try:
            listing = list_project(self.path.parent)
        except DiskError:
            return
        self._new_files = [file.path for file in listing.sessions if file.named_by_uuid and file.path not in self._known_files]
        self._new_agents = [*find_family(self.path.parent, self.path.stem).agents]
        self._new_agents += [agent for agent in listing.loose_agents if agent.path not in self._not_ours]

    def _find_agents(self) -> list[Update]:
        self._look_around()
        updates = []
        for agent in self._new_agents:
            if agent.path not in self._agents and (agent.layout in _INSIDE or self._is_ours(agent)):
                self._agents[agent.path] = _Cursor(agent.path, agent.agent_id)
                updates.append(Update("agent", agent.path, agent.agent_id))
        known = self._not_ours | self._agents.keys()
        self._new_agents = [agent for agent in self._new_agents if agent.path not in known]
        return updates

    def _is_ours(self, agent: AgentFile) -> bool:
        owner = named_owner(agent.path)
        if owner not in (None, self.path.stem):
            self._not_ours.add(agent.path)
        return owner == self.path.stem  # no whole line yet: the next look will tell

    def _successor(self) -> Path | None:
        for path in list(self._new_files):
            verdict = _begins_with_clear(path)
            if verdict is not None:
                self._known_files.add(path)
                self._new_files.remove(path)
            if verdict:
                return path
        return None


def _folder_time(folder: Path) -> int | None:
    try:
        return os.stat(folder).st_mtime_ns  # noqa: PTH116
    except OSError:
        return None


def _began(path: Path) -> datetime | None:
    try:
        for located in read_records(path):
            record = located.record
            if isinstance(record, ChainedRecord) and (at := moment(record.timestamp)):
                return at
    except DiskError:
        pass
    return None


def _goes_on(record: Record | None, since: datetime | None) -> bool:
    if not isinstance(record, UserRecord | AssistantRecord) or record.isSidechain:
        return False
    at = moment(record.timestamp)
    return at is None or since is None or at > since


def _skip_to_end(cursor: _Cursor) -> None:
    try:
        for line in read_lines(cursor.path):
            if line.ended:
                cursor.offset = line.offset + len(line.data) + 1
                cursor.behind = bytes(line.data[-_REMEMBERED:]) + b"\n"
    except DiskError:
        return


def _still_there(cursor: _Cursor) -> bool:
    try:
        # Should a pipe have come in its place meanwhile, opening it does not wait, and seeking fails.
        with open(os.open(cursor.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:  # noqa: PTH123
            file.seek(cursor.offset - len(cursor.behind))
            return file.read(len(cursor.behind)) == cursor.behind
    except OSError:
        return True  # the reading that follows will tell


def _begins_with_clear(path: Path) -> bool | None:
    """Whether the file's first lines hold the command; None while there are too few to tell."""
    inputs = InputReader()
    try:
        for number, located in enumerate(read_records(path)):
            if (said := inputs.read(located.record)) is not None:
                if said.kind is InputKind.COMMAND and said.text.split(" ")[0] == "/clear":
                    return True
                if said.is_human:
                    return False
            if number >= _FIRST_LINES:
                return False
    except DiskError:
        return None
    return None
