"""The calls of one conversation -> what filled the context of each, measured by how much the prompt grew.

The API counts every prompt as a whole. From one call to the next it grows by the response before and by what was added since:
results, prompts, notes. So the tokens of each addition are known as far as it came alone, and are shared by length where several
came together. What is more than their length can explain is unknown, and is never spread. The first prompt, less what was typed,
is the fixed part: system prompt and tools, and memory files, which only the newest releases record apart. Tools that were
searched for come later: the prompt grows by their descriptions, of which the result has only the names.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct

from stenograph.records import (
    ApiRequestShapeRecord,
    AttachmentRecord,
    DocumentBlock,
    FileAttachment,
    ImageBlock,
    QueuedCommandAttachment,
    Record,
    ToolReferenceBlock,
    UserRecord,
    text_of,
    to_text,
)
from stenograph.turns import ApiCall, CallPart, Compaction, ToolCall, Turn

#: In the order in which they are shown.
PARTS = ("system", "memory", "files", "output", "conversation", "thinking", "unknown")
_READING = frozenset({"Read", "NotebookRead"})
_CHARACTERS_PER_TOKEN = 3.3
_TOKENS_PER_IMAGE = 1_600
# Tokens that a text can have, beside what its length suggests: dense text has two characters to a token.
_DENSEST = 1.7
_SLACK = 40
# Prose of people and of the client is much like the model's own.
_LIKE_ANSWERS = 1.2
_FEW = 10
# Characters that a token of a response has at most, on average.
_LONGEST_TOKEN = 8
# Characters per token are at most so many times as usual.
_THINNEST = 0.4
# Tokens after which what was written says how long tokens are.
_ENOUGH = 100
_LARGEST_FIXED = 100_000
# What a prompt loses leaves it in this order: clients drop old thinking and old results.
_LEAVING = ("thinking", "output", "files", "unknown", "conversation", "memory", "system")


class Resident(Struct):
    """A tool result in the context, as long as it stays."""

    tool: ToolCall
    turn: int
    tokens: int
    #: Later calls that carried it.
    calls: int = 0
    #: Tokens that came with it and that its length does not explain.
    unknown: int = 0


class Note(Struct, frozen=True):
    """Something that the client itself put into the conversation, where a release records it."""

    node: int
    part: str
    characters: int
    images: int = 0


class FixedShape(Struct, frozen=True):
    """Characters of what every request carries, and of what the client adds, where a release records it."""

    system: int = 0
    #: By tool name.
    tools: dict[str, int] = {}
    #: In the order of the file.
    notes: tuple[Note, ...] = ()

    @property
    def total(self) -> int:
        """Of what every request carries."""
        return self.system + sum(self.tools.values())

    def between(self, first: int, last: int) -> list[Note]:
        return [note for note in self.notes if first < note.node < last]


#: Parts of what the client adds, by the kind of attachment; others belong to `system`.
_NOTED = {
    "attachment/instructions": "memory",
    "attachment/nested_memory": "memory",
    "attachment/file": "files",
    "attachment/edited_text_file": "files",
    "attachment/directory": "files",
    "attachment/queued_command": "conversation",
}
_STANDING = frozenset({"system", "memory"})


def shape_of(records: Sequence[Record]) -> FixedShape:
    """By the first request that is recorded with its shape, and by the notes that are recorded as they were sent."""
    shape = next((each.shape for each in records if isinstance(each, ApiRequestShapeRecord) and each.shape), None)
    given = shape if isinstance(shape, dict) else {}
    tools = given.get("tools")
    sizes = {
        str(tool.get("name")): len(to_text(tool)) for tool in (tools if isinstance(tools, list) else ()) if isinstance(tool, dict)
    }
    notes = [
        Note(node, _NOTED.get(record.kind, "system"), sum(map(_rendered, record.rendered or ())), _noted_images(record))
        for node, record in enumerate(records)
        if isinstance(record, AttachmentRecord) and (record.rendered or _noted_images(record))
    ]
    return FixedShape(len(to_text(given["system"])) if given.get("system") else 0, sizes, tuple(notes))


def _noted_images(record: AttachmentRecord) -> int:
    """Files that were mentioned and are sent as an image, and images of a queued prompt."""
    noted = record.attachment
    if isinstance(noted, FileAttachment):
        return isinstance(noted.content, dict) and noted.content.get("type") == "image"
    blocks = noted.prompt if isinstance(noted, QueuedCommandAttachment) else None
    blocks = blocks if isinstance(blocks, list) else []
    return sum(isinstance(block, dict) and block.get("type") == "image" for block in blocks)


def standing_notes(records: Sequence[Record]) -> frozenset[str]:
    """What the client says of itself and the project, as it was sent: where that leaves a conversation, it is said again."""
    notes = [each for each in records if isinstance(each, AttachmentRecord) and _NOTED.get(each.kind, "system") in _STANDING]
    return frozenset(text for each in notes for part in each.rendered or () for text in _texts(part))


def _rendered(part: object) -> int:
    return sum(map(len, _texts(part)))


def _texts(part: object) -> list[str]:
    content = part.get("content") if isinstance(part, dict) else part
    if isinstance(content, str):
        return [content]
    texts = [block.get("text") for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    return [text for text in texts if isinstance(text, str)]


class CallContext(Struct):
    """One call and what its prompt was made of, in tokens; the parts add up to the prompt."""

    turn: Turn
    call: ApiCall
    prompt: int
    parts: dict[str, int]
    #: The call before in the same context; None for the first and after a compaction.
    before: ApiCall | None


def context_of(
    turns: Sequence[Turn],
    compactions: Sequence[Compaction] = (),
    shape: FixedShape | None = None,
    residents: list[Resident] | None = None,
) -> Iterator[CallContext]:
    """The calls of one chain of turns. `compactions` are those of its files; `residents` gets the results that it carried."""
    nodes = [each.node for each in compactions]
    reading = _Reading(shape, residents if residents is not None else [])
    if not all(_is_counted(call) for turn in turns for call in turn.calls if _has_prompt(call)):
        # Nothing counts what the model wrote: how long its tokens are is learned first, from all of the conversation.
        learning = _Reading(shape, [])
        for _ in _contexts(learning, turns, nodes):
            pass
        reading.written, reading.counted = learning.written, learning.counted
    yield from _contexts(reading, turns, nodes)


def _contexts(reading: _Reading, turns: Sequence[Turn], compactions: Sequence[int]) -> Iterator[CallContext]:
    if turns:
        reading.hear(turns[0], _before(turns[0]))
    for turn in turns:
        heard = 0
        for number, call in enumerate(turn.calls):
            if not _has_prompt(call):
                continue
            before = bisect.bisect_left(turn.nodes, call.nodes[0])
            reading.hear(turn, turn.nodes[heard:before])
            heard = before
            yield reading.read(turn, call, is_first=not number, compactions=compactions)
        reading.hear(turn, turn.nodes[heard:])


def _has_prompt(call: ApiCall) -> bool:
    return not call.is_synthetic and call.part is CallPart.WHOLE and bool(call.tokens.prompt)


def _before(turn: Turn) -> list[int]:
    """What comes before a first turn on its chain, such as a command that only the client answered."""
    parents, nodes = turn.context.graph.parents, list[int]()
    node = parents[turn.node] if turn.previous < 0 else -1
    while node >= 0:
        nodes.append(node)
        node = parents[node]
    return nodes


class _Reading:
    def __init__(self, shape: FixedShape | None, residents: list[Resident]) -> None:
        self._shape = shape or FixedShape()
        self._residents = residents
        self._living: list[Resident] = []
        # The part and the tokens of each image that was not a result.
        self._pictures: list[tuple[str, int]] = []
        self._parts = dict.fromkeys(PARTS, 0)
        self._before: ApiCall | None = None
        self._fixed = self._memory = 0
        # What was said to the model since the last call: characters of each text, and images.
        self._heard: list[int] = []
        self._images = 0
        #: Characters of prose, most of it the model's, and their tokens, as the API counted them.
        self.written = self.counted = 0

    def hear(self, turn: Turn, nodes: Sequence[int]) -> None:
        """Prompts, commands with what they printed, and texts that the client put in as if the user had said them."""
        for node in nodes:
            record = turn.context.graph.records[node]
            if isinstance(record, UserRecord) and not record.isVisibleInTranscriptOnly:
                if words := text_of(record.content):
                    self._heard.append(len(words))
                self._images += _images(record.content)

    def read(self, turn: Turn, call: ApiCall, *, is_first: bool, compactions: Sequence[int]) -> CallContext:
        prompt = call.tokens.prompt
        before = self._before
        last = before.nodes[-1] if before else -1
        if before is None:
            self._begin(call, prompt)
        elif any(last < node < call.nodes[0] for node in compactions):
            self._begin_again(prompt, self._shape.between(last, call.nodes[0]))
            before = None
        else:
            self._grow(turn, before, call, prompt, is_first=is_first)
        for resident in self._living:
            resident.calls += 1
        self._before = call
        self._heard.clear()
        self._images = 0
        return CallContext(turn, call, prompt, dict(self._parts), before)

    def _begin(self, call: ApiCall, prompt: int) -> None:
        said = min(prompt, round(sum(self._heard) / self._density) + self._images * _TOKENS_PER_IMAGE)
        self._parts["conversation"] = said
        self._pictures += [("conversation", _TOKENS_PER_IMAGE)] * self._images
        if prompt - said > _LARGEST_FIXED:  # the file begins in the middle of a conversation
            self._parts["unknown"] = prompt - said
            return
        self._fixed = prompt - said
        notes = self._shape.between(-1, call.nodes[0])
        known = self._shape.total + sum(note.characters for note in notes)
        memory = sum(note.characters for note in notes if note.part == "memory")
        if self._shape.total:  # all that there is
            self._memory = self._fixed * memory // known
        else:
            self._memory = min(self._fixed, round(memory / _CHARACTERS_PER_TOKEN))
        self._put_fixed()

    def _begin_again(self, prompt: int, notes: Sequence[Note]) -> None:
        """After a compaction: the fixed part, a summary, and files that the client attaches again."""
        self._living.clear()
        self._pictures.clear()
        self._parts = dict.fromkeys(PARTS, 0)
        self._fixed = min(self._fixed, prompt)
        self._put_fixed()
        files = sum(round(note.characters / self._density) for note in notes if note.part == "files")
        self._parts["files"] = min(files, prompt - self._fixed)
        self._parts["conversation"] = prompt - self._fixed - self._parts["files"]

    def _put_fixed(self) -> None:
        self._parts["memory"] = min(self._memory, self._fixed)
        self._parts["system"] = self._fixed - self._parts["memory"]

    def _grow(self, turn: Turn, before: ApiCall, call: ApiCall, prompt: int, *, is_first: bool) -> None:
        added = self._added(before, call)
        if _is_counted(before):
            output, thought = self._said(before)
            self._parts["thinking"] += thought
            self._parts["conversation"] += output - thought
        else:
            said = {"thinking": len(before.thinking), "conversation": len(before.text)}
            added += [_prose(part, round(characters / self._density)) for part, characters in said.items()]
            asked = _tokens(sum(map(_input_length, before.tool_calls)))
            added.append(_Addition("conversation", asked, round(asked * _DENSEST) + _SLACK, None))
        grown = prompt - sum(self._parts.values())
        expected = sum(each.tokens for each in added)
        # Prose is as long as it looks; code, numbers and JSON need not be.
        prose = sum(each.tokens for each in added if each.is_prose)
        takes_rest = prose < expected and grown - prose > (expected - prose) * _THINNEST
        if not _is_counted(before) and prose > 0.9 * expected and expected * _THINNEST < grown < expected * _LIKE_ANSWERS:
            self.written += round(prose * self._density)
            self.counted += grown - (expected - prose)
        # Much less than was added: something has left the prompt as well.
        has_lost = grown < expected * _THINNEST - _SLACK
        found = sum(each.names for each in added)
        came: list[Resident] = []
        for each in added:
            if has_lost:
                share = each.tokens
            elif found:  # what the others do not explain is the tools that were found
                rest = max(0, grown - sum(other.tokens for other in added if not other.names))
                share = rest * each.names // found if each.names else min(each.tokens, grown)
            elif takes_rest:
                rest = (grown - prose) * each.tokens // (expected - prose)
                share = each.tokens if each.is_prose else min(rest, each.most)
            else:
                share = min(grown * each.tokens // expected if expected else 0, each.most)
            self._parts[each.part] += share
            if each.is_image:
                self._pictures.append((each.part, share))
            if each.tool is not None:
                resident = Resident(each.tool, turn.number, share)
                self._living.append(resident)
                self._residents.append(resident)
                came.append(resident)
        if has_lost:
            self._shrink(sum(self._parts.values()) - prompt, is_first=is_first)
        unknown = prompt - sum(self._parts.values())
        self._parts["unknown"] += unknown
        results = sum(each.tokens for each in came)
        for resident in came if unknown > 0 and results else ():
            resident.unknown = unknown * resident.tokens // results

    def _said(self, before: ApiCall) -> tuple[int, int]:
        """Tokens of a response, and of its thinking."""
        output, thought = _output(before)
        if not before.thinking:
            self.written += _characters(before)
            self.counted += output
        return output, thought

    def _added(self, before: ApiCall, call: ApiCall) -> list[_Addition]:
        added = []
        for tool in before.tool_calls:
            if tool.answered:
                tokens = _result(tool)
                added.append(_Addition(_part_of(tool), tokens, round(tokens * _DENSEST) + _SLACK, tool, tools_found(tool)))
        notes = self._shape.between(before.nodes[-1], call.nodes[0])
        texts = [(note.part, note.characters) for note in notes if note.characters]
        texts += [("conversation", characters) for characters in self._heard]
        added += [_prose(part, round(characters / self._density)) for part, characters in texts]
        images = [note.part for note in notes for _ in range(note.images)] + ["conversation"] * self._images
        added += [_Addition(part, _TOKENS_PER_IMAGE, round(_TOKENS_PER_IMAGE * _DENSEST), None, is_image=True) for part in images]
        return added

    @property
    def _density(self) -> float:
        """Characters of prose to a token, by what the model itself has written so far."""
        if self.counted < _ENOUGH:
            return _CHARACTERS_PER_TOKEN
        return min(max(self.written / self.counted, 2.0), 6.0)

    def _shrink(self, tokens: int, *, is_first: bool) -> None:
        """What a prompt lost: the thinking of the turn before, one result, an image that was pasted, or the oldest results."""
        if is_first and _is_about(self._parts["thinking"], tokens):
            self._parts["thinking"] = 0
            return
        alike = [each for each in self._living if _is_about(each.tokens, tokens)]
        picture = next((each for each in self._pictures if _is_about(each[1], tokens)), None)
        oldest = alike[-1:] or [each for each in self._living if each.tokens > _FEW]
        if not alike and picture is not None:
            oldest = []
            self._pictures.remove(picture)
            part, taken = picture[0], min(picture[1], self._parts[picture[0]])
            self._parts[part] -= taken
            tokens -= min(taken, tokens)
        for each in oldest:
            if each.tokens > tokens + tokens // 10 + _SLACK:
                continue
            self._living.remove(each)
            part = _part_of(each.tool)
            # One that is about as long as what was lost is all of it: its share was not exact.
            taken = min(tokens if alike else each.tokens, self._parts[part], tokens)
            self._parts[part] -= taken
            tokens -= taken
        for part in _LEAVING:
            taken = min(tokens, self._parts[part])
            self._parts[part] -= taken
            tokens -= taken


class _Addition(NamedTuple):
    part: str
    #: By its length.
    tokens: int
    #: More than this is something else.
    most: int
    tool: ToolCall | None
    #: Tools that it found, whose descriptions every later request carries.
    names: int = 0
    is_image: bool = False
    is_prose: bool = False


def _prose(part: str, tokens: int) -> _Addition:
    return _Addition(part, tokens, round(tokens * _LIKE_ANSWERS) + _FEW, None, is_prose=True)


def _part_of(tool: ToolCall) -> str:
    if tools_found(tool):
        return "system"
    return "files" if tool.name in _READING else "output"


def _is_about(one: int, other: int) -> bool:
    return abs(one - other) <= other // 10 + _SLACK and one > _FEW


def _characters(call: ApiCall) -> int:
    return len(call.text) + sum(map(_input_length, call.tool_calls))


def _input_length(tool: ToolCall) -> int:
    return len(tool.name) + len(to_text(tool.input))


def _is_counted(call: ApiCall) -> bool:
    """Whether the output tokens of a response are those of its end: some releases recorded its beginning."""
    return call.stop_reason is not None or call.tokens.output * _LONGEST_TOKEN > _characters(call) + len(call.thinking)


def _output(call: ApiCall) -> tuple[int, int]:
    """Tokens that a response adds to the next prompt, and how many of them are thinking, by length where no line says."""
    recorded, thinking = call.tokens.output, len(call.thinking)
    usages = [record.message.usage for record in call.records if record.message and record.message.usage]
    details = [usage.output_tokens_details for usage in usages if usage.output_tokens_details]
    thought = max((value for detail in details if isinstance(value := detail.get("thinking_tokens"), int)), default=0)
    if not thought and thinking:
        thought = recorded * thinking // (thinking + _characters(call))
    return recorded, min(thought, recorded)


def _result(tool: ToolCall) -> int:
    return _length(tool.result) + (_images(tool.result_block.content) * _TOKENS_PER_IMAGE if tool.result_block else 0)


def tools_found(tool: ToolCall) -> int:
    """How many tools a call has found, each of which its result only names."""
    content = tool.result_block.content if tool.result_block else ()
    return sum(isinstance(block, ToolReferenceBlock) for block in content) if isinstance(content, tuple) else 0


def prompt_images(turn: Turn) -> int:
    """Images and documents that came with what was typed."""
    record = turn.context.graph.records[turn.node]
    return _images(record.content) if isinstance(record, UserRecord) else 0


def _images(content: object) -> int:
    blocks = content if isinstance(content, tuple) else ()
    return sum(isinstance(block, ImageBlock | DocumentBlock) for block in blocks)


def _length(text: str) -> int:
    return _tokens(len(text))


def _tokens(characters: int) -> int:
    """Tokens that a text may have."""
    return -(-characters * 10 // round(_CHARACTERS_PER_TOKEN * 10))
