"""What a user record is: typed by a person, or added by the client. Nothing else looks at the client's tags and markers.

String or array content decides nothing: strings are also commands, notifications and summaries, arrays are also prompts
(docs/seeds.md). The first prompt, by which pickers name a session, follows the public SDK instead (claude-agent-sdk 0.2.182),
block by block.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from functools import cache
from typing import Any, TypeAlias

from msgspec import Struct

from stenograph.disk import redacted_repr
from stenograph.records import (
    CAVEATS,
    INTERRUPTED,
    WARM_UP,
    AssistantRecord,
    Block,
    ChainedRecord,
    Content,
    ImageBlock,
    LocalCommandRecord,
    Record,
    TextBlock,
    ToolResultBlock,
    UserRecord,
)


class Status(StrEnum):
    """The status of a turn, and of a session by its last turn."""

    # The model owes an answer, and the file is being written to.
    RUNNING = "running"
    # The model had the last word, or nothing was asked.
    DONE = "done"
    # By the person; or the answer never came: the client was stopped, or the conversation went on elsewhere.
    INTERRUPTED = "interrupted"
    # An error of the API came last.
    FAILED = "failed"


class InputKind(StrEnum):
    PROMPT = "prompt"
    # With what was selected or open in the editor.
    IDE_SELECTION = "ide_selection"
    IDE_OPENED_FILE = "ide_opened_file"
    IMAGE = "image"
    COMMAND = "command"
    BASH = "bash"
    NOTIFICATION = "notification"
    TOOL_RESULT = "tool_result"
    LOCAL_OUTPUT = "local_output"
    # A skill's or command's expanded text, a caveat, a hook's feedback: marked as the client's.
    META = "meta"
    COMPACTION_SUMMARY = "compaction_summary"
    INTERRUPT = "interrupt"
    # Made up by the client, and not marked as such.
    SYNTHETIC = "synthetic"
    # No content, or an empty one. Kept: without it the chain breaks.
    EMPTY = "empty"


HUMAN = frozenset({InputKind.PROMPT, InputKind.IDE_SELECTION, InputKind.IDE_OPENED_FILE, InputKind.IMAGE})
# Commands and shell input open a turn only when the model answers (see assemble).
OPENERS = HUMAN | {InputKind.COMMAND, InputKind.BASH, InputKind.NOTIFICATION}

# What leaves open whether the model owes an answer, unless it opens a turn.
_ASIDE = frozenset(
    {
        InputKind.COMMAND,
        InputKind.BASH,
        InputKind.LOCAL_OUTPUT,
        InputKind.META,
        InputKind.COMPACTION_SUMMARY,
        InputKind.SYNTHETIC,
        InputKind.EMPTY,
    }
)

# What 2.1.45 to 2.1.200 send before "No response requested." when a session ended in a tool result (rule 41).
_CONTINUE = "Continue from where you left off."
_BY_TAG = {
    "command-name": InputKind.COMMAND,
    "command-message": InputKind.COMMAND,
    "local-command-caveat": InputKind.META,
    "local-command-stdout": InputKind.LOCAL_OUTPUT,
    "local-command-stderr": InputKind.LOCAL_OUTPUT,
    "bash-input": InputKind.BASH,
    "bash-stdout": InputKind.LOCAL_OUTPUT,
    "bash-stderr": InputKind.LOCAL_OUTPUT,
    "task-notification": InputKind.NOTIFICATION,
    "bash-notification": InputKind.NOTIFICATION,
    "agent-notification": InputKind.NOTIFICATION,
    "teammate-message": InputKind.NOTIFICATION,
    "system-reminder": InputKind.META,
}
_TAG = re.compile(r"\s*<([a-z-]+)[\s>]")
_IDE_TAGS = {"ide_selection": InputKind.IDE_SELECTION, "ide_opened_file": InputKind.IDE_OPENED_FILE}


@redacted_repr
class Input(Struct, frozen=True):
    """A user record, understood."""

    kind: InputKind
    # A person's own words: without editor tags; a command as it was typed; shell input as `!…`.
    text: str
    images: int = 0
    # Text beside them is a person's words in mid-turn (2.1.19 to 2.1.37).
    results: tuple[ToolResultBlock, ...] = ()

    @property
    def is_human(self) -> bool:
        return self.kind in HUMAN

    @property
    def is_aside(self) -> bool:
        """Whether it leaves open, unless it opens a turn, if the model owes an answer."""
        return self.kind in _ASIDE

    @property
    def is_expansion(self) -> bool:
        """Whether it may be the text of the command before it. A caveat is about the next command."""
        return self.kind is InputKind.META and not _is_caveat(self)

    def without_words(self) -> Input:
        """Its kind, without what it says."""
        return _wordless(self.kind, _is_caveat(self))


@cache
def _wordless(kind: InputKind, caveat: bool) -> Input:
    return Input(kind, CAVEATS[0] if caveat else "")


_Seen: TypeAlias = tuple[ChainedRecord | None, Input | None]
_NOTHING: _Seen = (None, None)


def classify(record: UserRecord) -> Input:
    """The kind of a user record and what a person said in it."""
    content = record.content
    if isinstance(content, str):
        return _classify_text(record, content, 0)
    if not isinstance(content, tuple):
        return Input(InputKind.EMPTY, "")
    if len(content) == 1 and isinstance(content[0], ToolResultBlock):
        return Input(InputKind.TOOL_RESULT, "", 0, content)
    return _classify_blocks(record, content)


def classify_local(record: LocalCommandRecord) -> Input:
    """A command that the client runs itself, or its output, in releases that write neither as the user's words."""
    text = record.content or ""
    if _kind_by_tag(text) is InputKind.COMMAND:
        return Input(InputKind.COMMAND, _command_as_typed(text))
    return Input(InputKind.LOCAL_OUTPUT, text)


