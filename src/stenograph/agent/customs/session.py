"""The subagents, commands and skills that a session's user and project have: in the registries, and listed for the model."""

from __future__ import annotations

import functools
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stenograph.agent.customs.agents import own_agents
from stenograph.agent.customs.commands import CustomCommand, own_commands
from stenograph.agent.customs.files import CustomFiles
from stenograph.agent.engine.asides import Aside, AsideContext
from stenograph.agent.engine.commands import Command, CommandRegistry, Expansion
from stenograph.agent.engine.options import AgentOptions
from stenograph.agent.tools.agent import TYPES
from stenograph.agent.tools.base import Companion, Tool, ToolFailed
from stenograph.records import write

if TYPE_CHECKING:
    from stenograph.agent.engine.dialogue import Dialogue

#: `@path` in a command's text.
_FILE = r"(?<![\w`@])@((?:~/|\.{0,2}/)?[\w.-][\w./-]*)"
_MOST_FILES = 20
_LISTING = "The following skills are available for use with the Skill tool:"


class SessionCustoms:
    def __init__(self, options: AgentOptions, is_said: Callable[[str], bool], may_read: Callable[[Path], bool]) -> None:
        """`is_said`: whether a text is in the conversation. `may_read`: whether no rule denies reading a file."""
        files = CustomFiles(options, may_read)
        self.commands = own_commands(files)
        own = own_agents(files)
        #: One line for each file or folder that was skipped.
        self.problems = files.problems
        #: By name.
        self.agent_types = dict(sorted({**TYPES, **own}.items(), key=lambda item: item[0].lower())) if own else dict(TYPES)
        self._is_trusted = options.is_trusted
        self._is_said = is_said

    def tools(self) -> list[Tool[Any]]:
        if not self.commands.for_model:
            return []
        from stenograph.agent.customs.skill_tool import SkillTool

        return [SkillTool(self.commands, is_trusted=self._is_trusted)]

    @property
    def names(self) -> list[str]:
        return [one.name for one in self.commands.all if one.is_for_user]

    @property
    def skill_names(self) -> list[str]:
        return [one.name for one in self.commands.all if one.is_for_user and one.folder]

    def register(self, registry: CommandRegistry) -> None:
        for one in self.commands.all:
            if one.is_for_user:
                registry.add(
                    Command(
                        name=one.name,
                        description=one.description,
                        argument_hint=one.argument_hint,
                        source="skill" if one.folder else one.source.value,
                        run=functools.partial(self._run, one),
                    )
                )

    async def _run(self, command: CustomCommand, dialogue: Dialogue, arguments: str) -> Expansion:
        from stenograph.agent.customs.skill_tool import grants, with_output

        allowed = command.allowed_tools if grants(command, is_trusted=self._is_trusted) else []
        # They hold for the commands in its text too.
        dialogue.transcript.grant(allowed)
        text = await with_output(command.expanded(arguments), dialogue.tools.run_command)
        companions = [Companion(content=[{"type": "text", "text": text}], allowed=allowed)]
        for name in list(dict.fromkeys(re.findall(_FILE, text)))[:_MOST_FILES]:
            if file := await _file_text(name.rstrip("."), dialogue.tools.read_file):
                companions.append(Companion(content=file))
        return Expansion(prompt=write.command_words(command.name, arguments), companions=companions)

    async def listing(self, context: AsideContext) -> list[Aside]:
        """The skills that the model can call: once, and again after a compaction."""
        if context.agent_id is not None or not context.is_turn_begin or not self.commands.for_model:
            return []
        lines = "\n".join(one.line for one in self.commands.for_model)
        text = f"<system-reminder>\n{_LISTING}\n\n{lines}\n</system-reminder>"
        return [] if self._is_said(text) else [Aside(text=text)]


async def _file_text(name: str, read: Callable[[str], Awaitable[tuple[str, str]]]) -> str:
    """Empty if it can't be read: `@` may be anything."""
    try:
        path, text = await read(name)
    except ToolFailed:
        return ""
    called = f'Called the Read tool with the following input: {{"file_path":"{path}"}}'
    return (
        f"<system-reminder>\n{called}\n</system-reminder>\n"
        f"<system-reminder>\nResult of calling the Read tool:\n{text}\n</system-reminder>"
    )
