"""A session cut at one of its messages: which of its lines and subagents belong to the conversation up to there.

Kept is what a client copies when it forks there (rule 52: the chain), and what belongs to it: older history behind a compaction,
other lines of the same response with their results (rule 30), what compactions preserved (rule 50), snapshots, inline
sidechains, and the session's titles.
"""

from __future__ import annotations

from collections import Counter

from msgspec import Struct

from stenograph.errors import UsageError, in_quotes
from stenograph.graph import NOWHERE, Graph, build_graph, choose_leaf
from stenograph.messages import resume_messages
from stenograph.records import (
    REQUEST_LOGS,
    ZERO_UUID,
    AgentNameRecord,
    AiTitleRecord,
    ApiRequestRecord,
    AssistantRecord,
    ChainedRecord,
    CompactBoundaryRecord,
    CustomTitleRecord,
    FileHistoryDeltaRecord,
    FileHistorySnapshotRecord,
    LastPromptRecord,
    Record,
    SummaryRecord,
    TagRecord,
    ToolResultBlock,
    ToolUseBlock,
    UserRecord,
    message_id_of,
)
from stenograph.releases import NEWEST
from stenograph.sessions import SHORTEST_PREFIX
from stenograph.surgery.verify import count_own
from stenograph.turns import AgentRun, Branch, Session

#: About the session as a whole: kept wherever they are.
_TITLES = (CustomTitleRecord, AiTitleRecord, AgentNameRecord, TagRecord)
_FILE_HISTORY = (FileHistorySnapshotRecord, FileHistoryDeltaRecord)


class Cut(Struct, frozen=True):
    leaf: int
    uuid: str
    #: Of the session's own file, counted from 1.
    lines: frozenset[int]
    agents: frozenset[str]
    left_out: dict[str, int]
    #: Nothing else says where newer clients have to continue.
    needs_last_prompt: bool
    #: Releases that would continue elsewhere.
    strays: tuple[str, ...]
    #: Release -> how many messages of its own it would append.
    adding: dict[str, int]


def find_place(session: Session, at: str | int | None, branch: int | None) -> int:
    """The node to cut at: a uuid or its beginning, a turn's number, or the end of a branch. Raises UsageError."""
    way = _branch(session, branch)
    if isinstance(at, str):
        return _by_uuid(session, at)
    turns = way.turns
    if not turns:
        raise UsageError("this session has no turns")
    if at is None:
        return _end_of(session, way, len(turns) - 1)
    place = next((place for place, turn in enumerate(turns) if turn.number == at), None)
    if place is None:
        raise UsageError(f"no turn {at} on this branch; it has turns {turns[0].number} to {turns[-1].number}")
    return _end_of(session, way, place)


def cut(session: Session, leaf: int, releases: tuple[str, ...], *, all_file_history: bool) -> Cut:
    """What stays of a session that ends with `leaf`; `releases` are asked whether they continue from there.

    `all_file_history`: also keep snapshots of messages that are left out.
    """
    graph = session.graph
    main = range(graph.files[0].first, graph.files[0].last)
    kept = _conversation(graph, leaf)
    runs = _runs_started_in(session, kept)
    own_agents = {run.agent_id for run in runs}
    for run in runs:
        kept.update(node for turn in run.turns for node in turn.nodes if node in main)
    uuids = {record.uuid for node in kept if isinstance(record := graph.records[node], ChainedRecord) and record.uuid}
    if all_file_history:
        kept.update(node for node in main if isinstance(graph.records[node], _FILE_HISTORY))
    logged = _logs_of(graph, kept)
    left_out: Counter[str] = Counter()
    lines = []
    for node in main:
        record = graph.records[node]
        why = "" if node in kept else _why_not(graph, record, node, leaf, uuids, logged)
        if why:
            left_out[why] += 1
        else:
            lines.append(node)
    uuid = graph.records[leaf].uuid  # type: ignore[attr-defined]
    if _goes_on_from(graph, lines, NEWEST) != uuid:
        without = [node for node in lines if not isinstance(graph.records[node], LastPromptRecord)]
        left_out["last-prompt lines that point elsewhere"] += len(lines) - len(without)
        lines = without
    needs_last_prompt = _goes_on_from(graph, lines, NEWEST) != uuid
    strays = tuple(release for release in releases if release != NEWEST and _goes_on_from(graph, lines, release) != uuid)
    return Cut(
        leaf,
        str(uuid),
        frozenset(graph.nodes[node].number for node in lines),
        frozenset(own_agents),
        {why: count for why, count in left_out.items() if count},
        needs_last_prompt,
        strays,
        _adding(graph, lines, uuid, releases),
    )


