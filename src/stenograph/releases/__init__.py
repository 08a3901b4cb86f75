"""Client releases: what changed in which one, and how to compare them. Nothing else names a release."""

from stenograph.releases.numbers import NEWEST, OLD, PROVED, newest_rules_note, release_numbers, rules_note
from stenograph.releases.table import TABLE, Behavior, Since, first_with, stages, value_of

__all__ = [
    "NEWEST",
    "OLD",
    "PROVED",
    "TABLE",
    "Behavior",
    "Since",
    "first_with",
    "newest_rules_note",
    "release_numbers",
    "rules_note",
    "stages",
    "value_of",
]
