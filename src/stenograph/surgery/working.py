"""A session's own file while it is edited: which lines change, which leave the conversation, which come new.

In: a loaded session. Out: the lines of the new file. Edits say what leaves the conversation and what changes; this says what
that means for the links between lines, so that no edit needs to know: what hangs off something that is gone hangs off the
nearest thing that stays, lines that a client would find again are taken out of the file, and what names a line that is gone
names another. A line that nobody touched keeps its bytes.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import msgspec
from msgspec import Struct

from stenograph.disk import NEWEST
from stenograph.graph import NOWHERE, Graph, build_graph, current_chain
from stenograph.messages import habits_of, select
from stenograph.records import (
    REMOVE,
    UNSET,
    AssistantRecord,
    ChainedRecord,
    CompactBoundaryRecord,
    FileHistorySnapshotRecord,
    LastPromptRecord,
    Located,
    Record,
    UserRecord,
    change,
    decode,
    encode,
    message_id_of,
    rebuild,
)
from stenograph.records.json_text import to_text
from stenograph.records.times import moment, to_client_time
from stenograph.turns import Session, Tokens, Turn

Block = dict[str, Any]
#: What lines of one stretch of a conversation have in common.
ENVELOPE = ("userType", "entrypoint", "cwd", "sessionId", "version", "gitBranch", "slug")


class NewLine(Struct, frozen=True):
    """A line that comes new."""

    record: ChainedRecord
    #: The node before which it stands; the end of the file when it is the file's length.
    before: int


class Working:
    """The file while it is edited. Nodes are those of the session's graph; only the session's own file is touched."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.graph: Graph = session.graph
        self.last = self.graph.files[0].last if self.graph.files else 0
        #: On the chain that the newest client resumes, in order.
        self.chain: list[int] = current_chain(self.graph)
        #: What that client makes messages of, in order: the chain, and what belongs to it but stands beside it.
        self.sent: list[int] = select(self.own_graph, NEWEST, habits_of(NEWEST)).nodes
        #: Nodes that leave the conversation.
        self.gone: set[int] = set()
        #: Nodes whose lines leave the file too.
        self.removed: set[int] = set()
        self.new_lines: list[NewLine] = []
        self._changed: dict[int, Record] = {}
        # The nodes in the order in which they stand in the new file; empty for the old order.
        self._order: list[int] = []
        #: Files that go.
        self.deleted: list[Path] = []
        #: Node -> uuid that its parent becomes, where that is not simply the nearest thing that stays.
        self.parents: dict[int, str | None] = {}

    @functools.cached_property
    def own_graph(self) -> Graph:
        """The graph of the session's own file, with the same numbers for its nodes."""
        main = self.graph.files[0]
        return build_graph([(main.path, "", self.graph.nodes[main.first : main.last])])

    @functools.cached_property
    def living(self) -> frozenset[int]:
        """What belongs to the conversation that goes on: the chain, what compactions replaced, the other lines of its responses
        and the results of those. What an edit before this one set aside does not."""
        chain: set[int] = set()
        node = self.chain[-1] if self.chain else NOWHERE
        while node >= 0 and node not in chain:
            chain.add(node)
            node = self.graph.before[node]
        chain.update(self.sent)
        ids = {self._message_id(node) for node in chain} - {""}
        living = chain | {node for node in range(self.last) if self._message_id(node) in ids}
        uses = {block.get("id") for node in living for block in self.blocks_before(node) if block.get("type") == "tool_use"}
        results = {
            node
            for node in range(self.last)
            if node not in living and any(block.get("tool_use_id") in uses for block in self.blocks_before(node))
        }
        return frozenset(living | results)

    def record(self, node: int) -> Record:
        return self._changed.get(node) or self.graph.records[node]

    def put(self, node: int, path: str | tuple[str | int, ...], value: Any) -> None:
        """Change one member of a line."""
        self._changed[node] = change(self.record(node), path, value)

    def blocks(self, node: int) -> list[Block] | None:
        """The content of a line as JSON; None where it is no list of blocks."""
        record = self.record(node)
        content = rebuild(record.content) if isinstance(record, UserRecord | AssistantRecord) else None
        return content if isinstance(content, list) else None

    def set_blocks(self, node: int, blocks: list[Block]) -> None:
        """New content for a line; a line without content leaves the conversation."""
        if blocks:
            self.put(node, ("message", "content"), blocks)
        else:
            self.drop(node)

    def drop(self, *nodes: int) -> None:
        """Take nodes out of the conversation. What a compaction left stays: without it the older history would come back."""
        self.gone.update(node for node in nodes if node < self.last and not self._holds_a_compaction(node))

    def remove(self, *nodes: int) -> None:
        """Take nodes out of the file."""
        self.drop(*nodes)
        self.removed.update(node for node in nodes if node in self.gone)

    def leave_behind(self, first_kept: int) -> None:
        """All that was said before a node leaves the conversation, compactions too: something else stands for it."""
        said = set(self.chain) | {node for turn in self.session.turns for node in turn.nodes}
        self.gone.update(node for node in said if node < first_kept)

    def is_condensed(self, turn: Turn) -> bool:
        """Whether a compaction already stands behind a turn, so that no client sends it."""
        boundaries = [node for node in self.chain if isinstance(self.graph.records[node], CompactBoundaryRecord)]
        return bool(boundaries) and turn.node < boundaries[-1]

    def tokens_before(self, node: int) -> int:
        """The tokens of the last prompt that was sent before a node, as the endpoint counted them."""
        calls = [call for turn in self.session.turns if turn.node < node for call in turn.calls]
        tokens = calls[-1].tokens if calls else Tokens()
        return tokens.input + tokens.cache_read + tokens.cache_write

    @property
    def is_untouched(self) -> bool:
        moved = any(place != node for place, node in enumerate(self._order))
        return not (self._changed or self.gone or self.new_lines or self.deleted or self.parents or moved)

    def changed_nodes(self) -> set[int]:
        return set(self._changed)

    def settle(self, *, prune: bool) -> None:
        """Make the links right. With `prune` nothing that left the conversation stays in the file."""
        if prune:
            self.removed |= self.gone
        self._remove_what_would_be_found_again()
        if not self._order:
            self._thread_siblings()
        self._relink()
        self._rename_references()

    def mark_the_end(self) -> None:
        """Add a line behind the last one that stays, the last in the file and the newest in time: every client goes on from
        there.

        For when what left the conversation would be last or newest. Clients take system lines of this kind for the end of a chain
        and send none.
        """
        leaf = next((node for node in reversed(self.chain) if node not in self.gone), NOWHERE)
        record = self.record(leaf) if leaf >= 0 else None
        if not isinstance(record, ChainedRecord):
            return
        staying = [self.record(node) for node in range(self.last) if node not in self.removed]
        chained = [other for other in staying if isinstance(other, ChainedRecord)]
        newest = max((at for other in chained if (at := moment(other.timestamp))), default=None)
        members = {name: value for name in ENVELOPE if name != "slug" and (value := getattr(record, name)) is not UNSET}
        marker = {
            "parentUuid": record.uuid,
            "isSidechain": False,
            **members,
            "type": "system",
            "subtype": "informational",
            "content": "The conversation goes on from here: what came after was taken out.",
            "isMeta": False,
            "level": "info",
            "timestamp": to_client_time(newest + timedelta(milliseconds=1)) if newest else record.timestamp,
            "uuid": str(uuid5(NAMESPACE_URL, f"stenograph end {self.session.id} {record.uuid} {len(self.gone)}")),
        }
        made = decode(to_text(marker))
        assert isinstance(made, ChainedRecord)
        self.new_lines.append(NewLine(made, self.last))

    def linearise(self) -> int:
        """Make one chain of what is sent, in its order, with times that increase; returns how many lines that changes."""
        line = [node for node in self.sent if node not in self.gone]
        changed = set[int]()
        latest: datetime | None = None
        for previous, node in zip([NOWHERE, *line], line, strict=False):
            record = self.record(node)
            if not isinstance(record, ChainedRecord):
                continue
            if previous >= 0 and record.parentUuid != self._uuid(previous):
                self.parents[node] = self._uuid(previous)
                changed.add(node)
            at = moment(record.timestamp)
            if latest is not None and (at is None or at <= latest):
                at = latest + timedelta(milliseconds=1)
                self.put(node, "timestamp", to_client_time(at))
                changed.add(node)
            latest = at or latest
        self._reorder(line)
        for node in self.chain:
            if isinstance(self.record(node), CompactBoundaryRecord):
                changed |= self._forget_preserved(node)
        return len(changed | {node for place, node in enumerate(self._order) if place != node})

    def _reorder(self, line: list[int]) -> None:
        """Put nodes into the file in their order, each where it stands or behind the one before it."""
        keys = {node: (node, 0) for node in range(self.last)}
        furthest = NOWHERE
        for rank, node in enumerate(line, 1):
            furthest = max(furthest, node)
            keys[node] = (furthest, rank)
        self._order = sorted(keys, key=lambda node: keys[node])
        place_of = {node: place for place, node in enumerate(self._order)}
        linked = set(line)
        above = NOWHERE
        for place, node in enumerate(self._order):
            parent = self.graph.parents[node]
            if node in linked:
                above = node
            elif parent in linked and place_of[parent] > place:  # what it hangs off stands further down now
                self.parents[node] = self._uuid(above) if above >= 0 else None

    def _forget_preserved(self, boundary: int) -> set[int]:
        """What was preserved over a compaction stands in the chain now: a client that is told of it would send it again."""
        metadata = rebuild(getattr(self.record(boundary), "compactMetadata", None))
        named = [name for name in ("preservedSegment", "preservedMessages") if isinstance(metadata, dict) and name in metadata]
        for name in named:
            self.put(boundary, ("compactMetadata", name), REMOVE)
        return {boundary} if named else set()

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """The new file, line by line: the node each came from, NOWHERE for new ones, and its bytes."""
        new: dict[int, list[bytes]] = {}
        for line in self.new_lines:
            new.setdefault(line.before, []).append(encode(line.record))
        for node in [*(self._order or range(self.last)), self.last]:
            for data in new.get(node, ()):
                yield NOWHERE, data
            if node < self.last and node not in self.removed:
                yield node, encode(self.record(node))

    def with_new_lines(self, graph: Graph) -> Graph:
        """A graph with the new lines behind all of its nodes."""
        if not self.new_lines:
            return graph
        new = [line.record for line in self.new_lines]
        located = [Located(record, 0, 0, 0) for record in new]
        blank = [NOWHERE] * len(new)
        return msgspec.structs.replace(
            graph,
            nodes=[*graph.nodes, *located],
            records=[*graph.records, *new],
            parents=[*graph.parents, *blank],
            before=[*graph.before, *blank],
        )

    def placed(self, nodes: list[int], length: int) -> list[int]:
        """Nodes in order, with those of the new lines (which `with_new_lines` numbers from `length` on) where they stand."""
        if not self.new_lines:
            return nodes
        new: dict[int, list[int]] = {}
        for number, line in enumerate(self.new_lines):
            new.setdefault(line.before, []).append(length + number)
        return [*(each for node in nodes for each in (*new.get(node, ()), node)), *new.get(self.last, ())]

    def nearest_kept(self, node: int) -> int:
        """The nearest ancestor that stays in the conversation; NOWHERE for none."""
        seen: set[int] = set()
        node = self.graph.parents[node]
        while node >= 0 and node in self.gone and node not in seen:
            seen.add(node)
            node = self.graph.parents[node]
        return node if node not in self.gone else NOWHERE

    def _holds_a_compaction(self, node: int) -> bool:
        record = self.graph.records[node]
        return isinstance(record, CompactBoundaryRecord) or bool(isinstance(record, UserRecord) and record.isCompactSummary)

    def _remove_what_would_be_found_again(self) -> None:
        """Newer clients look for the other lines of a response, and for results that hang off them (rule 30).

        A line whose response is still in the conversation leaves the file: the others carry the same usage. A result, and what
        hangs off it, goes with its use; of a response that left as a whole it stays, beside it.
        """
        kept: dict[str, list[int]] = {}
        for node in range(self.last):
            if node not in self.gone and (id_ := self._message_id(node)):
                kept.setdefault(id_, []).append(node)
        for node in sorted(self.gone):
            if lines := kept.get(self._message_id(node)):
                self.removed.add(node)
                self._keep_usage(node, lines)
        use_of = {
            block.get("id"): node
            for node in range(self.last)
            if isinstance(self.graph.records[node], AssistantRecord)
            for block in self.blocks_before(node)
            if block.get("type") == "tool_use"
        }
        for node in sorted(self.gone):
            results = [block for block in self.blocks_before(node) if block.get("type") == "tool_result"]
            uses = [use_of.get(block.get("tool_use_id")) for block in results]
            parent = self.graph.parents[node]
            if uses and (any(use is None or use not in self.gone or use in self.removed for use in uses)):
                self.removed.add(node)
            elif uses and (parent < 0 or parent not in self.gone):
                self.parents[node] = self._uuid(next(use for use in uses if use is not None))
            elif parent in self.removed and not isinstance(self.graph.records[node], UserRecord | AssistantRecord):
                self.removed.add(node)

    def _keep_usage(self, removed: int, lines: list[int]) -> None:
        """Lines of one response mostly carry one usage; where the line that leaves has more (2.1.45), another gets it."""
        usage = self._usage(removed)
        if usage is not None and all(_tokens(usage) > _tokens(self._usage(line)) for line in lines):
            self.put(lines[-1], ("message", "usage"), usage)

    def _usage(self, node: int) -> dict[str, Any] | None:
        record = self.record(node)
        usage = rebuild(record.message.usage) if isinstance(record, AssistantRecord) and record.message else None
        return usage if isinstance(usage, dict) else None

    def _thread_siblings(self) -> None:
        """Lines of a response beside the chain, found by the one that was on it (rule 30), take its place when it goes."""
        on_chain = set(self.chain) - self.gone
        kept_ids = {self._message_id(node) for node in on_chain}
        sent = [node for node in self.sent if node not in self.gone]
        for place, node in enumerate(sent):
            if node in on_chain or not self._message_id(node) or self._message_id(node) in kept_ids:
                continue
            self.parents[node] = self._uuid(sent[place - 1]) if place else None
            if place + 1 < len(sent):
                self.parents[sent[place + 1]] = self._uuid(node)

    def _relink(self) -> None:
        for node in range(self.last):
            record = self.record(node)
            if node in self.removed or not isinstance(record, ChainedRecord):
                continue
            if node in self.parents:
                self.put(node, "parentUuid", self.parents[node])
                continue
            parent = self.graph.parents[node]
            if parent < 0:
                continue
            if node in self.gone:
                while parent >= 0 and parent in self.removed:
                    parent = self.graph.parents[parent]
                if parent != self.graph.parents[node]:
                    self.put(node, "parentUuid", self._uuid(parent) if parent >= 0 else None)
            elif parent in self.gone:
                kept = self.nearest_kept(node)
                self.put(node, "parentUuid", self._uuid(kept) if kept >= 0 else None)

    def _rename_references(self) -> None:
        """What names a line that left: last-prompt lines, snapshots of files, lists of preserved messages."""
        moved: dict[str, str | None] = {}
        for node in self.gone:
            uuid = self._uuid(node)
            if uuid:
                kept = self.nearest_kept(node)
                moved[uuid] = self._uuid(kept) if kept >= 0 else None
        if not moved:
            return
        removed = {self._uuid(node) for node in self.removed}
        for node in range(self.last):
            if node in self.removed:
                continue
            record = self.record(node)
            if isinstance(record, LastPromptRecord) and record.leafUuid in moved:
                self.put(node, "leafUuid", moved[record.leafUuid] or "")
            elif isinstance(record, FileHistorySnapshotRecord) and record.messageId in moved and record.messageId in removed:
                new = moved[record.messageId]
                if new:
                    self.put(node, "messageId", new)
            elif isinstance(record, CompactBoundaryRecord):
                self._rename_preserved(node, moved)

    def _rename_preserved(self, node: int, moved: dict[str, str | None]) -> None:
        metadata = rebuild(getattr(self.record(node), "compactMetadata", None))
        if not isinstance(metadata, dict):
            return
        preserved = metadata.get("preservedMessages")
        for name in ("uuids", "allUuids"):
            listed = preserved.get(name) if isinstance(preserved, dict) else None
            if isinstance(listed, list) and any(uuid in moved for uuid in listed):
                self.put(node, ("compactMetadata", "preservedMessages", name), [uuid for uuid in listed if uuid not in moved])
        segment = metadata.get("preservedSegment")
        for name in ("headUuid", "tailUuid"):
            uuid = segment.get(name) if isinstance(segment, dict) else None
            if isinstance(uuid, str) and uuid in moved:
                self.put(node, ("compactMetadata", "preservedSegment", name), moved[uuid] or uuid)

    def _message_id(self, node: int) -> str:
        return message_id_of(self.graph.records[node])

    def blocks_before(self, node: int) -> list[Block]:
        """The blocks of a line as it was; none where its content is a string."""
        record = self.graph.records[node]
        content = rebuild(record.content) if isinstance(record, UserRecord | AssistantRecord) else None
        return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []

    def _uuid(self, node: int) -> str:
        record = self.graph.records[node]
        return (record.uuid or "") if isinstance(record, ChainedRecord) else ""


def _tokens(usage: dict[str, Any] | None) -> int:
    counts = [(usage or {}).get(name) for name in ("input_tokens", "output_tokens")]
    return sum(count for count in counts if isinstance(count, int))
