"""Turns one by one, in file order, for files larger than memory.

In: records as they are read. Out: each turn when the next one opens, or at the end. Branches are not told apart: an abandoned
prompt is a turn like any other, and `number` counts turns in the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from stenograph.graph import build_graph
from stenograph.inputs import OPENERS, Input, InputKind, classify, is_caveat
from stenograph.records import ChainedRecord, Located, UserRecord
from stenograph.turns.assemble import assemble_turns
from stenograph.turns.context import read_context
from stenograph.turns.model import Turn


def stream_turns(located: Iterable[Located], path: Path) -> Iterator[Turn]:
    """The turns among some records; what stands before the first prompt is passed over."""
    number = 0
    for group in group_by_prompt(located):
        turns = _turns_of(group, path)
        for turn in turns:
            number += 1
            yield msgspec.structs.replace(turn, number=number)


def group_by_prompt(located: Iterable[Located], *, keep_sidechains: bool = False) -> Iterator[list[Located]]:
    """The records from one person's prompt (or notification) up to the next; a command stays with what was before it.

    Lines of sub-agents that stand among them are left out unless asked for.
    """
    group: list[Located] = []
    previous: Input | None = None
    refused_at: object = None
    for each in located:
        record = each.record
        if isinstance(record, UserRecord) and not record.isSidechain:
            understood = classify(record)
            # A command that 2.0.x refused looks like a prompt, but stands behind a caveat, and its refusal has the same time.
            if understood.kind is InputKind.PROMPT and is_caveat(previous) and understood.text.startswith("/"):
                refused_at = record.timestamp
            opens = understood.kind in OPENERS and understood.kind not in (InputKind.COMMAND, InputKind.BASH)
            if opens and group and (refused_at is None or record.timestamp != refused_at):
                yield group
                group = []
            previous = understood
        elif isinstance(record, ChainedRecord) and record.isSidechain and not keep_sidechains:
            continue
        group.append(each)
    if group:
        yield group


def _turns_of(group: list[Located], path: Path) -> list[Turn]:
    graph = build_graph([(path, "", group)])
    turns = assemble_turns(read_context(graph), list(range(len(graph.nodes))))
    return [turns[node] for node in sorted(turns)]
