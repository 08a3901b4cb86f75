"""The index as commands get it: brought up to date, with progress, and with a note where there was no time for all of it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from stenograph.cli._messages import echo_note
from stenograph.cli._output import progress
from stenograph.cli._settings import state_options

if TYPE_CHECKING:
    from stenograph.index import IndexStore, SyncReport

# How long a command waits for a store that exists to be brought up to date, in seconds.
_PATIENCE = 0.3


def synced_store(ctx: click.Context) -> tuple[IndexStore, SyncReport]:
    """The index, brought up to date; one that exists within the time that a command may wait. The demo leaves none behind."""
    from stenograph.index import knows_home, open_store, store_path, sync

    settings = state_options(ctx)
    store = open_store(None if settings.demo else store_path(os.environ))
    is_warm = all(knows_home(store, home) for home in settings.homes)
    with progress("Indexing") as show:
        report = sync(store, settings.homes, seconds=_PATIENCE if is_warm else None, progress=show)
    if report.pending:
        echo_note(f"{report.pending:,} changed files are not indexed yet", hint="run the command again")
    return store, report
