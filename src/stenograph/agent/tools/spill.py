"""Output too long for the model: whole in `<session>/tool-results/`, its beginning in the result, in the client's words."""

from __future__ import annotations

import os
import re
from pathlib import Path

from msgspec import Struct

#: Characters that go into a result as they are (2.1.325).
LIMIT = 30_000
#: Characters of a failure's output, half from each end (2.0.76, 2.1.325).
FAILURE_LIMIT = 10_000
_PREVIEW = 2_000
_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")


class Spilled(Struct, frozen=True):
    path: Path
    #: Bytes.
    size: int
    #: For the model.
    stub: str


def spill(data: bytes, text: str, folder: Path, name: str, *, suffix: str = "txt") -> Spilled | None:
    """`text` is what the preview is taken from. None if it can't be written."""
    path = save(data, folder, f"{_safe(name)}.{suffix}")
    return Spilled(path, len(data), stub(text, path, len(data))) if path else None


def save(data: bytes, folder: Path, name: str) -> Path | None:
    """A new file. None if it can't be written."""
    path = folder / name
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
    except OSError:
        return None
    return path


def _safe(name: str) -> str:
    """A name that stays in its directory: ids of calls come from the endpoint, and may be paths."""
    if _NAME.fullmatch(name):
        return name
    from hashlib import sha256  # rarely needed

    return sha256(name.encode("utf-8", "surrogatepass")).hexdigest()


def stub(text: str, path: Path, size: int) -> str:
    preview = text[:_PREVIEW]
    # Whole lines, if that costs less than half.
    if (end := preview.rfind("\n")) > _PREVIEW // 2:
        preview = preview[:end]
    return (
        f"<persisted-output>\nOutput too large ({_human(size)}). Full output saved to: {path}\n\n"
        f"Preview (first 2KB):\n{preview}\n...\n</persisted-output>"
    )


def without_middle(text: str, limit: int = FAILURE_LIMIT) -> str:
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n\n... [{len(text) - 2 * half} characters truncated] ...\n\n{text[-half:]}"


def _human(size: int) -> str:
    kilobytes = size / 1024
    return f"{kilobytes:.1f}KB" if kilobytes < 1024 else f"{kilobytes / 1024:.1f}MB"
