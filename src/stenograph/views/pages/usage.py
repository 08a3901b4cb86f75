"""Tokens and money by day, model, project and more; and beside what Claude Code itself noted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import astuple

from stenograph.pricing import micro_usd
from stenograph.redact import Mask, as_is
from stenograph.views.masking import mask_page
from stenograph.views.pages.page import Document, FindingPage, Page, TokensPage, finding_pages, utc

if TYPE_CHECKING:
    from stenograph.analysis import Reconciled, Spent, Unlisted, UsageRow, UsageTable
    from stenograph.index import UsageSync


_HALF_A_CENT = 5 * 10**9


class SpentPage(Page, frozen=True):
    """What some calls used and cost. Money is in whole microdollars, each amount rounded on its own."""

    calls: int
    tokens: TokensPage
    thinking: int
    """Tokens of thinking, part of the output; 0 also where the release does not say."""
    web_searches: int
    estimated_output: int
    """Part of the output that old releases did not record, estimated from the length of what was written."""
    cost_micro_usd: int
    """`measured_micro_usd` and `estimated_micro_usd` together, without unpriced calls."""
    measured_micro_usd: int
    """By recorded token counts."""
    estimated_micro_usd: int
    """The price of `estimated_output`."""
    unpriced_calls: int
    """Calls of models without a price. Their tokens are counted, their cost is not guessed."""
    unpriced_tokens: int

    @property
    def all_tokens(self) -> int:
        return self.tokens.sent + self.tokens.output


class ModelUsagePage(SpentPage, frozen=True):
    """What one model used."""

    model: str


class KindCostsPage(Page, frozen=True):
    """What each kind of token cost, in whole microdollars, each amount rounded on its own."""

    input: int
    """Not cached."""
    output: int
    """With estimated output."""
    cache_read: int
    cache_write_5m: int
    cache_write_1h: int
    web_searches: int


class UsageRowPage(SpentPage, frozen=True):
    """One day, week, month, block, model, project, session, agent type, tool or git branch."""

    name: str
    """`2026-11-16`, `2026-11`, `2026-11-16 08:00` (the start of a block, in `timezone`), a model, a path, a session's id, an
    agent type (`main`: the session itself), a tool, a branch. `(unknown)`: calls without a usable time."""
    sessions: int
    start: datetime | None
    """Of a day, week, month or block: its first moment."""
    end: datetime | None
    """The first moment after it."""
    title: str | None
    """Of a session."""
    path: str | None
    """Of a session."""
    project: str | None
    """Of a session."""
    models: tuple[ModelUsagePage, ...]
    """Most expensive first."""


class UsagePage(Document, frozen=True, tag="usage/1"):
    """`steno usage`: tokens and money. Every call counts once, even if a resume, fork or clone copied it."""

    by: str
    """What a row is: `day`, `week`, `month`, `model`, `project`, `session`, `agent`, `tool`, `branch` or `block`."""
    timezone: str
    """The time zone of days, weeks, months and the names of blocks."""
    since: datetime | None
    until: datetime | None
    first: datetime | None
    """When the first call was. Null unless by day, week, month or block, or if no call has a time."""
    last: datetime | None
    """When the last call was."""
    rows: tuple[UsageRowPage, ...]
    """In order of time, or most expensive first. By tool, the cost of a call is split equally among its tool calls, and
    `calls` are tool calls, except in `total`."""
    total: UsageRowPage
    kinds: KindCostsPage
    """The total cost by kind of token."""
    interrupted_calls: int
    """Responses that were interrupted while streaming. Claude Code does not charge them: they are in no row."""
    interrupted_tokens: int
    copied_calls: int
    """Copies of calls in other files, made by resumes, forks and clones: they are in no row."""
    unpriced_models: tuple[str, ...]
    client_sessions: int | None
    """Sessions in which Claude Code noted what they cost. Null unless asked for: `steno usage --reconcile` has them."""
    client_equal: int | None
    """Those in which its figure matches ours to the cent."""
    includes_hidden: bool | None
    """Sessions that `steno ls` hides are counted too. Null where nobody has looked for them."""
    includes_gone: bool | None
    """Calls of sessions whose file is gone are counted too. Null if not asked for."""
    prices: str
    """Where the prices come from."""
    stale: bool
    """Not all files were read within the time allowed, so newer calls may be missing."""
    findings: tuple[FindingPage, ...]


class GapPage(Page, frozen=True):
    """Why Claude Code's total differs."""

    reason: str
    micro_usd: int | None
    """How much of the difference it explains. Null if several reasons share what is left: `rest_micro_usd`."""


class ReconciledPage(Page, frozen=True):
    """A session with a total of Claude Code's own."""

    id: str
    path: str
    project: str | None
    calls: int
    ours_micro_usd: int
    """By the lines of its files."""
    theirs_micro_usd: int
    """By its last `cost-state`."""
    difference_micro_usd: int
    """By how much Claude Code's total is greater."""
    equal: bool
    """To a millionth of a dollar."""
    reasons: tuple[GapPage, ...]
    """What its lines show that explains the difference. Empty for a difference that nothing in the files explains."""
    rest_micro_usd: int
    """The rest of the difference. It is due to the reasons without an amount or to calls without a price; if there are neither,
    it is unexplained."""
    unpriced_calls: int


