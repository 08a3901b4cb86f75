"""What Write and Edit share: whether a file may be changed, and the change itself. Raises ToolFailed."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path

from stenograph.agent.tools.base import ToolContext, ToolFailed, failed_use
from stenograph.agent.tools.texts import TextFile, os_failure, read_bytes
from stenograph.disk import write_user_file
from stenograph.errors import StenographError, UnwritableError

UNREAD = "File has not been read yet. Read it first before writing to it."
READ_IN_PART = (
    "Only a part of this file was read, or others have changed it since. Read the whole of it before writing over it, or change"
    " it with Edit."
)
CHANGED = "File has been modified since read, either by the user or by a linter. Read it again before attempting to write it."
#: Behind a change whose outcome the model knows (2.1.325).
CURRENT = " (file state is current in your context — no need to Read it back)"
#: Longer files are null in records' `originalFile` (2.1.325).
_LONGEST_ORIGINAL = 10_000
#: Longer files are not changed.
LONGEST = 64 * 1024 * 1024


class FileKnowledge(StrEnum):
    NOTHING = "nothing"
    PART = "part"
    OLDER = "older"  # seen before somebody changed it
    ALL = "all"


def knowledge(path: Path, text: str, context: ToolContext) -> FileKnowledge:
    seen = context.read_state.seen(path)
    if seen is None:
        return FileKnowledge.NOTHING
    # A file that was only touched has the same text.
    if context.read_state.is_stale(path) and (seen.is_partial or seen.text != text):
        return FileKnowledge.OLDER
    return FileKnowledge.PART if seen.is_partial else FileKnowledge.ALL


def refuse_link(path: Path) -> None:
    """A link's target may be anywhere, and no rule was asked about it (2.1.325)."""
    if os.path.islink(path):  # noqa: PTH114 - Path.is_symlink raises without rights
        target = Path(os.path.realpath(path))
        words = f"Refusing to write {path}: it is a symbolic link. Write to the link's target path instead: {target}."
        raise ToolFailed(words)


def current_bytes(path: Path) -> bytes:
    """Raises FileNotFoundError."""
    try:
        if path.stat().st_size > LONGEST:
            raise failed_use(f"File is too large to be changed by this tool (more than {LONGEST // 2**20} MB). Use a command.")
        return read_bytes(path)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise os_failure(error, "open", path) from None


def keep_and_write(path: Path, data: bytes, context: ToolContext) -> None:
    if context.history is not None:
        try:
            context.history.before_change(path)
        except StenographError as error:
            raise ToolFailed(f"Nothing was written, because the file could not be backed up before: {error}") from None
    try:
        write_user_file(path, data)
    except UnwritableError as error:
        raise os_failure(error.__cause__ if isinstance(error.__cause__, OSError) else OSError(), "write", path) from None


def original_for_record(file: TextFile) -> str | None:
    return file.marked if len(file.marked) <= _LONGEST_ORIGINAL else None
