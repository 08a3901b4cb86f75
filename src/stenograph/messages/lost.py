"""What a release would lose of a session when it resumes it: how much, and by which rule.

In: a graph and a release. Out: counts of what was said on the current chain as it happened (parallel calls, preserved messages
and what stands before a broken link included; what a compaction replaced is not), and of what of it is not sent. Lines that no
release sends are not counted.
"""

from __future__ import annotations

from msgspec import Struct

from stenograph.graph import Graph, ancestors, choose_leaf, read_graph, reading_habits, walk_chain
from stenograph.messages.explain import SENT, explain
from stenograph.messages.pieces import is_thinking
from stenograph.messages.resume import resume_messages
from stenograph.messages.selection import siblings_of
from stenograph.records import AssistantRecord, CompactBoundaryRecord, UserRecord, plain_message
from stenograph.releases import NEWEST

_ELSEWHERE = "19: the release resumes from another line"
_CUT_OFF = "24: before a record of a kind that the release does not follow"


class LossCounts(Struct, frozen=True):
    """Lines of the user and of the model, and what is in them."""

    messages: int = 0
    tool_calls: int = 0
    thinking: int = 0

    def __add__(self, other: LossCounts) -> LossCounts:
        return LossCounts(self.messages + other.messages, self.tool_calls + other.tool_calls, self.thinking + other.thinking)


class Loss(Struct, frozen=True):
    rule: str
    counts: LossCounts


class Lost(Struct, frozen=True):
    release: str
    # What was said.
    said: LossCounts
    # What of it is not sent, by rule.
    losses: tuple[Loss, ...]

    @property
    def total(self) -> LossCounts:
        return sum((loss.counts for loss in self.losses), LossCounts())


def lost(graph: Graph, release: str = NEWEST) -> Lost:
    resume = resume_messages(graph, release)
    rules = {one.node: one.rule for one in explain(resume, graph)}
    kept_thinking = sum(is_thinking(block) for message in resume.messages or [] for block in message.content)
    said = LossCounts()
    by_rule: dict[str, LossCounts] = {}
    thinking_of_sent = 0
    cut_off = _cut_off(graph, release)
    for node, why in _as_it_happened(graph).items():
        counts = _counts(graph, node)
        said += counts
        rule = rules.get(node, why)
        if rule == SENT:
            thinking_of_sent += counts.thinking
            continue
        # That a line is not on the release's chain says less than how it came to stand beside it.
        if rule.startswith("22:"):
            rule = _CUT_OFF if node in cut_off and why == _ELSEWHERE else why
        by_rule[rule] = by_rule.get(rule, LossCounts()) + counts
    if thinking_of_sent > kept_thinking:
        rule = "32: thinking of another model"
        by_rule[rule] = by_rule.get(rule, LossCounts()) + LossCounts(thinking=thinking_of_sent - kept_thinking)
    return Lost(release, said, tuple(Loss(rule, counts) for rule, counts in by_rule.items()))


def _cut_off(graph: Graph, release: str) -> set[int]:
    """What stands before a link that is there, but that the release does not follow."""
    chain = walk_chain(graph, choose_leaf(graph, release), release)
    return set(ancestors(graph, graph.parents[chain[0]])) if chain else set()


def _as_it_happened(graph: Graph) -> dict[int, str]:
    """The lines that were said on the current chain, in order, and why a release may not find each."""
    chain: list[int] = []
    broken: set[int] = set()
    is_broken = False
    boundary = -1
    for node in ancestors(graph, choose_leaf(graph)):
        if isinstance(graph.records[node], CompactBoundaryRecord):
            boundary = node
            break
        chain.append(node)
        if is_broken:
            broken.add(node)
        is_broken = is_broken or graph.before[node] != graph.parents[node]
    chain.reverse()
    on_chain = set(chain)
    grown = siblings_of(graph, chain)
    reading = read_graph(graph, reading_habits(NEWEST))
    preserved = [node for node in reading.preserved if node not in on_chain] if boundary >= 0 else []
    siblings = set(grown) - on_chain
    why: dict[int, str] = {}
    for each in (*grown, *preserved):
        if not _is_said(graph, each):
            continue
        if each in siblings:
            why[each] = "30: a parallel call, or its result, beside the chain"
        elif each not in on_chain:
            why[each] = "50: preserved over a compaction"
        elif each in broken:
            why[each] = "23: before a broken link"
        else:
            why[each] = _ELSEWHERE
    return why


def _is_said(graph: Graph, node: int) -> bool:
    record = graph.records[node]
    return isinstance(record, UserRecord) or (isinstance(record, AssistantRecord) and not record.isApiErrorMessage)


def _counts(graph: Graph, node: int) -> LossCounts:
    record = graph.records[node]
    content = plain_message(record).content if isinstance(record, UserRecord | AssistantRecord) else None
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    return LossCounts(1, sum(block.get("type") == "tool_use" for block in blocks), sum(map(is_thinking, blocks)))
