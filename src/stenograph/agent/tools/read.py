"""Read: a text file or a range of its lines, an image, a notebook, a PDF or pages of it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from stenograph.agent.tools import media
from stenograph.agent.tools.base import Json, Tool, ToolContext, ToolFailed, ToolInput, ToolOutput, Workspace, failed_use
from stenograph.agent.tools.texts import TextFile, decode, missing, os_failure, read_bytes, read_range, resolved, trouble_note

#: The client's limits (2.1.325), and ours with `allow_large`.
MOST_BYTES = 256 * 1024
MOST_TOKENS = 25_000
MOST_TOKENS_LARGE = 150_000
#: Enough to keep a file from filling the window.
_CHARACTERS_A_TOKEN = 4
#: Bytes. Longer files are read off the event loop.
_QUICK = 1024 * 1024
#: Bytes that fit into a request as base64.
_LONGEST_PDF = 20 * 1024 * 1024

_BINARY = frozenset({
    "7z", "a", "aac", "avi", "bin", "bmp", "bz2", "class", "dat", "db", "dll", "dmg", "doc", "docx", "dylib", "eot", "exe",
    "flac", "gz", "ico", "iso", "jar", "lib", "mkv", "mov", "mp3", "mp4", "o", "obj", "odt", "ogg", "otf", "ppt", "pptx",
    "psd", "pyc", "pyd", "rar", "so", "sqlite", "sqlite3", "tar", "tgz", "tif", "tiff", "ttf", "wasm", "wav", "webm", "wmv",
    "woff", "woff2", "xls", "xlsx", "xz", "zip", "zst",
})  # fmt: skip


class ReadInput(ToolInput):
    file_path: Annotated[str, Meta(description="Absolute path of the file")]
    offset: Annotated[int | None, Meta(description="The first line to read, from 1; for files too large to read at once")] = None
    limit: Annotated[int | None, Meta(description="How many lines to read")] = None
    pages: Annotated[str | None, Meta(description='Of a PDF: one page ("3") or a range ("1-5"), at most 20 pages')] = None
    allow_large: Annotated[bool, Meta(description="Read a text beyond the usual limits, if all of it is needed")] = False


class _Part(Struct, frozen=True):
    file: TextFile
    start: int
    total: int
    #: Cut at the token limit although no part was asked for.
    is_cut: bool = False

    @property
    def lines(self) -> list[str]:
        return self.file.text.split("\n")


class ReadTool(Tool[ReadInput]):
    name = "Read"
    input_type = ReadInput
    is_read_only = True

    def paths(self, given: ReadInput, workspace: Workspace) -> list[Path]:
        return [resolved(given.file_path, self.name, workspace)]

    async def run(self, given: ReadInput, context: ToolContext) -> ToolOutput:
        path = resolved(given.file_path, self.name, context.workspace)
        suffix = path.suffix.lower()
        if suffix.removeprefix(".") in _BINARY:
            raise failed_use(
                f"This tool cannot read binary files. The file appears to be a binary {suffix} file. Use a skill for this file"
                " type if one is available, or a shell command or script that can read the format."
            )
        pages = media.page_range(given.pages) if given.pages and suffix == ".pdf" else None
        try:
            size = path.stat().st_size
            if suffix in media.SUFFIXES:
                return _image(path, context)
            if suffix == ".pdf":
                return await asyncio.to_thread(_document, given, path, pages)
            if suffix == ".ipynb":
                return _notebook(given, path, context)
            read = _range if _wants_range(given) else _whole
            part = await asyncio.to_thread(read, given, path) if size > _QUICK else read(given, path)
        except FileNotFoundError:
            raise ToolFailed(missing(path, context.workspace)) from None
        except IsADirectoryError as error:
            raise os_failure(error, "read", path) from None
        except OSError as error:
            raise os_failure(error, "open", path) from None
        return _shown(given, path, part, context)


def _wants_range(given: ReadInput) -> bool:
    return given.offset is not None or given.limit is not None


def _whole(given: ReadInput, path: Path) -> _Part:
    most = MOST_TOKENS_LARGE * _CHARACTERS_A_TOKEN if given.allow_large else MOST_BYTES
    data = read_bytes(path, most + 1)
    if len(data) > most:
        raise ToolFailed(_too_long(human_size(path.stat().st_size), f"size ({human_size(most)})"))
    file = decode(data)
    total = file.text.count("\n") + 1
    longest = _most_tokens(given) * _CHARACTERS_A_TOKEN
    if len(file.text) <= longest:
        return _Part(file, 1, total)
    end = file.text.rfind("\n", 0, longest)
    if end < 0:
        raise _too_many_tokens(file.text, given)
    shown = TextFile(file.text[:end], file.encoding, file.has_mark, file.newline, file.trouble)
    return _Part(shown, 1, total, is_cut=True)


def _range(given: ReadInput, path: Path) -> _Part:
    # Nonsensical numbers are ignored, as in 2.1.325.
    start = max(given.offset or 1, 1)
    count = given.limit if given.limit is not None and given.limit > 0 else None
    longest = _most_tokens(given) * _CHARACTERS_A_TOKEN
    found = read_range(path, start, count, most=4 * longest)
    if found.is_too_long or len(found.file.text) > longest:
        raise _too_many_tokens(found.file.text, given, at_least=found.is_too_long)
    return _Part(found.file, start, found.total)


def _most_tokens(given: ReadInput) -> int:
    return MOST_TOKENS_LARGE if given.allow_large else MOST_TOKENS


def _too_many_tokens(text: str, given: ReadInput, *, at_least: bool = False) -> ToolFailed:
    count = f"{'more than ' if at_least else ''}{len(text) // _CHARACTERS_A_TOKEN} tokens"
    return ToolFailed(_too_long(count, f"tokens ({_most_tokens(given)})"))


def _too_long(length: str, limit: str) -> str:
    return (
        f"File content ({length}) exceeds maximum allowed {limit}. Use offset and limit parameters to read specific portions of"
        " the file, or search for specific content instead of reading the whole file. To read it anyway, up to what still fits in"
        " your context, call Read again with allow_large: true — only if you genuinely need all of it or the user asked for the"
        " whole file."
    )


def _shown(given: ReadInput, path: Path, part: _Part, context: ToolContext) -> ToolOutput:
    is_past = part.start > part.total
    lines = [] if is_past else part.lines
    file: Json = {
        "filePath": given.file_path,
        "content": part.file.text,
        "numLines": len(lines),
        "startLine": part.start,
        "totalLines": part.total,
    }
    if part.is_cut:
        file["truncatedByTokenCap"] = True
    _note(given, path, part, len(lines), context)
    return ToolOutput(content=_words(part, lines), structured={"type": "text", "file": file})


def _words(part: _Part, lines: list[str]) -> str:
    if not lines:
        return (
            f"<system-reminder>Warning: the file exists but is shorter than the provided offset ({part.start}). The file has"
            f" {part.total} lines.</system-reminder>"
        )
    if part.total == 1 and not part.file.text:
        return "<system-reminder>Warning: the file exists but the contents are empty.</system-reminder>"
    words = "\n".join(f"{number}\t{line}" for number, line in enumerate(lines, part.start))
    if part.is_cut:
        words += (
            f"\n\n[This is a part of the file: lines 1 to {len(lines)} of {part.total}. Read on with offset {len(lines) + 1}.]"
        )
    return words + (trouble_note(part.file) if part.file.trouble else "")


def _note(given: ReadInput, path: Path, part: _Part, count: int, context: ToolContext) -> None:
    if count == part.total and not part.is_cut:
        context.read_state.note(path, part.file.text)
        return
    seen = context.read_state.seen(path)
    if seen is not None and not seen.is_partial and not context.read_state.is_stale(path):
        return
    context.read_state.note(path, None, is_partial=True, part=(part.start, given.limit))


def _image(path: Path, context: ToolContext) -> ToolOutput:
    from base64 import b64encode  # not before the first request

    data = read_bytes(path, media.LONGEST_BASE64)
    if not data:
        raise ToolFailed(f"Image file is empty: {path}")
    kind = media.media_type(data)
    if kind is None:
        raise ToolFailed(
            "File has an image extension but its content is not a valid PNG/JPEG/GIF/WebP. Detected: unrecognized bytes (hex:"
            f" {data[:8].hex(' ')}). This usually means a download saved an error/login page instead of the image. Use"
            f' `file "{path}"` to confirm, or read it as text with Bash (e.g. `head -c 500`).'
        )
    text = b64encode(data).decode()
    size = media.dimensions(data)
    if len(text) > media.LONGEST_BASE64 or (size and max(size) > media.LONGEST_SIDE):
        pixels = f", {size[0]}x{size[1]} pixels" if size else ""
        raise ToolFailed(
            f"Image is too large to be sent ({human_size(path.stat().st_size)}{pixels}): at most 3.7MB and {media.LONGEST_SIDE}"
            " pixels a side. Make a smaller copy with a command, and read that."
        )
    file: Json = {"base64": text, "type": kind, "originalSize": len(data)}
    if size:
        names = ("originalWidth", "originalHeight", "displayWidth", "displayHeight")
        file["dimensions"] = dict(zip(names, (*size, *size), strict=True))
    context.read_state.note(path, None)
    block = {"type": "image", "source": {"type": "base64", "data": text, "media_type": kind}}
    return ToolOutput(content=[block], structured={"type": "image", "file": file})


def _document(given: ReadInput, path: Path, pages: tuple[int, int] | None) -> ToolOutput:
    from base64 import b64encode  # not before the first request

    data = read_bytes(path)
    if not data:
        raise ToolFailed(f"PDF file is empty: {path}")
    if not data.startswith(b"%PDF-"):
        raise ToolFailed(f"File is not a valid PDF (missing %PDF- header): {path}")
    words = f"PDF file read: {given.file_path} ({human_size(len(data))})"
    sent = data
    if pages:
        sent = media.take_pages(data, *pages)
        words += f", pages {given.pages}"
    if len(sent) > _LONGEST_PDF:
        raise ToolFailed(
            f"PDF is too large to be sent ({human_size(len(sent))}; at most {human_size(_LONGEST_PDF)}). Read some of its pages,"
            ' e.g. pages: "1-5".'
        )
    text = b64encode(sent).decode()
    source = {"type": "base64", "media_type": "application/pdf", "data": text}
    return ToolOutput(
        content=[{"type": "text", "text": words}, {"type": "document", "source": source}],
        structured={"type": "pdf", "file": {"filePath": given.file_path, "base64": text, "originalSize": len(data)}},
    )


def _notebook(given: ReadInput, path: Path, context: ToolContext) -> ToolOutput:
    from stenograph.agent.tools import notebooks

    # Images among the outputs may be long; the text is limited below.
    data = read_bytes(path, _LONGEST_PDF)
    cells = notebooks.read_cells(data)
    blocks = notebooks.content_blocks(cells)
    length = sum(len(block["text"]) for block in blocks if block["type"] == "text")
    if length > _most_tokens(given) * _CHARACTERS_A_TOKEN:
        raise ToolFailed(
            f"Notebook content ({human_size(length)}) exceeds maximum allowed size. Read single cells with a command, e.g."
            f" `jq '.cells[:20]' \"{path}\"`."
        )
    context.read_state.note(path, decode(data).text)
    structured = {"type": "notebook", "file": {"filePath": given.file_path, "cells": cells}}
    return ToolOutput(content=blocks or "The notebook has no cells.", structured=structured)


def human_size(count: int) -> str:
    """As clients write it: 671 bytes, 1.7KB, 293KB (2.1.325)."""
    if count < 1024:
        return f"{count} bytes"
    size = float(count)
    for unit in ("KB", "MB", "GB"):
        size /= 1024
        if size < 1024 or unit == "GB":
            break
    return f"{size:.1f}".removesuffix(".0") + unit
