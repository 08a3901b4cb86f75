"""What releases write, as it was recorded from them, and how a file differs from that."""

from stenograph.drift.judge import Drift, judge, merge
from stenograph.drift.registry import Registry, load_registry
from stenograph.drift.shapes import Form, Tally

__all__ = ["Drift", "Form", "Registry", "Tally", "judge", "load_registry", "merge"]
