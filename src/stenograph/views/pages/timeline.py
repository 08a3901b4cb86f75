"""One session as the viewer's timeline: an outline of every turn, and some turns with all that happened in them, ready to draw.

Where `session` has what a reader sees in a terminal, this has what a page can show beside it: the line behind every step, what
each tool was asked and gave back in the form that it has (a listing, a patch, a tree, a picture), and context and cost by call.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, TypeAlias

from stenograph.views.pages.page import Document, Page, TokensPage
from stenograph.views.pages.session import SessionHeading
from stenograph.views.pages.transcript import Checklist, Fact, Patch


class Terminal(Page, frozen=True, tag_field="part", tag="terminal"):
    """What a command printed, with its color codes."""

    text: str
    is_error: bool = False


class FileListing(Page, frozen=True, tag_field="part", tag="listing"):
    """Lines of a file."""

    text: str
    start: int = 1
    """The number of the first line."""


class Names(Page, frozen=True, tag_field="part", tag="names"):
    """Paths that were found."""

    names: tuple[str, ...]


class Matches(Page, frozen=True, tag_field="part", tag="matches"):
    """What a search printed: `path:line:text`, or lines of one file."""

    text: str


class Prose(Page, frozen=True, tag_field="part", tag="prose"):
    """Markdown: a plan, a report, what a web page says."""

    text: str


class Tree(Page, frozen=True, tag_field="part", tag="tree"):
    """JSON that is shown as it is: the input or result of an unknown tool."""

    label: str
    """`input` or `result`."""
    value: Any


class Picture(Page, frozen=True, tag_field="part", tag="picture"):
    """An image of the session."""

    media_type: str
    data: str
    """Base64."""


class Link(Page, frozen=True):
    """A page that a web search found."""

    title: str
    url: str


class Links(Page, frozen=True, tag_field="part", tag="links"):
    """What a web search found."""

    links: tuple[Link, ...]


class Question(Page, frozen=True):
    """A question that the model asked."""

    question: str
    answer: str
    """Empty if it was not answered."""
    options: tuple[str, ...]
    """All that were offered."""


class Questions(Page, frozen=True, tag_field="part", tag="questions"):
    """What the model asked, and the answers."""

    questions: tuple[Question, ...]


StepBody: TypeAlias = (
    Terminal | FileListing | Names | Matches | Prose | Tree | Picture | Links | Questions | Patch | Checklist | Fact
)


class PromptStep(Page, frozen=True, tag_field="step", tag="prompt"):
    """What a person asked."""

    line: int
    """Of the record, in its file; counted from 1."""
    at: datetime | None
    text: str
    pictures: tuple[Picture, ...] = ()
    queued: bool = False
    """It was sent while the model was at work, and reached it in the middle of the turn."""


class TextStep(Page, frozen=True, tag_field="step", tag="text"):
    """What the model said, in Markdown."""

    line: int
    at: datetime | None
    text: str
    origin: str = ""
    """`error` (the client's message about an API error), `client` (written by the client); empty for the model's own."""
    final: bool = False
    """It is the turn's answer: nothing but notes follows."""


class ThoughtStep(Page, frozen=True, tag_field="step", tag="thought"):
    """What the model thought. Releases since 2.1.78 record that it did, without the text."""

    line: int
    at: datetime | None
    text: str


class NoteStep(Page, frozen=True, tag_field="step", tag="note"):
    """Something that happened alongside the conversation, in one line."""

    line: int
    at: datetime | None
    kind: str
    """`interrupt`, `hook`, `retry`, `local-command`, `local-output`, `notification`, `model`, `permission-mode`, …"""
    text: str
    more: str = ""
    """All of it, folded by default."""
    urgent: bool = False
    """Something went wrong, or was held up."""


class CompactionStep(Page, frozen=True, tag_field="step", tag="compaction"):
    """The conversation so far was replaced by a summary."""

    line: int
    at: datetime | None
    trigger: str
    """`manual` or `auto`, as the client wrote it."""
    tokens_before: int | None
    tokens_after: int | None
    summary: str


class ToolStep(Page, frozen=True, tag_field="step", tag="tool"):
    """A tool call, shown by what it did."""

    line: int
    at: datetime | None
    id: str
    name: str
    family: str
    """`read`, `change`, `shell`, `search`, `web`, `todo`, `question`, `plan`, `agent`, `skill` or `other`."""
    title: str
    """What it was asked for, in short."""
    status: str
    """`done`, `failed`, `interrupted`, `running`, or `unanswered`: it has no result."""
    result_line: int | None
    duration_ms: int | None
    path: str = ""
    """The file that it read or changed, as the model named it; empty for none."""
    facts: tuple[str, ...] = ()
    """What came out, each in a few words: `17 lines`, `exit 1`."""
    added: int | None = None
    removed: int | None = None
    bodies: tuple[StepBody, ...] = ()
    spilled: str = ""
    """The name of the file next to the session that has the whole result, if that was too long for its line."""
    agent: AgentSteps | None = None


class AgentSteps(Page, frozen=True):
    """A subagent's work."""

    agent_id: str
    own_file: bool
    """Whether its lines are in a file of its own, not in the session's."""
    agent_type: str
    description: str
    background: bool
    models: tuple[str, ...]
    duration_ms: int | None
    tokens: TokensPage
    usd: float | None
    usd_estimated: bool
    """Part of it is estimated, because old releases did not record all output."""
    turns: tuple[TimelineTurn, ...]
    shown_above: bool = False
    """Already shown further up: a page has each run once."""
    left_out: int = 0
    """For a run that is nested too deeply to be shown: how many runs are left out, itself and those below it."""


Step: TypeAlias = PromptStep | TextStep | ThoughtStep | NoteStep | CompactionStep | ToolStep


class BranchOption(Page, frozen=True):
    """One way to continue where branches part."""

    branch: int
    """Its number, from 1."""
    prompt: str
    """The first prompt after the fork."""
    turns: int
    """How many turns follow on it."""
    shown: bool
    current: bool
    """It is the one that a client resumes."""


class CallFigures(Page, frozen=True):
    """One call of the model: how much it read, and what it cost."""

    turn: int
    line: int
    model: str
    context: int
    """Tokens sent, cached or not: measured."""
    output: int
    usd: float | None
    """By the client's own price list; null if the model is not in it."""
    usd_estimated: bool
    """Part of it is estimated, because old releases did not record all output."""
    parts: tuple[int, ...] = ()
    """What filled the context, in tokens: system and tools, memory files, files read, tool output, conversation, thinking,
    unknown. Empty for sessions so large that it is not worked out."""


class TurnOutline(Page, frozen=True):
    """One turn in short."""

    number: int
    kind: str
    status: str
    started: datetime | None
    prompt: str
    """The beginning of it."""
    tape: str
    """A letter for every step: `p` prompt, `r` read or search, `b` command, `e` change, `g` subagent, `w` web, `x` failed,
    `c` compaction, `i` interrupt, `o` other."""
    usd: float | None
    """With its subagents; null if nothing was priced."""
    usd_estimated: bool
    """Part of it is estimated, because old releases did not record all output."""
    size: int
    """How much there is to draw: a rough number of elements."""
    fork: int = 0
    """How many branches part before it; 0 for none."""
    compacted: tuple[int | None, int | None] | None = None
    """Tokens before and after the last compaction in it."""
    compacted_line: int = 0
    """The line of that compaction in the session's own file; 0 for none."""


class TimelineTurn(Page, frozen=True):
    """One turn with all that happened in it."""

    number: int
    kind: str
    """What opened it: `prompt`, `command`, `bash`, `notification`, …"""
    status: str
    """`running`, `done`, `interrupted` or `failed`."""
    line: int
    started: datetime | None
    duration_ms: int | None
    models: tuple[str, ...]
    tokens: TokensPage
    """Of its own calls; subagents have their own."""
    usd: float | None
    """With its subagents; null if nothing was priced."""
    usd_estimated: bool
    """Part of it is estimated, because old releases did not record all output."""
    steps: tuple[Step, ...]
    first: int = 0
    """The position in the turn of the first step here; more than 0 if only a part of the turn is shown."""
    of: int = 0
    """How many steps it has."""
    options: tuple[BranchOption, ...] = ()
    """If branches part before this turn: all of them, the shown one included."""


class ChunkPage(Page, frozen=True):
    """A part of the timeline that is drawn at once: from a step of one turn to a step of another."""

    turn: int
    step: int
    """The first step, from 0."""
    last_turn: int
    last_step: int
    """Where it ends: the first step that is no longer in it."""
    size: int


class TimelinePage(Document, frozen=True, tag="timeline/1"):
    """A session in the viewer."""

    session: SessionHeading
    status: str
    modified: datetime | None
    """When its file last changed."""
    size: int
    """Of its own file, in bytes."""
    records: int
    """Lines of its own file."""
    usd: float | None
    """Of all branches and subagents; null if nothing was priced."""
    usd_estimated: bool
    """Part of it is estimated, because old releases did not record all output."""
    unpriced: tuple[str, ...]
    """Models without a price."""
    client_usd: float | None
    """The client's own figure, where it wrote one."""
    calls: tuple[CallFigures, ...]
    """Of the branch, in order."""
    outline: tuple[TurnOutline, ...]
    chunks: tuple[ChunkPage, ...]
    turns: tuple[TimelineTurn, ...]
    """Turns in the requested chunks."""
    first_chunk: int = 0
    """The number of the first chunk that is here."""
    strays: tuple[AgentSteps, ...] = ()
    """Subagents that no tool call started; with the last chunk."""
    partial: bool = False
    """Only the turn that was asked for has been read so far: the outline has no prompts, and figures are missing."""
