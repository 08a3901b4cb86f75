"""A session file -> its model calls, as its lines count them.

A call is all lines of one `message.id`. Of its lines the one with the most tokens counts: releases write growing counts, and
forks copy lines with their counts set to zero.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from stenograph.disk import read_line_blocks, read_slice
from stenograph.errors import UsageError
from stenograph.index.digests import blake2b
from stenograph.records import TokenCounts, UsageCounts, UsageLine, characters_written, last_total, moment, usage_lines
from stenograph.releases import first_with, release_numbers

# What `flags` of a row says.
FAST, US, ABORTED, FINISHED, SIDECHAIN, COPY, ADVISOR, AGENT = 1, 2, 4, 8, 16, 32, 64, 128
#: Characters that a token of output stands for, where a release wrote no final count. In 450 finished calls of 1.0.17 to 2.0.55
#: in public sessions it is 2.9.
CHARACTERS_PER_TOKEN = 3

_NANO = 1_000_000_000
# What was just read is still in the processor's cache when it is searched.
_BLOCK = 1 << 19
_HEAD = 256
_TAIL = 1024
_SAYS_WHY_IT_STOPPED = release_numbers(first_with("writes_stop_reasons"))
_WRITES_TOTALS = release_numbers(first_with("writes_totals"))


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


def scan_calls(path: Path, start: int, session: str) -> ScannedCalls:
    """The calls of a file from a place on. `session` is the one that the file is named after; empty for a subagent's file."""
    calls: dict[str, ModelCall] = {}
    scanned = ScannedCalls(calls, start)
    seen: dict[str, UsageCounts] = {}
    said: dict[str, set[int]] = {}
    head = b""
    for offset, block in read_line_blocks(path, start, block_size=_BLOCK):
        may_have_totals = False
        for line in usage_lines(block, offset):
            if scanned.cwd is None and line.cwd:
                scanned.cwd = line.cwd
            traits = _traits(line.version or "")
            may_have_totals = may_have_totals or traits.writes_totals
            _note(calls, seen, said, line, traits, block, offset, path, session)
        if (may_have_totals or not calls) and (total := last_total(block)) is not None:
            scanned.total = round(total * _NANO)
        end = block.rfind(b"\n") + 1
        scanned.end = offset + end
        head = head or block[:_HEAD]
        is_known = not start and (end >= _TAIL or (end and not offset))
        scanned.fingerprint = _digest(head[: scanned.end], block[max(0, end - _TAIL) : end]) if is_known else None
    return scanned


def calls_in(lines: Iterable[bytes], session: str = "") -> dict[str, ModelCall]:
    """The same of lines that are already read, all of one file."""
    calls: dict[str, ModelCall] = {}
    seen: dict[str, UsageCounts] = {}
    said: dict[str, set[int]] = {}
    offset = 0
    for line in lines:
        for found in usage_lines(line, offset):
            _note(calls, seen, said, found, _traits(found.version or ""), line, offset, Path(), session)
        offset += len(line)
    return calls


def fingerprint(path: Path, offset: int) -> bytes:
    """A hash of the beginning of a file and of the last bytes before a place in it."""
    if not offset:
        return b""
    return _digest(read_slice(path, 0, min(_HEAD, offset)), read_slice(path, max(0, offset - _TAIL), offset))


def _digest(head: bytes, tail: bytes) -> bytes:
    digest = blake2b(head, digest_size=16)
    digest.update(tail)
    return digest.digest()


def _note(
    calls: dict[str, ModelCall],
    seen: dict[str, UsageCounts],
    said: dict[str, set[int]],
    line: UsageLine,
    traits: _Traits,
    block: bytes,
    offset: int,
    path: Path,
    session: str,
) -> None:
    """Add a line of a block to its call. `seen` has the last counts of each call: most lines repeat them. `said` has what was
    written, where that is an estimate of the output."""
    message = line.message
    assert message is not None
    usage = message.usage
    assert usage is not None
    key = message.id or f"{path}:{line.start}"
    written = 0
    if message.stop_reason:
        flags = FINISHED
    elif traits.says_why_it_stopped:
        flags = ABORTED
    else:
        flags = 0
        written = characters_written(block[line.start - offset : line.stop - offset], said.setdefault(key, set()))
    if line.isAbortedMidStream:
        flags |= ABORTED
    if line.isSidechain:
        flags |= SIDECHAIN
    if (session and line.sessionId and line.sessionId != session) or line.is_copy:
        flags |= COPY
    known = calls.get(key)
    if known is not None:
        known.tools += line.tools()
        known.written += written
        known.flags |= flags
        if seen[key] == usage:
            return
        seen[key] = usage
        tokens = usage.tokens()
        if tokens.total < known.tokens.total:
            return
        known.tokens = tokens
        known.flags &= ~(FAST | US)
        call = known
    else:
        seen[key] = usage
        tokens = usage.tokens()
        call = calls[key] = ModelCall(
            line.start, _seconds(line.timestamp), "", tokens, 0, written, "", line.gitBranch or "", line.attributionAgent or "",
            line.version or "", line.tools(), flags,
        )  # fmt: skip
    call.model = line.requestedModel or message.model or ""
    call.tier = usage.service_tier or ""
    call.flags |= (FAST if usage.speed == "fast" else 0) | (US if usage.inference_geo == "us" else 0)
    if usage.output_tokens_details:
        call.thinking = usage.output_tokens_details.thinking_tokens or 0
    for place, (model, counts) in enumerate(usage.advisors()):
        calls[f"{key}/advisor {place}"] = ModelCall(
            call.offset, call.time, model, counts, 0, 0, "", call.branch, call.agent_type, call.release, [],
            (call.flags & ~FAST) | ADVISOR,
        )  # fmt: skip


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
        flags=(first.flags | second.flags) & ~(FAST | US) | most.flags & (FAST | US),
    )


def call_key(name: str) -> int:
    """The key of a call in the store, from its `message.id`."""
    return int.from_bytes(blake2b(name.encode(errors="surrogatepass"), digest_size=8).digest(), "big", signed=True)


class _Traits(NamedTuple):
    """What of a release matters here."""

    says_why_it_stopped: bool
    writes_totals: bool


@functools.lru_cache(maxsize=4096)
def _traits(release: str) -> _Traits:
    try:
        numbers = release_numbers(release)
    except UsageError:
        return _Traits(False, True)
    return _Traits(numbers >= _SAYS_WHY_IT_STOPPED, numbers >= _WRITES_TOTALS)


def _seconds(text: str | None) -> int | None:
    at = moment(text)
    return None if at is None else int(at.timestamp())
