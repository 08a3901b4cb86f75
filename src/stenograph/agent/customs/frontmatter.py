"""Markdown with YAML before it -> members and body, as tolerant as the client: wrong YAML keeps its simple lines.

Files may be anybody's: whatever is in one, reading it ends soon and raises nothing.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

from msgspec import Struct

from stenograph.agent.tools.base import ToolFailed
from stenograph.agent.tools.texts import read_bytes

#: Bytes. Nobody writes more for a model.
_LONGEST = 1_000_000
#: Characters and brackets of YAML. Its reader takes seconds for more.
_LONGEST_FRONT = 20_000
_MOST_BRACKETS = 200
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
        data = read_bytes(path, _LONGEST)
    except (OSError, ToolFailed):
        return None
    text = data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n")
    found = _FRONT.match(text)
    return MarkdownFile(_members(found[1]), text[found.end() :]) if found else MarkdownFile({}, text)


def _members(text: str) -> dict[str, Any]:
    try:
        found = _parsed(text)
    except ValueError:
        # Descriptions often hold a colon, which YAML takes for more structure.
        found = {match[1]: match[2].strip().strip("'\"") for line in text.splitlines() if (match := _SIMPLE.fullmatch(line))}
    return {str(name): value for name, value in found.items()} if isinstance(found, dict) else {}


def _parsed(text: str) -> object:
    """Raises ValueError for what is not YAML, or not for us."""
    import yaml  # type: ignore[import-untyped]  # two calls: not worth a package of stubs

    if len(text) > _LONGEST_FRONT or text.count("[") + text.count("{") > _MOST_BRACKETS:
        raise ValueError("too much")
    try:
        found = yaml.load(text, Loader=_loader())
        str(found)  # a number of thousands of digits can be read and not written
    # Besides its own error, all that Python raises for a date or number that is none, and for what is too deep.
    except (yaml.YAMLError, ArithmeticError, AttributeError, LookupError, RecursionError, TypeError) as error:
        raise ValueError("not YAML") from error
    return found


@functools.cache
def _loader() -> Any:
    import yaml

    class Loader(yaml.SafeLoader):  # type: ignore[misc]  # it has no types
        def compose_node(self, parent: object, index: object) -> object:
            # Ten lines of aliases to aliases become billions of values.
            if self.check_event(yaml.AliasEvent):
                raise yaml.YAMLError("aliases are not read")
            return super().compose_node(parent, index)

    return Loader
