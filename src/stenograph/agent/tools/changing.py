"""What Write and Edit share: what the model has seen of a file, its change, and the `structuredPatch`. Raises ToolFailed."""

from __future__ import annotations

import os
from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import TypeAlias

import msgspec

from stenograph.agent.tools.base import Json, ToolContext, ToolFailed, failed_use
from stenograph.agent.tools.texts import TextFile, os_failure, read_bytes
from stenograph.disk import write_user_file
from stenograph.errors import StenographError, UnwritableError


class Seen(msgspec.Struct, frozen=True):
    mtime_ns: int
    size: int
    #: None for images and the like.
    text: str | None
    #: A part does not count as having read the file.
    is_partial: bool = False
    #: (offset, limit)
    part: tuple[int, int | None] | None = None


#: Files that are looked at between two calls of a turn.
_LOOKED_AT = 16


class ReadState:
    """One a conversation; a subagent starts with an empty one."""

    def __init__(self) -> None:
        self._seen: dict[Path, Seen] = {}
        #: (time, size) of files seen in this run, as last reported. All are looked at before every request: names, not paths.
        self._states: dict[str, tuple[int, int]] = {}
        #: The first of them to look at next.
        self._next = 0
        self._fresh: list[Path] = []

    def note(self, path: Path, text: str | None, *, is_partial: bool = False, part: tuple[int, int | None] | None = None) -> None:
        status = path.stat()
        key = self._key(path)
        self._seen[key] = Seen(status.st_mtime_ns, status.st_size, text, is_partial, part)
        self._states[str(key)] = (status.st_mtime_ns, status.st_size)
        self._fresh.append(path)

    def recall(self, path: Path, time: float, *, is_whole: bool) -> None:
        """What an earlier run saw at that time, in seconds; a file that was changed since is known as an older one."""
        try:
            status = path.stat()
        except OSError:
            return
        is_same = status.st_mtime <= time
        mtime_ns, size = (status.st_mtime_ns, status.st_size) if is_same else (0, -1)
        key = self._key(path)
        self._seen[key] = Seen(mtime_ns, size, None, is_partial=not is_whole)
        if is_same:
            self._states[str(key)] = (mtime_ns, size)

    def take_fresh(self) -> list[Path]:
        """What was seen since the last call."""
        fresh, self._fresh = self._fresh, []
        return fresh

    def take_changed(self, most: int, *, looks_at_all: bool) -> list[tuple[Path, Seen]]:
        """Files that were changed by others since they were seen in this run; each change once, at most so many.

        Unless all are to be looked at, only some of many are, others the next time: it is asked before every request.
        """
        changed: list[tuple[Path, Seen]] = []
        names = list(self._states)
        if not looks_at_all and len(names) > _LOOKED_AT:
            begin = self._next if self._next < len(names) else 0
            self._next = begin + _LOOKED_AT
            names = names[begin : self._next]
        for name in names:
            state = self._states[name]
            try:
                status = os.stat(name)  # noqa: PTH116 - as text: there may be hundreds, before every request
                now = (status.st_mtime_ns, status.st_size)
            except OSError:
                now = (0, -1)
            if now == state:
                continue
            self._states[name] = now
            path = Path(name)
            seen = self._seen[path]
            if now != (seen.mtime_ns, seen.size):
                changed.append((path, seen))
            if len(changed) == most:
                break
        return changed

    def seen(self, path: Path) -> Seen | None:
        return self._seen.get(self._key(path))

    def is_stale(self, path: Path) -> bool:
        """Whether a seen file has changed by time or size, or is gone."""
        seen = self.seen(path)
        if seen is None:
            return False
        try:
            status = path.stat()
        except OSError:
            return True
        return (status.st_mtime_ns, status.st_size) != (seen.mtime_ns, seen.size)

    @staticmethod
    def _key(path: Path) -> Path:
        return Path(os.path.realpath(path))


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


def is_near(path: Path, context: ToolContext) -> bool:
    """Whether the model may know about a file without a question: it has read it, or it is in the project's directories."""
    inside = any(path.is_relative_to(folder) for folder in context.workspace.folders)
    return context.read_state.seen(path) is not None or (inside and (context.may_read is None or context.may_read(path)))


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


_AROUND = 3
_NO_NEWLINE = "\\ No newline at end of file"
#: Pairs of equal lines to compare; beyond, the change is one hunk.
_MOST_PAIRS = 2_000_000

#: (old from, old to, new from, new to)
Change: TypeAlias = tuple[int, int, int, int]


def structured_patch(before: str, after: str) -> list[Json]:
    if before == after:
        return []
    old, new = _split(before), _split(after)
    return [_hunk(group, old, new) for group in _grouped(_changes(old, new))]


def _split(text: str) -> list[str]:
    lines = text.split("\n")
    last = lines.pop()
    return [f"{line}\n" for line in lines] + ([last] if last else [])


def _changes(old: list[str], new: list[str]) -> list[Change]:
    head = 0
    shorter = min(len(old), len(new))
    while head < shorter and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < shorter - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    mine, others = old[head : len(old) - tail], new[head : len(new) - tail]
    counts = Counter(others)
    if sum(counts[line] for line in mine) > _MOST_PAIRS:
        return [(head, head + len(mine), head, head + len(others))]
    # Slow to load.
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(None, mine, others, autojunk=False)
    return [
        (head + start, head + end, head + new_start, head + new_end)
        for tag, start, end, new_start, new_end in matcher.get_opcodes()
        if tag != "equal"
    ]


def _grouped(changes: list[Change]) -> list[list[Change]]:
    """Changes whose contexts touch are one hunk."""
    groups: list[list[Change]] = []
    for change in changes:
        if groups and change[0] - groups[-1][-1][1] <= 2 * _AROUND:
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


def _hunk(changes: list[Change], old: list[str], new: list[str]) -> Json:
    start = max(changes[0][0] - _AROUND, 0)
    new_start = changes[0][2] - (changes[0][0] - start)
    end = min(changes[-1][1] + _AROUND, len(old))
    new_end = changes[-1][3] + (end - changes[-1][1])
    lines: list[str] = []
    at = start
    for old_from, old_to, new_from, new_to in changes:
        lines += _marked(" ", old[at:old_from])
        lines += _marked("-", old[old_from:old_to])
        lines += _marked("+", new[new_from:new_to])
        at = old_to
    lines += _marked(" ", old[at:end])
    return {
        "oldStart": start + 1,
        "oldLines": end - start,
        "newStart": new_start + 1,
        "newLines": new_end - new_start,
        "lines": lines,
    }


def _marked(sign: str, lines: list[str]) -> list[str]:
    marked: list[str] = []
    for line in lines:
        text = line.removesuffix("\n")
        tabs = len(text) - len(text.lstrip("\t"))
        marked.append(sign + "  " * tabs + text[tabs:])
        if text == line:
            marked.append(_NO_NEWLINE)
    return marked
