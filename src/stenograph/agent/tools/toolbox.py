"""The tools of a conversation: definitions always in the same bytes, a tool by any of its names."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any

from stenograph.agent.tools.base import Tool, failed_use
from stenograph.records import Json

AnyTool = Tool[Any]


class Toolbox:
    def __init__(self, tools: Iterable[AnyTool], *, disabled: Iterable[str] = ()) -> None:
        self._tools: list[AnyTool] = []
        #: Names that a rule denies as a whole.
        self._disabled = frozenset(disabled)
        #: Tools that other conversations of the session have.
        self._elsewhere: frozenset[str] = frozenset()
        self._by_name: dict[str, AnyTool] = {}
        self._by_lower_name: dict[str, AnyTool] = {}
        self.add(tools)

    def add(self, tools: Iterable[AnyTool]) -> None:
        """Behind the others: the endpoint's cache starts with these."""
        for tool in tools:
            self._tools.append(tool)
            for name in (*tool.also_called, tool.name):
                self._by_name[name] = self._by_lower_name[name.lower()] = tool
        self.__dict__.pop("definitions", None)

    def remove(self, names: Iterable[str]) -> None:
        gone = set(names)
        kept = [tool for tool in self._tools if tool.name not in gone]
        for held in (self._tools, self._by_name, self._by_lower_name):
            held.clear()
        self.add(kept)

    def remove_of(self, server: str) -> None:
        """The tools of an MCP server, and those that read from all of them."""
        self.remove([tool.name for tool in self._tools if tool.server in (server, "")])

    @property
    def tools(self) -> list[AnyTool]:
        return list(self._tools)

    @property
    def names(self) -> list[str]:
        return [tool.name for tool in self._tools]

    @functools.cached_property
    def definitions(self) -> list[Json]:
        return [tool.definition() for tool in self._tools]

    def spelled(self, name: str) -> str:
        """A tool's name as the model should have written it. Small models often write `bash`, which 2.1.325 refuses."""
        tool = None if name in self._by_name else self._by_lower_name.get(name.lower())
        return tool.name if tool else name

    def find(self, name: str) -> AnyTool:
        """Raises ToolFailed."""
        tool = self._by_name.get(name)
        if tool is None:
            is_disabled = name in self._disabled and not name.startswith("mcp__")
            why = f". {name} is disabled for this session, in subagents as well as here." if is_disabled else ""
            if name in self._elsewhere:
                why = f". {name} is not among the tools available here. Continue with the tools you have."
            raise failed_use(f"Error: No such tool available: {name}{why}")
        return tool

    def only_reads(self, name: str) -> bool:
        """Unknown tools do nothing."""
        tool = self._by_name.get(name)
        return tool is None or tool.is_read_only

    def is_parallel(self, name: str, given: Json) -> bool:
        """Unknown tools are: they only fail."""
        tool = self._by_name.get(name)
        return tool is None or tool.is_safe_beside_others(given)

    def only(self, names: Iterable[str]) -> Toolbox:
        """Names of tools, or of servers: `mcp__server`, `mcp__server__*`."""
        wanted = {name.partition("(")[0] for name in names}
        kept = [tool for tool in self._tools if any(_is_meant(tool, name) for name in wanted)]
        return self._narrowed(kept)

    def also(self, tools: Iterable[AnyTool]) -> Toolbox:
        return Toolbox([*self._tools, *tools], disabled=self._disabled)

    def without(self, names: Iterable[str]) -> Toolbox:
        unwanted = set(names)
        kept = (tool for tool in self._tools if not any(_is_meant(tool, name) for name in unwanted))
        return Toolbox(kept, disabled=self._disabled | unwanted)

    def without_here(self, names: Iterable[str]) -> Toolbox:
        """For a subagent: the others have them."""
        unwanted = set(names)
        return self._narrowed([tool for tool in self._tools if not any(_is_meant(tool, name) for name in unwanted)])

    def _narrowed(self, kept: list[AnyTool]) -> Toolbox:
        narrowed = Toolbox(kept, disabled=self._disabled)
        narrowed._elsewhere = self._elsewhere | (self._by_name.keys() - narrowed._by_name.keys())
        return narrowed


def _is_meant(tool: AnyTool, name: str) -> bool:
    if name in (tool.name, *tool.also_called):
        return True
    return name.startswith("mcp__") and (tool.name.startswith(f"{name.removesuffix('__*')}__") or fnmatchcase(tool.name, name))
