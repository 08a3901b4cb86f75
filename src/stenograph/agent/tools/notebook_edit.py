"""NotebookEdit: replaces, inserts or deletes one cell of a Jupyter notebook. Shapes and words are those of 2.1.325."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta

from stenograph.agent.tools import changing
from stenograph.agent.tools.base import Json, Tool, ToolContext, ToolFailed, ToolInput, ToolOutput, Workspace, failed_use
from stenograph.agent.tools.changing import FileKnowledge
from stenograph.agent.tools.texts import decode, missing, resolved


class NotebookEditInput(ToolInput):
    notebook_path: Annotated[str, Meta(description="Absolute path of the notebook")]
    new_source: Annotated[str, Meta(description="The new content of the cell")]
    cell_id: Annotated[str | None, Meta(description="The cell, as Read shows it. A new cell is inserted after it")] = None
    cell_type: Annotated[Literal["code", "markdown"] | None, Meta(description="Required for a new cell")] = None
    edit_mode: Annotated[Literal["replace", "insert", "delete"], Meta(description="What to do with the cell")] = "replace"


class NotebookEdit(Tool[NotebookEditInput]):
    name = "NotebookEdit"
    input_type = NotebookEditInput

    def paths(self, given: NotebookEditInput, workspace: Workspace) -> list[Path]:
        return [resolved(given.notebook_path, self.name, workspace)]

    async def run(self, given: NotebookEditInput, context: ToolContext) -> ToolOutput:
        path = resolved(given.notebook_path, self.name, context.workspace)
        _refuse(given, path, context)
        changing.refuse_link(path)
        try:
            before = decode(changing.current_bytes(path))
        except FileNotFoundError:
            raise ToolFailed(missing(path, context.workspace)) from None
        match changing.knowledge(path, before.text, context):
            case FileKnowledge.OLDER:
                raise failed_use(changing.CHANGED)
            case FileKnowledge.PART:
                raise failed_use(changing.READ_IN_PART)
            case _:
                pass
        import json  # not before the first request

        notebook = _parsed(before.text)
        done = _change(notebook, given)
        after = json.dumps(notebook, indent=1, ensure_ascii=False)
        changing.keep_and_write(path, before.encode(after, keep_newlines=False), context)
        context.read_state.note(path, after)
        language = (notebook.get("metadata") or {}).get("language_info") or {}
        structured: Json = {
            "new_source": given.new_source,
            **({} if done.old is None else {"old_source": done.old}),
            "cell_type": given.cell_type or "code",
            "language": str(language.get("name", "python")) if isinstance(language, dict) else "python",
            "edit_mode": given.edit_mode,
            **({"cell_id": done.cell} if done.cell else {}),
            "error": "",
            "notebook_path": str(path),
            "original_file": before.text,
            "updated_file": after,
        }
        return ToolOutput(content=_words(given, done.cell), structured=structured)


class OldNotebookEdit(NotebookEdit):
    """In the shapes of 2.0."""

    async def run(self, given: NotebookEditInput, context: ToolContext) -> ToolOutput:
        output = await super().run(given, context)
        for member in ("old_source", "notebook_path", "original_file", "updated_file"):
            output.structured.pop(member, None)
        return output


class _Done:
    def __init__(self, cell: str, old: str | None) -> None:
        #: Empty for a new cell of a format without ids.
        self.cell = cell
        self.old = old


def _refuse(given: NotebookEditInput, path: Path, context: ToolContext) -> None:
    if path.suffix != ".ipynb":
        raise failed_use("File must be a Jupyter notebook (.ipynb file). For editing other file types, use the FileEdit tool.")
    if given.edit_mode == "insert" and given.cell_type is None:
        raise failed_use("Cell type is required when using edit_mode=insert.")
    if given.edit_mode != "insert" and not given.cell_id:
        raise failed_use("Cell ID must be specified when not inserting a new cell.")
    if context.read_state.seen(path) is None:
        raise failed_use(changing.UNREAD)


def _parsed(text: str) -> Json:
    import json

    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError):
        raise failed_use("Notebook is not valid JSON.") from None
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise failed_use("Notebook is not valid JSON.")
    return notebook


def _change(notebook: Json, given: NotebookEditInput) -> _Done:
    cells: list[Any] = notebook["cells"]
    place = _place(cells, given.cell_id) if given.cell_id else -1
    if given.edit_mode == "insert":
        cell = _new_cell(given, has_id=_has_ids(notebook))
        cells.insert(place + 1, cell)
        return _Done(cell.get("id", ""), None)
    cell = cells[place]
    source = cell.get("source")
    old = "".join(map(str, source)) if isinstance(source, list) else str(source or "")
    if given.edit_mode == "delete":
        del cells[place]
        return _Done(str(given.cell_id), old)
    cell["source"] = given.new_source
    if cell.get("cell_type") == "code":
        cell["execution_count"] = None
        cell["outputs"] = []
    if given.cell_type:
        cell["cell_type"] = given.cell_type
    return _Done(str(given.cell_id), old)


def _place(cells: list[Any], cell_id: str) -> int:
    """By its id, or by its number as Read shows it: cell-0."""
    for place, cell in enumerate(cells):
        if isinstance(cell, dict) and cell.get("id") == cell_id:
            return place
    number = cell_id.removeprefix("cell-")
    if number != cell_id and number.isdecimal() and int(number) < len(cells) and isinstance(cells[int(number)], dict):
        return int(number)
    raise failed_use(f'Cell with ID "{cell_id}" not found in notebook.')


def _has_ids(notebook: Json) -> bool:
    """From format 4.5 on."""
    major, minor = notebook.get("nbformat"), notebook.get("nbformat_minor")
    return isinstance(major, int) and isinstance(minor, int) and (major, minor) >= (4, 5)


def _new_cell(given: NotebookEditInput, *, has_id: bool) -> Json:
    cell: Json = {"cell_type": given.cell_type}
    if has_id:
        import secrets

        cell["id"] = secrets.token_hex(4)
    cell |= {"source": given.new_source, "metadata": {}}
    return {**cell, "execution_count": None, "outputs": []} if given.cell_type == "code" else cell


def _words(given: NotebookEditInput, cell: str) -> str:
    match given.edit_mode:
        case "delete":
            return f"Deleted cell {cell}"
        case "insert":
            return f"Inserted {f'cell {cell}' if cell else 'a new cell'} with {given.new_source}"
    return f"Updated cell {cell} with {given.new_source}"
