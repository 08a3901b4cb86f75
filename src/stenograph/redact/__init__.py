"""Find and mask secrets in text.

In: any text. Out: where secrets stand in it, or the text with placeholders in their places. Knows key formats, not transcripts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stenograph._exports import lazy_exports

if TYPE_CHECKING:
    from stenograph.redact.finding import Masker, Secret, find_secrets, mask, mask_json
    from stenograph.redact.masks import Mask, as_is
    from stenograph.redact.rule import SecretRule
    from stenograph.redact.rules import RULES

_MODULES = {
    "finding": "Masker Secret find_secrets mask mask_json",
    "masks": "Mask as_is",
    "rule": "SecretRule",
    "rules": "RULES",
}

__all__ = ["RULES", "Mask", "Masker", "Secret", "SecretRule", "as_is", "find_secrets", "mask", "mask_json"]

__getattr__, __dir__ = lazy_exports(__name__, _MODULES, __all__)
