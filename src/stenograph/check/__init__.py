"""Drift, damage and resumability of any session file."""

from stenograph.check.baseline import Baseline, baseline_of, read_baseline, without, write_baseline
from stenograph.check.codes import DAMAGE, DRIFT
from stenograph.check.report import DamageFinding, DriftFinding, Report, check

__all__ = [
    "DAMAGE",
    "DRIFT",
    "Baseline",
    "DamageFinding",
    "DriftFinding",
    "Report",
    "baseline_of",
    "check",
    "read_baseline",
    "without",
    "write_baseline",
]
