"""Counts what happened in session files with plain json and dicts, as a second opinion on the library.

In: a folder of session files. Out: per session, how many turns were opened and by what, how many API calls, tool calls,
orphans, sub-agents and compactions there are. Written from the description of the format and the contract the clients keep.
It shares no code with `stenograph` and must not import it. It deliberately knows nothing of branches, order or text: it counts
distinct things.

Run by itself it prints the totals of a folder, and how its lines differ from what the seed documents say:
`python independent_count.py FOLDER`.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

Line = dict[str, Any]

NOTIFICATIONS = ("<task-notification", "<bash-notification", "<agent-notification")
COMMANDS = ("<command-name", "<command-message")
OUTPUTS = ("<local-command-stdout", "<local-command-stderr", "<bash-stdout", "<bash-stderr", "<local-command-caveat")
# What the editor adds in front of, or instead of, what was typed.
EDITOR_NOTES = re.compile(r"<(ide_opened_file|ide_selection|ide_diagnostics)>.*?</\1>", re.DOTALL)


def lines_of(path: Path) -> list[Line]:
    """The objects of a file; what is no JSON object is left out, as every client does (rules 13 to 15)."""
    found = []
    for raw in path.read_bytes().split(b"\n"):
        try:
            value = json.loads(raw)
        except ValueError:
            continue
        if isinstance(value, dict):
            found.append(value)
    return found


def families(folder: Path) -> dict[Path, list[Path]]:
    """Session file -> its agents' files; an agent's file whose session is not there stands for itself."""
    files = sorted(folder.rglob("*.jsonl"))
    sessions = {path: [] for path in files if not path.name.startswith("agent-")}  # type: dict[Path, list[Path]]
    for path in files:
        if path.name.startswith("agent-"):
            sessions.setdefault(owner(path, set(sessions)) or path, []).append(path)
    return {session: [agent for agent in agents if agent != session] for session, agents in sessions.items()}


def owner(agent: Path, sessions: set[Path]) -> Path | None:
    """Where an agent's session is: `<session>/subagents/`, `<project>/subagents/` or beside it, by the sessionId in its lines."""
    if agent.parent.name == "subagents":
        session = agent.parent.parent.with_name(agent.parent.parent.name + ".jsonl")
        if session in sessions:
            return session
    folder = agent.parent.parent if agent.parent.name == "subagents" else agent.parent
    named = next((line["sessionId"] for line in lines_of(agent) if line.get("sessionId")), None)
    beside = folder / f"{named}.jsonl"
    return beside if beside in sessions else None


def role(line: Line) -> object:
    message = line.get("message")
    return line.get("type") or (message.get("role") if isinstance(message, dict) else None)


def model(line: Line) -> object:
    message = line.get("message")
    return message.get("model") if isinstance(message, dict) else None


def message_id(line: Line) -> object:
    message = line.get("message")
    return message.get("id") if isinstance(message, dict) else None


def content(line: Line) -> list[Line]:
    message = line.get("message")
    value = message.get("content") if isinstance(message, dict) else line.get("content")
    if isinstance(value, str):
        return [{"type": "text", "text": value}]
    return [block for block in value if isinstance(block, dict)] if isinstance(value, list) else []


def opener(line: Line) -> str | None:
    """What a line of the main conversation could open a turn as: prompt, command, shell, notification; None if it cannot."""
    if role(line) != "user" or line.get("isMeta") or line.get("isCompactSummary"):
        return None
    blocks = content(line)
    if any(block.get("type") == "tool_result" for block in blocks):
        return None
    text = "\n".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text").strip()
    if text.startswith(OUTPUTS) or text.startswith("[Request interrupted by user"):
        return None
    if text.startswith(NOTIFICATIONS):
        return "notification"
    if text.startswith(COMMANDS):
        return "command"
    if text.startswith("<bash-input"):
        return "shell"
    typed = EDITOR_NOTES.sub("", text).strip()
    return "prompt" if typed or any(block.get("type") == "image" for block in blocks) else None


def openers_above(lines: list[Line]) -> list[int | None]:
    """For each line the nearest line at or above it that could open a turn; None where there is none."""
    last_of = {line["uuid"]: index for index, line in enumerate(lines) if line.get("uuid")}
    found: list[int | None] = []
    for start in range(len(lines)):
        seen: set[int] = set()
        at: int | None = start
        while at is not None and at not in seen and not opener(lines[at]):
            seen.add(at)
            up = lines[at].get("parentUuid") or lines[at].get("logicalParentUuid")
            # A parent that is not there: the line before (rule 23). No parent at all: a beginning, unless it is a compaction.
            boundary = lines[at].get("subtype") == "compact_boundary"
            at = last_of.get(up, at - 1 if at else None) if up or boundary else None
        found.append(None if at in seen else at)
    return found


def answers_or_expands(line: Line) -> bool:
    """Whether a line shows that what stands above it went to the model: its answer, or the text that a command stands for."""
    if role(line) == "assistant":
        return model(line) != "<synthetic>"
    return bool(role(line) == "user" and line.get("isMeta") and not caveat(line) and not line.get("sourceToolUseID"))


def caveat(line: Line) -> bool:
    text = str(content(line)[0].get("text", "")) if content(line) else ""
    return text.startswith(("Caveat:", "<local-command-caveat"))


def count(session: Path, agents: list[Path]) -> Counter[str]:
    """The counts of one family; an agent's file that stands for itself counts as one agent."""
    files = [lines_of(path) for path in (session, *agents)]
    main = files[0]
    everything = [line for lines in files for line in lines]
    totals: Counter[str] = Counter()
    count_turns(main, totals)
    count_calls(everything, totals)
    count_tools(everything, totals)
    count_promptless(files, totals)
    boundaries = [line for line in everything if line.get("subtype") == "compact_boundary"]
    totals["compactions"] = len({line.get("uuid") or id(line) for line in boundaries})
    inline = sum(1 for line in main if line.get("isSidechain") and not line.get("parentUuid") and role(line) == "user")
    totals["agents"] = 1 if session.name.startswith("agent-") else len(agents) + inline
    return totals


