"""Tools as what they did: a function for the line that says what was asked, and one for the bodies that show what came out.

A tool without an entry in `_RENDERERS` is shown by its name and its input as JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from difflib import unified_diff
from typing import Any, NamedTuple

from msgspec import Struct

from stenograph.records import (
    AgentResult,
    AskUserQuestionResult,
    BashOutputResult,
    BashResult,
    EditResult,
    GlobResult,
    GrepResult,
    Hunk,
    MultiEditResult,
    ReadResult,
    ToolResult,
    WebFetchResult,
    WebSearchResult,
    WriteResult,
    text_of,
)
from stenograph.views.pages.transcript import AgentPart, Body, Checklist, Fact, Output, Patch, ToolPart
from stenograph.views.text import count_of


class ToolFacts(Struct, frozen=True):
    name: str
    input: dict[str, Any]
    #: The working directory at the time; empty when unknown.
    cwd: str = ""
    answered: bool = False
    #: As the model got it.
    result: str = ""
    is_error: bool = False
    #: As the client keeps it for its screen.
    structured: ToolResult | str | tuple[Any, ...] | None = None

    def word(self, *names: str) -> str:
        for name in names:
            value = self.input.get(name)
            if isinstance(value, str):
                return value
            if isinstance(value, int | float):
                return str(value)
        return ""

    def path(self, *names: str) -> str:
        return path_from(self.cwd, self.word(*names))


def path_from(folder: str, path: str) -> str:
    """A path as one in a directory would write it: without the directory where it is inside, else as it is."""
    folder = folder.rstrip("/\\")
    if folder and path == folder:
        return ""
    if folder and path.startswith(folder) and path[len(folder) : len(folder) + 1] in ("/", "\\"):
        return path[len(folder) + 1 :]
    return path


class Renderer(NamedTuple):
    title: Callable[[ToolFacts], str]
    bodies: Callable[[ToolFacts], Iterable[Body]]


def _result(facts: ToolFacts) -> Iterator[Body]:
    if facts.result.strip():
        yield Output(facts.result)


def _command(facts: ToolFacts) -> str:
    background = " &" if facts.input.get("run_in_background") is True else ""
    return f"$ {facts.word('command')}{background}"


def _printed(facts: ToolFacts) -> Iterator[Body]:
    found = facts.structured
    if isinstance(found, BashResult):
        if found.isImage:
            yield Fact("an image")
            return
        printed = [text for text in (found.stdout, found.stderr) if isinstance(text, str) and text.strip()]
        # A spilled output has only its beginning here; what the model got says where the rest is.
        text = facts.result if found.persistedOutputPath else "\n".join(printed)
        if text.strip():
            yield Output(text)
        if found.backgroundTaskId:
            yield Fact(f"continues in the background as {found.backgroundTaskId}")
        if found.interrupted:
            yield Fact("interrupted")
        if not text.strip() and not found.backgroundTaskId and not found.interrupted:
            yield Fact("no output")
    elif isinstance(found, BashOutputResult):
        texts = [text for text in (found.stdout, found.stderr) if isinstance(text, str) and text.strip()]
        yield Output("\n".join(texts)) if texts else Fact(found.status or "no output")
    else:
        yield from _result(facts)


def _shell_id(facts: ToolFacts) -> str:
    return facts.word("bash_id", "shell_id", "task_id")


def _path(facts: ToolFacts) -> str:
    return facts.path("file_path", "notebook_path", "path")


def _read_title(facts: ToolFacts) -> str:
    start, limit = facts.input.get("offset"), facts.input.get("limit")
    if isinstance(start, int) and isinstance(limit, int):
        return f"{_path(facts)} from line {start}, {count_of(limit, 'line')}"
    if isinstance(start, int):
        return f"{_path(facts)} from line {start}"
    return f"{_path(facts)}, {count_of(limit, 'line')}" if isinstance(limit, int) else _path(facts)


def _read_body(facts: ToolFacts) -> Iterator[Body]:
    found = facts.structured
    if isinstance(found, ReadResult) and found.file:
        file = found.file
        if isinstance(file.numLines, int):
            total = file.totalLines if isinstance(file.totalLines, int) else file.numLines
            yield Fact(f"{file.numLines:,} of {count_of(total, 'line')}" if total != file.numLines else count_of(total, "line"))
        else:
            yield Fact(found.type or "read")
    elif facts.result:
        yield Fact(count_of(facts.result.count("\n") + 1, "line"))


def hunk_lines(hunks: Iterable[object]) -> Iterator[str]:
    for hunk in hunks:
        if isinstance(hunk, Hunk) and hunk.lines:
            yield f"@@ -{hunk.oldStart or 0},{hunk.oldLines or 0} +{hunk.newStart or 0},{hunk.newLines or 0} @@"
            yield from hunk.lines


def diff_lines(before: str, after: str) -> list[str]:
    return list(unified_diff(before.splitlines(), after.splitlines(), lineterm=""))[2:]


def _done_change(facts: ToolFacts) -> list[str]:
    found = facts.structured
    hunks = found.structuredPatch if isinstance(found, EditResult | MultiEditResult | WriteResult) else None
    return list(hunk_lines(hunks)) if hunks else []


def change_lines(facts: ToolFacts) -> list[str]:
    """A change to a file as lines of a patch: as it was done, else as it was asked for."""
    return _done_change(facts) or _asked_change(facts)


def _change(facts: ToolFacts) -> Iterator[Body]:
    found = facts.structured
    lines = _done_change(facts)
    if isinstance(found, WriteResult) and not lines:
        yield Fact("created" if found.type == "create" else "written, nothing changed")
    if not lines:
        lines = _asked_change(facts)
    if lines:
        yield Patch(tuple(lines))
    if isinstance(found, EditResult | MultiEditResult | WriteResult) and found.userModified:
        yield Fact("changed by the user before it was applied")


def _asked_change(facts: ToolFacts) -> list[str]:
    """The change as it was asked for, where nothing says what became of it."""
    asked = facts.input
    edits = asked.get("edits") if isinstance(asked.get("edits"), list) else [asked]
    lines: list[str] = []
    for edit in edits or []:
        if isinstance(edit, dict) and isinstance(edit.get("new_string"), str):
            lines += diff_lines(str(edit.get("old_string") or ""), edit["new_string"])
    if isinstance(asked.get("content"), str):
        lines += ["+" + line for line in asked["content"].splitlines()]
    return lines


def _notebook_cell(facts: ToolFacts) -> Iterator[Body]:
    yield Output(facts.word("new_source"))


def _pattern(facts: ToolFacts) -> str:
    place = facts.path("path") or facts.word("glob", "type")
    return f"{facts.word('pattern')}{' in ' + place if place else ''}"


def _found(facts: ToolFacts) -> Iterator[Body]:
    found = facts.structured
    if isinstance(found, GrepResult):
        if found.mode == "content" and isinstance(found.content, str):
            yield Fact(count_of(found.numLines if isinstance(found.numLines, int) else found.content.count("\n") + 1, "line"))
            yield Output(found.content)
        else:
            yield from _file_names(found.filenames, found.numFiles)
    elif isinstance(found, GlobResult):
        yield from _file_names(found.filenames, found.numFiles)
    else:
        yield from _result(facts)


def _file_names(names: object, number: object) -> Iterator[Body]:
    listed = [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
    yield Fact(count_of(number if isinstance(number, int) else len(listed), "file"))
    if listed:
        yield Output("\n".join(listed))


def _query(facts: ToolFacts) -> str:
    return facts.word("query", "url")


def _from_the_web(facts: ToolFacts) -> Iterator[Body]:
    found = facts.structured
    if isinstance(found, WebFetchResult):
        yield Fact(f"{found.code or ''} {found.codeText or ''}".strip())
    elif isinstance(found, WebSearchResult) and found.results:
        yield Fact(count_of(len(found.results), "result"))
    yield from _result(facts)


def _todos(facts: ToolFacts) -> list[Any]:
    todos = facts.input.get("todos")
    return [todo for todo in todos if isinstance(todo, dict)] if isinstance(todos, list) else []


def _how_many(facts: ToolFacts) -> str:
    todos = _todos(facts)
    done = sum(todo.get("status") == "completed" for todo in todos)
    return f"{done} of {count_of(len(todos), 'task')} done"


def _checklist(facts: ToolFacts) -> Iterator[Body]:
    items = tuple((str(todo.get("status") or "pending"), str(todo.get("content") or "")) for todo in _todos(facts))
    if items:
        yield Checklist(items)


def _task_line(facts: ToolFacts) -> str:
    number = facts.word("taskId", "task_id")
    words = [f"#{number}" if number else "", facts.word("subject"), facts.word("status")]
    return " ".join(word for word in words if word)


def _agent_task(facts: ToolFacts) -> str:
    kind = facts.word("subagent_type")
    return f"{facts.word('description') or facts.word('prompt')}{f' ({kind})' if kind else ''}"


def _report(facts: ToolFacts) -> Iterator[Body]:
    found = facts.structured
    if isinstance(found, AgentResult) and (report := text_of(found.content)).strip():
        yield Output(report)  # without the notes for the model that newer releases put behind it
    else:
        yield from _result(facts)


def _questions(facts: ToolFacts) -> str:
    asked = facts.input.get("questions")
    texts = [str(each.get("question") or "") for each in asked if isinstance(each, dict)] if isinstance(asked, list) else []
    return " / ".join(texts)


def _answers(facts: ToolFacts) -> Iterator[Body]:
    found = facts.structured
    if isinstance(found, AskUserQuestionResult) and found.answers:
        yield Output("\n".join(f"{question} {answer}" for question, answer in found.answers.items()))
    else:
        yield from _result(facts)


def _plan(facts: ToolFacts) -> Iterator[Body]:
    if plan := facts.word("plan"):
        yield Output(plan)
    else:
        yield from _result(facts)


def _skill(facts: ToolFacts) -> str:
    return " ".join(word for word in (facts.word("skill", "command"), facts.word("args")) if word)


def _input(facts: ToolFacts) -> str:
    import json

    from stenograph.redact import as_is, mask_json

    return json.dumps(mask_json(facts.input, as_is), ensure_ascii=False, separators=(", ", ": ")) if facts.input else ""


_RENDERERS = {
    "Bash": Renderer(_command, _printed),
    "PowerShell": Renderer(_command, _printed),
    "BashOutput": Renderer(_shell_id, _printed),
    "KillShell": Renderer(_shell_id, _printed),
    "KillBash": Renderer(_shell_id, _printed),
    "TaskOutput": Renderer(_shell_id, _printed),
    "TaskStop": Renderer(_shell_id, _printed),
    "Read": Renderer(_read_title, _read_body),
    "Edit": Renderer(_path, _change),
    "MultiEdit": Renderer(_path, _change),
    "Write": Renderer(_path, _change),
    "NotebookEdit": Renderer(_path, _notebook_cell),
    "NotebookRead": Renderer(_path, _read_body),
    "Grep": Renderer(_pattern, _found),
    "Glob": Renderer(_pattern, _found),
    "LS": Renderer(_path, _found),
    "WebFetch": Renderer(_query, _from_the_web),
    "WebSearch": Renderer(_query, _from_the_web),
    "ToolSearch": Renderer(_query, _found),
    "TodoWrite": Renderer(_how_many, _checklist),
    "TaskCreate": Renderer(_task_line, _result),
    "TaskUpdate": Renderer(_task_line, _result),
    "TaskGet": Renderer(_task_line, _result),
    "TaskList": Renderer(_task_line, _result),
    "AskUserQuestion": Renderer(_questions, _answers),
    "ExitPlanMode": Renderer(lambda _: "", _plan),
    "EnterPlanMode": Renderer(lambda _: "", _result),
    "Skill": Renderer(_skill, _result),
    "SlashCommand": Renderer(_skill, _result),
    "Task": Renderer(_agent_task, _report),
    "Agent": Renderer(_agent_task, _report),
}
_OTHER = Renderer(_input, _result)


def tool_title(facts: ToolFacts) -> str:
    """What the tool was asked for, in short."""
    return _RENDERERS.get(facts.name, _OTHER).title(facts)


def error_text(result: str) -> str:
    """Without the tags around a refusal, which are for the model."""
    return result.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>")


def tool_part(identity: str, facts: ToolFacts, agent: AgentPart | None = None, duration_ms: int | None = None) -> ToolPart:
    title, bodies = _RENDERERS.get(facts.name, _OTHER)
    status = "unanswered" if not facts.answered else "failed" if facts.is_error else "done"
    shown: Iterable[Body] = (Output(error_text(facts.result), is_error=True),) if facts.is_error else bodies(facts)
    return ToolPart(identity, facts.name, title(facts), status, tuple(shown), agent, duration_ms)
