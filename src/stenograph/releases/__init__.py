"""Client releases: what changed in which one, and how to compare them. Nothing else names a release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stenograph._exports import lazy_exports

if TYPE_CHECKING:
    from stenograph.releases.names import KINDS
    from stenograph.releases.numbers import NEWEST, OLD, PROVED, newest_rules_note, release_numbers, rules_note
    from stenograph.releases.table import TABLE, ReleaseBehavior, Since, first_with, stages, value_of, writes_stop_reasons
    from stenograph.releases.words import own_kinds, phrases_of

_MODULES = {
    "names": "KINDS",
    "numbers": "NEWEST OLD PROVED newest_rules_note release_numbers rules_note",
    "table": "TABLE ReleaseBehavior Since first_with stages value_of writes_stop_reasons",
    "words": "own_kinds phrases_of",
}

__all__ = [
    "KINDS",
    "NEWEST",
    "OLD",
    "PROVED",
    "TABLE",
    "ReleaseBehavior",
    "Since",
    "first_with",
    "newest_rules_note",
    "own_kinds",
    "phrases_of",
    "release_numbers",
    "rules_note",
    "stages",
    "value_of",
    "writes_stop_reasons",
]

__getattr__, __dir__ = lazy_exports(__name__, _MODULES, __all__)
