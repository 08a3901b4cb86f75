"""The embedded store: which sessions there are, where their turns and tool calls are, and the full text of every line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stenograph._exports import lazy_exports

if TYPE_CHECKING:
    from stenograph.index.catalogue import CatalogueRow, StoredTurn, list_catalogue, stored_turns
    from stenograph.index.find import Filter, Found, Hit, HitLine, Sought, highlight, scan, search
    from stenograph.index.history import Touch, file_history
    from stenograph.index.model_calls import (
        ABORTED,
        ADVISOR,
        AGENT,
        COPY,
        FAST,
        FINISHED,
        SIDECHAIN,
        US,
        UsageSync,
        call_key,
        sync_session_usage,
        sync_usage,
    )
    from stenograph.index.opening import StoredBranch, StoredSession, open_session
    from stenograph.index.patterns import BoundedPattern
    from stenograph.index.picking import Pick, PickList, Picks
    from stenograph.index.query import Query, parse_query
    from stenograph.index.session_facts import FactsPlace, facts_places, keep_facts
    from stenograph.index.sources import FilePart, IndexedFile
    from stenograph.index.store import IndexStore, discard_store, knows_home, open_store, store_path
    from stenograph.index.tapes import Tick, session_ticks
    from stenograph.index.texts import TextKind
    from stenograph.index.update import SyncReport, sync

_MODULES = {
    "call_key": "model_calls",
    "ABORTED": "model_calls",
    "ADVISOR": "model_calls",
    "AGENT": "model_calls",
    "BoundedPattern": "patterns",
    "CatalogueRow": "catalogue",
    "COPY": "model_calls",
    "discard_store": "store",
    "facts_places": "session_facts",
    "FactsPlace": "session_facts",
    "FAST": "model_calls",
    "file_history": "history",
    "FilePart": "sources",
    "Filter": "find",
    "FINISHED": "model_calls",
    "Found": "find",
    "highlight": "find",
    "Hit": "find",
    "HitLine": "find",
    "IndexedFile": "sources",
    "IndexStore": "store",
    "keep_facts": "session_facts",
    "knows_home": "store",
    "list_catalogue": "catalogue",
    "open_session": "opening",
    "open_store": "store",
    "Sought": "find",
    "StoredSession": "opening",
    "parse_query": "query",
    "Pick": "picking",
    "PickList": "picking",
    "Picks": "picking",
    "Query": "query",
    "scan": "find",
    "search": "find",
    "session_ticks": "tapes",
    "SIDECHAIN": "model_calls",
    "store_path": "store",
    "stored_turns": "catalogue",
    "StoredBranch": "opening",
    "StoredTurn": "catalogue",
    "sync": "update",
    "sync_session_usage": "model_calls",
    "sync_usage": "model_calls",
    "SyncReport": "update",
    "TextKind": "texts",
    "Tick": "tapes",
    "Touch": "history",
    "US": "model_calls",
    "UsageSync": "model_calls",
}

__all__ = [
    "ABORTED",
    "ADVISOR",
    "AGENT",
    "COPY",
    "FAST",
    "FINISHED",
    "SIDECHAIN",
    "US",
    "BoundedPattern",
    "CatalogueRow",
    "FactsPlace",
    "FilePart",
    "Filter",
    "Found",
    "Hit",
    "HitLine",
    "IndexStore",
    "IndexedFile",
    "Pick",
    "PickList",
    "Picks",
    "Query",
    "Sought",
    "StoredBranch",
    "StoredSession",
    "StoredTurn",
    "SyncReport",
    "TextKind",
    "Tick",
    "Touch",
    "UsageSync",
    "call_key",
    "discard_store",
    "facts_places",
    "file_history",
    "highlight",
    "keep_facts",
    "knows_home",
    "list_catalogue",
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

__getattr__, __dir__ = lazy_exports(__name__, _MODULES, __all__)
