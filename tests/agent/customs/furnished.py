"""Agents, commands and skills in files, calls of them, and what of a session's lines is compared with the client's."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from lab.observatory.project import write_files
from lab.observatory.scenes import Say, Step, cue, say, text, tool

Json = dict[str, Any]
GREET = """---
description: Greet somebody
argument-hint: [who] [how]
---
Greet $ARGUMENTS now, first $1 then $2.

State: !`echo from-shell`
"""
DEMO = """---
name: demo-skill
description: A demo
allowed-tools: Read, Bash(ls:*)
---
Say the demo words. Base ${CLAUDE_SKILL_DIR} args $ARGUMENTS.
"""
PROJECT: dict[str, str | bytes] = {
    ".claude/commands/greet.md": GREET,
    ".claude/commands/deep/nested.md": "Nested body with no frontmatter: $0 and $ARGUMENTS[0].\n",
    ".claude/commands/plain.md": "Plain first line here.\nSecond line.\n",
    ".claude/commands/hidden.md": "---\ndescription: Not for models\ndisable-model-invocation: true\n---\nHidden $ARGUMENTS\n",
    ".claude/skills/demo-skill/SKILL.md": DEMO,
    ".claude/skills/second/SKILL.md": "---\ndescription: Second one\nwhen_to_use: When asked twice\n---\nSecond body.\n",
    ".claude/skills/other-name/SKILL.md": (
        "---\nname: given-name\ndescription: Named otherwise\nuser-invocable: false\n---\nOther body.\n"
    ),
    ".claude/agents/helper.md": (
        "---\nname: helper\ndescription: Helps a lot\ntools: Read, Bash\nmodel: haiku\n---\nYou help much.\n"
    ),
    ".claude/agents/all.md": '---\nname: all-tools\ndescription: "Has all: tools"\n---\nYou have everything.\n',
    ".claude/agents/denied.md": (
        "---\nname: denied\ndescription: Without some\ndisallowedTools: Bash, Write\n---\nYou lack some.\n"
    ),
    ".claude/agents/broken.md": "no frontmatter\n",
}
USER: dict[str, str | bytes] = {
    "commands/mine.md": "---\ndescription: My own\n---\nMine: $ARGUMENTS\n",
    "agents/own.md": "---\nname: own\ndescription: User's own\ntools: Glob\n---\nYou are own.\n",
    "skills/uskill/SKILL.md": "---\nname: uskill\ndescription: User skill\n---\nUser skill body.\n",
}
SKILLS: list[Json] = [
    {"skill": "demo-skill", "args": "a b"},
    {"skill": "second"},
    {"skill": "greet", "args": "Ann nicely"},
    {"skill": "hidden"},
    {"skill": "given-name"},
    {"skill": "/second"},
    {"skill": "compact"},
    {"skill": "uskill"},
]
#: The last words of each name the scene.
COMMANDS = {
    "greet": "/greet Ann nicely",
    "nested": "/deep:nested one two",
    "plain": "/plain first",
    "hidden": "/hidden x",
    "skill": "/demo-skill q",
    "mine": "/mine or yours",
}
AGENTS = ("helper", "denied", "own", "nobody")


def furnish(home: Path, cwd: Path) -> None:
    """`home`: the client's."""
    write_files(home, USER)
    write_files(cwd, PROJECT)


def skill_steps() -> Sequence[Step]:
    return [*(say(tool("Skill", **given)) for given in SKILLS), say(text("Done."))]


def agent_steps() -> Sequence[Step]:
    def called(kind: str) -> Step:
        def step(body: Json) -> Say:
            name = "Agent" if any(one["name"] == "Agent" for one in body["tools"]) else "Task"
            given = {"description": "Help", "prompt": cue("sub", "Help."), "subagent_type": kind, "run_in_background": False}
            return say(tool(name, **given))

        return step

    return [*map(called, AGENTS), say(text("Done."))]


SUB: Sequence[Step] = [say(tool("Bash", command="echo sub")), say(text("Sub is done."))]


def said(lines: Iterable[Json], cwd: Path) -> list[Json]:
    """Commands, skills and their texts."""
    found: list[Json] = []
    for line in lines:
        one: Json = {}
        content = line["message"]["content"] if line["type"] == "user" else ""
        if line["type"] == "attachment" and line["attachment"]["type"] == "command_permissions":
            one = line["attachment"]
        elif isinstance(content, list) and content[0]["type"] == "tool_result":
            one = {"is_error": content[0].get("is_error"), "content": content[0]["content"]}
            one |= {member: line[member] for member in ("toolUseResult", "toolDenialKind") if member in line}
        elif line.get("turnCompanion") or "<command-name>" in str(content):
            members = ("isMeta", "turnCompanion", "turnOrigin")
            one = {"content": content, "is_of_call": "sourceToolUseID" in line}
            one |= {member: line[member] for member in members if member in line and line[member] not in ("sdk", "human")}
        if one:
            found.append(json.loads(json.dumps(one).replace(str(cwd.parent), "ROOT")))
    return found
