"""Find and mask secrets in text.

In: any text. Out: where secrets stand in it, or the text with placeholders in their places. Knows key formats, not transcripts.
"""

from stenograph.redact.mask import Masker, Secret, find_secrets, mask, mask_json
from stenograph.redact.rules import RULES, SecretRule

__all__ = ["RULES", "Masker", "Secret", "SecretRule", "find_secrets", "mask", "mask_json"]
