"""What is in session files, counted: the tables of seed 001 §2 and §8.

In: session files, or folders of them. Out: one FileInventory for each file, sub-agents' files apart, and totals. One streaming
pass a file; nothing of it is kept but counts. A file that can't be read is a finding and stops nothing.

A folder stands for every `*.jsonl` file below it, a home for those below its `projects` folder. Counts are by line, as in the
seed: a response written as three lines is three assistant records and gives three stop reasons (absent counts as null).
`human_turns` is the seed's definition, user records with string content, which also counts commands, caveats and
notifications and leaves out prompts with images.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec

from stenograph.disk import Finding, is_agent_file, is_session_id, projects_folder
from stenograph.errors import DiskError, SessionNotFoundError
from stenograph.records import (
    AssistantRecord,
    Block,
    ChainedRecord,
    Content,
    DamagedRecord,
    SessionRecord,
    ToolUseBlock,
    UnknownBlock,
    UserRecord,
    read_records,
)
from stenograph.records.shape import Opt

#: A file damaged throughout must not fill the memory with findings; `damaged` counts them all.
FINDINGS_KEPT = 100

#: Called with the bytes done and the bytes there are.
Progress = Callable[[int, int], None]


class Counts(msgspec.Struct):
    """What a file, or many, hold."""

    lines: int = 0
    #: Lines that hold no JSON object.
    damaged: int = 0
    human_turns: int = 0
    tool_calls: int = 0
    #: Records that carry a release, by release.
    releases: dict[str, int] = msgspec.field(default_factory=dict)
    #: By the `type` member; a record without one counts as `unknown`, a flat line by its role.
    types: dict[str, int] = msgspec.field(default_factory=dict)
    #: The same, with subtypes: `system/compact_boundary`.
    kinds: dict[str, int] = msgspec.field(default_factory=dict)
    stop_reasons: dict[str, int] = msgspec.field(default_factory=dict)
    #: Content blocks by type; those inside a tool's result are not counted.
    blocks: dict[str, int] = msgspec.field(default_factory=dict)

    def add(self, other: Counts) -> None:
        for name in ("lines", "damaged", "human_turns", "tool_calls"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("releases", "types", "kinds", "stop_reasons", "blocks"):
            setattr(self, name, dict(Counter(getattr(self, name)) + Counter(getattr(other, name))))


class FileInventory(msgspec.Struct):
    path: Path
    #: The session's id: of a session file its name, of a sub-agent's file what its lines say.
    session_id: str | None
    size: int
    counts: Counts
    #: The first `FINDINGS_KEPT`.
    findings: list[Finding]
    #: Of the files looked at, those that are this session's sub-agents.
    agents: int = 0


class Inventory(msgspec.Struct):
    sessions: list[FileInventory]
    #: Files of sub-agents, in any layout.
    agents: list[FileInventory]
    session_totals: Counts
    agent_totals: Counts
    #: Files that could not be read.
    failures: list[Finding]


def take_inventory(paths: Sequence[Path], progress: Progress | None = None) -> Inventory:
    """Count what is in the files and folders. Raises SessionNotFoundError where there is no such path or no file below it."""
    files, failures = _files(paths)
    inventory = Inventory([], [], Counts(), Counts(), failures)
    total = sum(_size(file) for file in files)
    done = 0
    for file in files:
        before = done

        def report(offset: int, before: int = before) -> None:
            if progress is not None:
                progress(before + offset, total)

        try:
            counted = _count(file, report)
        except DiskError as error:
            inventory.failures.append(Finding("unreadable", file, detail=str(error)))
            continue
        done += counted.size
        report(0, done)
        if is_agent_file(file):
            inventory.agents.append(counted)
            inventory.agent_totals.add(counted.counts)
        else:
            inventory.sessions.append(counted)
            inventory.session_totals.add(counted.counts)
    owned = Counter(agent.session_id for agent in inventory.agents)
    for session in inventory.sessions:
        session.agents = owned[session.session_id]
    return inventory


def _count(path: Path, report: Callable[[int], None]) -> FileInventory:
    """One pass over one file. Raises UnreadableError."""
    counts = Counts()
    releases: Counter[str] = Counter()
    types: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    stop_reasons: Counter[str] = Counter()
    blocks: Counter[str] = Counter()
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
        kinds[record.kind] += 1
        types[record.kind.partition("/")[0]] += 1
        if named is None and isinstance(record, SessionRecord) and isinstance(record.sessionId, str):
            named = record.sessionId
        if isinstance(record, ChainedRecord) and isinstance(record.version, str):
            releases[record.version] += 1
        if isinstance(record, UserRecord):
            content = record.content
            counts.human_turns += isinstance(content, str)
            _count_blocks(content, blocks)
        elif isinstance(record, AssistantRecord):
            reason = record.message.stop_reason if record.message else None
            stop_reasons[reason if isinstance(reason, str) else "null"] += 1
            counts.tool_calls += _count_blocks(record.content, blocks)
    counts.releases, counts.types, counts.kinds = dict(releases), dict(types), dict(kinds)
    counts.stop_reasons, counts.blocks = dict(stop_reasons), dict(blocks)
    stem = path.name.removesuffix(".jsonl")
    return FileInventory(
        path=path,
        session_id=named if is_agent_file(path) or not is_session_id(stem) else stem,
        size=size,
        counts=counts,
        findings=findings,
    )


def _count_blocks(content: Opt[Content], blocks: Counter[str]) -> int:
    """Add the blocks by type; returns how many are tool uses."""
    if not isinstance(content, tuple):
        return 0
    tool_calls = 0
    for block in content:
        blocks[_type_of(block)] += 1
        tool_calls += isinstance(block, ToolUseBlock)
    return tool_calls


def _type_of(block: object) -> str:
    if isinstance(block, UnknownBlock):
        return block.type if isinstance(block.type, str) else "unknown"
    return str(type(block).__struct_config__.tag) if isinstance(block, Block) else "unknown"


def _files(paths: Sequence[Path]) -> tuple[list[Path], list[Finding]]:
    files: dict[Path, None] = {}
    failures: list[Finding] = []
    for path in paths:
        if path.is_dir():
            below = sorted(_below(projects_folder(path) if (path / "projects").is_dir() else path, failures))
            if not below and not failures:
                raise SessionNotFoundError(f"no session files in {path}", reference=str(path))
            files.update(dict.fromkeys(below))
        elif os.path.lexists(path):
            files[path] = None
        else:
            raise SessionNotFoundError(f"there is no file {path}", reference=str(path))
    return list(files), failures


def _below(folder: Path, failures: list[Finding]) -> Iterable[Path]:
    def failed(error: OSError) -> None:
        where = Path(error.filename or folder)
        failures.append(Finding("unreadable", where, detail=f"{where} can't be read: {error.strerror}"))

    for parent, _, names in os.walk(folder, onerror=failed):
        yield from (Path(parent) / name for name in names if name.endswith(".jsonl"))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
