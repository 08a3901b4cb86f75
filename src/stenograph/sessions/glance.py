"""One session file -> what a list says about it, from the lines at its two ends.

Lines between the head and the tail are not read. What that can miss: a title, tag or summary that is only in the middle (clients
write titles again near the end), and the uuids by which a summary names its session. `glance(path, whole=True)` misses nothing.

The head is read until ten steps and a first prompt are found, the prompt within 1 MiB. The tail is 64 KiB, as the public SDK's,
more where that holds no line of the conversation. A quick look reads at most some 30 MiB and 40,000 lines of a file.
"""

from __future__ import annotations

import contextlib
import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from stenograph.disk import Ends, Finding, Line, read_ends, read_lines
from stenograph.errors import DiskError, StenographError, UnreadableError
from stenograph.family import LINES_SUFFIX
from stenograph.inputs import FirstPrompt, InputKind, Status, input_at, is_warm_up
from stenograph.records import (
    SYNTHETIC,
    AiTitleRecord,
    AssistantRecord,
    ChainedRecord,
    CustomTitleRecord,
    DamagedRecord,
    LastPromptRecord,
    Opt,
    PrLinkRecord,
    QueueOperationRecord,
    Record,
    SummaryRecord,
    TagRecord,
    TextBlock,
    ToolUseBlock,
    UserRecord,
    decode,
)

# What hostile text makes of numbers, dates, depths and sizes; errors in the program itself, such as AttributeError, stay what
# they are. UnicodeError is a ValueError.
_FAILURES = (StenographError, ValueError, TypeError, OverflowError, RecursionError, MemoryError)


@contextlib.contextmanager
def as_unreadable(path: Path) -> Iterator[None]:
    """Raises UnreadableError where what is done inside fails because of the file at `path`."""
    try:
        yield
    except DiskError:
        raise
    except _FAILURES as error:
        raise UnreadableError(f"cannot parse {path} ({type(error).__name__})", path=path) from None


def unreadable(error: DiskError) -> Finding:
    """The finding for a file or directory that a list has to go without."""
    return Finding("unreadable", error.path, detail=str(error))


HEAD = 1 << 15
TAIL = 1 << 16
#: A session of ten steps is listed whatever else it is (`HIDDEN`), so nothing counts further.
STEPS_WANTED = 10
_PROMPT_WITHIN = 1 << 20
# Beyond these a list would have to wait for one file: a look for the steps missing in the head, and for the last one.
_LONGEST_MIDDLE = 1 << 23
_LONGEST_TAIL = 1 << 24
_MOST_LINES = 1 << 14
_STEPS = (UserRecord, AssistantRecord)
# What is held at once in a whole reading.
_BATCH_LINES = 256
_BATCH_BYTES = 1 << 20


class Glance(msgspec.Struct, frozen=True):
    """What the looked-at lines say. None: they do not say it."""

    #: From the file's name, as clients take it (rule 5).
    session_id: str
    path: Path
    size: int
    mtime_ns: int
    #: Every line was read.
    whole: bool
    #: The last release that wrote a line.
    release: str | None
    #: Where the session began.
    cwd: str | None
    #: The last one named.
    branch: str | None
    entrypoint: str | None
    #: The client's own name for the conversation: `sunny-dancing-otter`.
    slug: str | None
    #: Addresses, in the order they were first written.
    pull_requests: tuple[str, ...]
    #: As written, in file order: neither the least nor the greatest.
    first_timestamp: str | None
    last_timestamp: str | None
    first_prompt: str | None
    last_prompt: str | None
    custom_title: str | None
    ai_title: str | None
    #: None also where it was taken away.
    tag: str | None
    #: By leafUuid; many are about other sessions.
    summaries: dict[str, str]
    #: The last of `summaries` whose leaf was seen in this file.
    own_summary: str | None
    #: The uuid of the last line of the main chain.
    leaf_uuid: str | None
    #: User and assistant records of the main chain; at least so many where not `steps_exact`.
    steps: int
    steps_exact: bool
    #: Some assistant record holds text and no tool use.
    has_assistant_message: bool
    #: There are lines of a conversation, and all of them are a subagent's.
    all_sidechain: bool
    warm_up: bool
    #: The last line is cut off: its writer is at work, or was killed.
    torn: bool
    #: How the last turn ended; None while the model owes an answer.
    ending: Status | None
    #: Records that are no damaged lines; 0 in a file that is no session at all.
    records: int

    def __repr__(self) -> str:
        # Transcript content must not reach a log by way of a repr.
        return f"<Glance {self.session_id!r}, {self.size} bytes>"


