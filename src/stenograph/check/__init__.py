"""Drift, damage and resumability of any session file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stenograph._exports import lazy_exports
from stenograph.check.baseline import Baseline, baseline_of, read_baseline, without, write_baseline
from stenograph.check.codes import DAMAGE, DRIFT, IN_THE_TREE
from stenograph.check.report import CheckReport, DamageFinding, DriftFinding, check

if TYPE_CHECKING:
    from stenograph.check.resumability import Resumability

_MODULES = {
    "resumability": "Resumability",
}

__all__ = [
    "DAMAGE",
    "DRIFT",
    "IN_THE_TREE",
    "Baseline",
    "CheckReport",
    "DamageFinding",
    "DriftFinding",
    "Resumability",
    "baseline_of",
    "check",
    "read_baseline",
    "without",
    "write_baseline",
]

__getattr__, __dir__ = lazy_exports(__name__, _MODULES, __all__)
