"""Following a live session: what a writer does to its file, step by step, and that each thing is told once."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.homes import PROJECT, assistant, session_id, user, write_session

from stenograph.family import ProjectListing, list_project
from stenograph.records import AssistantRecord, UserRecord, text_of
from stenograph.sessions.follow import Follower, Update
from stenograph.testing.lines import text

RECORDED = Path(__file__).parent.parent / "fixtures" / "recorded"


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record).encode() + b"\n"


def _append(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(data)


def _said(updates: list[Update]) -> list[str]:
    """What was told: texts of records, and the other things by their kind."""
    return [
        text_of(update.record.content) if isinstance(update.record, UserRecord | AssistantRecord) else update.kind
        for update in updates
    ]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    records = [
        user("One", uuid="1", parentUuid=None),
        assistant(text("A1"), uuid="2", parentUuid="1"),
        user("Two", uuid="3", parentUuid="2"),
        assistant(text("A2"), uuid="4", parentUuid="3"),
    ]
    return write_session(tmp_path, session_id(1), records)


def test_it_begins_with_the_last_turns(path: Path) -> None:
    assert _said(Follower(path).start(1)) == ["Two", "A2"]
    assert _said(Follower(path).start(2)) == ["One", "A1", "Two", "A2"]
    assert _said(Follower(path).start(9)) == ["One", "A1", "Two", "A2"]
    assert _said(Follower(path).start(0)) == []


def test_a_pipe_in_the_place_of_the_file_is_not_waited_for(path: Path) -> None:
    follower = Follower(path)
    follower.start(1)
    path.unlink()
    os.mkfifo(path)
    assert _said(follower.poll()) == ["gone"]
    assert follower.poll() == []


@pytest.mark.parametrize("turns", [0, 1])
def test_what_is_added_is_told_once(path: Path, turns: int) -> None:
    follower = Follower(path)
    follower.start(turns)
    assert follower.poll() == []
    _append(path, _line(user("Three", uuid="5", parentUuid="4")))
    assert _said(follower.poll()) == ["Three"]
    assert follower.poll() == []


def test_half_a_line_waits_for_its_other_half(path: Path) -> None:
    follower = Follower(path)
    follower.start(0)
    line = _line(user("Thrée", uuid="5", parentUuid="4"))
    for place in range(0, len(line) - 2, 7):
        _append(path, line[place : place + 7])
        if place + 7 < len(line) - 1:
            assert follower.poll() == []
    _append(path, line[(len(line) - 3) // 7 * 7 + 7 :])
    assert _said(follower.poll()) == ["Thrée"]
    assert follower.poll() == []


def test_a_whole_record_without_a_line_end_is_told_and_the_line_end_later_is_not(path: Path) -> None:
    follower = Follower(path)
    follower.start(0)
    line = _line(user("Three", uuid="5", parentUuid="4"))
    _append(path, line[:-1])
    assert _said(follower.poll()) == ["Three"]
    _append(path, b"\n" + _line(user("Four", uuid="6", parentUuid="5")))
    assert _said(follower.poll()) == ["Four"]


def test_a_damaged_line_is_told_and_passed(path: Path) -> None:
    follower = Follower(path)
    follower.start(0)
    _append(path, b'{"type": "user", "mess\n\n' + _line(user("Three", uuid="5", parentUuid="4")))
    assert _said(follower.poll()) == ["damaged", "Three"]


def test_a_cut_file_is_said_and_nothing_told_twice(path: Path) -> None:
    follower = Follower(path)
    follower.start(1)
    lines = path.read_bytes().splitlines(keepends=True)
    with path.open("r+b") as file:
        file.truncate(sum(map(len, lines[:2])))
    assert _said(follower.poll()) == ["cut"]
    _append(path, _line(user("Instead", uuid="7", parentUuid="2")))
    assert _said(follower.poll()) == ["Instead"]


def test_a_file_rewritten_longer_than_it_was_is_noticed(path: Path) -> None:
    follower = Follower(path)
    follower.start(0)
    old = path.read_bytes()
    path.write_bytes(_line(user("Longer " * 200, uuid="8", parentUuid=None)) + old)
    assert _said(follower.poll()) == ["cut", "Longer " * 200]


def test_a_file_put_in_its_place_is_noticed(path: Path) -> None:
    follower = Follower(path)
    follower.start(0)
    other = path.with_name("new")
    other.write_bytes(path.read_bytes() + _line(user("Three", uuid="5", parentUuid="4")))
    other.rename(path)
    assert _said(follower.poll())[-1] == "Three"
    path.unlink()
    assert _said(follower.poll()) == ["gone"]
    assert follower.poll() == []


def test_sub_agents_are_followed_in_every_layout(path: Path) -> None:
    follower = Follower(path)
    follower.start(0)
    beside = path.with_name("agent-abc1234.jsonl")
    nested = path.with_suffix("") / "subagents" / "agent-a1b2c3.jsonl"
    stranger = path.with_name("agent-def5678.jsonl")
    record = user("Look", uuid="x1", parentUuid=None, isSidechain=True)
    _append(beside, _line({**record, "sessionId": session_id(1)}))
    _append(nested, _line({**record, "uuid": "x2", "sessionId": session_id(1)}))
    _append(stranger, _line({**record, "uuid": "x3", "sessionId": session_id(2)}))
    updates = follower.poll()
    told = {(update.kind, update.agent_id) for update in updates}
    assert told == {("agent", "abc1234"), ("record", "abc1234"), ("agent", "a1b2c3"), ("record", "a1b2c3")}
    _append(nested, _line({**record, "uuid": "x4", "sessionId": session_id(1)}))
    assert [(update.kind, update.agent_id) for update in follower.poll()] == [("record", "a1b2c3")]


def test_a_compaction_goes_on_in_the_same_file(path: Path) -> None:
    follower = Follower(path)
    follower.start(0)
    boundary = {"type": "system", "subtype": "compact_boundary", "uuid": "5", "parentUuid": None, "logicalParentUuid": "4"}
    _append(path, _line(boundary) + _line(user("Summary", uuid="6", parentUuid="5", isCompactSummary=True)))
    updates = follower.poll()
    assert [update.record.kind for update in updates if update.record] == ["system/compact_boundary", "user"]


@pytest.mark.parametrize(("release", "folder"), [("2.0.76", "2-0-76"), ("2.1.45", "2-1-45"), ("2.1.325", "2-1-325")])
def test_clear_leads_to_the_new_file(release: str, folder: str, tmp_path: Path) -> None:
    """The recorded `clear`, written anew line by line: the second file comes while the first is followed."""
    recorded = RECORDED / release / "interactive" / f"-home-user-proj-i-{folder}"
    second = next(each for each in recorded.glob("*.jsonl") if b"<command-name>/clear" in each.read_bytes())
    first = next(each for each in recorded.glob("*.jsonl") if b"Before clear" in each.read_bytes())
    project = tmp_path / "projects" / PROJECT
    project.mkdir(parents=True)
    shutil.copy(first, project)
    follower = Follower(project / first.name)
    follower.start(1)
    # Another window in the same folder is nobody's successor.
    _append(project / f"{session_id(9)}.jsonl", _line(user("Elsewhere", uuid="e1", parentUuid=None)))
    told: list[Update] = []
    for line in second.read_bytes().splitlines(keepends=True):
        _append(project / second.name, line)
        told += follower.poll()
    assert follower.path == project / second.name
    kinds = [update.kind for update in told]
    assert kinds.count("cleared") == 1
    assert any("After clear" in words for words in _said(told))
    assert "Elsewhere" not in _said(told)
    uuids = [update.record.uuid for update in told if isinstance(update.record, UserRecord | AssistantRecord)]
    assert len(uuids) == len(set(uuids))


CLEAR = "<command-name>/clear</command-name>\n<command-message>clear</command-message>"


def _at(minute: int, record: dict[str, Any]) -> dict[str, Any]:
    return {**record, "timestamp": f"2026-01-01T00:{minute:02}:00Z"}


def test_another_clients_clear_does_not_take_the_follower_away(path: Path) -> None:
    follower = Follower(path)
    follower.start(0)
    other = path.with_name(f"{session_id(7)}.jsonl")
    _append(other, _line(_at(1, user(CLEAR, uuid="c1", parentUuid=None))))
    assert _said(follower.poll()) == ["cleared", CLEAR]
    # A line that says nothing is no reason to come back; an answer is.
    _append(path, _line({"type": "permission-mode", "permissionMode": "auto"}))
    assert follower.poll() == []
    _append(path, _line(_at(2, assistant(text("Still here"), uuid="5", parentUuid="4"))))
    _append(other, _line(_at(2, user("Not ours", uuid="c2", parentUuid="c1"))))
    told = follower.poll()
    assert [update.kind for update in told] == ["returned", "record", "record"]
    assert _said(told)[-1] == "Still here"
    assert follower.path == path
    _append(other, _line(_at(3, user("Not ours either", uuid="c3", parentUuid="c2"))))
    assert follower.poll() == []
    _append(path, _line(_at(4, user("Go on", uuid="6", parentUuid="5"))))
    assert _said(follower.poll()) == ["Go on"]
    # Its own /clear is followed later all the same.
    _append(path.with_name(f"{session_id(8)}.jsonl"), _line(_at(5, user(CLEAR, uuid="d1", parentUuid=None))))
    assert _said(follower.poll()) == ["cleared", CLEAR]


def test_a_clear_before_the_last_words_is_another_clients(path: Path) -> None:
    follower = Follower(path)
    follower.start(0)
    _append(path, _line(_at(5, assistant(text("Later"), uuid="5", parentUuid="4"))))
    _append(path.with_name(f"{session_id(7)}.jsonl"), _line(_at(1, user(CLEAR, uuid="c1", parentUuid=None))))
    assert _said(follower.poll()) == ["Later"]
    assert follower.path == path


def test_folders_are_listed_only_when_they_changed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from stenograph.sessions import follow

    listed: list[Path] = []

    def list_and_note(folder: Path) -> ProjectListing:
        listed.append(folder)
        return list_project(folder)

    monkeypatch.setattr(follow, "list_project", list_and_note)
    os.utime(path.parent, (1_700_000_000, 1_700_000_000))
    follower = Follower(path)
    follower.start(0)
    listed.clear()
    for _ in range(5):
        _append(path, _line(user("More")))
        assert _said(follower.poll()) == ["More"]
    assert listed == []
    nested = path.with_suffix("") / "subagents" / "agent-a1b2c3.jsonl"
    _append(nested, _line(user("Look", uuid="x1", parentUuid=None, isSidechain=True)))
    assert [update.kind for update in follower.poll()] == ["agent", "record"]
    for folder in (path.parent, path.with_suffix(""), nested.parent):
        os.utime(folder, (1_700_000_001, 1_700_000_001))
    follower.poll()
    listed.clear()
    assert follower.poll() == []
    assert listed == []
    # A second agent changes only the innermost folder.
    _append(nested.with_name("agent-d4e5f6.jsonl"), _line(user("Look", uuid="x2", parentUuid=None, isSidechain=True)))
    assert [update.agent_id for update in follower.poll()] == ["d4e5f6", "d4e5f6"]


def test_a_file_that_says_too_little_is_looked_at_again_without_a_change_of_its_folder(path: Path) -> None:
    follower = Follower(path)
    follower.start(0)
    other = path.with_name(f"{session_id(7)}.jsonl")
    _append(other, _line({"type": "permission-mode", "permissionMode": "auto"}))
    os.utime(path.parent, (1_700_000_000, 1_700_000_000))
    assert follower.poll() == []
    assert follower.poll() == []
    _append(other, _line(user(CLEAR, uuid="c1", parentUuid=None)))
    assert "cleared" in [update.kind for update in follower.poll()]


def test_what_is_remembered_of_told_records_has_an_end() -> None:
    from stenograph.sessions.follow import _Seen

    seen = _Seen(3)
    assert [seen.add(uuid) for uuid in ("a", "b", "c", "a", "d")] == [True, True, True, False, True]
    assert list(seen) == ["c", "a", "d"]


def test_local_commands_are_no_turns_to_begin_with(tmp_path: Path) -> None:
    cost = "<command-name>/cost</command-name>\n<command-message>cost</command-message>"
    records = [
        user("One", uuid="1", parentUuid=None),
        assistant(text("A1"), uuid="2", parentUuid="1"),
        user("<command-name>/review</command-name>", uuid="3", parentUuid="2"),
        assistant(text("A2"), uuid="4", parentUuid="3"),
        user(cost, uuid="5", parentUuid="4"),
        user("<local-command-stdout>$1</local-command-stdout>", uuid="6", parentUuid="5"),
        user("<bash-input>ls</bash-input>", uuid="7", parentUuid="6"),
        user("<bash-stdout>a</bash-stdout>", uuid="8", parentUuid="7"),
    ]
    path = write_session(tmp_path, session_id(1), records)
    # The command that the model answered is the last turn; the two behind it are none.
    told = [update.record for update in Follower(path).start(1)]
    assert [record.uuid for record in told if isinstance(record, UserRecord | AssistantRecord)] == ["3", "4", "5", "6", "7", "8"]
    assert len(Follower(path).start(2)) == 8
