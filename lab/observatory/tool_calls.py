"""How each built-in tool is called while a client is recorded: with success and with failure, and ids taken from results.

In: a request, by which a client lists its tools. Out: steps that call every one of them. A tool that stands in no table here is
called with the smallest input that its schema takes. Input fields come from the schemas that clients send.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from lab.observatory.scenes import Say, Step, found_in_results, say, tool
from lab.observatory.schemas import smallest_value
from stenograph.testing.scripted_api import Json

#: Calls that change what comes after them, or wait for a person; a scenario of their own plays them.
SET_APART = frozenset(
    {"Task", "Agent", "EnterPlanMode", "ExitPlanMode", "AskUserQuestion", "EnterWorktree", "ExitWorktree", "ScheduleWakeup"}
    | {"DeferredToolPlaceholder", "StructuredOutput", "Workflow", "TeamCreate", "TeamDelete", "SendMessage", "ListAgents"}
)
_DEFERRED = re.compile(
    r"deferred tools are now available via ToolSearch[^\n]*\n((?:[A-Z]\w+\n)+)|<available-deferred-tools>\n([^<]*)<"
)


def call_steps(body: Json, project: Path, wanted: Collection[str]) -> list[Step]:
    """Steps that call the wanted ones of the tools a request lists, one a step, but for those set apart."""
    schemas = listed_tools(body)
    deferred = deferred_tools(body)
    steps: list[Step] = []
    if "ToolSearch" in schemas:
        steps.append(say(tool("ToolSearch", query="select:" + ",".join(deferred), max_results=20)))
        steps.append(say(tool("ToolSearch", query="nothing-like-it", max_results=2)))
    known = known_calls(project)
    names = [name for name in known if name in schemas or name in deferred]
    names += [name for name in [*schemas, *deferred] if name not in known and name != "ToolSearch"]
    for name in names:
        if name in wanted and name not in SET_APART and not name.startswith("mcp__"):
            calls = known.get(name) or [smallest_value(schemas.get(name, {}))]
            steps += [_step(name, call) for call in calls]
    return steps


def listed_tools(body: Json) -> dict[str, Json]:
    """Name and schema of each tool that a request lists."""
    return {one["name"]: one.get("input_schema", {}) for one in body.get("tools") or [] if "name" in one}


def deferred_tools(body: Json) -> list[str]:
    """The tools that a request only names, to be loaded by ToolSearch."""
    for message in body.get("messages", []):
        content = message["content"]
        texts = [content] if isinstance(content, str) else [block["text"] for block in content if block.get("type") == "text"]
        for words in texts:
            if found := _DEFERRED.search(words):
                return re.findall(r"^(\w+)\s*$", found[1] or found[2], re.MULTILINE)
    return []


def _step(name: str, call: object) -> Step:
    if callable(call):
        made = call

        def step(body: Json) -> Say:
            return say({"type": "tool_use", "name": name, "input": made(body)})

        return step
    return say({"type": "tool_use", "name": name, "input": call})


def _told(pattern: str, key: str, **others: object) -> Callable[[Json], Json]:
    """An input with an id that an earlier result told."""
    return lambda body: {key: found_in_results(body, pattern, "none")[-1], **others}


def _shells(key: str, **others: object) -> list[object]:
    """Inputs for the shell that was put into the background, for the one that took too long, and for none."""

    def first(body: Json) -> Json:
        return {key: found_in_results(body, _SHELL_ID, "none")[0], **others}

    return [first, _told(_SHELL_ID, key, **others), {key: "none", **others}]


_SHELL_ID = r"\bID: (?!none)([\w-]+)"


def known_calls(project: Path) -> dict[str, Sequence[object]]:
    """Inputs by tool, in an order in which each finds what it needs."""

    def at(name: str) -> str:
        return str(project / name)

    todo = {"content": "Fix notes", "status": "in_progress", "activeForm": "Fixing notes"}
    return {
        "Read": [
            {"file_path": at("notes.md")},
            {"file_path": at("notes.md")},
            {"file_path": at("long.txt"), "offset": 10, "limit": 5},
            {"file_path": at("dot.png")},
            {"file_path": at("page.pdf")},
            {"file_path": at("book.ipynb")},
            {"file_path": at("empty.txt")},
            {"file_path": at("missing.txt")},
            {"file_path": str(project)},
        ],
        "Edit": [
            {"file_path": at("notes.md"), "old_string": "TODO: write", "new_string": "DONE: wrote"},
            {"file_path": at("notes.md"), "old_string": "TODO", "new_string": "DONE", "replace_all": True},
            {"file_path": at("notes.md"), "old_string": "not there", "new_string": "x"},
            {"file_path": at("code/one.py"), "old_string": "return 1", "new_string": "return 2"},
        ],
        "MultiEdit": [
            {"file_path": at("notes.md"), "edits": [{"old_string": "# Notes", "new_string": "# All notes"}]},
            {"file_path": at("notes.md"), "edits": [{"old_string": "not there", "new_string": "x", "replace_all": True}]},
        ],
        "Write": [
            {"file_path": at("new.txt"), "content": "new\n"},
            {"file_path": at("new.txt"), "content": "newer\n"},
            {"file_path": at("other.txt"), "content": "unread\n"},
            {"file_path": at("notes.md/under.txt"), "content": "no folder\n"},
        ],
        "NotebookEdit": [
            {"notebook_path": at("book.ipynb"), "cell_id": "cell-b", "new_source": "print('two')"},
            {
                "notebook_path": at("book.ipynb"),
                "cell_id": "cell-a",
                "new_source": "x = 1",
                "cell_type": "code",
                "edit_mode": "insert",
            },
            {"notebook_path": at("book.ipynb"), "cell_id": "cell-a", "new_source": "", "edit_mode": "delete"},
            {"notebook_path": at("book.ipynb"), "cell_id": "cell-z", "new_source": "none"},
        ],
        "Glob": [{"pattern": "**/*.md"}, {"pattern": "*.none"}, {"pattern": "*", "path": at("nowhere")}],
        "Grep": [
            {"pattern": "line 1", "path": str(project), "output_mode": "content", "-n": True, "head_limit": 3},
            {"pattern": "Notes", "output_mode": "files_with_matches"},
            {"pattern": "line", "output_mode": "count"},
            {"pattern": "nothing like it"},
            {"pattern": "("},
        ],
        "LS": [{"path": str(project)}, {"path": at("nowhere")}],
        "Bash": [
            {"command": "echo out; echo err >&2", "description": "Both outputs"},
            {"command": "exit 3", "description": "Fail"},
            {"command": "true", "description": "Nothing"},
            {"command": "grep nothing-like-it notes.md", "description": "Benign failure"},
            {"command": "cd code && pwd", "description": "Move"},
            {"command": "cd ..", "description": "Move back"},
            {"command": "seq 1 20000", "description": "Long output"},
            {"command": "echo started; sleep 60", "description": "Background", "run_in_background": True},
            {"command": 'python3 -c "import time; time.sleep(50)"', "description": "Time out", "timeout": 1000},
            {"command": "echo two > two.txt && git add two.txt && git commit -qm Two", "description": "Commit"},
        ],
        "BashOutput": _shells("bash_id"),
        "AgentOutputTool": [{"agentId": "none", "block": False}],
        "TaskOutput": _shells("task_id", block=False, timeout=1000),
        "KillShell": _shells("shell_id"),
        "KillBash": _shells("shell_id"),
        "TaskStop": _shells("task_id"),
        "TodoWrite": [
            {"todos": [todo, {"content": "Check", "status": "pending", "activeForm": "Checking"}]},
            {"todos": [{**todo, "status": "completed"}]},
            {"todos": "none"},
        ],
        "TaskCreate": [
            {"subject": "Fix notes", "description": "All of them", "activeForm": "Fixing notes"},
            {"subject": "Check", "description": "Twice", "metadata": {"why": "sure"}},
        ],
        "TaskUpdate": [
            {"taskId": "1", "status": "in_progress", "owner": "me"},
            {"taskId": "2", "addBlockedBy": ["1"]},
            {"taskId": "1", "status": "completed"},
            {"taskId": "99", "status": "completed"},
        ],
        "TaskGet": [{"taskId": "2"}, {"taskId": "99"}],
        "TaskList": [{}],
        "WebFetch": [{"url": "http://127.0.0.1:9/", "prompt": "What is it?"}, {"url": "no address", "prompt": "What?"}],
        "WebSearch": [{"query": "scripted words"}, {"query": "scripted words", "allowed_domains": ["example.com"]}],
        "SlashCommand": [{"command": "/greet you"}, {"command": "/no-such-command"}],
        "Skill": [{"skill": "demo-skill", "args": "x", "command": "demo-skill"}, {"skill": "no-such-skill", "command": "none"}],
        "LSP": [{"operation": "documentSymbol", "filePath": at("code/one.py"), "line": 1, "character": 1}],
        "CronCreate": [{"cron": "0 0 1 1 *", "prompt": "Happy new year", "recurring": True}, {"cron": "none", "prompt": "x"}],
        "CronList": [{}],
        "CronDelete": [_told(r"\b([0-9a-f]{8})\b", "id"), {"id": "none"}],
        "Monitor": [{"command": "echo seen", "description": "Watch", "timeout_ms": 2000, "persistent": False}],
        "ReportFindings": [
            {"level": "low", "findings": [{"file": "notes.md", "line": 1, "summary": "Odd", "failure_scenario": "None"}]}
        ],
        "ListMcpResourcesTool": [{}, {"server": "none"}],
        "ReadMcpResourceTool": [{"server": "probe", "uri": "probe://one"}, {"server": "none", "uri": "probe://one"}],
    }
