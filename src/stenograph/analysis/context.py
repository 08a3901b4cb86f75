"""The calls of one conversation -> what filled the context of each, measured by how much the prompt grew.

The API counts every prompt as a whole. From one call to the next it grows by the response before and by what was added since:
results, prompts, notes. So the tokens of each addition are known as far as it came alone, and are shared by length where several
came together. What is more than their length can explain is unknown, and is never spread. The first prompt, less what was typed,
is the fixed part: system prompt and tools, and memory files, which only the newest releases record apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from stenograph.records import IMAGES
from stenograph.turns import ApiCall, CallPart, Compaction, ToolCall, Turn

#: In the order in which they are shown.
PARTS = ("system", "memory", "files", "output", "conversation", "thinking", "unknown")
_READING = frozenset({"Read", "NotebookRead"})
_CHARACTERS_PER_TOKEN = 3.3
_TOKENS_PER_IMAGE = 1_600
# Tokens that a text can have, beside what its length suggests: dense text has two characters to a token.
_DENSEST = 1.7
_SLACK = 40
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


class FixedShape(Struct, frozen=True):
    """Characters of what every request carries, where a release records it."""

    system: int
    #: By tool name.
    tools: dict[str, int]
    memory: int

    @property
    def total(self) -> int:
        return self.system + sum(self.tools.values()) + self.memory


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
    for turn in turns:
        for number, call in enumerate(turn.calls):
            if call.is_synthetic or call.part is not CallPart.WHOLE or not prompt_of(call):
                continue
            yield reading.read(turn, call, is_first=not number, compactions=nodes)


def prompt_of(call: ApiCall) -> int:
    return call.tokens.input + call.tokens.cache_read + call.tokens.cache_write


class _Reading:
    def __init__(self, shape: FixedShape | None, residents: list[Resident]) -> None:
        self._shape = shape
        self._residents = residents
        self._living: list[Resident] = []
        self._parts = dict.fromkeys(PARTS, 0)
        self._before: ApiCall | None = None
        self._fixed = 0

    def read(self, turn: Turn, call: ApiCall, *, is_first: bool, compactions: Sequence[int]) -> CallContext:
        prompt = prompt_of(call)
        before = self._before
        last = before.nodes[-1] if before else -1
        if before is None:
            self._begin(turn, prompt)
        elif any(last < node < call.nodes[0] for node in compactions):
            self._begin_again(prompt)
            before = None
        else:
            self._grow(turn, before, prompt, is_first=is_first)
        for resident in self._living:
            resident.calls += 1
        self._before = call
        return CallContext(turn, call, prompt, dict(self._parts), before)

    def _begin(self, turn: Turn, prompt: int) -> None:
        said = min(prompt, _length(turn.prompt))
        self._parts["conversation"] = said
        if prompt - said > _LARGEST_FIXED:  # the file begins in the middle of a conversation
            self._parts["unknown"] = prompt - said
            return
        self._fixed = prompt - said
        self._put_fixed()

    def _begin_again(self, prompt: int) -> None:
        """After a compaction: the fixed part, and a summary."""
        self._living.clear()
        self._parts = dict.fromkeys(PARTS, 0)
        self._fixed = min(self._fixed, prompt)
        self._put_fixed()
        self._parts["conversation"] = prompt - self._fixed

    def _put_fixed(self) -> None:
        memory = self._fixed * self._shape.memory // self._shape.total if self._shape and self._shape.total else 0
        self._parts["memory"] = memory
        self._parts["system"] = self._fixed - memory

    def _grow(self, turn: Turn, before: ApiCall, prompt: int, *, is_first: bool) -> None:
        grown = prompt - sum(self._parts.values())
        output, thinking = _output(before)
        said = min(max(0, grown), output)
        thought = said * thinking // output if output else 0
        self._parts["thinking"] += thought
        self._parts["conversation"] += said - thought
        grown -= said
        if grown < 0:
            self._shrink(-grown)
            return
        added: list[tuple[str, int, ToolCall | None]] = [
            ("files" if tool.name in _READING else "output", _result(tool), tool) for tool in before.tool_calls if tool.answered
        ]
        if is_first:
            added.append(("conversation", _length(turn.prompt), None))
        expected = sum(length for _, length, _ in added)
        for part, length, tool in added:
            tokens = min(grown * length // expected if expected else 0, round(length * _DENSEST) + _SLACK)
            self._parts[part] += tokens
            if tool is not None:
                resident = Resident(tool, turn.number, tokens)
                self._living.append(resident)
                self._residents.append(resident)
        self._parts["unknown"] += prompt - sum(self._parts.values())

    def _shrink(self, tokens: int) -> None:
        for part in _LEAVING:
            taken = min(tokens, self._parts[part])
            self._parts[part] -= taken
            tokens -= taken


def _output(call: ApiCall) -> tuple[int, int]:
    """Tokens that a response adds to the next prompt, and how many of them are thinking, by length where no line says."""
    thinking, text = _length(call.thinking), _length(call.text) + sum(_length(str(tool.input)) for tool in call.tool_calls)
    recorded = call.tokens.output
    usages = [record.message.usage for record in call.records if record.message and record.message.usage]
    details = [usage.output_tokens_details for usage in usages if usage.output_tokens_details]
    thought = max((value for detail in details if isinstance(value := detail.get("thinking_tokens"), int)), default=0)
    if call.stop_reason is None:  # what was recorded may be the beginning only
        recorded = max(recorded, thinking + text)
    if not thought and thinking:
        thought = recorded * thinking // (thinking + text)
    return recorded, min(thought, recorded)


def _result(tool: ToolCall) -> int:
    content = tool.result_block.content if tool.result_block else None
    images = sum(getattr(block, "type", None) in IMAGES for block in content) if isinstance(content, tuple) else 0
    return _length(tool.result) + images * _TOKENS_PER_IMAGE


def _length(text: str) -> int:
    """Tokens that a text may have."""
    return -(-len(text) * 10 // round(_CHARACTERS_PER_TOKEN * 10)) if text else 0
