"""The viewer: a hundred readers and a live writer, then large sessions and homes, over HTTP and in Chromium.

claude-code-log and agentsview serve the same home: what each needs until the large session can be read, and its page.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from tests.web.browsing import BrowserMissing

from bench.bench_index import PATIENCE, peer_builds
from bench.figures import CORPUS, FIXTURES, Figure
from bench.viewer_pages import PageCost, browser, look_at, wait_until_idle

READERS = 100
SECONDS = float(os.environ.get("BENCH_WEB_SECONDS", "30"))
#: A reader looks at the page again when something was added, at most so often, in seconds.
_THINK = 1.0
_WRITES_PER_SECOND = 10
_LIVE = "aaaaaaaa-0000-4000-8000-000000000001"
_LARGE = "bbbbbbbb-0000-4000-8000-000000000001"
_LARGE_BYTES = 100_000_000
_MANY = 2000
_MEGABYTE = 1 << 20
_ROUNDS = 3


class Viewer(NamedTuple):
    process: subprocess.Popen[str]
    port: int
    token: str

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def memory(self) -> float:
        """Resident now, in MB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024


@contextmanager
def viewer(home: Path, world: Path) -> Iterator[Viewer]:
    environ = {**os.environ, "HOME": str(world), "XDG_DATA_HOME": str(world / "data"), "XDG_CACHE_HOME": str(world / "cache")}
    command = [sys.executable, "-m", "stenograph", "--home", str(home), "web", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ)
    try:
        assert process.stdout is not None
        started = json.loads(process.stdout.readline())
        yield Viewer(process, int(started["api"].rsplit(":", 1)[1].split("/")[0]), started["token"])
    finally:
        process.terminate()
        process.wait()


async def fetch(server: Viewer, target: str) -> tuple[int, int, float]:
    """Status, bytes of the body and seconds of one request."""
    begun = time.perf_counter()
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=64 * _MEGABYTE)
    try:
        writer.write(_request(server, target))
        head = await reader.readuntil(b"\r\n\r\n")
        body = await reader.read()
        return int(head.split(b" ", 2)[1]), len(body), time.perf_counter() - begun
    finally:
        writer.close()


def _request(server: Viewer, target: str) -> bytes:
    lines = [
        f"GET {target} HTTP/1.1",
        f"Host: 127.0.0.1:{server.port}",
        f"Authorization: Bearer {server.token}",
        "Connection: close",
    ]
    return "\r\n".join([*lines, "", ""]).encode()


def cpu_of(server: Viewer) -> float:
    """CPU seconds that the server has used."""
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Load(NamedTuple):
    seconds: list[float]
    errors: list[str]
    #: Updates that each reader was sent.
    updates: list[int]
    written: int
    memory: float


async def follow(server: Viewer, updates: list[int], number: int, until: float, ready: asyncio.Semaphore) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=64 * _MEGABYTE)
    writer.write(_request(server, f"/api/v1/sessions/{_LIVE}/events"))
    try:
        while (left := until - time.monotonic()) > 0:
            line = await asyncio.wait_for(reader.readline(), left)
            updates[number] += line.startswith(b"event: update")
            if line.startswith(b"event: ready"):
                ready.release()
            if not line:
                raise ConnectionError("the stream ended")
    except TimeoutError:
        pass
    finally:
        writer.close()


async def read(server: Viewer, number: int, seconds: list[float], errors: list[str], until: float) -> None:
    targets = ["/", f"/s/{_LIVE}", f"/s/{_LIVE}?turn=2", f"/api/v1/sessions/{_LIVE}/turns", "/api/v1/sessions?limit=20"]
    await asyncio.sleep(_THINK * number / READERS)
    while time.monotonic() < until:
        target = targets[number % len(targets)]
        try:
            status, size, took = await fetch(server, target)
            seconds.append(took)
            if status != 200 or not size:
                errors.append(f"{target}: {status}")
        except (OSError, asyncio.IncompleteReadError) as error:
            errors.append(f"{target}: {type(error).__name__}")
        number += 1
        await asyncio.sleep(_THINK)


