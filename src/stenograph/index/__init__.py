"""The embedded store: which sessions there are, where their turns and tool calls are, and a full-text index of every line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stenograph._exports import lazy_exports

if TYPE_CHECKING:
    from stenograph.index.agent_types import UntypedCall, keep_agent_types, untyped_calls
    from stenograph.index.call_flags import ABORTED, ADVISOR, AGENT, COPY, FAST, FINISHED, SIDECHAIN, US
    from stenograph.index.call_scan import ModelCall, call_key, calls_in
    from stenograph.index.catalogue import CatalogueRow, StoredTurn, known_glances, list_catalogue, stored_turns, turn_lines
    from stenograph.index.conditions import Filter
    from stenograph.index.counting import counted_in
    from stenograph.index.facets import Facets, count_facets
    from stenograph.index.find import Found, Hit, HitLine, scan, search
    from stenograph.index.highlights import Sought, highlight
    from stenograph.index.history import Touch, file_history
    from stenograph.index.kinds import KINDS_BY_NAME, TextKind
    from stenograph.index.model_calls import UsageSync, sync_session_usage, sync_usage
    from stenograph.index.opening import StoredBranch, StoredSession, open_session
    from stenograph.index.patterns import BoundedPattern
    from stenograph.index.picking import Pick, PickFilter, PickList, Picks
    from stenograph.index.query import Query, parse_query
    from stenograph.index.session_facts import FactsPlace, copied_calls, facts_places, keep_facts
    from stenograph.index.sources import FilePart, IndexedFile
    from stenograph.index.store import IndexStore, discard_store, knows_home, open_store, store_path
    from stenograph.index.tapes import Cast, Tick, session_casts, session_ticks
    from stenograph.index.tokens import forms_of
    from stenograph.index.update import SyncReport, sync
    from stenograph.index.usage_days import NO_DAY, keep_days, kept_days

_MODULES = {
    "agent_types": "UntypedCall keep_agent_types untyped_calls",
    "call_flags": "ABORTED ADVISOR AGENT COPY FAST FINISHED SIDECHAIN US",
    "call_scan": "ModelCall call_key calls_in",
    "catalogue": "CatalogueRow StoredTurn known_glances list_catalogue stored_turns turn_lines",
    "facets": "Facets count_facets",
    "conditions": "Filter",
    "counting": "counted_in",
    "find": "Found Hit HitLine scan search",
    "highlights": "Sought highlight",
    "history": "Touch file_history",
    "model_calls": "UsageSync sync_session_usage sync_usage",
    "opening": "StoredBranch StoredSession open_session",
    "patterns": "BoundedPattern",
    "picking": "Pick PickFilter PickList Picks",
    "query": "Query parse_query",
    "session_facts": "FactsPlace copied_calls facts_places keep_facts",
    "sources": "FilePart IndexedFile",
    "store": "IndexStore discard_store knows_home open_store store_path",
    "tapes": "Cast Tick session_casts session_ticks",
    "tokens": "forms_of",
    "kinds": "KINDS_BY_NAME TextKind",
    "update": "SyncReport sync",
    "usage_days": "NO_DAY keep_days kept_days",
}

__all__ = [
    "ABORTED",
    "ADVISOR",
    "AGENT",
    "COPY",
    "FAST",
    "FINISHED",
    "KINDS_BY_NAME",
    "NO_DAY",
    "SIDECHAIN",
    "US",
    "BoundedPattern",
    "Cast",
    "CatalogueRow",
    "Facets",
    "FactsPlace",
    "FilePart",
    "Filter",
    "Found",
    "Hit",
    "HitLine",
    "IndexStore",
    "IndexedFile",
    "ModelCall",
    "Pick",
    "PickFilter",
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
    "UntypedCall",
    "UsageSync",
    "call_key",
    "calls_in",
    "copied_calls",
    "count_facets",
    "counted_in",
    "discard_store",
    "facts_places",
    "file_history",
    "forms_of",
    "highlight",
    "keep_agent_types",
    "keep_days",
    "keep_facts",
    "kept_days",
    "known_glances",
    "knows_home",
    "list_catalogue",
    "open_session",
    "open_store",
    "parse_query",
    "scan",
    "search",
    "session_casts",
    "session_ticks",
    "store_path",
    "stored_turns",
    "sync",
    "sync_session_usage",
    "sync_usage",
    "turn_lines",
    "untyped_calls",
]

__getattr__, __dir__ = lazy_exports(__name__, _MODULES, __all__)
