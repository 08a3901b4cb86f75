"""The ids of a family: which are its own, and every one of them replaced by a fresh one of the same form.

In: the lines of a family, and the names of its agents. Out: the same bytes with other ids. An id is found where clients make
one, and replaced by its value wherever it stands: in paths, texts, lists, structured results and file names. Nothing else
changes, so that the new family is the old one but for its ids. Does not know what files a family has.

Own are: the session's id, those of records, snapshots, prompts, queued inputs and logged requests, of sub-agents and of the
folders of their workflows. A UUID that makes up a whole value outside of what was said, read or answered is one. Not own, and
left as they are:

    message.id, requestId, tool-use ids    the API's: by them others know that a clone's answers were paid for once
    hashes and digests                     of what a request held; they name contents, which are no family's
    leafUuid of a summary, forkedFrom      lines of another family
    background tasks                       named inside the session's own folder only
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import struct
import uuid
from array import array
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from stenograph.errors import UsageError
from stenograph.records import ZERO_UUID

_HEX = rb"[0-9a-fA-F]"
# Begins with the first dash, which the regex engine finds fast; in text of any other form a search costs fifteen times as much.
_REST_OF_UUID = re.compile(rb"-(?<=%b{8}-)%b{4}-%b{4}-%b{4}-%b{12}" % ((_HEX,) * 5))
_HEAD = 8
_WHOLE_UUID = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")

# Of an agent: 8 digits (2.0.36 to 2.0.55), 7 from `a` on (2.0.58 to 2.1.45), 17 (later), a name before them (`acompact-70d8e7`).
_AGENT_DIGITS = re.compile(r"(?:[a-z][a-z_]*-)?(a?)([0-9a-f]{6,})")
_NAMES_AN_AGENT = b'gentId":'
_NAMED_AGENT = re.compile(rb'gentId": ?"([^"\\]+)"')
# Not a part of a longer word, nor the head of a UUID.
_END_OF_WORD = rb"(?![0-9A-Za-z_])(?!-[0-9a-f]{4}-)"
_ENDS = re.compile(_END_OF_WORD)
# Three ways to find agents fast: a few with the same first letter by themselves; more by the letter that most begin with; where
# they are long or begin otherwise, by turning digits into one mark, which makes a run of them that `find` leaps to. What stands
# before is looked at afterwards.
_AGENT_FROM_A = re.compile(rb"a[0-9a-f]{6,16}" + _END_OF_WORD)
_DIGITS_ALONE = re.compile(r"[0-9a-f]+")
_MARK = b"x"
_MARKS = bytes(_MARK[0] if byte in b"0123456789abcdef" else 0x20 for byte in range(256))
#: Leaps over fewer digits cost more than they save: every UUID has a run of twelve.
_LEAPS_FROM = 13
_FEW = 5
#: To find an id that no agent has: of 7 digits there are 16 million.
_ATTEMPTS = 1_000
_WORD_BYTES = frozenset(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz")
# A number of JSON must not become another: an agent that looks like one is replaced only behind these.
_LIKE_A_NUMBER = re.compile(rb"[0-9]+(?:e[0-9]+)?")
_BEFORE_DIGITS = (b'"', b"agent-", b"agentId: ", b"/", b"<task-id>")
_WORKFLOW_DIGITS = re.compile(r"(wf_)([0-9a-f]{8})-([0-9a-f]{3})")

# Text that a signature vouches for: an id in it has to stay, or the API refuses the block.
_THINKING = re.compile(rb'"thinking": ?"((?:[^"\\]++|\\.)*+)"')
_SIGNATURE = re.compile(rb'"signature": ?"[^"]')

#: Members that name things of the API, or hold words: a UUID in one is no id of the family.
_NOT_OWN = frozenset(
    b"toolUseID parentToolUseID sourceToolUseID requestId requestID interruptedMessageId refusedMessageId"
    b" lastPrompt customTitle aiTitle agentName summary tag slug cwd gitBranch text content result".split()
)
#: What else makes an id in a line that is no JSON.
_OWN_IN_DAMAGED_LINES = frozenset(b"uuid parentUuid logicalParentUuid sessionId promptId messageId leafUuid".split())


_NOTHING = msgspec.Raw()


class _Envelope(msgspec.Struct):
    """A line's own members; what was said, read or answered is left as bytes."""

    type: Any = None
    uuid: Any = None
    parentUuid: Any = None  # noqa: N815 - the file's own spelling
    sessionId: Any = None  # noqa: N815
    message: msgspec.Raw = _NOTHING
    toolUseResult: msgspec.Raw = _NOTHING  # noqa: N815
    content: msgspec.Raw = _NOTHING
    attachment: msgspec.Raw = _NOTHING
    rendered: msgspec.Raw = _NOTHING
    shape: msgspec.Raw = _NOTHING
    result: msgspec.Raw = _NOTHING
    forkedFrom: msgspec.Raw = _NOTHING  # noqa: N815
    #: Of a progress line: a sub-agent's record among other things.
    data: msgspec.Raw = _NOTHING


