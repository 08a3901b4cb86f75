"""The records of a session -> its cost by its lines, each response once, beside the client's own total.

Takes a family's records, its own file first, or those of several families. Estimates nothing: a request that left no usage is in
the client's total alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct, structs

from stenograph.errors import UsageError
from stenograph.pricing.cost import Basis, Cost, price_usage
from stenograph.records import (
    SYNTHETIC,
    AiTitleRecord,
    ApiRequestRecord,
    AssistantRecord,
    CompactBoundaryRecord,
    CostStateRecord,
    Record,
    StopHookSummaryRecord,
    ToolUseBlock,
    is_aborted,
    may_use_the_web,
    moment,
)
from stenograph.releases import first_with, release_numbers, writes_stop_reasons

# A client adds doubles.
_EQUAL = Decimal("1e-9")
_NO_BILL = 10**12
_WRITES_TOTALS = release_numbers(first_with("writes_totals"))


class GapReason(StrEnum):
    """Why the client's total may differ from the sum over the lines, as measured on 2.1.325."""

    # More in the client's total: requests that leave no usage in any file.
    COMPACTION = "the request for a summary"
    WEB_SEARCH = "the search tool's own request"
    WEB_FETCH = "the fetch tool's own request"
    TITLE = "the request for a title"
    # Only hooks at the end of a turn leave a trace.
    HOOK = "a hook that asks a model"
    FAILED_STREAM = "a broken stream that was charged and retried"
    COPIED = "a parent's total, which a fork continues"
    MISSING_AGENTS = "subagents whose files are missing"
    # Less.
    AFTER_LAST_TOTAL = "responses after the last total"
    KILLED = "responses of a run that was killed before it wrote a total"
    OTHER_RELEASE = "responses to a client that writes no totals"


_LESS = frozenset({GapReason.AFTER_LAST_TOTAL, GapReason.KILLED, GapReason.OTHER_RELEASE})
_TOOLS = {"WebSearch": GapReason.WEB_SEARCH, "WebFetch": GapReason.WEB_FETCH}


class SessionCost(Struct, frozen=True):
    # Without interrupted responses, as in the client.
    usd: Decimal
    # By the requested model, as the file spells it.
    models: dict[str, Decimal]
    responses: int
    # In order of appearance.
    unknown_models: tuple[str, ...]
    # The client's last total (2.1.260 writes it, 2.1.240 does not).
    client_usd: Decimal | None = None
    # Known reasons for a gap that the records show.
    reasons: tuple[GapReason, ...] = ()
    # What a reason makes of the gap, as far as the records tell: less than 0 for responses that the client's total lacks.
    amounts: dict[GapReason, Decimal] = {}

    @property
    def gap(self) -> Decimal | None:
        """How much the client's total exceeds the lines; None without a total."""
        return None if self.client_usd is None else self.client_usd - self.usd


def session_cost(records: Iterable[Record], *, release: str | None = None) -> SessionCost:
    """The cost of a session by the table of a release (None: the newest). Raises UsageError for an invalid release.

    A response that forks copied counts once; of several sessions the last one's client total is used.
    """
    tally = _Tally(release)
    for record in records:
        tally.add(record)
    return tally.result()


class _Response(NamedTuple):
    model: str
    cost: Cost


