"""Grep: files by content."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta, Struct, field

from stenograph.agent.permissions.sensitive_files import is_process_file, refuse_process_file, refuse_process_folder
from stenograph.agent.tools.base import Json, Tool, ToolContext, ToolFailed, ToolInput, ToolOutput, Workspace
from stenograph.agent.tools.spill import LIMIT, spill, without_middle
from stenograph.agent.tools.texts import resolved
from stenograph.disk import absolute_path

if TYPE_CHECKING:
    from stenograph.agent.tools.ripgrep import Lines
    from stenograph.agent.tools.searching import Search

#: Lines or files (2.1.325).
DEFAULT_LIMIT = 250


class GrepInput(ToolInput):
    pattern: Annotated[str, Meta(description="Regular expression")]
    path: Annotated[str | None, Meta(description="File or directory; the working directory by default")] = None
    glob: Annotated[str | None, Meta(description="Only files like this, e.g. *.{ts,tsx}")] = None
    type: Annotated[str | None, Meta(description="Only files of this type: py, js, ts, go, rust, …")] = None
    output_mode: Annotated[
        Literal["content", "files_with_matches", "count"],
        Meta(description="content: matching lines; files_with_matches: paths; count: matches by file"),
    ] = "files_with_matches"
    before: Annotated[int | None, Meta(description="Lines to show before each match")] = field(default=None, name="-B")
    after: Annotated[int | None, Meta(description="Lines to show after each match")] = field(default=None, name="-A")
    around: Annotated[int | None, Meta(description="Lines to show before and after each match")] = field(default=None, name="-C")
    context: Annotated[int | None, Meta(description="The same as -C")] = None
    with_numbers: Annotated[bool, Meta(description="Show line numbers")] = field(default=True, name="-n")
    ignores_case: Annotated[bool, Meta(description="Ignore case")] = field(default=False, name="-i")
    only_matching: Annotated[bool, Meta(description="Show only the matching part of each line")] = field(default=False, name="-o")
    head_limit: Annotated[int | None, Meta(description="Maximum number of lines or entries; 250 by default, 0 for all")] = None
    offset: Annotated[int, Meta(description="Skip the first N lines or entries")] = 0
    multiline: Annotated[bool, Meta(description="Matches may span lines, and . matches newlines")] = False


class _Window(Struct, frozen=True):
    shown: list[str]
    #: Only if something was cut off at the end.
    limit: int | None
    offset: int

    @property
    def words(self) -> str:
        parts = [f"limit: {self.limit}"] if self.limit is not None else []
        return ", ".join(parts + ([f"offset: {self.offset}"] if self.offset else []))

    @property
    def structured(self) -> Json:
        applied: Json = {} if self.limit is None else {"appliedLimit": self.limit}
        return applied | ({"appliedOffset": self.offset} if self.offset else {})


class GrepTool(Tool[GrepInput]):
    name = "Grep"
    input_type = GrepInput
    is_read_only = True

    def paths(self, given: GrepInput, workspace: Workspace) -> list[Path]:
        return [absolute_path(resolved(given.path, self.name, workspace)) if given.path else workspace.cwd]

    async def run(self, given: GrepInput, context: ToolContext) -> ToolOutput:
        workspace = context.workspace
        target = self.paths(given, workspace)[0]
        if not os.path.exists(target):  # noqa: PTH110 - Path.exists raises without rights
            raise ToolFailed(f"Path does not exist: {target}. Note: your current working directory is {workspace.cwd}.")
        if "\0" in given.pattern + (given.glob or "") + (given.type or ""):
            raise ToolFailed("Search failed: no file is searched for NUL characters.")
        refuse_process_file(target)
        refuse_process_folder(target)
        if not os.path.isdir(target) and not os.path.isfile(target):  # noqa: PTH112, PTH113 - those of Path raise without rights
            raise ToolFailed(f"Search failed: {target} is neither a file nor a directory.")
        from stenograph.agent.tools.ripgrep import run_search  # not before the first request

        found = await run_search(
            _wanted(given, target, workspace), workspace, _readable(target, context), environ=context.environ
        )
        match given.output_mode:
            case "content":
                output = _content(given, found)
            case "count":
                output = _count(given, found)
            case _:
                output = _files(given, found, workspace)
        if found.is_cut:
            output.content = f"{output.content}\n\n(The search was stopped before its end; there may be more. Narrow it down.)"
        return _spilled(output, context)


def _readable(target: Path, context: ToolContext) -> Callable[[Path], bool] | None:
    may_read = context.may_read
    if os.path.realpath(target) != os.sep:
        return may_read
    return lambda path: not is_process_file(path) and (may_read is None or may_read(path))


def _spilled(output: ToolOutput, context: ToolContext) -> ToolOutput:
    if isinstance(output.content, str) and len(output.content) > LIMIT:
        spilled = spill(output.content.encode("utf-8", "replace"), output.content, context.spill_folder, context.tool_use_id)
        output.content = spilled.stub if spilled else without_middle(output.content, LIMIT)
    return output


def _wanted(given: GrepInput, target: Path, workspace: Workspace) -> Search:
    from stenograph.agent.tools.searching import Search

    around = next((lines for lines in (given.context, given.around) if lines is not None), 0)
    if target == workspace.cwd:
        name = "."
    else:
        name = str(target.relative_to(workspace.cwd) if workspace.cwd in target.parents else target)
    return Search(
        pattern=given.pattern,
        target=name,
        mode=given.output_mode,
        before=max(around if given.before is None else given.before, 0),
        after=max(around if given.after is None else given.after, 0),
        with_numbers=given.with_numbers,
        ignores_case=given.ignores_case,
        only_matching=given.only_matching,
        is_multiline=given.multiline,
        globs=_globs(given.glob or ""),
        type=given.type or "",
    )


def _globs(text: str) -> list[str]:
    """Models write several, separated by blanks or commas; commas inside braces belong to one."""
    return [glob for word in text.split() for glob in ([word] if "{" in word else re.split(",", word)) if glob]


def _window(lines: list[str], given: GrepInput) -> _Window:
    limit = DEFAULT_LIMIT if given.head_limit is None else max(given.head_limit, 0)
    offset = max(given.offset, 0)
    rest = lines[offset:]
    if limit == 0 or len(rest) <= limit:
        return _Window(rest, None, offset)
    return _Window(rest[:limit], limit, offset)


def _content(given: GrepInput, found: Lines) -> ToolOutput:
    window = _window(found.lines, given)
    text = "\n".join(window.shown)
    structured: Json = {
        "mode": "content",
        "numFiles": 0,
        "filenames": [],
        "content": text,
        "numLines": len(window.shown),
        **window.structured,
    }
    words = text or "No matches found"
    if window.words:
        words += f"\n\n[Showing results with pagination = {window.words}]"
    return ToolOutput(content=words, structured=structured)


def _count(given: GrepInput, found: Lines) -> ToolOutput:
    window = _window(found.lines, given)
    text = "\n".join(window.shown)
    total = sum(int(number) for line in found.lines if (number := line.rpartition(":")[2]).isdecimal())
    structured: Json = {
        "mode": "count",
        "numFiles": len(found.lines),
        "filenames": [],
        "content": text,
        "numMatches": total,
        **window.structured,
    }
    occurrences = "occurrence" if total == 1 else "occurrences"
    words = f"{text or 'No matches found'}\n\nFound {total} total {occurrences} across {_files_word(len(found.lines))}."
    if window.words:
        words += f" with pagination = {window.words}"
    return ToolOutput(content=words, structured=structured)


def _files(given: GrepInput, found: Lines, workspace: Workspace) -> ToolOutput:
    newest_first = sorted(found.lines, key=lambda name: _changed(workspace.cwd / name), reverse=True)
    window = _window(newest_first, given)
    structured: Json = {
        "mode": "files_with_matches",
        "filenames": window.shown,
        "numFiles": len(window.shown),
        **window.structured,
    }
    if not window.shown:
        return ToolOutput(content="No files found", structured=structured)
    head = f"Found {_files_word(len(window.shown))}{' ' if window.words else ''}{window.words}"
    return ToolOutput(content="\n".join([head, *window.shown]), structured=structured)


def _files_word(count: int) -> str:
    return f"{count} file" if count == 1 else f"{count} files"


def _changed(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
