"""Small things about turns that no recording shows by itself: inputs, times, changes, copies, agents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.corpora import FIXTURES

from stenograph.family import read_family
from stenograph.index import calls_in
from stenograph.inputs import InputKind, classify
from stenograph.records import UserRecord, decode
from stenograph.sessions.loading import load_file, stream
from stenograph.testing.lines import assistant, encode, system, text, user, write
from stenograph.turns import Session, tokens_of_all
from stenograph.turns.reader import TurnReader


def session_of(tmp_path: Path, *lines: dict[str, Any]) -> Session:
    return load_file(write(tmp_path / "session.jsonl", lines))


def said(uuid: str, parent: str | None, text: str, second: int = 0, **more: Any) -> dict[str, Any]:
    at = f"2026-01-01T{10 + second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}.000Z"
    return user(uuid, text, parent, **{"timestamp": at, **more})


def answered(uuid: str, parent: str, text: str, second: int = 0, model: str = "m-1", message: str = "") -> dict[str, Any]:
    usage = {"input_tokens": 3, "output_tokens": 4}
    answer = assistant(uuid, message or uuid, [{"type": "text", "text": text}], parent, model=model, usage=usage)
    return answer | {"timestamp": said(uuid, parent, "", second)["timestamp"]}


@pytest.mark.parametrize(
    ("total", "split", "written"),
    [
        (100, (70, 30), (70, 30)),
        # Where total and split disagree, as 2.1.325 charges: tests/pricing/test_cost.py.
        (10_000, (1_000, 2_000), (8_000, 2_000)),
        (10_000, (0, 0), (10_000, 0)),
        (0, (1_000, 2_000), (1_000, 2_000)),
        (2_000, (1_000, 3_000), (0, 2_000)),
    ],
)
def test_tokens_written_to_the_cache_are_counted_once_by_how_long_they_last(
    tmp_path: Path, total: int, split: tuple[int, int], written: tuple[int, int]
) -> None:
    answer = answered("b", "a", "done")
    answer["message"]["usage"] |= {
        "cache_creation_input_tokens": total,
        "cache_creation": {"ephemeral_5m_input_tokens": split[0], "ephemeral_1h_input_tokens": split[1]},
    }
    tokens = session_of(tmp_path, said("a", None, "Do it."), answer).tokens
    assert (tokens.cache_write_5m, tokens.cache_write_1h) == written
    assert (tokens.prompt, tokens.total) == (3 + sum(written), 7 + sum(written))


@pytest.mark.parametrize(
    ("counts", "expected"), [((1_000, 1_000), (0, 1_000)), ((1_000, 0), (1_000, 0)), ((10, 2_000), (0, 2_000))]
)
def test_the_line_of_a_response_with_the_most_tokens_counts_as_in_the_index(
    tmp_path: Path, counts: tuple[int, int], expected: tuple[int, int]
) -> None:
    """Counts grow, and a fork copies lines with their counts at zero. Only the second line says how long the cache is kept."""
    lines = [answered("b", "a", "one", message="m"), answered("c", "b", "two", message="m")]
    for line, total in zip(lines, counts, strict=True):
        line["message"]["usage"] |= {"cache_creation_input_tokens": total}
    lines[1]["message"]["usage"] |= {"cache_creation": {"ephemeral_1h_input_tokens": counts[1]}}
    tokens = session_of(tmp_path, said("a", None, "Do it."), *lines).tokens
    (call,) = calls_in(encode(lines).splitlines(keepends=True)).values()
    assert (tokens.cache_write_5m, tokens.cache_write_1h) == expected
    assert tokens == call.tokens


@pytest.mark.parametrize(
    ("content", "more", "kind", "text"),
    [
        ("Do it.", {}, InputKind.PROMPT, "Do it."),
        ([{"type": "text", "text": "Do it."}], {}, InputKind.PROMPT, "Do it."),
        ("<ide_selection>lines</ide_selection>Do it.", {}, InputKind.IDE_SELECTION, "Do it."),
        ("<ide_opened_file>f</ide_opened_file> go on", {}, InputKind.IDE_OPENED_FILE, "go on"),
        ("<ide_opened_file>f</ide_opened_file>", {}, InputKind.EMPTY, ""),
        ([{"type": "image", "source": {}}, {"type": "text", "text": "this?"}], {}, InputKind.IMAGE, "this?"),
        ("<command-name>/cost</command-name><command-args>x</command-args>", {}, InputKind.COMMAND, "/cost x"),
        ("<bash-stdout>1", {}, InputKind.LOCAL_OUTPUT, "<bash-stdout>1"),
        ("<bash-input>ls</bash-input>", {}, InputKind.BASH, "!ls"),
        ("<bash-notification>done", {}, InputKind.NOTIFICATION, "<bash-notification>done"),
        ("<teammate-message from='a'>", {}, InputKind.NOTIFICATION, "<teammate-message from='a'>"),
        ("done", {"origin": {"kind": "task-notification"}}, InputKind.NOTIFICATION, "done"),
        ("# Skill", {"isMeta": True}, InputKind.META, "# Skill"),
        ("This session is", {"isCompactSummary": True}, InputKind.COMPACTION_SUMMARY, "This session is"),
        ("[Request interrupted by user]", {}, InputKind.INTERRUPT, "[Request interrupted by user]"),
        ("Continue from where you left off.", {}, InputKind.SYNTHETIC, "Continue from where you left off."),
        ("", {}, InputKind.EMPTY, ""),
        (None, {}, InputKind.EMPTY, ""),
        ([{"type": "tool_result", "tool_use_id": "t", "content": "x"}], {}, InputKind.TOOL_RESULT, ""),
        (
            [{"type": "tool_result", "tool_use_id": "t", "content": "x"}, {"type": "text", "text": "and this"}],
            {}, InputKind.TOOL_RESULT, "and this",
        ),
    ],
)  # fmt: skip
def test_an_input_is_classified_by_what_it_holds(content: Any, more: dict[str, Any], kind: InputKind, text: str) -> None:
    record = decode(json.dumps(user(None, content, **more)).encode())
    assert isinstance(record, UserRecord)
    understood = classify(record)
    assert (understood.kind, understood.text) == (kind, text)


def test_a_local_command_typed_hours_later_does_not_lengthen_a_turn(tmp_path: Path) -> None:
    command = said("c", "a", "<command-name>/cost</command-name>", 4 * 3600)
    session = session_of(tmp_path, said("q", None, "Q"), answered("a", "q", "A", 5), command)
    (turn,) = session.turns
    assert turn.duration_ms == 5000
    assert [event.what for event in turn.events] == ["/cost"]


def test_a_change_of_model_or_permission_mode_is_an_event_of_the_turn(tmp_path: Path) -> None:
    session = session_of(
        tmp_path,
        said("q1", None, "Q", 0, permissionMode="plan"),
        answered("a1", "q1", "A", 1),
        said("q2", "a1", "Q", 2, permissionMode="default"),
        answered("a2", "q2", "A", 3, model="m-2"),
        answered("a3", "a2", "A", 4, model="<synthetic>"),
    )
    assert [[(event.kind, event.what) for event in turn.events] for turn in session.turns] == [
        [],
        [("permission-mode", "default"), ("model", "m-2")],
    ]


def test_a_response_that_a_prompt_cut_in_two_counts_once(tmp_path: Path) -> None:
    session = session_of(
        tmp_path,
        said("q1", None, "Q", 0),
        answered("a1", "q1", "one", 1, message="m"),
        said("q2", "a1", "Q", 2),
        answered("a2", "q2", "two", 3, message="m"),
    )
    assert [[call.part.value for call in turn.calls] for turn in session.turns] == [["whole"], ["rest"]]
    assert session.tokens.total == 7


def test_a_history_written_twice_counts_once(tmp_path: Path) -> None:
    session = session_of(
        tmp_path,
        said("q1", None, "Q", 0),
        answered("a1", "q1", "one", 1, message="m"),
        said("q2", None, "Q", 2),
        answered("a2", "q2", "one", 3, message="m"),
    )
    assert [call.replayed for call in session.calls] == [False, True]
    assert session.tokens.total == 7


@pytest.mark.parametrize("release", ["2.0.76", "2.1.45", "2.1.112", "2.1.325"])
def test_a_fork_and_its_origin_together_cost_what_was_asked_once(release: str) -> None:
    folder = next((FIXTURES / "recorded" / release / "print").iterdir())
    paths = [path for path in folder.glob("*.jsonl") if not path.name.startswith("agent-")]
    output: dict[str, int] = {}
    for path in folder.rglob("*.jsonl"):  # by hand: the greatest count of each response, wherever it stands
        for line in path.read_text().splitlines():
            message = json.loads(line).get("message") if line.strip() else None
            if isinstance(message, dict) and "usage" in message:
                output[message["id"]] = max(output.get(message["id"], 0), message["usage"]["output_tokens"])
    sessions = [load_file(path) for path in paths]
    assert sum(session.tokens.output for session in sessions) > tokens_of_all(sessions).output
    warm_ups = {call.message_id for s in sessions for run in s.agents for t in run.turns for call in t.calls}
    everything = {call.message_id for s in sessions for call in s.calls} | warm_ups
    assert tokens_of_all(sessions).output == sum(count for message, count in output.items() if message in everything)


def test_a_file_under_another_name_is_the_session_that_its_lines_name(tmp_path: Path) -> None:
    session = session_of(tmp_path, said("q", None, "Q", sessionId="0a5c1e00-0000-4000-8000-000000000001"))
    assert session.id == "0a5c1e00-0000-4000-8000-000000000001"
    assert session.continues == ()


def agent_lines(agent: str, prompt: str) -> list[dict[str, Any]]:
    line = {**said("s-" + agent, None, prompt), "isSidechain": True, "agentId": agent}
    return [line, {**answered("t-" + agent, "s-" + agent, "done"), "isSidechain": True, "agentId": agent}]


def task(uuid: str, parent: str, tool: str, prompt: str) -> dict[str, Any]:
    line = answered(uuid, parent, "")
    line["message"]["content"] = [
        {"type": "tool_use", "id": tool, "name": "Task", "input": {"prompt": prompt, "description": "d"}}
    ]
    return line


def write_family(
    tmp_path: Path, main: list[dict[str, Any]], agents: dict[str, list[dict[str, Any]]], metas: dict[str, Any]
) -> Session:
    session = "0a5c1e00-0000-4000-8000-000000000001"
    folder = tmp_path / session / "subagents"
    folder.mkdir(parents=True)
    for agent, lines in agents.items():
        (folder / f"agent-{agent}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for agent, meta in metas.items():
        (folder / f"agent-{agent}.meta.json").write_text(meta if isinstance(meta, str) else json.dumps(meta))
    path = tmp_path / f"{session}.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in main))
    return load_file(path)


def test_an_agent_is_linked_by_the_strongest_evidence_there_is(tmp_path: Path) -> None:
    result = said("r2", "a2", "")
    result["message"]["content"] = [{"type": "tool_result", "tool_use_id": "t2", "content": "x"}]
    result["toolUseResult"] = {"status": "completed", "prompt": "same", "agentId": "byresult"}
    progress = {**said("p", "a3", ""), "type": "progress", "parentToolUseID": "t3"}
    progress["data"] = {"type": "agent_progress", "agentId": "byprogress", "prompt": "same", "message": {}}
    main = [
        said("q", None, "Q"), task("a1", "q", "t1", "same"), task("a2", "a1", "t2", "same"), task("a3", "a2", "t3", "same"),
        task("a4", "a3", "t4", "same"), task("a5", "a4", "t5", "same"), result, progress,
    ]  # fmt: skip
    agents = {name: agent_lines(name, "same") for name in ("bymeta", "byresult", "byprogress", "byprompt1", "byprompt2", "stray")}
    metas = {"bymeta": {"toolUseId": "t1"}, "byprompt1": "{not json", "stray": {"toolUseId": 7}}
    agents["stray"] = agent_lines("stray", "something nobody asked")
    session = write_family(tmp_path, main, agents, metas)
    assert {run.agent_id: (run.tool_use_id, run.evidence) for run in session.agents} == {
        "bymeta": ("t1", "meta"),
        "byresult": ("t2", "result"),
        "byprogress": ("t3", "progress"),
        "byprompt1": ("t4", "prompt"),
        "byprompt2": ("t5", "prompt"),
        "stray": ("", ""),
    }
    assert [tool.agent.agent_id for tool in session.tool_calls if tool.agent] == [
        "bymeta", "byresult", "byprogress", "byprompt1", "byprompt2",
    ]  # fmt: skip


@pytest.mark.parametrize("release", ["2.0.76", "2.1.45", "2.1.325"])
def test_streaming_gives_the_turns_that_loading_gives(release: str) -> None:
    for path in sorted((FIXTURES / "recorded" / release).rglob("*.jsonl")):
        if path.name.startswith("agent-"):
            continue
        whole = [(turn.kind, turn.prompt, turn.answer, len(turn.tool_calls)) for turn in load_file(path).all_turns]
        assert [(turn.kind, turn.prompt, turn.answer, len(turn.tool_calls)) for turn in stream(path)] == whole


def test_an_agent_that_nothing_names_belongs_to_the_turn_in_which_it_began(tmp_path: Path) -> None:
    """Old releases have no meta file, and an interrupted call has no result that names its agent."""
    path = tmp_path / "11111111-1111-4111-8111-111111111111.jsonl"
    turns = [said("a", None, "one", 10), answered("b", "a", "x", 15), said("c", "b", "two", 60), answered("d", "c", "y", 65)]
    path.write_text("".join(json.dumps({**line, "sessionId": path.stem}) + "\n" for line in turns))
    for agent, second in {"aaaaaaa": 5, "bbbbbbb": 13, "ccccccc": 60, "ddddddd": 90}.items():
        lines = [said(f"{agent}1", None, "task", second), answered(f"{agent}2", f"{agent}1", "done", second + 1)]
        inside = {"isSidechain": True, "agentId": agent, "sessionId": path.stem}
        (tmp_path / f"agent-{agent}.jsonl").write_text("".join(json.dumps({**line, **inside}) + "\n" for line in lines))
    began = [{agent.agent_id for agent in read.unlinked} for read in TurnReader(path, read_family(path)).turns()]
    assert began == [{"aaaaaaa", "bbbbbbb"}, {"ccccccc", "ddddddd"}]


def test_the_answer_is_the_last_text_that_the_model_wrote(tmp_path: Path) -> None:
    call = answered("c", "b", "")
    call["message"]["content"] = [{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]
    error = answered("d", "c", "API Error: 500", model="<synthetic>")
    session = session_of(tmp_path, said("a", None, "one"), answered("b", "a", "said"), call, error)
    assert session.turns[0].answer == "said"


def test_the_model_of_a_session_is_that_of_its_last_call_and_never_the_clients_own(tmp_path: Path) -> None:
    first, second = answered("b", "a", "x", model="claude-one"), answered("d", "c", "y", model="claude-two")
    error = answered("e", "d", "API Error: 500", model="<synthetic>")
    assert session_of(tmp_path, said("a", None, "one"), first, said("c", "b", "two"), second, error).model == "claude-two"


def test_a_turn_behind_an_abandoned_answer_follows_that_answer(tmp_path: Path) -> None:
    """A rewind into the middle of a turn: the prompt was answered twice, and both answers were continued."""
    call = answered("b", "a", "", 1)
    call["message"]["content"] = [{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]
    result = said("c", "b", "", 2)
    result["message"]["content"] = [{"type": "tool_result", "tool_use_id": "t", "content": "done"}]
    first = [said("a", None, "one"), call, result, said("d", "c", "two", 3), answered("e", "d", "y", 4)]
    again = [answered("f", "a", "other", 5), said("g", "f", "three", 6), answered("h", "g", "z", 7)]
    session = session_of(tmp_path, *first, *again)
    ways = [[(turn.prompt, turn.answer, len(turn.tool_calls)) for turn in branch.turns] for branch in session.branches]
    assert ways == [[("one", "other", 0), ("three", "z", 0)], [("one", "", 1), ("two", "y", 0)]]


def test_a_line_may_hold_anything_where_a_reader_expects_a_word(tmp_path: Path) -> None:
    odd: dict[str, Any] = {"isSidechain": [], "agentId": {"a": 1}, "permissionMode": [1], "isMeta": {}, "isApiErrorMessage": []}
    lines = [{**said("a", None, "one"), **odd}, {**answered("b", "a", "x"), **odd}]
    path = tmp_path / "session.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert [turn.prompt for turn in stream(path)] == [turn.prompt for turn in load_file(path).turns] == ["one"]


def test_reading_on_begins_behind_the_last_line_whatever_it_is(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    title = {"type": "custom-title", "customTitle": "t", "sessionId": "session"}
    lines = [said("a", None, "one"), answered("b", "a", "x", 5), said("c", "b", "two", 60), answered("d", "c", "y", 65), title]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines) + "\n")
    first, last = TurnReader(path).turns()
    assert first.after.offset == path.read_bytes().index(b'{"type": "user", "uuid": "c"')
    assert last.after.offset == path.stat().st_size


def test_a_turn_knows_when_somebody_last_said_something_before_it(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    note = {**said("n", "b", "", 50), "type": "system", "subtype": "turn_duration"}
    lines = [said("a", None, "one"), answered("b", "a", "x", 5), note, said("c", "n", "two", 60), answered("d", "c", "y", 65)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    reader = TurnReader(path)
    assert [reader.lines(index).said_before for index in range(2)] == [None, "2026-01-01T10:00:05.000Z"]


def test_a_command_at_the_end_of_a_growing_file_is_read_again(tmp_path: Path) -> None:
    """Only all of its lines together say that nobody asked the model."""
    path = tmp_path / "session.jsonl"
    caveat = said("c", "b", "<local-command-caveat>Caveat: …</local-command-caveat>", 60, isMeta=True)
    lines = [
        said("a", None, "one"),
        answered("b", "a", "x", 5),
        caveat,
        said("d", "c", "<command-name>/model</command-name>", 60),
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    ends = [next(TurnReader(path).turns(is_ended=is_ended)).after.offset for is_ended in (False, True)]
    assert ends == [path.read_bytes().index(b'{"type": "user", "uuid": "c"'), path.stat().st_size]


def test_a_duration_that_the_client_counts_from_an_earlier_turn_is_no_more_than_has_passed(tmp_path: Path) -> None:
    """2.1.172 with a workflow in the background: 1,131,510 ms for a turn of 4 min 28 s."""
    path = write(
        tmp_path / "s.jsonl",
        [
            user("u1", "how is it going?", timestamp="2026-06-05T01:59:16.924Z"),
            {**assistant("a1", "m1", [text("Fine.")], "u1"), "timestamp": "2026-06-05T02:03:44.700Z"},
            system("s1", "turn_duration", "a1", durationMs=1131510, timestamp="2026-06-05T02:03:44.771Z"),
        ],
    )
    assert [turn.duration_ms for turn in load_file(path).turns] == [267847]
