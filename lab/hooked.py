"""A session with hooks, played by a real client: what it wrote because of them, what it sent, and what the hooks got.

In: a client's program, answers of hooks by event, the steps of the model. Out: the lines about hooks, the messages of each
request, and the inputs of the hooks. The hook is a program that answers from a plan, one answer a call. Knows nothing of what an
answer means.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stenograph.testing.scripted_api import Json

#: Gets an event's name, logs what it was given, and answers by the plan beside it.
HOOK = """
import json, pathlib, sys, time
here, event = pathlib.Path(__file__).parent, sys.argv[1]
given = json.load(sys.stdin)
with open(here / "given.jsonl", "a") as log:
    log.write(json.dumps(given) + "\\n")
count = here / f"count-{event}"
number = int(count.read_text()) if count.exists() else 0
count.write_text(str(number + 1))
answers = json.loads((here / "plan.json").read_text()).get(event, [])
answer = answers[number] if number < len(answers) else {}
time.sleep(answer.get("sleep", 0))
sys.stderr.write(answer.get("err", ""))
out = answer.get("out", "")
sys.stdout.write(out if isinstance(out, str) else json.dumps(out))
sys.exit(answer.get("code", 0))
"""
EVENTS = (
    *("PreToolUse", "PostToolUse", "Notification", "UserPromptSubmit", "SessionStart", "SessionEnd", "Stop", "SubagentStop"),
    "PreCompact",
)
Plan = Mapping[str, Sequence[Json]]


def speaks(event: str, **more: object) -> Json:
    """An answer in the form that belongs to an event."""
    return {"out": {"hookSpecificOutput": {"hookEventName": event, **more}}}


@dataclass(frozen=True)
class Hooked:
    #: What the hooks got, without what differs from run to run.
    given: list[Json]
    #: Lines about hooks and results of calls, without what differs.
    lines: list[Json]
    #: Texts and results of each request that the one before did not have.
    sent: list[list[str]]


def hook_settings(folder: Path, plan: Plan, timeout: float | None = None) -> dict[str, list[Json]]:
    """Put the hook and its plan into a folder; the settings that name it."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "hook.py"
    program.write_text(HOOK, encoding="utf-8")
    (folder / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    more = {} if timeout is None else {"timeout": timeout}
    hook = {"type": "command", **more}
    return {event: [{"matcher": "*", "hooks": [{**hook, "command": f"{sys.executable} {program} {event}"}]}] for event in EVENTS}


def told(folder: Path, lines: Sequence[Json], requests: Sequence[Json]) -> Hooked:
    """What can be compared, of a session whose hooks are in a folder."""
    log = folder / "given.jsonl"
    given = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []
    kept = [_bare(line) for line in lines if _is_told(line)]
    # The newest client summarizes with an agent, whose end is one as well.
    asked = [_given(one) for one in given if one.get("agent_type") != "" or one["hook_event_name"] != "SubagentStop"]
    return Hooked(asked, kept, _sent(requests))


#: Of what hooks get, not compared: they differ from run to run, or ours has no such thing.
_VARYING = frozenset({
    "session_id", "transcript_path", "cwd", "prompt_id", "tool_use_id", "duration_ms", "effort", "agent_id",
    "agent_transcript_path", "background_tasks", "session_crons", "seconds_since_last_response", "context_tokens",
    "prompt_cache_likely_expired", "estimated_cache_write_usd", "model",
})  # fmt: skip
_OF_HOOKS = re.compile(r"\w+(?::\w+)? hook (?:success|additional context|blocking|stopped)")
_CLIENTS_OWN = (
    "hasn't heard from you",
    "Available agent types",
    "When you launch multiple agents",
    "[Subagent hand-back]",
    "'agentId: ",
)
#: What is asked of whoever summarizes, in our words and in theirs.
_SUMMARY = re.compile(r"(?:The user asks in particular: |Additional Instructions:\n)(.*?)(?:\n\nREMINDER.*)?$", re.DOTALL)
_UNSENT = frozenset({"toolUseID", "durationMs", "rendered", "renderedRole"})


def _given(one: Json) -> Json:
    # A subagent's response says how long it took, and more that differs.
    varying = {*_VARYING, "tool_response"} if one.get("tool_name") == "Agent" else _VARYING
    return {name: value for name, value in one.items() if name not in varying}


def _is_told(line: Json) -> bool:
    match line["type"]:
        case "attachment":
            return str(line["attachment"]["type"]).startswith("hook_")
        case "system":
            return line.get("subtype") == "stop_hook_summary"
        case "user":
            is_result = isinstance(line["message"]["content"], list) and "tool_use_id" in line["message"]["content"][0]
            return is_result or (bool(line.get("isMeta")) and "<local-command" not in str(line["message"]["content"]))
    return False


def _bare(line: Json) -> Json:
    match line["type"]:
        case "attachment":
            return {name: value for name, value in line["attachment"].items() if name not in _UNSENT}
        case "system":
            infos = [{"command": info["command"]} for info in line["hookInfos"]]
            names = ("hookCount", "hookErrors", "hookAdditionalContext", "preventedContinuation", "stopReason", "hasOutput")
            return {"hookInfos": infos, **{name: line[name] for name in names}}
    content = line["message"]["content"]
    words = content if isinstance(content, str) else str(content[0]["content"])
    if "[Subagent hand-back]" in words or "'agentId: " in words:
        words = "of an agent"
    return {"words": words, "denied": line.get("toolDenialKind"), "decision": line.get("permissionDecision")}


def _sent(requests: Sequence[Json]) -> list[list[str]]:
    found: list[list[str]] = []
    lengths: dict[str, int] = {}
    for request in requests:
        if not request.get("tools"):
            continue
        messages = request["messages"]
        if asked := _SUMMARY.search("\n".join(_texts(messages[-1]))):
            found.append([asked[1]])
            continue
        # Of an agent, or of the main conversation.
        (scene, *_) = re.findall(r"\[scene (\w+)\]", json.dumps(messages)) or [""]
        known = lengths.get(scene, 0)
        texts = [text for message in messages[known:] if message["role"] != "assistant" for text in _texts(message)]
        # What a client says at the beginning is its own; words of hooks are not.
        found.append(sorted(text for text in texts if known or _OF_HOOKS.match(text)))
        lengths[scene] = len(messages)
    return found


def _texts(message: Json) -> list[str]:
    content = message["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    texts = [str(block.get("text") or block.get("content")) for block in blocks]
    plain = [text.strip().removeprefix("<system-reminder>\n").removesuffix("\n</system-reminder>").strip() for text in texts]
    # What several attachments say is one text: in the role system, or in a reminder.
    joined = (message["role"] == "system" or _OF_HOOKS.match(text) for text in plain)
    parts = [
        part for text, is_joined in zip(plain, joined, strict=True) for part in (text.split("\n\n") if is_joined else [text])
    ]
    return [part for part in parts if not any(words in part for words in _CLIENTS_OWN)]
