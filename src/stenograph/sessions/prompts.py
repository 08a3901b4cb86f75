"""What a user record says to the model, and whether the model owes it an answer.

In: a decoded user record. Out: a `Saying`, and the text by which pickers call a session. Knows nothing of other lines. Pickers
skip what nobody typed; the words they skip are those that the public SDK (claude-agent-sdk 0.2.182) skips.
"""

from __future__ import annotations

import enum
import re

from stenograph.records import CAVEATS, INTERRUPTED, WARM_UP, Content, TextBlock, ToolResultBlock, UserRecord

#: Longer first prompts are cut here by the SDK and end in an ellipsis.
PROMPT_LENGTH = 200

_COMMAND = "<command-name>"
_COMMAND_END = "</command-name>"
_NOT_TYPED = re.compile(
    r"<local-command-stdout>|<session-start-hook>|<tick>|<goal>|\[Request interrupted by user[^\]]*\]"
    r"|\s*<ide_opened_file>[\s\S]*</ide_opened_file>\s*$|\s*<ide_selection>[\s\S]*</ide_selection>\s*$"
)
# What the client answers by itself, in releases that write it as the user's words (2.1.325 writes system/local_command).
_LOCAL = (
    "<local-command-stdout>",
    "<local-command-stderr>",
    "<bash-input>",
    "<bash-stdout>",
    # A slash command alone is the client's affair; where it is the model's, the client puts a text after it.
    _COMMAND,
    "<command-message>",
    *CAVEATS,
)


class Saying(enum.Enum):
    """What a user record is, as far as an open turn goes."""

    PROMPT = "prompt"
    TOOL_RESULT = "tool-result"
    INTERRUPT = "interrupt"
    #: The client's own doing: no answer is owed.
    LOCAL = "local"


class FirstPrompt:
    """Collects the first prompt of a session, record by record; a slash command stands in where nothing else was typed."""

    __slots__ = ("_command", "found")

    def __init__(self) -> None:
        self.found: str | None = None
        self._command: str | None = None

    @property
    def text(self) -> str | None:
        return self.found or self._command

    def see(self, record: UserRecord) -> None:
        """Look at a record, in file order; once `found` is set there is no need to."""
        if record.isMeta or record.isCompactSummary:
            return
        content = record.content
        if not content or holds_tool_result(content):
            return
        for text in _texts(content):
            line = text.replace("\n", " ").strip()
            if not line:
                continue
            if (command := _command_in(line)) is not None:
                self._command = self._command or command
            elif not _NOT_TYPED.match(line):
                self.found = line if len(line) <= PROMPT_LENGTH else line[:PROMPT_LENGTH].rstrip() + "…"
                return


def holds_tool_result(content: Content) -> bool:
    return not isinstance(content, str) and any(isinstance(block, ToolResultBlock) for block in content)


def saying_of(record: UserRecord) -> Saying:
    """What the record asks of the model.

    A compaction's summary and a local command's echo ask nothing; a skill's body, put in by the client, does.
    """
    content = record.content
    if not content:
        return Saying.LOCAL
    if holds_tool_result(content):
        return Saying.TOOL_RESULT
    texts = _texts(content)
    if any(text.startswith(INTERRUPTED) for text in texts):
        return Saying.INTERRUPT
    if record.isCompactSummary:
        return Saying.LOCAL
    if texts and texts[0].lstrip().startswith(_LOCAL):
        return Saying.LOCAL
    return Saying.PROMPT


def is_warm_up(record: UserRecord) -> bool:
    return record.content == WARM_UP


def _command_in(line: str) -> str | None:
    """What stands in the first such tag; None without one. By finding: a pattern takes quadratic time on tags that never end."""
    start = line.find(_COMMAND)
    end = line.find(_COMMAND_END, start) if start >= 0 else -1
    return line[start + len(_COMMAND) : end] if end >= 0 else None


def _texts(content: Content) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [block.text for block in content if isinstance(block, TextBlock) and isinstance(block.text, str)]
