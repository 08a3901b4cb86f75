"""Edits of sessions as data: a plan that can be printed and checked, then files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stenograph._exports import lazy_exports
from stenograph.surgery.apply import Attempt, apply, attempt
from stenograph.surgery.edits import (
    AnyEdit,
    Compress,
    DropAgents,
    DropBookkeeping,
    DropBranches,
    DropImages,
    DropToolCalls,
    DropTurns,
    MakePortable,
    Selector,
    StripThinking,
    TruncateResults,
    refuse_idle_selectors,
)
from stenograph.surgery.plan import EditEffect, Plan, is_saved_by_portability, make_plan
from stenograph.surgery.preview import Preview, preview

if TYPE_CHECKING:
    from stenograph.surgery.clone import ClonePlan, apply_clone, plan_clone
    from stenograph.surgery.verify import LossChange, ReleaseOutcome, of_newest

_MODULES = {
    "clone": "ClonePlan apply_clone plan_clone",
    "verify": "LossChange ReleaseOutcome of_newest",
}

__all__ = [
    "AnyEdit",
    "Attempt",
    "ClonePlan",
    "Compress",
    "DropAgents",
    "DropBookkeeping",
    "DropBranches",
    "DropImages",
    "DropToolCalls",
    "DropTurns",
    "EditEffect",
    "LossChange",
    "MakePortable",
    "Plan",
    "Preview",
    "ReleaseOutcome",
    "Selector",
    "StripThinking",
    "TruncateResults",
    "apply",
    "apply_clone",
    "attempt",
    "is_saved_by_portability",
    "make_plan",
    "of_newest",
    "plan_clone",
    "preview",
    "refuse_idle_selectors",
]

__getattr__, __dir__ = lazy_exports(__name__, _MODULES, __all__)
