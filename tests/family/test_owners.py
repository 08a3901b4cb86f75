"""Whose an agent is, and what its meta file says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.disk.conftest import Unprivileged

from stenograph.family import AgentMeta, named_owner, owner_of, read_family, read_metas
from stenograph.testing import lines
from stenograph.testing.lines import user

ONE = "11111111-2222-4333-8444-555555555555"
TWO = "66666666-7777-4888-9999-aaaaaaaaaaaa"


def write(path: Path, *records: lines.Line) -> Path:
    return lines.write(path, records)


def said(session: str) -> lines.Line:
    return user("u1", "Count.", sessionId=session, isSidechain=True)


def test_the_first_line_of_the_conversation_names_the_owner(tmp_path: Path) -> None:
    agent = write(tmp_path / "agent-a.jsonl", {"type": "summary"}, {"type": "user"}, said(ONE), said(TWO))
    assert named_owner(agent) == ONE


def test_a_line_outside_the_conversation_does_not_name_the_owner(tmp_path: Path) -> None:
    agent = write(tmp_path / "agent-a.jsonl", {"type": "custom-title", "customTitle": "x", "sessionId": TWO}, said(ONE))
    assert named_owner(agent) == ONE


def test_while_no_whole_line_is_there_the_owner_is_not_known(tmp_path: Path) -> None:
    agent = tmp_path / "agent-a.jsonl"
    assert named_owner(agent) is None
    agent.write_text(json.dumps(said(ONE))[:-5])
    assert named_owner(agent) is None


def test_a_family_has_the_loose_agents_whose_lines_name_it_and_those_in_its_folder(tmp_path: Path) -> None:
    session = write(tmp_path / f"{ONE}.jsonl", said(ONE))
    ours = write(tmp_path / "agent-ours.jsonl", said(ONE), said(TWO))
    write(tmp_path / "agent-theirs.jsonl", said(TWO), said(ONE))
    by_other_tools = write(tmp_path / "subagents" / "agent-other.jsonl", said(ONE))
    nested = write(tmp_path / ONE / "subagents" / "agent-nested.jsonl", said(TWO))
    assert {agent.path for agent in read_family(session).agents} == {ours, by_other_tools, nested}


def test_the_place_of_an_agent_says_more_than_its_lines(tmp_path: Path) -> None:
    nested = write(tmp_path / ONE / "subagents" / "agent-a.jsonl", said(TWO))
    workflow = write(tmp_path / ONE / "subagents" / "workflows" / "wf" / "agent-a.jsonl", said(TWO))
    beside = write(tmp_path / "agent-b.jsonl", said(TWO))
    project = write(tmp_path / "subagents" / "agent-c.jsonl", said(TWO))
    assert {owner_of(agent) for agent in (nested, workflow)} == {(tmp_path, ONE)}
    assert {owner_of(agent) for agent in (beside, project)} == {(tmp_path, TWO)}


def test_a_project_that_cannot_be_listed_is_a_finding_of_the_family(tmp_path: Path) -> None:
    family = read_family(tmp_path / "gone" / f"{ONE}.jsonl")
    assert [finding.code for finding in family.findings] == ["unreadable-folder"]


def test_a_meta_file_is_read_into_a_value(tmp_path: Path) -> None:
    session = write(tmp_path / f"{ONE}.jsonl", said(ONE))
    agents = tmp_path / ONE / "subagents"
    for name in "abc":
        write(agents / f"agent-{name}.jsonl", said(ONE))
    full = {"agentType": "Explore", "description": "d", "toolUseId": "t", "parentAgentId": "p", "spawnDepth": 1}
    (agents / "agent-a.meta.json").write_text(json.dumps(full))
    (agents / "agent-b.meta.json").write_text('{"agentType": 7, "toolUseId": null}')
    metas, findings = read_metas(read_family(session).agents)
    assert metas == {"a": AgentMeta("Explore", "d", "t", "p"), "b": AgentMeta()}
    assert findings == []


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 100_000])
def test_a_damaged_meta_file_says_nothing_and_is_a_finding(tmp_path: Path, text: str) -> None:
    session = write(tmp_path / f"{ONE}.jsonl", said(ONE))
    agent = write(tmp_path / ONE / "subagents" / "agent-a.jsonl", said(ONE))
    meta = agent.with_name("agent-a.meta.json")
    meta.write_text(text)
    metas, [finding] = read_metas(read_family(session).agents)
    assert metas == {"a": AgentMeta()}
    assert (finding.code, finding.path) == ("damaged-meta", meta)


def test_a_meta_file_that_cannot_be_read_is_another_finding(open_folder: Path, unprivileged: Unprivileged) -> None:
    session = write(open_folder / f"{ONE}.jsonl", said(ONE))
    agent = write(open_folder / ONE / "subagents" / "agent-a.jsonl", said(ONE))
    meta = agent.with_name("agent-a.meta.json")
    meta.write_text("{}")
    meta.chmod(0)
    with unprivileged():
        _, [finding] = read_metas(read_family(session).agents)
    assert (finding.code, finding.path) == ("unreadable-file", meta)
