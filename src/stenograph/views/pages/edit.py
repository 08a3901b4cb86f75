"""An edit of a session: what it does, what clients would send, lose and cost, what became of it, and what goes."""

from __future__ import annotations

from typing import Any

import msgspec

from stenograph.surgery import Attempt, EditEffect, LossChange, Plan, Preview, ReleaseOutcome, of_newest, preview
from stenograph.views.pages.changing import file_sizes
from stenograph.views.pages.messages import LossPage, SaidPage, said_page
from stenograph.views.pages.page import BeforeAfterPage, CommandLine, Document, FileSizePage, Page


class EditStepPage(Page, frozen=True):
    """One edit, and what it does."""

    edit: str
    """`drop-turns`, `drop-tool-calls`, `truncate-results`, …"""
    summary: str
    options: dict[str, Any]
    """Its selectors, reason and settings, as stored in the journal."""
    counts: dict[str, int]
    """What it changes, in numbers: `{"tool calls": 12}`; empty for nothing."""
    note: str | None
    """Why it does less than requested, or nothing."""


class SentPage(Page, frozen=True):
    """What a release sends when it resumes the session."""

    release: str
    refused: str | None
    """The rule that makes the release refuse the edited session; null if it would resume it."""
    messages: BeforeAfterPage
    changed: bool
    """It would send something other than before."""


class LossChangePage(Page, frozen=True):
    """What a release loses when it resumes the session."""

    release: str
    before: SaidPage
    after: SaidPage
    remaining: tuple[LossPage, ...]
    """What it loses after the edit, by rule."""


class DroppedTurnPage(Page, frozen=True):
    """A turn that is dropped from the conversation."""

    turn: int
    prompt: str
    compressed: bool
    """A digest replaces it."""


class ChangedCallPage(Page, frozen=True):
    """A tool call that is dropped, or whose result changes."""

    turn: int
    tool: str
    before: int
    """Characters of the result."""
    after: int | None
    """Null if the call is dropped."""


class DroppedBlocksPage(Page, frozen=True):
    """Thinking, images and documents that are dropped from a kept turn."""

    turn: int
    kind: str
    """`thinking`, `images` or `documents`."""
    count: int


class PreviewPage(Page, frozen=True):
    """What would be dropped, piece by piece. Contains text from the session."""

    turns: tuple[DroppedTurnPage, ...]
    calls: tuple[ChangedCallPage, ...]
    """In kept turns."""
    blocks: tuple[DroppedBlocksPage, ...]
    digest: str | None
    """The text that replaces compressed turns."""


class EditPage(Document, frozen=True, tag="edit/2"):
    """`steno edit`: what edits would do to a session, or did."""

    id: str
    path: str
    title: str | None
    state: str
    """The state of the file that the plan was made from."""
    edits: tuple[EditStepPage, ...]
    turns: tuple[int, ...]
    """The numbers of the turns that leave the conversation."""
    calls: tuple[ChangedCallPage, ...]
    """In kept turns: tool calls that are dropped, or whose results change."""
    changes_file: bool
    """False if the session stays as it is."""
    lines: BeforeAfterPage
    size: BeforeAfterPage
    changed: int
    """Lines that change."""
    detached: int
    """Lines that leave the conversation but stay in the file."""
    deleted: int
    """Lines that are deleted from the file."""
    uncounted: int
    """Calls that are deleted from the file completely, so that token counters no longer see them."""
    deleted_files: tuple[FileSizePage, ...]
    releases: tuple[SentPage, ...]
    newest: str
    """The release for which tokens and costs are computed."""
    losses: tuple[LossChangePage, ...]
    """Empty unless one of the edits is meant to change what releases lose."""
    tokens: BeforeAfterPage
    """Tokens in the context of the next call: system prompt, tools and thinking included. Those after the edit are estimated."""
    tokens_measured: bool
    """Whether the tokens before the edit are what the API counted in the last call; otherwise they are estimated too."""
    tokens_to_cache: int
    """Tokens after the edit that are not in the prompt cache, estimated."""
    usd_per_call: float
    """What the unedited context costs in each later model call, if it is read from the prompt cache."""
    saved_usd_per_call: float
    """How much of that the edit saves."""
    cache_cost_usd: float
    """What rebuilding the prompt cache costs."""
    usd_once: float
    """What the edit itself costs, once: `cache_cost_usd`, or 0 if the prompt cache has expired."""
    cache_expired: bool
    """The prompt cache has expired since the last call, so the next call fills it anyway and the edit costs nothing extra."""
    model: str | None
    """The model that answered last."""
    priced: bool
    """The price table knows the model."""
    problems: tuple[str, ...]
    """Why the edit is refused; empty if it is not."""
    try_first: str | None
    """A command to run first, after which the edit is likely to be accepted; null if there is none."""
    notes: tuple[str, ...]
    preview: PreviewPage | None
    """Null if it was not requested."""
    in_use: bool
    """The session is in use, so nothing can be written."""
    refusal: str | None
    """Why nothing can be written now, apart from problems of the edit itself."""
    applied: bool
    entry: int | None
    """Its number in the journal; null if nothing was written."""
    undo: str | None
    """The command that undoes it."""


