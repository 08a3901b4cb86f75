"""A session file -> its model calls, as its lines count them.

A call is all lines of one `message.id`. Of its lines the one with the most tokens counts: releases write growing counts, and
forks copy lines with their counts set to zero.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from stenograph.disk import read_slice, scan_line_blocks
from stenograph.index.beginnings import BeginningReader, OwnBeginning
from stenograph.index.call_flags import ABORTED, ADVISOR, COPY, CUT_OFF, FAST, FINISHED, SIDECHAIN, US
from stenograph.index.digests import blake2b
from stenograph.records import TokenCounts, UsageCounts, UsageLine, characters_written, moment, usage_lines
from stenograph.releases import writes_stop_reasons

#: Characters that a token of output stands for, where a release wrote no final count. In 450 finished calls of 1.0.17 to 2.0.55
#: in public sessions it is 2.9.
CHARACTERS_PER_TOKEN = 3

_NANO = 1_000_000_000
# What was just read is still in the processor's cache when it is searched.
BLOCK = 1 << 18
_HEAD = 256
_TAIL = 1024


class ModelCall(Struct, gc=False):
    """All lines of one call in one file."""

    offset: int
    time: int | None
    model: str
    tokens: TokenCounts
    thinking: int
    written: int
    tier: str
    branch: str
    agent_type: str
    release: str
    tools: list[str]
    flags: int

    @property
    def estimated(self) -> int:
        """Tokens of output that no line counts: the release wrote what the response began with."""
        if self.flags & (FINISHED | ABORTED | ADVISOR):
            return 0
        return max(0, self.written // CHARACTERS_PER_TOKEN - self.tokens.output)


class _Seen(Struct):
    """What was read of a file, beside its calls."""

    #: The last counts of each call: most lines repeat them.
    counts: dict[str, UsageCounts] = {}
    #: What each call wrote, where that is an estimate of its output.
    said: dict[str, set[int]] = {}
    #: Ids of tool calls.
    tools: set[str] = set()


class ScannedCalls(Struct):
    """What was read of a file."""

    #: By message id; those without one by their place.
    calls: dict[str, ModelCall]
    end: int
    #: The client's own total, in billionths of a dollar, by the last line to name one.
    total: int | None = None
    cwd: str | None = None
    #: Of the file up to `end`; None where that is to be read.
    fingerprint: bytes | None = None
    #: Of what was read; None where the file is a subagent's.
    beginning: OwnBeginning | None = None
    #: Whether that has a line that nobody copied from another session.
    has_own_line: bool = False


def scan_calls(path: Path, start: int, session: str, buffer: bytearray | None = None) -> ScannedCalls:
    """The calls of a file from a place on. `session` is the one that the file is named after; empty for a subagent's file.

    Whoever reads many files gives the same buffer each time.
    """
    calls: dict[str, ModelCall] = {}
    scanned = ScannedCalls(calls, start)
    seen = _Seen()
    head, tail, is_known = b"", bytearray(), False
    reader = BeginningReader(session) if session else None
    release, says_why_it_stopped = None, writes_stop_reasons("")
    for offset, size, block in scan_line_blocks(path, bytearray(BLOCK) if buffer is None else buffer, start):
        for line in usage_lines(block, offset, size):
            if line.type == "cost-state" and (total := line.client_total) is not None:
                scanned.total = round(total * _NANO)
                continue
            if scanned.cwd is None and line.cwd:
                scanned.cwd = line.cwd
            if line.version != release:  # next to never: a client writes the file
                release, says_why_it_stopped = line.version, writes_stop_reasons(line.version or "")
            _note(calls, seen, line, says_why_it_stopped, block, offset, path, session)
        if reader and not reader.is_done:
            reader.read(block, size)
        end = block.rfind(b"\n", 0, size) + 1
        scanned.end = offset + end
        head = head or bytes(block[: min(_HEAD, size)])
        tail = block[max(0, end - _TAIL) : end]
        is_known = not start and (end >= _TAIL or (end > 0 and not offset))
    if is_known:
        scanned.fingerprint = _digest(head[: scanned.end], tail)
    if reader:
        scanned.beginning, scanned.has_own_line = reader.found, reader.has_own_line
    return scanned


def calls_in(lines: Iterable[bytes], session: str = "") -> dict[str, ModelCall]:
    """The same of lines that are already read, all of one file."""
    calls: dict[str, ModelCall] = {}
    seen = _Seen()
    offset = 0
    for line in lines:
        for found in usage_lines(line, offset):
            if found.message is not None:
                _note(calls, seen, found, writes_stop_reasons(found.version or ""), line, offset, Path(), session)
        offset += len(line)
    return calls


def fingerprint(path: Path, offset: int) -> bytes:
    """A hash of the beginning of a file and of the last bytes before a place in it."""
    if not offset:
        return b""
    return _digest(read_slice(path, 0, min(_HEAD, offset)), read_slice(path, max(0, offset - _TAIL), offset))


def _digest(head: bytes, tail: bytes | bytearray) -> bytes:
    digest = blake2b(head, digest_size=16)
    digest.update(tail)
    return digest.digest()


def _note(
    calls: dict[str, ModelCall],
    seen: _Seen,
    line: UsageLine,
    says_why_it_stopped: bool,
    block: bytes | bytearray,
    offset: int,
    path: Path,
    session: str,
) -> None:
    """Add a line of a block to its call."""
    message = line.message
    assert message is not None
    usage = message.usage
    assert usage is not None
    key = message.id or f"{path}:{line.start}"
    written = 0
    if isinstance(message.stop_reason, str):
        flags = FINISHED
    elif says_why_it_stopped:
        flags = ABORTED
    else:
        flags = 0
        written = characters_written(block[line.start - offset : line.stop - offset], seen.said.setdefault(key, set()))
    if line.isAbortedMidStream:
        flags |= ABORTED | CUT_OFF
    if line.isSidechain:
        flags |= SIDECHAIN
    if (session and line.sessionId and line.sessionId != session) or line.is_copy:
        flags |= COPY
    known = calls.get(key)
    if known is not None:
        known.tools += line.tools(seen.tools)
        known.written += written
        settled = _settled(known.flags | flags)
        if settled != known.flags:
            known.flags = settled
            for advisor in _advisors(calls, key):
                advisor.flags = _settled(advisor.flags | flags)
        if seen.counts[key] == usage:
            return
        seen.counts[key] = usage
        tokens = usage.tokens()
        if tokens.total < known.tokens.total:
            return
        known.tokens = tokens
        known.flags &= ~(FAST | US)
        call = known
    else:
        seen.counts[key] = usage
        tokens = usage.tokens()
        call = calls[key] = ModelCall(
            line.start, _seconds(line.timestamp), "", tokens, 0, written, "", line.gitBranch or "", line.attributionAgent or "",
            line.version or "", line.tools(seen.tools), flags,
        )  # fmt: skip
    call.model = line.requestedModel or message.model or ""
    call.tier = usage.service_tier or ""
    call.flags |= (FAST if usage.speed == "fast" else 0) | (US if usage.inference_geo == "us" else 0)
    if usage.output_tokens_details:
        call.thinking = usage.output_tokens_details.thinking_tokens or 0
    for place, (model, counts) in enumerate(usage.advisors()):
        calls[_advisor_key(key, place)] = ModelCall(
            call.offset, call.time, model, counts, 0, 0, "", call.branch, call.agent_type, call.release, [],
            (call.flags & ~FAST) | ADVISOR,
        )  # fmt: skip


def _advisor_key(key: str, place: int) -> str:
    return f"{key}/advisor {place}"


def _advisors(calls: Mapping[str, ModelCall], key: str) -> Iterator[ModelCall]:
    """Those that a call asked so far."""
    for place in itertools.count():
        advisor = calls.get(_advisor_key(key, place))
        if advisor is None:
            return
        yield advisor


def _settled(flags: int) -> int:
    """Of all lines of a call: 2.1.114 wrote why a subagent's response stopped only on the last one."""
    return flags & ~ABORTED if flags & FINISHED and not flags & CUT_OFF else flags


def merged(first: ModelCall, second: ModelCall) -> ModelCall:
    """Two parts of one call: the earlier one's place, and the tokens of the greater."""
    most = second if second.tokens.total >= first.tokens.total else first
    return ModelCall(
        offset=first.offset,
        time=second.time if first.time is None else first.time,
        model=most.model,
        tokens=most.tokens,
        thinking=max(first.thinking, second.thinking),
        written=first.written + second.written,
        tier=most.tier,
        branch=first.branch,
        agent_type=first.agent_type or second.agent_type,
        release=most.release,
        tools=first.tools + second.tools,
        flags=_settled(first.flags | second.flags) & ~(FAST | US) | most.flags & (FAST | US),
    )


def call_key(name: str) -> int:
    """The key of a call in the store, from its `message.id`."""
    return int.from_bytes(blake2b(name.encode(errors="surrogatepass"), digest_size=8).digest(), "big", signed=True)


def _seconds(text: str | None) -> int | None:
    at = moment(text)
    return None if at is None else int(at.timestamp())
