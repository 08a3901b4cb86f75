"""What real releases and our own agent write is never drift, and what a release offers a model is known."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import make_registry as maker
import pytest
from lab.observatory.offered_tools import describe_tools
from tests.check.sessions import SESSION, recorded_lines, write

from stenograph.agent.engine.options import AgentOptions, Compat
from stenograph.agent.tools import all_tools
from stenograph.agent.tools.toolbox import Toolbox
from stenograph.check import CheckReport, check
from stenograph.drift import load_registry
from stenograph.testing.lines import tool_use

RECORDINGS = maker.RECORDINGS[0]
RELEASES = sorted(path.parent.name for path in RECORDINGS.glob(f"*/{maker.TOOLS}"))

#: What real clients leave behind by themselves. 2.1.29 loses lines of its own sessions, several others write a line before its
#: parent, an interrupted call has no result, and warm-ups of 2.0.42 to 2.0.58 have no session.
LEFT_BY_CLIENTS = {
    "duplicate-uuid",
    "dangling-parent",
    "forward-parent",
    "interrupted-call",
    "orphan-tool-result",
    "misleading-timestamps",
    "agent-without-session",
}


@pytest.fixture(scope="module")
def report() -> CheckReport:
    return check([*maker.RECORDINGS])


def test_nothing_that_was_recorded_is_drift(report: CheckReport) -> None:
    assert report.files > 1500
    assert [(each.code, each.shape, each.field) for each in report.drift] == []
    assert report.failures == []


def test_damage_in_recordings_is_what_the_clients_left_behind(report: CheckReport) -> None:
    assert {each.code for each in report.damage} <= LEFT_BY_CLIENTS


def test_every_recorded_release_says_which_tools_it_offers() -> None:
    assert load_registry().recorded == sorted(RELEASES, key=lambda release: [int(part) for part in release.split(".")])


def _value(types: str) -> Any:
    return {"string": "x", "number": 1, "boolean": True, "array": [], "object": {}, "null": None}[types.split("|")[0]]


def _outer(given: dict[str, str]) -> list[tuple[str, str]]:
    return [(path, types) for path, types in given.items() if "." not in path and not path.endswith(("[]", "{}"))]


@pytest.mark.parametrize("release", RELEASES)
def test_a_call_with_every_parameter_of_every_tool_is_not_drift(release: str, tmp_path: Path) -> None:
    tools = json.loads((RECORDINGS / release / maker.TOOLS).read_text(encoding="utf-8"))
    calls = [
        {**tool_use(f"toolu_{number}", name), "input": {path.rstrip("?"): _value(types) for path, types in _outer(given)}}
        for number, (name, given) in enumerate(tools.items())
    ]
    path = write(tmp_path, list(_session(calls, release)))
    found = check([path])
    assert [(each.code, each.shape, each.field) for each in found.drift if each.shape.startswith("tool:")] == []
    missing = [each for each in found.damage if each.code == "orphan-tool-use"]
    assert missing == []  # the results are there, so the calls were judged


def _session(calls: list[dict[str, Any]], release: str) -> Iterator[dict[str, Any]]:
    lines = recorded_lines()
    asking = next(line for line in lines if line["type"] == "assistant")
    answering = next(line for line in lines if line["type"] == "user")
    yield {**asking, "version": release, "message": {**asking["message"], "content": calls}}
    results = [{"type": "tool_result", "tool_use_id": call["id"], "content": "done"} for call in calls]
    yield {**answering, "version": release, "message": {"role": "user", "content": results}}


@pytest.mark.parametrize(
    ("release", "tool", "parameter"),
    [
        ("2.0.76", "Grep", "glob"),
        ("2.0.76", "Grep", "type"),
        ("2.0.76", "Task", "model"),
        ("2.0.76", "Task", "resume"),
        ("2.0.76", "WebSearch", "blocked_domains"),
        ("2.1.325", "Grep", "type"),
        ("2.1.325", "Grep", "-o"),
        ("2.1.325", "Grep", "multiline"),
        ("2.1.325", "WebSearch", "blocked_domains"),
    ],
)
def test_parameters_that_no_recorded_call_gives_are_known(release: str, tool: str, parameter: str) -> None:
    assert load_registry().knows_field(f"tool:{tool}", parameter, release)


@pytest.mark.parametrize("compat", Compat)
def test_every_parameter_of_our_own_tools_is_known(compat: Compat, tmp_path: Path) -> None:
    registry = load_registry()
    tools = Toolbox(all_tools(AgentOptions(cwd=tmp_path, home=tmp_path, compat=compat)))
    for name, given in describe_tools(tools.definitions).items():
        unknown = [path for path in given if not registry.knows_field(f"tool:{name}", path.rstrip("?"), compat.release)]
        assert unknown == [], name


def test_an_optional_parameter_is_never_missed() -> None:
    """Bash's description is in every recorded call, but releases declare it optional."""
    required = load_registry().required("tool:Bash", "2.1.325")[""]
    assert "command" in required
    assert "description" not in required


def test_an_agent_that_forks_its_session_is_not_damaged(tmp_path: Path) -> None:
    shutil.copy(SESSION, tmp_path)
    lines = recorded_lines()
    parent = next(line["uuid"] for line in reversed(lines) if line["type"] == "assistant")
    fork = {**next(line for line in lines if line["type"] == "user"), "uuid": "fork", "isSidechain": True, "agentId": "a1b2c3"}
    agents = tmp_path / SESSION.stem / "subagents"
    agents.mkdir(parents=True)
    for found, name in ((parent, "agent-a1b2c3.jsonl"), ("nowhere", "agent-a1b2c4.jsonl")):
        write(agents, [{**fork, "parentUuid": found}], name=name)
    [dangling] = [each for each in check([tmp_path]).damage if each.code == "dangling-parent"]
    assert [path.name for path in dangling.files] == ["agent-a1b2c4.jsonl"]


def test_schemas_are_described_by_path_type_and_need() -> None:
    """By hand, from JSON Schema: references, alternatives, lists, maps, values without a type."""
    schema = {
        "required": ["edits", "mode"],
        "properties": {
            "mode": {"enum": ["a", "b", None]},
            "edits": {"type": "array", "items": {"$ref": "#/$defs/edit"}},
            "answers": {"type": "object", "additionalProperties": {"type": "string"}},
            "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        },
        "$defs": {
            "edit": {"type": "object", "required": ["old"], "properties": {"old": {"type": "string"}, "all": {"const": True}}}
        },
    }
    described = describe_tools(
        [{"name": "T", "input_schema": schema}, {"name": "mcp__x", "input_schema": {}}, {"type": "web_search"}]
    )
    assert described == {
        "T": {
            "answers?": "object",
            "answers{}": "string",
            "edits": "array",
            "edits[]": "object",
            "edits[].all?": "boolean",
            "edits[].old": "string",
            "limit?": "null|number",
            "mode": "null|string",
        }
    }
