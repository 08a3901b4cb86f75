"""One file -> the rows that the store keeps of it, in pieces. Knows no database, so that any process can do it.

Rows are plain tuples of plain values: what comes from another process has to be cheap to send.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from stenograph.disk import read_slice
from stenograph.family import SessionFile
from stenograph.index.digests import blake2b
from stenograph.index.kinds import TextKind
from stenograph.index.sources import FilePart
from stenograph.index.storable import clean
from stenograph.index.texts import texts_of
from stenograph.index.tokens import indexed
from stenograph.inputs import Input, InputReader
from stenograph.records import (
    SYNTHETIC,
    AssistantRecord,
    ChainedRecord,
    Located,
    ToolResultBlock,
    ToolUseBlock,
    message_id_of,
    moment,
    read_records,
    text_of,
)
from stenograph.turns import spilled_name

if TYPE_CHECKING:
    from stenograph.sessions import Glance

# A piece ends after so many lines, or so many characters.
_LINES = 500
_CHARACTERS = 2_000_000
_HEAD = 256
_TAIL = 1024
#: Of a spilled result no more is indexed.
LONGEST_RESULT = 1 << 25
_WORKTREES = "/.claude/worktrees/"
_POINTER = re.compile(r"gitdir:\s*(.+?)[/\\]\.git[/\\]worktrees[/\\]")
_LONGEST_POINTER = 4096
_COLUMNS = len(TextKind)
# Where the answer begins in a row of `FileRows.calls`.
_ANSWERED = 4
# Inputs that name the file a tool works on.
_TARGETS = ("file_path", "notebook_path", "path")


class ReadTask(Struct, frozen=True):
    """What is to be read of a file: all behind a place, where the bytes before it are as they were."""

    path: Path
    part: FilePart
    #: In bytes, when it was looked for.
    size: int = 0
    #: The session's own file, where this is it.
    session: SessionFile | None = None
    offset: int = 0
    lines: int = 0
    fingerprint: bytes = b""
    #: How far the turns of a session were read: a `Place` as JSON.
    place: str | None = None
    #: The last git branch that a line named.
    branch: str | None = None
    conversation: int | None = None


class FileRows(Struct):
    """Rows of a file, in its order."""

    #: Offset, line, UUID as a number, and time; and the text of each kind.
    docs: list[tuple[tuple[Any, ...], tuple[str, ...]]] = msgspec.field(default_factory=list)
    #: Id, tool, file, offset; and of the answer, where these rows have it: offset, whether it failed, name of the spilled file.
    calls: list[list[Any]] = msgspec.field(default_factory=list)
    #: The same of calls in rows before these: id, offset, whether it failed, name of the spilled file.
    answers: list[tuple[Any, ...]] = msgspec.field(default_factory=list)
    #: Only in the first piece: the place from which on the rows of the file are replaced.
    begin: int | None = None
    end: FileEnd | None = None
    #: Characters.
    size: int = 0


class FileEnd(Struct, frozen=True):
    """How far a file was read, and what is known of it as a whole."""

    offset: int
    lines: int
    fingerprint: bytes
    #: Kind, name, and where it was last named.
    names: tuple[tuple[str, str, int], ...]
    session: SessionFacts | None = None


class SessionFacts(Struct, frozen=True):
    """What the session's own file says of the session."""

    title: str | None
    project: str
    repository: str | None
    branch: str | None
    release: str | None
    started: float | None
    ended: float
    #: A number that all files of one conversation share; None if nothing in the file tells.
    conversation: int | None
    #: A `Glance` as JSON, without its path; None where it holds what is not text.
    glance: bytes | None
    place: str
    #: Where the last turn of the branch that a client resumes opens.
    current: int | None
    #: The turns from `begin` on are these: offset, number, opening, previous opening, time, lines.
    begin: int
    turns: tuple[tuple[Any, ...], ...]


Emit = Callable[[FileRows], None]


class FileReading(Struct):
    """A task and its rows, to be taken once. `read` raises UnreadableError."""

    task: ReadTask
    read: Callable[[Emit], None]


def read_file(task: ReadTask, emit: Callable[[FileRows], None]) -> None:
    """Emit the rows of a file, in pieces; the last one has an `end`. Raises UnreadableError."""
    if not task.offset or fingerprint(task.path, task.offset) != task.fingerprint:
        task = msgspec.structs.replace(task, offset=0, lines=0, place=None, branch=None, conversation=None)
    if task.part is FilePart.RESULT:
        emit(_read_result(task.path))
    else:
        _Reading(task, emit).read()


