"""All that is known of a session's turns, and the lines of a conversation one by one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import UNSET, UnsetType

from stenograph.records import Record
from stenograph.redact import Mask, as_is
from stenograph.turns import AgentRun, ApiCall, Branch, Compaction, Session, Step, ToolCall, Turn, steps
from stenograph.views.masking import mask_page
from stenograph.views.pages.costs import turn_price
from stenograph.views.pages.page import Document, FindingPage, Page, TokensPage, finding_pages, tokens_page, utc
from stenograph.views.pages.session import BranchPage, branch_pages, stray_agents
from stenograph.views.pages.tapes import turn_letters
from stenograph.views.pages.turn_parts import DEEPEST, leave_out


class InterjectionDetail(Page, frozen=True):
    """A prompt that reached the model in the middle of the turn."""

    text: str
    evidence: str
    """How that is known."""


class CompactionDetail(Page, frozen=True):
    """The conversation so far was replaced by a summary."""

    trigger: str
    """`manual` or `auto`, as the client wrote it."""
    tokens_before: int | None
    tokens_after: int | None
    at: datetime | None
    summary: str


class EventDetail(Page, frozen=True):
    """Something that happened alongside the conversation: a hook, a retry, an interrupt, a local command."""

    kind: str
    what: str
    at: datetime | None


class ToolCallDetail(Page, frozen=True):
    """One use of a tool and its result."""

    id: str
    name: str
    input: dict[str, Any]
    answered: bool
    """There is a result, even if it is an error."""
    is_error: bool
    result: str | UnsetType
    """Its text as the model got it; absent with `--no-results`."""
    spilled: str | None
    """The file with the whole result, if that was too long for the conversation."""
    started: datetime | None
    ended: datetime | None
    agent: AgentDetail | None
    """The subagent that it started."""


class CallDetail(Page, frozen=True):
    """One API response."""

    message_id: str
    request_id: str
    model: str
    text: str
    thinking: str
    stop_reason: str | None
    synthetic: bool
    """Written by the client, not by the model."""
    api_error: bool
    replayed: bool
    """Copied here from another session by a resume or fork."""
    started: datetime | None
    ended: datetime | None
    tokens: TokensPage
    tool_calls: tuple[ToolCallDetail, ...]


class TurnDetail(Page, frozen=True):
    """A prompt and all that answers it."""

    number: int
    """Its place in the conversation, from 1."""
    kind: str
    """What opened it: `prompt`, `command`, `bash`, `notification`, …"""
    status: str
    """`running`, `done`, `interrupted` or `failed`."""
    round: str | None
    """`new_session` (nothing was said before it), `resume` (after a silence), `continue` (it only asks to continue, or a
    background task reports) or `new_round`; null for turns of subagents and in `diff`."""
    uuid: str
    """Of the record that opened it; empty if that has none."""
    prompt: str
    images: int
    answer: str
    """The last text that the model said."""
    started: datetime | None
    ended: datetime | None
    duration_ms: int | None
    """As the client measured it, or else from the first line to the last."""
    tokens: TokensPage
    """Of its own calls; subagents have their own."""
    usd: float | None
    """What it cost, its subagents included; null if no call has a price."""
    usd_estimated: bool
    """Part of it is estimated, because old releases did not record all output."""
    tape: str
    """What happened, a letter each, as in lists of sessions; also `i` interrupted and `c` compaction."""
    calls: tuple[CallDetail, ...]
    interjections: tuple[InterjectionDetail, ...]
    compactions: tuple[CompactionDetail, ...]
    events: tuple[EventDetail, ...]


class AgentDetail(Page, frozen=True):
    """A subagent's run."""

    agent_id: str
    agent_type: str
    description: str
    background: bool
    evidence: str
    """How it is known which tool call started it: `meta`, `result`, `progress`, `prompt`; empty if it is not known."""
    path: str | None
    tokens: TokensPage
    """Of its own calls; the subagents that it started have their own."""
    turns: tuple[TurnDetail, ...]
    """None if it is `shown_above` or `left_out`."""
    shown_above: bool
    """It is shown further up: a document has each run once."""
    left_out: int
    """For a run that is nested too deeply to be shown: how many runs are left out, itself and those below it."""


class TurnsPage(Document, frozen=True, tag="turns/1"):
    """`steno turns`: everything known about a session's turns."""

    id: str
    path: str
    branches: tuple[BranchPage, ...]
    tokens: TokensPage
    """Of all branches and subagents."""
    turns: tuple[TurnDetail, ...]
    agents: tuple[AgentDetail, ...]
    """Subagents that no tool call here started."""
    findings: tuple[FindingPage, ...]


def turns_page(
    session: Session, turns: Sequence[Turn], branch: Branch, rounds: Mapping[int, str], *, results: bool = True
) -> TurnsPage:
    """The page of some turns; `rounds` by the node of each. Branches are compared with `branch`."""
    seen: set[str] = set()
    return TurnsPage(
        id=session.id,
        path=str(session.path or ""),
        branches=branch_pages(session, branch),
        tokens=tokens_page(session.tokens),
        turns=tuple(turn_detail(turn, results=results, seen=seen, round_=rounds[turn.node]) for turn in turns),
        agents=tuple(agent_detail(run, results=results, seen=seen) for run in stray_agents(session)),
        findings=finding_pages(session.findings),
    )


