"""Write: a whole file, new or replacing one that was read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from stenograph.agent.tools import changing
from stenograph.agent.tools.base import Tool, ToolContext, ToolFailed, ToolInput, ToolOutput, Workspace, failed_use
from stenograph.agent.tools.changing import FileKnowledge, is_near, structured_patch
from stenograph.agent.tools.texts import TextFile, decode, refusal, resolved


class WriteInput(ToolInput):
    file_path: Annotated[str, Meta(description="Absolute path of the file")]
    content: Annotated[str, Meta(description="The complete content of the file")]


class WriteTool(Tool[WriteInput]):
    name = "Write"
    input_type = WriteInput

    def paths(self, given: WriteInput, workspace: Workspace) -> list[Path]:
        return [resolved(given.file_path, self.name, workspace)]

    def foresee(self, given: WriteInput, context: ToolContext) -> None:
        path = resolved(given.file_path, self.name, context.workspace)
        if is_near(path, context):
            _before(path, context)

    async def run(self, given: WriteInput, context: ToolContext) -> ToolOutput:
        path = resolved(given.file_path, self.name, context.workspace)
        before = _before(path, context)
        if before is None:
            return _create(given, path, context)
        # The newlines are the model's own; encoding and byte-order mark are the file's (2.1.325).
        data = before.encode(given.content, keep_newlines=False)
        changing.keep_and_write(path, data, context)
        after = decode(data)
        context.read_state.note(path, after.text)
        return ToolOutput(
            content=f"The file {given.file_path} has been updated successfully.{changing.CURRENT}",
            structured={
                "type": "update",
                "filePath": given.file_path,
                "content": given.content,
                "structuredPatch": structured_patch(before.marked, after.marked),
                "originalFile": changing.original_for_record(before),
                "userModified": False,
            },
        )


def _before(path: Path, context: ToolContext) -> TextFile | None:
    """What the file holds; None for a new one. Raises ToolFailed."""
    if os.path.isdir(path):  # noqa: PTH112 - Path.is_dir raises without rights
        raise failed_use(f"{path} is a directory, not a file. To create a file inside it, include the file name in file_path.")
    changing.refuse_link(path)
    try:
        before = decode(changing.current_bytes(path))
    except FileNotFoundError:
        return None
    _refuse_unknown(path, before, context)
    return before


def _create(given: WriteInput, path: Path, context: ToolContext) -> ToolOutput:
    new = TextFile("")
    changing.keep_and_write(path, new.encode(given.content, keep_newlines=False), context)
    context.read_state.note(path, decode(given.content.encode()).text)
    return ToolOutput(
        content=f"File created successfully at: {given.file_path}{changing.CURRENT}",
        structured={
            "type": "create",
            "filePath": given.file_path,
            "content": given.content,
            "structuredPatch": [],
            "originalFile": None,
            "userModified": False,
        },
    )


def _refuse_unknown(path: Path, before: TextFile, context: ToolContext) -> None:
    """The model must not overwrite what it has not seen."""
    match changing.knowledge(path, before.text, context):
        case FileKnowledge.NOTHING:
            raise failed_use(changing.UNREAD)
        case FileKnowledge.PART:
            raise failed_use(changing.READ_IN_PART)
        case FileKnowledge.OLDER:
            raise failed_use(changing.CHANGED)
        case FileKnowledge.ALL:
            pass
    if before.trouble:
        raise ToolFailed(refusal(before))


class OldWrite(WriteTool):
    """In the shapes of 2.0."""

    async def run(self, given: WriteInput, context: ToolContext) -> ToolOutput:
        output = await super().run(given, context)
        output.structured.pop("userModified", None)
        return output
