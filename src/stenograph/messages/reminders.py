"""An attachment -> the words in which a release sends it again, where they are not stored with it (rule 37).

In: the attachment as JSON and a release's phrases. Out: its parts, each a reminder of its own; none where the release says
nothing; None where it speaks in words that no file holds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

Json = dict[str, Any]
Phrases = Mapping[str, str]

# Hooks whose output goes with a prompt.
_PROMPT_HOOKS = ("SessionStart", "UserPromptSubmit")
_SEVERITIES = {"Error": "✘", "Warning": "⚠", "Info": "ℹ", "Hint": "★"}
# Lists of `deferred_tools_delta` that no recorded session fills.
_NEVER_FILLED = ("readdedNames", "pendingMcpServers", "needsAuthMcpServers")


def worded(body: Json, phrases: Phrases) -> list[str] | None:
    """The parts of what a release says about an attachment."""
    kind = body.get("type")
    if not isinstance(kind, str) or kind not in phrases:
        return []
    try:
        return _KINDS.get(kind, _plain)(body, phrases)
    except (AttributeError, KeyError, TypeError, ValueError, IndexError):  # not in the form that clients write
        return None


def notified(words: str, phrases: Phrases) -> str:
    """What a release says around the notification of a task."""
    return _say("queued_command.notified", phrases, {"words": words})


def file_called(body: Json, phrases: Phrases) -> str:
    """The call that a named file stands for."""
    return _say("file.called", phrases, {"path": _quoted(body["filename"])})


def _say(name: str, phrases: Phrases, fields: Json) -> str:
    return phrases[name].format_map(fields) if name in phrases else ""


def _quoted(text: Any) -> str:
    return json.dumps(text, ensure_ascii=False, separators=(",", ":"))


def _plain(body: Json, phrases: Phrases) -> list[str] | None:
    return [_say(body["type"], phrases, body)]


def _agents(body: Json, phrases: Phrases) -> list[str] | None:
    added = "agent_listing_delta.initial" if body.get("isInitial") else "agent_listing_delta.added"
    parts = [_say(added, phrases, {"lines": "\n".join(body["addedLines"])})] if body["addedLines"] else []
    if body["removedTypes"]:
        gone = "\n".join(f"- {name}" for name in body["removedTypes"])
        parts.append(_say("agent_listing_delta.removed", phrases, {"lines": gone}))
    if parts and body.get("isInitial") and body.get("showConcurrencyNote"):
        parts.append(_say("agent_listing_delta.concurrency", phrases, {}))
    return ["\n\n".join(parts)] if parts else []


def _delta(body: Json, phrases: Phrases) -> list[str] | None:
    """Tools or servers that came, and those that went."""
    kind = body["type"]
    if any(body.get(name) for name in _NEVER_FILLED):
        return None
    separator, added = ("\n\n", body["addedBlocks"]) if kind == "mcp_instructions_delta" else ("\n", body["addedLines"])
    parts = [_say(f"{kind}.added", phrases, {"lines": separator.join(added)})] if added else []
    if body["removedNames"]:
        parts.append(_say(f"{kind}.removed", phrases, {"lines": "\n".join(body["removedNames"])}))
    return ["\n\n".join(parts)] if parts else []


def _diagnostics(body: Json, phrases: Phrases) -> list[str] | None:
    files = "\n\n".join(
        f"{file['uri'].rsplit('/', 1)[-1]}:\n" + "\n".join(map(_diagnostic, file["diagnostics"])) for file in body["files"]
    )
    return [_say("diagnostics", phrases, {"files": files})] if files else []


def _diagnostic(found: Json) -> str:
    start = found["range"]["start"]
    code = f" [{found['code']}]" if found.get("code") else ""
    source = f" ({found['source']})" if found.get("source") else ""
    severity = _SEVERITIES[found["severity"]]
    return f"  {severity} [Line {start['line'] + 1}:{start['character'] + 1}] {found['message']}{code}{source}"


def _directory(body: Json, phrases: Phrases) -> list[str] | None:
    path, content = body["path"], body["content"]
    called = {"command": _quoted(f"ls {path}"), "description": _quoted(f"Lists files in {path}")}
    result = _say("directory", phrases, {"content": content, "quoted": _quoted(content)})
    return [_say("directory.called", phrases, called), result]


def _file(body: Json, phrases: Phrases) -> list[str] | None:
    content = body["content"]
    if content["type"] != "text":
        return None
    file = content["file"]
    if file["content"]:
        numbered = enumerate(file["content"].split("\n"), file["startLine"])
        lines = [_say("file.line", phrases, {"number": number, "line": line}) for number, line in numbered]
        read = "\n".join(lines) + phrases.get("file.behind", "")
    else:
        read = phrases["file.empty"]
    parts = [file_called(body, phrases), _say("file", phrases, {"content": read, "quoted": _quoted(read)})]
    return [*parts, _say("file.truncated", phrases, body)] if body.get("truncated") else parts


def _hook_context(body: Json, phrases: Phrases) -> list[str] | None:
    lines = "\n".join(body["content"])
    return [_say(body["type"], phrases, {**body, "lines": lines})] if body["content"] else []


def _hook_error(body: Json, phrases: Phrases) -> list[str] | None:
    error = body["blockingError"]
    return [_say(body["type"], phrases, {**body, "command": error["command"], "error": error["blockingError"]})]


def _hook_success(body: Json, phrases: Phrases) -> list[str] | None:
    return _plain(body, phrases) if body.get("hookEvent") in _PROMPT_HOOKS and body.get("content") else []


def _memory(body: Json, phrases: Phrases) -> list[str] | None:
    content = body["content"]
    return [_say("nested_memory", phrases, {"path": content["path"], "words": content["content"]})]


def _plan_exit(body: Json, phrases: Phrases) -> list[str] | None:
    place = _say("plan_mode_exit.place", phrases, body) if body.get("planExists") else ""
    return [_say("plan_mode_exit", phrases, {"place": place})]


def _queued(body: Json, phrases: Phrases) -> list[str] | None:
    prompt = body["prompt"]
    if not isinstance(prompt, str):
        if any(block["type"] != "text" for block in prompt):
            return None
        prompt = "\n".join(block["text"] for block in prompt)
    if body.get("commandMode") == "task-notification" and "queued_command.notified" in phrases:
        return [notified(prompt, phrases)]
    is_meta = bool(body.get("isMeta")) and "queued_command.meta" in phrases
    return [_say("queued_command.meta" if is_meta else "queued_command", phrases, {"words": prompt})]


def _skills(body: Json, phrases: Phrases) -> list[str] | None:
    skills = "\n\n---\n\n".join(
        f"### Skill: {skill['name']}\nPath: {skill['path']}\n\n{skill['content']}" for skill in body["skills"]
    )
    return [_say("invoked_skills", phrases, {"skills": skills})] if skills else []


def _tasks(body: Json, phrases: Phrases) -> list[str] | None:
    items = [f"#{task['id']}. [{task['status']}] {task['subject']}" for task in body["content"]]
    return _reminder(body, items, phrases)


def _todos(body: Json, phrases: Phrases) -> list[str] | None:
    items = [f"{number}. [{todo['status']}] {todo['content']}" for number, todo in enumerate(body["content"], 1)]
    return _reminder(body, items, phrases)


def _reminder(body: Json, items: list[str], phrases: Phrases) -> list[str] | None:
    kind = body["type"]
    listed = _say(f"{kind}.items", phrases, {"items": "\n".join(items)}) if items else ""
    return [_say(kind, phrases, {"items": listed})]


def _task_status(body: Json, phrases: Phrases) -> list[str] | None:
    status = body["status"]
    if status == "killed" and "task_status.killed" in phrases:
        return [_say("task_status.killed", phrases, body)]
    delta = body.get("deltaSummary")
    if status == "running" and "task_status.running" in phrases:
        if body["taskType"] == "local_bash" and "task_status.running_shell" in phrases:
            return [_say("task_status.running_shell", phrases, body)]
        progress = _say("task_status.progress", phrases, body) if delta else ""
        return [_say("task_status.running", phrases, {**body, "progress": progress})]
    return [_say("task_status", phrases, {**body, "delta": _say("task_status.delta", phrases, body) if delta else ""})]


_KINDS: dict[str, Callable[[Json, Phrases], list[str] | None]] = {
    "agent_listing_delta": _agents,
    "deferred_tools_delta": _delta,
    "diagnostics": _diagnostics,
    "directory": _directory,
    "file": _file,
    "hook_additional_context": _hook_context,
    "hook_blocking_error": _hook_error,
    "hook_success": _hook_success,
    "invoked_skills": _skills,
    "mcp_instructions_delta": _delta,
    "nested_memory": _memory,
    "plan_mode_exit": _plan_exit,
    "queued_command": _queued,
    "task_reminder": _tasks,
    "task_status": _task_status,
    "todo_reminder": _todos,
}
