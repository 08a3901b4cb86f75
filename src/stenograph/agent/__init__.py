"""The console client: loop, tools, permissions, recorder, faces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stenograph._exports import lazy_exports

if TYPE_CHECKING:
    from stenograph.agent.customs.commands import command_names
    from stenograph.agent.engine.events import Event
    from stenograph.agent.engine.options import AgentOptions, Compat, PermissionMode
    from stenograph.agent.engine.session import open_agent
    from stenograph.agent.faces.console.commands import typed_here
    from stenograph.agent.faces.console.opening import run_console
    from stenograph.agent.faces.control import ControlChannel
    from stenograph.agent.faces.print_input import LinePrompts, one_prompt, whole_prompt
    from stenograph.agent.faces.print_mode import OutputFormat, run_print, write_message
    from stenograph.agent.faces.prompt_tool import PromptTool
    from stenograph.agent.faces.stream_json import StreamMessages
    from stenograph.agent.permissions.configuring import configured
    from stenograph.agent.permissions.rules import is_rule_of_a_known_tool, parse_rule, similar_tools, split_rules
    from stenograph.agent.permissions.secrecy import hide_process
    from stenograph.agent.recording.resuming import other_directory_of
    from stenograph.agent.tools import all_tools
    from stenograph.agent.tools.sandbox import find_sandbox

_MODULES = {
    "customs.commands": "command_names",
    "engine.events": "Event",
    "engine.options": "AgentOptions Compat PermissionMode",
    "engine.session": "open_agent",
    "faces.console.commands": "typed_here",
    "faces.console.opening": "run_console",
    "faces.control": "ControlChannel",
    "faces.print_input": "LinePrompts one_prompt whole_prompt",
    "faces.print_mode": "OutputFormat run_print write_message",
    "faces.prompt_tool": "PromptTool",
    "faces.stream_json": "StreamMessages",
    "permissions.configuring": "configured",
    "permissions.rules": "is_rule_of_a_known_tool parse_rule similar_tools split_rules",
    "permissions.secrecy": "hide_process",
    "recording.resuming": "other_directory_of",
    "tools": "all_tools",
    "tools.sandbox": "find_sandbox",
}

__all__ = [
    "AgentOptions",
    "Compat",
    "ControlChannel",
    "Event",
    "LinePrompts",
    "OutputFormat",
    "PermissionMode",
    "PromptTool",
    "StreamMessages",
    "all_tools",
    "command_names",
    "configured",
    "find_sandbox",
    "hide_process",
    "is_rule_of_a_known_tool",
    "one_prompt",
    "open_agent",
    "other_directory_of",
    "parse_rule",
    "run_console",
    "run_print",
    "similar_tools",
    "split_rules",
    "typed_here",
    "whole_prompt",
    "write_message",
]

__getattr__, __dir__ = lazy_exports(__name__, _MODULES, __all__)
