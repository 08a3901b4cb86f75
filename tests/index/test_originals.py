"""Which of two sessions with the same calls is the original: in forks that real clients recorded, and in clones."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.homes import session_id, user, write_session

from stenograph.analysis import UsageBy, UsageScope, usage_table
from stenograph.archive import Archive
from stenograph.index import call_rows, open_store, sync_usage
from stenograph.pricing import Tariff
from stenograph.surgery import apply_clone, plan_clone
from stenograph.testing import lines

FIXTURES = Path(__file__).parent.parent / "fixtures"
RECORDED = FIXTURES / "recorded"
#: Parent and fork, and how many calls each of them made: counted by hand in the files. The parent is the session that has the
#: earlier queue operation or request; 1.0 writes neither, but copies with new times.
FORKS = {
    "1.0.128": ("recorded/1.0.128", "3e55d138", "96e7bac1", 16, 2),
    "2.0.36": ("recorded/2.0.36", "952cbdbf", "d5c4bbd0", 16, 2),
    "2.0.42": ("recorded/2.0.42", "5a8e7460", "48497f4d", 16, 2),
    "2.0.50": ("recorded/2.0.50", "c6887dad", "a5fd7aed", 16, 2),
    "2.0.76": ("recorded/2.0.76", "c453328a", "44e51aa6", 16, 2),
    "2.1.29": ("recorded/2.1.29", "818cafd4", "e06b6599", 16, 2),
    "2.1.45": ("recorded/2.1.45", "ee7f783d", "d6a97a97", 16, 2),
    "2.1.112": ("recorded/2.1.112", "6345ecdb", "025c32f3", 16, 2),
    "2.1.200": ("recorded/2.1.200", "c195a928", "f4c5731f", 16, 2),
    "2.1.325": ("recorded/2.1.325", "7390a914", "13e5ec2e", 16, 2),
    "with agents": ("billed/agents", "9be93fdc", "0cd402a0", 4, 2),
    "of a compacted session": ("billed/compactions", "7693d80b", "e6f72695", 5, 2),
    "of a resumed session": ("billed/resumes", "9d920acf", "3998f25e", 6, 4),
}


@pytest.fixture(params=FORKS)
def pair(request: pytest.FixtureRequest) -> tuple[Path, Path, dict[str, int]]:
    folder, parent, fork, own, forked = FORKS[request.param]
    first, second = (next((FIXTURES / folder).rglob(f"{name}-*.jsonl")) for name in (parent, fork))
    return first, second, {parent: own, fork: forked}


def calls_by_session(path: Path | None, *homes: Path) -> dict[str, int]:
    store = open_store(path)
    sync_usage(store, homes)
    rows = usage_table(store, UsageScope(homes), Tariff(), by=UsageBy.SESSION).rows
    return {row.name[:8]: row.spent.calls for row in rows}


def project_in(home: Path) -> Path:
    folder = home / "projects" / "-p"
    folder.mkdir(parents=True)
    return folder


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_parent_of_a_fork_keeps_its_calls_in_whichever_order_the_files_arrive(
    pair: tuple[Path, Path, dict[str, int]], order: tuple[int, int], tmp_path: Path
) -> None:
    folder, index = project_in(tmp_path / "home"), tmp_path / "index.sqlite"
    for place in order:
        file = pair[:2][place]
        shutil.copyfile(file, folder / file.name)
        calls_by_session(index, tmp_path / "home")
    assert calls_by_session(index, tmp_path / "home") == pair[2]
    assert calls_by_session(None, tmp_path / "home") == pair[2]


@pytest.mark.parametrize("touched", [0, 1])
def test_the_parent_of_a_fork_keeps_its_calls_whichever_file_was_written_last(
    pair: tuple[Path, Path, dict[str, int]], touched: int, tmp_path: Path
) -> None:
    folder, index = project_in(tmp_path / "home"), tmp_path / "index.sqlite"
    for file in pair[:2]:
        shutil.copyfile(file, folder / file.name)
        os.utime(folder / file.name, (1_000_000_000, 1_000_000_000))
    calls_by_session(index, tmp_path / "home")
    last = pair[:2][touched]
    with (folder / last.name).open("ab") as written:
        written.write(b'{"type":"last-prompt","lastPrompt":"x","sessionId":"' + last.stem.encode() + b'"}\n')
    assert calls_by_session(index, tmp_path / "home") == pair[2]
    assert calls_by_session(None, tmp_path / "home") == pair[2]


def test_a_fork_in_another_home_leaves_the_calls_to_its_parent(pair: tuple[Path, Path, dict[str, int]], tmp_path: Path) -> None:
    homes = (tmp_path / "one", tmp_path / "two")
    for home, file in zip(homes, pair[:2], strict=True):
        shutil.copyfile(file, project_in(home) / file.name)
    assert calls_by_session(None, *homes) == pair[2]
    assert calls_by_session(None, *reversed(homes)) == pair[2]


@pytest.mark.parametrize("number", range(1, 9))
def test_a_clone_leaves_the_calls_to_the_original_whatever_its_name(number: int, tmp_path: Path) -> None:
    """A clone's lines are those of the original, times included: only that its ids are made from its own tells."""
    folder = project_in(tmp_path / "home")
    original = next((RECORDED / "2.1.325").rglob("7390a914-*.jsonl"))
    shutil.copyfile(original, folder / original.name)
    clone = plan_clone(folder / original.name, new_id=f"{number:x}1111111-2222-4333-8444-555555555555")
    apply_clone(clone, Archive(tmp_path / "archive"))
    os.utime(folder / original.name)
    assert calls_by_session(None, tmp_path / "home") == {"7390a914": 16}


