"""Edits -> changes of a working file. One function per edit; each returns what it did, in numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from stenograph.errors import UsageError
from stenograph.graph import NOWHERE
from stenograph.records import (
    IMAGES,
    REMOVE,
    REQUEST_LOGS,
    THINKING,
    UNSET,
    AssistantRecord,
    AtisLatchRecord,
    AttachmentRecord,
    LastPromptRecord,
    ProgressRecord,
    Record,
    UserRecord,
    message_id_of,
    rebuild,
)
from stenograph.surgery.choose import agent_runs_of, nodes_of, nodes_with_aside, tool_calls_of, turns_of
from stenograph.surgery.compress import compress
from stenograph.surgery.edits import (
    ALL,
    AnyEdit,
    Compress,
    DropAgents,
    DropBookkeeping,
    DropBranches,
    DropImages,
    DropToolCalls,
    DropTurns,
    MakePortable,
    Selector,
    StripThinking,
    TruncateResults,
)
from stenograph.surgery.order import linearise
from stenograph.surgery.reach import came_with_a_compaction
from stenograph.surgery.working import Block, WorkingFile
from stenograph.turns import runs_below

Counts = Counter[str]

IMAGE_REMOVED = "[image removed]"
_BOOKKEEPING = (ProgressRecord, *REQUEST_LOGS, AtisLatchRecord)
_CUT = re.compile(r"\n\[… [\d,]+ characters cut …\]\n")
#: Only the last of these counts.
_REPEATED = frozenset({"ai-title", "last-prompt", "mode", "permission-mode", "tools-used"})
#: A client's screen needs these parts of structured results whole.
_WHOLE = frozenset({"structuredPatch", "oldString", "newString", "edits", "gitDiff"})


def drop_turns(working: WorkingFile, edit: DropTurns) -> Counts:
    turns = [turn for turn in turns_of(working.session, edit.which) if turn.node not in working.gone]
    if turns and len(turns) == len(working.session.turns):
        raise UsageError("at least one turn must stay", hint="remove the session: steno rm SESSION")
    kept = set[int]().union(*(came_with_a_compaction(working, turn) for turn in turns))
    working.drop(*(nodes_with_aside(working.session, turns) - kept))
    _remove_last_prompts(working)
    return Counter(turns=len(turns)) if turns else Counter()


def drop_tool_calls(working: WorkingFile, edit: DropToolCalls) -> Counts:
    ids: set[str] = set()
    nodes: set[int] = set()
    count = 0
    for call in tool_calls_of(working.session, edit.which):
        if call.use_node not in working.living or call.use_node in working.gone:
            continue
        count += 1
        ids.add(call.id)
        nodes.add(call.use_node)
        if 0 <= call.result_node < working.last:
            nodes.add(call.result_node)
    for node in sorted(nodes):
        blocks = working.blocks(node) or []
        kept = [block for block in blocks if block.get("id" if block.get("type") == "tool_use" else "tool_use_id") not in ids]
        if len(kept) != len(blocks):
            had_results = any(block.get("type") == "tool_result" for block in blocks)
            working.set_blocks(node, kept)
            if kept and had_results:
                _drop_structured(working, node)
    _drop_what_is_about(working, ids)
    _drop_thinking_alone(working, nodes)
    return Counter({"tool calls": count}) if count else Counter()


def truncate_results(working: WorkingFile, edit: TruncateResults) -> Counts:
    count = cut = 0
    for call in tool_calls_of(working.session, edit.which):
        node = call.result_node
        if node not in working.living or node in working.gone:
            continue
        for place, block in enumerate(working.blocks(node) or []):
            if block.get("type") != "tool_result" or block.get("tool_use_id") != call.id:
                continue
            content, saved = _truncated(block.get("content"), edit.limit)
            if saved:
                working.put(node, ("message", "content", place, "content"), content)
                structured, _ = _truncated(_structured(working.record(node)), edit.limit)
                if isinstance(structured, dict):
                    working.put(node, "toolUseResult", structured)
                count += 1
                cut += saved
    return Counter({"results": count, "characters": cut}) if count else Counter()


def drop_images(working: WorkingFile, edit: DropImages) -> Counts:
    count = 0
    for node, blocks in _contents(working, edit.which):
        new, found = _without_images(blocks)
        if found:
            count += found
            working.set_blocks(node, new)
            if any(block.get("type") == "tool_result" for block in blocks):
                _drop_structured(working, node)
    return Counter(images=count) if count else Counter()


def strip_thinking(working: WorkingFile, edit: StripThinking) -> Counts:
    count = 0
    for node, blocks in _contents(working, edit.which):
        if not isinstance(working.record(node), AssistantRecord):
            continue
        kept = [block for block in blocks if not _is_stripped(block, edit)]
        if len(kept) != len(blocks):
            count += len(blocks) - len(kept)
            working.set_blocks(node, kept)
    return Counter(thinking=count) if count else Counter()


def drop_branches(working: WorkingFile, edit: DropBranches) -> Counts:  # noqa: ARG001 - as all edits are called
    """Everything said or answered outside the current conversation, with what hangs off it."""
    dead: set[int] = set()
    for node in range(working.last):
        record = working.graph.records[node]
        is_said = isinstance(record, UserRecord | AssistantRecord) and not record.isSidechain
        if node not in working.living and (is_said or working.graph.parents[node] in dead):
            dead.add(node)
    aside = sorted(dead - working.gone)
    working.remove(*aside)
    return Counter(lines=len(aside)) if aside else Counter()


def drop_bookkeeping(working: WorkingFile, edit: DropBookkeeping) -> Counts:  # noqa: ARG001
    records = working.graph.records
    last_of = {records[node].kind: node for node in range(working.last) if records[node].kind in _REPEATED}
    nodes = [
        node
        for node in range(working.last)
        if isinstance(records[node], _BOOKKEEPING) or (records[node].kind in _REPEATED and last_of[records[node].kind] != node)
    ]
    working.remove(*nodes)
    return Counter(lines=len(nodes)) if nodes else Counter()


def drop_agents(working: WorkingFile, edit: DropAgents) -> Counts:
    """The files of the chosen agents and of those that they started, and their lines in the session's own file."""
    chosen = list(runs_below(agent_runs_of(working.session, edit.which)))
    paths = {run.path for run in chosen}
    known = [agent for agent in (working.session.family.agents if working.session.family else ()) if agent.path in paths]
    new = [path for agent in known for path in (agent.path, agent.meta) if path and path not in working.deleted]
    working.deleted += new
    files = sum(agent.path in new for agent in known)
    own = {node for run in chosen for turn in run.turns for node in turn.nodes}
    inside = [
        node
        for node in sorted(working.graph.sidechains)
        if node < working.last and node not in working.gone and (node in own or edit.which == ALL)
    ]
    working.remove(*inside)
    return +Counter(files=files, lines=len(inside))


