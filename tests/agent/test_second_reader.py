"""What we write, read by others and by our own commands: the checker, the public SDK, and the views, with counts made by hand."""

from __future__ import annotations

import json
from pathlib import Path

import claude_agent_sdk
import pytest
from tests.agent.checking import assert_valid
from tests.agent.everything import AFTER, AGENTS, CALLS, COMPACT, FAILED_CALLS, SUMMARY, TITLE, TURNS, VARIANTS, Played, played
from tests.agent.world import Json, lines_of, of
from tests.cli.running import run

from stenograph.agent.engine.events import ToolEnd
from stenograph.agent.engine.options import Compat

#: Blocks that the model says, scene by scene: survey, change, behind, agents, launch, the answer to its notification, web,
#: overloaded, cut, stopped; and one note of the request that was refused.
ANSWERS_BEFORE = 16 + 16 + 8 + 7 + 2 + 1 + 4 + 1 + 1 + 3 + 1
ANSWERS_AFTER = 4
#: Ten prompts, a notification, the mark of an interruption, and a result of each call. Memory is nobody's words.
WORDS_BEFORE = 10 + 1 + 1 + 43
WORDS_AFTER = 1 + 2
#: Responses of the main conversation, scene by scene as above, without the refused request; each is a message.
RESPONSES_BEFORE = 5 + 10 + 5 + 5 + 2 + 1 + 2 + 1 + 1 + 1
RESPONSES_AFTER = 2
#: Of the agents: first, deeper, second, third and what it says more (not in 2.0), fourth.
RESPONSES_OF_AGENTS = 2 + 2 + 2 + 2 + 1 + 1


