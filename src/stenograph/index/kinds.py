"""What a text in the index is."""

from __future__ import annotations

from enum import IntEnum


class TextKind(IntEnum):
    """The columns of the full-text index, in their order."""

    PROMPT = 0
    ANSWER = 1
    THINKING = 2
    INPUT = 3
    OUTPUT = 4
    TITLE = 5
    NOTE = 6


#: By the names that a user gives.
KINDS_BY_NAME = {
    "prompts": TextKind.PROMPT,
    "answers": TextKind.ANSWER,
    "thinking": TextKind.THINKING,
    "inputs": TextKind.INPUT,
    "outputs": TextKind.OUTPUT,
    "titles": TextKind.TITLE,
    "notes": TextKind.NOTE,
}
