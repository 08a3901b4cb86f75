"""What a reader sees of a session, as values: turns with their parts in order, tools as what they did.

These are what every face renders: the terminal, and JSON as they stand. Texts are whole and as they were said: secrets are masked
by `mask_page`; making them harmless, cutting and folding is for the face to decide.
"""

from __future__ import annotations

from datetime import datetime
from typing import TypeAlias

from msgspec import Struct


class Output(Struct, frozen=True, tag_field="part", tag="output"):
    """What a tool printed."""

    text: str
    is_error: bool = False


class Patch(Struct, frozen=True, tag_field="part", tag="patch"):
    """Lines that begin with a space, `+`, `-` or `@@`."""

    lines: tuple[str, ...]


class Checklist(Struct, frozen=True, tag_field="part", tag="checklist"):
    """Things to do: each with its state (`pending`, `in_progress`, `completed`) and what it is."""

    items: tuple[tuple[str, str], ...]


class Fact(Struct, frozen=True, tag_field="part", tag="fact"):
    """One line that says what came out: `12 files`."""

    text: str


Body: TypeAlias = Output | Patch | Checklist | Fact


class PromptPart(Struct, frozen=True, tag_field="part", tag="prompt"):
    text: str
    images: int = 0
    # It reached the model while it was at work.
    interjected: bool = False


class TextPart(Struct, frozen=True, tag_field="part", tag="text"):
    """What the model said, in Markdown."""

    text: str
    # `error` (what the client said of an API error), `client` (made up by the client); empty for the model's own.
    origin: str = ""


class ThoughtPart(Struct, frozen=True, tag_field="part", tag="thought"):
    text: str


class NotePart(Struct, frozen=True, tag_field="part", tag="note"):
    """Something beside the conversation, in one line; `text` is more of it, folded by default."""

    kind: str
    line: str
    text: str = ""
    # How often it happened in a row.
    times: int = 1
    # Something went wrong, or was held up: never folded.
    urgent: bool = False


class ToolPart(Struct, frozen=True, tag_field="part", tag="tool"):
    id: str
    name: str
    # What it was asked for, in short.
    title: str
    # `ok`, `error`, or `open`: there is no result.
    status: str
    bodies: tuple[Body, ...] = ()
    agent: AgentPart | None = None


class AgentPart(Struct, frozen=True, tag_field="part", tag="agent"):
    """A sub-agent's work."""

    agent_id: str
    agent_type: str
    description: str
    background: bool
    turns: tuple[TurnPage, ...]
    # It is told further up already: a run stands once on a page, so that one that starts itself comes to an end.
    shown_above: bool = False
    # It stands too deep to be shown: how many runs that leaves out, itself and those below it.
    left_out: int = 0


Part: TypeAlias = PromptPart | TextPart | ThoughtPart | NotePart | ToolPart


class TurnPage(Struct, frozen=True):
    number: int
    kind: str
    status: str
    started: datetime | None
    duration_ms: int | None
    models: tuple[str, ...]
    input_tokens: int
    output_tokens: int
    parts: tuple[Part, ...]
    # The model that it went on with, where that is another than before.
    new_model: str = ""


class BranchPage(Struct, frozen=True):
    """Another way that the conversation went."""

    number: int
    # The last turn that it shares with the one shown; 0 for none.
    after: int
    turns: int


class SessionPage(Struct, frozen=True):
    """What stands above the turns."""

    id: str
    path: str
    title: str
    project: str
    release: str
    started: datetime | None
    turns: int
    agents: int
    input_tokens: int
    output_tokens: int
    # The one that is shown, from 1, and how many there are.
    branch: int
    others: tuple[BranchPage, ...]
    # Sessions that this one goes on from.
    continues: tuple[str, ...]