async def write(path: Path, template: list[bytes], until: float) -> int:
    """Appends lines of a real session as a client does, each below the one before, at its time; returns how many."""
    count = 0
    last = _UUID.findall(path.read_bytes())[-1]
    with path.open("ab", buffering=0) as file:
        while time.monotonic() < until:
            line = renewed(template[count % len(template)], count // len(template), last)
            file.write(line)
            last = _UUID.findall(line)[0]
            count += 1
            await asyncio.sleep(1 / _WRITES_PER_SECOND)
    return count


def renewed(line: bytes, lap: int, parent: bytes) -> bytes:
    """A line with ids of its own lap, its parent and the time."""
    line = re.sub(rb'"(uuid)":"', rb'"\1":"%x-' % (lap + 1), line, count=1)
    line = re.sub(rb'"(msg_|toolu_|req_)', rb'"\g<1>%x' % (lap + 1), line)
    line = re.sub(rb'"parentUuid":(?:null|"[^"]*")', b'"parentUuid":"%s"' % parent, line, count=1)
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z").encode()
    return re.sub(rb'"timestamp":"[^"]*"', b'"timestamp":"%s"' % now, line)


async def load(server: Viewer, path: Path, template: list[bytes], seconds: float) -> Load:
    took: list[float] = []
    errors: list[str] = []
    updates = [0] * READERS
    ready = asyncio.Semaphore(0)
    until = time.monotonic() + seconds
    followers = [asyncio.create_task(follow(server, updates, number, until + 3, ready)) for number in range(READERS)]
    readers = [asyncio.create_task(read(server, number, took, errors, until)) for number in range(READERS)]
    for _ in range(READERS):
        await ready.acquire()
    written = await write(path, template, until)
    await asyncio.gather(*readers)
    for outcome in await asyncio.gather(*followers, return_exceptions=True):
        if isinstance(outcome, BaseException):
            errors.append(f"events: {type(outcome).__name__}")
    return Load(took, errors, updates, written, server.memory)


def live_session(home: Path) -> tuple[Path, list[bytes]]:
    """A real session in a home, and lines to append to it."""
    folder = CORPUS / "public" if CORPUS.is_dir() else FIXTURES
    sources = [path for path in sorted(folder.rglob("*.jsonl")) if not path.name.startswith("agent-")]
    source = max((path for path in sources if path.stat().st_size < _MEGABYTE), key=lambda path: path.stat().st_size)
    path = home / "projects" / "-home-user-live" / f"{_LIVE}.jsonl"
    path.parent.mkdir(parents=True)
    data = source.read_bytes()
    path.write_bytes(data if data.endswith(b"\n") else data + b"\n")
    return path, [line + b"\n" for line in data.splitlines() if b'"uuid":"' in line and len(line) < 20_000]


def many_sessions(home: Path) -> None:
    folder = CORPUS / "public" if CORPUS.is_dir() else FIXTURES
    sources = [path for path in sorted(folder.rglob("*.jsonl")) if 2000 < path.stat().st_size < 200_000]
    now = time.time()
    for number in range(_MANY):
        path = home / "projects" / f"-home-user-p{number % 40}" / f"{number:08x}-0000-4000-8000-000000000000.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(sources[number % len(sources)].read_bytes())
        os.utime(path, (now - 90_000 - number * 600,) * 2)


def measure() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        yield from _under_load(Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        yield from _large(Path(folder))


def _under_load(folder: Path) -> Iterator[Figure]:
    path, template = live_session(folder / "home")
    with viewer(folder / "home", folder) as server:
        asyncio.run(fetch(server, "/"))
        before, spent = server.memory, cpu_of(server)
        found = asyncio.run(load(server, path, template, SECONDS))
        spent = cpu_of(server) - spent
    ordered = sorted(found.seconds)
    middle, slow = ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.99)]
    note = f"[{len(ordered):,} requests, median {middle * 1e3:.0f} ms; {found.written} lines written; {spent:.1f} s of CPU]"
    yield Figure(f"{READERS} readers and a writer, errors", len(found.errors), "", 0, "at most", ", ".join(found.errors[:3]))
    yield Figure(f"{READERS} readers and a writer, p99", slow * 1e3, " ms", 2000, "at most", note)
    least = min(found.updates) / found.written
    yield Figure("lines that every reader was sent", least, "", 0.99, "at least")
    yield Figure("memory under load", found.memory, " MB", 300, "at most", f"[{before:.0f} MB before]")


def _large(folder: Path) -> Iterator[Figure]:
    home = folder / "home"
    many_sessions(home)
    large = home / "projects" / "-home-user-large" / f"{_LARGE}.jsonl"
    large.parent.mkdir(parents=True)
    write_long_session(large, _LARGE_BYTES)
    os.utime(large, (time.time() - 90_000,) * 2)
    with viewer(home, folder) as server:
        asyncio.run(fetch(server, "/search?q=warm"))
        wait_until_idle(lambda: cpu_of(server))
    # The index is warm now. The server reads the list ahead, as it does while a browser starts.
    with viewer(home, folder) as server:
        wait_until_idle(lambda: cpu_of(server))
        took, note, _ = _request_cost(server, "/")
        yield Figure(f"the list of {_MANY:,} sessions, first opened", took, " ms", 500, "at most", note)
        time.sleep(1)  # answers are shared between readers for a moment
        took, note, _ = _request_cost(server, "/")
        yield Figure("the list again", took, " ms", 500, "at most", note)
        took, note, size = _request_cost(server, f"/s/{_LARGE}")
        yield Figure("a session of 100 MB, first opened", took, " ms", 500, "at most", f"{note}, {server.memory:.0f} MB")
        yield Figure("its first page", size / 1000, " kB", 200, "at most")
        took, note, _ = _request_cost(server, f"/s/{_LARGE}?turn=300")
        yield Figure("another place in it", took, " ms", 500, "at most", note)
    yield from _in_a_browser(home, folder)
    yield from _beside_peers(home, folder)


