"""What Claude Code passes to a status line, and the store's model calls -> one line of facts about now.

Input is the JSON that the client writes to the command's stdin. Every member may be missing: what is not known is left out.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from stenograph.analysis.usage import BLOCK, UsageScope, block_at, spent_in
from stenograph.errors import UsageError
from stenograph.index import ABORTED, FAST, SIDECHAIN, US, IndexStore, sync_session_usage
from stenograph.pricing import Tariff, micro_usd
from stenograph.records import TokenCounts

_LOOK_BACK = 3 * 86_400
_PATIENCE_MS = 30


class _Model(Struct):
    id: str | None = None
    display_name: str | None = None


class _Cost(Struct):
    total_cost_usd: float | None = None


class _Window(Struct):
    total_input_tokens: int | None = None
    context_window_size: int | None = None
    used_percentage: float | None = None


class StatusInput(Struct):
    """What the client says of itself, as far as it is used."""

    session_id: str | None = None
    transcript_path: str | None = None
    model: _Model | None = None
    cost: _Cost | None = None
    context_window: _Window | None = None


class UsageStatus(Struct, frozen=True):
    """Money in microdollars; None: not known."""

    model: str | None
    #: By the client itself where it says so, else by the session's lines.
    session: int | None
    is_own_figure: bool
    today: int
    block: int
    #: When the current block of five hours ends; None: none is open.
    block_ends: datetime | None
    #: Tokens of the last prompt of the session, and how much of the window that is.
    context: int | None
    percent: float | None


def read_status_input(data: bytes) -> StatusInput:
    """Raises UsageError for what is not a JSON object; members of other types are ignored."""
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise UsageError("--statusline reads the JSON that Claude Code passes to a status line on stdin")
    found = StatusInput()
    for field in msgspec.structs.fields(StatusInput):
        given: Any = value.get(field.name)
        try:
            setattr(found, field.name, msgspec.convert(given, field.type))
        except msgspec.ValidationError:
            continue
    return found


def status_now(
    store: IndexStore,
    given: StatusInput,
    homes: tuple[Path, ...],
    tariff: Tariff,
    *,
    now: datetime | None = None,
    zone: tzinfo | None = None,
) -> UsageStatus:
    """Reads what was appended to the session; other sessions are as they were last read."""
    now = now or datetime.now(UTC)
    session, context = None, None
    if given.transcript_path:
        path = Path(given.transcript_path)
        # A status line does not wait for a process that writes: the next one has what is missing.
        store.connection.execute(f"PRAGMA busy_timeout = {_PATIENCE_MS}")
        sync_session_usage(store, path)
        session, context = _session(store, path, tariff)
    own = given.cost.total_cost_usd if given.cost else None
    window = given.context_window or _Window()
    block = block_at(store, UsageScope(homes, since=now.timestamp() - _LOOK_BACK), now)
    midnight = now.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
    context = window.total_input_tokens or context
    percent = window.used_percentage
    if percent is None and context and window.context_window_size:
        percent = 100 * context / window.context_window_size
    return UsageStatus(
        model=(given.model.display_name or given.model.id) if given.model else None,
        session=round(own * 1_000_000) if own is not None else session,
        is_own_figure=own is not None,
        today=micro_usd(spent_in(store, UsageScope(homes, since=midnight.timestamp()), tariff).cost),
        block=micro_usd(spent_in(store, UsageScope(homes, since=block.timestamp()), tariff).cost) if block else 0,
        block_ends=block + BLOCK if block else None,
        context=context,
        percent=percent,
    )


def _session(store: IndexStore, path: Path, tariff: Tariff) -> tuple[int | None, int | None]:
    """What a session cost by its lines, and the length of its last prompt."""
    rows = store.connection.execute(
        "SELECT n.name, c.flags, c.input, c.output + c.estimated, c.cache_read, c.cache_write_5m, c.cache_write_1h,"
        " c.web_searches, f.agent FROM model_calls c JOIN usage_files f ON f.id = c.file JOIN usage_names n ON n.id = c.model"
        " WHERE f.session = (SELECT session FROM usage_files WHERE path = ?) ORDER BY c.file, c.offset",
        (os.fsencode(path),),
    ).fetchall()
    total, context = 0, None
    for model, flags, *counts, agent in rows:
        tokens = TokenCounts(*counts)
        if agent is None and not flags & SIDECHAIN and tokens.prompt:
            context = tokens.prompt
        if not flags & ABORTED:
            total += tariff.price(tokens, model, is_fast=bool(flags & FAST), is_us=bool(flags & US)) or 0
    return (micro_usd(total) if rows else None), context
