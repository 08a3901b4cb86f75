"""What a session did to files: read, changed, and the difference between the first and the last known content of each.

Contents come from structured results and from the client's own backups; the user's files are never opened. What a shell command
did is unknown: a command that names a file casts doubt, and a later result with other content proves it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct, field

from stenograph.disk import read_whole
from stenograph.errors import DiskError
from stenograph.records import (
    CHANGING_TOOLS,
    EditResult,
    FileBackup,
    FileHistoryDeltaRecord,
    FileHistorySnapshotRecord,
    Hunk,
    MultiEditResult,
    ReadResult,
    WriteResult,
)
from stenograph.turns import Session, ToolCall, Turn

_READS = frozenset({"Read", "NotebookRead"})
#: Tools that write files.
_SHELLS = frozenset({"Bash", "PowerShell"})
# Commands that may change a file they name; redirects to nowhere and to another stream don't count.
_MAY_WRITE = re.compile(
    r"(?<![0-9&=-])>(?!&|\s*/dev/null)|\b(?:tee|mv|cp|rm|dd|patch|touch|truncate|rsync|ln)\s"
    r"|\b(?:sed|perl)\s[^|;\n]{0,200}\s?-\w{0,8}i|--(?:fix|write|in-place)\b|\b(?:black|format|fmt)\b"
)
# Those that change files without naming them.
_MAY_WRITE_ALL = re.compile(
    r"\bgit\s+(?:checkout|restore|reset|stash|apply|am|revert|merge|rebase|pull|clean)\b|\s--(?:fix|write)\b"
)
_LONGEST_COMMAND = 20_000

#: Why a difference may not be all that changed.
REASONS = {
    "shell": "a shell command may have changed it afterwards",
    "outside": "something other than these tools changed it in between",
    "notebook": "edits of notebook cells do not show the whole file",
    "unknown-before": "its earlier content is unknown",
    "unknown-after": "its later content is unknown",
}


class FileChange(Struct, frozen=True):
    path: str
    reads: int
    edits: int
    writes: int
    #: It did not exist before.
    created: bool
    #: The first known content, empty for a file that did not exist.
    before: str | None
    #: The last known content.
    after: str | None
    #: Keys of `REASONS`.
    doubts: tuple[str, ...] = ()
    turns: tuple[int, ...] = ()
    #: The turn that wrote each line of `after`, as `splitlines` has them; 0 for a line that no turn is known to have written.
    authors: tuple[int, ...] = ()

    @property
    def changed(self) -> bool:
        return bool(self.edits or self.writes)

    @property
    def is_known(self) -> bool:
        return self.before is not None and self.after is not None

    def diff(self, before: str | None = None, after: str | None = None, project: str = "") -> list[str]:
        """The net difference as unified lines, of other texts if given. Paths below `project` are relative to it, as for git."""
        from difflib import unified_diff

        old = self.before if before is None else before
        new = self.after if after is None else after
        if old is None or new is None:
            return []
        name = self.path.removeprefix(project.rstrip("/") + "/").lstrip("/")
        start = "/dev/null" if self.created else f"a/{name}"
        return list(unified_diff(old.splitlines(), new.splitlines(), start, f"b/{name}", lineterm=""))


#: Who wrote a line if it was no call: it was there first, came by something that left no record, or nobody knows.
BEFORE, OUTSIDE, UNKNOWN = 0, -1, -2


class TrackedFile(Struct):
    """The content of a file, followed from call to call, and who wrote each of its lines."""

    path: str
    reads: int = 0
    edits: int = 0
    writes: int = 0
    created: bool = False
    before: str | None = None
    content: str | None = None
    doubts: dict[str, None] = field(default_factory=dict)
    turns: dict[int, None] = field(default_factory=dict)
    authors: list[int] = field(default_factory=list)

    def shows(self, content: str) -> None:
        """A result shows what the file holds now."""
        author = OUTSIDE
        if self.content is None:
            author = BEFORE if self.before is None else UNKNOWN
            if self.before is None:
                self.before = content
        elif self.content.rstrip("\n") != content.rstrip("\n"):
            self.doubts["outside"] = None
        self.doubts.pop("shell", None)
        self.holds(content, author)

    def holds(self, content: str | None, author: int) -> None:
        """Its content is this now, and what is new in it is the author's."""
        if content is None:
            self.authors = []
        elif self.content != content or len(self.authors) != len(content.splitlines()):
            self.authors = _carried(self.authors, (self.content or "").splitlines(), content.splitlines(), author)
        self.content = content


#: Lines of two versions that are compared with each other; of longer ones all between the first and last difference is new.
_MOST_COMPARED = 4_000_000


def _carried(authors: Sequence[int], old: Sequence[str], new: Sequence[str], author: int) -> list[int]:
    """Who wrote each line of a new version: lines of the old one keep their authors."""
    made = [author] * len(new)
    if len(authors) == len(old):
        for one, other, size in matching_lines(old, new):
            made[other : other + size] = authors[one : one + size]
    return made


