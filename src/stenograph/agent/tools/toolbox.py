"""The tools of a conversation: definitions always in the same bytes, a tool by any of its names, a checked input."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import msgspec

from stenograph.agent.tools.base import Tool, ToolInput, failed_use
from stenograph.records import Json

AnyTool = Tool[Any]


class Toolbox:
    def __init__(self, tools: Iterable[AnyTool], *, disabled: Iterable[str] = ()) -> None:
        self._tools = list(tools)
        #: Names that a rule denies as a whole.
        self._disabled = frozenset(disabled)
        self._by_name = {name: tool for tool in self._tools for name in (*tool.also_called, tool.name)}

    @property
    def names(self) -> list[str]:
        return [tool.name for tool in self._tools]

    @functools.cached_property
    def definitions(self) -> list[Json]:
        return [_definition(tool) for tool in self._tools]

    def find(self, name: str) -> AnyTool:
        """Raises ToolFailed."""
        tool = self._by_name.get(name)
        if tool is None:
            why = f". {name} is disabled for this session, in subagents as well as here." if name in self._disabled else ""
            raise failed_use(f"Error: No such tool available: {name}{why}")
        return tool

    def is_parallel(self, name: str, given: Json) -> bool:
        """Unknown tools are: they only fail."""
        tool = self._by_name.get(name)
        return tool is None or tool.is_safe_beside_others(given)

    def only(self, names: Iterable[str]) -> Toolbox:
        wanted = set(names)
        return Toolbox((tool for tool in self._tools if tool.name in wanted), disabled=self._disabled)

    def without(self, names: Iterable[str]) -> Toolbox:
        unwanted = set(names)
        kept = (tool for tool in self._tools if tool.name not in unwanted and not unwanted & set(tool.also_called))
        return Toolbox(kept, disabled=self._disabled | unwanted)


def checked_input(tool: AnyTool, given: Json) -> ToolInput:
    """Raises ToolFailed in words that help the model."""
    spelled = {tool.also_spelled.get(name, name): value for name, value in given.items()}
    try:
        # Models write numbers and booleans as strings now and then.
        converted: ToolInput = msgspec.convert(spelled, tool.input_type, strict=False)
    except msgspec.ValidationError as error:
        raise failed_use(f"InputValidationError: {tool.name} failed: {error}") from None
    return converted


def _definition(tool: AnyTool) -> Json:
    _, components = msgspec.json.schema_components([tool.input_type])
    schema = _inlined(components[tool.input_type.__name__], components)
    members = {name: value for name, value in schema.items() if name != "title"}
    members["properties"] = {name: value for name, value in members["properties"].items() if name not in tool.not_offered}
    return {"name": tool.name, "description": tool.description(), "input_schema": {**members, "additionalProperties": False}}


def _inlined(schema: Any, components: Json) -> Any:
    """Without references: not every endpoint follows them."""
    if isinstance(schema, list):
        return [_inlined(one, components) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        named = components[schema["$ref"].rpartition("/")[2]]
        return {name: _inlined(value, components) for name, value in named.items() if name != "title"}
    return {name: _inlined(value, components) for name, value in schema.items()}
