"""One frozen page value per question, rendered to a terminal or encoded as JSON.

In: library values. Out: pages (`views.pages`), their lines for a terminal (`views.terminal`), their JSON and its schema. Knows
nothing of commands, pagers and options.

Names are imported when first used: who wants `stenograph.views.text` alone gets nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stenograph.views.encode import encode_page
    from stenograph.views.masking import mask_page
    from stenograph.views.schema import documents, json_schema
    from stenograph.views.terminal.options import RenderOptions

_HOMES = {
    "RenderOptions": "terminal.options",
    "documents": "schema",
    "encode_page": "encode",
    "json_schema": "schema",
    "mask_page": "masking",
}

__all__ = ["RenderOptions", "documents", "encode_page", "json_schema", "mask_page"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'stenograph.views' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"stenograph.views.{_HOMES[name]}"), name)
