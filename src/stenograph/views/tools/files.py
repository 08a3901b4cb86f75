"""Files read and changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import unified_diff

from stenograph.records import EditResult, Hunk, MultiEditResult, ReadResult, WriteResult
from stenograph.views.pages.transcript import Body, Fact, Output, Patch
from stenograph.views.text import count_of
from stenograph.views.tools.facts import Renderer, ToolFacts


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
    """The lines of a structured patch, each hunk under its place."""
    for hunk in hunks:
        if isinstance(hunk, Hunk) and hunk.lines:
            yield f"@@ -{hunk.oldStart or 0},{hunk.oldLines or 0} +{hunk.newStart or 0},{hunk.newLines or 0} @@"
            yield from hunk.lines


def diff_lines(before: str, after: str) -> list[str]:
    """The lines of a patch from one text to another, without the names of files."""
    return list(unified_diff(before.splitlines(), after.splitlines(), lineterm=""))[2:]


def _change(facts: ToolFacts) -> Iterator[Body]:
    found = facts.structured
    hunks = found.structuredPatch if isinstance(found, EditResult | MultiEditResult | WriteResult) else None
    lines = list(hunk_lines(hunks)) if hunks else []
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


def _cell(facts: ToolFacts) -> Iterator[Body]:
    yield Output(facts.word("new_source"))


RENDERERS = {
    "Read": Renderer(_read_title, _read_body),
    "Edit": Renderer(_path, _change),
    "MultiEdit": Renderer(_path, _change),
    "Write": Renderer(_path, _change),
    "NotebookEdit": Renderer(_path, _cell),
    "NotebookRead": Renderer(_path, _read_body),
}
