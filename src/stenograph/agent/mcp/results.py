"""What an MCP server answers -> a result in the shapes of 2.1.325: texts, images, files for the rest, structured content as JSON.

In: the server's content as plain JSON. Out: blocks for the model. Anything but text goes to a file beside the session, and
its path to the model; so does what is too long.
"""

from __future__ import annotations

import base64
import binascii
import secrets
import time
from collections.abc import Iterable
from pathlib import Path

import msgspec

from stenograph.agent.tools.base import ToolOutput
from stenograph.agent.tools.media import media_type
from stenograph.agent.tools.spill import save, spill
from stenograph.records import Json

#: Characters of text that go into a result as they are (2.1.325).
LIMIT = 50_000
_SUFFIXES = {
    "image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp", "audio/wav": "wav", "audio/mpeg": "mp3",
    "application/pdf": "pdf", "application/json": "json", "text/plain": "txt", "text/csv": "csv", "text/html": "html",
}  # fmt: skip


class Blobs:
    """Files beside the session."""

    def __init__(self, folder: Path, server: str) -> None:
        self._folder = folder
        self._server = server

    def save(self, data: bytes, kind: str) -> Path | None:
        """None if it can't be written."""
        name = f"mcp-{self._server}-blob-{time.time_ns() // 1_000_000}-{secrets.token_hex(3)}.{_SUFFIXES.get(kind, 'bin')}"
        return save(data, self._folder, name)


def blocks_from(content: Iterable[Json], server: str, blobs: Blobs) -> list[Json]:
    blocks: list[Json] = []
    for one in content:
        match one.get("type"):
            case "text":
                blocks.append(_text(str(one.get("text", ""))))
            case "image":
                blocks += _binary(one, "", blobs)
            case "audio":
                blocks += _binary(one, f"[Audio from {server}] ", blobs)
            case "resource":
                blocks += _resource(one.get("resource") or {}, server, blobs)
            case "resource_link":
                about = f" ({one['description']})" if one.get("description") else ""
                blocks.append(_text(f"[Resource link: {one.get('name')}] {one.get('uri')}{about}"))
            case _:
                blocks.append(_text(msgspec.json.encode(one).decode()))
    return blocks


def _resource(resource: Json, server: str, blobs: Blobs) -> list[Json]:
    head = f"[Resource from {server} at {resource.get('uri')}] "
    if "text" in resource:
        return [_text(head + str(resource["text"]))]
    one = {"mimeType": resource.get("mimeType"), "data": resource.get("blob", "")}
    return _binary(one, head, blobs)


def _binary(one: Json, head: str, blobs: Blobs) -> list[Json]:
    kind = str(one.get("mimeType") or "application/octet-stream")
    try:
        data = base64.b64decode(str(one.get("data", "")), validate=True)
    except (binascii.Error, ValueError):
        return [_text(f"{head}Binary content ({kind}) that is not valid base64")]
    path = blobs.save(data, kind)
    # What an image really is: endpoints refuse others as a whole.
    if (found := media_type(data)) is not None:
        image = {"type": "image", "source": {"type": "base64", "media_type": found, "data": one["data"]}}
        source = [_text(f"[Image: source: {path}]")] if path else []
        return [*([_text(head)] if head else []), image, *source]
    where = f"saved to {path}" if path else "could not be saved"
    return [_text(f"{head}Binary content ({kind}, {len(data)} bytes) {where}")]


def _text(words: str) -> Json:
    return {"type": "text", "text": words}


def output_of(content: str | list[Json], *, tool: str, folder: Path, call: str) -> ToolOutput:
    """`tool`: its name; `call`: names the file for what is too long."""
    if not content:
        return ToolOutput(content=f"({tool} completed with no output)", structured=content)
    texts = [content] if isinstance(content, str) else [block["text"] for block in content if block["type"] == "text"]
    if sum(map(len, texts)) <= LIMIT:
        return ToolOutput(content=content, structured=content)
    whole = content if isinstance(content, str) else msgspec.json.format(msgspec.json.encode(content), indent=2).decode()
    spilled = spill(whole.encode(), whole, folder, call, suffix="txt" if isinstance(content, str) else "json")
    # Not to be written down: its beginning has to do.
    short = spilled.stub if spilled else f"{whole[:LIMIT]}\n... [{len(whole) - LIMIT} characters truncated]"
    images = [] if isinstance(content, str) else [block for block in content if block["type"] == "image"]
    return ToolOutput(content=[_text(short), *images] if images else short, structured=content)