def matching_lines(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """Where two versions have the same lines in the same order: their places, from 0, and how many."""
    from difflib import SequenceMatcher

    limit = min(len(old), len(new))
    start = next((place for place in range(limit) if old[place] != new[place]), limit)
    end = next((place for place in range(limit - start) if old[-1 - place] != new[-1 - place]), limit - start)
    yield 0, 0, start
    middle_old, middle_new = old[start : len(old) - end], new[start : len(new) - end]
    if middle_old and middle_new and len(middle_old) * len(middle_new) <= _MOST_COMPARED:
        for one, other, size in SequenceMatcher(None, middle_old, middle_new, autojunk=False).get_matching_blocks():
            yield start + one, start + other, size
    yield len(old) - end, len(new) - end, end


def changed_files(session: Session, turns: Sequence[Turn] | None = None) -> tuple[FileChange, ...]:
    """The files that the turns (by default all) and their subagents read or changed."""
    tracked: dict[str, TrackedFile] = {}
    backups = first_backups(session)
    for turn, call in calls_in_order(session, turns):
        if call.answered and not call.is_error:
            _take(tracked, backups, turn.number if turn else 0, call)
    return tuple(_finished(file) for file in tracked.values())


def calls_in_order(session: Session, turns: Sequence[Turn] | None = None) -> Iterator[tuple[Turn | None, ToolCall]]:
    """Tool calls with their turn (by default of all): a subagent's at its start, those of stray agents last, without a turn."""
    seen: set[str] = set()
    for turn, calls in _by_turn(session.all_turns if turns is None else turns):
        yield from _calls_of(calls, turn, seen)
    if turns is None:
        for run in session.agents:
            if run.agent_id not in seen and not run.is_warmup:
                seen.add(run.agent_id)
                for each in run.turns:
                    yield from _calls_of(each.tool_calls, None, seen)


def _by_turn(turns: Iterable[Turn]) -> Iterator[tuple[Turn, list[ToolCall]]]:
    """Each turn with its calls, those of turns split from it included."""
    calls: dict[int, list[ToolCall]] = {}
    by_opening: dict[int, Turn] = {}
    for turn in turns:
        opening = turn.node if turn.parted_from < 0 else turn.parted_from
        by_opening[opening] = turn
        calls.setdefault(opening, []).extend(turn.tool_calls)
    for opening, turn in by_opening.items():
        yield turn, sorted(calls[opening], key=lambda call: call.use_node)


def _calls_of(calls: Sequence[ToolCall], turn: Turn | None, seen: set[str]) -> Iterator[tuple[Turn | None, ToolCall]]:
    # Calls, and whether their run was visited; no recursion, as agents may start agents to any depth.
    waiting = [(call, False) for call in reversed(calls)]
    while waiting:
        call, entered = waiting.pop()
        run = None if entered else call.agent
        if run is None or run.agent_id in seen:
            yield turn, call
            continue
        seen.add(run.agent_id)
        waiting.append((call, True))
        waiting += [(inner, False) for each in reversed(run.turns) for inner in reversed(each.tool_calls)]


def _take(tracked: dict[str, TrackedFile], backups: dict[str, str | None], number: int, call: ToolCall) -> None:
    if call.name in _SHELLS:
        command = call.input.get("command")
        if isinstance(command, str):
            _doubt(tracked, command[:_LONGEST_COMMAND])
        return
    if path := path_of(call):
        file = tracked.setdefault(path, TrackedFile(path))
        if number:
            file.turns[number] = None
        follow(file, call, backups, number)


def path_of(call: ToolCall) -> str:
    """The file that a call reads or changes; empty for other tools."""
    if call.name not in _READS | CHANGING_TOOLS:
        return ""
    return next((value for name in ("file_path", "notebook_path") if isinstance(value := call.input.get(name), str)), "")


def follow(file: TrackedFile, call: ToolCall, backups: dict[str, str | None], author: int) -> None:
    """Takes a call on a file into account; what it writes is the author's."""
    if call.name in _READS:
        file.reads += 1
        _read(file, call)
    elif call.name == "NotebookEdit":
        file.edits += 1
        file.holds(None, author)
        file.doubts["notebook"] = None
    else:
        if call.name == "Write":
            file.writes += 1
        else:
            file.edits += 1
        _change(file, call, backups, author)


def _doubt(tracked: dict[str, TrackedFile], command: str) -> None:
    every = _MAY_WRITE_ALL.search(command) is not None
    if every or _MAY_WRITE.search(command):
        for file in tracked.values():
            if every or Path(file.path).name in command:
                file.doubts["shell"] = None


def _read(file: TrackedFile, call: ToolCall) -> None:
    result = call.structured
    if not isinstance(result, ReadResult) or result.type != "text" or not result.file:
        return
    read = result.file
    whole = read.startLine in (0, 1) and isinstance(read.numLines, int) and read.numLines == read.totalLines
    if whole and isinstance(read.content, str):
        file.shows(read.content)


def _change(file: TrackedFile, call: ToolCall, backups: dict[str, str | None], author: int) -> None:
    result = call.structured
    original = _original(result)
    # A backup is from before the first change.
    backup = backups.pop(file.path, None)
    if original is None and file.content is None:
        original = backup
    if isinstance(result, WriteResult) and result.type == "create" and not original:
        if file.before is None:
            file.created, file.before = True, ""
        file.holds(result.content if isinstance(result.content, str) else None, author)
        file.doubts.pop("shell", None)
        return
    if original is not None:
        file.shows(original)
    after = _after(result, file.content, call.input)
    if after is None and file.content is not None:
        file.doubts["unknown-after"] = None
    elif after is not None:
        file.doubts.pop("unknown-after", None)
    file.holds(after, author)


def _original(result: object) -> str | None:
    if isinstance(result, EditResult | WriteResult) and isinstance(result.originalFile, str):
        return result.originalFile
    if isinstance(result, MultiEditResult) and isinstance(result.originalFileContents, str):
        return result.originalFileContents
    if isinstance(result, WriteResult) and isinstance(result.content, str) and result.structuredPatch:
        # What was written and its patch give what was there.
        return _patched(result.content, result.structuredPatch, backwards=True)
    return None


def _after(result: object, before: str | None, asked: dict[str, object]) -> str | None:
    if isinstance(result, WriteResult):
        return result.content if isinstance(result.content, str) else None
    content = asked.get("content")
    if isinstance(content, str):
        return content
    if before is None:
        return None
    hunks = result.structuredPatch if isinstance(result, EditResult | MultiEditResult) else None
    if hunks and (patched := _patched(before, hunks)) is not None:
        return patched
    edits = asked.get("edits")
    for edit in edits if isinstance(edits, list) else [asked]:
        old, new = (edit.get("old_string"), edit.get("new_string")) if isinstance(edit, dict) else (None, None)
        if not isinstance(old, str) or not isinstance(new, str) or old not in before:
            return None
        before = before.replace(old, new, -1 if edit.get("replace_all") else 1)
    return before


def _patched(text: str, hunks: Iterable[object], *, backwards: bool = False) -> str | None:
    """The text with the hunks applied, or reverted; None where they don't fit."""
    lines = text.split("\n")
    made: list[str] = []
    place = 0
    gone, came = ("+", "-") if backwards else ("-", "+")
    for hunk in hunks:
        start = (hunk.newStart if backwards else hunk.oldStart) if isinstance(hunk, Hunk) else None
        if not isinstance(hunk, Hunk) or not isinstance(start, int) or not hunk.lines:
            return None
        before = [line[1:] for line in hunk.lines if line[:1] in (" ", gone)]
        begin = max(start - 1, 0)
        # Releases disagree about where a hunk at the file's end begins: look around.
        begin = next((at for at in _around(begin, len(lines)) if at >= place and lines[at : at + len(before)] == before), -1)
        if begin < 0:
            return None
        made += lines[place:begin]
        made += [line[1:] for line in hunk.lines if line[:1] in (" ", came)]
        place = begin + len(before)
    return "\n".join(made + lines[place:])


def _around(place: int, end: int) -> Iterator[int]:
    yield place
    for distance in range(1, 4):
        if place - distance >= 0:
            yield place - distance
        if place + distance <= end:
            yield place + distance


def first_backups(session: Session) -> dict[str, str | None]:
    """By absolute path: the client's backup from before the first change; empty for a file that did not exist."""
    folder = session.family.file_history if session.family else None
    found: dict[str, str | None] = {}
    for record in session.graph.records:
        pairs: list[tuple[object, object]] = []
        if isinstance(record, FileHistorySnapshotRecord) and record.snapshot and record.snapshot.trackedFileBackups:
            pairs = list(record.snapshot.trackedFileBackups.items())
        elif isinstance(record, FileHistoryDeltaRecord):
            pairs = [(record.trackingPath, record.backup)]
        for path, backup in pairs:
            if isinstance(path, str) and path not in found and isinstance(backup, FileBackup) and backup.version in (0, 1):
                found[path] = _backup_text(folder, backup)
    return {path: text for path, text in found.items() if text is not None}


def _backup_text(folder: Path | None, backup: FileBackup) -> str | None:
    if not isinstance(backup.backupFileName, str):
        return ""
    if folder is None or "/" in backup.backupFileName or "\\" in backup.backupFileName:
        return None
    try:
        text = read_whole(folder / backup.backupFileName).decode()
    except (DiskError, ValueError):  # not UTF-8, or not a possible file name
        return None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _finished(file: TrackedFile) -> FileChange:
    changed = bool(file.edits or file.writes)
    doubts = dict(file.doubts)
    if changed and file.before is None:
        doubts["unknown-before"] = None
    if changed and file.content is None and "notebook" not in doubts:
        doubts["unknown-after"] = None
    if not changed:
        doubts = {reason: None for reason in doubts if reason in ("shell", "outside")}
    return FileChange(
        path=file.path,
        reads=file.reads,
        edits=file.edits,
        writes=file.writes,
        created=file.created,
        before=file.before,
        after=file.content,
        doubts=tuple(reason for reason in REASONS if reason in doubts),
        turns=tuple(file.turns),
        authors=tuple(max(author, 0) for author in file.authors) if changed else (),
    )
