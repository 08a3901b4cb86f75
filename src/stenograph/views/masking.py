"""Pages without secrets: every text of a page is masked once, when the page is made and before anything of it is cut."""

from __future__ import annotations

import operator
from datetime import datetime
from enum import Enum
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from stenograph.redact import Mask, as_is

#: The tag of `pages.transcript.Patch`: lists of sessions do not need that module.
_PATCH = "patch"
_PLAIN = frozenset((type(None), bool, int, float, datetime))
PageType = TypeVar("PageType", bound=Struct)


def mask_page(page: PageType, mask: Mask) -> PageType:
    """A page with every text in it masked; the page itself where nothing is to be masked."""
    if mask is as_is:
        return page
    masked: PageType = _masked(page, mask)
    return masked


def _masked(value: Any, mask: Mask) -> Any:
    kind = value.__class__
    if kind is str:
        return mask(value)
    if kind in _PLAIN or isinstance(value, Enum):
        return value
    if isinstance(value, tuple):
        masked = [_masked(each, mask) for each in value]
        return value if all(map(operator.is_, masked, value)) else tuple(masked)
    if isinstance(value, Struct):
        if value.__struct_config__.tag == _PATCH:
            # As one text: a secret may stand on several lines.
            return replace(value, lines=tuple(mask("\n".join(value.lines)).split("\n")))  # type: ignore[attr-defined]
        # Most members hold no text, or none that changes: a list has tens of thousands.
        members = ((name, getattr(value, name)) for name in value.__struct_fields__)
        changed = {name: new for name, old in members if old.__class__ not in _PLAIN and (new := _masked(old, mask)) is not old}
        return replace(value, **changed) if changed else value
    if isinstance(value, dict | list):
        from stenograph.redact import mask_json

        return mask_json(value, mask)
    return value