def turn_detail(
    turn: Turn, *, results: bool = True, depth: int = 0, seen: set[str] | None = None, round_: str | None = None
) -> TurnDetail:
    """One turn with its calls, tool calls and agent runs; without `results` tools' outputs are left out.

    Runs whose ids are in `seen` are only named, and those that are told here are added to it.
    """
    seen = set() if seen is None else seen
    price = turn_price(turn)
    return TurnDetail(
        number=turn.number,
        kind=turn.kind.value,
        status=turn.status.value,
        round=round_,
        uuid=turn.uuid,
        prompt=turn.prompt,
        images=turn.opening.images,
        answer=turn.answer,
        started=utc(turn.started),
        ended=utc(turn.ended),
        duration_ms=turn.duration_ms,
        tokens=tokens_page(turn.tokens),
        usd=price.usd,
        usd_estimated=price.is_estimated,
        tape=turn_letters(turn),
        calls=tuple(_call(call, results, depth, seen) for call in turn.calls),
        interjections=tuple(InterjectionDetail(each.text, each.evidence) for each in turn.interjections),
        compactions=tuple(map(_compaction, turn.compactions)),
        events=tuple(EventDetail(each.kind, each.what, utc(each.at)) for each in turn.events),
    )


def _compaction(compaction: Compaction) -> CompactionDetail:
    return CompactionDetail(
        trigger=compaction.trigger,
        tokens_before=compaction.tokens_before,
        tokens_after=compaction.tokens_after,
        at=utc(compaction.at),
        summary=compaction.summary,
    )


def _call(call: ApiCall, results: bool, depth: int, seen: set[str]) -> CallDetail:
    return CallDetail(
        message_id=call.message_id,
        request_id=call.request_id,
        model=call.model,
        text=call.text,
        thinking=call.thinking,
        stop_reason=call.stop_reason,
        synthetic=call.is_synthetic,
        api_error=call.is_api_error,
        replayed=call.replayed,
        started=utc(call.started),
        ended=utc(call.ended),
        tokens=tokens_page(call.tokens),
        tool_calls=tuple(_tool_call(tool, results, depth, seen) for tool in call.tool_calls),
    )


def _tool_call(tool: ToolCall, results: bool, depth: int, seen: set[str]) -> ToolCallDetail:
    run = tool.agent
    return ToolCallDetail(
        id=tool.id,
        name=tool.name,
        input=tool.input,
        answered=tool.answered,
        is_error=tool.is_error,
        result=tool.result if results else UNSET,
        spilled=str(tool.spilled) if tool.spilled else None,
        started=utc(tool.started),
        ended=utc(tool.ended),
        agent=agent_detail(run, results=results, depth=depth + 1, seen=seen) if run else None,
    )


def agent_detail(run: AgentRun, *, results: bool = True, depth: int = 0, seen: set[str] | None = None) -> AgentDetail:
    """A subagent's run with its turns; without them where it was told already, or stands too deep."""
    seen = set() if seen is None else seen
    above = run.agent_id in seen
    left_out = 0 if above or depth <= DEEPEST else leave_out(run, seen)
    seen.add(run.agent_id)
    told = () if above or left_out else run.turns
    return AgentDetail(
        agent_id=run.agent_id,
        agent_type=run.agent_type,
        description=run.description,
        background=run.background,
        evidence=run.evidence,
        path=str(run.path) if run.path else None,
        tokens=tokens_page(run.tokens),
        turns=tuple(turn_detail(turn, results=results, depth=depth, seen=seen) for turn in told),
        shown_above=above,
        left_out=left_out,
    )


class StepToolCall(Page, frozen=True):
    """A tool use in a step."""

    id: str
    name: str
    input: dict[str, Any]


class StepPage(Page, frozen=True):
    """One line of the conversation."""

    type: str
    """`user_message`, `assistant_message`, `tool_call` or `tool_result`."""
    summary: str
    """The first 200 characters of its text, or of the result if it is a tool result."""
    uuid: str
    parent_uuid: str | None
    """Null at a root, and where a line names no parent."""
    time: datetime | None
    tool_calls: tuple[StepToolCall, ...]


class StepsPage(Document, frozen=True, tag="steps/1"):
    """`steno show --steps`: the lines of a conversation, in file order; of all branches, unless one was selected."""

    id: str
    path: str
    total: int
    """How many steps there are, those that a page leaves out included."""
    steps: tuple[StepPage, ...]


def steps_page(session: Session, turns: Iterable[Turn] | None = None, mask: Mask = as_is) -> StepsPage:
    """The steps of some turns, or of the whole file. A text is masked before it is cut, so that no half of a secret is left."""
    records = session.graph.records
    if turns is None:
        files = session.graph.files
        selected: Iterable[Record] = records[: files[0].last] if files else ()
    else:
        selected = [records[node] for turn in turns for node in turn.nodes]
    found = tuple(_step_page(step) for step in steps(selected, mask))
    return mask_page(StepsPage(session.id, str(session.path or ""), len(found), found), mask)


def _step_page(step: Step) -> StepPage:
    return StepPage(
        type=step.type.value,
        summary=step.content_summary,
        uuid=step.raw_uuid,
        parent_uuid=step.parent_uuid,
        time=utc(step.timestamp),
        tool_calls=tuple(StepToolCall(use.tool_use_id, use.tool_name, use.input) for use in step.tool_calls),
    )
