"""The words in which expectations are written: what a person who watched a recording would say happened.

A script in a prompt says what the model was made to answer; an expectation says the rest: how much of the script was played, what
the tools gave back, how the turn ended, and what went on beside it. Knows nothing of how sessions are read.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Gave:
    """What a tool call gave back."""

    # Words in the result; none where it is all picture, or empty.
    words: str
    is_error: bool = False


def ok(words: str) -> Gave:
    return Gave(words)


def failed(words: str) -> Gave:
    return Gave(words, is_error=True)


@dataclass(frozen=True)
class Agent:
    """A sub-agent that a tool call started; its prompt, and the script in it, are the tool's input."""

    # By the order of the turn's tool calls, from 0.
    by_call: int
    results: tuple[Gave, ...]
    # What tells which tool call started it: `meta`, `result` or `prompt`.
    evidence: str
    background: bool = False
    answer: str = ""


@dataclass(frozen=True)
class Played:
    """One turn."""

    # The prompt as typed, without the script in it.
    words: str
    # What the script's tool calls gave back, in the script's order.
    results: tuple[Gave, ...] = ()
    kind: str = "prompt"
    status: str = "done"
    # How many steps of the script were played; all when not said.
    steps: int | None = None
    # What the model said, one text a call, where that is not what the script says.
    said: tuple[str, ...] | None = None
    # Of the script what is not in the file: a text, or a tool's name and words of its input.
    lost: tuple[str, ...] = ()
    agents: tuple[Agent, ...] = ()
    interjections: tuple[str, ...] = ()
    # Commands and shell input that no model answered, as typed.
    local: tuple[str, ...] = ()
    # What set each compaction off.
    compactions: tuple[str, ...] = ()
    interrupts: int = 0
    retries: int = 0
    hooks: frozenset[str] = frozenset()
    # Answers that the client made up.
    made_up: tuple[str, ...] = ()
    api_errors: int = 0
    # Each call reports three input tokens unless its script says otherwise.
    input_tokens: int = 3


def interrupted(words: str, *results: Gave, steps: int, said: tuple[str, ...] | None = None) -> Played:
    """A turn that a person broke off, and the client said so."""
    return Played(words, results, status="interrupted", steps=steps, said=said, interrupts=1)


def unscripted(
    words: str, said: str = "Nothing left in the script.", kind: str = "prompt", local: tuple[str, ...] = ()
) -> Played:
    """A turn whose prompt has no script: the stand-in for the API has its own words for that."""
    return Played(words, kind=kind, said=(said,), local=local)


def notified(status: str = "done") -> Played:
    """A turn that a background task's notice opened."""
    if status == "done":
        return Played("", kind="notification", said=("Nothing left in the script.",))
    return Played("", kind="notification", said=(), status=status, interrupts=1)


@dataclass(frozen=True)
class Elsewhere:
    """A branch that the conversation left."""

    # How many turns it shares with the current branch; `turns` are those after them.
    shared: int
    turns: tuple[Played, ...]


@dataclass(frozen=True)
class Recorded:
    """One session file."""

    turns: tuple[Played, ...]
    elsewhere: tuple[Elsewhere, ...] = ()
    # Before the first prompt: commands as typed, hooks that ran.
    local_before: tuple[str, ...] = ()
    hooks_before: frozenset[str] = frozenset()
    findings: tuple[str, ...] = ()
