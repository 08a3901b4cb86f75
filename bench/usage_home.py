"""A client's home whose usage is known: sessions of invented work, with everything that makes a count go wrong.

In: a folder, a seed and a size. Out: session files as clients of several releases write them, and the truth about them, kept
while they were written: each call once, whatever the files repeat. Nothing here comes from the code under test.
"""

from __future__ import annotations

import hashlib
import json
import random
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

#: Sizes of session files in bytes, by share, after a real profile of 3,142 files that ccusage's own bench uses.
QUANTILES = ((0.5, 105_000), (0.9, 654_000), (0.99, 5_400_000), (1.0, 18_000_000))
#: Release, whether it writes one line per block, and what its counts are worth.
RELEASES = (("2.1.325", "final"), ("2.1.325", "final"), ("2.1.200", "final"), ("2.0.55", "growing"), ("2.1.39", "placeholder"))
MODELS = ("claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-opus-4-5-20251101", "claude-sonnet-4-5-20250929")
TOOLS = ("Bash", "Read", "Edit", "Grep", "Glob")
PROJECTS = ("lantern-shop", "tidemark", "field-notes-blog", "orchard", "kiln")
WORDS = [
    f"{a}{b}"
    for a in ["ka", "lo", "mi", "re", "su", "to", "va", "ne", "pi", "dar"]
    for b in ["ben", "lin", "ro", "sta", "ve", "mur", "tok", "sa", "wen", "dil"]
]
#: Sizes of what tools print, in characters.
RESULTS = (200, 1500, 6000, 20_000)
BEGIN = datetime(2026, 8, 1, 6, tzinfo=UTC)


class Call(NamedTuple):
    """What one call used, as the API would bill it, but for `output` of a release that did not record it."""

    id: str
    session: str
    project: str
    model: str
    time: datetime
    release: str
    is_agent: bool
    tools: tuple[str, ...]
    input: int
    output: int
    cache_read: int
    cache_write_5m: int
    cache_write_1h: int
    web_searches: int
    is_fast: bool
    is_us: bool
    #: Tokens that the model really wrote, where the file has less.
    written: int
    is_aborted: bool = False


class Truth(NamedTuple):
    calls: list[Call]
    #: What was repeated in other files, by what repeated it.
    copies: dict[str, int]
    bytes: int


class _Home:
    def __init__(self, folder: Path, seed: int, results: tuple[int, ...]) -> None:
        self.results = results
        self.folder = folder
        self.random = random.Random(seed)
        self.calls: list[Call] = []
        self.copies: dict[str, int] = {}
        self.bytes = 0
        self.clock = BEGIN
        self._text = " ".join(self.random.choice(WORDS) for _ in range(200_000))

    def text(self, length: int) -> str:
        start = self.random.randrange(len(self._text) - length)
        return self._text[start : start + length]

    def name(self) -> str:
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def write(self, path: Path, lines: list[dict[str, Any]]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        data = b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)
        self.bytes += path.write_bytes(data)


