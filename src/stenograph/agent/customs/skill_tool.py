"""Skill: calls a skill or a command by name. Its text comes behind the result, as words of the user's side."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Annotated

from msgspec import Meta

from stenograph.agent.customs.commands import CustomCommand, CustomCommands
from stenograph.agent.customs.files import CustomSource
from stenograph.agent.tools.base import Companion, Json, Tool, ToolContext, ToolFailed, ToolInput, ToolOutput, failed_use

_SHELL = re.compile(r"!`([^`\n]+)`")
BUILT_IN = ("compact",)


class SkillInput(ToolInput):
    skill: Annotated[str, Meta(description="The name of the skill, as it is listed")]
    args: Annotated[str | None, Meta(description="Arguments for it")] = None


class SkillTool(Tool[SkillInput]):
    name = "Skill"
    also_called = ("SlashCommand",)
    also_spelled = {"command": "skill"}  # noqa: RUF012
    input_type = SkillInput

    def __init__(self, commands: CustomCommands, *, is_trusted: bool) -> None:
        self._commands = commands
        self._is_trusted = is_trusted

    def check(self, given: Json) -> SkillInput:
        # Models may give both, as releases had one or the other.
        known = {name: value for name, value in given.items() if name != "command" or "skill" not in given}
        if "skill" not in known and isinstance(called := known.pop("command", None), str):
            name, _, rest = called.partition(" ")
            known |= {"skill": name, "args": rest or known.get("args")}
        return super().check(known)

    def is_free(self, given: SkillInput) -> bool:
        """One that asks for rules needs one itself (2.1.325)."""
        found = self._commands.find(given.skill)
        return found is None or not found.is_for_model or not found.allowed_tools

    def request(self, given: SkillInput) -> str:
        name = given.skill.strip().removeprefix("/")
        return (
            f"Execute skill: {name}. The user can add the allow rule Skill({name}) to .claude/settings.local.json to let it run"
            " without asking."
        )

    def means(self, given: SkillInput, spec: str) -> bool:
        return _is_meant(given.skill.strip().removeprefix("/"), spec)

    def may_mean(self, given: SkillInput, spec: str) -> bool:
        """By the name of its directory and by the one that it gives itself (2.1.325)."""
        found = self._commands.find(given.skill)
        names = (found.name, found.own_name) if found else ()
        return self.means(given, spec) or any(_is_meant(name, spec) for name in names if name)

    async def run(self, given: SkillInput, context: ToolContext) -> ToolOutput:
        asked = given.skill.strip().removeprefix("/")
        found = self._commands.find(asked)
        if found is None:
            raise failed_use(self._unknown(asked))
        if not found.is_for_model:
            raise failed_use(
                f"Skill {found.name} cannot be used with Skill tool due to disable-model-invocation. Ask the user to run"
                f" /{found.name} themselves — it cannot be invoked via the Skill tool. Do not replicate this skill's workflow by"
                " other means — it is reserved for explicit user invocation."
            )
        granted = found.allowed_tools if grants(found, is_trusted=self._is_trusted) else []
        text = await with_output(found.expanded(given.args or ""), context.run_command)
        is_loaded = context.is_said is not None and context.is_said(text)
        said = f"Skill /{found.name} is already loaded above; instructions unchanged." if is_loaded else text
        structured: Json = {"success": True, "commandName": asked}
        if granted:
            structured["allowedTools"] = granted
        companion = Companion(content=said if is_loaded else [{"type": "text", "text": said}], allowed=granted)
        return ToolOutput(content=f"Launching skill: {asked}", structured=structured, companions=[companion])

    def _unknown(self, asked: str) -> str:
        if asked in BUILT_IN:
            return (
                f"{asked} is a built-in CLI command, not a skill. Ask the user to run /{asked} themselves — it cannot be invoked"
                " via the Skill tool."
            )
        from difflib import get_close_matches  # for a mistake only

        near = get_close_matches(asked, [one.name for one in self._commands.for_model], n=1)
        return f"Unknown skill: {asked}." + (f" Did you mean {near[0]}?" if near else "")


def _is_meant(name: str, spec: str) -> bool:
    spec = spec.removeprefix("/")
    return name == spec or (spec.endswith(":*") and name.startswith(spec[:-2]))


def grants(command: CustomCommand, *, is_trusted: bool) -> bool:
    """Whether the rules that it asks for are granted: a project's only if it is trusted."""
    return is_trusted or command.source is CustomSource.USER


async def with_output(text: str, run: Callable[[str], Awaitable[str]] | None) -> str:
    """With the output of commands in it, each allowed or denied as any other."""
    parts: list[str] = []
    end = 0
    for match in _SHELL.finditer(text):
        try:
            said = await run(match[1]) if run else match[0]
        except ToolFailed as failure:
            said = f"[not run: {failure.words}]"
        parts += [text[end : match.start()], said]
        end = match.end()
    return "".join([*parts, text[end:]])
