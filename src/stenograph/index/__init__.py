"""The embedded store: which sessions there are, where their turns and tool calls are, and the full text of every line."""

from __future__ import annotations

from stenograph.index.catalogue import CatalogueRow, StoredTurn, catalogue, stored_turns
from stenograph.index.find import Filter, Found, Hit, HitLine, highlight, scan, search
from stenograph.index.history import Touch, file_history
from stenograph.index.model_calls import (
    ABORTED,
    ADVISOR,
    COPY,
    FAST,
    FINISHED,
    SIDECHAIN,
    US,
    UsageSync,
    sync_session_usage,
    sync_usage,
)
from stenograph.index.opening import OpenedSession, StoredBranch, open_session
from stenograph.index.picking import Pick, PickList, Picks
from stenograph.index.query import Query, parse_query
from stenograph.index.session_facts import FactsPlace, facts_places, keep_facts
from stenograph.index.sources import FilePart, IndexedFile
from stenograph.index.store import IndexStore, discard_store, knows_home, open_store, store_path
from stenograph.index.tapes import Tick, session_ticks
from stenograph.index.texts import TextKind
from stenograph.index.update import SyncReport, sync

__all__ = [
    "ABORTED",
    "ADVISOR",
    "COPY",
    "FAST",
    "FINISHED",
    "SIDECHAIN",
    "US",
    "CatalogueRow",
    "FactsPlace",
    "FilePart",
    "Filter",
    "Found",
    "Hit",
    "HitLine",
    "IndexStore",
    "IndexedFile",
    "OpenedSession",
    "Pick",
    "PickList",
    "Picks",
    "Query",
    "StoredBranch",
    "StoredTurn",
    "SyncReport",
    "TextKind",
    "Tick",
    "Touch",
    "UsageSync",
    "catalogue",
    "discard_store",
    "facts_places",
    "file_history",
    "highlight",
    "keep_facts",
    "knows_home",
    "open_session",
    "open_store",
    "parse_query",
    "scan",
    "search",
    "session_ticks",
    "store_path",
    "stored_turns",
    "sync",
    "sync_session_usage",
    "sync_usage",
]
