"""Session text -> span text: secrets masked, each kind of text off or cut to a length."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stenograph.config import Content
from stenograph.records import to_text
from stenograph.redact import Masker, mask_json

#: Read beyond the cut, so that a secret across it is masked whole.
_MARGIN = 4_096


class Texts:
    def __init__(self, content: Content, masker: Masker | None) -> None:
        self._content = content
        self._masker = masker

    def prompt(self, text: str) -> str:
        return self._shorten(text, self._content.prompts)

    def answer(self, text: str) -> str:
        return self._shorten(text, self._content.answers)

    def thinking(self, text: str) -> str:
        return self._shorten(text, self._content.thinking)

    def tool_output(self, text: str) -> str:
        return self._shorten(text, self._content.tool_outputs)

    def tool_input(self, given: Mapping[str, Any]) -> str:
        """As JSON, each string cut; then all of it, if still far too long."""
        limit = self._content.tool_inputs
        if not limit:
            return ""
        shortened = mask_json(given, lambda text, name="": self._shorten(text, limit, name))
        return _cut(to_text(shortened).decode("utf-8", "replace"), 2 * limit)

    def name(self, text: str) -> str:
        """Of a tool, a model or a directory: never switched off, but masked."""
        return self._shorten(text, 500)

    def _shorten(self, text: str, limit: int, name: str = "") -> str:
        if not limit or not text:
            return ""
        looked_at = text if len(text) <= limit + _MARGIN else text[: limit + _MARGIN]
        masked = self._masker.mask(looked_at, name) if self._masker else looked_at
        return masked if len(masked) <= limit and looked_at is text else _cut(masked, limit, len(text) - len(looked_at))


def _cut(text: str, limit: int, unseen: int = 0) -> str:
    more = max(0, len(text) - limit) + unseen
    return f"{text[:limit]} [… {more:,} characters more]" if more else text
