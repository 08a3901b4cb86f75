"""Turns -> a digest: what a model needs to go on without having read them. Deterministic; no model is asked.

In: the turns to be condensed. Out: text. Prompts stand in it word for word, answers by their last words, files that were
changed with their net differences, commands with how they ended, failures with the end of what they said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stenograph.sessions.changes import FileChange, changed_files
from stenograph.turns import Session, ToolCall, Turn

ANSWER_LENGTH = 1_500
SAID_LENGTH = 300
COMMAND_LENGTH = 300
FAILURE_LENGTH = 400
DIFF_LINES = 60
_SHELLS = frozenset({"Bash", "PowerShell"})
_CHANGES = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"})


def digest(session: Session, turns: Sequence[Turn], *, keep_tool_calls: bool) -> str:
    """What happened in the turns."""
    parts = [
        "This session goes on from an earlier part that was condensed by a program, not by a model: "
        "prompts are word for word, the rest is cut as marked.",
        *(summary for turn in turns for compaction in turn.compactions if (summary := compaction.summary)),
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
    for call in turn.tool_calls:
        if call.name in _SHELLS:
            yield f"- ran `{_cut(_one_line(str(call.input.get('command', ''))), COMMAND_LENGTH)}`: {_outcome(call)}"
        elif call.is_error or not call.answered:
            yield f"- {_named(call)}: {_outcome(call)}"
        elif keep_tool_calls and call.name not in _CHANGES:
            yield f"- {_named(call)}"
    if said:
        yield "The answer:"
        yield _quoted(_cut(said[-1], ANSWER_LENGTH))


def _named(call: ToolCall) -> str:
    given = ", ".join(f"{name}={_cut(_one_line(str(value)), 80)}" for name, value in list(call.input.items())[:4])
    return f"{call.name}({given})"


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