def as_typed(text: str) -> str:
    """A prompt as it was typed: clients record a command in tags."""
    kind = _kind_by_tag(text)
    if kind is InputKind.BASH:
        return "!" + _inside(text, "bash-input")
    return _command_as_typed(text) if kind is InputKind.COMMAND else text


def input_at(records: Sequence[Record], place: int) -> Input | None:
    """What the user record at a place is, given the lines before it; None for any other record.

    To read all records use an `InputReader`.
    """
    reader = InputReader()
    understood = reader.read(records[place])
    if understood is None or understood.kind is not InputKind.PROMPT:
        return understood
    for record in records[max(0, place - 2) : place]:
        reader.read(record)
    return reader.read(records[place])


class InputReader:
    """Classifies the user records of a file in order: for some only the line before decides."""

    def __init__(self) -> None:
        # By sidechain: a caveat, or a command behind one, if it is the conversation's last line, and the line before it. Nearly
        # always empty: every line comes by here.
        self._before: dict[bool, tuple[_Seen, _Seen]] = {}

    def read(self, record: Record) -> Input | None:
        """None for anything but a user record."""
        if not isinstance(record, UserRecord):
            if self._before and isinstance(record, ChainedRecord):
                self._before.pop(bool(record.isSidechain), None)
            return None
        understood = classify(record)
        earlier, last = _NOTHING, _NOTHING
        if self._before:
            earlier, last = self._before.pop(bool(record.isSidechain), (_NOTHING, _NOTHING))
            if understood.kind is InputKind.PROMPT:
                understood = _refused_command(understood, record, earlier, last)
        if understood.kind is InputKind.META and _is_caveat(understood):
            self._before[bool(record.isSidechain)] = (_NOTHING, (record, understood))
        elif understood.kind is InputKind.COMMAND and last is not _NOTHING:
            self._before[bool(record.isSidechain)] = (last, (record, understood))
        return understood


def _refused_command(understood: Input, record: ChainedRecord, earlier: _Seen, last: _Seen) -> Input:
    """2.0.x writes a command that it refuses, and its refusal, as plain strings behind a caveat."""
    before, previous = last
    if before is None or record.parentUuid != before.uuid:
        return understood
    if understood.text.startswith("/") and _is_caveat(previous):
        return Input(InputKind.COMMAND, understood.text)
    is_command = previous is not None and previous.kind is InputKind.COMMAND
    if is_command and _is_caveat(earlier[1]) and before.timestamp == record.timestamp:
        return Input(InputKind.LOCAL_OUTPUT, understood.text)
    return understood


def _is_caveat(understood: Input | None) -> bool:
    """The client's note before a local command: with a tag, or without one up to 2.0.x."""
    return understood is not None and understood.kind is InputKind.META and understood.text.lstrip().startswith(CAVEATS)


def _classify_blocks(record: UserRecord, blocks: tuple[Block | Any, ...]) -> Input:
    results = tuple(block for block in blocks if isinstance(block, ToolResultBlock))
    texts = [block.text for block in blocks if isinstance(block, TextBlock) and isinstance(block.text, str)]
    images = sum(isinstance(block, ImageBlock) for block in blocks)
    if results:
        spoken = "\n\n".join(text for text in texts if not _is_client_text(text))
        return Input(InputKind.TOOL_RESULT, spoken, images, results)
    return _classify_text(record, "\n\n".join(texts), images)


def _classify_text(record: UserRecord, text: str, images: int) -> Input:
    if record.isCompactSummary:
        return Input(InputKind.COMPACTION_SUMMARY, text, images)
    if text.startswith(INTERRUPTED):
        return Input(InputKind.INTERRUPT, text)
    kind = _kind_by_tag(text)
    if kind is InputKind.NOTIFICATION or _comes_from_a_task(record):
        return Input(InputKind.NOTIFICATION, text, images)
    if record.isMeta:
        return Input(InputKind.META, text, images)
    if kind is InputKind.COMMAND:
        return Input(kind, _command_as_typed(text), images)
    if kind is InputKind.BASH:
        return Input(kind, as_typed(text), images)
    if kind is not None:
        return Input(kind, text, images)
    if text == _CONTINUE:
        return Input(InputKind.SYNTHETIC, text, images)
    return _human_input(text, images)


