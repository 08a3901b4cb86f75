"""Edits of sessions as data: a plan that can be printed and checked, then files."""

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
    StripThinking,
    TruncateResults,
    Which,
)
from stenograph.surgery.plan import Done, Plan, make_plan
from stenograph.surgery.preview import Preview, preview

__all__ = [
    "AnyEdit",
    "Attempt",
    "Compress",
    "Done",
    "DropAgents",
    "DropBookkeeping",
    "DropBranches",
    "DropImages",
    "DropToolCalls",
    "DropTurns",
    "MakePortable",
    "Plan",
    "Preview",
    "StripThinking",
    "TruncateResults",
    "Which",
    "apply",
    "attempt",
    "make_plan",
    "preview",
]
