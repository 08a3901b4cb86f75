"""Files that somebody made up to harm a list: each costs little, and none takes the others down."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.homes import LONG_AGO, assistant, session_id, turns, user, write_session

from stenograph.analysis import take_inventory
from stenograph.analysis.inventory import NAMES_KEPT, OTHERS
from stenograph.errors import AmbiguousSessionError, SessionNotFoundError, UnreadableError, UsageError
from stenograph.family import SessionFile
from stenograph.records import Record
from stenograph.sessions import describe, find_sessions, glance, list_sessions, resolve
from stenograph.sessions.find import moment_of
from stenograph.sessions.resolve import titles_of
from stenograph.testing.lines import text

# The package's `glance` and `resolve` are functions.
glancing = importlib.import_module("stenograph.sessions.glance")
resolving = importlib.import_module("stenograph.sessions.resolve")
inventories = importlib.import_module("stenograph.analysis.inventory")
ONE, TWO = session_id(1), session_id(2)
FAILURES = [ValueError, TypeError, OverflowError, RecursionError, MemoryError, UnicodeError, UsageError]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Two sessions; the newer one holds the word `poison`."""
    write_session(tmp_path, ONE, turns(6, "Fine"))
    write_session(tmp_path, TWO, turns(6, "poison"), modified=LONG_AGO + 1)
    return tmp_path


def poisoned(failure: type[Exception], work: Callable[[bytes], Record]) -> Callable[[bytes], Record]:
    def decode(line: bytes) -> Record:
        if b"poison" in line:
            raise failure("what the transcript says")
        return work(line)

    return decode


@pytest.mark.parametrize("failure", FAILURES)
def test_a_file_that_can_not_be_understood_is_a_finding_and_the_rest_is_listed(
    home: Path, monkeypatch: pytest.MonkeyPatch, failure: type[Exception]
) -> None:
    monkeypatch.setattr(glancing, "decode", poisoned(failure, glancing.decode))
    path = home / "projects" / "-home-user-work" / f"{TWO}.jsonl"
    listing = list_sessions([home])
    assert [info.id for info in listing.sessions] == [ONE]
    (finding,) = listing.findings
    assert (finding.code, finding.path) == ("unreadable", path)
    assert finding.detail == f"cannot parse {path} ({failure.__name__})"
    assert resolve("last", [home]).session_id == ONE
    assert resolve("fine", [home]).session_id == ONE
    assert [file.session_id for file, _ in titles_of(find_sessions([home]))] == [ONE]
    with pytest.raises(SessionNotFoundError, match="cannot parse"):
        resolve("no such title", [home])
    with pytest.raises(UnreadableError) as error:
        resolve(str(path), [])
    assert "transcript" not in str(error.value)
    assert error.value.__cause__ is None


def test_a_failure_of_the_program_is_not_taken_for_one_of_the_file(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(glancing, "decode", poisoned(AttributeError, glancing.decode))
    with pytest.raises(AttributeError):
        list_sessions([home])


@pytest.mark.parametrize("failure", FAILURES)
def test_a_file_that_can_not_be_understood_stops_no_inventory(
    home: Path, monkeypatch: pytest.MonkeyPatch, failure: type[Exception]
) -> None:
    read = inventories.read_records

    def poisonous(path: Path) -> Iterator[Any]:
        if b"poison" in path.read_bytes():
            raise failure("what the transcript says")
        return read(path)  # type: ignore[no-any-return]

    monkeypatch.setattr(inventories, "read_records", poisonous)
    taken = take_inventory([home])
    assert [file.session_id for file in taken.sessions] == [ONE]
    assert [failure.detail.rpartition(" ")[2] for failure in taken.failures] == [f"({failure.__name__})"]


@pytest.mark.parametrize(
    "line",
    [
        rb'{"type":"user","isSidechain":"\ud800"}',
        b'{"type":"user","message":{"role":"user","content":[{"type":"text","text":"a","n":' + b"7" * 5000 + b"}]}}",
        b'{"type":"user","isSidechain":' + b"[" * 5000 + b"]" * 5000 + b"}",
        b'{"type":"system","subtype":"\\ud800","content":' + b"7" * 5000 + b"}",
        b'{"type":"user","timestamp":' + b"7" * 5000 + b',"cwd":"\\ud800","message":{"role":"user","content":"\\udfff"}}',
        b'{"type":"custom-title","customTitle":"\\ud800"}',
    ],
)
def test_lines_that_trip_parsers_trip_no_list(home: Path, line: bytes) -> None:
    write_session(home, session_id(3), turns(6), tail=line + b"\n")
    assert len(list_sessions([home]).sessions) == 3
    assert len(take_inventory([home]).sessions) == 3
    assert resolve("fine", [home]).session_id == ONE


@pytest.mark.parametrize("timestamp", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_a_timestamp_beyond_all_dates_is_absent(tmp_path: Path, timestamp: str) -> None:
    write_session(tmp_path, ONE, [record | {"timestamp": timestamp} for record in turns(6)])
    assert list_sessions([tmp_path]).sessions[0].created is None


@pytest.mark.parametrize(
    ("nanoseconds", "expected"),
    [
        (505_876_752_000 * 10**9, "9999-12-31"),  # the year 18000, which a tmpfs or XFS holds
        (2**63 - 1, "2262-04-11"),
        (-(10**9), "1969-12-31"),
        (0, "1970-01-01"),
        (-(2**40) * 10**9, "0001-01-01"),
    ],
)
def test_every_time_of_change_is_a_date(nanoseconds: int, expected: str) -> None:
    assert moment_of(nanoseconds).date().isoformat() == expected


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "Pacific/Niue"])
@pytest.mark.parametrize("seconds", [505_876_752_000, 253_402_300_799, -62_135_596_800, -(2**40)])
def test_odd_times_of_change_are_listed_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: int, zone: str
) -> None:
    """As if the file system held them: most clamp."""
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        files = []
        for number in (0xAAAA0001, 0xAAAA0002):
            path = write_session(tmp_path, session_id(number), turns(6))
            files.append(SessionFile(session_id(number), path, path.stat().st_size, seconds * 10**9, named_by_uuid=True))
        read_ends = glancing.read_ends
        monkeypatch.setattr(glancing, "read_ends", lambda *given: _with_time(read_ends(*given), seconds * 10**9))
        assert describe(files[0]).modified == moment_of(seconds * 10**9)
        monkeypatch.setattr(resolving, "find_sessions", lambda _: files)
        with pytest.raises(AmbiguousSessionError, match="aaaa0001"):
            resolve("aaaa", [tmp_path])
    finally:
        monkeypatch.undo()
        time.tzset()