def edit_state(plan: Plan) -> str:
    """The state of the file that a plan was made from, to be sent back with it: turns have other numbers after an edit."""
    return f"{plan.state.size}-{plan.state.mtime_ns}-{plan.state.inode}"


def edit_page(
    plan: Plan, attempt: Attempt, again: CommandLine, *, previewing: bool = False, refusal: str | None = None
) -> EditPage:
    """`previewing`: with what goes, piece by piece. `refusal`: why nothing may be written at all."""
    entry, outlook, goes = attempt.entry, plan.outlook, preview(plan)
    return EditPage(
        id=plan.session_id,
        path=str(plan.path),
        title=plan.working.session.title,
        state=edit_state(plan),
        edits=tuple(_step(done) for done in plan.done),
        turns=tuple(turn.number for turn in goes.turns),
        calls=_calls(goes),
        changes_file=not plan.is_empty,
        lines=BeforeAfterPage(plan.lines_before, plan.lines_after),
        size=BeforeAfterPage(plan.size_before, plan.size_after),
        changed=plan.changed,
        detached=plan.aside,
        deleted=plan.removed,
        uncounted=plan.uncounted,
        deleted_files=file_sizes({path: state.size for path, state in plan.taken_away.items()}),
        releases=tuple(_sent(outcome) for outcome in plan.outcomes),
        newest=of_newest(plan.outcomes).release,
        losses=tuple(_losses(change) for change in plan.losses),
        tokens=BeforeAfterPage(outlook.tokens_before, outlook.tokens_after),
        tokens_measured=outlook.is_measured,
        tokens_to_cache=outlook.tokens_to_cache,
        usd_per_call=float(outlook.cost_a_call),
        saved_usd_per_call=float(outlook.saved_a_call),
        cache_cost_usd=float(outlook.cache_cost),
        usd_once=float(outlook.cost_once),
        cache_expired=outlook.is_cache_expired,
        model=outlook.model or None,
        priced=outlook.is_listed,
        problems=tuple(plan.problems),
        try_first=again("edit", str(plan.path), "--portable", "--apply") if plan.is_easier_portable else None,
        notes=tuple(plan.notes),
        preview=_preview(goes) if previewing else None,
        in_use=attempt.busy is not None and refusal is None,
        refusal=None if entry else refusal or (str(attempt.busy) if attempt.busy else None),
        applied=entry is not None,
        entry=entry.number if entry else None,
        undo=again("undo", "--entry", str(entry.number)) if entry else None,
    )


def _step(done: EditEffect) -> EditStepPage:
    options = msgspec.to_builtins(done.edit)
    return EditStepPage(options.pop("edit"), done.edit.summary, options, done.counts, done.note or None)


def _sent(outcome: ReleaseOutcome) -> SentPage:
    messages = BeforeAfterPage(len(outcome.before), len(outcome.after))
    return SentPage(outcome.release, outcome.refused or None, messages, outcome.before != outcome.after)


def _losses(change: LossChange) -> LossChangePage:
    remaining = tuple(LossPage(loss.rule, said_page(loss.counts)) for loss in change.after.losses)
    return LossChangePage(change.release, said_page(change.before.total), said_page(change.after.total), remaining)


def _calls(goes: Preview) -> tuple[ChangedCallPage, ...]:
    return tuple(ChangedCallPage(call.turn, call.tool, call.before, call.after) for call in goes.calls)


def _preview(goes: Preview) -> PreviewPage:
    return PreviewPage(
        turns=tuple(DroppedTurnPage(turn.number, turn.prompt, turn.is_condensed) for turn in goes.turns),
        calls=_calls(goes),
        blocks=tuple(DroppedBlocksPage(blocks.turn, blocks.what, blocks.count) for blocks in goes.blocks),
        digest=goes.digest,
    )
