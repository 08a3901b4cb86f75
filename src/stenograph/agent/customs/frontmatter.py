"""Markdown with YAML before it -> members and body, as tolerant as the client: wrong YAML keeps its simple lines."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from msgspec import Struct

#: Bytes. Nobody writes more for a model.
_LONGEST = 1_000_000
_FRONT = re.compile(r"---[ \t]*\n(.*?)\n?---[ \t]*(?:\n|\Z)", re.DOTALL)
_SIMPLE = re.compile(r"([\w-]+):[ \t]+(.+)")


class MarkdownFile(Struct, frozen=True):
    members: dict[str, Any]
    body: str

    def text(self, name: str) -> str:
        value = self.members.get(name)
        return "" if value is None or isinstance(value, dict | list) else str(value).strip()

    def names(self, name: str) -> list[str] | None:
        """A list, or names with commas between; None if it is absent."""
        value = self.members.get(name)
        if value is None:
            return None
        from stenograph.agent.permissions.rules import split_rules

        return [str(one) for one in value] if isinstance(value, list) else split_rules(str(value))

    def is_set(self, name: str, *, default: bool = False) -> bool:
        value = self.members.get(name, default)
        return value if isinstance(value, bool) else str(value).lower() == "true"


def read_document(path: Path) -> MarkdownFile | None:
    """None if it can't be read."""
    try:
        with path.open("rb") as file:
            text = file.read(_LONGEST).decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n")
    except OSError:
        return None
    found = _FRONT.match(text)
    return MarkdownFile(_members(found[1]), text[found.end() :]) if found else MarkdownFile({}, text)


def _members(text: str) -> dict[str, Any]:
    import yaml  # type: ignore[import-untyped]  # one call: not worth a package of stubs

    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError:
        # Descriptions often hold a colon, which YAML takes for more structure.
        found = {match[1]: match[2].strip().strip("'\"") for line in text.splitlines() if (match := _SIMPLE.fullmatch(line))}
    return {str(name): value for name, value in found.items()} if isinstance(found, dict) else {}