_CONTENTS = ("message", "toolUseResult", "content", "attachment", "rendered", "shape", "result", "forkedFrom")
_decode = msgspec.json.Decoder(_Envelope).decode
#: What a decoder says to bytes that it can't take; invalid UTF-8 is a ValueError.
NOT_JSON = (msgspec.MsgspecError, ValueError, RecursionError)


_UUID_LENGTH = 36
_QUOTE, _BACKSLASH = b'"\\'
#: Where an id begins and ends, and the new one.
Place = tuple[int, int, bytes]
_BEFORE_PARENT = b'\n{"parentUuid":"'
_TO_PARENT = _UUID_LENGTH + len(_BEFORE_PARENT)
#: Bytes of lines that wait for a close look.
_WAITING_AT_MOST = 8 << 20


class OwnIds:
    """The ids that a family made, gathered from its lines."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        #: In the order in which they were met.
        self.uuids: dict[bytes, None] = {}
        #: Those of sub-agents, and of workflow folders.
        self.agents: set[str] = set()
        self.workflows: set[str] = set()
        #: Of records and sessions, in a form that no client gives them; replaced where they make up a whole value.
        self.odd: set[str] = set()
        #: Ids that may be own, each with a line that holds it, and how many bytes these lines have.
        self._doubtful: dict[bytes, bytes] = {}
        self._waiting = 0
        self._is_first = True
        self._add(session_id)

    def add_agent(self, agent_id: str) -> None:
        (self.agents if _AGENT_DIGITS.fullmatch(agent_id) else self.odd).add(agent_id)

    def add_workflow(self, name: str) -> None:
        """The name of a folder with a workflow's agents."""
        if is_workflow(name):
            self.workflows.add(name)

    def read(self, block: bytes) -> array[int]:
        """Gather the ids that whole lines make; `begin_file` before the first of a file, `settle` when all were read.

        Returns where UUIDs end, so that nobody has to look for them again. A line is decoded only where a look at the bytes
        around an id can't tell: most ids are met again as some line's parent.
        """
        uuids = self.uuids
        ends = array("i", [found.end() for found in _REST_OF_UUID.finditer(block)])
        # The first member of its line is a member of nothing else: no closer look is needed at what is somebody's parent.
        uuids.update(
            {
                block[end - _UUID_LENGTH : end]: None
                for end in ends
                if block[end - _TO_PARENT : end - _UUID_LENGTH] == _BEFORE_PARENT and block[end : end + 1] == b'"'
            }
        )
        for end in ends:
            if block[end - _UUID_LENGTH : end] not in uuids:
                self._consider(block, end - _UUID_LENGTH, end)
        # Other tools give ids of one form to all their lines: of a long file it is enough to look here and there.
        lines = block.split(b"\n") if self._is_first else [block[: block.find(b"\n") + 1 or None]]
        for line in lines:
            self._read_odd(line)
        self._is_first = False
        place = block.find(_NAMES_AN_AGENT)
        while place >= 0:
            self._consider_agent(block, place)
            place = block.find(_NAMES_AN_AGENT, place + 1)
        return ends

    def begin_file(self) -> None:
        self._is_first = True

    def settle(self) -> None:
        """Look closely at the lines with ids of which it is not known yet whose they are."""
        waiting, self._doubtful, self._waiting = self._doubtful, {}, 0
        for value, line in waiting.items():
            if value not in self.uuids:
                self._read_closely(line)

    def _consider(self, block: bytes, start: int, end: int) -> None:
        if not _is_whole_value(block, start, end):
            return
        key = _key_before(block, start)
        if key in _NOT_OWN:
            return
        line_start, line_end = block.rfind(b"\n", 0, start) + 1, block.find(b"\n", end)
        line_end = len(block) if line_end < 0 else line_end
        if key != b"leafUuid" and _is_member_of_the_line(block, start, end, line_start, line_end):
            value = block[start:end]
            self.uuids[value] = None
            if self._doubtful:
                self._doubtful.pop(value, None)
            return
        self._doubtful[block[start:end]] = block[line_start:line_end]
        self._waiting += line_end - line_start
        if self._waiting > _WAITING_AT_MOST:
            self.settle()

    def _consider_agent(self, block: bytes, place: int) -> None:
        found = _NAMED_AGENT.match(block, place)
        name = found[1].decode(errors="replace") if found else ""
        if not name or name in self.agents or not _AGENT_DIGITS.fullmatch(name):
            return
        start, end = block.rfind(b"\n", 0, place) + 1, block.find(b"\n", place)
        line = block[start : end if end >= 0 else len(block)]
        with contextlib.suppress(*NOT_JSON):
            if not _is_inside(_spans(line, _decode(line), ("message",)), place - start):
                self.agents.add(name)

    def _read_odd(self, line: bytes) -> None:
        try:
            envelope = _decode(line)
        except NOT_JSON:
            return
        for value in (envelope.uuid, envelope.parentUuid, envelope.sessionId):
            if value.__class__ is str and value and _WHOLE_UUID.fullmatch(value) is None:
                self.odd.add(value)

    def _read_closely(self, line: bytes) -> None:
        try:
            envelope = _decode(line)
        except NOT_JSON:
            self._read_damaged(line)
            return
        contents = _spans(line, envelope, _CONTENTS)
        progress = _spans(line, envelope, ("data",))
        is_title = envelope.type == "summary"
        for found in _REST_OF_UUID.finditer(line):
            start, end = found.start() - _HEAD, found.end()
            if not _is_whole_value(line, start, end) or _is_inside(contents, start):
                continue
            if _makes_id(_key_before(line, start), is_title, _is_inside(progress, start)):
                self.uuids[line[start:end]] = None

    def _read_damaged(self, line: bytes) -> None:
        for found in _REST_OF_UUID.finditer(line):
            start, end = found.start() - _HEAD, found.end()
            if _is_whole_value(line, start, end) and _key_before(line, start) in _OWN_IN_DAMAGED_LINES:
                self.uuids[line[start:end]] = None

    def _add(self, value: str) -> None:
        if _WHOLE_UUID.fullmatch(value):
            self.uuids[value.encode()] = None
        elif value:
            self.odd.add(value)

    def __len__(self) -> int:
        return len(self.uuids.keys() - {ZERO_UUID.encode()}) + len(self.agents) + len(self.workflows) + len(self.odd)


