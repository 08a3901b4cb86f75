"""An image from the clipboard, by the program that the desktop has for it."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
from pathlib import Path

_PROGRAMS = (
    ("wl-paste", "--type", "image/png"),
    ("xclip", "-selection", "clipboard", "-t", "image/png", "-o"),
    ("pngpaste", "-"),
)
_PNG = b"\x89PNG\r\n\x1a\n"


async def image_from_clipboard() -> Path | None:
    for program, *arguments in _PROGRAMS:
        if shutil.which(program) is None:
            continue
        process = await asyncio.create_subprocess_exec(
            program, *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
        )
        data = b""
        with contextlib.suppress(TimeoutError):
            data, _ = await asyncio.wait_for(process.communicate(), 3)
        if data.startswith(_PNG):
            with tempfile.NamedTemporaryFile(prefix="steno-", suffix=".png", delete=False) as file:
                file.write(data)
            return Path(file.name)
    return None
