from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.corpora import FIXTURES
from tests.homes import assistant, session_id, user, write_session

from stenograph.analysis import take_inventory
from stenograph.analysis.inventory import FINDINGS_KEPT
from stenograph.errors import SessionNotFoundError
from stenograph.testing.lines import text, tool_result, tool_use


def test_a_session_is_counted_as_seed_001_counts(tmp_path: Path) -> None:
    answer = assistant(text("a"), tool_use(), version="2.0.42")
    answer["message"]["stop_reason"] = "tool_use"
    records: list[dict[str, Any]] = [
        {"type": "summary", "summary": "s", "leafUuid": "u"},
        {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}},
        {"type": "queue-operation", "operation": "enqueue"},
        user("human", version="2.0.37"),
        answer,
        user([tool_result()], version="2.0.42"),
        assistant({"type": "thinking", "thinking": "t", "signature": "s"}, version="2.0.42"),
        {"type": "system", "subtype": "compact_boundary", "version": "2.0.42"},
        {"type": "never-seen"},
    ]
    path = write_session(tmp_path, session_id(1), records, tail=b"broken\n\n")
    (session,) = take_inventory([path]).sessions
    counts = session.counts
    assert (counts.lines, counts.damaged, counts.human_turns, counts.tool_calls) == (11, 2, 1, 1)
    assert counts.releases == {"2.0.37": 1, "2.0.42": 4}
    assert counts.types == {
        "summary": 1, "file-history-snapshot": 1, "queue-operation": 1, "user": 2, "assistant": 2, "system": 1, "never-seen": 1,
    }  # fmt: skip
    assert counts.kinds["system/compact_boundary"] == 1
    assert counts.stop_reasons == {"tool_use": 1, "null": 1}
    assert counts.blocks == {"text": 1, "tool_use": 1, "tool_result": 1, "thinking": 1}
    assert [(finding.code, finding.line) for finding in session.findings] == [("damaged-line-not-json", 10), ("blank-line", 11)]


PROJECTS = sorted(path for path in (FIXTURES / "recorded").glob("*/*/*") if path.is_dir())


@pytest.mark.parametrize("path", PROJECTS, ids=lambda path: f"{path.parent.parent.name}-{path.parent.name}")
def test_recorded_projects_are_counted_as_plain_json_counts_them(path: Path) -> None:
    """By hand: the standard library's parser over the same lines."""
    types: Counter[str] = Counter()
    blocks: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    releases: Counter[str] = Counter()
    human = lines = 0
    for file in path.glob("*.jsonl"):
        if file.name.startswith("agent-"):
            continue
        for line in file.read_bytes().splitlines():
            record = json.loads(line)
            lines += 1
            types[record["type"]] += 1
            releases.update([record["version"]] if "version" in record else [])
            if record["type"] not in ("user", "assistant"):
                continue
            content = record["message"]["content"]
            human += record["type"] == "user" and isinstance(content, str)
            blocks.update(block["type"] for block in content if isinstance(content, list))
            if record["type"] == "assistant":
                reasons[record["message"]["stop_reason"] or "null"] += 1
    totals = take_inventory([path]).session_totals
    assert (totals.lines, totals.human_turns, totals.releases) == (lines, human, releases)
    assert (totals.types, totals.blocks, totals.stop_reasons) == (types, blocks, reasons)


def test_agents_are_counted_apart_and_under_their_session(tmp_path: Path) -> None:
    write_session(tmp_path, session_id(1), [user("hi", sessionId=session_id(1))])
    beside = user("sub", isSidechain=True, sessionId=session_id(1))
    write_session(tmp_path, "agent-aaaaaaa", [beside])
    write_session(tmp_path, "agent-bbbbbbb", [beside], project=f"-home-user-work/{session_id(1)}/subagents")
    inventory = take_inventory([tmp_path])
    assert [(file.session_id, file.agents) for file in inventory.sessions] == [(session_id(1), 2)]
    assert inventory.session_totals.lines == 1
    assert inventory.agent_totals.lines == 2


