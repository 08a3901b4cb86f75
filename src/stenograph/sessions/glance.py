"""One session file -> what a list says about it, from the lines at its two ends.

In: the path of a session file. Out: a `Glance`. Lines are decoded by `records` like everywhere else; those between the head and
the tail are not read. What that can miss: a title, tag or summary that stands in the middle only (clients write titles again
near the end, so this is rare), the exact number of steps beyond ten, and the uuids by which a summary names its session.
`glance(path, whole=True)` reads every line and misses nothing.

The head is read until ten steps and a first prompt are found; a prompt is no longer looked for beyond 1 MiB. The tail is
64 KiB, as the public SDK's, more where that holds no line of the conversation. Files up to 96 KiB are read whole.
"""

from __future__ import annotations

import enum
import itertools
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from stenograph.disk import Ends, read_ends, read_lines
from stenograph.records import (
    AiTitleRecord,
    AssistantRecord,
    ChainedRecord,
    CustomTitleRecord,
    DamagedRecord,
    LastPromptRecord,
    QueueOperationRecord,
    Record,
    SummaryRecord,
    TagRecord,
    TextBlock,
    ToolUseBlock,
    UserRecord,
    decode,
)
from stenograph.records.shape import Opt
from stenograph.sessions.prompts import WARM_UP, FirstPrompt, Saying, is_warm_up, saying_of

HEAD = 1 << 15
TAIL = 1 << 16
#: Seed 000 shows a session of ten steps whatever else it is, so nobody needs to count further.
STEPS_WANTED = 10
_PROMPT_WITHIN = 1 << 20
# Beyond this a list would have to wait for one file.
_LONGEST_TAIL = 1 << 25
_STEPS = (UserRecord, AssistantRecord)
# Lines held at once in a whole reading.
_BATCH = 256


class Ending(enum.Enum):
    """How the last turn on the main chain stands."""

    #: No line of the conversation was seen.
    NOTHING = "nothing"
    #: The model owes an answer: last comes a prompt, a tool result, a tool use, or thinking alone.
    OPEN = "open"
    ANSWERED = "answered"
    #: Last comes the client's note that the user stopped it.
    INTERRUPTED = "interrupted"
    #: Last comes an error of the API, written as if the model had said it.
    FAILED = "failed"


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
    #: There are lines of a conversation, and all of them are a sub-agent's.
    all_sidechain: bool
    warm_up: bool
    #: The last line is cut off: its writer is at work, or was killed.
    torn: bool
    ending: Ending
    #: Records that are no damaged lines; 0 in a file that is no session at all.
    records: int


def glance(path: Path, *, whole: bool = False) -> Glance:
    """Look at one session file. Raises UnreadableError."""
    sight = _Sight()
    ends = read_ends(path, HEAD, TAIL)
    if ends.whole:
        sight.see_lines(ends.head)
        return sight.glance(path, ends, covered=True)
    if whole:
        lines = (line.data for line in read_lines(path, stop=ends.size))
        while batch := list(itertools.islice(lines, _BATCH)):
            sight.see_lines(batch)
        return sight.glance(path, ends, covered=True)
    head_end = sight.see_head(ends.head)
    ends = _widened(path, ends)
    tail_start = ends.size - _length(ends.tail) + ends.torn
    covered = sight.see_middle(path, head_end, tail_start)
    tail = ends.tail
    while tail and tail_start < head_end:  # a widened tail reaches into the head: those lines were seen
        tail_start += len(tail[0]) + 1
        tail = tail[1:]
    sight.see_lines(tail)
    return sight.glance(path, ends, covered=covered)


def _widened(path: Path, ends: Ends) -> Ends:
    """Ends whose tail holds a line of the conversation: one line may be longer than the window."""
    window = TAIL
    while not ends.whole and window < _LONGEST_TAIL and not any(_is_step(line) for line in reversed(ends.tail)):
        window *= 8
        ends = read_ends(path, 0, window)
    return ends


def _is_step(line: bytes) -> bool:
    return isinstance(decode(line), _STEPS)


def _length(lines: list[bytes]) -> int:
    return sum(map(len, lines)) + len(lines)


class _Sight:
    """Takes lines in file order and keeps what a Glance says."""

    def __init__(self) -> None:
        self.release: str | None = None
        self.cwd: str | None = None
        self.branch: str | None = None
        self.entrypoint: str | None = None
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

    def see_lines(self, lines: Iterable[bytes]) -> None:
        """Take whole lines. Called once a window, so that the fields are looked for from its ends, not on every line."""
        records = [decode(line) for line in lines]
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
        lines = read_lines(path, start, stop, block_size=HEAD)
        while batch := list(itertools.islice(lines, STEPS_WANTED)):
            self.see_lines(line.data for line in batch)
            if not self._wants_more(batch[-1].offset):
                return False
        return True

    def _wants_more(self, offset: int) -> bool:
        return self.steps < STEPS_WANTED or (self.first_prompt.found is None and offset < _PROMPT_WITHIN)

    def _see_chained(self, chained: list[ChainedRecord]) -> None:
        self.cwd = self.cwd or _first(record.cwd for record in chained)
        self.entrypoint = self.entrypoint or _first(record.entrypoint for record in chained)
        self.last_timestamp = _first(record.timestamp for record in reversed(chained)) or self.last_timestamp
        self.release = _first(record.version for record in reversed(chained)) or self.release
        self.branch = _first(record.gitBranch for record in reversed(chained)) or self.branch
        main = [record for record in chained if not record.isSidechain]
        if len(main) < len(chained):
            self.has_sidechain = True
            if not self.steps:
                self.warm_up = self.warm_up or any(isinstance(record, UserRecord) and is_warm_up(record) for record in chained)
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
                    self.warm_up = self.first_prompt.found == WARM_UP
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

    def glance(self, path: Path, ends: Ends, *, covered: bool) -> Glance:
        own = [text for leaf, text in self.summaries.items() if leaf in self.uuids]
        return Glance(
            session_id=path.name.removesuffix(".jsonl"),
            path=path,
            size=ends.size,
            mtime_ns=ends.mtime_ns,
            whole=covered,
            release=self.release,
            cwd=self.cwd,
            branch=self.branch,
            entrypoint=self.entrypoint,
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
            torn=ends.torn and self.last_is_damaged,
            ending=_ending(self.last_steps),
            records=self.records,
        )


def _ending(last_steps: Iterable[UserRecord | AssistantRecord]) -> Ending:
    """How the conversation stands; what the client put in by itself is passed over."""
    ending = Ending.NOTHING
    for record in reversed(list(last_steps)):
        if isinstance(record, UserRecord):
            saying = saying_of(record)
            if saying is Saying.LOCAL:
                ending = Ending.ANSWERED  # unless something before it says otherwise
                continue
            return Ending.INTERRUPTED if saying is Saying.INTERRUPT else Ending.OPEN
        if record.isApiErrorMessage:
            return Ending.FAILED
        if record.message and record.message.model == "<synthetic>":
            ending = Ending.ANSWERED  # such as "No response requested.", put after an interrupted turn (rule 41)
            continue
        return Ending.ANSWERED if _answers(record) else Ending.OPEN
    return ending


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
}
