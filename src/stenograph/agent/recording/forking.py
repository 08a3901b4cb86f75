"""A session -> a copy of what is gone on with, under an id of its own.

In: the lines to go on from. Out: a new file in this folder's project, with the sub-agents, long results and copies of changed
files that its lines name. The original stays as it is, byte for byte.
"""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

from stenograph.agent.engine.options import AgentOptions
from stenograph.agent.recording.opening import refuse_used, session_path
from stenograph.agent.recording.session_facts import file_history_bytes
from stenograph.disk import make_folder, read_whole, replace_file
from stenograph.errors import UsageError
from stenograph.family import LINES_SUFFIX
from stenograph.graph import Graph, choose_leaf, walk_chain
from stenograph.messages.selection import siblings_of
from stenograph.records import DamagedRecord, change, decode, encode, mentions
from stenograph.releases import NEWEST


def fork(path: Path, graph: Graph, options: AgentOptions) -> Path:
    """The chain alone under a new id; uuids and times stay, so that nobody counts it twice (rule 52)."""
    session_id = options.session_id or str(uuid4())
    target = session_path(options, session_id)
    refuse_used(target, session_id)
    leaf = choose_leaf(graph, NEWEST)
    if leaf < 0:
        raise UsageError(f"{path} holds no conversation that can be forked; `steno check {path}` says what is wrong")
    nodes = siblings_of(graph, walk_chain(graph, leaf), NEWEST)
    lines = [encode(change(graph.records[node], "sessionId", session_id)) for node in nodes]
    lines += [line for line, _ in file_history_bytes(path)]
    make_folder(target.parent)
    # Whole or not at all: half a copy would look like a session that ends there.
    replace_file(target, (line + b"\n" for line in lines))
    _copy_family(path.with_suffix(""), target.with_suffix(""), session_id)
    _copy_backups(options.home / "file-history", path.stem, session_id)
    return target


def _copy_backups(folder: Path, old: str, new: str) -> None:
    source = folder / old
    if not source.is_dir():
        return
    make_folder(folder / new)
    for backup in source.iterdir():
        if backup.is_file():
            replace_file(folder / new / backup.name, read_whole(backup))


def _copy_family(old: Path, new: Path, session_id: str) -> None:
    """Sub-agents and long results, which the lines of the copy name too."""
    for source in sorted(old.rglob("*")) if old.is_dir() else ():
        if not source.is_file() or source.is_symlink():
            continue
        data = read_whole(source)
        if source.suffix == LINES_SUFFIX:
            data = b"".join(_renamed(line, session_id) + b"\n" for line in data.splitlines())
        target = new / source.relative_to(old)
        make_folder(target.parent)
        replace_file(target, data)


def _renamed(line: bytes, session_id: str) -> bytes:
    """A line under the session's new id; one that holds no id, or nothing, stays as it is."""
    record = decode(line)
    if isinstance(record, DamagedRecord) or not mentions(record, b'"sessionId"'):
        return line
    return encode(change(record, "sessionId", session_id))
