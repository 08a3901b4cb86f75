"""Which part of a session is resumed: all, or what precedes a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from stenograph.agent.engine.options import AgentOptions
from stenograph.errors import UsageError
from stenograph.graph import Graph, build_graph, walk_chain
from stenograph.messages import read_for_resume, siblings_of
from stenograph.records import (
    ChainedRecord,
    CompactBoundaryRecord,
    Json,
    Record,
    UserRecord,
    file_history_in,
    file_history_of,
    moment,
    read_all_records,
)
from stenograph.releases import NEWEST
from stenograph.turns import Turn


class Chosen(Struct, kw_only=True):
    #: The chain and what belongs to it; empty for a rewind to the start.
    graph: Graph
    #: Of the prompt rewound to.
    prompt: str = ""
    #: The latest time in the whole file, in milliseconds; 0: of the graph.
    last_ms: int = 0
    #: Lines about the history of files, of the whole file.
    file_history: list[Json] = []


def choose(path: Path, options: AgentOptions) -> Chosen:
    if options.rewind is None:
        return whole(path)
    chosen = _before_prompt(path, options.rewind, is_fork=options.fork)
    if options.restore_files and not _has_snapshot(chosen):
        raise UsageError("that turn has no snapshot of files to restore", hint="add --keep-files to rewind only the conversation")
    return chosen


def whole(path: Path) -> Chosen:
    """Reads the file once. Raises UnreadableError."""
    history: list[Json] = []
    graph = read_for_resume(path, look=lambda data: history.extend(file_history_in(data)))
    return Chosen(graph=graph, file_history=history)


def _before_prompt(path: Path, reference: str, *, is_fork: bool) -> Chosen:
    """Raises UsageError."""
    from stenograph.sessions import load_file

    graph = build_graph([(path, "", read_all_records(path))])
    # The session's own lines come first in its family's graph, in the same order.
    turns = [turn for turn in load_file(path).turns if isinstance(graph.records[turn.node], UserRecord)]
    turn = _named_turn(turns, [str(getattr(graph.records[turn.node], "uuid", "")) for turn in turns], reference)
    node = turn.node
    prompt, last_ms = str(getattr(graph.records[node], "uuid", "")), latest_time(graph.records)
    leaf = graph.parents[node]
    if is_fork and leaf < 0:
        raise UsageError("that is the first prompt, so a fork would be empty", hint="start a new session instead")
    if not is_fork and any(isinstance(record, CompactBoundaryRecord) for record in graph.records[node:]):
        # Long files are read from their last compaction on: a line before it would lose its start (rule 51).
        raise UsageError("that prompt is before a compaction", hint="add --fork-session to rewind to it in a copy")
    nodes = siblings_of(graph, walk_chain(graph, leaf), NEWEST) if leaf >= 0 else []
    located = [graph.nodes[one] for one in sorted(nodes)]
    history = file_history_of(path)
    return Chosen(graph=build_graph([(path, "", located)]), prompt=prompt, last_ms=last_ms, file_history=history)


def _named_turn(turns: Sequence[Turn], uuids: Sequence[str], reference: str) -> Turn:
    """By number, place from the end, or uuid prefix."""
    if reference.removeprefix("-").isdecimal():
        number = int(reference)
        found = [turn for turn in turns if turn.number == number] if number > 0 else turns[number : number + 1 or None]
        if not number or len(found) != 1:
            raise UsageError(f"no prompt {reference}", why=f"the session has {len(turns)}", hint="steno turns SESSION")
        return found[0]
    found = [turn for turn, uuid in zip(turns, uuids, strict=True) if uuid.startswith(reference)]
    if len(found) != 1 or not reference:
        raise UsageError(f'no single prompt starts with "{reference}"; use its number, or its whole UUID')
    return found[0]


def _has_snapshot(chosen: Chosen) -> bool:
    return any(
        isinstance(snapshot := record.get("snapshot"), dict) and snapshot.get("messageId") == chosen.prompt
        for record in chosen.file_history
    )


def latest_time(records: Sequence[Record]) -> int:
    """In milliseconds: old clients take the latest line for the end of the chain (rule 19)."""
    times = (moment(record.timestamp) for record in records if isinstance(record, ChainedRecord))
    return max((round(time.timestamp() * 1000) for time in times if time is not None), default=0)