def make_portable(working: WorkingFile, edit: MakePortable) -> Counts:  # noqa: ARG001
    changed = linearise(working)
    return Counter(lines=changed) if changed else Counter()


DO: dict[type, Callable[[WorkingFile, Any], Counts]] = {
    DropTurns: drop_turns,
    DropToolCalls: drop_tool_calls,
    TruncateResults: truncate_results,
    DropImages: drop_images,
    StripThinking: strip_thinking,
    DropBranches: drop_branches,
    DropBookkeeping: drop_bookkeeping,
    Compress: compress,
    DropAgents: drop_agents,
    MakePortable: make_portable,
}


def do(working: WorkingFile, edit: AnyEdit) -> Counts:
    return DO[type(edit)](working, edit)


def _contents(working: WorkingFile, which: Selector) -> Iterator[tuple[int, list[Block]]]:
    for node in sorted(nodes_of(working.session, which)):
        blocks = working.blocks(node)
        if node in working.living and node not in working.gone and blocks is not None:
            yield node, blocks


def _drop_what_is_about(working: WorkingFile, ids: set[str]) -> None:
    for node in range(working.last):
        record = working.graph.records[node]
        if isinstance(record, ProgressRecord) and (record.toolUseID in ids or record.parentToolUseID in ids):
            working.drop(node)
        elif isinstance(record, AttachmentRecord):
            attachment = rebuild(record.attachment)
            if isinstance(attachment, dict) and attachment.get("toolUseID") in ids:
                working.drop(node)


