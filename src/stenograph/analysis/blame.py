"""Which turn of which session wrote each line of a file.

The calls of all sessions on the file are followed in the order of their times. What differs from the last known content was
changed by something else: by hand, by a shell command, by git.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

import msgspec
from msgspec import Struct

from stenograph.analysis.changes import (
    OUTSIDE,
    UNKNOWN,
    TrackedFile,
    calls_in_order,
    first_backups,
    follow,
    matching_lines,
    path_of,
)
from stenograph.records import CHANGING_TOOLS, AssistantRecord, EditResult, Hunk, MultiEditResult, WriteResult
from stenograph.turns import Session, ToolCall, Turn, moment_of

#: From 0 to 1: two lines that are less alike are not versions of one line.
_LEAST_LIKENESS = 0.6
_MOST_REPLACED = 500
_NEVER = datetime.min.replace(tzinfo=UTC)


class LineWriter(Struct, frozen=True):
    """A turn that wrote lines of a file."""

    session: Session
    #: None: a subagent's that no turn is known to have started.
    turn: Turn | None
    time: datetime | None
    model: str | None


class FileVersion(Struct, frozen=True):
    lines: tuple[str, ...]
    #: The number of each line's writer, from 1, or `BEFORE`, `OUTSIDE`, `UNKNOWN`.
    authors: tuple[int, ...]


class Blame(Struct, frozen=True):
    path: str
    writers: tuple[LineWriter, ...]
    #: Oldest first; the last is the file as it is. Empty if its content is unknown.
    versions: tuple[FileVersion, ...]

    def earlier(self, line: int) -> Iterator[tuple[str, int]]:
        """The earlier versions of a line (counted from 1), newest first: the text and its author."""
        place = line - 1
        for old, new in zip(self.versions[-2::-1], self.versions[:0:-1], strict=True):
            came_from = _came_from(old.lines, new.lines, place)
            if came_from is None:
                return
            place, is_same = came_from
            if not is_same:
                yield old.lines[place], old.authors[place]


def _came_from(old: Sequence[str], new: Sequence[str], place: int) -> tuple[int, bool] | None:
    """The place of a line in the version before, and whether it is the same line; None for one that replaced nothing like it."""
    end_old = 0
    for start_old, start_new, size in matching_lines(old, new):
        if place < start_new:
            return _most_alike(new[place], old, range(end_old, start_old))
        if place < start_new + size:
            return start_old + place - start_new, True
        end_old = start_old + size
    return None


def _most_alike(line: str, old: Sequence[str], replaced: range) -> tuple[int, bool] | None:
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(None, b=line, autojunk=False)
    best, likeness = -1, _LEAST_LIKENESS
    for place in replaced[:_MOST_REPLACED]:
        matcher.set_seq1(old[place])
        if matcher.quick_ratio() > likeness and (found := matcher.ratio()) > likeness:
            best, likeness = place, found
    return None if best < 0 else (best, False)


def blame_file(path: str, sessions: Iterable[Session], text: str | None) -> Blame:
    """`text` is the file as it is now; None: as the last call left it. Sessions with the same call are taken in their order."""
    file = TrackedFile(path)
    writers: list[LineWriter] = []
    versions: list[FileVersion] = []
    unplaced: list[tuple[int, ToolCall]] = []
    for found in _calls_on(path, sessions):
        author = _number_of(writers, found)
        follow(file, found.call, found.backups, author)
        if file.content is None and found.call.name in CHANGING_TOOLS:
            unplaced.append((author, found.call))
        _keep(versions, file)
    if text is not None:
        file.holds(text, OUTSIDE if file.content is not None else UNKNOWN)
        for author, call in unplaced:
            _place(file, author, call)
        _keep(versions, file)
    return Blame(path, tuple(writers), tuple(versions))


class _Found(Struct, frozen=True):
    call: ToolCall
    session: Session
    turn: Turn | None
    time: datetime | None
    backups: dict[str, str | None]


def _calls_on(path: str, sessions: Iterable[Session]) -> list[_Found]:
    """The calls on a file that had a result, in the order of their times; one that was copied with its session only once."""
    found: list[tuple[datetime, _Found]] = []
    seen: set[tuple[object, ...]] = set()
    for session in sessions:
        latest = _NEVER
        backups = first_backups(session)
        for turn, call in calls_in_order(session):
            if path_of(call) != path or not call.answered or call.is_error:
                continue
            time = moment_of(call.context.graph, call.result_node)
            copied = (time, call.name, msgspec.json.encode(call.input))
            if time is not None and copied in seen:
                continue
            seen.add(copied)
            latest = max(latest, time or _NEVER)
            found.append((latest, _Found(call, session, turn, time, backups)))
    return [each for _, each in sorted(found, key=lambda pair: pair[0])]


def _number_of(writers: list[LineWriter], found: _Found) -> int:
    for number, writer in enumerate(writers, 1):
        if writer.session is found.session and writer.turn is found.turn:
            return number
    record = found.call.context.graph.records[found.call.use_node]
    model = record.message.model if isinstance(record, AssistantRecord) and record.message else None
    writers.append(LineWriter(found.session, found.turn, found.time, model or None))
    return len(writers)


def _keep(versions: list[FileVersion], file: TrackedFile) -> None:
    if file.content is None:
        return
    version = FileVersion(tuple(file.content.splitlines()), tuple(file.authors))
    if not versions or versions[-1] != version:
        versions.append(version)


def _place(file: TrackedFile, author: int, call: ToolCall) -> None:
    """Finds the lines that a call added, where the file's content was unknown then: by the lines themselves."""
    lines = (file.content or "").splitlines()
    for block in _blocks(call):
        shown = [text for text, _ in block]
        for start in range(len(lines) - len(shown) + 1):
            if lines[start : start + len(shown)] == shown:
                for place, (_, is_added) in enumerate(block, start):
                    if is_added and file.authors[place] in (UNKNOWN, OUTSIDE):
                        file.authors[place] = author
                break


def _blocks(call: ToolCall) -> Iterator[list[tuple[str, bool]]]:
    """The lines that a call left, with whether it added them: with their surroundings where the result has them."""
    result = call.structured
    hunks = result.structuredPatch if isinstance(result, EditResult | MultiEditResult | WriteResult) else None
    for hunk in hunks or ():
        if isinstance(hunk, Hunk) and hunk.lines:
            yield [(line[1:], line[:1] == "+") for line in hunk.lines if line[:1] in (" ", "+")]
    if not hunks:
        added = call.input.get("new_string", call.input.get("content"))
        if isinstance(added, str) and added.strip():
            yield [(line, True) for line in added.splitlines()]
