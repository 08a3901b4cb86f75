"""The tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from stenograph.agent.engine.options import AgentOptions, Compat

if TYPE_CHECKING:
    from stenograph.agent.tools.agent import AgentType
    from stenograph.agent.tools.base import Tool


#: Parameters that 2.0 does not have (recordings/2.0.76/tools.json).
_NOT_IN_OLD = {"Grep": frozenset({"-o", "context"}), "Read": frozenset({"allow_large", "pages"})}


def unwanted_tools(tools: Iterable[Tool[Any]], options: AgentOptions) -> list[str]:
    """The names of built-in tools that the user did not choose."""
    if options.tools is None:
        return []
    wanted = set(options.tools)
    return [tool.name for tool in tools if not wanted & {tool.name, *tool.also_called}]


def all_tools(options: AgentOptions, agent_types: Mapping[str, AgentType] | None = None) -> list[Tool[Any]]:
    """Always in the same order: the endpoint's cache starts with them. `agent_types`: by name; None for our own."""
    from stenograph.agent.tools.agent import AgentTool, TaskTool
    from stenograph.agent.tools.bash import Bash, OldBash
    from stenograph.agent.tools.edit import EditTool
    from stenograph.agent.tools.glob import GlobTool
    from stenograph.agent.tools.grep import GrepTool
    from stenograph.agent.tools.notebook_edit import NotebookEdit, OldNotebookEdit
    from stenograph.agent.tools.read import ReadTool
    from stenograph.agent.tools.tasks import BashOutput, KillShell, SendMessage, TaskOutput, TaskStop
    from stenograph.agent.tools.todo_write import TodoWrite
    from stenograph.agent.tools.web_fetch import WebFetch
    from stenograph.agent.tools.web_search import OldWebSearch, WebSearch
    from stenograph.agent.tools.write import OldWrite, WriteTool

    is_old = options.compat is Compat.OLD
    agent = TaskTool() if is_old else AgentTool()
    agent.types = agent.types if agent_types is None else agent_types
    tools: list[Tool[Any]] = [
        agent,
        OldBash() if is_old else Bash(),
        BashOutput(),
        EditTool(),
        GlobTool(),
        GrepTool(),
        KillShell() if is_old else TaskStop(),
        OldNotebookEdit() if is_old else NotebookEdit(),
        ReadTool(),
        *([] if is_old else [SendMessage()]),
        TaskOutput(),
        TodoWrite(),
        WebFetch(),
        OldWebSearch() if is_old else WebSearch(),
        OldWrite() if is_old else WriteTool(),
    ]
    for tool in tools if is_old else ():
        tool.not_offered = _NOT_IN_OLD.get(tool.name, frozenset())
    return tools
