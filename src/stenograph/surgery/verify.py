"""A working file against what it promises: clients send of the new file exactly what the edits make of the old one.

The expectation is made without any of the links: of the records that a release selects in the old file those that are gone are
left out, the others taken as edited, and the release's own rules make messages of them. The new file has to give the same when
it is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from stenograph.graph import NOWHERE, Graph, build_graph
from stenograph.messages import Lost, Resume, Selection, lost, message_habits, messages_of, plain, resume_messages, select
from stenograph.records import AssistantRecord, Located, UserRecord, decode, rebuild
from stenograph.releases import NEWEST, PROVED
from stenograph.surgery.working import WorkingFile

_BROKEN = frozenset({"dangling-parent", "parent-cycle", "self-parent", "forward-parent", "duplicate-uuid"})

Messages = list[dict[str, Any]]


class ReleaseOutcome(msgspec.Struct, frozen=True):
    release: str
    #: Empty when it resumes the session, else the rule by which it does not.
    refused: str
    before: Messages
    after: Messages


class Verification(msgspec.Struct, frozen=True):
    outcomes: list[ReleaseOutcome]
    problems: list[str]
    #: Differences for releases that lost some of the session before, and what a release would add.
    notes: list[str]
    #: Of the new file.
    graph: Graph


def verify(working: WorkingFile, path: Path) -> Verification:
    if working.is_untouched:  # what stays as it is can't be made worse
        return _of_untouched(working)
    new = _new_graph(working, path)
    outcomes: list[ReleaseOutcome] = []
    problems = list(_worse(working, new))
    notes: list[str] = []
    problems += _empty_content(working)
    old = working.own_graph
    # An edit may repair a tree, so that an old client reads what the newest does.
    whole = select(old, NEWEST, message_habits(NEWEST))
    for release in PROVED:
        selection = select(old, release, message_habits(release))
        before = messages_of(selection, release)
        after = resume_messages(new, release)
        sent = plain(after)
        readings = [selection, whole, *_read_now(working, new, release, selection, whole)]
        expected = [plain(messages_of(_edited(each, working), release)) for each in readings if not each.refused]
        outcomes.append(ReleaseOutcome(release, after.refused or "", plain(before), sent))
        if after.refused and not before.refused:
            problems.append(f"{release} would not resume it (rule {after.refused})")
        elif expected and sent not in expected:
            told = f"{release} would not send the edited conversation: {_first_difference(expected[0], sent)}"
            (problems if selection.nodes == whole.nodes else notes).append(told)
        if (own := count_own(after)) > count_own(before):
            notes.append(name_own(release, own))
    problems += _unanswered(of_newest(outcomes))
    return Verification(outcomes, problems, notes, new)


def _of_untouched(working: WorkingFile) -> Verification:
    outcomes = []
    for release in PROVED:
        resume = resume_messages(working.own_graph, release)
        sent = plain(resume)
        outcomes.append(ReleaseOutcome(release, resume.refused or "", sent, sent))
    return Verification(outcomes, [], [], working.own_graph)


def _read_now(working: WorkingFile, new: Graph, release: str, selection: Selection, whole: Selection) -> Iterator[Selection]:
    """What a release that lost some of the session reads of the new file, where it is all that it read before and more of what
    the newest client reads: a parallel call that it missed may be on the chain now (rule 30).
    """
    if selection.nodes == whole.nodes:
        return
    came_from = [node for node, _ in working.lines()]
    read = {came_from[node] for node in select(new, release, message_habits(release)).nodes} - {NOWHERE}
    if set(selection.nodes) - working.gone <= read <= set(whole.nodes):
        yield Selection(whole.graph, [node for node in whole.nodes if node in read], whole.before)


def count_own(resume: Resume) -> int:
    """How many messages a release makes up, because the session ends in something that asks for an answer (rule 41)."""
    return sum(all(node < 0 for node in message.nodes) for message in resume.messages or ())


def name_own(release: str, count: int) -> str:
    return f"{release} will add {count} {'message' if count == 1 else 'messages'} of its own: the new end looks unanswered"


def of_newest(outcomes: list[ReleaseOutcome]) -> ReleaseOutcome:
    return next(each for each in outcomes if each.release == NEWEST)


def _new_graph(working: WorkingFile, path: Path) -> Graph:
    """The graph of the new file, read like any other; lines that keep their bytes were read before."""
    changed = working.changed_nodes()
    located = []
    offset = 0
    for number, (node, data) in enumerate(working.lines(), 1):
        record = decode(data) if node in changed or node == NOWHERE else working.graph.records[node]
        located.append(Located(record, number, offset, len(data)))
        offset += len(data) + 1
    return build_graph([(path, "", located)])


def _edited(selection: Selection, working: WorkingFile) -> Selection:
    """The same selection of the edited records, without what is gone; new lines are put in their place."""
    graph = selection.graph
    changed = working.changed_nodes()
    records = [working.record(node) if node in changed else record for node, record in enumerate(graph.records)]
    edited = msgspec.structs.replace(graph, records=records)
    nodes = [node for node in selection.nodes if node not in working.gone]
    before = [node for node in selection.before if node not in working.gone]
    return Selection(_with_new_lines(edited, working), _placed(nodes, len(graph.records), working), before)


def _with_new_lines(graph: Graph, working: WorkingFile) -> Graph:
    new = [line.record for line in working.new_lines]
    blank = [NOWHERE] * len(new)
    return msgspec.structs.replace(
        graph,
        nodes=[*graph.nodes, *(Located(record, 0, 0, 0) for record in new)],
        records=[*graph.records, *new],
        parents=[*graph.parents, *blank],
        before=[*graph.before, *blank],
    )


def _placed(nodes: list[int], length: int, working: WorkingFile) -> list[int]:
    new: dict[int, list[int]] = {}
    for number, line in enumerate(working.new_lines):
        new.setdefault(line.before, []).append(length + number)
    return [*(each for node in nodes for each in (*new.get(node, ()), node)), *new.get(working.last, ())]


def _worse(working: WorkingFile, new: Graph) -> Iterator[str]:
    old = [finding.code for finding in working.own_graph.findings]
    found = [finding.code for finding in new.findings]
    for code in sorted(_BROKEN):
        if found.count(code) > old.count(code):
            yield f"the tree would be broken: {code}"


def _empty_content(working: WorkingFile) -> Iterator[str]:
    for node in sorted(working.changed_nodes() - working.removed):
        record = working.record(node)
        was_empty = working.blocks_before(node) == []
        if isinstance(record, UserRecord | AssistantRecord) and rebuild(record.content) == [] and not was_empty:
            yield f"line {working.graph.nodes[node].number} would be empty"


def _unanswered(outcome: ReleaseOutcome) -> Iterator[str]:
    """In what the newest client sends, every use must be answered exactly once, in the next message, if it was so before."""
    if any(_open_calls(outcome.before)):
        return
    yield from _open_calls(outcome.after)


def _open_calls(messages: Messages) -> Iterator[str]:
    for place, message in enumerate(messages[:-1]):
        uses = [block.get("id") for block in message["content"] if block.get("type") == "tool_use"]
        results = [block.get("tool_use_id") for block in messages[place + 1]["content"] if block.get("type") == "tool_result"]
        if any(results.count(use) != 1 for use in uses):
            yield f"message {place + 1} would have a tool call without exactly one result"


def _first_difference(expected: Messages, after: Messages) -> str:
    for place, (one, other) in enumerate(zip(expected, after, strict=False)):
        if one != other:
            return f"message {place + 1}, {_shape(one)} expected, {_shape(other)} found"
    return f"{len(expected)} messages expected, {len(after)} found"


def _shape(message: dict[str, Any]) -> str:
    return f"{message['role']}({', '.join(str(block.get('type')) for block in message['content'])})"


class LossChange(Struct, frozen=True):
    before: Lost
    after: Lost

    @property
    def release(self) -> str:
        return self.before.release


def compare_losses(working: WorkingFile, new: Graph) -> list[LossChange]:
    old = [lost(working.own_graph, release) for release in PROVED]
    if new is working.own_graph:
        return [LossChange(each, each) for each in old]
    return [LossChange(before, lost(new, before.release)) for before in old]
