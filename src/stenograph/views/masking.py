"""Pages without secrets: every text of a page is masked once, when the page is made and before anything of it is cut."""

from __future__ import annotations

from enum import Enum
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from stenograph.redact import Mask, as_is

#: The tag of `pages.transcript.Patch`: lists of sessions do not need that module.
_PATCH = "patch"
PageType = TypeVar("PageType", bound=Struct)


def mask_page(page: PageType, mask: Mask) -> PageType:
    """A copy of a page with every text in it masked; the page itself where nothing is to be masked."""
    if mask is as_is:
        return page
    masked: PageType = _masked(page, mask)
    return masked


def _masked(value: Any, mask: Mask) -> Any:
    if isinstance(value, Enum):
        return value
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, tuple):
        return tuple([_masked(each, mask) for each in value])
    if isinstance(value, Struct):
        if value.__struct_config__.tag == _PATCH:
            # As one text: a secret may stand on several lines.
            return replace(value, lines=tuple(mask("\n".join(value.lines)).split("\n")))  # type: ignore[attr-defined]
        return replace(value, **{name: _masked(getattr(value, name), mask) for name in value.__struct_fields__})
    if isinstance(value, dict | list):
        from stenograph.redact import mask_json

        return mask_json(value, mask)
    return value
