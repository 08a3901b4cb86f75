"""What a reader sees of a session: turns with their parts in order, tools as what they did.

Texts are whole and as they were said; making them harmless, cutting and folding is left to who renders them.
"""

from __future__ import annotations

from datetime import datetime
from typing import TypeAlias

from stenograph.views.pages.page import Page, TokensPage


class Output(Page, frozen=True, tag_field="part", tag="output"):
    """What a tool printed."""

    text: str
    is_error: bool = False


class Patch(Page, frozen=True, tag_field="part", tag="patch"):
    """Lines that begin with a space, `+`, `-` or `@@`."""

    lines: tuple[str, ...]


class Checklist(Page, frozen=True, tag_field="part", tag="checklist"):
    """Things to do: each with its state (`pending`, `in_progress`, `completed`) and what it is."""

    items: tuple[tuple[str, str], ...]


class Fact(Page, frozen=True, tag_field="part", tag="fact"):
    """One line that says what came out: `12 files`."""

    text: str


Body: TypeAlias = Output | Patch | Checklist | Fact


class PromptPart(Page, frozen=True, tag_field="part", tag="prompt"):
    """What a person asked."""

    text: str
    images: int = 0
    interjected: bool = False
    """It reached the model while it was at work."""


class TextPart(Page, frozen=True, tag_field="part", tag="text"):
    """What the model said, in Markdown."""

    text: str
    origin: str = ""
    """`error` (the client's message about an API error), `client` (written by the client); empty for the model's own."""


class ThoughtPart(Page, frozen=True, tag_field="part", tag="thought"):
    """What the model thought."""

    text: str


class NotePart(Page, frozen=True, tag_field="part", tag="note"):
    """Something that happened alongside the conversation, in one line; `text` is more of it, folded by default."""

    kind: str
    line: str
    text: str = ""
    times: int = 1
    """How often it happened in a row."""
    urgent: bool = False
    """Something went wrong, or was held up: never folded."""


class ToolPart(Page, frozen=True, tag_field="part", tag="tool"):
    """A tool call, shown by what it did."""

    id: str
    name: str
    title: str
    """What it was asked for, in short."""
    status: str
    """`done`, `failed`, `running` or `unanswered` (it has no result); while a session is followed, also `interrupted`."""
    bodies: tuple[Body, ...] = ()
    agent: AgentPart | None = None
    duration_ms: int | None = None
    """From the call to its result, with any wait for permission; null without a result, and while a session is followed."""


class AgentPart(Page, frozen=True, tag_field="part", tag="agent"):
    """A subagent's work."""

    agent_id: str
    agent_type: str
    description: str
    background: bool
    tool_calls: int
    """Of its own turns."""
    duration_ms: int | None
    usd: float | None
    """What it cost, without the subagents below it; null if no call has a price."""
    usd_estimated: bool
    """Part of it is estimated, because old releases did not record all output."""
    turns: tuple[TurnPage, ...]
    shown_above: bool = False
    """Already shown further up. A run appears once per page, so a run that starts itself does not repeat."""
    left_out: int = 0
    """For a run that is nested too deeply to be shown: how many runs are left out, including itself."""


Part: TypeAlias = PromptPart | TextPart | ThoughtPart | NotePart | ToolPart


class TurnPage(Page, frozen=True):
    """One turn in readable form."""

    number: int
    kind: str
    """What opened it: `prompt`, `command`, `bash`, `notification`, …"""
    status: str
    """`running`, `done`, `interrupted` or `failed`."""
    started: datetime | None
    duration_ms: int | None
    models: tuple[str, ...]
    tokens: TokensPage
    """Of its own calls; subagents have their own."""
    usd: float | None
    """What it cost, its subagents included; null if no call has a price."""
    usd_estimated: bool
    """Part of it is estimated, because old releases did not record all output."""
    parts: tuple[Part, ...]
    new_model: str = ""
    """The model that it continued with, if that is not the one before."""
    round: str | None = None
    """`new_session`, `new_round`, `continue` or `resume`, as in `turns`; null for turns of subagents and outside of `show`."""
