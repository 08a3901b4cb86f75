"""The public SDK as a second reader: its `list_sessions` and ours on every recorded session, differences named by rule."""

from __future__ import annotations

import json
import os
from datetime import datetime
from pathlib import Path

import claude_agent_sdk
import pytest
from tests.homes import LONG_AGO, recorded_home

from stenograph.records import SummaryRecord, read_records
from stenograph.sessions import SessionInfo, glance, list_sessions, title

#: Files that the SDK leaves out and we list (hidden by default), by why we hide them.
LEFT_OUT_BY_THE_SDK = {"empty": "the SDK reads nothing from a file of no bytes; the list counts it as hidden"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = recorded_home(tmp_path_factory.mktemp("recorded"))
    # Copies of one moment would leave the order to chance. Not the order of names.
    for number, path in enumerate(sorted(home.rglob("*.jsonl"), key=lambda path: path.stem[::-1])):
        os.utime(path, (LONG_AGO + number, LONG_AGO + number))
    return home


@pytest.fixture
def theirs(home: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, claude_agent_sdk.SDKSessionInfo]:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home))
    return {info.session_id: info for info in claude_agent_sdk.list_sessions()}


@pytest.fixture
def ours(home: Path) -> dict[str, SessionInfo]:
    return {info.id: info for info in list_sessions([home], everything=True).sessions}


def test_there_are_recorded_sessions_to_compare(ours: dict[str, SessionInfo]) -> None:
    assert len(ours) > 100


def test_both_list_the_same_sessions(ours: dict[str, SessionInfo], theirs: dict[str, claude_agent_sdk.SDKSessionInfo]) -> None:
    assert theirs.keys() - ours.keys() == set()
    assert {ours[identity].hidden for identity in ours.keys() - theirs.keys()} == LEFT_OUT_BY_THE_SDK.keys()


def test_both_say_the_same_of_each_session(
    ours: dict[str, SessionInfo], theirs: dict[str, claude_agent_sdk.SDKSessionInfo]
) -> None:
    for identity, their in theirs.items():
        our = ours[identity]
        assert our.first_prompt == their.first_prompt, identity
        assert our.custom_title == their.custom_title, identity
        assert our.branch == their.git_branch, identity
        assert our.cwd == their.cwd, identity
        assert our.tag == their.tag, identity
        assert our.size == their.file_size, identity
        assert int(our.modified.timestamp() * 1000) == their.last_modified, identity


def test_titles_differ_only_where_the_sdk_takes_a_summary_line(
    ours: dict[str, SessionInfo], theirs: dict[str, claude_agent_sdk.SDKSessionInfo]
) -> None:
    """The SDK takes the last summary line, whatever session it is about; no picker from 2.1.45 on does (rule 11)."""
    differing = {identity: their for identity, their in theirs.items() if title(glance(ours[identity].path)) != their.summary}
    assert differing, "the recordings of 2.0.76 hold summary lines"
    for identity, their in differing.items():
        summaries = [
            found.record.summary for found in read_records(ours[identity].path) if isinstance(found.record, SummaryRecord)
        ]
        assert their.summary in summaries, identity
        assert title(glance(ours[identity].path)) == their.first_prompt, identity


def test_both_list_the_newest_first(ours: dict[str, SessionInfo], theirs: dict[str, claude_agent_sdk.SDKSessionInfo]) -> None:
    """The SDK by the file's time, we by the last record's, which copies, labels and edits leave alone."""
    by_time = sorted(ours.values(), key=lambda info: (-info.modified.timestamp(), info.id))
    assert [info.id for info in by_time if info.id in theirs] == list(theirs)
    assert list(ours) == [info.id for info in sorted(by_time, key=lambda info: (-info.last_record.timestamp(), info.id))]


def test_both_say_the_same_begin_but_where_a_snapshot_comes_first(
    ours: dict[str, SessionInfo], theirs: dict[str, claude_agent_sdk.SDKSessionInfo]
) -> None:
    """The SDK takes the first "timestamp" of any depth, so that of a file-history-snapshot before the first prompt (A1).

    A snapshot's time is that of the file's state, which may come from another session, so we take the first record's own.
    """
    differing = 0
    for identity, their in theirs.items():
        created = ours[identity].created
        our = None if created is None else int(created.timestamp() * 1000)
        if our == their.created_at:
            continue
        differing += 1
        with ours[identity].path.open("rb") as file:
            first = next(line for line in map(json.loads, file) if "timestamp" in json.dumps(line))
        assert first["type"] == "file-history-snapshot", identity
        moment = datetime.fromisoformat(first["snapshot"]["timestamp"])
        assert int(moment.timestamp() * 1000) == their.created_at, identity
    assert 0 < differing < len(theirs)
