"""Tallies -> what was seen of each release, summed up: the evidence that the registry is made from.

In: forms of one release, from recordings or from public sessions. Out: how many objects were met at every place, and how many
of them had each field, with which JSON types. It can be written to a file and read again, so that a corpus needs not be at
hand to make the registry. Names of keys only, never a value.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from stenograph.drift.freedom import ANY_KEY, ELEMENT
from stenograph.drift.shapes import Form


class FieldEvidence(msgspec.Struct, array_like=True):
    #: Objects that had the field; for the elements of arrays and maps, those that were not empty.
    count: int = 0
    types: dict[str, int] = {}


class PlaceEvidence(msgspec.Struct, array_like=True):
    """The objects met at one path of a shape."""

    count: int = 0
    fields: dict[str, FieldEvidence] = {}


#: Shape -> path inside it -> what was met there.
Evidence = dict[str, dict[str, PlaceEvidence]]


def add_forms(evidence: Evidence, forms: Iterable[Form]) -> None:
    for form in forms:
        place = evidence.setdefault(form.shape, {}).setdefault(form.path, PlaceEvidence())
        if ELEMENT not in form.fields and ANY_KEY not in form.fields:
            place.count += form.count
        for name, types in form.fields.items():
            field = place.fields.setdefault(name, FieldEvidence())
            field.count += form.count
            for kind in types:
                field.types[kind] = field.types.get(kind, 0) + form.count