@pytest.fixture(params=VARIANTS)
def ours(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Played:
    return played(request.param, tmp_path_factory)


def told(*args: str | Path) -> Json:
    done = run(*args, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found: Json = json.loads(done.stdout)
    return found


def failures(ours: Played) -> list[object]:
    """What failed calls of the main conversation answered, to be read when the counts are wrong."""
    return [end.result["content"] for end in ours.seen if isinstance(end, ToolEnd) and end.is_error and end.agent_id is None]


# The checker


def test_the_strict_checker_finds_nothing(ours: Played) -> None:
    done = run("check", "--strict", ours.path, *ours.agents)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "Nothing found." in done.stdout


def test_every_client_resumes_it_whole(ours: Played) -> None:
    outcomes = told("check", ours.path)["resume"]
    assert [(each["release"], each["whole"]) for each in outcomes] == [("2.0.76", True), ("2.1.45", True), ("2.1.325", True)]


def test_every_file_is_one_chain(ours: Played) -> None:
    assert len(ours.agents) == AGENTS
    for path in (ours.path, *ours.agents):
        assert_valid(path)


def test_old_shapes_hold_none_of_the_newer_kinds(tmp_path_factory: pytest.TempPathFactory) -> None:
    old = played("old-compacted", tmp_path_factory)
    kinds = {line["type"] for path in (old.path, *old.agents) for line in lines_of(path)}
    assert kinds - {"queue-operation"} == {"user", "assistant", "system", "file-history-snapshot", "custom-title"}
    assert {line["version"] for path in (old.path, *old.agents) for line in lines_of(path) if "uuid" in line} == {"2.0.76"}
    assert [path.parent for path in old.agents] == [old.path.parent] * AGENTS


def test_new_shapes_hold_the_newer_kinds(tmp_path_factory: pytest.TempPathFactory) -> None:
    new = played("compacted", tmp_path_factory)
    lines = lines_of(new.path)
    assert {line["type"] for line in lines} >= {"progress", "mode", "permission-mode", "last-prompt", "custom-title"}
    subtypes = {line["subtype"] for line in of("system", lines)}
    assert subtypes == {"api_error", "turn_duration", "compact_boundary"}
    assert {path.parent for path in new.agents} == {new.path.with_suffix("") / "subagents"}


# The public SDK


@pytest.fixture
def sdk(ours: Played, monkeypatch: pytest.MonkeyPatch) -> Played:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(ours.home))
    return ours


def test_the_sdk_lists_it(sdk: Played) -> None:
    (info,) = claude_agent_sdk.list_sessions()
    assert (info.session_id, info.custom_title, info.summary) == (sdk.path.stem, TITLE, TITLE)
    assert info.first_prompt == "Prompt for survey. [scene survey]"
    assert info.cwd == str(sdk.cwd)
    assert info.file_size == sdk.path.stat().st_size


def test_the_sdk_reads_it(sdk: Played) -> None:
    messages = claude_agent_sdk.get_session_messages(sdk.path.stem, directory=str(sdk.cwd))
    kinds = [message.type for message in messages]
    before = (0, 1) if sdk.is_compacted else (ANSWERS_BEFORE, WORDS_BEFORE)  # the summary is the user's
    assert kinds.count("assistant") == before[0] + ANSWERS_AFTER
    assert kinds.count("user") == before[1] + WORDS_AFTER
    texts = json.dumps([message.message["content"] for message in messages])
    for scene in AFTER if sdk.is_compacted else {**TURNS, **AFTER}:
        assert texts.count(f"Prompt for {scene}.") == 1
    assert texts.count(SUMMARY) == sdk.is_compacted


def test_the_sdk_reads_the_agents(sdk: Played) -> None:
    found = claude_agent_sdk.list_subagents(sdk.path.stem, directory=str(sdk.cwd))
    if sdk.compat is Compat.OLD:
        assert found == []  # it looks in the newer place alone
        return
    assert sorted(f"agent-{name}" for name in found) == [path.stem for path in sdk.agents]
    words = json.dumps(
        [
            message.message["content"]
            for name in found
            for message in claude_agent_sdk.get_subagent_messages(sdk.path.stem, name, directory=str(sdk.cwd))
        ]
    )
    for said in ("First is done.", "Second is done.", "Third is done.", "Fourth is done."):
        assert said in words, failures(sdk)


# Our own commands


def test_turns_are_counted(ours: Played) -> None:
    turns = told("turns", ours.path)["turns"]
    kinds = [(turn["kind"], turn["status"]) for turn in turns]
    plain = ("prompt", "done")
    assert kinds == [
        *[plain] * 5,
        ("notification", "done"),
        *[plain] * 3,
        ("prompt", "failed"),
        ("prompt", "interrupted"),
        plain,
    ]
    calls = [call for turn in turns for call in turn["calls"]]
    tools = [one for call in calls for one in call["tool_calls"]]
    assert len(tools) == sum(CALLS.values()) == 45
    assert sum(one["is_error"] for one in tools) == FAILED_CALLS, failures(ours)
    # Three tokens go into every response that the stage gives.
    of_agents = RESPONSES_OF_AGENTS - (ours.compat is Compat.OLD)
    assert told("turns", ours.path)["tokens"]["input"] == 3 * (RESPONSES_BEFORE + RESPONSES_AFTER + of_agents)


def test_messages_are_counted(ours: Played) -> None:
    messages = told("messages", ours.path)["messages"]
    roles = [message["role"] for message in messages if message["role"] != "system"]
    responses = RESPONSES_AFTER + (0 if ours.is_compacted else RESPONSES_BEFORE)
    assert roles.count("assistant") == responses
    assert roles.count("user") == responses


def test_files_are_counted(ours: Played) -> None:
    files = {one["path"].removeprefix(f"{ours.cwd}/"): one for one in told("files", ours.path)["files"]}
    counts = {name: (one["reads"], one["edits"], one["writes"], one["created"]) for name, one in files.items()}
    assert counts == {
        "a.txt": (4 + (ours.compat is Compat.OLD), 0, 0, False),  # one of them by the second agent
        "p.png": (1, 0, 0, False),
        "n.ipynb": (1, 0, 0, False),
        "d.pdf": (1, 0, 0, False),
        "new.txt": (0, 2, 1, True),
        "inner/deep.txt": (1, 0, 1, False),
    }
    assert (files["new.txt"]["added"], files["new.txt"]["removed"]) == (3, 0)
    assert (files["inner/deep.txt"]["added"], files["inner/deep.txt"]["removed"]) == (1, 1)


def test_all_of_it_is_shown(ours: Played) -> None:
    done = run("show", ours.path)
    assert (done.returncode, done.stderr) == (0, "")
    for scene, answer in {**TURNS, **AFTER}.items():
        assert done.stdout.count(f"Prompt for {scene}.") == 1
        assert answer in done.stdout
    assert done.stdout.count("the API failed: 2 retries") == 1
    assert ("compacted (manual" in done.stdout) == ours.is_compacted
    assert COMPACT not in done.stdout