class ReconciliationPage(Document, frozen=True, tag="reconciliation/1"):
    """`steno usage --reconcile`: the cost of each session as steno and as Claude Code count it, and why they differ."""

    sessions: tuple[ReconciledPage, ...]
    """The greatest difference first. Only sessions in which Claude Code noted a total; older releases do not."""
    equal: int
    ours_micro_usd: int
    """Together; a call that several of these sessions have counts once."""
    theirs_micro_usd: int
    """Together, without what a fork continues from its parent's total, as far as that is known."""
    unexplained_micro_usd: int
    """The sum of differences, each taken as positive, that nothing in the files explains."""
    stale: bool


def usage_page(
    table: UsageTable,
    sync: UsageSync,
    *,
    timezone: str,
    prices: str,
    since: float | None = None,
    until: float | None = None,
    titles: Mapping[Path, str | None] | None = None,
    reconciled: Sequence[Reconciled] | None = None,
    unlisted: Unlisted | None = None,
    mask: Mask = as_is,
) -> UsagePage:
    page = UsagePage(
        by=table.by.value,
        timezone=timezone,
        since=None if since is None else datetime.fromtimestamp(since, UTC),
        until=None if until is None else datetime.fromtimestamp(until, UTC),
        first=table.first,
        last=table.last,
        rows=tuple(_row_page(row, titles or {}) for row in table.rows),
        total=_row_page(table.total, {}),
        kinds=KindCostsPage(*map(micro_usd, astuple(table.kinds))),
        interrupted_calls=table.interrupted.calls,
        interrupted_tokens=table.interrupted.tokens,
        copied_calls=table.copies,
        unpriced_models=tuple(table.unpriced),
        client_sessions=None if reconciled is None else len(reconciled),
        client_equal=None if reconciled is None else sum(abs(each.difference) < _HALF_A_CENT for each in reconciled),
        includes_hidden=None if unlisted is None else unlisted.hidden,
        includes_gone=None if unlisted is None else unlisted.gone,
        prices=prices,
        stale=sync.pending > 0,
        findings=finding_pages(sync.findings),
    )
    return mask_page(page, mask)


def _row_page(row: UsageRow, titles: Mapping[Path, str | None]) -> UsageRowPage:
    return UsageRowPage(
        **_spent(row.spent),
        name=row.name,
        sessions=row.sessions,
        start=utc(row.start),
        end=utc(row.end),
        title=titles.get(row.path) if row.path else None,
        path=str(row.path) if row.path else None,
        project=row.project,
        models=tuple(ModelUsagePage(**_spent(spent), model=model) for model, spent in row.models.items()),
    )


def _spent(spent: Spent) -> dict[str, Any]:
    return {
        "calls": spent.calls,
        "tokens": TokensPage(spent.input, spent.output, spent.cache_read, spent.cache_write_5m, spent.cache_write_1h),
        "thinking": spent.thinking,
        "web_searches": spent.web_searches,
        "estimated_output": spent.estimated_output,
        "cost_micro_usd": micro_usd(spent.cost),
        "measured_micro_usd": micro_usd(spent.measured),
        "estimated_micro_usd": micro_usd(spent.estimated),
        "unpriced_calls": spent.unpriced_calls,
        "unpriced_tokens": spent.unpriced_tokens,
    }


def _gap(reason: str, amount: int | None) -> GapPage:
    return GapPage(reason, None if amount is None else micro_usd(amount))


def _is_unexplained(session: Reconciled) -> bool:
    """Whether no reason is left for the rest; a model without a price here is one."""
    return not session.unpriced_calls and all(reason in session.amounts for reason in session.reasons)


def reconciliation_page(sessions: Iterable[Reconciled], *, stale: bool = False, mask: Mask = as_is) -> ReconciliationPage:
    sessions = list(sessions)
    page = ReconciliationPage(
        sessions=tuple(
            ReconciledPage(
                id=each.session,
                path=str(each.path),
                project=each.project,
                calls=each.calls,
                ours_micro_usd=micro_usd(each.ours),
                theirs_micro_usd=micro_usd(each.theirs),
                difference_micro_usd=micro_usd(each.difference),
                equal=each.is_equal,
                reasons=tuple(_gap(reason.value, each.amounts.get(reason)) for reason in each.reasons),
                rest_micro_usd=micro_usd(each.rest),
                unpriced_calls=each.unpriced_calls,
            )
            for each in sessions
        ),
        equal=sum(each.is_equal for each in sessions),
        ours_micro_usd=micro_usd(sum(each.ours_once for each in sessions)),
        theirs_micro_usd=micro_usd(sum(each.theirs_once for each in sessions)),
        unexplained_micro_usd=micro_usd(sum(abs(each.rest) for each in sessions if not each.is_equal and _is_unexplained(each))),
        stale=stale,
    )
    return mask_page(page, mask)
