"""The tool calls of a file as its lines go by: uses that no result answers, results without a use, agents that were started.

In: decoded lines in order. Out: the lines of what is left over. Keeps ids only.
"""

from __future__ import annotations

from typing import Any


class ToolWatch:
    def __init__(self) -> None:
        # The line of every use that is not answered yet.
        self._open: dict[str, int] = {}
        self._used: set[str] = set()
        self._early: dict[str, int] = {}
        #: Agents that a structured result names, with the line of the result.
        self.agents: dict[str, int] = {}
        #: Agents whose lines stand in this file.
        self.inline_agents: set[str] = set()

    def add(self, record: dict[str, Any], line: int) -> None:
        message = record.get("message")
        content = message.get("content") if message.__class__ is dict else None
        if content.__class__ is not list:
            return
        if record.get("type") == "assistant":
            for block in content:
                if block.__class__ is dict and block.get("type") == "tool_use" and block.get("id").__class__ is str:
                    self._use(block["id"], line)
        else:
            for block in content:
                if block.__class__ is dict and block.get("type") == "tool_result" and block.get("tool_use_id").__class__ is str:
                    self._result(block["tool_use_id"], line)
            self._agent(record, line)

    @property
    def orphan_uses(self) -> list[int]:
        return list(self._open.values())

    @property
    def orphan_results(self) -> list[int]:
        return list(self._early.values())

    def _use(self, called: str, line: int) -> None:
        if called not in self._used:
            self._used.add(called)
            if self._early.pop(called, None) is None:
                self._open[called] = line

    def _result(self, called: str, line: int) -> None:
        if called in self._used:
            self._open.pop(called, None)
        else:
            self._early[called] = line

    def _agent(self, record: dict[str, Any], line: int) -> None:
        result = record.get("toolUseResult")
        agent = result.get("agentId") if result.__class__ is dict else None
        if agent.__class__ is str:
            self.agents.setdefault(agent, line)
