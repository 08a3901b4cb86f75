"""What each edit makes of a conversation, read by the standard library alone: from the last line up, parent by parent.

The session was recorded from 2.0.76 with a script: three prompts, "Please tidy the notes" and "And once more" twice, and the
calls that the script names.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from pathlib import Path
from typing import Any, get_args

import pytest
from tests.corpora import RICH
from tests.surgery.edited import EDITS, recorded_sessions

from stenograph import __version__
from stenograph.archive import Archive
from stenograph.check import check
from stenograph.errors import BusyError, UsageError
from stenograph.inputs import Status
from stenograph.sessions import glance, status
from stenograph.surgery import (
    AnyEdit,
    Compress,
    DropAgents,
    DropBookkeeping,
    DropBranches,
    DropImages,
    DropToolCalls,
    DropTurns,
    MakePortable,
    Selector,
    StripThinking,
    TruncateResults,
    apply,
    make_plan,
)

Line = dict[str, Any]


def _lines(path: Path, *edits: AnyEdit, prune: bool = False) -> list[Line]:
    if not edits:
        return [json.loads(line) for line in path.read_bytes().splitlines()]
    plan = make_plan(path, list(edits), prune=prune)
    assert plan.problems == []
    assert not plan.is_empty
    return [json.loads(line) for line in b"".join(plan.new_file()).splitlines()]


def _conversation(lines: list[Line]) -> list[Line]:
    """The chain from the newest line to the root, the first line first."""
    by_uuid = {line["uuid"]: line for line in lines if "uuid" in line}
    line: Line | None = max(by_uuid.values(), key=lambda each: each["timestamp"])
    chain = []
    while line is not None:
        chain.append(line)
        line = by_uuid.get(line["parentUuid"])
    return chain[::-1]


def _blocks(lines: list[Line], kind: str) -> list[Line]:
    contents = [line["message"]["content"] for line in lines if "message" in line]
    return [block for content in contents if isinstance(content, list) for block in content if block["type"] == kind]


def _prompts(lines: list[Line]) -> list[str]:
    return [text.partition(" SCRIPT")[0] for line in lines if (text := _prompt(line))]


def _prompt(line: Line) -> str:
    """What a person said in a line; empty for any other."""
    content = line["message"]["content"] if line["type"] == "user" else ""
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)


def test_the_recorded_session_is_what_was_played() -> None:
    chain = _conversation(_lines(RICH))
    assert len(_prompts(chain)) == 3
    assert len(_blocks(chain, "tool_use")) == len(_blocks(chain, "tool_result")) == 15
    assert len(_blocks(chain, "thinking")) == 2


def test_dropped_tool_calls_are_gone_with_their_results_and_nothing_else_is() -> None:
    before = _conversation(_lines(RICH))
    after = _conversation(_lines(RICH, DropToolCalls()))
    assert _blocks(after, "tool_use") == _blocks(after, "tool_result") == []
    assert _blocks(after, "text") == _blocks(before, "text")
    assert _prompts(after) == _prompts(before)


def test_calls_of_one_tool_are_gone_and_those_of_others_stay() -> None:
    before = _conversation(_lines(RICH))
    after = _conversation(_lines(RICH, DropToolCalls(Selector(tools=("Bash",)))))
    assert [use for use in _blocks(before, "tool_use") if use["name"] != "Bash"] == _blocks(after, "tool_use")
    assert [use["id"] for use in _blocks(after, "tool_use")] == [
        result["tool_use_id"] for result in _blocks(after, "tool_result")
    ]


def test_calls_that_are_named_by_their_ids_are_gone() -> None:
    before = _blocks(_conversation(_lines(RICH)), "tool_use")
    chosen = tuple(use["id"] for use in before[1:3])
    after = _blocks(_conversation(_lines(RICH, DropToolCalls(Selector(calls=chosen)))), "tool_use")
    assert [use["id"] for use in after] == [use["id"] for use in before if use["id"] not in chosen]
    with pytest.raises(UsageError, match="no tool call"):
        make_plan(RICH, [DropToolCalls(Selector(calls=("toolu_nowhere",)))])


def test_only_failed_calls_are_gone() -> None:
    before = _conversation(_lines(RICH))
    after = _conversation(_lines(RICH, DropToolCalls(Selector(errors=True))))
    failed = {result["tool_use_id"] for result in _blocks(before, "tool_result") if result.get("is_error")}
    assert failed
    assert [use["id"] for use in _blocks(after, "tool_use")] == [
        use["id"] for use in _blocks(before, "tool_use") if use["id"] not in failed
    ]


def test_long_results_keep_head_and_tail_and_say_what_was_cut() -> None:
    before = {each["tool_use_id"]: each["content"] for each in _blocks(_conversation(_lines(RICH)), "tool_result")}
    after = {
        each["tool_use_id"]: each["content"]
        for each in _blocks(_conversation(_lines(RICH, TruncateResults(limit=300))), "tool_result")
    }
    assert before.keys() == after.keys()
    # Counted by hand: one result has 30,033 characters, an image none, all others at most 240.
    [cut] = [name for name in before if before[name] != after[name]]
    old = before[cut]
    assert len(old) == 30_033
    assert after[cut] == f"{old[:200]}\n[… 29,733 characters cut …]\n{old[-100:]}"


def test_images_become_words_and_thinking_goes() -> None:
    # One of the fifteen results is an image, and nothing else.
    results = [_blocks(_conversation(lines), "tool_result") for lines in (_lines(RICH), _lines(RICH, DropImages()))]
    [place] = [place for place, result in enumerate(results[0]) if "image" in json.dumps(result["content"])]
    assert [block["type"] for block in results[0][place]["content"]] == ["image"]
    assert results[1][place]["content"] == [{"type": "text", "text": "[image removed]"}]
    assert results[1][:place] + results[1][place + 1 :] == results[0][:place] + results[0][place + 1 :]
    after = _conversation(_lines(RICH, StripThinking()))
    assert _blocks(after, "thinking") == []
    assert _blocks(after, "text") == _blocks(_conversation(_lines(RICH)), "text")


@pytest.mark.parametrize(("turn", "left"), [(1, [1, 2]), (2, [0, 2]), (3, [0, 1])])
def test_a_dropped_turn_is_gone_and_the_others_stay(turn: int, left: list[int]) -> None:
    chain = _conversation(_lines(RICH))
    starts = [number for number, line in enumerate(chain) if _prompt(line)]
    ends = [*starts[1:], len(chain)]
    kept = [line["uuid"] for number in left for line in chain[starts[number] : ends[number]]]
    after = [line for line in _conversation(_lines(RICH, DropTurns(Selector(turns=((turn, turn),))))) if "message" in line]
    assert [line["uuid"] for line in after] == [
        uuid for uuid in kept if uuid in {line["uuid"] for line in chain if "message" in line}
    ]


def test_what_is_set_aside_can_be_taken_out_afterwards(tmp_path: Path) -> None:
    copy = tmp_path / RICH.name
    plan = make_plan(RICH, [DropTurns(Selector(turns=((2, 2),))), DropToolCalls(Selector(turns=((1, 1),)))])
    copy.write_bytes(b"".join(plan.new_file()))
    assert plan.aside > 0
    lines = _lines(copy, DropBranches())
    chain = {line["uuid"] for line in _conversation(lines)}
    said = [line for line in lines if line["type"] in ("user", "assistant") and not line.get("isSidechain")]
    assert [line["uuid"] for line in said if line["uuid"] not in chain] == []
    assert make_plan(copy, [DropToolCalls(Selector(turns=((1, 1),)))]).is_empty


def test_the_digest_has_every_prompt_the_files_changed_and_the_failures() -> None:
    chain = _conversation(_lines(RICH, Compress(Selector(keep_last=1))))
    assert [line.get("subtype") for line in chain[:2]] == ["compact_boundary", None]
    digest = chain[1]["message"]["content"]
    assert chain[1]["isCompactSummary"] is True
    before = _conversation(_lines(RICH))
    for prompt in _prompts(before)[:2]:
        assert prompt in digest
    results = {each["tool_use_id"]: each for each in _blocks(before, "tool_result")}
    uses = {each["id"]: each for each in _blocks(before, "tool_use")}
    changed = {use["input"]["file_path"] for use in uses.values() if use["name"] in ("Edit", "Write")}
    failed = [use["input"]["command"] for name, use in uses.items() if use["name"] == "Bash" and results[name].get("is_error")]
    assert changed
    assert failed
    assert all(path in digest for path in changed)
    assert all(f"ran `{command}`: failed" in digest for command in failed)


@pytest.mark.parametrize("name", ["compress", "drop-all-but-first"])
def test_every_line_that_an_edit_adds_has_our_mark_and_is_no_drift(name: str, tmp_path: Path) -> None:
    added = 0
    for session in (path for path in recorded_sessions() if {"2.0.76", "2.1.45", "2.1.325"} & set(path.parts)):
        with contextlib.suppress(UsageError):  # too few turns
            plan = make_plan(session, EDITS[name])
            before = {line["uuid"] for line in map(json.loads, session.read_bytes().splitlines()) if line.get("uuid")}
            copy = tmp_path / session.name
            copy.write_bytes(b"".join(plan.new_file()))
            new = [line for line in _lines(copy) if line.get("uuid") and line["uuid"] not in before]
            assert [line.get("stenograph") for line in new] == [__version__] * len(new)
            assert set(shapes_of_drift(copy)) <= set(shapes_of_drift(session))
            added += len(new)
    assert added


def shapes_of_drift(path: Path) -> list[tuple[str, str, str]]:
    return [(one.code, one.shape, one.field) for one in check([path]).drift]


def test_a_portable_session_is_one_chain_with_increasing_times() -> None:
    parallel = next(path for path in recorded_sessions() if "2.1.325" in str(path) and path.name.startswith("7390a914"))
    chain = _conversation(_lines(parallel, MakePortable()))
    times = [line["timestamp"] for line in chain if line.get("subtype") != "compact_boundary"]
    assert times == sorted(set(times))
    uses, results = _blocks(chain, "tool_use"), _blocks(chain, "tool_result")
    assert {use["id"] for use in uses} == {result["tool_use_id"] for result in results}


def test_bookkeeping_and_agents_go() -> None:
    session = next(
        path for path in recorded_sessions() if "2.1.45" in str(path) and '"type":"progress"' in path.read_text(encoding="utf-8")
    )
    assert not [line for line in _lines(session, DropBookkeeping()) if line["type"] == "progress"]
    with_agents = next(path for path in recorded_sessions() if (path.parent / path.stem / "subagents").is_dir())
    plan = make_plan(with_agents, [DropAgents()])
    assert {path.parent.name for path in plan.working.deleted} == {"subagents"}
    assert not plan.problems


def _copied_with_agents(folder: Path) -> Path:
    source = next(path for path in recorded_sessions() if (path.parent / path.stem / "subagents").is_dir())
    shutil.copytree(source.parent / source.stem, folder / source.stem)
    shutil.copy(source, folder)
    for path in folder.rglob("*"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    return folder / source.name


def test_an_agents_file_that_was_written_to_since_the_plan_is_not_deleted(tmp_path: Path) -> None:
    session = _copied_with_agents(tmp_path)
    plan = make_plan(session, [DropAgents()])
    agent = next((tmp_path / session.stem / "subagents").glob("*.jsonl"))
    with agent.open("ab") as client:
        client.write(b'{"type":"user"}\n')
    os.utime(agent, (1_700_000_000, 1_700_000_000))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(BusyError):
        apply(plan, Archive(tmp_path.parent / f"{tmp_path.name}-archive"))
    assert {path: path.read_bytes() for path in before} == before


def test_agents_that_an_undo_brings_back_have_the_permissions_that_they_had(tmp_path: Path) -> None:
    session = _copied_with_agents(tmp_path)
    agents = list((tmp_path / session.stem / "subagents").iterdir())
    for agent in agents:
        agent.chmod(0o644)
    archive = Archive(tmp_path.parent / f"{tmp_path.name}-archive")
    entry = apply(make_plan(session, [DropAgents()]), archive)
    assert entry is not None
    assert not any(agent.exists() for agent in agents)
    archive.undo(entry.number)
    assert {agent.stat().st_mode & 0o777 for agent in agents} == {0o644}


def test_an_edit_keeps_the_time_of_change_so_that_the_session_does_not_look_alive(tmp_path: Path) -> None:
    session = _copied_with_agents(tmp_path)
    # As a session that was interrupted long ago: its last line is a prompt without an answer.
    lines = session.read_bytes().splitlines(keepends=True)
    asked = max(place for place, line in enumerate(lines) if b'"type":"assistant"' in line)
    session.write_bytes(b"".join(lines[:asked]))
    os.utime(session, (1_700_000_000, 1_700_000_000))
    before = status(glance(session), now=time.time())
    assert before is not Status.RUNNING
    assert apply(make_plan(session, [TruncateResults(limit=10)]), Archive(tmp_path.parent / f"{tmp_path.name}-archive"))
    assert session.stat().st_mtime == 1_700_000_000
    assert status(glance(session), now=time.time()) is before


@pytest.mark.parametrize("edit", [kind() for kind in get_args(AnyEdit)], ids=lambda edit: edit.summary)
def test_an_edit_is_a_value_that_a_plan_can_rely_on(edit: AnyEdit) -> None:
    assert hash(edit) == hash(type(edit)())
    with pytest.raises(AttributeError):
        edit.reason = "another"  # type: ignore[misc]
