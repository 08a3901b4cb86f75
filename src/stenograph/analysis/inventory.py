"""What is in session files, counted in one streaming pass per file. An unreadable file is a finding and stops nothing.

Counts are by line: a response written as three lines is three assistant records and gives three stop reasons (absent counts as
null). `human_turns` are user records with string content, which include commands, caveats and notifications and exclude prompts
with images (docs/seeds.md).
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from stenograph.disk import Finding
from stenograph.errors import DiskError
from stenograph.family import LINES_SUFFIX, is_agent_file, is_session_id, owner_of
from stenograph.records import (
    AssistantRecord,
    Block,
    Content,
    DamagedRecord,
    Opt,
    SessionRecord,
    ToolUseBlock,
    UnknownBlock,
    UserRecord,
    read_records,
)
from stenograph.sessions import as_unreadable, gather, size_of, unreadable

#: A file damaged throughout must not fill the memory; `damaged` counts all.
FINDINGS_KEPT = 100
#: Nor may one with a new kind on every line: the rest, and longer names, count as `OTHERS`.
NAMES_KEPT = 1000
LONGEST_NAME = 200
OTHERS = "others"

#: Called with the bytes done and the total.
Progress = Callable[[int, int], None]


class RecordCounts(msgspec.Struct):
    lines: int = 0
    #: Lines that hold no JSON object.
    damaged: int = 0
    human_turns: int = 0
    tool_calls: int = 0
    releases: dict[str, int] = msgspec.field(default_factory=dict)
    #: By the `type` member; a record without one counts as `unknown`, a flat line by its role.
    types: dict[str, int] = msgspec.field(default_factory=dict)
    #: The same, with subtypes: `system/compact_boundary`.
    kinds: dict[str, int] = msgspec.field(default_factory=dict)
    stop_reasons: dict[str, int] = msgspec.field(default_factory=dict)
    #: By type, without those inside a tool's result.
    blocks: dict[str, int] = msgspec.field(default_factory=dict)

    def add(self, other: RecordCounts) -> None:
        for name in ("lines", "damaged", "human_turns", "tool_calls"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("releases", "types", "kinds", "stop_reasons", "blocks"):
            counted: dict[str, int] = getattr(self, name)
            for key, number in getattr(other, name).items():
                _add(counted, key, number)


class FileInventory(msgspec.Struct):
    path: Path
    #: Of a session file its name, of a subagent's file what its lines say.
    session_id: str | None
    size: int
    counts: RecordCounts
    findings: list[Finding]
    #: The session's subagents among the files.
    agents: int = 0


class Inventory(msgspec.Struct):
    sessions: list[FileInventory]
    #: Files of subagents, in any layout.
    agents: list[FileInventory]
    session_totals: RecordCounts
    agent_totals: RecordCounts
    failures: list[Finding]


def take_inventory(paths: Sequence[Path], progress: Progress | None = None) -> Inventory:
    """Count what is in files and directories. Raises SessionNotFoundError for a path that does not exist or holds none."""
    files, failures = gather(paths)
    inventory = Inventory([], [], RecordCounts(), RecordCounts(), failures)
    total = sum(size_of(file) for file in files)
    done = 0
    for file in files:
        before = done

        def report(offset: int, before: int = before) -> None:
            if progress is not None:
                progress(before + offset, total)

        try:
            with as_unreadable(file):
                counted = _count(file, report)
        except DiskError as error:
            inventory.failures.append(unreadable(error))
            continue
        done += counted.size
        report(0, done)
        if is_agent_file(file):
            inventory.agents.append(counted)
            inventory.agent_totals.add(counted.counts)
        else:
            inventory.sessions.append(counted)
            inventory.session_totals.add(counted.counts)
    owned = Counter((os.path.realpath(project), owner) for project, owner in map(owner_of, (a.path for a in inventory.agents)))
    for session in inventory.sessions:
        session.agents = owned[os.path.realpath(session.path.parent), session.path.name.removesuffix(LINES_SUFFIX)]
    return inventory


def _count(path: Path, report: Callable[[int], None]) -> FileInventory:
    """Raises UnreadableError."""
    counts = RecordCounts()
    findings: list[Finding] = []
    named: str | None = None
    size = 0
    for located in read_records(path):
        record = located.record
        counts.lines += 1
        size = located.offset + located.length + 1
        if not counts.lines & 0x3FF:
            report(located.offset)
        if located.finding is not None and len(findings) < FINDINGS_KEPT:
            findings.append(located.finding)
        if isinstance(record, DamagedRecord):
            counts.damaged += 1
            continue
        _add(counts.kinds, record.kind)
        _add(counts.types, record.kind.partition("/")[0])
        if named is None and isinstance(record, SessionRecord) and isinstance(record.sessionId, str):
            named = record.sessionId
        if isinstance(release := getattr(record, "version", None), str):
            _add(counts.releases, release)
        if isinstance(record, UserRecord):
            content = record.content
            counts.human_turns += isinstance(content, str)
            _count_blocks(content, counts.blocks)
        elif isinstance(record, AssistantRecord):
            reason = record.message.stop_reason if record.message else None
            _add(counts.stop_reasons, reason if isinstance(reason, str) else "null")
            counts.tool_calls += _count_blocks(record.content, counts.blocks)
    stem = path.name.removesuffix(LINES_SUFFIX)
    return FileInventory(
        path=path,
        session_id=named if is_agent_file(path) or not is_session_id(stem) else stem,
        size=size,
        counts=counts,
        findings=findings,
    )


def _add(counted: dict[str, int], name: str, number: int = 1) -> None:
    if name not in counted and (len(counted) >= NAMES_KEPT or len(name) > LONGEST_NAME):
        name = OTHERS
    counted[name] = counted.get(name, 0) + number


def _count_blocks(content: Opt[Content], blocks: dict[str, int]) -> int:
    """Add the blocks by type; returns how many are tool uses."""
    if not isinstance(content, tuple):
        return 0
    tool_calls = 0
    for block in content:
        _add(blocks, _type_of(block))
        tool_calls += isinstance(block, ToolUseBlock)
    return tool_calls


def _type_of(block: object) -> str:
    if isinstance(block, UnknownBlock):
        return block.type if isinstance(block.type, str) else "unknown"
    return str(type(block).__struct_config__.tag) if isinstance(block, Block) else "unknown"
