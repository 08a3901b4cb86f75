"""The ids of a family: which are its own, and every one of them replaced by a fresh one of the same form.

An id is a UUID that makes up a whole value outside of what was said, read or answered: of the session, of records, snapshots,
prompts, queued inputs and logged requests. Content keeps its bytes, except for what would lead back to the original
(docs/decisions/0015): paths into the session's own directory, and subagents whose files are beside the sessions. Not renewed:

    message.id, requestId, tool-use ids    the API's: they show that a clone's answers were paid for once
    hashes and digests                     they name contents
    leafUuid of a summary, forkedFrom      lines of another family
    subagents in the session's own directory
"""

from __future__ import annotations

import bisect
import hashlib
import itertools
import re
import struct
import uuid
from collections.abc import Iterable, Iterator

import msgspec

from stenograph.errors import UsageError
from stenograph.records import ABSENT, ZERO_UUID, LineMembers, peek_members

_HEX = rb"[0-9a-fA-F]"
# Begins with the first dash, which the regex engine finds fast. Quotes around it that are not escaped: a whole value.
_WHOLE_UUID = re.compile(rb'-(?<=[^\\]"%b{8}-)%b{4}-%b{4}-%b{4}-%b{12}(?=")' % ((_HEX,) * 5))
_HEAD, _LENGTH = 8, 36
#: Where the parent's id begins in a client's line.
_PARENT = len(b'{"parentUuid":"')
_BRACKET = re.compile(rb"[\[\]{}]")
_CLOSING = ord("}")
_UUID = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")
# Ids of other forms are known by the member that they are the value of.
_ID_MEMBER = re.compile(rb'(?:[iI][dD]|[uU]uid)" ?: ?("[^"\\]+")')