def test_a_parent_takes_its_calls_back_once_it_writes_what_shows_that_they_are_its_own(tmp_path: Path) -> None:
    """The fork comes first by name, and is known before the parent's first line of its own."""
    home, index = tmp_path / "home", tmp_path / "index.sqlite"
    first = [_timed(user("Go"), 1), _timed(_answer("msg_1"), 2)]
    second, mode = _timed(_answer("msg_2"), 3), {"type": "mode", "mode": "normal"}
    write_session(home, session_id(2), first)
    write_session(home, session_id(1), [*first, second, mode])
    assert calls_by_session(index, home) == {session_id(1)[:8]: 2}
    write_session(home, session_id(2), [*first, mode, second])
    assert calls_by_session(index, home) == {session_id(2)[:8]: 2}


def test_a_parent_takes_its_calls_back_once_it_appends_what_shows_that_they_are_its_own(tmp_path: Path) -> None:
    """Of the appended lines alone one cannot tell when it was written: it has the time of the line before."""
    home, index = tmp_path / "home", tmp_path / "index.sqlite"
    first = [_timed(user("Go"), 1), _timed(_answer("msg_1"), 2)]
    parent = write_session(home, session_id(2), first)
    write_session(home, session_id(1), [*first, _timed(_answer("msg_2"), 4), {"type": "mode", "mode": "normal"}])
    assert calls_by_session(index, home) == {session_id(1)[:8]: 2}
    with parent.open("a") as file:
        file.write('{"type":"mode","mode":"normal"}\n')
    assert calls_by_session(index, home) == {session_id(1)[:8]: 1, session_id(2)[:8]: 1}


def test_of_a_session_without_lines_of_its_own_only_what_is_appended_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, index = tmp_path / "home", tmp_path / "index.sqlite"
    session = write_session(home, session_id(1), [_chained(_timed(user("Go"), 1)), _chained(_timed(_answer("msg_1"), 2))])
    assert calls_by_session(index, home) == {session_id(1)[:8]: 1}
    with session.open("a") as file:
        file.write(json.dumps(_chained(_timed(_answer("msg_2"), 3))) + "\n")
    monkeypatch.setattr(call_rows, "read_beginning", lambda *_: pytest.fail("it was read from its beginning"))
    assert calls_by_session(index, home) == {session_id(1)[:8]: 2}


def _answer(name: str) -> dict[str, Any]:
    return lines.assistant(None, name, [lines.text("Yes")], model="claude-opus-5-5", usage={"output_tokens": 9})


def _chained(line: dict[str, Any]) -> dict[str, Any]:
    return {"parentUuid": None, **line}


def _timed(line: dict[str, Any], second: int) -> dict[str, Any]:
    return {**line, "uuid": session_id(second), "timestamp": f"2026-11-15T10:00:0{second}.000Z"}


def test_counting_an_appended_line_loads_nothing_that_takes_long(tmp_path: Path) -> None:
    """`hashlib` loads OpenSSL; `turns` and `surgery` take longer to load than one line to read."""
    home = tmp_path / "home"
    write_session(home, session_id(1), [_timed(user("Go"), 1), _timed(_answer("msg_1"), 2)])
    code = (
        "import sys; from pathlib import Path; from stenograph.index import open_store, sync_usage;"
        f"sync_usage(open_store(None), [Path({str(home)!r})]); print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert "stenograph.index.call_rows" in loaded
    assert not {"hashlib", "_hashlib", "subprocess", "stenograph.turns", "stenograph.surgery"} & set(loaded)