class IdRenewal:
    """New ids for old ones. The same family and the same new session id give the same new ids."""

    def __init__(self, own: OwnIds, new_id: str, *, taken: Iterable[str] = ()) -> None:
        """`taken`: ids of agents that stand where the new ones will, and must not be met again. Raises UsageError."""
        self._key = new_id.encode()
        #: Old -> new, as bytes.
        self.new: dict[bytes, bytes] = self._fresh_uuids([old for old in own.uuids if old != ZERO_UUID.encode()])
        self.new[own.session_id.encode()] = new_id.encode()
        used = {*own.agents, *taken}
        for agent in sorted(own.agents):
            self.new[agent.encode()] = self._fresh_agent(agent, used).encode()
        for name in own.workflows:
            digits = self._digits(name.encode(), 11)
            self.new[name.encode()] = f"wf_{digits[:8]}-{digits[8:]}".encode()
        numbers = {agent for agent in own.agents if _DIGITS_ALONE.fullmatch(agent)}
        shortest = min(map(len, numbers), default=0)
        from_a = bool(numbers) and all(_AGENT_FROM_A.fullmatch(agent.encode()) for agent in numbers)
        few = from_a and len(numbers) <= _FEW
        by_letter = from_a and not few and shortest < _LEAPS_FROM
        self._words = [_whole_words(numbers)] if few else [_AGENT_FROM_A] if by_letter else []
        self._run = b"" if few or by_letter else _MARK * shortest
        if others := {*own.agents, *own.workflows} - numbers:
            self._words.append(_whole_words(others))
        self._odd = {_quoted(old): _quoted(self._new_odd(own, old)) for old in own.odd}
        self._odd_pattern = _any_of(sorted(self._odd, key=len, reverse=True)) if self._odd else None

    def renew(self, block: bytes, ends: Iterable[int] | None = None) -> bytes:
        """Whole lines with their ids renewed; `ends` is what `OwnIds.read` said of the same lines."""
        places = self._places(block, [found.end() for found in _REST_OF_UUID.finditer(block)] if ends is None else ends)
        if self._odd_pattern is not None:
            places += self._odd_places(block)
        places.sort()
        if signed := _in_signed_thinking(block, places):
            places = [place for place in places if place[0] not in signed]
        parts: list[bytes] = []
        done = 0
        for start, end, new in places:
            parts += (block[done:start], new)
            done = end
        parts.append(block[done:])
        return b"".join(parts)

    def name(self, name: str) -> str:
        """The name of a file or folder, or any other short text."""
        old = name.encode("utf-8", "surrogateescape")
        odd = self._odd.get(_quoted(name))
        new = odd[1:-1] if odd else self.new.get(old) or self.renew(old)
        return new.decode("utf-8", "surrogateescape")

    def _places(self, block: bytes, ends: Iterable[int]) -> list[Place]:
        get = self.new.get
        places = [(end - _UUID_LENGTH, end, new) for end in ends if (new := get(block[end - _UUID_LENGTH : end])) is not None]
        for words in self._words:
            places += [
                (found.start(), found.end(), new)
                for found in words.finditer(block)
                if (new := get(found[0])) is not None and _begins_a_word(block, found.start(), found[0])
            ]
        if self._run:
            places += [
                (start, end, new)
                for start, end in _runs(block, self._run)
                if (new := get(word := block[start:end])) is not None
                and _begins_a_word(block, start, word)
                and _ENDS.match(block, end)
            ]
        return places

    def _odd_places(self, block: bytes) -> list[Place]:
        assert self._odd_pattern is not None
        places = []
        offset = 0
        for line in block.split(b"\n"):
            with contextlib.suppress(*NOT_JSON):
                contents = _spans(line, _decode(line), (*_CONTENTS, "data"))
                for found in self._odd_pattern.finditer(line):
                    start, end = found.span()
                    if not _is_inside(contents, start) and _names_an_id(line, start + 1):
                        places.append((offset + start, offset + end, self._odd[found[0]]))
            offset += len(line) + 1
        return places

    def _digits(self, old: bytes, count: int, attempt: int = 0) -> str:
        salt = attempt.to_bytes(2, "big")
        return hashlib.blake2b(old, key=self._key, salt=salt).hexdigest()[:count]

    def _fresh_uuids(self, olds: list[bytes]) -> dict[bytes, bytes]:
        """New UUIDs, from one stream of digits: one by one would cost more than to find them."""
        digits = hashlib.shake_256(self._key).hexdigest(16 * len(olds)).encode()
        new = {}
        # The version and the variant stay: a digit each, left out of the new ones.
        for old, (a, b, c, d, e) in zip(olds, struct.iter_unpack("8s4sx3sx3s12s", digits), strict=True):
            text = b"%b-%b-%b%b-%b%b-%b" % (a, b, old[14:15], c, old[19:20], d, e)
            new[old] = text.upper() if old.isupper() else text
        return new

    def _fresh_agent(self, old: str, used: set[str]) -> str:
        found = _AGENT_DIGITS.fullmatch(old)
        assert found
        for attempt in range(_ATTEMPTS):
            new = old[: found.start(2)] + self._digits(old.encode(), len(found[2]), attempt)
            if new not in used and not _LIKE_A_NUMBER.fullmatch(new.encode()):
                used.add(new)
                return new
        raise UsageError(
            f"no free id for sub-agent {old} was found in {_ATTEMPTS:,} tries; another id for the clone gives others"
        )

    def _new_odd(self, own: OwnIds, old: str) -> str:
        return self._key.decode() if old == own.session_id else str(uuid.UUID(self._digits(old.encode(), 32), version=4))


