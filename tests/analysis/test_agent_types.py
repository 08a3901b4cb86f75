"""Subagents of old releases have the type that the tool call names which started them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from tests.homes import CWD, PROJECT, assistant, recorded_home, session_id, user, write_session

from stenograph.analysis import UsageBy, UsageScope, usage_table
from stenograph.index import open_store, sync_usage
from stenograph.pricing import Tariff
from stenograph.testing.lines import beside, encode, text


def _by_type(home: Path) -> dict[str, int]:
    """Calls by the type of the subagent that made them."""
    store = open_store(None)
    sync_usage(store, [home])
    return {row.name: row.spent.calls for row in usage_table(store, UsageScope((home,)), Tariff(), by=UsageBy.AGENT).rows}


def _answer(identity: str, *blocks: Any, **members: Any) -> dict[str, Any]:
    line = assistant(*(blocks or (text("Done."),)), **{"version": "2.1.20", **members})
    line["message"] |= {"id": identity, "model": "claude-opus-4-5", "usage": {"input_tokens": 9, "output_tokens": 9}}
    return line


def _chained(lines: list[dict[str, Any]], first: int = 0) -> list[dict[str, Any]]:
    """Each line after the one before; a subagent's first line begins anew."""
    parents: dict[bool, str | None] = {False: None, True: None}
    for number, line in enumerate(lines, first):
        line["uuid"] = session_id(1000 + number)
        line["parentUuid"] = parents[bool(line.get("isSidechain"))]
        parents[bool(line.get("isSidechain"))] = line["uuid"]
    return lines


def _task(kind: str, prompt: str, identity: str = "toolu_1") -> dict[str, Any]:
    return {"type": "tool_use", "id": identity, "name": "Task", "input": {"subagent_type": kind, "prompt": prompt}}


def _result(identity: str = "toolu_1", **members: Any) -> dict[str, Any]:
    return user([{"type": "tool_result", "tool_use_id": identity, "content": "Found."}], **members)


def test_a_subagent_within_the_sessions_own_file_has_the_type_of_the_call_with_its_prompt(tmp_path: Path) -> None:
    """As 1.0 wrote them."""
    lines = [
        user("Look around"),
        _answer("msg_1", _task("code-reviewer", "Read it all")),
        user("Read it all", isSidechain=True),
        _answer("msg_2", isSidechain=True),
        _result(),
        _answer("msg_3"),
    ]
    write_session(tmp_path, session_id(1), _chained(lines))
    assert _by_type(tmp_path) == {"main": 2, "code-reviewer": 1}


def test_a_subagent_of_which_only_progress_is_left_has_the_type_of_the_call_it_belongs_to(tmp_path: Path) -> None:
    said = _answer("msg_2", isSidechain=True)
    progress = {"type": "agent_progress", "agentId": "a1", "message": beside("assistant", message=said["message"])}
    line = {"type": "progress", "data": progress, "parentToolUseID": "toolu_1", "toolUseID": "agent_msg_2", "cwd": CWD}
    lines = [user("Look around"), _answer("msg_1", _task("Explore", "Read")), line, _result(), _answer("msg_3")]
    write_session(tmp_path, session_id(1), _chained(lines))
    assert _by_type(tmp_path) == {"main": 2, "Explore": 1}


def test_a_subagent_whose_session_is_gone_is_unknown_until_it_is_back(tmp_path: Path) -> None:
    name = session_id(1)
    folder = tmp_path / "projects" / PROJECT
    folder.mkdir(parents=True)
    own = {"isSidechain": True, "agentId": "a1b2c3", "sessionId": name}
    (folder / "agent-a1b2c3.jsonl").write_bytes(encode(_chained([user("Read", **own), _answer("msg_2", **own)], 50)))
    assert _by_type(tmp_path) == {"(unknown)": 1}
    result = _result(toolUseResult={"agentId": "a1b2c3", "status": "completed", "prompt": "Other words"})
    lines = [user("Look around"), _answer("msg_1", _task("Plan", "Other words")), result]
    write_session(tmp_path, name, _chained(lines))
    assert _by_type(tmp_path) == {"main": 1, "Plan": 1}


def test_recorded_subagents_have_the_types_that_plain_json_finds(tmp_path: Path) -> None:
    home = recorded_home(tmp_path)
    asked: dict[str, str] = {}
    named: dict[str, str] = {}
    for line in (json.loads(line) for path in home.rglob("*.jsonl") for line in path.read_bytes().splitlines()):
        content = (line.get("message") or {}).get("content")
        for block in content if isinstance(content, list) else ():
            if block.get("type") == "tool_use" and "subagent_type" in (block.get("input") or {}):
                asked[block["id"]] = block["input"]["subagent_type"]
            elif block.get("type") == "tool_result" and isinstance(line.get("toolUseResult"), dict):
                named[line["toolUseResult"].get("agentId")] = block["tool_use_id"]
    expected = Counter[str]()
    for path in home.rglob("agent-*.jsonl"):
        found = asked.get(named.get(path.stem.removeprefix("agent-"), ""))
        answered = {
            line["message"]["id"] for line in map(json.loads, path.read_bytes().splitlines()) if line["type"] == "assistant"
        }
        expected[found or ""] += len(answered)
    types = _by_type(home)
    # Others name their type in their own lines, or are within the session's file.
    assert types["general-purpose"] >= expected["general-purpose"] > 5
    # All others warmed up, those included of 2.0.42 to 2.0.55, which do not write what a subagent was asked.
    assert types["(warm-up)"] == expected[""] > 9
    assert "(unknown)" not in types


def test_a_subagent_without_a_prompt_is_unknown_where_a_tool_call_may_have_started_it(tmp_path: Path) -> None:
    """As in 2.0.50, when a session is interrupted before the result that would name the subagent."""
    name, own = session_id(1), {"isSidechain": True, "agentId": "a1b2c3", "sessionId": session_id(1), "version": "2.0.50"}
    session = write_session(tmp_path, name, _chained([user("Look around"), _answer("msg_1", _task("Plan", "Other words"))]))
    (session.parent / "agent-a1b2c3.jsonl").write_bytes(encode(_chained([_answer("msg_2", **own)], 50)))
    assert _by_type(tmp_path) == {"main": 1, "(unknown)": 1}
    write_session(tmp_path, name, _chained([user("Look around"), _answer("msg_1")]))
    assert _by_type(tmp_path) == {"main": 1, "(warm-up)": 1}
