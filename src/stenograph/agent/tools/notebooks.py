"""A Jupyter notebook -> cells as in `toolUseResult`, and content blocks (2.0.76, 2.1.325). Raises ToolFailed."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from typing import Any

import msgspec

from stenograph.agent.tools.base import Json, ToolFailed
from stenograph.agent.tools.media import media_type


def read_cells(data: bytes) -> list[Json]:
    try:
        return _read_cells(data)
    except RecursionError:
        raise ToolFailed("Notebook file is nested too deep to be one.") from None


def _read_cells(data: bytes) -> list[Json]:
    try:
        notebook = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        words = f"Notebook file is not valid JSON (it may be truncated, corrupted, or still being written): {error}"
        raise ToolFailed(words) from None
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        raise ToolFailed("Notebook file has no cells: it is JSON, but not of a notebook.")
    language = _member(_member(notebook, "metadata"), "language_info").get("name", "python")
    return [_cell(cell, index, str(language)) for index, cell in enumerate(cells) if isinstance(cell, dict)]


def _member(value: Json, name: str) -> Json:
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def _cell(cell: Json, index: int, language: str) -> Json:
    is_code = cell.get("cell_type") == "code"
    read: Json = {"cellType": str(cell.get("cell_type", "")), "source": _joined(cell.get("source"))}
    if is_code and isinstance(cell.get("execution_count"), int):
        read["execution_count"] = cell["execution_count"]
    read["cell_id"] = str(cell.get("id") or f"cell-{index}")
    if is_code:
        read["language"] = language
        outputs = cell.get("outputs")
        if isinstance(outputs, list) and outputs:
            read["outputs"] = [_output(output) for output in outputs if isinstance(output, dict)]
    return read


def _joined(text: Any) -> str:
    return "".join(map(str, text)) if isinstance(text, list) else str(text or "")


def _output(output: Json) -> Json:
    kind = str(output.get("output_type", ""))
    if kind == "stream":
        return {"output_type": kind, "text": _joined(output.get("text"))}
    if kind == "error":
        trace = output.get("traceback")
        lines = [f"{output.get('ename')}: {output.get('evalue')}", *(map(str, trace) if isinstance(trace, list) else ())]
        return {"output_type": kind, "text": "\n".join(lines)}
    data = _member(output, "data")
    read: Json = {"output_type": kind, "text": _joined(data.get("text/plain"))}
    for name in ("image/png", "image/jpeg"):
        picture = "".join(_joined(data.get(name)).split())
        if picture and _is_picture(picture):
            read["image"] = {"image_data": picture, "media_type": name}
            break
    return read


def _is_picture(text: str) -> bool:
    """Otherwise the API would refuse the whole conversation. 2.1.325 drops it too."""
    try:
        return media_type(base64.b64decode(text, validate=True)) is not None
    except (binascii.Error, ValueError):
        return False


def content_blocks(cells: list[Json]) -> list[Json]:
    """Texts, joined unless an image is between them."""
    blocks: list[Json] = []
    for block in _blocks(cells):
        if block["type"] == "text" and blocks and blocks[-1]["type"] == "text":
            blocks[-1]["text"] += "\n" + block["text"]
        else:
            blocks.append(block)
    return blocks


def _blocks(cells: list[Json]) -> Iterator[Json]:
    for cell in cells:
        kind = "" if cell["cellType"] == "code" else f"<cell_type>{cell['cellType']}</cell_type>"
        name = cell["cell_id"]
        yield {"text": f'<cell id="{name}">{kind}{cell["source"]}</cell id="{name}">', "type": "text"}
        for output in cell.get("outputs", []):
            if output["text"]:
                yield {"text": f"\n{output['text']}", "type": "text"}
            if image := output.get("image"):
                source = {"data": image["image_data"], "media_type": image["media_type"], "type": "base64"}
                yield {"type": "image", "source": source}
