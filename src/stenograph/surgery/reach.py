"""How far an edit reaches: turns that no client sends any more, and why an edit finds nothing to do. Never quotes content."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from stenograph.messages import message_habits, select
from stenograph.records import THINKING, AssistantRecord
from stenograph.releases import PROVED
from stenograph.surgery.choose import nodes_of, tool_calls_of, turns_of
from stenograph.surgery.edits import (
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
from stenograph.surgery.working import WorkingFile
from stenograph.turns import Turn

#: What an edit that did nothing did not find.
_THERE_IS_NONE: dict[type, str] = {
    DropImages: "no images or documents",
    StripThinking: "no thinking",
    DropBranches: "there are no abandoned branches",
    DropBookkeeping: "no progress, request logs or repeated notes",
    MakePortable: "it is already one chain with increasing timestamps",
}


def is_condensed(working: WorkingFile, turn: Turn) -> bool:
    """Whether a compaction covers all of a turn. One in its middle does not: the turn goes on."""
    last = working.last_compaction
    return turn.node < last and not any(_is_answer(working, node) for node in turn.nodes if last < node < working.last)


def came_with_a_compaction(working: WorkingFile, turn: Turn) -> set[int]:
    """The lines of a turn that belong to the last compaction: files and commands after it, up to the next answer."""
    last = working.last_compaction
    behind = sorted(node for node in turn.nodes if last < node < working.last) if turn.node < last else []
    answer = next((place for place, node in enumerate(behind) if _is_answer(working, node)), len(behind))
    return set(behind[:answer])


def _is_answer(working: WorkingFile, node: int) -> bool:
    record = working.graph.records[node]
    return isinstance(record, AssistantRecord) and not record.isSidechain


def _sent_by_any(working: WorkingFile) -> set[int]:
    """What any proved release sends: preserved messages too (rule 50), but not what came with a compaction, which is about
    everything said before.
    """
    sent = {node for release in PROVED for node in select(working.own_graph, release, message_habits(release)).nodes}
    return sent.difference(*(came_with_a_compaction(working, turn) for turn in working.session.turns))


def narrow(working: WorkingFile, edit: AnyEdit, *, prune: bool) -> tuple[AnyEdit | None, str]:
    """The edit without what it would change in vain, None where nothing is left of it; and a note about that.

    Nobody sends what is behind a compaction, so it is left as it is; `prune` reaches it too.
    """
    if not isinstance(edit, DropTurns | DropToolCalls | TruncateResults | DropImages | StripThinking | Compress):
        return edit, ""
    turns = turns_of(working.session, edit.which)
    behind = [turn for turn in turns if is_condensed(working, turn)]
    if isinstance(edit, Compress):
        if turns and all(turn.node in working.gone for turn in turns):
            return None, "the selected turns are already dropped; nothing is left to compress"
        return (edit, "") if not behind or len(behind) < len(turns) else (None, f"{_are(behind)} before a compaction already")
    unsent, note = _behind(working, behind)
    is_every_turn = isinstance(edit, DropTurns) and len(turns) == len(working.session.turns)
    if prune or not unsent or is_every_turn:  # the edit itself says that one turn must stay
        return edit, note
    rest = tuple((turn.number, turn.number) for turn in turns if turn.number not in unsent)
    which = msgspec.structs.replace(edit.which, turns=rest, keep_last=None, before=None)
    return (msgspec.structs.replace(edit, which=which) if rest else None), note


def _behind(working: WorkingFile, turns: Sequence[Turn]) -> tuple[set[int], str]:
    sent = _sent_by_any(working) if turns else set()
    unsent = [turn for turn in turns if sent.isdisjoint(turn.nodes)]
    rest = [turn for turn in turns if not sent.isdisjoint(turn.nodes)]
    notes = []
    if unsent:
        notes.append(f"{_are(unsent)} before a compaction, so no client sends {'it' if len(unsent) == 1 else 'them'}")
    if rest:
        notes.append(f"{_are(rest)} before a compaction, so clients send only what it preserved")
    return {turn.number for turn in unsent}, "; ".join(notes)


def _are(turns: Sequence[Turn]) -> str:
    named = name_turns(turn.number for turn in turns)
    return f"turn {named} is" if len(turns) == 1 else f"turns {named} are"


def why_nothing(working: WorkingFile, edit: AnyEdit) -> str:
    """Why an edit did nothing, where that is not obvious."""
    session = working.session
    if edit.which.chooses_turns and not turns_of(session, edit.which):
        return _why_no_turn(len(session.turns), edit.which)
    if isinstance(edit, DropAgents):
        return "no selected tool call started a subagent" if session.agents else "this session has no subagents"
    if isinstance(edit, DropToolCalls):
        return "no such call in the current branch"
    if isinstance(edit, StripThinking) and edit.refused_only and any(_has_thinking(working, edit.which)):
        return "all of its thinking is signed"
    if not isinstance(edit, TruncateResults):
        return _THERE_IS_NONE.get(type(edit), "")
    results = [call.result for call in tool_calls_of(working.session, edit.which) if call.result_node in working.living]
    longer = sum(len(result) > edit.limit for result in results)
    if not longer:
        return f"no result is longer than {edit.limit:,} characters"
    those = "1 result is" if longer == 1 else f"{longer:,} results are"
    return f"{those} longer than {edit.limit:,} characters, but truncating would save less than its note adds"


def _why_no_turn(turns: int, which: Selector) -> str:
    if which.keep_last is not None and which.keep_last >= turns:
        return f"this session has {turns:,} {'turn' if turns == 1 else 'turns'}, and the last {which.keep_last:,} are kept"
    return "no turn started before that time" if which.before is not None and not which.turns else "no turn is selected"


def _has_thinking(working: WorkingFile, which: Selector) -> Iterator[bool]:
    for node in nodes_of(working.session, which) & working.living:
        yield any(block.get("type") in THINKING for block in working.blocks_before(node))


def name_turns(numbers: Iterable[int]) -> str:
    """`1 to 3, 5`."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ", ".join(f"{first} to {last}" if last > first else str(first) for first, last in ranges)
