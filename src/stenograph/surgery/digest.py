"""Turns -> a digest: what a model needs to continue without having read them. Deterministic; no model is asked.

Prompts are word for word, of each answer the last text, files with their net differences, commands with their outcome, failures
and subagents with the end of their output. Other calls are counted by tool or, with `keep_tool_calls`, named with their input.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from stenograph.analysis import FileChange, changed_files
from stenograph.records import AGENT_TOOLS, CHANGING_TOOLS, to_text
from stenograph.turns import Session, ToolCall, Turn

ANSWER_LENGTH = 1_500
SAID_LENGTH = 300
COMMAND_LENGTH = 300
FAILURE_LENGTH = 400
AGENT_LENGTH = 600
DIFF_LINES = 60
VALUE_LENGTH = 80
MOST_VALUES = 4
_SHELLS = frozenset({"Bash", "PowerShell"})
#: The tool that starts subagents: `Agent` from 2.1.63 on.


def digest(session: Session, turns: Sequence[Turn], summaries: Sequence[str], *, keep_tool_calls: bool) -> str:
    parts = [
        "This session continues an earlier part that was compressed by a program, not by a model: "
        "prompts are word for word, the rest is cut as marked.",
        *filter(None, summaries),
        *("\n".join(_turn_lines(turn, keep_tool_calls=keep_tool_calls)) for turn in turns),
    ]
    files = [file for file in changed_files(session, turns) if file.changed]
    if files:
        parts.append("\n".join(["## Files changed", *(line for file in files for line in _file_lines(file))]))
    return "\n\n".join(parts)


def _turn_lines(turn: Turn, *, keep_tool_calls: bool) -> Iterator[str]:
    yield f"## Turn {turn.number} ({turn.status.value})"
    yield "The user said:"
    yield _quoted(turn.prompt)
    for interjection in turn.interjections:
        yield "and in the middle of it:"
        yield _quoted(interjection.text)
    said = [call.text for call in turn.calls if call.text.strip() and not call.is_synthetic]
    for text in said[:-1]:
        yield f"- said: {_cut(_one_line(text), SAID_LENGTH)}"
    yield from _call_lines(turn.tool_calls, keep_tool_calls=keep_tool_calls)
    if said:
        yield "The answer:"
        yield _quoted(_cut(said[-1], ANSWER_LENGTH))


def _call_lines(calls: Sequence[ToolCall], *, keep_tool_calls: bool) -> Iterator[str]:
    others: Counter[str] = Counter()
    for call in calls:
        if call.name in _SHELLS:
            yield f"- ran `{_cut(_one_line(_in_json(call.input.get('command', ''))), COMMAND_LENGTH)}`: {_outcome(call)}"
        elif call.name in AGENT_TOOLS:
            yield f"- {_agent(call)}"
        elif call.is_error or not call.answered:
            yield f"- {_named(call)}: {_outcome(call)}"
        elif keep_tool_calls and call.name not in CHANGING_TOOLS:
            yield f"- {_named(call)}"
        else:
            others[call.name] += 1
    if others:
        count = others.total()
        by_tool = ", ".join(f"{number:,} {name}" for name, number in others.most_common())
        yield f"- {count:,} more call{'' if count == 1 else 's'}: {by_tool}"


def _agent(call: ToolCall) -> str:
    kind = _one_line(_in_json(call.input.get("subagent_type", "")))
    task = _cut(_one_line(_in_json(call.input.get("description", ""))), SAID_LENGTH)
    started = f"{call.name}{f' ({kind})' if kind else ''}: {task}"
    if call.is_error or not call.answered:
        return f"{started}: {_outcome(call)}"
    # The result of one in the background says only that it was started.
    answer = (call.agent.answer if call.agent else "") or call.result
    return f"{started}: answered: {_cut_start(_one_line(answer), AGENT_LENGTH)}"


def _named(call: ToolCall) -> str:
    values = itertools.islice(call.input.items(), MOST_VALUES)
    given = ", ".join(f"{name}={_cut(_one_line(_in_json(value)), VALUE_LENGTH)}" for name, value in values)
    return f"{call.name}({given})"


def _in_json(value: Any) -> str:
    return value if isinstance(value, str) else to_text(value).decode()


def _outcome(call: ToolCall) -> str:
    if not call.answered:
        return "no result"
    if not call.is_error:
        return "done"
    return f"failed: {_cut_start(_one_line(call.result), FAILURE_LENGTH)}"


def _file_lines(file: FileChange) -> Iterator[str]:
    how = "created" if file.created else "changed"
    yield f"### {file.path} ({how})"
    diff = file.diff()
    if not diff:
        yield "(its difference is not known)" if not file.is_known else "(no net difference)"
        return
    yield "```diff"
    yield from diff[:DIFF_LINES]
    if len(diff) > DIFF_LINES:
        yield f"[… {len(diff) - DIFF_LINES} more lines …]"
    yield "```"


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.splitlines() or [""])


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length]} [… {len(text) - length:,} characters more]"


def _cut_start(text: str, length: int) -> str:
    return text if len(text) <= length else f"[{len(text) - length:,} characters before …] {text[-length:]}"
