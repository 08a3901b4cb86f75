"""The change that a call would make to a file, as lines of a patch with their numbers, before it is made."""

from __future__ import annotations

from difflib import unified_diff
from pathlib import Path
from typing import Any

_LARGEST = 2_000_000
_CONTEXT = 2


def change_preview(tool: str, given: dict[str, Any], cwd: Path) -> list[str]:
    """Empty where there is none, or it can't be known."""
    name = given.get("file_path")
    if not isinstance(name, str) or tool not in ("Edit", "MultiEdit", "Write"):
        return []
    path = Path(name).expanduser()
    before = _text(path if path.is_absolute() else cwd / path)
    after = _after(tool, given, before)
    if after is None:
        return []
    return list(unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=_CONTEXT))[2:]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace") if path.stat().st_size <= _LARGEST else ""
    except OSError:
        return ""


def _after(tool: str, given: dict[str, Any], before: str) -> str | None:
    if tool == "Write":
        content = given.get("content")
        return content if isinstance(content, str) else None
    edits = given.get("edits") if tool == "MultiEdit" else [given]
    after = before
    for edit in edits if isinstance(edits, list) else []:
        old, new = (edit.get("old_string"), edit.get("new_string")) if isinstance(edit, dict) else (None, None)
        if not isinstance(old, str) or not isinstance(new, str):
            return None
        if old not in after:
            # Not as the file has it: shown as it was asked for.
            return after + new if not old else None
        after = after.replace(old, new, -1 if edit.get("replace_all") else 1)
    return after
