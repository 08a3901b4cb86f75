"""What happened in a session, in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime

from stenograph.inputs import Status
from stenograph.turns import Session, ToolCall, Turn, steps
from stenograph.views.pages.page import Document, Page, TokensPage, tokens_page, utc


class ToolCountPage(Page, frozen=True):
    """How often a tool was called."""

    name: str
    calls: int
    failed: int


class SummaryPage(Document, frozen=True, tag="summary/1"):
    """What happened in a session, in numbers: all branches and subagents."""

    id: str
    path: str
    title: str | None
    status: str
    """`running`, `done`, `interrupted` or `failed`."""
    started: datetime | None
    ended: datetime | None
    """Of the last turn."""
    duration_ms: int
    """How long the turns took together."""
    turns: int
    """Of every branch."""
    branches: int
    agents: int
    """Subagents, without those that only warmed up."""
    compactions: int
    calls: int
    """API calls, subagents' included."""
    tokens: TokensPage
    steps: dict[str, int]
    """Lines of the conversation by type: `user_message`, `assistant_message`, `tool_call`, `tool_result`."""
    tool_calls: int
    failed_tool_calls: int
    tools: tuple[ToolCountPage, ...]
    """Most used first."""


def summary_page(session: Session) -> SummaryPage:
    turns = list(session.all_turns)
    everything = [*turns, *(turn for run in session.agents for turn in run.turns)]
    called = list(_tool_calls(everything))
    calls, failed = Counter(tool.name for tool in called), Counter(tool.name for tool in called if tool.is_error)
    files = session.graph.files
    lines = Counter(step.type.value for step in steps(session.graph.records[: files[0].last] if files else ()))
    return SummaryPage(
        id=session.id,
        path=str(session.path or ""),
        title=session.title,
        status=(turns[-1].status if turns else Status.DONE).value,
        started=utc(next((turn.started for turn in turns if turn.started), None)),
        ended=utc(next((turn.ended for turn in reversed(turns) if turn.ended), None)),
        duration_ms=sum(turn.duration_ms or 0 for turn in turns),
        turns=len(turns),
        branches=len(session.branches),
        agents=sum(not run.is_warmup for run in session.agents),
        compactions=sum(len(turn.compactions) for turn in turns),
        calls=sum(not call.is_synthetic for turn in everything for call in turn.calls),
        tokens=tokens_page(session.tokens),
        steps=dict(sorted(lines.items())),
        tool_calls=len(called),
        failed_tool_calls=failed.total(),
        tools=tuple(ToolCountPage(name, count, failed[name]) for name, count in calls.most_common()),
    )


def _tool_calls(turns: list[Turn]) -> Iterator[ToolCall]:
    for turn in turns:
        for call in turn.calls:
            yield from call.tool_calls
