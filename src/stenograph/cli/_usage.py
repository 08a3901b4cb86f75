"""What `usage`, `stats` and `waste` share: the synced table of calls, time zones and ranges of time."""

from __future__ import annotations

import os
import time
from functools import partial
from typing import TYPE_CHECKING

import click

from stenograph.cli._index import archived_if_any, keep_if_set
from stenograph.cli._output import progress
from stenograph.cli._settings import state_options
from stenograph.errors import UsageError, in_quotes

if TYPE_CHECKING:
    from datetime import tzinfo

    from stenograph.index import IndexStore, UsageSync


def synced_usage(ctx: click.Context) -> tuple[IndexStore, UsageSync]:
    """The index with its calls brought up to date, those of archived sessions included. The demo leaves none behind."""
    from stenograph.index import open_store, store_path, sync_usage

    begun = time.monotonic()
    settings = state_options(ctx)
    store = open_store(None if settings.demo else store_path(os.environ))
    archived = archived_if_any(ctx, store)
    with progress("Reading usage") as show:
        report = sync_usage(store, settings.homes, archived=archived, progress=show)
    keep_if_set(settings, begun)
    return store, report


def parse_zone(name: str | None) -> tzinfo | None:
    """Raises UsageError."""
    if name is None:
        return None
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise UsageError(f"unknown time zone {in_quotes(name)}; use a name such as Europe/Berlin or UTC") from None


def moments(since: str | None, until: str | None, zone: tzinfo | None) -> tuple[float | None, float | None]:
    """Raises UsageError."""
    if since is None and until is None:
        return None, None
    from datetime import datetime

    from stenograph.cli._arguments import moment_of

    parse = partial(moment_of, now=datetime.now(zone).astimezone(zone), zone=zone)
    start, stop = None if since is None else parse(since), None if until is None else parse(until)
    if start is not None and stop is not None and start > stop:
        raise UsageError("--since must be before --until")
    return start, stop
