"""Sessions made to break a reader of turns: nothing is lost, and time grows with what is there."""

from __future__ import annotations

import json
import os
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from tests.turns.test_turns import agent_lines, answered, said, session_of, task, write_family

from stenograph.errors import UnreadableError
from stenograph.records import read_grown_records
from stenograph.sessions.loading import load_file
from stenograph.turns import Session


@pytest.mark.parametrize("timestamp", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00", "soon", 17, None])
def test_a_moment_that_does_not_exist_is_none(tmp_path: Path, timestamp: Any) -> None:
    lines = [said("q", None, "Q"), answered("a", "gone", "A")]
    session = session_of(tmp_path, *({**line, "timestamp": timestamp} for line in lines))
    assert [(turn.started, turn.ended, turn.duration_ms) for turn in session.turns] == [(None, None, None)]


@pytest.mark.parametrize("duration", [1e999, -5, 10**400, 1e300])
def test_a_duration_that_nobody_measured_is_passed_over(tmp_path: Path, duration: float) -> None:
    line = {**said("d", "a", "", 9), "type": "system", "subtype": "turn_duration", "durationMs": duration}
    session = session_of(tmp_path, said("q", None, "Q"), answered("a", "q", "A", 5), line)
    assert session.turns[0].duration_ms == 5000


def test_counts_that_can_be_none_count_nothing(tmp_path: Path) -> None:
    line = answered("a", "q", "A")
    line["message"]["usage"] = {
        "input_tokens": 10**400,
        "output_tokens": -7,
        "cache_creation_input_tokens": -3,
        "cache_creation": {"ephemeral_1h_input_tokens": -9},
    }
    assert session_of(tmp_path, said("q", None, "Q"), line).tokens.total == 0


def test_agents_that_name_each_other_are_all_there(tmp_path: Path) -> None:
    agents = {name: agent_lines(name, "P" + name) for name in ("a", "b")}
    agents["a"].append({**task("ta", "t-a", "to-b", "x"), "isSidechain": True, "agentId": "a"})
    agents["b"].append({**task("tb", "t-b", "to-a", "x"), "isSidechain": True, "agentId": "b"})
    metas = {"a": {"toolUseId": "to-a"}, "b": {"toolUseId": "to-b"}}
    session = write_family(tmp_path, [said("q", None, "Q")], agents, metas)
    assert sorted(run.agent_id for run in session.agents) == ["a", "b"]


def test_an_agent_whose_files_are_damaged_does_not_cost_the_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    main = [said("q", None, "Q"), task("a1", "q", "t1", "Pa")]
    session = write_family(tmp_path, main, {"a": agent_lines("a", "Pa")}, {"a": "[" * 100_000})
    assert [run.evidence for run in session.agents] == ["prompt"]
    assert "damaged-meta" in {finding.code for finding in session.findings}
    folder = tmp_path / session.id / "subagents"
    (folder / "agent-a.meta.json").unlink()
    os.mkfifo(folder / "agent-a.meta.json")
    (folder / "agent-b.jsonl").symlink_to("/proc/self/mem")
    assert session.path is not None
    assert len(load_file(session.path).turns) == 1

    def refuse(path: Path, known: Any) -> Any:
        if path.name.startswith("agent-"):
            raise UnreadableError("no", path=path)
        return read_grown_records(path, known)

    # By the module: its package exports a function of the same name.
    monkeypatch.setattr(import_module("stenograph.sessions.loading"), "read_grown_records", refuse)
    again = load_file(session.path)
    assert len(again.turns) == 1
    assert "unreadable-agent" in {finding.code for finding in again.findings}


def branches(count: int) -> list[dict[str, Any]]:
    lines = [said("q0", None, "Q")]
    for number in range(1, count):
        lines += [said(f"x{number}", f"q{number - 1}", "left"), said(f"q{number}", f"q{number - 1}", "Q")]
    return lines


def sidechain(count: int) -> list[dict[str, Any]]:
    lines = [{**said(f"s{n}", f"s{n - 1}" if n else None, "S"), "isSidechain": True} for n in range(count)]
    return [said("q", None, "Q"), *lines]


def dangling(count: int) -> list[dict[str, Any]]:
    return [said("q", None, "Q"), *({**said(f"s{n}", "gone", "S"), "isSidechain": True} for n in range(count))]


def commands(count: int) -> list[dict[str, Any]]:
    typed = [said(f"c{n}", f"c{n - 1}" if n else "a", "<command-name>/cost</command-name>") for n in range(count)]
    return [said("q", None, "Q"), answered("a", "q", "A"), *typed]


def same_ids(count: int) -> list[dict[str, Any]]:
    lines = [said("q0", None, "Q"), answered("a0", "q0", "A", message="m")]
    for n in range(1, count):
        lines += [said(f"q{n}", f"a{n - 1}", "Q"), answered(f"a{n}", f"q{n}", f"A{n}", message="m")]
    return lines


def seconds(tmp_path: Path, lines: list[dict[str, Any]]) -> float:
    path = tmp_path / "session.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    start = time.process_time()
    session: Session = load_file(path)
    _ = session.findings, [branch.shared for branch in session.branches], [turn.status for turn in session.all_turns]
    return time.process_time() - start


@pytest.mark.parametrize("shape", [branches, sidechain, dangling, commands, same_ids])
def test_time_grows_with_the_session_and_not_with_its_square(tmp_path: Path, shape: Any) -> None:
    seconds(tmp_path, shape(50))
    small = min(seconds(tmp_path, shape(1000)) for _ in range(3))
    large = seconds(tmp_path, shape(8000))
    assert large < 24 * small  # eight times as much; the square would be 64 times