def _is_member_of_the_line(block: bytes, start: int, end: int, line_start: int, line_end: int) -> bool:
    """Whether a value is surely a member of its line's own object: no other object or list begins before it, or ends after it."""
    if block.find(b"{", line_start + 1, start) < 0 and block.find(b"[", line_start, start) < 0:
        return True
    if block.find(b"{", end, line_end) >= 0 or block.find(b"[", end, line_end) >= 0 or block.find(b"]", end, line_end) >= 0:
        return False
    return block.find(b"}", end, line_end) == line_end - 1


def _makes_id(key: bytes, is_title: bool, is_progress: bool) -> bool:
    """Whether a UUID under a key is the family's own."""
    if is_progress:
        return key == b"uuid"
    return key not in _NOT_OWN and not (is_title and key == b"leafUuid")


def is_workflow(name: str) -> bool:
    """Whether a folder's name is that of a run of a workflow."""
    return _WORKFLOW_DIGITS.fullmatch(name) is not None


def _in_signed_thinking(block: bytes, places: list[Place]) -> set[int]:
    """Which ids stand in words that a signature vouches for."""
    found: set[int] = set()
    # Only ids inside of a longer text can.
    for start in [start for start, _, _ in places if block[start - 1] != _QUOTE or block[start - 2] == _BACKSLASH]:
        line_start, line_end = block.rfind(b"\n", 0, start) + 1, block.find(b"\n", start)
        line_end = len(block) if line_end < 0 else line_end
        if block.find(b'"thinking"', line_start, line_end) >= 0 and _SIGNATURE.search(block, line_start, line_end):
            spans = [thinking.span(1) for thinking in _THINKING.finditer(block, line_start, line_end)]
            if _is_inside(spans, start):
                found.add(start)
    return found


