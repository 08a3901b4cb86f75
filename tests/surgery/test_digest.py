"""What is in a digest: by hand on conversations written here, by a reader of its own on the ten largest public sessions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.corpora import CORPUS, without_agents
from tests.homes import session_id, write_session
from tests.surgery.conversations import called, linked, turn

from stenograph.errors import UsageError
from stenograph.surgery import Compress, DropToolCalls, DropTurns, Plan, Selector, make_plan

Line = dict[str, Any]


def _largest() -> list[Path]:
    return sorted(without_agents((CORPUS / "public").rglob("*.jsonl")), key=lambda path: -path.stat().st_size)


def _digest(plan: Plan) -> tuple[str, int]:
    """What was put in, and the node of the first line that is kept."""
    summary = plan.working.new_lines[1]
    content = json.loads(json.dumps(getattr(summary.record, "content", "")))
    assert isinstance(content, str)
    return content, summary.before


def _condensed(path: Path, first_kept: int) -> list[Line]:
    """The lines on the way from the first one that is kept to the root, compactions passed over."""
    lines = []
    for data in path.read_bytes().splitlines():
        try:
            line = json.loads(data)
        except ValueError:
            line = None
        lines.append(line if isinstance(line, dict) else {})
    by_uuid = {line["uuid"]: line for line in lines if line.get("uuid")}
    way: list[Line] = []
    seen: set[str] = set()
    uuid: Any = lines[first_kept].get("parentUuid")
    while uuid in by_uuid and uuid not in seen:
        seen.add(uuid)
        way.append(by_uuid[uuid])
        uuid = by_uuid[uuid].get("parentUuid") or by_uuid[uuid].get("logicalParentUuid")
    return way


def _digest_lines(tmp_path: Path, *calls: list[Line], keep_tool_calls: bool = False) -> list[str]:
    """The lines of the digest of a turn with these calls that begin with a dash."""
    lines = linked(*turn("Look", *calls), *turn("Go on"))
    path = write_session(tmp_path, session_id(1), lines)
    plan = make_plan(path, [Compress(Selector(keep_last=1), keep_tool_calls=keep_tool_calls)])
    assert plan.problems == []
    return [line for line in _digest(plan)[0].splitlines() if line.startswith("- ")]


READS = [called("Read", {"file_path": f"/p/{number}"}, "x" * number) for number in (1, 2)]


def test_calls_that_are_left_out_are_counted_by_tool(tmp_path: Path) -> None:
    grep = called("Grep", {"pattern": "x"}, "found")
    assert _digest_lines(tmp_path, READS[0], grep, READS[1]) == ["- 3 more calls: 2 Read, 1 Grep"]
    assert _digest_lines(tmp_path, grep) == ["- 1 more call: 1 Grep"]
    kept = _digest_lines(tmp_path, READS[0], grep, READS[1], keep_tool_calls=True)
    assert kept == ["- Read(file_path=/p/1)", "- Grep(pattern=x)", "- Read(file_path=/p/2)"]


def test_what_a_tool_was_given_is_written_as_json(tmp_path: Path) -> None:
    given = {"pattern": "x", "-n": True, "path": None, "glob": ["a", 1.5]}
    failed = called("Grep", given, "no such folder", is_error=True)
    assert _digest_lines(tmp_path, failed) == ['- Grep(pattern=x, -n=true, path=null, glob=["a",1.5]): failed: no such folder']
    odd = called("Bash", {"command": {"run": False}}, "ok")
    assert _digest_lines(tmp_path, odd) == ['- ran `{"run":false}`: done']


def test_a_named_call_tells_four_values_of_eighty_characters_and_no_change_of_a_file(tmp_path: Path) -> None:
    given = {"a": "x" * 80, "b": "y" * 81, "c": 1, "d": 2, "e": 3}
    write = called("Write", {"file_path": "/p/new", "content": "words"}, "written")
    named = f"- Grep(a={'x' * 80}, b={'y' * 80} [… 1 characters more], c=1, d=2)"
    lines = _digest_lines(tmp_path, called("Grep", given, "found"), write, keep_tool_calls=True)
    assert lines == [named, "- 1 more call: 1 Write"]


def test_of_an_answer_the_last_thing_said_stands_from_its_beginning(tmp_path: Path) -> None:
    lines = linked(*turn("Look", answer="a" * 1_500 + "z" * 10), *turn("Go on"))
    plan = make_plan(write_session(tmp_path, session_id(1), lines), [Compress(Selector(keep_last=1))])
    assert f"The answer:\n> {'a' * 1_500} [… 10 characters more]" in _digest(plan)[0]


@pytest.mark.parametrize("tool", ["Task", "Agent"])
def test_a_sub_agent_is_told_by_its_task_and_the_end_of_its_answer(tool: str, tmp_path: Path) -> None:
    given = {"description": "Find the bug", "prompt": "Look everywhere", "subagent_type": "Explore"}
    short = called(tool, given, "It is in\nparser.py.")
    assert _digest_lines(tmp_path, short) == [f"- {tool} (Explore): Find the bug: answered: It is in parser.py."]
    long = called(tool, given, "a" * 1_000 + "z" * 600)
    ending = "[1,000 characters before …] " + "z" * 600
    assert _digest_lines(tmp_path, long) == [f"- {tool} (Explore): Find the bug: answered: {ending}"]
    failed = called(tool, given, "overloaded", is_error=True)
    assert _digest_lines(tmp_path, failed) == [f"- {tool} (Explore): Find the bug: failed: overloaded"]


def _flat(text: str) -> str:
    return " ".join(text.split())


def test_every_prompt_every_file_changed_and_every_failing_command_is_in_the_digest() -> None:
    if not _largest():
        pytest.skip("no corpus of public sessions")
    looked_at, refused = 0, list[str]()
    for path in _largest():
        try:
            plan = make_plan(path, [Compress(Selector(keep_last=1))])
        except UsageError:  # a single turn
            continue
        if plan.problems:  # a cut-out of a session whose last turn hangs off a line that is not there: refused, nothing is lost
            refused.append(path.name)
        elif not plan.is_empty:  # else a compaction stands behind all but its last turn already
            _assert_all_is_in_it(path, plan)
            looked_at += 1
        if looked_at == 10:
            assert refused == ["general-tool-calls.jsonl"]
            return
    raise AssertionError(f"only {looked_at} public sessions can be compressed")


def _assert_all_is_in_it(path: Path, plan: Plan) -> None:
    assert plan.outlook.tokens_after < plan.outlook.tokens_before
    digest, first_kept = _digest(plan)
    quoted = _flat(digest.replace("\n> ", "\n"))
    lines = _condensed(path, first_kept)
    results = {
        block["tool_use_id"]: block
        for line in lines
        if line.get("type") == "user" and isinstance(line["message"]["content"], list)
        for block in line["message"]["content"]
        if block.get("type") == "tool_result"
    }
    prompts = files = failures = 0
    for line in lines:
        content = line["message"]["content"] if line.get("type") in ("user", "assistant") else None
        is_own = line.get("type") == "user" and not line.get("isMeta") and not line.get("isCompactSummary")
        if is_own and isinstance(content, str) and not content.startswith(("<", "Caveat", "[Request")):
            prompts += 1
            assert _flat(content) in quoted
        for block in content if line.get("type") == "assistant" and isinstance(content, list) else ():
            if block.get("type") != "tool_use" or block["id"] not in results:
                continue
            is_error = bool(results[block["id"]].get("is_error"))
            if block["name"] in ("Edit", "Write", "MultiEdit") and not is_error:
                files += 1
                assert block["input"]["file_path"] in digest
            elif block["name"] == "Bash" and is_error:
                failures += 1
                assert _flat(block["input"]["command"])[:200] in _flat(digest)
    assert prompts + files + failures


def test_what_is_dropped_by_the_same_command_is_not_in_the_digest(tmp_path: Path) -> None:
    lines = linked(
        *turn("First thing", answer="First answer."),
        *turn("Second thing", called("Bash", {"command": "ls"}, "no such place", is_error=True), answer="Second answer."),
        *turn("Third thing", answer="Third answer."),
    )
    path = write_session(tmp_path, session_id(1), lines)
    first = Selector(turns=((1, 1),))
    plan = make_plan(path, [DropTurns(first), DropToolCalls(), Compress(Selector(keep_last=1))])
    assert (plan.problems, plan.done[2].counts["turns"]) == ([], 1)
    digest, first_kept = _digest(plan)
    assert "> Second thing" in digest
    assert "> Second answer." in digest
    assert not any(gone in digest for gone in ("First", "ls", "no such place", "Third"))
    assert lines[first_kept]["message"]["content"] == "Third thing"
    # As `--drop-turns --compress` with one choice for both: nothing is left to be condensed.
    for which in (first, Selector(keep_last=1)):
        both = make_plan(path, [DropTurns(which), Compress(which)])
        assert (both.problems, both.working.new_lines) == ([], [])
        assert (both.done[1].counts, both.done[1].note) == (
            {},
            "the selected turns are already dropped; nothing is left to compress",
        )


def test_a_call_that_shares_its_line_with_words_is_dropped_from_the_digest_too(tmp_path: Path) -> None:
    lines = linked(*turn("Look", called("Bash", {"command": "ls"}, "nothing", is_error=True)), *turn("Go on"))
    lines[1]["message"]["content"].insert(0, {"type": "text", "text": "I look."})
    path = write_session(tmp_path, session_id(1), lines)
    kept, _ = _digest(make_plan(path, [Compress(Selector(keep_last=1))]))
    assert "- said: I look.\n- ran `ls`: failed: nothing" in kept
    dropped, _ = _digest(make_plan(path, [DropToolCalls(), Compress(Selector(keep_last=1))]))
    assert "- said: I look.\nThe answer:" in dropped


def test_the_turn_behind_the_digest_is_the_first_that_stays(tmp_path: Path) -> None:
    lines = linked(*turn("One"), *turn("Two"), *turn("Three"))
    path = write_session(tmp_path, session_id(1), lines)
    plan = make_plan(path, [DropTurns(Selector(turns=((2, 2),))), Compress(Selector(turns=((1, 1),)))])
    digest, first_kept = _digest(plan)
    assert plan.problems == []
    assert "Two" not in digest
    assert lines[first_kept]["message"]["content"] == "Three"
    with pytest.raises(UsageError, match="newest"):
        make_plan(path, [DropTurns(Selector(turns=((2, 3),))), Compress(Selector(turns=((1, 1),)))])


def test_a_summary_is_in_the_digest_even_where_the_turn_in_which_it_came_is_dropped(tmp_path: Path) -> None:
    lines = linked(
        *turn("One"),
        {"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted", "isSidechain": False},
        {**turn("What was said before.")[0], "isCompactSummary": True},
        *turn("Two"),
        *turn("Three"),
    )
    lines[2] |= {"logicalParentUuid": lines[1]["uuid"], "parentUuid": None, "compactMetadata": {"trigger": "manual"}}
    path = write_session(tmp_path, session_id(1), lines)
    plan = make_plan(path, [DropTurns(Selector(turns=((1, 1),))), Compress(Selector(keep_last=1))], prune=True)
    assert plan.problems == []
    digest, _ = _digest(plan)
    assert "What was said before." in digest
    assert "> Two" in digest
    assert "> One" not in digest
