"""Client releases: what changed in which one, and how to compare them. Nothing else names a release."""

from stenograph.releases.numbers import NEWEST, OLD, PROVED, Rules, release_numbers, rules_for, rules_note
from stenograph.releases.table import TABLE, Behavior, Since, first_with, stages, value_of

__all__ = [
    "NEWEST",
    "OLD",
    "PROVED",
    "TABLE",
    "Behavior",
    "Rules",
    "Since",
    "first_with",
    "release_numbers",
    "rules_for",
    "rules_note",
    "stages",
    "value_of",
]
