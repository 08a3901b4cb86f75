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
    from stenograph.agent.faces.stream_json import StreamMessages
    from stenograph.agent.permissions.configuring import configured
    from stenograph.agent.permissions.rules import is_rule_of_a_known_tool, parse_rule, similar_tools, split_rules
    from stenograph.agent.permissions.secrecy import hide_process
    from stenograph.agent.tools import all_tools
    from stenograph.agent.tools.sandbox import find_sandbox

_MODULES = {
    "AgentOptions": "engine.options",
    "Compat": "engine.options",
    "ControlChannel": "faces.control",
    "Event": "engine.events",
    "LinePrompts": "faces.print_input",
    "OutputFormat": "faces.print_mode",
    "PermissionMode": "engine.options",
    "StreamMessages": "faces.stream_json",
    "all_tools": "tools",
    "find_sandbox": "tools.sandbox",
    "configured": "permissions.configuring",
    "hide_process": "permissions.secrecy",
    "is_rule_of_a_known_tool": "permissions.rules",
    "one_prompt": "faces.print_input",
    "open_agent": "engine.session",
    "parse_rule": "permissions.rules",
    "run_console": "faces.console.opening",
    "run_print": "faces.print_mode",
    "similar_tools": "permissions.rules",
    "split_rules": "permissions.rules",
    "typed_here": "faces.console.commands",
    "command_names": "customs.commands",
    "whole_prompt": "faces.print_input",
    "write_message": "faces.print_mode",
}

__all__ = [
    "AgentOptions",
    "Compat",
    "ControlChannel",
    "Event",
    "LinePrompts",
    "OutputFormat",
    "PermissionMode",
    "StreamMessages",
    "all_tools",
    "command_names",
    "configured",
    "find_sandbox",
    "hide_process",
    "is_rule_of_a_known_tool",
    "one_prompt",
    "open_agent",
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
