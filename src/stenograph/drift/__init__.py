"""What releases write, as recorded, and how a file differs from that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stenograph._exports import lazy_exports
from stenograph.drift.judge import Drift, judge, merge, release_order
from stenograph.drift.registry import Registry, load_registry
from stenograph.drift.shapes import Form, ShapeTally

if TYPE_CHECKING:
    from stenograph.drift.judge import MISSING_FIELD, NEW_FIELD, TYPE_MISMATCH, UNKNOWN_TYPE
    from stenograph.drift.schema import diff_schemas, json_schema, markdown, schema_of

_MODULES = {
    "judge": "MISSING_FIELD NEW_FIELD TYPE_MISMATCH UNKNOWN_TYPE",
    "schema": "diff_schemas json_schema markdown schema_of",
}

__all__ = [
    "MISSING_FIELD",
    "NEW_FIELD",
    "TYPE_MISMATCH",
    "UNKNOWN_TYPE",
    "Drift",
    "Form",
    "Registry",
    "ShapeTally",
    "diff_schemas",
    "json_schema",
    "judge",
    "load_registry",
    "markdown",
    "merge",
    "release_order",
    "schema_of",
]

__getattr__, __dir__ = lazy_exports(__name__, _MODULES, __all__)
