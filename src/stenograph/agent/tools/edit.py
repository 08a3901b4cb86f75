"""Edit: one exact text in a file replaced by another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from stenograph.agent.tools import changing
from stenograph.agent.tools.base import Json, Tool, ToolContext, ToolInput, ToolOutput, Workspace, failed_use
from stenograph.agent.tools.changing import FileKnowledge, is_near, structured_patch
from stenograph.agent.tools.texts import TextFile, decode, missing, refusal, resolved

_STALE = (
    " (note: the file had been modified on disk since you last read it — the edit applied cleanly, but the file contains other"
    " changes not in your context. Read it before edits that depend on surrounding content.)"
)
#: Models write them straight.
_STRAIGHT = str.maketrans({"\u201c": '"', "\u201d": '"', "\u2018": "'", "\u2019": "'"})


class EditInput(ToolInput):
    file_path: Annotated[str, Meta(description="Absolute path of the file")]
    old_string: Annotated[str, Meta(description="The text to replace, exactly as in the file; empty for a new file")]
    new_string: Annotated[str, Meta(description="The new text")]
    replace_all: Annotated[bool, Meta(description="Replace all occurrences")] = False


class _Replacement(Struct, frozen=True):
    #: As it is in the file.
    old: str
    after: str


class EditTool(Tool[EditInput]):
    name = "Edit"
    input_type = EditInput

    def paths(self, given: EditInput, workspace: Workspace) -> list[Path]:
        return [resolved(given.file_path, self.name, workspace)]

    def foresee(self, given: EditInput, context: ToolContext) -> None:
        path = resolved(given.file_path, self.name, context.workspace)
        if is_near(path, context):
            self._planned(given, path, context)

    async def run(self, given: EditInput, context: ToolContext) -> ToolOutput:
        path = resolved(given.file_path, self.name, context.workspace)
        return _change(given, path, *self._planned(given, path, context), context)

    def _planned(self, given: EditInput, path: Path, context: ToolContext) -> tuple[TextFile, _Replacement, FileKnowledge]:
        """What the file holds, and what it would. Raises ToolFailed."""
        if given.old_string == given.new_string:
            raise failed_use("No changes to make: old_string and new_string are exactly the same.")
        changing.refuse_link(path)
        try:
            before = decode(changing.current_bytes(path))
        except FileNotFoundError:
            if given.old_string:
                raise failed_use(missing(path, context.workspace)) from None
            return TextFile(""), _Replacement("", given.new_string), FileKnowledge.ALL
        if path.suffix == ".ipynb":
            raise failed_use(
                "File is a Jupyter Notebook, which Edit does not change: change its JSON with a script, or Write it."
            )
        if before.trouble:
            raise failed_use(refusal(before))
        known = changing.knowledge(path, before.text, context)
        return before, _replacement(given, before.text, known), known


def _replacement(given: EditInput, text: str, known: FileKnowledge) -> _Replacement:
    if not given.old_string:
        if text.strip():
            raise failed_use("Cannot create new file - file already exists.")
        return _Replacement("", given.new_string)
    if known is FileKnowledge.NOTHING:
        raise failed_use(changing.UNREAD)
    old, new = _as_in_file(given.old_string, given.new_string, text)
    count = text.count(old)
    if known is FileKnowledge.OLDER and (not count or (count > 1 and not given.replace_all)):
        raise failed_use(changing.CHANGED)
    if not count:
        raise failed_use(f"String to replace not found in file.\nString: {given.old_string}")
    if count > 1 and not given.replace_all:
        raise failed_use(
            f"Found {count} matches of the string to replace, but replace_all is false. To replace all occurrences, set"
            " replace_all to true. To replace only one occurrence, please provide more context to uniquely identify the instance."
            f"\nString: {given.old_string}"
        )
    return _Replacement(old, text.replace(old, new))


def _as_in_file(old: str, new: str, text: str) -> tuple[str, str]:
    """The two strings with the file's newlines and quotes, if only these keep the first from being found."""
    if old in text:
        return old, new
    old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    at = text.translate(_STRAIGHT).find(old.translate(_STRAIGHT))
    if at < 0:
        return old, new
    found = text[at : at + len(old)]
    return found, _curled(new, found)


def _curled(new: str, found: str) -> str:
    """Straight quotes as round ones, where the file's are (2.1.325)."""
    for straight, opening, closing in (('"', "\u201c", "\u201d"), ("'", "\u2018", "\u2019")):
        if opening not in found and closing not in found:
            continue
        parts = new.split(straight)
        curled = parts[0]
        for part in parts[1:]:
            is_opening = not curled or curled[-1].isspace() or curled[-1] in "([{—–"
            curled += (opening if is_opening else closing) + part
        new = curled
    return new


def _change(
    given: EditInput, path: Path, before: TextFile, replacement: _Replacement, known: FileKnowledge, context: ToolContext
) -> ToolOutput:
    data = before.encode(replacement.after, keep_newlines=True)
    changing.keep_and_write(path, data, context)
    after = decode(data)
    # What was unknown of the file before still is.
    context.read_state.note(path, after.text, is_partial=known is not FileKnowledge.ALL)
    structured: Json = {
        "filePath": given.file_path,
        "oldString": replacement.old,
        "newString": given.new_string,
        "originalFile": changing.original_for_record(before),
        "structuredPatch": structured_patch(before.marked, after.marked),
        "userModified": False,
        "replaceAll": given.replace_all,
    }
    if known is FileKnowledge.OLDER:
        structured["staleRecovered"] = True
    if known is not FileKnowledge.ALL:
        structured["contentNotInModelContext"] = True
    done = "updated. All occurrences were successfully replaced." if given.replace_all else "updated successfully."
    note = {FileKnowledge.ALL: changing.CURRENT, FileKnowledge.OLDER: _STALE}.get(known, "")
    return ToolOutput(content=f"The file {given.file_path} has been {done}{note}", structured=structured)