def read_here(tasks: Iterable[ReadTask]) -> Generator[FileReading, None, None]:
    """One file after the other, in this process."""
    for task in tasks:
        yield FileReading(task, lambda emit, task=task: read_file(task, emit))  # type: ignore[misc]


def fingerprint(path: Path, offset: int) -> bytes:
    """A hash of the beginning of a file and of the last bytes before a place in it."""
    if not offset:
        return b""
    digest = blake2b(read_slice(path, 0, min(_HEAD, offset)), digest_size=16)
    digest.update(read_slice(path, max(0, offset - _TAIL), offset))
    return digest.digest()


def read_result(path: Path) -> str:
    """The text of a spilled result. Raises UnreadableError."""
    return read_slice(path, 0, LONGEST_RESULT).decode(errors="replace")


def _read_result(path: Path) -> FileRows:
    columns = [""] * len(TextKind)
    columns[TextKind.OUTPUT] = indexed(read_result(path))
    return FileRows(begin=0, docs=[((0, 1, None, None), tuple(columns))], end=FileEnd(0, 0, b"", ()))


class _Reading:
    """Notes the lines of one file, in its order."""

    def __init__(self, task: ReadTask, emit: Callable[[FileRows], None]) -> None:
        self._task = task
        self._emit = emit
        self._inputs = InputReader()
        self._rows = FileRows(begin=task.offset)
        #: The calls in `_rows`, by their ids.
        self._calls: dict[str, list[Any]] = {}
        #: Those in the rows before.
        self._earlier_calls: set[str] = set()
        self._branch = task.branch
        #: By kind and name: where it was last named.
        self._releases: dict[str, int] = {}
        self._sessions: dict[str, int] = {}
        self._folders: dict[str, int] = {}
        self._branches: dict[str, int] = {}
        self._models: dict[str, int] = {}
        self._conversation = task.conversation
        # Whole lines that were read so far, and where they end; a line without an end is read again next time.
        self._lines = task.lines
        self._end = task.offset

    def read(self) -> None:
        facts = None
        if self._task.session is None:
            self._read_rest()
        else:
            facts = self._read_session(self._task.session)
        named = {
            "release": self._releases,
            "session": self._sessions,
            "cwd": self._folders,
            "branch": self._branches,
            "model": self._models,
        }
        names = tuple((kind, clean(name) or "", last) for kind, found in named.items() for name, last in found.items())
        self._rows.end = FileEnd(self._end, self._lines, fingerprint(self._task.path, self._end), names, facts)
        self._emit(self._rows)

    def _read_session(self, file: SessionFile) -> SessionFacts:
        """Lines and turns in one reading, from the beginning of the last turn that is known."""
        from stenograph.sessions import ListTitles, describe, glance
        from stenograph.turns import Place, TurnReader

        path = self._task.path
        place = msgspec.json.decode(self._task.place, type=Place) if self._task.place else Place()
        reader = TurnReader(path, place=place, watch=self._watch, inputs=self._inputs)
        self._read_rest()
        seen = glance(path)
        # Summaries in other files are looked up in the store, once for all.
        info = describe(file, seen=seen, written=set(), titles=ListTitles([seen]))
        return SessionFacts(
            title=clean(info.title),
            project=clean(info.project) or "",
            repository=clean(repository_of(info.project)),
            branch=clean(info.branch),
            release=clean(info.release),
            started=info.created.timestamp() if info.created else None,
            ended=info.last_record.timestamp(),
            conversation=self._conversation,
            glance=_encoded(seen),
            place=msgspec.json.encode(reader.place).decode(),
            current=reader.current,
            begin=reader.start,
            turns=tuple(
                (
                    each.begin, each.lines.number, each.opening, each.previous,
                    _seconds(each.started), msgspec.msgpack.encode(each.lines),
                )
                for each in reader.places()
            ),
        )  # fmt: skip

    def _watch(self, located: Located, understood: Input | None) -> None:
        """Note a whole line, unless it was noted before."""
        if located.offset >= self._task.offset:
            self._lines += 1
            self._end = located.offset + located.length + 1
            self._note(located, understood, self._lines)

    def _read_rest(self) -> None:
        """Note the lines that are left, with the last one even if it has no end yet."""
        for located in read_records(self._task.path, self._end):
            understood = self._inputs.read(located.record)
            if located.finding is not None and located.finding.code in ("missing-final-newline", "torn-tail"):
                self._note(located, understood, self._lines + 1)
            else:
                self._watch(located, understood)

    def _note(self, located: Located, understood: Input | None, line: int) -> None:
        record, offset = located.record, located.offset
        texts = texts_of(record, understood)
        time = uuid = None
        if isinstance(record, ChainedRecord):
            time = _seconds(record.timestamp)
            if isinstance(record.uuid, str):
                uuid = number_of(record.uuid)
            if isinstance(record.version, str) and record.version:
                self._releases[record.version] = offset
            if isinstance(record.sessionId, str):
                self._sessions[record.sessionId] = offset
            if isinstance(record.cwd, str) and record.cwd:
                self._folders[record.cwd] = offset
            branch = record.gitBranch
            if isinstance(branch, str) and branch:
                self._branches[branch] = offset
                if branch != self._branch:  # words of the first line that names it
                    self._branch = branch
                    texts.append((TextKind.TITLE, f"\n{branch}"))
        if isinstance(record, AssistantRecord):
            self._note_response(record, offset)
        elif understood is not None:
            for result in understood.results:
                self._note_answer(result, offset)
        if texts:
            self._add(texts, (offset, line, uuid, time))

    def _add(self, texts: Sequence[tuple[TextKind, str]], place: tuple[Any, ...]) -> None:
        """Note the texts of a line; those of one kind are one text."""
        columns = [""] * _COLUMNS
        for kind, text in texts:
            columns[kind] = f"{columns[kind]}\n{text}" if columns[kind] else text
        rows, size = self._rows, 0
        for column, text in enumerate(columns):
            if text:
                columns[column] = whole = indexed(text) if text.isascii() else clean(indexed(text)) or ""
                size += len(whole)
        if size:
            rows.docs.append((place, tuple(columns)))
            rows.size += size
            if len(rows.docs) >= _LINES or rows.size >= _CHARACTERS:
                self._emit(rows)
                self._rows = FileRows()
                self._earlier_calls.update(self._calls)
                self._calls = {}

    def _note_response(self, record: AssistantRecord, offset: int) -> None:
        message = record.message
        if self._conversation is None and (id_ := message_id_of(record)):
            self._conversation = number_of(id_)
        if message and isinstance(message.model, str) and message.model and message.model != SYNTHETIC:
            self._models[message.model] = offset
        content = record.content
        for block in content if isinstance(content, tuple) else ():
            if isinstance(block, ToolUseBlock) and isinstance(block.id, str):
                given = block.input if isinstance(block.input, dict) else {}
                target = next((given[name] for name in _TARGETS if isinstance(given.get(name), str)), None)
                id_ = clean(block.id) or ""
                call = [id_, clean(str(block.name or "")), clean(target), offset, None, False, None]
                if id_ not in self._earlier_calls and self._calls.setdefault(id_, call) is call:
                    self._rows.calls.append(call)

    def _note_answer(self, result: ToolResultBlock, offset: int) -> None:
        id_ = clean(str(result.tool_use_id)) or ""
        answer = offset, bool(result.is_error), spilled_name(text_of(result.content))
        call = self._calls.get(id_)
        if call is None:
            self._rows.answers.append((id_, *answer))
        elif call[_ANSWERED] is None:
            call[_ANSWERED:] = answer


def _encoded(seen: Glance) -> bytes | None:
    try:
        return msgspec.json.encode(seen, enc_hook=lambda _: "")
    except UnicodeEncodeError:
        return None


def repository_of(project: str) -> str | None:
    """The main directory of a git repository of which a project is a worktree."""
    if _WORKTREES in project:
        return project.partition(_WORKTREES)[0] or None
    try:
        # In a worktree, .git is a small file instead of a directory.
        with open(f"{project}/.git", "rb") as file:  # noqa: PTH123 - the name may be anything
            pointer = file.read(_LONGEST_POINTER).decode(errors="replace")
    except (OSError, ValueError):
        return None
    found = _POINTER.match(pointer)
    return found[1] if found else None


def number_of(uuid: str) -> int:
    """A line's UUID as a number that SQLite can hold."""
    return int.from_bytes(blake2b(uuid.encode(errors="surrogatepass"), digest_size=8).digest(), "big", signed=True)


def _seconds(timestamp: object) -> float | None:
    at = moment(timestamp) if isinstance(timestamp, str) else None
    return at.timestamp() if at else None
