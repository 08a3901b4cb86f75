"""One session file -> its damage, and its forms added to a tally.

One streaming pass; memory is bounded by the longest line and the file's ids. Only a file whose tree looks odd is read again, in
outline, for the graph to say what is wrong. Findings say what and where, never what a line holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from stenograph.check.plain import PlainWatch
from stenograph.check.tools import ToolWatch
from stenograph.disk import Finding, Line, read_lines
from stenograph.drift import ShapeTally
from stenograph.family import is_agent_file
from stenograph.graph import Graph, ancestors, build_graph, choose_leaf
from stenograph.records import AssistantRecord, LastPromptRecord, Located, UserRecord, locate, outline, peek
from stenograph.releases import NEWEST, OLD, first_with

#: A release that goes by place, but ignores last-prompt lines (rule 21).
BEFORE_LAST_PROMPT = first_with("leaf_by_place")


class Damage(msgspec.Struct):
    """One kind of damage in one file."""

    count: int
    #: Of the first; counted from 1, 0 is the file as a whole.
    line: int


class FileReport(msgspec.Struct):
    path: Path
    lines: int
    size: int
    #: By code. Counts only: a file damaged throughout must not fill the memory.
    damage: dict[str, Damage]
    #: Agents that ran, with the line that says so, without those whose lines stand in the file itself.
    agents: dict[str, int]
    #: Of the last line that names one: whose copy a file under another name is. An agent's owner is not read from here.
    session_id: str | None

    def note(self, code: str, line: int) -> None:
        found = self.damage.get(code)
        if found is None:
            self.damage[code] = Damage(1, line)
        else:
            found.count += 1
            found.line = min(found.line, line)


def look_at(path: Path, number: int, tally: ShapeTally) -> FileReport:
    """What is wrong with one file; its lines are counted in `tally` as those of file `number`. Raises UnreadableError."""
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
        plain.add(record)
        kind = record.get("type")
        if kind == "assistant" or kind == "user":
            tools.add(record, line.number)
            if record.get("isSidechain") and record.get("agentId").__class__ is str:
                tools.inline_agents.add(record["agentId"])
        if record.get("sessionId").__class__ is str:
            looked.session_id = record["sessionId"]
    tally.end()
    for place in tools.orphan_uses:
        looked.note("orphan-tool-use", place)
    for place in tools.orphan_results:
        looked.note("orphan-tool-result", place)
    looked.agents = {agent: line for agent, line in tools.agents.items() if agent not in tools.inline_agents}
    if not plain.is_plain:
        for finding in _in_the_graph(path):
            looked.note(finding.code, finding.line)
    return looked


def _note_encoding(line: Line, looked: FileReport) -> None:
    """Of a line that clients read though it is not JSON as the standard has it."""
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
    findings = list(graph.findings)
    if not is_agent_file(path):
        findings += _misled(graph, path)
    return findings


def _outlines(path: Path) -> Iterator[Located]:
    for line in read_lines(path):
        members, _ = peek.members(line.data)
        if isinstance(members, dict):
            yield Located(outline(members), line.number, line.offset, len(line.data))


def _misled(graph: Graph, path: Path) -> Iterator[Finding]:
    """Where old clients, or new ones, would go on from another line than the last one that was said."""
    said = choose_leaf(graph, BEFORE_LAST_PROMPT)
    if said < 0:
        return
    by_time = choose_leaf(graph, OLD)
    if _misses(graph, by_time, said):
        yield _at(graph, path, "misleading-timestamps", by_time if by_time >= 0 else said)
    named = next((node for node in range(len(graph.nodes) - 1, -1, -1) if _names_a_leaf(graph, node)), -1)
    # One that a rewind wrote says so itself: it is meant.
    if named >= 0 and _misses(graph, choose_leaf(graph, NEWEST), said) and not getattr(graph.records[named], "explicit", False):
        yield _at(graph, path, "stale-last-prompt", named)


def _misses(graph: Graph, leaf: int, said: int) -> bool:
    """Whether a client that goes on from a leaf leaves out something that was said, and not only attachments behind it."""
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
