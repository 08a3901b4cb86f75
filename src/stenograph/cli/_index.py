"""The index as commands get it: brought up to date, with progress, and with a note where there was no time for all of it."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stenograph.cli._catalog import catalog_of
from stenograph.cli._messages import echo_note
from stenograph.cli._output import progress
from stenograph.cli._settings import Settings, state_options
from stenograph.config import archive_folder

if TYPE_CHECKING:
    from stenograph.catalog import Catalog
    from stenograph.index import IndexedFile, IndexStore, SyncReport

# How long a command waits for a store that exists to be brought up to date, in seconds.
_PATIENCE = 0.3
# What is left of it for the archive, at least.
_LEAST = 0.05


def known_store(ctx: click.Context) -> IndexStore | None:
    """The index where there is one, or the demo's; nothing is built for a list."""
    from stenograph.index import open_store, store_path

    path = None if state_options(ctx).demo else store_path(os.environ)
    if path is not None and not os.path.exists(path):  # noqa: PTH110 - Path.exists raises without rights
        return None
    return open_store(path)


def knows_texts(ctx: click.Context, store: IndexStore) -> bool:
    """Whether the index has the sessions, brought up to date as far as a list can wait for it."""
    from stenograph.index import knows_home, sync

    settings = state_options(ctx)
    if not settings.demo and not all(knows_home(store, home) for home in settings.homes):
        return False
    sync(store, settings.homes, seconds=_PATIENCE)
    return True


def knows_costs(ctx: click.Context, store: IndexStore) -> bool:
    """Whether the index has every call, brought up to date as far as a list can wait for it."""
    from stenograph.index import sync_usage

    archived = archived_if_any(ctx, store)
    return not sync_usage(store, state_options(ctx).homes, archived=archived, seconds=_PATIENCE).pending


def copies_of(ctx: click.Context, path: Path) -> frozenset[int]:
    """The keys of a session's calls that count in another session, as far as the index knows."""
    from stenograph.index import copied_calls

    store = known_store(ctx)
    if store is None or (state_options(ctx).demo and not knows_costs(ctx, store)):
        return frozenset()
    return copied_calls(store, path, state_options(ctx).homes)


def synced_store(ctx: click.Context) -> tuple[IndexStore, SyncReport]:
    """The index, brought up to date; one that exists within the time that a command may wait. The demo leaves none behind."""
    from stenograph.index import knows_home, open_store, store_path, sync

    begun = time.monotonic()
    settings = state_options(ctx)
    store = open_store(None if settings.demo else store_path(os.environ))
    catalog = catalog_of(ctx)
    store.place_of = catalog.place_of
    is_warm = all(knows_home(store, home) for home in settings.homes)
    with progress("Indexing") as show:
        report = sync(
            store,
            settings.homes,
            archived=archived_files(catalog),
            seconds=_PATIENCE if is_warm else None,
            progress=show,
        )
    keep_if_set(settings, begun)
    if report.pending:
        echo_note(f"{report.pending:,} changed files are not indexed yet", hint="run the command again")
    return store, report


def archived_if_any(ctx: click.Context, store: IndexStore) -> list[IndexedFile]:
    """As `archived_files`, and lets the store read them; most users have no archive, and nothing is loaded for them."""
    folder = None if state_options(ctx).demo else archive_folder(os.environ)
    if folder is None or not os.path.isdir(folder):  # noqa: PTH112 - Path.is_dir raises without rights
        return []
    catalog = catalog_of(ctx)
    store.place_of = catalog.place_of
    return archived_files(catalog)


def archived_files(catalog: Catalog) -> list[IndexedFile]:
    """The files that only the archive has; an unreadable archive stops no answer."""
    from stenograph.cli._messages import echo_warning
    from stenograph.errors import DiskError

    try:
        return catalog.archived_files()
    except DiskError as error:
        echo_warning("archived sessions are left out", why=str(error))
        return []


def keep_if_set(settings: Settings, begun: float) -> None:
    """Keep sessions in the archive if the config file says so: all of them the first time, later for what is left of the time."""
    if not settings.config.archive.keep or settings.demo:
        return
    from stenograph.archive import default_archive_folder, keep_sessions, open_kept
    from stenograph.cli._messages import echo_warning
    from stenograph.errors import BusyError, StenographError

    seconds = max(_LEAST, _PATIENCE - (time.monotonic() - begun))
    try:
        folder = default_archive_folder(os.environ)
        store = open_kept(folder)
        if store is not None:
            store.close()
        with progress("Archiving") as show:
            keep_sessions(folder, settings.homes, seconds=seconds if store is not None else None, patience=seconds, progress=show)
    except BusyError:
        pass  # another process keeps them
    except StenographError as error:  # no reason not to answer
        echo_warning("sessions were not kept", why=str(error))