# Of an agent: 8 digits (2.0.36 to 2.0.55), 7 from `a` on (2.0.58 to 2.1.45), a name before them (`acompact-70d8e7`).
_AGENT_DIGITS = re.compile(r"(?:[a-z][a-z_]*-)?(a?)([0-9a-f]{6,})")
_WORD_BYTES = frozenset(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz")
# A number of JSON must not become another: an agent that looks like one is replaced only behind these.
_LIKE_A_NUMBER = re.compile(rb"[0-9]+(?:e[0-9]+)?")
_BEFORE_DIGITS = (b'"', b"agent-", b"agentId: ", b"/", b"<task-id>")
#: To find an id that no agent has: of 7 digits there are 16 million.
_ATTEMPTS = 1_000

# Text that a signature vouches for: the API refuses the block when it changes.
_THINKING = re.compile(rb'"thinking": ?"((?:[^"\\]++|\\.)*+)"')
_SIGNATURE = re.compile(rb'"signature": ?"[^"]')

#: Members that name things of the API, or hold words.
_NOT_OWN = frozenset(
    b"toolUseID parentToolUseID sourceToolUseID requestId requestID interruptedMessageId refusedMessageId"
    b" lastPrompt customTitle aiTitle agentName summary tag slug cwd gitBranch text content result".split()
)
#: What makes an id in a line that is not JSON.
_OWN_IN_DAMAGED_LINES = frozenset(b"uuid parentUuid logicalParentUuid sessionId promptId messageId leafUuid".split())
#: Parts of the session's directory that a clone has copies of.
_COPIED_NAMES = (b"tool-results", b"subagents")
_SEPARATORS = (b"/", b"\\")
_INTO_COPIED = re.compile(rb"(?:/|\\+)(?:%b)(?![\w.-])" % b"|".join(_COPIED_NAMES))

Span = tuple[int, int]


_SAID = ("message", "toolUseResult", "content", "rendered", "shape", "result", "forkedFrom")
_MEMBERS = {name: b'"%b":' % name.encode() for name in (*_SAID, "attachment", "data")}


class OwnIds:
    """The ids that a family made, gathered from its lines."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        #: In the order in which they were met.
        self.uuids: dict[bytes, None] = {}
        #: Of those subagents that need other names.
        self.agents: set[str] = set()
        #: Of a form that no client gives them.
        self.odd: set[str] = set()
        self._add(session_id)

    def add_agent(self, agent_id: str) -> None:
        (self.agents if _AGENT_DIGITS.fullmatch(agent_id) else self.odd).add(agent_id)

    def read(self, line: bytes) -> list[int]:
        """Gather the ids that a line makes. Returns where ids are, so that `renew` need not look for them again."""
        return self._decode(line, _find_uuids(line))

    def read_lines(self, lines: bytes) -> list[int]:
        """The same for each of many lines."""
        places: list[int] = []
        found = _find_uuids(lines)
        start = at = 0
        while start < len(lines):
            if (end := lines.find(b"\n", start)) < 0:
                end = len(lines)
            first, at = at, bisect.bisect_left(found, end, at)
            inside = found[first:at]
            sure = _sure_places(lines, start, end, inside)
            if sure is None:
                line_places = self._decode(lines[start:end], [place - start for place in inside])
                places += [place + start for place in line_places]
            else:
                places += sure
                for place in sure:
                    self.uuids[lines[place : place + _LENGTH]] = None
            start = end + 1
        return places

    def _decode(self, line: bytes, found: list[int]) -> list[int]:
        envelope = peek_members(line)
        places, references = _places(line, envelope, found)
        for place in places:
            self.uuids[line[place : place + _LENGTH]] = None
        if envelope is not None:
            for value in (envelope.uuid, envelope.parentUuid, envelope.sessionId):
                if value.__class__ is str and value.encode() not in self.uuids:
                    self._add(value)
        return sorted([*places, *references]) if references else places

    def _add(self, value: str) -> None:
        if _UUID.fullmatch(value):
            self.uuids[value.encode()] = None
        elif value:
            self.odd.add(value)

    def __len__(self) -> int:
        return len(self.uuids.keys() - {ZERO_UUID.encode()}) + len(self.agents) + len(self.odd)


class IdRenewal:
    """New ids for old ones. The same family and the same new session id give the same new ids."""

    def __init__(self, own: OwnIds, new_id: str, *, taken: Iterable[str] = (), projects: tuple[str, str] | None = None) -> None:
        """`taken`: agents that are where the new ones will be. `projects`: names of the old project directory and of the new one.

        Raises UsageError.
        """
        self._key = new_id.encode()
        #: Old -> new, as bytes.
        self.new: dict[bytes, bytes] = self._fresh_uuids([old for old in own.uuids if old != ZERO_UUID.encode()])
        self.new[own.session_id.encode()] = new_id.encode()
        used = {*own.agents, *taken}
        for agent in sorted(own.agents):
            self.new[agent.encode()] = self._fresh_agent(agent, used).encode()
        self._odd = {
            msgspec.json.encode(old): msgspec.json.encode(new_id if old == own.session_id else self._fresh_odd(old))
            for old in own.odd
        }
        words = b"|".join(re.escape(agent.encode()) for agent in sorted(own.agents))
        # Not a part of a longer word, nor the head of a UUID.
        self._agents = re.compile(b"(?:%b)(?![0-9A-Za-z_])(?!-[0-9a-f]{4}-)" % words) if words else None
        self._old_id = own.session_id.encode()
        self._projects = tuple(name.encode("utf-8", "surrogateescape") for name in projects) if projects else None

    @property
    def goes_by_lines(self) -> bool:
        """Whether lines have to be renewed one by one."""
        return bool(self._odd)

    def renew(self, line: bytes, starts: Iterable[int] | None = None) -> bytes:
        """A line, or another JSON object, with its ids renewed; `starts` is what `OwnIds.read` said of it.

        With `starts`, several lines at once, unless it `goes_by_lines`.
        """
        envelope = peek_members(line) if starts is None or self._odd else None
        if starts is None:
            starts = itertools.chain(*_places(line, envelope, _find_uuids(line)))
        get = self.new.get
        places = [(at, at + _LENGTH, new) for at in starts if (new := get(line[at : at + _LENGTH])) is not None]
        if self._odd and envelope is not None:
            said = _spans(line, envelope, (*_SAID, "attachment", "data"))
            for found in _ID_MEMBER.finditer(line):
                if (odd := self._odd.get(found[1])) is not None and not _is_inside(said, found.start(1)):
                    places.append((*found.span(1), odd))
        places += [place for place in self._references(line) if not _is_in_signed_thinking(line, place[0])]
        return _replaced(line, places)

    def renew_text(self, text: bytes) -> bytes:
        """Text that is not made of records: only what would lead back to the original."""
        return _replaced(text, self._references(text))

    def name(self, name: str) -> str:
        """The new id for an old one, or what it was."""
        old = name.encode("utf-8", "surrogateescape")
        new = self.new.get(old) or self._odd.get(msgspec.json.encode(name), b"").strip(b'"') or old
        return new.decode("utf-8", "surrogateescape")

    def _references(self, text: bytes) -> list[tuple[int, int, bytes]]:
        places: list[tuple[int, int, bytes]] = []
        if self._projects is not None:
            places += self._paths(text, *self._projects)
        if self._agents is not None:
            places += [
                (*found.span(), self.new[found[0]])
                for found in self._agents.finditer(text)
                if _begins_a_word(text, found.start(), found[0])
            ]
        return places

    def _paths(self, text: bytes, old_project: bytes, project: bytes) -> Iterator[tuple[int, int, bytes]]:
        """The project and the id in paths to what a clone has copies of."""
        for separator in _SEPARATORS:
            place = -1
            while (place := text.find(self._old_id + separator, place + 1)) >= 0:
                end = place + len(self._old_id)
                start = place - 1
                while text[start : start + 1] == text[start - 1 : start] == b"\\":
                    start -= 1
                between = text[start:place]
                start -= len(old_project)
                if (
                    start > 0
                    and between[:1] in _SEPARATORS
                    and text.startswith(old_project, start)
                    and text[start - 1 : start] in _SEPARATORS
                    and _INTO_COPIED.match(text, end)
                ):
                    yield start, end, project + between + self.new[self._old_id]

    def _digits(self, old: bytes, count: int, attempt: int = 0) -> str:
        salt = attempt.to_bytes(2, "big")
        return hashlib.blake2b(old, key=self._key, salt=salt).hexdigest()[:count]

    def _fresh_uuids(self, olds: list[bytes]) -> dict[bytes, bytes]:
        # From one stream of digits: hashing one by one would cost more than finding them.
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
        raise UsageError(f"no free id for subagent {old} after {_ATTEMPTS:,} attempts; use another id for the clone")

    def _fresh_odd(self, old: str) -> str:
        return str(uuid.UUID(self._digits(old.encode(), 32), version=4))


def _find_uuids(line: bytes) -> list[int]:
    """Where values begin that are a UUID and nothing else."""
    return [match.start() - _HEAD for match in _WHOLE_UUID.finditer(line)]


def _sure_places(text: bytes, start: int, end: int, found: list[int]) -> list[int] | None:
    """Those UUIDs of a client's line that are ids, where a look at its bytes is enough; None where it has to be decoded.

    What is before the first bracket, or behind the last but one, is a member of the line itself.
    """
    last = end - 1
    if not text.startswith(b'{"parentUuid":', start) or text[last] != _CLOSING:
        return None
    parent = start + _PARENT
    head = text.find(b"{", parent, end)
    if (bracket := text.find(b"[", parent, head if head >= 0 else last)) >= 0 or head < 0:
        head = bracket if bracket >= 0 else last
    is_mixed = has_uuid = has_session = False
    has_parent = text.startswith(b"null,", parent - 1)
    # This is most of what a clone costs, hence the comparisons before the call.
    for place in found:
        if text[place - 8 : place] == b'"uuid":"':
            has_uuid = True
        elif text[place - 13 : place] == b'"sessionId":"':
            has_session = True
        elif place == parent:
            has_parent = True
        elif _key_before(text, place) in _NOT_OWN:
            is_mixed = True
    # Otherwise an id may be of another form.
    if not (has_uuid and has_session and has_parent):
        return None
    if found[-1] > head:
        behind = found[bisect.bisect_right(found, head)]
        if _BRACKET.search(text, behind, last):
            return None
    return [place for place in found if _key_before(text, place) not in _NOT_OWN] if is_mixed else found


def _places(line: bytes, envelope: LineMembers | None, found: list[int]) -> tuple[list[int], list[int]]:
    """Of the UUIDs of a line, the ids that it makes, and those that it only names, which may be another family's."""
    if not found:
        return found, []
    if envelope is None:
        return [start for start in found if _key_before(line, start) in _OWN_IN_DAMAGED_LINES], []
    said = _spans(line, envelope, _SAID)
    progress = _spans(line, envelope, ("data",)) if envelope.data is not ABSENT else ()
    attached = _spans(line, envelope, ("attachment",)) if envelope.attachment is not ABSENT else ()
    places: list[int] = []
    references: list[int] = []
    for start in found:
        for first, last in said:
            if first <= start < last:
                break
        else:
            key = _key_before(line, start)
            if key in _NOT_OWN or (progress and key != b"uuid" and _is_inside(progress, start)):
                continue
            is_named = (attached and _is_inside(attached, start)) or (key == b"leafUuid" and envelope.type == "summary")
            (references if is_named else places).append(start)
    return places, references


def _spans(line: bytes, envelope: LineMembers, names: Iterable[str]) -> list[Span]:
    spans = []
    for name in names:
        raw = getattr(envelope, name)
        if raw is not ABSENT:
            value, member = bytes(raw), _MEMBERS[name]
            # To look for it behind its name is quicker than for many thousand bytes.
            start = line.find(member) + len(member)
            if not line.startswith(value, start):
                start = line.find(value)
            spans.append((start, start + len(value)))
    return spans


def _is_in_signed_thinking(text: bytes, place: int) -> bool:
    start, end = text.rfind(b"\n", 0, place) + 1, text.find(b"\n", place)
    line = text[start : end if end >= 0 else len(text)]
    if b'"thinking"' not in line or not _SIGNATURE.search(line):
        return False
    return _is_inside([thinking.span(1) for thinking in _THINKING.finditer(line)], place - start)


def _begins_a_word(text: bytes, start: int, word: bytes) -> bool:
    if _LIKE_A_NUMBER.fullmatch(word):
        return text[max(0, start - 16) : start].endswith(_BEFORE_DIGITS)
    return not start or text[start - 1] not in _WORD_BYTES


def _replaced(text: bytes, places: list[tuple[int, int, bytes]]) -> bytes:
    if not places:
        return text
    parts: list[bytes] = []
    done = 0
    for start, end, new in sorted(places):
        parts.append(text[done:start])
        parts.append(new)
        done = end
    parts.append(text[done:])
    return b"".join(parts)


def _is_inside(spans: Iterable[Span], place: int) -> bool:
    return any(start <= place < end for start, end in spans)


def _key_before(line: bytes, start: int) -> bytes:
    """The name of the member whose value begins at a place (behind its quote); empty for an item of a list."""
    end = start - 3
    if line[end : start - 1] != b'":':  # spaces around the colon, or no member
        head = line[max(0, start - 80) : start - 1].rstrip()
        if not head.endswith(b":"):
            return b""
        end = start - 1 - len(line[max(0, start - 80) : start - 1]) + len(head[:-1].rstrip()) - 1
    return line[line.rfind(b'"', 0, end) + 1 : end]