def _branch(session: Session, number: int | None) -> Branch:
    if number is None:
        found = next((branch for branch in session.branches if branch.is_current), None)
        if found is None:
            raise UsageError("this session has no turns")
        return found
    there = len(session.branches)
    if not 1 <= number <= there:
        raise UsageError(f"no branch {number}; this session has {there} {'branch' if there == 1 else 'branches'}")
    return session.branches[number - 1]


def _by_uuid(session: Session, prefix: str) -> int:
    if len(prefix) < SHORTEST_PREFIX:
        raise UsageError(f"message UUID prefix {in_quotes(prefix)} is too short; use at least {SHORTEST_PREFIX} characters")
    graph = session.graph
    own = graph.files[0]
    wanted = prefix.casefold()
    found = {
        uuid: node for uuid, node in graph.by_uuid.items() if own.first <= node < own.last and uuid.casefold().startswith(wanted)
    }
    if not found:
        raise UsageError(f"no message of this session has a UUID that starts with {in_quotes(prefix)}")
    if len(found) > 1 and prefix not in found:
        raise UsageError(f"{in_quotes(prefix)} matches {len(found)} messages; use a longer prefix")
    node = found.get(prefix, next(iter(found.values())))
    record = graph.records[node]
    if not isinstance(record, ChainedRecord) or record.isSidechain:
        raise UsageError(f"{in_quotes(prefix)} is a subagent's message; --at needs one of the session's own")
    return node


def _end_of(session: Session, way: Branch, place: int) -> int:
    """The last message of a turn: what the next turn hangs off, or its last line where none follows."""
    graph = session.graph
    turns = way.turns
    turn = turns[place]
    inside = set(turn.nodes)
    if place + 1 < len(turns):
        before = graph.before[turns[place + 1].node]
        if before in inside:
            return before
    elif way.is_current and (leaf := choose_leaf(graph)) in inside:
        return leaf
    spoken = [
        node for node in turn.nodes if isinstance(graph.records[node], UserRecord | AssistantRecord) and _is_own(graph, node)
    ]
    return max(spoken, default=turn.node)


def _is_own(graph: Graph, node: int) -> bool:
    record = graph.records[node]
    own = graph.files[0]
    return own.first <= node < own.last and isinstance(record, ChainedRecord) and not record.isSidechain


def _conversation(graph: Graph, leaf: int) -> set[int]:
    """The chain to a message with everything said beside it, of lines before the message."""
    kept: set[int] = set()
    waiting = [leaf]
    while waiting:
        node = waiting.pop()
        while node != NOWHERE and node not in kept:
            kept.add(node)
            record = graph.records[node]
            if isinstance(record, CompactBoundaryRecord):
                waiting += [known for uuid in _preserved(record) if (known := graph.by_uuid.get(uuid, NOWHERE)) != NOWHERE]
            node = graph.before[node]
    answers = {id_ for node in kept if (id_ := message_id_of(graph.records[node]))}
    uuids = {record.uuid for node in kept if isinstance(record := graph.records[node], ChainedRecord) and record.uuid}
    for node in range(graph.files[0].first, graph.files[0].last):
        record = graph.records[node]
        if node in kept or not isinstance(record, ChainedRecord) or record.isSidechain:
            continue
        is_again = record.uuid and record.uuid in uuids  # the last one counts (rule 17)
        is_beside = message_id_of(record) in answers or (graph.parents[node] in kept and _belongs(record))
        if is_again or (node < leaf and is_beside):
            kept.add(node)
    return kept


