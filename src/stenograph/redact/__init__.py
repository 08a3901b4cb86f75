"""Find and mask secrets in text.

In: any text. Out: where secrets stand in it, or the text with placeholders in their places. Knows key formats, not transcripts.
"""

from stenograph.redact.mask import Mask, Masker, Secret, as_is, find_secrets, mask, mask_json
from stenograph.redact.rules import RULES, SecretRule

__all__ = ["RULES", "Mask", "Masker", "Secret", "SecretRule", "as_is", "find_secrets", "mask", "mask_json"]