def glance(path: Path, *, whole: bool = False) -> Glance:
    """Look at one session file. Raises UnreadableError."""
    with as_unreadable(path):
        return _look(path, whole=whole)


def _look(path: Path, *, whole: bool) -> Glance:
    sight = _Sight()
    ends = read_ends(path, HEAD, TAIL)
    if ends.whole:
        sight.see_lines(ends.head)
        return sight.glance(path, ends, covered=True)
    if whole:
        for batch in _batches(read_lines(path, stop=ends.size), _BATCH_LINES):
            sight.see_lines(line.data for line in batch)
        return sight.glance(path, ends, covered=True)
    head_end = sight.see_head(ends.head)
    tail = _tail(path, ends)
    covered = sight.see_middle(path, head_end, tail[0].offset if tail else ends.size)
    # A widened tail may reach into the head.
    sight.see_lines(line.data for line in tail if line.offset >= head_end)
    return sight.glance(path, ends, covered=covered, end_seen=bool(tail))


def _tail(path: Path, ends: Ends) -> list[Line]:
    """The last lines, so many that one of the conversation is among them: one line may be longer than the window."""
    lengths = [len(line) + 1 for line in ends.tail]
    offsets = itertools.accumulate(lengths, initial=ends.size - sum(lengths) + ends.torn)
    lines = [Line(0, offset, line) for offset, line in zip(offsets, ends.tail, strict=False)]
    window = TAIL
    while window < min(ends.size, _LONGEST_TAIL) and len(lines) <= _MOST_LINES:
        if any(_is_step(line.data) for line in reversed(lines)):
            break
        window = min(window * 8, _LONGEST_TAIL)
        # One byte more, so that the piece before the first newline is never a whole line, even an empty one.
        start = max(0, ends.size - window - 1)
        found = list(itertools.islice(read_lines(path, start, ends.size), _MOST_LINES + 1))
        if len(found) > _MOST_LINES:
            break
        lines = found[1:] if start else found
    return lines


def _batches(lines: Iterable[Line], most: int) -> Iterator[list[Line]]:
    """The lines, at most so many at once, and fewer where they are long."""
    batch: list[Line] = []
    held = 0
    for line in lines:
        batch.append(line)
        held += len(line.data)
        if len(batch) >= most or held >= _BATCH_BYTES:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch


def _is_step(line: bytes | memoryview) -> bool:
    return isinstance(decode(line), _STEPS)


def _length(lines: list[bytes]) -> int:
    return sum(map(len, lines)) + len(lines)