def _belongs(record: Record) -> bool:
    """A tool's result or a note belongs to what it hangs off; a prompt or an answer would be another branch."""
    if isinstance(record, UserRecord):
        return isinstance(record.content, tuple) and any(isinstance(block, ToolResultBlock) for block in record.content)
    return not isinstance(record, AssistantRecord)


def _preserved(record: CompactBoundaryRecord) -> list[str]:
    metadata = record.compactMetadata or None
    named = metadata.preservedMessages if metadata else None
    segment = metadata.preservedSegment if metadata else None
    listed = [*(named.uuids or ()), *(named.allUuids or ())] if named else []
    return [uuid for uuid in (*listed, segment.tailUuid if segment else None) if isinstance(uuid, str)]


def _runs_started_in(session: Session, kept: set[int]) -> list[AgentRun]:
    started: list[AgentRun] = []
    uses = {use for node in kept for use in _uses(session.graph.records[node])}
    waiting = list(session.agents)
    while found := [run for run in waiting if run.tool_use_id in uses]:
        started += found
        waiting = [run for run in waiting if run.tool_use_id not in uses]
        nodes = (node for run in found for turn in run.turns for node in turn.nodes)
        uses |= {use for node in nodes for use in _uses(session.graph.records[node])}
    return started


def _uses(record: Record) -> list[str]:
    if not isinstance(record, AssistantRecord) or not isinstance(record.content, tuple):
        return []
    return [block.id for block in record.content if isinstance(block, ToolUseBlock) and isinstance(block.id, str)]


def _logs_of(graph: Graph, kept: set[int]) -> set[object]:
    """The ids and hashes of the logged requests that kept answers name, with all that these build on."""
    requests = {record.id: record for record in graph.records if isinstance(record, ApiRequestRecord)}
    waiting: list[object] = [record.requestRef for node in kept if isinstance(record := graph.records[node], AssistantRecord)]
    found: set[object] = set()
    while waiting:
        name = waiting.pop()
        request = requests.get(name) if isinstance(name, str) and name not in found else None
        if request is None:
            continue
        found |= {name, request.shapeHash, *(item for item in request.tail or () if isinstance(item, str))}
        waiting.append(request.base)
    return found


def _why_not(graph: Graph, record: Record, node: int, leaf: int, uuids: set[str], logged: set[object]) -> str:
    """Why a line outside the kept conversation is left out; empty when it stays."""
    if isinstance(record, ChainedRecord):
        return "lines after the end, on another branch, or of a dropped subagent"
    if isinstance(record, _TITLES):
        return ""
    if isinstance(record, _FILE_HISTORY):
        return "" if record.messageId in uuids else "file snapshots of dropped messages"
    if isinstance(record, SummaryRecord):
        is_about_left_out = record.leafUuid in graph.by_uuid and record.leafUuid not in uuids
        return "titles of dropped messages" if is_about_left_out else ""
    if isinstance(record, REQUEST_LOGS):
        name = (
            record.id
            if isinstance(record, ApiRequestRecord)
            else getattr(record, "hash", None) or getattr(record, "shapeHash", None)
        )
        return "" if name in logged else "request logs of dropped messages"
    if isinstance(record, LastPromptRecord) and record.leafUuid not in uuids and record.leafUuid and record.leafUuid != ZERO_UUID:
        return "last-prompt lines of dropped prompts"
    return "" if node < leaf else "metadata written after the end"


def _adding(graph: Graph, nodes: list[int], uuid: object, releases: tuple[str, ...]) -> dict[str, int]:
    new = _only(graph, nodes)
    going_on = (release for release in releases if _goes_on_from(graph, nodes, release) == uuid)
    return {release: count for release in going_on if (count := count_own(resume_messages(new, release)))}


def _only(graph: Graph, nodes: list[int]) -> Graph:
    own = graph.files[0]
    return build_graph([(own.path, "", [graph.nodes[node] for node in nodes])])


def _goes_on_from(graph: Graph, nodes: list[int], release: str) -> object:
    new = _only(graph, nodes)
    leaf = choose_leaf(new, release)
    return getattr(new.records[leaf], "uuid", None) if leaf >= 0 else None