def test_a_home_stands_for_its_projects_only(tmp_path: Path) -> None:
    write_session(tmp_path, session_id(1), [user("hi")])
    (tmp_path / "history.jsonl").write_text("{}\n")
    assert len(take_inventory([tmp_path]).sessions) == 1


def test_a_file_that_can_not_be_read_stops_nothing(tmp_path: Path) -> None:
    write_session(tmp_path, session_id(1), [user("hi")])
    (tmp_path / "projects" / "loop.jsonl").symlink_to(tmp_path / "projects" / "loop.jsonl")
    inventory = take_inventory([tmp_path])
    assert len(inventory.sessions) == 1
    assert [failure.code for failure in inventory.failures] == ["unreadable"]


def test_findings_of_a_file_damaged_throughout_stay_few(tmp_path: Path) -> None:
    path = write_session(tmp_path, session_id(1), [], tail=b"broken\n" * 1000)
    (session,) = take_inventory([path]).sessions
    assert (session.counts.damaged, len(session.findings)) == (1000, FINDINGS_KEPT)


def test_progress_is_told_up_to_the_end(tmp_path: Path) -> None:
    calls: list[tuple[int, int]] = []
    path = write_session(tmp_path, session_id(1), [user("hi")] * 3000)
    take_inventory([path], lambda done, total: calls.append((done, total)))
    assert len(calls) > 2
    assert calls == sorted(calls)
    assert calls[-1] == (path.stat().st_size, path.stat().st_size)


def test_a_folder_without_sessions_and_a_missing_file_are_not_found(tmp_path: Path) -> None:
    with pytest.raises(SessionNotFoundError):
        take_inventory([tmp_path])
    with pytest.raises(SessionNotFoundError):
        take_inventory([tmp_path / "none.jsonl"])


def test_a_named_session_brings_its_agents_along(tmp_path: Path) -> None:
    path = write_session(tmp_path, session_id(1), [user("hi", sessionId=session_id(1))])
    write_session(tmp_path, session_id(2), [user("hi", sessionId=session_id(2))])
    for name, owner in (("agent-aaaaaaa", session_id(1)), ("agent-ccccccc", session_id(2))):
        write_session(tmp_path, name, [user("sub", isSidechain=True, sessionId=owner)])
    write_session(tmp_path, "agent-bbbbbbb", [user("sub")], project=f"-home-user-work/{session_id(1)}/subagents")
    inventory = take_inventory([path])
    assert [(file.session_id, file.agents) for file in inventory.sessions] == [(session_id(1), 2)]
    assert [file.path.stem for file in inventory.agents] == ["agent-bbbbbbb", "agent-aaaaaaa"]


def test_agents_belong_to_the_session_in_their_own_project(tmp_path: Path) -> None:
    """The same id in two projects: a copy without the original's sub-agents."""
    for project in ("-a", "-b"):
        write_session(tmp_path, session_id(1), [user("hi", sessionId=session_id(1))], project=project)
    write_session(tmp_path, "agent-aaaaaaa", [user("sub", sessionId=session_id(1))], project="-a")
    write_session(tmp_path, "agent-bbbbbbb", [user("sub", sessionId="another")], project=f"-a/{session_id(1)}/subagents")
    found = {file.path.parent.name: file.agents for file in take_inventory([tmp_path]).sessions}
    assert found == {"-a": 2, "-b": 0}


def test_a_path_given_twice_counts_once(tmp_path: Path) -> None:
    path = write_session(tmp_path / "home", session_id(1), [user("hi")])
    (tmp_path / "link").symlink_to("home")
    paths = [tmp_path / "link", tmp_path / "home", tmp_path / "home" / "projects", path]
    inventory = take_inventory(paths)
    assert (len(inventory.sessions), inventory.session_totals.lines) == (1, 1)
