"""A session as letters, one for each prompt and tool call: `p` prompt, `e` change, `b` shell, `r` read, `g` subagent, `w` web,
`o` other tool, `x` error, `i` interrupted, `c` compaction."""

from __future__ import annotations

from stenograph.inputs import Status
from stenograph.turns import Turn

_FAMILIES = {
    "Bash": "shell",
    "PowerShell": "shell",
    "BashOutput": "shell",
    "KillShell": "shell",
    "KillBash": "shell",
    "TaskOutput": "shell",
    "TaskStop": "shell",
    "Read": "read",
    "NotebookRead": "read",
    "LS": "search",
    "Grep": "search",
    "Glob": "search",
    "ToolSearch": "search",
    "Edit": "change",
    "MultiEdit": "change",
    "Write": "change",
    "NotebookEdit": "change",
    "WebFetch": "web",
    "WebSearch": "web",
    "TodoWrite": "todo",
    "TodoRead": "todo",
    "TaskCreate": "todo",
    "TaskUpdate": "todo",
    "TaskGet": "todo",
    "TaskList": "todo",
    "AskUserQuestion": "question",
    "ExitPlanMode": "plan",
    "EnterPlanMode": "plan",
    "Skill": "skill",
    "SlashCommand": "skill",
    "Task": "agent",
    "Agent": "agent",
}
#: The letter of each family of tools on a tape.
TICKS = {
    "read": "r", "search": "r", "shell": "b", "change": "e", "agent": "g", "web": "w", "todo": "o", "question": "o",
    "plan": "o", "skill": "o", "other": "o",
}  # fmt: skip


def family_of(name: str) -> str:
    return _FAMILIES.get(name, "other")


def turn_letters(turn: Turn) -> str:
    """What happened in a turn."""
    tools = "".join(
        "x" if tool.is_error else "g" if tool.agent is not None else TICKS[family_of(tool.name)]
        for call in turn.calls
        for tool in call.tool_calls
    )
    return f"p{tools}{'i' if turn.status is Status.INTERRUPTED else ''}{'c' * len(turn.compactions)}"