class _Tally:
    def __init__(self, release: str | None) -> None:
        self._release = release
        # By message id.
        self._responses: dict[str, _Response] = {}
        # By message id: those said to be aborted, those with a line that does not say why they stopped, and with one that does.
        self._cut_off: set[str] = set()
        self._unfinished: set[str] = set()
        self._finished: set[str] = set()
        self._total: Decimal | None = None
        self._reasons: set[GapReason] = set()
        # Requests noted as sent, and those that a response answers.
        self._sent: set[str] = set()
        self._answered: set[str] = set()
        # Seconds since 1970: the first response, and when the run began that the last total goes back to.
        self._first: float | None = None
        self._counted_from: float | None = None
        # When each response came, by its first line; those that no total can have, and those after the last one.
        self._times: dict[str, float] = {}
        self._of_others: set[str] = set()
        self._since_total: set[str] = set()

    def add(self, record: Record) -> None:
        match record:
            case AssistantRecord():
                self._add_answer(record)
            case CostStateRecord(totalCostUSD=int() | float() as total) if 0 <= total < _NO_BILL:
                # Each covers the whole session so far.
                self._total = Decimal(str(total))
                self._reasons.discard(GapReason.AFTER_LAST_TOTAL)
                self._since_total.clear()
                self._counted_from = record.startTime / 1000 if isinstance(record.startTime, int | float) else None
            case CompactBoundaryRecord():
                self._reasons.add(GapReason.COMPACTION)
            case AiTitleRecord():
                self._reasons.add(GapReason.TITLE)
            case StopHookSummaryRecord(hookInfos=list(infos)):
                if any(isinstance(each, dict) and each.get("promptText") for each in infos):
                    self._reasons.add(GapReason.HOOK)
            case ApiRequestRecord(id=str(request)):
                self._sent.add(request)
            case _:
                pass

    def result(self) -> SessionCost:
        counted = [response for key, response in self._responses.items() if not self._is_aborted(key)]
        models: dict[str, Decimal] = {}
        for model, cost in counted:
            models[model] = models.get(model, Decimal(0)) + cost.usd
        found = SessionCost(
            usd=sum(models.values(), Decimal(0)),
            models=models,
            responses=len(counted),
            unknown_models=tuple(dict.fromkeys(model for model, cost in counted if cost.basis is Basis.UNKNOWN)),
            client_usd=self._total,
        )
        reasons = self._reasons_for(found.gap or Decimal(0))
        return structs.replace(found, reasons=reasons, amounts=dict(self._amounts(reasons)))

    def _amounts(self, reasons: tuple[GapReason, ...]) -> Iterator[tuple[GapReason, Decimal]]:
        """Of the reasons for which a total is too low; a response has one reason."""
        begun = self._counted_from
        killed = {key for key, at in self._times.items() if begun is not None and at < begun}
        keys = {
            GapReason.OTHER_RELEASE: self._of_others,
            GapReason.KILLED: killed - self._of_others,
            GapReason.AFTER_LAST_TOTAL: self._since_total - killed - self._of_others,
        }
        for reason in reasons:
            if reason in keys:
                costs = [self._responses[key].cost.usd for key in keys[reason] if not self._is_aborted(key)]
                yield reason, -sum(costs, Decimal(0))

    def _add_answer(self, record: AssistantRecord) -> None:
        message = record.message
        if not message or message.model == SYNTHETIC or not message.usage:
            return
        model = record.requestedModel or message.model or ""
        # Lines of other tools may have no id.
        key = message.id or f"response {len(self._responses)}"
        cost = price_usage(message.usage, model, release=self._release)
        # The dearest line counts: a fork after a compaction copies lines with zero counts.
        known = self._responses.get(key)
        if known is None or cost.usd > known.cost.usd:
            self._responses[key] = _Response(model, cost)
        release = _release_of(record)
        self._note_place(key, record, release)
        # Not by a user line's `interruptedMessageId`: it also names responses whose tools were interrupted, which are charged.
        if is_aborted(record):
            self._cut_off.add(key)
        if isinstance(message.stop_reason, str):
            self._finished.add(key)
        elif writes_stop_reasons(record.version or ""):
            self._unfinished.add(key)
        self._note_reasons(record, release)

    def _is_aborted(self, key: str) -> bool:
        # 2.1.114 wrote why a subagent's response stopped only on its last line.
        return key in self._cut_off or (key in self._unfinished and key not in self._finished)

    def _note_place(self, key: str, record: AssistantRecord, release: tuple[int, ...]) -> None:
        if release and release < _WRITES_TOTALS:
            self._of_others.add(key)
        elif (at := moment(record.timestamp)) is not None:
            self._times.setdefault(key, at.timestamp())
        if not record.isSidechain:
            self._since_total.add(key)

    def _note_reasons(self, record: AssistantRecord, release: tuple[int, ...]) -> None:
        if isinstance(record.requestRef, str):
            self._answered.add(record.requestRef)
        if release and release < _WRITES_TOTALS:
            self._reasons.add(GapReason.OTHER_RELEASE)
        elif (at := moment(record.timestamp)) is not None:
            self._first = min(at.timestamp(), self._first or at.timestamp())
        if not record.isSidechain:
            self._reasons.add(GapReason.AFTER_LAST_TOTAL)
        if may_use_the_web(record):
            blocks = record.content if isinstance(record.content, tuple) else ()
            names = {block.name for block in blocks if isinstance(block, ToolUseBlock)}
            self._reasons |= {reason for name, reason in _TOOLS.items() if name in names}

    def _reasons_for(self, gap: Decimal) -> tuple[GapReason, ...]:
        if abs(gap) < _EQUAL:
            return ()
        seen = set(self._reasons)
        if self._sent - self._answered:
            seen.add(GapReason.FAILED_STREAM)
        # A resumed session keeps its total and its start time.
        if self._first is not None and self._counted_from is not None and self._first < self._counted_from:
            seen.add(GapReason.KILLED)
        # Copied lines name requests in the parent's file.
        if self._answered - self._sent:
            seen.add(GapReason.COPIED)
        return tuple(reason for reason in GapReason if reason in seen and (reason in _LESS) == (gap < 0))


def _release_of(record: AssistantRecord) -> tuple[int, ...]:
    try:
        return release_numbers(record.version or "")
    except UsageError:
        return ()
