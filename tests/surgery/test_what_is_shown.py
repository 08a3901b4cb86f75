"""What a reader sees of an edited session: the conversation as it goes on, and what was set aside as a branch.

What is in the files is read by the standard library alone; of RICH, recorded from 2.0.76, the calls are counted by hand.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from tests.cli.running import run
from tests.corpora import RICH
from tests.surgery.edited import EDITS, recorded_sessions

from stenograph.analysis.changes import changed_files
from stenograph.errors import UsageError
from stenograph.messages import plain, resume_messages
from stenograph.pricing import session_cost
from stenograph.sessions.loading import load_file
from stenograph.surgery import AnyEdit, DropToolCalls, DropTurns, Selector, make_plan
from stenograph.turns import Branch, Session

SESSIONS = recorded_sessions()
#: Condensed turns are shown still, before their compaction; files of agents are no part of the conversation.
DROPPING = [name for name in EDITS if "compress" not in name and name not in ("condensed", "drop-agents")]


def _edited(path: Path, folder: Path, *edits: AnyEdit) -> Path:
    plan = make_plan(path, list(edits))
    assert plan.problems == []
    folder.mkdir(parents=True, exist_ok=True)
    copy = folder / path.name
    copy.write_bytes(b"".join(plan.new_file()))
    return copy


def _tools(branch: Branch, first: int = 1) -> Counter[str]:
    return Counter(call.name for turn in branch.turns for call in turn.tool_calls if turn.number >= first)


def _uses_in(path: Path) -> Counter[str]:
    """The tools that the lines of a file call, each line once."""
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    contents = [line["message"]["content"] for line in lines if line["type"] == "assistant" and not line["isSidechain"]]
    return Counter(block["name"] for content in contents for block in content if block["type"] == "tool_use")


def _sent_uses(session: Session) -> set[str]:
    messages = plain(resume_messages(session.graph))
    return {block["id"] for message in messages for block in message["content"] if block["type"] == "tool_use"}


def test_dropped_calls_are_no_more_in_their_turn_but_on_a_branch_beside_it(tmp_path: Path) -> None:
    before = load_file(RICH)
    assert len(before.branches) == 1
    assert _tools(before.branches[0]) == _uses_in(RICH)
    assert [sum(call.name == "Bash" for call in turn.tool_calls) for turn in before.turns] == [3, 1, 1]
    path = _edited(RICH, tmp_path, DropToolCalls(Selector(tools=("Bash",))))
    after = load_file(path)
    current, *others = after.branches
    assert current.is_current
    assert _tools(current) == _uses_in(RICH) - Counter(Bash=100)
    assert [turn.prompt for turn in current.turns] == [turn.prompt for turn in before.turns]
    assert [turn.status for turn in current.turns] == [turn.status for turn in before.turns]
    # The first one's response also says something: its line leaves the file. The others are all that their responses said.
    assert _uses_in(path)["Bash"] == 4
    assert [_tools(branch, branch.shared + 1) for branch in others] == [Counter(Bash=2), Counter(Bash=1), Counter(Bash=1)]
    for branch in others:
        aside = branch.turns[-1]
        assert (aside.number, aside.prompt) == (branch.shared + 1, before.turns[branch.shared].prompt)
        assert all(call.answered for call in aside.tool_calls)


@pytest.mark.proof
@pytest.mark.parametrize("name", DROPPING)
def test_no_turn_of_an_edited_session_holds_a_call_that_is_not_sent_any_more(name: str, tmp_path: Path) -> None:
    dropped = 0
    for place, path in enumerate(SESSIONS):
        try:
            after = load_file(_edited(path, tmp_path / str(place), *EDITS[name]))
        except UsageError:  # the only turn can't be dropped
            continue
        gone = _sent_uses(load_file(path)) - _sent_uses(after)
        shown = {call.id for turn in after.turns for call in turn.tool_calls}
        assert shown.isdisjoint(gone), path
        assert _sent_uses(after) <= shown, path
        dropped += len(gone)
    assert dropped or not {"calls", "turn", "together"} & set(name.split("-"))


@pytest.mark.proof
@pytest.mark.parametrize("name", [name for name in DROPPING if name != "drop-branches"])  # which takes out what was counted
def test_what_was_set_aside_is_counted_once_as_before(name: str, tmp_path: Path) -> None:
    for place, path in enumerate(SESSIONS):
        try:
            copy = _edited(path, tmp_path / str(place), *EDITS[name])
        except UsageError:  # the only turn can't be dropped
            continue
        before, after = load_file(path), load_file(copy)
        inside = [node for turn in after.all_turns for node in turn.nodes]
        assert len(inside) == len(set(inside))
        agents = sum(run.tokens.total for run in before.agents) - sum(run.tokens.total for run in after.agents)
        assert after.tokens.total == before.tokens.total - agents, path  # the copy has no files of agents
        own = before.graph.records[: before.graph.files[0].last]
        assert session_cost(after.graph.records[: after.graph.files[0].last]).usd == session_cost(own).usd, path


def test_a_turn_is_dropped_with_what_was_set_aside_in_it_before(tmp_path: Path) -> None:
    once = _edited(RICH, tmp_path / "once", DropToolCalls())
    calls = _tools(load_file(RICH).branches[0])
    twice = load_file(_edited(once, tmp_path / "twice", DropTurns(Selector(turns=((1, 1),)))))
    first, *rest = load_file(RICH).turns
    assert first.tool_calls
    assert [turn.prompt for turn in twice.turns] == [turn.prompt for turn in rest]
    assert _tools(twice.branches[0]) == Counter()
    assert sum(calls.values()) >= sum(len(turn.tool_calls) for turn in twice.all_turns) >= 1
    # Nothing that was set aside in the turn that left is told of another turn.
    assert {turn.prompt for turn in twice.all_turns if turn.parted_from >= 0} <= {turn.prompt for turn in rest}


def test_files_tell_of_all_branches_unless_one_is_chosen(tmp_path: Path) -> None:
    after = load_file(_edited(RICH, tmp_path, DropToolCalls(Selector(tools=("Write", "Edit")))))
    assert [(Path(file.path).name, file.edits, file.writes) for file in changed_files(after) if file.changed] == [
        ("notes.md", 1, 0),
        ("new file \u2013 é.txt", 0, 1),
    ]
    assert [file.path for file in changed_files(after, after.turns) if file.changed] == []


def test_a_file_is_told_in_the_order_in_which_it_was_changed_whatever_was_set_aside(tmp_path: Path) -> None:
    lines = [
        _line(1, "user", "Go."),
        _line(
            2, "assistant", [{"type": "tool_use", "id": "t1", "name": "Write", "input": {"file_path": "/a", "content": "one\n"}}]
        ),
        _line(3, "user", [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}], {"type": "create", "content": "one\n"}),
        _line(4, "assistant", [{"type": "tool_use", "id": "t2", "name": "Edit", "input": _CHANGE}]),
        _line(5, "user", [{"type": "tool_result", "tool_use_id": "t2", "content": "ok"}], {**_EDITED, "originalFile": "one\n"}),
        _line(6, "assistant", [{"type": "text", "text": "Done."}]),
    ]
    path = tmp_path / "00000000-0000-4000-8000-00000000000a.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    after = load_file(_edited(path, tmp_path / "edited", DropToolCalls(Selector(tools=("Write",)))))
    assert [call.name for turn in after.turns for call in turn.tool_calls] == ["Edit"]
    (file,) = changed_files(after)
    assert (file.before, file.after, file.doubts, file.turns) == ("", "two\n", (), (1,))


_CHANGE = {"file_path": "/a", "old_string": "one", "new_string": "two"}
_EDITED = {
    "filePath": "/a",
    "oldString": "one",
    "newString": "two",
    "replaceAll": False,
    "userModified": False,
    "structuredPatch": [],
}


def _line(number: int, role: str, content: object, structured: dict[str, object] | None = None) -> dict[str, object]:
    name = "00000000-0000-4000-8000-00000000000{}".format
    answer = {"id": f"msg_{number}", "type": "message", "model": "claude-sonnet-4-6"} if role == "assistant" else {}
    more = {"toolUseResult": {"filePath": "/a", "structuredPatch": [], **structured}} if structured else {}
    return {
        "parentUuid": name(number - 1) if number > 1 else None,
        "isSidechain": False,
        "type": role,
        "message": {**answer, "role": role, "content": content},
        "uuid": name(number),
        "timestamp": f"2026-01-15T09:00:0{number}.000Z",
        "sessionId": "00000000-0000-4000-8000-00000000000a",
        "version": "2.1.325",
        **more,
    }


def test_the_commands_show_the_conversation_and_name_the_branch(tmp_path: Path) -> None:
    path = _edited(RICH, tmp_path, DropToolCalls())
    told = json.loads(run("turns", path, "--json").stdout)
    assert [call["tool_calls"] for turn in told["turns"] for call in turn["calls"]] == [
        []
    ] * 5  # the responses that say something
    assert [(each["current"], each["shared"], each["turns"]) for each in told["branches"]] == [
        (True, 3, 3),
        (False, 0, 1),
        (False, 1, 2),
        (False, 2, 3),
    ]
    shown, beside = run("show", path).stdout, run("show", path, "--branch", "2").stdout
    assert "branch 2 starts" in shown
    assert "missing.txt" not in shown
    assert "missing.txt" in beside