def _runs(block: bytes, run: bytes) -> Iterator[tuple[int, int]]:
    """Where digits stand in a row, at least as many as the run has."""
    marks = block.translate(_MARKS)
    start = marks.find(run)
    while start >= 0:
        end = marks.find(b" ", start)
        end = len(block) if end < 0 else end
        yield start, end
        start = marks.find(run, end)


def _begins_a_word(line: bytes, start: int, word: bytes) -> bool:
    """Whether what stands at a place is no part of another word; of digits alone, also no number."""
    if _LIKE_A_NUMBER.fullmatch(word):
        return line[:start].endswith(_BEFORE_DIGITS)
    return not start or line[start - 1] not in _WORD_BYTES


def _whole_words(words: Iterable[str]) -> re.Pattern[bytes]:
    return re.compile(b"(?:%b)%b" % (b"|".join(re.escape(word.encode()) for word in sorted(words)), _END_OF_WORD))


def _any_of(words: list[bytes]) -> re.Pattern[bytes]:
    return re.compile(b"|".join(re.escape(word) for word in words))


def _quoted(text: str) -> bytes:
    return msgspec.json.encode(text)


def _spans(line: bytes, envelope: _Envelope, names: Iterable[str]) -> list[tuple[int, int]]:
    """Where members begin and end in their line."""
    spans = []
    for name in names:
        raw = getattr(envelope, name)
        if raw is not _NOTHING:
            start = line.find(raw)
            spans.append((start, start + len(memoryview(raw))))
    return spans


def _names_an_id(line: bytes, start: int) -> bool:
    """Whether the value that begins at a place stands where an id would, alone or in a list: any word may be an odd id."""
    key = _key_before(line, start) or _key_before(line, line.rfind(b"[", 0, start) + 1)
    return key.lower().endswith((b"id", b"uuids"))


def _is_inside(spans: list[tuple[int, int]], place: int) -> bool:
    return any(start <= place < end for start, end in spans)


def _is_whole_value(line: bytes, start: int, end: int) -> bool:
    return line[start - 1 : start] == b'"' and line[end : end + 1] == b'"' and line[start - 2 : start - 1] != b"\\"


def _key_before(line: bytes, start: int) -> bytes:
    """The name of the member whose value begins at a place (behind its quote); empty for an item of a list."""
    head = line[max(0, start - 80) : start - 1].rstrip()
    if not head.endswith(b":"):
        return b""
    head = head[:-1].rstrip()
    return head[head.rfind(b'"', 0, len(head) - 1) + 1 : -1]
