"""The public SDK as a second reader: its `list_sessions` and ours on every recorded session, differences named by rule."""

from __future__ import annotations

from pathlib import Path

import claude_agent_sdk
import pytest
from tests.homes import recorded_home

from stenograph.disk import NEWEST
from stenograph.records import SummaryRecord, read_records
from stenograph.sessions import SessionInfo, glance, list_sessions, title

#: Files that the SDK leaves out and we list (hidden by default), by why we hide them.
LEFT_OUT_BY_THE_SDK = {"empty": "the SDK reads nothing from a file of no bytes; the list counts it as hidden"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded_home(tmp_path_factory.mktemp("recorded"))


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
    differing = {identity: their for identity, their in theirs.items() if ours[identity].title != their.summary}
    assert differing, "the recordings of 2.0.76 hold summary lines"
    for identity, their in differing.items():
        summaries = [
            found.record.summary for found in read_records(ours[identity].path) if isinstance(found.record, SummaryRecord)
        ]
        assert their.summary in summaries, identity
        assert ours[identity].title == their.first_prompt, identity


def test_the_newest_release_is_the_one_titles_are_made_for(ours: dict[str, SessionInfo]) -> None:
    for info in ours.values():
        assert title(glance(info.path), NEWEST) == info.title