class _Session:
    def __init__(self, home: _Home, project: str, release: str, counts: str, *, agent: str = "", session: str = "") -> None:
        self.home = home
        self.project = project
        self.release = release
        self.counts = counts
        self.agent = agent
        self.name = session or home.name()
        self.lines: list[dict[str, Any]] = []
        self.parent: str | None = None
        self.context = 12_000
        self.size = 0

    @property
    def folder(self) -> Path:
        return self.home.folder / "projects" / f"-home-user-{self.project}"

    @property
    def path(self) -> Path:
        return self.folder / f"{self.name}.jsonl"

    def add(self, kind: str, **members: Any) -> None:
        own = self.home.name()
        line = {
            "parentUuid": self.parent, "isSidechain": bool(self.agent), "userType": "external",
            "cwd": f"/home/user/{self.project}", "sessionId": self.name, "version": self.release, "gitBranch": "main",
            **({"agentId": self.agent} if self.agent else {}),
            "type": kind, **members, "uuid": own, "timestamp": stamp(self.home.clock),
        }  # fmt: skip
        self.lines.append(line)
        self.parent = own
        self.size += len(str(members)) + 400
        self.home.clock += timedelta(seconds=self.home.random.randrange(1, 20))

    def work(self, size: int) -> None:
        """Prompts and calls until the file is so long."""
        while self.size < size:
            self.add("user", message={"role": "user", "content": self.home.text(self.home.random.randrange(20, 400))})
            for _ in range(self.home.random.randrange(1, 12)):
                self.call()
            self.home.clock += timedelta(minutes=self.home.random.choice((1, 3, 10, 90)))

    def call(self) -> None:
        chance = self.home.random
        tools = tuple(chance.choice(TOOLS) for _ in range(chance.choice((0, 1, 1, 1, 2, 3))))
        texts = [self.home.text(chance.randrange(30, 600))]
        blocks: list[dict[str, Any]] = [{"type": "text", "text": texts[0]}]
        for tool in tools:
            blocks.append({
                "type": "tool_use", "id": f"toolu_{chance.getrandbits(96):024x}", "name": tool,
                "input": {"command": self.home.text(chance.randrange(20, 300))},
            })  # fmt: skip
        characters = len(texts[0]) + sum(len(json.dumps(block["input"], separators=(",", ":"))) for block in blocks[1:])
        written = max(1, characters // 3)
        fresh = chance.randrange(200, 4000)
        hour = self.counts == "final" and chance.random() < 0.3
        modern = self.release == "2.1.325"
        call = Call(
            id=f"msg_{chance.getrandbits(96):024x}",
            session=self.name,
            project=self.project,
            model=chance.choice(MODELS),
            time=self.home.clock,
            release=self.release,
            is_agent=bool(self.agent),
            tools=tools,
            input=chance.randrange(2, 40),
            output=2 if self.counts == "placeholder" else written,
            cache_read=self.context,
            cache_write_5m=0 if hour else fresh,
            cache_write_1h=fresh if hour else 0,
            web_searches=chance.choice((0, 0, 0, 0, 0, 0, 0, 2)) if modern else 0,
            is_fast=modern and chance.random() < 0.05,
            is_us=modern and chance.random() < 0.05,
            written=written,
            is_aborted=modern and chance.random() < 0.01,
        )
        self.context = min(180_000, self.context + fresh)
        self.home.calls.append(call)
        request = f"req_{chance.getrandbits(96):024x}"
        for place, block in enumerate(blocks):
            is_last = place == len(blocks) - 1
            self.add(
                "assistant",
                message={
                    "id": call.id, "type": "message", "role": "assistant", "model": call.model, "content": [block],
                    "stop_reason": self._stop_reason(call, is_last), "stop_sequence": None,
                    "usage": self._usage(call, is_last),
                },
                requestId=request,
                **({"requestedModel": call.model} if modern else {}),
            )  # fmt: skip
        for block in blocks[1:]:
            result = {"type": "tool_result", "tool_use_id": block["id"], "content": self.home.text(self._result_size())}
            self.add("user", message={"role": "user", "content": [result]}, toolUseResult={"stdout": result["content"]})

    def _stop_reason(self, call: Call, is_last: bool) -> str | None:
        if call.is_aborted or self.counts == "placeholder" or (self.counts == "growing" and not is_last):
            return None
        return "tool_use" if call.tools else "end_turn"

    def _usage(self, call: Call, is_last: bool) -> dict[str, Any]:
        usage: dict[str, Any] = {
            "input_tokens": call.input,
            "cache_creation_input_tokens": call.cache_write_5m + call.cache_write_1h,
            "cache_read_input_tokens": call.cache_read,
            "output_tokens": 1 if self.counts == "growing" and not is_last else call.output,
            "service_tier": "standard",
        }
        if self.counts != "growing":
            usage["cache_creation"] = {
                "ephemeral_5m_input_tokens": call.cache_write_5m, "ephemeral_1h_input_tokens": call.cache_write_1h,
            }  # fmt: skip
        if self.release == "2.1.325":
            usage |= {
                "server_tool_use": {"web_search_requests": call.web_searches, "web_fetch_requests": 0},
                "inference_geo": "us" if call.is_us else "", "iterations": [], "speed": "fast" if call.is_fast else "standard",
            }  # fmt: skip
        return usage

    def _result_size(self) -> int:
        return self.home.random.choice(self.home.results)


def make_home(
    folder: Path, *, seed: int = 7, size: int = 4_000_000, largest: int | None = None, results: tuple[int, ...] = RESULTS
) -> Truth:
    """Write sessions of about `size` bytes together, none with much more than `largest`; `results` are sizes of tools' output."""
    home = _Home(folder, seed, results)
    for number, wanted in enumerate(_sizes(home.random), 1):
        if home.bytes >= size:
            break
        release, counts = RELEASES[number % len(RELEASES)]
        project = home.random.choice(PROJECTS)
        home.clock = BEGIN + timedelta(minutes=home.random.randrange(100 * 24 * 60))
        session = _Session(home, project, release, counts)
        session.work(min(wanted, largest or wanted))
        home.write(session.path, session.lines)
        if number % 2 == 0:
            _add_agents(home, session, min(wanted, largest or wanted) // 3)
        if number % 6 == 0:
            _fork(home, session)
        if number % 11 == 0:
            _replay(home, session)
        if number % 13 == 0:
            _clone(home, session)
    return Truth(home.calls, home.copies, home.bytes)


def write_long_session(path: Path, size: int, *, seed: int = 7) -> None:
    """One session of about `size` bytes, a single chain of turns; never more than a few megabytes of it in memory."""
    home = _Home(path.parent, seed, RESULTS)
    session = _Session(home, PROJECTS[0], *RELEASES[0], session=path.stem)
    with path.open("wb") as file:
        while file.tell() < size:
            session.size = 0
            session.work(_PIECE)
            file.writelines(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in session.lines)
            session.lines.clear()
            home.calls.clear()


_PIECE = 4_000_000


def _sizes(chance: random.Random) -> Iterator[int]:
    while True:
        place = chance.random()
        below, least = 0.0, 5_000
        for share, most in QUANTILES:
            if place <= share:
                yield int(least + (most - least) * (place - below) / (share - below))
                break
            below, least = share, most


def _add_agents(home: _Home, session: _Session, size: int) -> None:
    for _ in range(home.random.randrange(1, 4)):
        agent = f"a{home.random.getrandbits(64):016x}"
        run = _Session(home, session.project, session.release, session.counts, agent=agent, session=session.name)
        run.work(max(4_000, size // 2))
        folder = session.folder / session.name / "subagents"
        home.write(folder / f"agent-{agent}.jsonl", run.lines)
        (folder / f"agent-{agent}.meta.json").write_text(json.dumps({"agentType": home.random.choice(("Explore", "Plan"))}))


def _copy(home: _Home, session: _Session, how: str, **members: Any) -> tuple[_Session, list[dict[str, Any]]]:
    copy = _Session(home, session.project, session.release, session.counts)
    lines = [{**line, **members, "sessionId": members.get("sessionId", copy.name)} for line in session.lines]
    copied = {line["message"]["id"] for line in lines if line["type"] == "assistant"}
    home.copies[how] = home.copies.get(how, 0) + len(copied)
    return copy, lines


def _fork(home: _Home, session: _Session) -> None:
    """As `--fork-session` does: the history under a new id, then more; copied counts are zero after a compaction."""
    copy, lines = _copy(home, session, "fork", forkedFrom={"sessionId": session.name, "messageUuid": home.name()})
    if home.random.random() < 0.5:
        lines = [_zeroed(line) if line["type"] == "assistant" else line for line in lines]
    copy.lines = lines
    copy.parent = lines[-1]["uuid"]
    home.clock += timedelta(hours=3)
    copy.work(15_000)
    home.write(copy.path, copy.lines)


def _zeroed(line: dict[str, Any]) -> dict[str, Any]:
    usage = line["message"]["usage"]
    nothing = {name: 0 if isinstance(value, int) else value for name, value in usage.items()} | {"cache_creation": None}
    return {**line, "message": {**line["message"], "usage": {**nothing, "server_tool_use": None}}}


def _replay(home: _Home, session: _Session) -> None:
    """As old releases resume: all lines once more in a new file, under the old id, then more."""
    copy, lines = _copy(home, session, "replay", sessionId=session.name)
    copy.lines = lines
    home.clock += timedelta(hours=2)
    copy.work(10_000)
    home.write(copy.path, copy.lines)


def _clone(home: _Home, session: _Session) -> None:
    """As `steno clone` does: the same lines, with ids that are made from the clone's own."""
    copy, lines = _copy(home, session, "clone")
    digits = hashlib.shake_256(copy.name.encode()).hexdigest(16 * len(lines))
    home.write(copy.path, [{**line, "uuid": _uuid(digits[32 * place :])} for place, line in enumerate(lines)])


def _uuid(digits: str) -> str:
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-8{digits[17:20]}-{digits[20:32]}"


def stamp(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