def count_turns(main: list[Line], totals: Counter[str]) -> None:
    above = openers_above(main)
    carried = {above[index] for index, line in enumerate(main) if not line.get("isSidechain") and answers_or_expands(line)}
    uuids: set[str] = set()
    for index, line in enumerate(main):
        kind = opener(line)
        if line.get("isSidechain") or kind is None or line.get("uuid") in uuids:
            continue
        uuids.add(line.get("uuid") or f"line {index}")
        if kind in ("prompt", "notification") or index in carried:
            totals[f"turns opened by a {kind}"] += 1
        else:
            totals["commands without an answer" if kind == "command" else "shell inputs without an answer"] += 1


def count_calls(lines: list[Line], totals: Counter[str]) -> None:
    """One call for each `message.id`; lines without one are one call with their neighbours without one (rule 27)."""
    synthetic: dict[object, bool] = {}
    alone = 0
    without_id = False
    for line in lines:
        if role(line) == "user":
            without_id = False
        elif role(line) == "assistant":
            alone += not message_id(line) and not without_id
            without_id = not message_id(line)
            synthetic[message_id(line) or f" {alone}"] = model(line) == "<synthetic>"
    totals["calls"] = sum(not made_up for made_up in synthetic.values())
    totals["synthetic calls"] = sum(synthetic.values())


def uses_of(line: Line) -> set[str]:
    return {block["id"] for block in content(line) if block.get("type") == "tool_use"} if role(line) == "assistant" else set()


def count_tools(lines: list[Line], totals: Counter[str]) -> None:
    uses = {use for line in lines for use in uses_of(line)}
    blocks = (block for line in lines if role(line) == "user" for block in content(line))
    results = {block["tool_use_id"] for block in blocks if block.get("type") == "tool_result"}
    totals["tool calls"] = len(uses)
    totals["tool calls without a result"] = len(uses - results)
    totals["results without a call"] = len(results - uses)


def count_promptless(files: list[list[Line]], totals: Counter[str]) -> None:
    """Calls of conversations that were cut, and begin in the middle of a turn whose prompt is in no file."""
    with_prompt: set[object] = set()
    without: dict[object, set[str]] = {}
    for lines in files:
        for line, above in zip(lines, openers_above(lines), strict=True):
            if role(line) != "assistant" or not message_id(line):
                continue
            if above is not None:
                with_prompt.add(message_id(line))
            else:
                without.setdefault(message_id(line), set()).update(uses_of(line))
    cut = [uses for identity, uses in without.items() if identity not in with_prompt]
    totals["calls before any prompt"] = len(cut)
    totals["tool calls before any prompt"] = len(set().union(*cut))


def count_folder(folder: Path) -> dict[Path, Counter[str]]:
    """The counts of every family under a folder, by its session's file."""
    return {session: count(session, agents) for session, agents in families(folder).items()}


def shapes(folder: Path) -> Counter[str]:
    """How often real files do what the seed documents say they don't: one count for each statement."""
    totals: Counter[str] = Counter()
    for path in sorted(folder.rglob("*.jsonl")):
        lines = lines_of(path)
        for line in lines:
            if role(line) == "user" and not line.get("isSidechain"):
                _shape_of_input(line, totals)
        _shape_of_responses(lines, totals)
    return totals


def _shape_of_input(line: Line, totals: Counter[str]) -> None:
    value = (line.get("message") or line).get("content")
    kind = opener(line)
    if isinstance(value, str):
        totals["user lines with string content"] += 1
        totals["string content that no person typed as a prompt"] += kind != "prompt"
    elif not any(block.get("type") == "tool_result" for block in content(line)):
        totals["user lines with array content and no tool result"] += 1
        totals["array content that is a prompt"] += kind == "prompt"
    if kind == "prompt":
        totals["prompts"] += 1
        totals["prompts with permissionMode"] += line.get("permissionMode") is not None
        totals["prompts with permissionMode and a parent"] += bool(line.get("permissionMode") and line.get("parentUuid"))


def _shape_of_responses(lines: list[Line], totals: Counter[str]) -> None:
    groups: dict[object, list[tuple[int, Line]]] = {}
    talk = [line for line in lines if role(line) in ("user", "assistant")]
    for place, line in enumerate(talk):
        if role(line) == "assistant" and model(line) != "<synthetic>":
            groups.setdefault(message_id(line), []).append((place, line))
    for group in groups.values():
        stops = [line["message"].get("stop_reason") is not None for _, line in group]
        totals["responses"] += 1
        totals["responses without any stop_reason"] += not any(stops)
        if len(group) > 1:
            totals["responses of several lines"] += 1
            totals["responses of several lines, stop_reason on each"] += all(stops)
            totals["responses of several lines, stop_reason on the last only"] += stops[-1] and not any(stops[:-1])
            totals["responses whose lines are not adjacent"] += group[-1][0] - group[0][0] >= len(group)
            tokens = {(line["message"].get("usage") or {}).get("output_tokens") for _, line in group}
            totals["responses whose lines differ in output tokens"] += len(tokens) > 1


if __name__ == "__main__":
    sums: Counter[str] = Counter()
    for counts in count_folder(Path(sys.argv[1])).values():
        sums.update(counts)
    sys.stdout.write(json.dumps([dict(sorted(sums.items())), shapes(Path(sys.argv[1]))], indent=1) + "\n")
