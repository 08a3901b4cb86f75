"""What happened in sessions: activity, tools, waits, context, cache; and what was paid for nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from stenograph.pricing import micro_usd
from stenograph.redact import Mask, as_is
from stenograph.views.masking import mask_page
from stenograph.views.pages.page import Document, Page

if TYPE_CHECKING:
    from stenograph.analysis import KnownSession, Stats, TurnLink, WasteFinding


class TurnLinkPage(Page, frozen=True):
    """A turn behind a figure: `steno show SESSION --turn TURN`, with `--branch BRANCH` if it has one."""

    session: str
    turn: int
    """0 if it is before the first turn, or in a subagent whose tool call is unknown."""
    branch: int | None
    """The branch that it is on; null if that is the one that Claude Code resumes."""
    what: str | None
    """A tool, a cause, a path: what the figure is about."""
    ms: int | None
    tokens: int | None
    cost_micro_usd: int | None
    """Null if it has none, or if none of its calls has a price."""
    estimated_micro_usd: int
    """Part of the cost: output that old releases did not count."""
    unpriced_calls: int
    """Calls that are not in the cost."""


class ContextPartPage(Page, frozen=True):
    """A part of the context."""

    part: str
    """`system` (system prompt and tools), `memory` (memory files; in `system` where the release does not record them), `files`
    (files read), `output` (tools' other output), `conversation` (prompts, answers, tool calls, summaries), `thinking`,
    or `unknown`."""
    mean_tokens: int
    """Over all calls."""
    share: float


class ToolStatsPage(Page, frozen=True):
    """A tool, with its errors and its slowest call."""

    name: str
    calls: int
    failed: int
    total_ms: int
    slowest: TurnLinkPage | None
    failed_in: tuple[TurnLinkPage, ...]


class DayStatsPage(Page, frozen=True):
    """One day, in local time."""

    day: str
    turns: int
    """Those that began on this day."""
    cost_micro_usd: int
    """Of the calls of this day, those outside turns included."""
    estimated_micro_usd: int
    """Part of the cost."""


class StatusPage(Page, frozen=True):
    """How turns ended."""

    status: str
    """`done`, `interrupted`, `failed` or `running`."""
    turns: tuple[TurnLinkPage, ...]


class StatsPage(Document, frozen=True, tag="stats/1"):
    """`steno stats`: what happened in sessions, each figure with the turns behind it."""

    sessions: int
    turns: int
    calls: int
    """Model calls, subagents' included."""
    tool_calls: int
    cost_micro_usd: int
    """What the calls cost, as in `steno usage`. Unpriced calls are not in it."""
    estimated_micro_usd: int
    """Part of the cost: output that old releases did not count."""
    unpriced_calls: int
    statuses: tuple[StatusPage, ...]
    days: tuple[DayStatsPage, ...]
    hours: tuple[int, ...]
    """Turns by the local hour in which they began, from 0 to 23."""
    context: tuple[ContextPartPage, ...]
    context_calls: int
    """Calls of current branches and of subagents."""
    context_tokens: int
    """The mean prompt, in tokens."""
    largest_context: int
    tools: tuple[ToolStatsPage, ...]
    """Most calls first."""
    waiting_for_model_ms: int
    """Excludes responses whose last line is dated after the next call, because their real end is unknown."""
    running_tools_ms: int
    waiting_for_you_ms: int
    """Time between the end of a turn and the next prompt. Anything longer than an hour is a break and does not count."""
    waits: tuple[TurnLinkPage, ...]
    """The longest waits for the model or a tool."""
    cache_read_share: float
    """The share of prompt tokens that were read from the cache."""
    rebuilds: tuple[TurnLinkPage, ...]
    """Calls that wrote most of their prompt to the cache again; `what` is `break`, `model` or `other`, `ms` is the time since
    the previous call. The cost is the difference between writing and reading those tokens."""
    rebuild_cost_micro_usd: int
    retries: tuple[TurnLinkPage, ...]
    api_errors: tuple[TurnLinkPage, ...]
    interrupts: tuple[TurnLinkPage, ...]
    compactions: tuple[TurnLinkPage, ...]
    """`what` is `manual` or `auto`, `tokens` what it dropped, where the release says."""
    dropped_tokens: int
    rewound: tuple[TurnLinkPage, ...]
    """Turns on other branches, except those whose responses are all on the current branch too."""
    rewound_cost_micro_usd: int
    rewound_estimated_micro_usd: int
    """Part of the cost of rewound turns."""
    agent_calls: int
    agent_cost_micro_usd: int
    """Unpriced calls are not in it."""
    agent_estimated_micro_usd: int
    """Part of the subagents' cost."""
    agent_unpriced_calls: int


class WasteFindingPage(Page, frozen=True):
    """Something that was paid for needlessly."""

    kind: str
    """`cache-rebuilt-after-a-break`, `cache-rebuilt-for-another-model`, `result-stayed-in-the-context`,
    `other-results-stayed-in-the-context`, `mcp-server-never-called`, `files-read-again`, `subagents-repeated-work` or
    `turns-thrown-away`. The most expensive results are findings of their own, and all others are one finding."""
    cost_micro_usd: int
    """Estimated."""
    times: int
    what: str | None
    tokens: int
    calls: int
    """Later calls that carried a result (of other results, the most), or requests that carried a server's tools."""
    seconds: int
    """The longest break."""
    sent: bool
    """False for a result that clients no longer send: it is before a compaction, or in a subagent."""
    turns: tuple[TurnLinkPage, ...]
    """Most expensive first."""


class WastePage(Document, frozen=True, tag="waste/1"):
    """`steno waste`: what was avoidable, most expensive first. Findings can overlap."""

    sessions: int
    cost_micro_usd: int
    """What was spent, as in `steno usage`. Unpriced calls are not in it."""
    estimated_micro_usd: int
    """Part of what was spent: output that old releases did not count."""
    unpriced_calls: int
    avoidable_micro_usd: int
    """The sum of all findings, estimated."""
    findings: tuple[WasteFindingPage, ...]


def stats_page(stats: Stats, mask: Mask = as_is) -> StatsPage:
    filled = sum(stats.context.values())
    calls = max(1, stats.context_calls)
    page = StatsPage(
        sessions=stats.sessions,
        turns=stats.turns,
        calls=stats.calls,
        tool_calls=stats.tool_calls,
        cost_micro_usd=micro_usd(stats.cost),
        estimated_micro_usd=micro_usd(stats.estimated),
        unpriced_calls=stats.unpriced_calls,
        statuses=tuple(StatusPage(status, _links(links)) for status, links in stats.statuses.items()),
        days=tuple(DayStatsPage(day.day, day.turns, micro_usd(day.cost), micro_usd(day.estimated)) for day in stats.days),
        hours=tuple(stats.hours),
        context=tuple(
            ContextPartPage(part, tokens // calls, tokens / filled if filled else 0.0) for part, tokens in stats.context.items()
        ),
        context_calls=stats.context_calls,
        context_tokens=filled // calls,
        largest_context=stats.largest_context,
        tools=tuple(
            ToolStatsPage(
                tool.name,
                tool.calls,
                tool.failed,
                tool.total_ms,
                _link(tool.slowest) if tool.slowest else None,
                _links(tool.failed_in),
            )
            for tool in stats.tools
        ),
        waiting_for_model_ms=stats.model_ms,
        running_tools_ms=stats.tools_ms,
        waiting_for_you_ms=stats.user_ms,
        waits=_links(stats.waits),
        cache_read_share=stats.cached_tokens / stats.prompt_tokens if stats.prompt_tokens else 0.0,
        rebuilds=_links(stats.rebuilds),
        rebuild_cost_micro_usd=micro_usd(sum(link.cost or 0 for link in stats.rebuilds)),
        retries=_links(stats.retries),
        api_errors=_links(stats.api_errors),
        interrupts=_links(stats.interrupts),
        compactions=_links(stats.compactions),
        dropped_tokens=stats.dropped_tokens,
        rewound=_links(stats.rewound),
        rewound_cost_micro_usd=micro_usd(sum(link.cost or 0 for link in stats.rewound)),
        rewound_estimated_micro_usd=micro_usd(stats.rewound_estimated),
        agent_calls=stats.agent_calls,
        agent_cost_micro_usd=micro_usd(stats.agent_cost),
        agent_estimated_micro_usd=micro_usd(stats.agent_estimated),
        agent_unpriced_calls=stats.agent_unpriced_calls,
    )
    return mask_page(page, mask)


def waste_page(findings: Sequence[WasteFinding], sessions: Sequence[KnownSession], mask: Mask = as_is) -> WastePage:
    facts = [each.facts for each in sessions]
    page = WastePage(
        sessions=len(sessions),
        cost_micro_usd=micro_usd(sum(each.cost for each in facts)),
        estimated_micro_usd=micro_usd(sum(each.estimated for each in facts)),
        unpriced_calls=sum(each.unpriced_calls for each in facts),
        avoidable_micro_usd=micro_usd(sum(finding.cost for finding in findings)),
        findings=tuple(
            WasteFindingPage(
                finding.kind.value,
                micro_usd(finding.cost),
                finding.times,
                finding.what or None,
                finding.tokens,
                finding.calls,
                finding.seconds,
                finding.is_sent,
                _links(finding.turns),
            )
            for finding in findings
        ),
    )
    return mask_page(page, mask)


def _links(links: Iterable[TurnLink]) -> tuple[TurnLinkPage, ...]:
    return tuple(map(_link, links))


def _link(link: TurnLink) -> TurnLinkPage:
    cost = None if link.cost is None or (not link.cost and link.unpriced_calls) else micro_usd(link.cost)
    estimated = micro_usd(link.estimated)
    return TurnLinkPage(
        link.session, link.turn, link.branch, link.what or None, link.ms, link.tokens, cost, estimated, link.unpriced_calls
    )
