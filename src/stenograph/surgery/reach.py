"""How far an edit reaches: turns that no client sends any more, and why an edit finds nothing to do.

In: a working file and an edit. Out: the edit narrowed to what it can change, and words about the rest; never what was said.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from stenograph.disk import PROVED
from stenograph.graph import NOWHERE
from stenograph.messages import habits_of, select
from stenograph.records import CompactBoundaryRecord, UserRecord
from stenograph.surgery.choose import tool_calls_of, turns_of
from stenograph.surgery.edits import AnyEdit, Compress, DropTurns, TruncateResults, Which
from stenograph.surgery.working import Working
from stenograph.turns import Turn


def is_condensed(working: Working, turn: Turn) -> bool:
    """Whether a compaction already stands behind a turn."""
    records = working.graph.records
    last = next((node for node in reversed(working.chain) if isinstance(records[node], CompactBoundaryRecord)), NOWHERE)
    return turn.node < last


def _sent_by_any(working: Working) -> set[int]:
    """What any proved release makes messages of: preserved messages too (rule 50), but not the summary, which belongs to the turn
    in which it came."""
    sent = {node for release in PROVED for node in select(working.own_graph, release, habits_of(release)).nodes}
    records = working.graph.records
    return {node for node in sent if not (isinstance(record := records[node], UserRecord) and record.isCompactSummary)}


def narrow(working: Working, edit: AnyEdit, *, prune: bool) -> tuple[AnyEdit | None, str]:
    """The edit without what it would change in vain, None where nothing is left of it; and a line about that, empty for none.

    To drop a turn from behind a compaction changes nothing that is sent; only `prune` takes its lines out of the file.
    """
    if not isinstance(edit, DropTurns | Compress):
        return edit, ""
    turns = turns_of(working.session, edit.which)
    behind = [turn for turn in turns if is_condensed(working, turn)]
    sent = _sent_by_any(working) if behind else set()
    unsent = {turn.number for turn in behind if sent.isdisjoint(turn.nodes)}
    if not unsent:
        return edit, ""
    are = "turn {} is" if len(unsent) == 1 else "turns {} are"
    note = are.format(name_turns(sorted(unsent))) + " behind a compaction: no client sends "
    note += "it" if len(unsent) == 1 else "them"
    if isinstance(edit, Compress):
        return (edit, "") if len(unsent) < len(turns) else (None, note)
    if prune or len(turns) == len(working.session.turns):  # the edit itself says that one turn must stay
        return edit, note
    rest = tuple((turn.number, turn.number) for turn in turns if turn.number not in unsent)
    return (msgspec.structs.replace(edit, which=Which(turns=rest)) if rest else None), note


def why_nothing(working: Working, edit: AnyEdit) -> str:
    """Why an edit that did nothing did nothing, where that is not plain to see."""
    if not isinstance(edit, TruncateResults):
        return ""
    results = [call.result for call in tool_calls_of(working.session, edit.which) if call.result_node in working.living]
    longer = sum(len(result) > edit.limit for result in results)
    if not longer:
        return f"no result is longer than {edit.limit:,} characters"
    those = "1 result is" if longer == 1 else f"{longer:,} results are"
    return f"{those} longer than {edit.limit:,} characters, but hardly by more than the words that would stand for what is cut"


def name_turns(numbers: Iterable[int]) -> str:
    """`1 to 3, 5`: numbers in order, those that follow each other as a range."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ", ".join(f"{first} to {last}" if last > first else str(first) for first, last in ranges)