def _drop_thinking_alone(working: WorkingFile, nodes: set[int]) -> None:
    """A response of which only thinking is left goes as a whole: the API refuses such a message."""
    touched = {message_id_of(working.graph.records[node]) for node in nodes} - {""}
    by_id: dict[str, list[int]] = {}
    for node in sorted({*working.chain, *working.sent}):  # a call beside the chain keeps the thinking before it (rule 30)
        if (id_ := message_id_of(working.graph.records[node])) in touched and node not in working.gone:
            by_id.setdefault(id_, []).append(node)
    for lines in by_id.values():
        if all(block.get("type") in THINKING for node in lines for block in working.blocks(node) or []):
            working.drop(*lines)


def _remove_last_prompts(working: WorkingFile) -> None:
    """Lines that name the prompt of a dropped turn as the last one: 2.1.325 calls the session by it (rule 11)."""
    records = working.graph.records
    named = [node for node in range(working.last) if isinstance(record := records[node], LastPromptRecord) and record.lastPrompt]
    staying = max((node for node in named if node not in working.gone), default=NOWHERE)
    working.remove(*(node for node in named if node > staying and node in working.gone))


def _drop_structured(working: WorkingFile, node: int) -> None:
    """What the screen shows of a result no longer fits it; without it all clients show the result itself (rule 58)."""
    record = working.record(node)
    if isinstance(record, UserRecord) and record.toolUseResult is not UNSET:
        working.put(node, "toolUseResult", REMOVE)


def _structured(record: Record) -> Any:
    return rebuild(record.toolUseResult) if isinstance(record, UserRecord) else None


def _truncated(value: Any, limit: int) -> tuple[Any, int]:
    if isinstance(value, str):
        short = cut_text(value, limit)
        return short, len(value) - len(short)
    if isinstance(value, list):
        pairs = [_truncated(each, limit) for each in value]
        return [each for each, _ in pairs], sum(saved for _, saved in pairs)
    if isinstance(value, dict):
        cut = {key: (each, 0) if key in _WHOLE or key == "data" else _truncated(each, limit) for key, each in value.items()}
        return {key: each for key, (each, _) in cut.items()}, sum(saved for _, saved in cut.values())
    return value, 0


def cut_text(text: str, limit: int) -> str:
    """Head and tail of a long text, two thirds and one, with how much is missing between; never cut twice.

    A text longer than the limit by less than twice that note is left as it is, unless the limit is smaller than the note.
    """
    note = f"\n[… {max(0, len(text) - limit):,} characters cut …]\n"
    if len(text) <= limit + len(note) * (2 if limit >= len(note) else 1):
        return text
    if (cut_before := _CUT.search(text)) and len(text) <= limit + len(cut_before[0]):
        return text
    head = limit * 2 // 3
    return text[:head] + note + text[len(text) - (limit - head) :]


def _without_images(blocks: list[Block]) -> tuple[list[Block], int]:
    count = 0
    new: list[Block] = []
    for block in blocks:
        if block.get("type") in IMAGES:
            new.append({"type": "text", "text": IMAGE_REMOVED})
            count += 1
        elif block.get("type") == "tool_result" and isinstance(block.get("content"), list):
            inner, found = _without_images(block["content"])
            new.append({**block, "content": inner} if found else block)
            count += found
        else:
            new.append(block)
    return new, count


def _is_stripped(block: Block, edit: StripThinking) -> bool:
    if block.get("type") not in THINKING:
        return False
    return not edit.refused_only or (block.get("type") == "thinking" and not block.get("signature"))