def _human_input(text: str, images: int) -> Input:
    kind = InputKind.IMAGE if images else InputKind.PROMPT
    if "<ide_" in text:
        for tag, noted in _IDE_TAGS.items():
            without = _without(text, tag)
            if without != text:
                text, kind = without, kind if kind in _IDE_TAGS.values() else noted
    if not text.strip() and not images:  # an editor's note alone is not a prompt
        kind = InputKind.EMPTY
    return Input(kind, text.strip(), images)


def _inside(text: str, tag: str) -> str:
    """The text of the first such tag. Patterns would take quadratic time on tags that never end."""
    start = text.find(f"<{tag}>")
    end = text.find(f"</{tag}>", start)
    return text[start + len(tag) + 2 : end].strip() if 0 <= start < end else ""


def _without(text: str, tag: str) -> str:
    kept = []
    at = 0
    while (start := text.find(f"<{tag}>", at)) >= 0 and (end := text.find(f"</{tag}>", start)) >= 0:
        kept.append(text[at:start])
        at = end + len(tag) + 3
    kept.append(text[at:].lstrip() if kept else text)
    return "".join(kept)


def _kind_by_tag(text: str) -> InputKind | None:
    tag = _TAG.match(text)
    return _BY_TAG.get(tag.group(1)) if tag else None


def _is_client_text(text: str) -> bool:
    return text.startswith(INTERRUPTED) or _kind_by_tag(text) is not None


def _comes_from_a_task(record: UserRecord) -> bool:
    origin = record.origin
    return isinstance(origin, dict) and origin.get("kind") == "task-notification"


def _command_as_typed(text: str) -> str:
    typed = _inside(text, "command-name")
    if typed and not typed.startswith("/"):
        typed = "/" + typed
    return f"{typed} {_inside(text, 'command-args')}".strip()


# The first prompt, as pickers show it

#: The SDK cuts here and adds an ellipsis.
_FIRST_PROMPT_LENGTH = 200
_NOT_TYPED = re.compile(
    r"<local-command-stdout>|<session-start-hook>|<tick>|<goal>|\[Request interrupted by user[^\]]*\]"
    r"|\s*<ide_opened_file>[\s\S]*</ide_opened_file>\s*$|\s*<ide_selection>[\s\S]*</ide_selection>\s*$"
)
_COMMAND, _COMMAND_END = "<command-name>", "</command-name>"


class FirstPrompt:
    """Collects the first prompt, record by record; a slash command if nothing else was typed."""

    __slots__ = ("_command", "found")

    def __init__(self) -> None:
        self.found: str | None = None
        self._command: str | None = None

    @property
    def text(self) -> str | None:
        return self.found or self._command

    def see(self, record: UserRecord) -> None:
        """Look at a record, in file order; needless once `found` is set."""
        content = record.content
        if record.isMeta or record.isCompactSummary or not content:
            return
        for text in _texts_without_results(content):
            line = text.replace("\n", " ").strip()
            if not line:
                continue
            if (command := _command_in(line)) is not None:
                self._command = self._command or command
            elif not _NOT_TYPED.match(line):
                self.found = line if len(line) <= _FIRST_PROMPT_LENGTH else line[:_FIRST_PROMPT_LENGTH].rstrip() + "…"
                return


# What clients and people put before what is meant, and what says nothing at all.
_OPENING = re.compile(r"(?:please )?implement (?:the following|this) plan:?\s*|(?:continue|go on|resume)\s*[.!]?$", re.IGNORECASE)
_CONTINUED = "This session is being continued from a previous conversation"
_BARE_COMMAND = re.compile(r"/[\w:-]+")
# First prompts are kept on one line, so that a heading ends where the next begins.
_NEXT_HEADING = re.compile(r"\s#{1,6}\s")


def topic_of(prompt: str) -> str | None:
    """The part of a prompt that says what a session is about; None for a bare command, a caveat or a continuation."""
    if prompt.startswith((_CONTINUED, *CAVEATS)) or _BARE_COMMAND.fullmatch(prompt.strip()):
        return None
    if (opening := _OPENING.match(prompt)) is None:
        return prompt
    rest = prompt[opening.end() :].lstrip("# ")
    return _NEXT_HEADING.split(rest, maxsplit=1)[0].strip() or None


def is_note(record: AssistantRecord) -> bool:
    """Whether the client marks a line of the assistant as its own: no answer, and never sent."""
    return bool(record.isMeta)


def is_warm_up(prompt: object) -> bool:
    """Whether it starts a subagent ahead of need, as 2.0.x does."""
    return prompt == WARM_UP


def _texts_without_results(content: Content) -> list[str]:
    if isinstance(content, str):
        return [content]
    if any(isinstance(block, ToolResultBlock) for block in content):
        return []
    return [block.text for block in content if isinstance(block, TextBlock) and isinstance(block.text, str)]


def _command_in(line: str) -> str | None:
    """The text of the first such tag, even empty; None without one."""
    start = line.find(_COMMAND)
    end = line.find(_COMMAND_END, start) if start >= 0 else -1
    return line[start + len(_COMMAND) : end] if end >= 0 else None