def _with_time(ends: Any, nanoseconds: int) -> Any:
    return msgspec.structs.replace(ends, mtime_ns=nanoseconds)


def seconds_of(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def test_tags_that_never_end_take_no_quadratic_time(tmp_path: Path) -> None:
    path = write_session(tmp_path, ONE, [user("<command-name>" * 40_000), assistant(text("a"))])
    assert seconds_of(lambda: glance(path)) < 1
    prompt = glance(path).first_prompt
    assert prompt is not None
    assert prompt.startswith("<command-name>")


def test_a_command_is_found_as_it_is_written(tmp_path: Path) -> None:
    """By hand: what the pattern <command-name>(.*?)</command-name> of the public SDK finds."""
    for content, expected in {
        "<command-name>/a</command-name><command-name>/b</command-name>": "/a",
        "</command-name> <command-name>/a</command-name>": "/a",
        "<command-name><command-name>/a</command-name>": "<command-name>/a",
        "x <command-name>/a</command-name> y": "/a",
        "<command-name>/a": "<command-name>/a",
    }.items():
        assert glance(write_session(tmp_path, ONE, [user(content)])).first_prompt == expected


@pytest.mark.proof
@pytest.mark.parametrize("filler", [b"\n", b" \n", b"x\n", b"xx\n"])
def test_very_many_short_lines_take_no_quadratic_time(tmp_path: Path, filler: bytes) -> None:
    path = write_session(tmp_path, ONE, turns(4), tail=filler * (500_000 // len(filler)))
    assert seconds_of(lambda: glance(path)) < 2
    seen = glance(path)
    assert (seen.steps, seen.first_prompt, seen.torn) == (8, "Do it", False)


def test_a_long_tail_of_other_lines_is_looked_through_for_the_last_step(tmp_path: Path) -> None:
    """Widened so far that it reaches into the head: nothing is seen twice."""
    others = [{"type": "queue-operation", "operation": "enqueue", "content": "c" * 200}] * 400
    seen = glance(write_session(tmp_path, ONE, [*turns(4), *others]))
    assert (seen.steps, seen.steps_exact, seen.records) == (8, True, 408)


_LIMITED = """
import re, sys, time
from pathlib import Path
from stenograph.sessions import glance, list_sessions, resolve
started = time.process_time()
(info,) = list_sessions([sys.argv[1]]).sessions
assert resolve("last", [sys.argv[1]]).session_id == info.id
# Not getrusage: on Linux that begins with the peak of the process that started this one.
peak = int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
print(info.steps, info.steps_exact, info.status.value, info.title, time.process_time() - started < 2, peak < 200_000, peak)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs files with holes, and the peak of memory as Linux tells it")
@pytest.mark.parametrize("after", [b"", b"\n", b"\n" + b'{"type":"tag","tag":"x"}\n'])
def test_a_line_of_gigabytes_is_not_read(tmp_path: Path, after: bytes) -> None:
    path = write_session(tmp_path, ONE, [*turns(3), user("And now?")])
    with path.open("rb+") as file:
        file.truncate(4 << 30)
        file.seek(0, os.SEEK_END)
        file.write(after)
    os.utime(path, (LONG_AGO, LONG_AGO))
    done = subprocess.run([sys.executable, "-c", _LIMITED, str(tmp_path)], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split()[:-1] == ["7", "False", "interrupted", "Do", "it", "True", "True"], done.stdout


def test_a_long_line_in_the_middle_ends_the_search_for_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(glancing, "_LONGEST_MIDDLE", 100_000)
    path = write_session(tmp_path, ONE, [*turns(2), user("z" * 300_000), *turns(40, "y" * 1000)])
    quick, thorough = glance(path), glance(path, whole=True)
    assert (quick.steps_exact, quick.whole, quick.first_prompt) == (False, False, "Do it")
    assert quick.steps < thorough.steps == 85


def test_a_whole_reading_holds_few_lines_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(glancing, "_BATCH_BYTES", 50_000)
    path = write_session(tmp_path, ONE, turns(100, "y" * 10_000))
    held: list[int] = []
    see = glancing._Sight.see_lines

    def watched(sight: Any, lines: Any) -> None:
        lines = list(lines)
        held.append(sum(map(len, lines)))
        see(sight, lines)

    monkeypatch.setattr(glancing._Sight, "see_lines", watched)
    assert glance(path, whole=True).steps == 200
    assert max(held) < 70_000


@pytest.mark.parametrize("make", [os.symlink, os.link])
def test_a_file_reached_through_links_is_listed_once(tmp_path: Path, make: Callable[[Path, Path], None]) -> None:
    path = write_session(tmp_path, ONE, turns(6), project="-b")
    write_session(tmp_path, TWO, turns(6), project="-a")
    make(path, path.parent.parent / "-a" / path.name)
    make(path, path.parent.parent / "-a" / f"{session_id(3)}.jsonl")
    (path.parent.parent / "-c").symlink_to("-b")
    listed = list_sessions([tmp_path]).sessions
    assert len(listed) == 2
    assert len(take_inventory([tmp_path]).sessions) == 2
    assert resolve("last", [tmp_path])
    assert resolve(ONE, [tmp_path]).path.samefile(path)
    # A link's own name is one by which clients would resume it.
    assert resolve(session_id(3), [tmp_path]).path.samefile(path)


def test_the_name_without_links_is_the_one_that_is_listed(tmp_path: Path) -> None:
    path = write_session(tmp_path, ONE, turns(6), project="-b")
    (tmp_path / "projects" / "-a").mkdir()
    (tmp_path / "projects" / "-a" / path.name).symlink_to(path)
    (info,) = list_sessions([tmp_path]).sessions
    assert info.path == path


def test_alike_sessions_are_not_taken_for_one(tmp_path: Path) -> None:
    for number in (1, 2):
        write_session(tmp_path, session_id(number), turns(6))
    assert len(list_sessions([tmp_path]).sessions) == 2


def test_names_made_up_on_every_line_do_not_fill_the_memory(tmp_path: Path) -> None:
    kinds = [{"type": f"kind-{number}"} for number in range(NAMES_KEPT + 50)]
    versions = [user("a", version=f"1.{number}") for number in range(NAMES_KEPT + 20)]
    for number in (1, 2):
        write_session(tmp_path, session_id(number), [*kinds, *versions, {"type": "k" * 500}])
    write_session(tmp_path, session_id(3), [{"type": f"other-{number}"} for number in range(30)])
    taken = take_inventory([tmp_path])
    counts = taken.sessions[0].counts
    # By hand: a thousand kinds and the others, among them `user`; as many releases and twenty others.
    assert (len(counts.kinds), counts.kinds[OTHERS]) == (NAMES_KEPT + 1, 50 + NAMES_KEPT + 20 + 1)
    assert (len(counts.releases), counts.releases[OTHERS]) == (NAMES_KEPT + 1, 20)
    totals = taken.session_totals
    assert (len(totals.kinds), totals.kinds[OTHERS]) == (NAMES_KEPT + 1, 2 * (50 + NAMES_KEPT + 20 + 1) + 30)
    assert sum(totals.types.values()) == totals.lines == 2 * (2 * NAMES_KEPT + 71) + 30


def test_what_a_transcript_says_is_not_in_a_repr(tmp_path: Path) -> None:
    secret = "SENTINEL-7f3a"
    records = [record | {"cwd": f"/{secret}", "gitBranch": secret} for record in turns(6, secret)]
    path = write_session(tmp_path, ONE, [*records, {"type": "tag", "tag": secret}])
    listing = list_sessions([tmp_path])
    for value in (glance(path), listing.sessions[0], listing):
        assert secret not in repr(value)
        assert ONE in repr(value)


@pytest.mark.parametrize("home", ["a\0b", "\0"])
def test_a_home_that_is_no_name_is_a_wrong_use(home: str) -> None:
    with pytest.raises(UsageError, match="not a valid path"):
        list_sessions([home])
