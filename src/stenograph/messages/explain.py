"""What a release would send -> for each record of the session's own file, whether it is sent and by which rule.

In: a resume and the graph it was made of. Out: one line a record, in file order. A record counts as sent when some of it is; that
others of its blocks were left out is not told.
"""

from __future__ import annotations

from msgspec import Struct

from stenograph.graph import Graph
from stenograph.messages.pieces import is_thinking
from stenograph.messages.resume import Resume
from stenograph.records import AssistantRecord, ChainedRecord, DamagedRecord, Record, UserRecord, plain_message

SENT = "sent"


class Explained(Struct, frozen=True):
    """One record."""

    node: int
    # Of its line, from 1.
    line: int
    kind: str
    is_sent: bool
    # `sent`, or the number of the rule by which it is not and what that says.
    rule: str


def explain(resume: Resume, graph: Graph) -> list[Explained]:
    main = graph.files[0] if graph.files else None
    if main is None:
        return []
    sent_of = {
        node: sent for message in resume.messages or [] for sent in [_SentBlocks(message.content)] for node in message.nodes
    }
    rules = {left.node: left.rule for left in resume.left}
    explained: list[Explained] = []
    for node in range(main.first, main.last):
        record = graph.records[node]
        if node in sent_of and node not in rules:
            rule = _rule_of_blocks(record, sent_of[node])
        else:
            rule = rules.get(node) or resume.refused or _rule_of_place(graph, node, record)
        explained.append(Explained(node, graph.nodes[node].number, _kind(record), rule == SENT, rule))
    return explained


class _SentBlocks:
    """What a message holds, looked at once for all its records."""

    def __init__(self, blocks: list[dict[str, object]]) -> None:
        self.answered = {_id(block) for block in blocks}
        self.has_thinking = any(map(is_thinking, blocks))


def _rule_of_blocks(record: Record, sent: _SentBlocks) -> str:
    """By which rule all blocks of a record were left out of the message that it belongs to; `sent` when some are in it."""
    content = plain_message(record).content if isinstance(record, UserRecord | AssistantRecord) else None
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    if not blocks:
        return SENT
    if all(block.get("type") == "tool_result" for block in blocks):
        is_sent = any(_id(block) in sent.answered for block in blocks)
        return SENT if is_sent else "44: a result without its tool use"
    if all(map(is_thinking, blocks)):
        return SENT if sent.has_thinking else "32: thinking of another model"
    return SENT


def _id(block: dict[str, object]) -> str:
    """The id of the tool use that a result answers; it may be anything."""
    found = block.get("tool_use_id")
    return found if isinstance(found, str) else repr(found)


def _rule_of_place(graph: Graph, node: int, record: Record) -> str:
    if isinstance(record, DamagedRecord):
        return "13: an unreadable line"
    if not isinstance(record, ChainedRecord):
        return "34: not part of the conversation"
    if isinstance(record.uuid, str) and graph.by_uuid.get(record.uuid) != node:
        return "17: a later line has its UUID"
    if record.isSidechain:
        return "26: a subagent's line"
    return "22: not on the chain"


def _kind(record: Record) -> str:
    kind = getattr(record, "kind", None) or getattr(record, "type", None)
    return kind if isinstance(kind, str) else "damaged"
