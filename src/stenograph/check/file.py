"""One session file -> its damage, and its forms added to a tally.

One streaming pass; memory is bounded by the longest line and the file's ids. Only a file whose tree looks odd is read again, in
outline, for the graph to say what is wrong. Findings never quote a line.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import msgspec

from stenograph.disk import Finding, Line, read_line_blocks, read_lines
from stenograph.drift import ShapeTally
from stenograph.errors import DiskError
from stenograph.family import LINES_SUFFIX, is_agent_file, owner_of
from stenograph.graph import Graph, ancestors, build_graph, choose_leaf
from stenograph.records import AssistantRecord, LastPromptRecord, Located, UserRecord, locate, outline, peek
from stenograph.releases import NEWEST, OLD, first_with

#: A release that goes by place, but ignores last-prompt lines (rule 21).
BEFORE_LAST_PROMPT = first_with("leaf_by_place")


class Damage(msgspec.Struct):
    """One kind of damage in one file."""

    count: int
    #: Of the first; 0 is the file as a whole.
    line: int


class FileReport(msgspec.Struct):
    path: Path
    lines: int
    size: int
    #: Counts only: a file damaged throughout must not fill the memory.
    damage: dict[str, Damage]
    #: Agents that ran, with the line that says so, without those with lines in the file itself.
    agents: dict[str, int]
    #: Of the last line that names one: whose copy a file under another name is.
    session_id: str | None

    def note(self, code: str, line: int) -> None:
        found = self.damage.get(code)
        if found is None:
            self.damage[code] = Damage(1, line)
        else:
            found.count += 1
            found.line = min(found.line, line)


def look_at(path: Path, number: int, tally: ShapeTally) -> FileReport:
    """What is wrong with one file; `tally` counts its lines as those of file `number`. Raises UnreadableError."""
    tools, plain = ToolWatch(), PlainWatch()
    looked = FileReport(path, 0, 0, {}, {}, None)
    tally.begin(number)
    for line in read_lines(path):
        looked.lines = line.number
        looked.size = line.offset + len(line.data) + line.ended
        record, is_standard = peek.members(line.data)
        if not is_standard and record is not msgspec.UNSET:
            _note_encoding(line, looked)
        if record.__class__ is not dict or not line.ended:
            _note_line(line, looked)
            if record.__class__ is not dict:
                continue
        tally.add(record, line.number)
        kind = record.get("type")
        plain.add(record, kind)
        if kind == "assistant" or kind == "user":
            tools.add(record, kind, line.number)
        if record.get("sessionId").__class__ is str:
            looked.session_id = record["sessionId"]
    tally.end()
    for place, is_interrupted in tools.orphan_uses:
        looked.note("interrupted-call" if is_interrupted else "orphan-tool-use", place)
    known = _in_its_session(path, tools.orphan_results.keys())
    for called, place in tools.orphan_results.items():
        if called not in known:
            looked.note("orphan-tool-result", place)
    looked.agents = {agent: line for agent, line in tools.agents.items() if agent not in tools.inline_agents}
    if not plain.is_plain:
        for finding in _in_the_graph(path):
            looked.note(finding.code, finding.line)
    return looked


def _note_encoding(line: Line, looked: FileReport) -> None:
    """Of a line that clients read though it is not standard JSON."""
    try:
        line.data.decode()
    except UnicodeDecodeError:
        looked.note("invalid-utf8", line.number)


def _note_line(line: Line, looked: FileReport) -> None:
    found = locate(looked.path, line.data, line.number, line.offset, line.ended).finding
    if found is not None:
        looked.note(found.code, line.number)


def _in_the_graph(path: Path) -> list[Finding]:
    graph = build_graph([(path, "", _outlines(path))])
    parents = {located.number: getattr(located.record, "parentUuid", None) for located in graph.nodes}
    known = _in_its_session(path, {parents[finding.line] for finding in graph.findings if finding.code == "dangling-parent"})
    findings = [each for each in graph.findings if each.code != "dangling-parent" or parents[each.line] not in known]
    if not is_agent_file(path):
        findings += _misled(graph, path)
    return findings


def _in_its_session(path: Path, ids: Collection[object]) -> set[object]:
    """Of some ids those that the session of an agent's file has: an agent may be a fork of its session's conversation."""
    wanted = {id_: id_.encode(errors="replace") for id_ in ids if isinstance(id_, str)} if is_agent_file(path) else {}
    found: set[object] = set()
    if wanted:
        project, session_id = owner_of(path)
        with contextlib.suppress(DiskError):
            for _, lines in read_line_blocks(project / f"{session_id}{LINES_SUFFIX}"):
                found.update(id_ for id_, data in wanted.items() if id_ not in found and data in lines)
    return found


def _outlines(path: Path) -> Iterator[Located]:
    for line in read_lines(path):
        record = outline(line.data)
        if record is not None:
            yield Located(record, line.number, line.offset, len(line.data))


def _misled(graph: Graph, path: Path) -> Iterator[Finding]:
    """Where some clients would continue from another line than the last one said."""
    said = choose_leaf(graph, BEFORE_LAST_PROMPT)
    if said < 0:
        return
    by_time = choose_leaf(graph, OLD)
    if _misses(graph, by_time, said):
        yield _at(graph, path, "misleading-timestamps", by_time if by_time >= 0 else said)
    named = next((node for node in range(len(graph.nodes) - 1, -1, -1) if _names_a_leaf(graph, node)), -1)
    # A rewind says so itself: it is intended.
    if named >= 0 and _misses(graph, choose_leaf(graph, NEWEST), said) and not getattr(graph.records[named], "explicit", False):
        yield _at(graph, path, "stale-last-prompt", named)


def _misses(graph: Graph, leaf: int, said: int) -> bool:
    """Whether a client that continues from a leaf leaves out more than attachments."""
    going_on = set(ancestors(graph, leaf))
    for node in ancestors(graph, said):
        if node in going_on:
            return False
        if isinstance(graph.records[node], UserRecord | AssistantRecord):
            return True
    return True


def _names_a_leaf(graph: Graph, node: int) -> bool:
    record = graph.records[node]
    return isinstance(record, LastPromptRecord) and isinstance(record.leafUuid, str)


def _at(graph: Graph, path: Path, code: str, node: int) -> Finding:
    located = graph.nodes[node]
    return Finding(code, path, located.number, located.offset, located.length)


class ToolWatch:
    """Uses that no result answers, results without a use, and agents that were started."""

    def __init__(self) -> None:
        # The line of every unanswered use.
        self._open: dict[str, int] = {}
        self._used: set[str] = set()
        self._early: dict[str, int] = {}
        #: Of the session and of each agent in it: the response that spoke last, and its uses until a prompt or another response.
        self._spoke: dict[object, object] = {}
        self._waiting: dict[object, list[str]] = {}
        #: Uses behind which the model went on.
        self._passed: set[str] = set()
        #: Agents named by a structured result, with its line.
        self.agents: dict[str, int] = {}
        self.inline_agents: set[str] = set()

    def add(self, record: dict[str, Any], kind: str, line: int) -> None:
        message = record.get("message")
        said = message if message.__class__ is dict else {}
        content = said.get("content")
        who = None
        if record.get("isSidechain"):
            agent = record.get("agentId")
            who = str(agent)
            if agent.__class__ is str:
                self.inline_agents.add(who)
        if content.__class__ is not list:
            self._waiting.pop(who, None)
            return
        if kind == "assistant":
            if (spoke := str(said.get("id"))) != self._spoke.get(who):
                self._spoke[who] = spoke
                self._passed.update(self._waiting.pop(who, ()))
            for block in content:
                if block.__class__ is dict and block.get("type") == "tool_use" and block.get("id").__class__ is str:
                    self._use(block["id"], line)
                    self._waiting.setdefault(who, []).append(block["id"])
        else:
            results = [block for block in content if block.__class__ is dict and block.get("type") == "tool_result"]
            if not results:
                self._waiting.pop(who, None)
            for block in results:
                if block.get("tool_use_id").__class__ is str:
                    self._result(block["tool_use_id"], line)
            self._agent(record, line)

    @property
    def orphan_uses(self) -> list[tuple[int, bool]]:
        """The line of each use that has no result, and whether nothing but a prompt comes behind it: it was interrupted."""
        return [(line, called not in self._passed) for called, line in self._open.items()]

    @property
    def orphan_results(self) -> dict[str, int]:
        return self._early

    def _use(self, called: str, line: int) -> None:
        if called not in self._used:
            self._used.add(called)
            if self._early.pop(called, None) is None:
                self._open[called] = line

    def _result(self, called: str, line: int) -> None:
        if called in self._used:
            self._open.pop(called, None)
        else:
            self._early[called] = line

    def _agent(self, record: dict[str, Any], line: int) -> None:
        result = record.get("toolUseResult")
        agent = result.get("agentId") if result.__class__ is dict else None
        if agent.__class__ is str:
            self.agents.setdefault(agent, line)


_LINKED_KINDS = frozenset({"user", "assistant", "system", "attachment", "progress"})
#: As clients write times, which sort as text.
_TIME_LENGTH = 24


class PlainWatch:
    """Whether the graph of a file may have anything odd, so that it is worth building: this costs an eighth of that.

    Plain files have unique uuids, parents above their children, a newest last line, and a last-prompt on the way to it.
    """

    def __init__(self) -> None:
        self._parents: dict[str, str | None] = {}
        self._newest = ""
        self._last: str | None = None
        self._last_is_newest = True
        self._last_prompt: str | None = None
        self._is_odd = False

    def add(self, record: dict[str, Any], kind: object) -> None:
        uuid = record.get("uuid")
        if uuid is None:
            if kind == "last-prompt":
                named = record.get("leafUuid")
                self._last_prompt = named if named.__class__ is str else self._last_prompt
            elif "parentUuid" in record or (kind.__class__ is str and kind in _LINKED_KINDS):
                self._is_odd = True
            return
        parent = record.get("parentUuid")
        is_linked = parent is None or (parent.__class__ is str and parent in self._parents)
        if uuid.__class__ is not str or uuid in self._parents or not is_linked:
            self._is_odd = True
            return
        self._parents[uuid] = parent
        if kind.__class__ is not str or kind not in _LINKED_KINDS:
            self._is_odd = True
        elif kind != "progress" and not record.get("isSidechain"):
            time = record.get("timestamp")
            if time.__class__ is not str or len(time) != _TIME_LENGTH:
                self._is_odd = True
                return
            self._last = uuid
            self._last_is_newest = time > self._newest
            if self._last_is_newest:
                self._newest = time

    @property
    def is_plain(self) -> bool:
        return not self._is_odd and self._last_is_newest and self._is_on_the_way()

    def _is_on_the_way(self) -> bool:
        """Whether the line that the last-prompt names is an ancestor of the last one."""
        if self._last_prompt is None:
            return True
        node = self._last
        while node is not None and node != self._last_prompt:
            node = self._parents[node]
        return node is not None