class _Sight:
    def __init__(self) -> None:
        self.release: str | None = None
        self.cwd: str | None = None
        self.branch: str | None = None
        self.entrypoint: str | None = None
        self.slug: str | None = None
        self.pull_requests: dict[str, None] = {}
        self.first_timestamp: str | None = None
        self.last_timestamp: str | None = None
        self.first_prompt = FirstPrompt()
        self.last_prompt: str | None = None
        self.custom_title: str | None = None
        self.ai_title: str | None = None
        self.tag: str | None = None
        self.summaries: dict[str, str] = {}
        self.uuids: set[str] = set()
        self.leaf_uuid: str | None = None
        self.steps = 0
        self.has_sidechain = False
        self.has_assistant_message = False
        self.warm_up = False
        self.records = 0
        self.last_is_damaged = False
        # More than a client ever puts after the turn's last word.
        self.last_steps: deque[UserRecord | AssistantRecord] = deque(maxlen=32)

    def see_lines(self, lines: Iterable[bytes | memoryview]) -> None:
        """Take whole lines; empty ones say nothing, and may be millions.

        Called once a window, so that the fields are looked for from its ends, not on every line.
        """
        records = [decode(line) for line in lines if line]
        chained = [record for record in records if isinstance(record, ChainedRecord)]
        if self.first_timestamp is None:
            dated = (record for record in records if isinstance(record, ChainedRecord | QueueOperationRecord))
            self.first_timestamp = _first(record.timestamp for record in dated)
        self.records += len(records)
        if len(chained) < len(records):
            for record in records:
                if (see := _SEE.get(type(record))) is not None:
                    see(self, record)
        if records:
            self.last_is_damaged = type(records[-1]) is DamagedRecord
        if chained:
            self._see_chained(chained)

    def see_head(self, lines: list[bytes]) -> int:
        """Take lines from the start of the file as long as something is wanted; returns where the first one not taken begins."""
        taken = end = 0
        while taken < len(lines) and self._wants_more(end):
            batch = lines[taken : taken + STEPS_WANTED]
            self.see_lines(batch)
            taken += len(batch)
            end += _length(batch)
        return end

    def see_middle(self, path: Path, start: int, stop: int) -> bool:
        """Read on from the head as long as something is wanted; True when nothing is left between it and the tail."""
        if start >= stop:
            return True
        if not self._wants_more(start):
            return False
        end = start
        lines = read_lines(path, start, min(stop, start + _LONGEST_MIDDLE), block_size=HEAD)
        for batch in _batches(itertools.islice(lines, _MOST_LINES), STEPS_WANTED):
            last = batch[-1]
            if not last.ended:  # cut off where the reading stops
                batch.pop()
            self.see_lines(line.data for line in batch)
            if not last.ended or not self._wants_more(last.offset):
                return False
            end = last.offset + len(last.data) + 1
        return end >= stop

    def _wants_more(self, offset: int) -> bool:
        return self.steps < STEPS_WANTED or (self.first_prompt.found is None and offset < _PROMPT_WITHIN)

    def _see_chained(self, chained: list[ChainedRecord]) -> None:
        self.cwd = self.cwd or _first(record.cwd for record in chained)
        self.entrypoint = self.entrypoint or _first(record.entrypoint for record in chained)
        self.last_timestamp = _first(record.timestamp for record in reversed(chained)) or self.last_timestamp
        self.release = _first(record.version for record in reversed(chained)) or self.release
        self.branch = _first(record.gitBranch for record in reversed(chained)) or self.branch
        self.slug = _first(record.slug for record in reversed(chained)) or self.slug
        main = [record for record in chained if not record.isSidechain]
        if len(main) < len(chained):
            self.has_sidechain = True
            if not self.steps:
                self.warm_up = self.warm_up or any(isinstance(one, UserRecord) and is_warm_up(one.content) for one in chained)
        self.uuids.update([record.uuid for record in main if record.uuid])
        self.leaf_uuid = _first(record.uuid for record in reversed(main)) or self.leaf_uuid
        steps = [record for record in main if isinstance(record, _STEPS)]
        self.steps += len(steps)
        self.last_steps.extend(steps)
        if not self.has_assistant_message:
            self.has_assistant_message = any(isinstance(record, AssistantRecord) and _answers(record) for record in steps)
        if self.first_prompt.found is None:
            self._look_for_prompt(steps)

    def _look_for_prompt(self, steps: Iterable[Record]) -> None:
        for record in steps:
            if isinstance(record, UserRecord):
                self.first_prompt.see(record)
                if self.first_prompt.found is not None:
                    self.warm_up = is_warm_up(self.first_prompt.found)
                    return

    def _see_damaged(self, _: Record) -> None:
        self.records -= 1

    def _see_summary(self, record: Record) -> None:
        if isinstance(record, SummaryRecord) and record.leafUuid and record.summary:
            self.summaries.pop(record.leafUuid, None)  # the last one is to stand last
            self.summaries[record.leafUuid] = record.summary

    def _see_custom_title(self, record: Record) -> None:
        if isinstance(record, CustomTitleRecord) and record.customTitle:
            self.custom_title = record.customTitle

    def _see_ai_title(self, record: Record) -> None:
        if isinstance(record, AiTitleRecord) and record.aiTitle:
            self.ai_title = record.aiTitle

    def _see_tag(self, record: Record) -> None:
        if isinstance(record, TagRecord):
            self.tag = record.tag or None

    def _see_last_prompt(self, record: Record) -> None:
        if isinstance(record, LastPromptRecord) and record.lastPrompt:
            self.last_prompt = record.lastPrompt

    def _see_pull_request(self, record: Record) -> None:
        if isinstance(record, PrLinkRecord) and record.prUrl:
            self.pull_requests[record.prUrl] = None

    def glance(self, path: Path, ends: Ends, *, covered: bool, end_seen: bool = True) -> Glance:
        own = [text for leaf, text in self.summaries.items() if leaf in self.uuids]
        return Glance(
            session_id=path.name.removesuffix(LINES_SUFFIX),
            path=path,
            size=ends.size,
            mtime_ns=ends.mtime_ns,
            whole=covered,
            release=self.release,
            cwd=self.cwd,
            branch=self.branch,
            entrypoint=self.entrypoint,
            slug=self.slug,
            pull_requests=tuple(self.pull_requests),
            first_timestamp=self.first_timestamp,
            last_timestamp=self.last_timestamp,
            first_prompt=self.first_prompt.text,
            last_prompt=self.last_prompt,
            custom_title=self.custom_title,
            ai_title=self.ai_title,
            tag=self.tag,
            summaries=self.summaries,
            own_summary=own[-1] if own else None,
            leaf_uuid=self.leaf_uuid,
            steps=self.steps,
            steps_exact=covered,
            has_assistant_message=self.has_assistant_message,
            all_sidechain=self.has_sidechain and not self.steps,
            warm_up=self.warm_up,
            # A last line too long to be looked at is taken for what it mostly is: the trace of a crash.
            torn=ends.torn and (self.last_is_damaged or not end_seen),
            ending=_ending(list(self.last_steps)),
            records=self.records,
        )


