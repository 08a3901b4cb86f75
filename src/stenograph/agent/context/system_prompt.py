"""The system prompt, the same for the whole session: nothing in it depends on the time of day or on a turn."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from msgspec import Struct

from stenograph.agent.context.git import GitState, branch_of
from stenograph.agent.context.memory import Memory, MemoryKind
from stenograph.agent.engine.options import AgentOptions, PermissionMode
from stenograph.agent.permissions.live_policy import Behavior, LivePolicy
from stenograph.agent.tools.agent import AgentType
from stenograph.agent.tools.base import Json, Workspace

_ALLOWED = {
    PermissionMode.DEFAULT: "Allowed: reading in the working directory and the additional directories.",
    PermissionMode.ACCEPT_EDITS: "Allowed: reading and changing files in the working directory and the additional directories.",
    PermissionMode.PLAN: "Allowed: only reading, whatever the rules say.",
    PermissionMode.DONT_ASK: "Allowed: reading in the working directory and the additional directories.",
    PermissionMode.BYPASS: "Allowed: everything that no rule forbids.",
}
_MOST_RULES = 30
_WHOSE = {
    MemoryKind.USER: "the user's own, for all projects",
    MemoryKind.PROJECT: "the project's",
    MemoryKind.LOCAL: "the user's own, for this project",
}


class Surroundings(Struct, frozen=True):
    """What was found out when the session began."""

    permissions: str = ""
    git: GitState | None = None


def system_blocks(
    options: AgentOptions, workspace: Workspace, memory: Memory, model: str, around: Surroundings | None = None
) -> list[Json]:
    """Of the main conversation: instructions, environment, memory, the user's additions."""
    around = around or Surroundings()
    instructions = read_prompt("agent") if options.system_prompt is None else options.system_prompt
    facts = [environment(workspace, model), around.permissions, around.git.text if around.git else ""]
    return _blocks(instructions, "\n\n".join(filter(None, facts)), memory_text(memory), options.append_system_prompt)


def permissions_text(policy: LivePolicy) -> str:
    """For sessions in which nobody can approve a call."""
    told = [
        "# Permissions",
        "Nobody can approve calls in this session. What is not allowed is denied at once. Do not wait for approval or ask for it:"
        " do what is allowed, and say at the end what was denied and why it matters.",
        _ALLOWED[policy.mode],
    ]
    # What is denied may name what the model is not to know of.
    if rules := [rule.text for rule in policy.rules(Behavior.ALLOW)]:
        more = f" and {len(rules) - _MOST_RULES} more" if len(rules) > _MOST_RULES else ""
        told.append(f"Also allowed: {', '.join(rules[:_MOST_RULES])}{more}.")
    return "\n".join(told)


def agent_system_blocks(workspace: Workspace, memory: Memory, kind: AgentType, model: str) -> list[Json]:
    """Of a subagent; the user's additions are for the main conversation."""
    reading = read_prompt("subagent-reading") if kind.reads_only else ""
    return _blocks(kind.prompt, read_prompt("subagent"), reading, environment(workspace, model), memory_text(memory))


def environment(workspace: Workspace, model: str) -> str:
    """The day only, so that the text stays the same all day."""
    branch = branch_of(workspace.cwd)
    facts = {
        "Working directory": str(workspace.cwd),
        "Additional directories": ", ".join(map(str, workspace.additional)),
        "Git branch": branch or "none, this is not a git repository",
        "Platform": sys.platform,
        "Date": time.strftime("%Y-%m-%d"),
        "Model": model,
    }
    return "# Environment\n" + "\n".join(f"{name}: {value}" for name, value in facts.items() if value)


def memory_text(memory: Memory) -> str:
    if not memory.files:
        return ""
    parts = [f"Contents of {file.path} ({_WHOSE[file.kind]}):\n\n{file.text}" for file in memory.files]
    return "\n\n".join(["# Memory\nInstructions that people left for you. They go before your general ones.", *parts])


def read_prompt(name: str) -> str:
    # importlib.resources would load tempfile and shutil.
    return (Path(__file__).parent / "prompts" / f"{name}.md").read_text(encoding="utf-8").strip()


def _blocks(*texts: str) -> list[Json]:
    return [{"type": "text", "text": text} for text in texts if text.strip()]