def _request_cost(server: Viewer, target: str) -> tuple[float, str, int]:
    """Milliseconds until all of an answer is there, what of that the server computed, and the bytes of the body."""
    before = cpu_of(server)
    status, size, took = asyncio.run(fetch(server, target))
    assert status == 200, target
    return took * 1e3, f"[{(cpu_of(server) - before) * 1e3:.0f} ms of CPU, {size / 1000:.0f} kB]", size


def _beside_peers(home: Path, folder: Path) -> Iterator[Figure]:
    """From nothing to a page that can be read; claude-code-log writes pages, agentsview fills its database first."""
    user = folder / "user"
    user.mkdir()
    home.rename(user / ".claude")
    with tempfile.TemporaryDirectory() as nothing, viewer(user / ".claude", Path(nothing)) as server:
        begun = time.perf_counter()
        asyncio.run(fetch(server, f"/s/{_LARGE}"))
        ours, own_cpu = time.perf_counter() - begun, cpu_of(server)
    for name, cost, own in peer_builds(user, ("agentsview", "claude-code-log")):
        theirs = PATIENCE if cost is None else cost.wall
        note = "[stopped]" if cost is None else f"[{theirs:.1f} s, {cost.memory:.0f} MB; steno {ours:.1f} s without an index]"
        yield Figure(f"the large session from nothing, times as fast as {name}", theirs / ours, "", 1, "at least", note)
        if cost is not None:
            note = f"[{cost.cpu:.1f} s; steno {own_cpu:.1f} s, its start included]"
            yield Figure(f"CPU time that {name} needs for it, times that of steno", cost.cpu / own_cpu, "", 1, "at least", note)
        pages = sorted((own / ".claude" / "projects" / "-home-user-large").glob("*.html"), key=lambda path: path.stat().st_size)
        if pages:
            yield Figure(f"the page of {name}", pages[-1].stat().st_size / 1e6, " MB", 0, "at least", "(for comparison)")


def _in_a_browser(home: Path, folder: Path) -> Iterator[Figure]:
    """Each at its best of some rounds with a new server, which has been started as the browser has."""
    lists: list[PageCost] = []
    sessions: list[PageCost] = []
    try:
        with browser() as started:
            for _ in range(_ROUNDS):
                with viewer(home, folder) as server:
                    wait_until_idle(lambda: cpu_of(server))
                    link = f"{server.address}/?token={server.token}"
                    lists.append(look_at(started, f"{server.address}/", letting_in=link))
                    wait_until_idle(lambda: cpu_of(server))
                    sessions.append(look_at(started, f"{server.address}/s/{_LARGE}", letting_in=link))
    except BrowserMissing as missing:
        print(f"       not measured in a browser: {missing}", flush=True)
        return
    listed, large = (min(found, key=lambda cost: cost.first_content) for found in (lists, sessions))
    notes = [f"[first byte after {each.first_byte:.0f} ms]" for each in (listed, large)]
    yield Figure(f"{_MANY:,} sessions in Chromium, first content", listed.first_content, " ms", 500, "at most", notes[0])
    yield Figure("their elements", listed.nodes, "", 5000, "at most", f"[{listed.memory:.0f} MB]")
    yield Figure("100 MB in Chromium, first content", large.first_content, " ms", 500, "at most", notes[1])
    yield Figure("its elements, scrolled to the end", max(each.nodes for each in sessions), "", 5000, "at most")
    yield Figure("its tab, scrolled to the end", max(each.memory for each in sessions), " MB", 400, "at most")


_UUID = re.compile(rb'"uuid":"([^"]+)"')


def write_long_session(path: Path, size: int) -> None:
    """One conversation: public sessions one after the other, each below the last line of the one before."""
    folder = CORPUS / "public" if CORPUS.is_dir() else FIXTURES
    sources = [p.read_bytes() for p in sorted(folder.rglob("*.jsonl")) if not p.name.startswith("agent-")]
    whole = [
        source for source in sources if source.startswith(b"{") and source.endswith(b"\n") and b'"parentUuid":null' in source
    ]
    last = b""
    number = 0
    with path.open("wb") as file:
        while file.tell() < size:
            for source in whole:
                number += 1
                text = re.sub(rb'"(uuid|parentUuid)":"', rb'"\1":"%x-' % number, source)
                text = re.sub(rb'"(msg_|toolu_|req_)', rb'"\g<1>%x' % number, text)
                if last:
                    text = text.replace(b'"parentUuid":null', b'"parentUuid":"%s"' % last)
                file.write(text)
                found = _UUID.findall(text)
                last = found[-1] if found else last
                if file.tell() >= size:
                    break