def _ending(steps: Sequence[UserRecord | AssistantRecord]) -> Status | None:
    """How the turn that these are the last of ended, as `Turn.status` has it; None while the model owes an answer.

    It does after a prompt, a tool result, a tool use, thinking alone, or a command whose text is for the model.
    """
    is_expanded = has_output = False
    for place in range(len(steps) - 1, -1, -1):
        record = steps[place]
        if isinstance(record, AssistantRecord):
            if record.isApiErrorMessage:
                return Status.FAILED
            if record.message and record.message.model == SYNTHETIC:
                continue  # such as "No response requested.", put after an interrupted turn (rule 41)
            return Status.DONE if _answers(record) else None
        understood = input_at(steps, place)
        if understood is None:
            continue
        is_expanded = is_expanded or understood.is_expansion
        has_output = has_output or understood.kind is InputKind.LOCAL_OUTPUT
        if understood.kind in (InputKind.COMMAND, InputKind.BASH):
            if understood.kind is InputKind.COMMAND and is_expanded and not has_output:
                return None
            is_expanded = has_output = False
        elif not understood.is_aside:
            return Status.INTERRUPTED if understood.kind is InputKind.INTERRUPT else None
    return Status.DONE  # nothing was asked


def _first(values: Iterable[Opt[str]]) -> str | None:
    for value in values:
        if value:
            return value
    return None


def _answers(record: AssistantRecord) -> bool:
    """Whether it says something and calls no tool; thinking alone is no answer."""
    content = record.content
    if isinstance(content, str):
        return bool(content)
    says = False
    for block in content or ():
        if isinstance(block, ToolUseBlock):
            return False
        says = says or isinstance(block, TextBlock)
    return says


_SEE: dict[type[Record], Callable[[_Sight, Record], None]] = {
    DamagedRecord: _Sight._see_damaged,
    SummaryRecord: _Sight._see_summary,
    CustomTitleRecord: _Sight._see_custom_title,
    AiTitleRecord: _Sight._see_ai_title,
    TagRecord: _Sight._see_tag,
    LastPromptRecord: _Sight._see_last_prompt,
    PrLinkRecord: _Sight._see_pull_request,
}
