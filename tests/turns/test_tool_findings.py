"""Tool uses and results that do not find each other: findings with their line, wherever in the family they stand."""

from __future__ import annotations

from collections.abc import Sequence

from tests.graph.building import Line, answer, graph_of, prompt, tool_result, tool_use

from stenograph.turns import Session, build_session


def session_of(*lines: Line, agents: dict[str, Sequence[Line]] | None = None) -> Session:
    return build_session(graph_of(*lines, agents=agents), "s")


def found(session: Session) -> list[tuple[str, str, int]]:
    return [(finding.code, str(finding.path), finding.line) for finding in session.findings]


def test_uses_and_results_in_pairs_are_nothing_odd() -> None:
    session = session_of(
        prompt("q", None),
        tool_use("u1", "q", "t1"),
        tool_use("u2", "u1", "t2"),
        tool_result("r2", "u2", "t2"),
        tool_result("r1", "u1", "t1"),
        answer("a", "r1"),
    )
    assert found(session) == []
    assert [tool.answered for tool in session.tool_calls] == [True, True]


def test_a_use_that_nothing_answers_is_found() -> None:
    session = session_of(prompt("q", None), tool_use("u1", "q", "t1"))
    assert found(session) == [("unanswered-tool-use", "main.jsonl", 2)]
    assert not session.tool_calls[0].answered


def test_a_result_before_its_use_answers_it() -> None:
    session = session_of(prompt("q", None), tool_result("r1", "q", "t1"), tool_use("u1", "r1", "t1"), answer("a", "u1"))
    assert found(session) == []
    assert session.tool_calls[0].result == "done"


def test_a_result_on_another_branch_answers_its_use() -> None:
    # Newer releases hang each parallel result off its own use; the conversation goes on from the last of them.
    session = session_of(
        prompt("q", None), tool_use("u1", "q", "t1"), tool_use("u2", "u1", "t2"),
        tool_result("r1", "u1", "t1"), tool_result("r2", "u2", "t2"), answer("a", "r2"),
    )  # fmt: skip
    assert found(session) == []
    assert len(session.turns) == len(session.all_turns) == 1
    assert all(tool.answered for tool in session.turns[0].tool_calls)


def test_a_result_that_nothing_asked_for_is_found() -> None:
    session = session_of(prompt("q", None), tool_result("r1", "q", "nobody"), answer("a", "r1"))
    assert found(session) == [("orphan-tool-result", "main.jsonl", 2)]


def test_a_result_in_a_sub_agent_s_file_answers_no_less() -> None:
    session = session_of(
        prompt("q", None), tool_use("u1", "q", "t1"),
        agents={"x": [prompt("sq", None, isSidechain=True), tool_result("sr", "sq", "t1", isSidechain=True)]},
    )  # fmt: skip
    assert found(session) == []


def test_a_second_result_for_one_use_is_found_and_the_first_counts() -> None:
    second = tool_result("r2", "r1", "t1")
    second["message"]["content"][0]["content"] = "done again"
    session = session_of(prompt("q", None), tool_use("u1", "q", "t1"), tool_result("r1", "u1", "t1"), second, answer("a", "r2"))
    assert found(session) == [("duplicate-tool-result", "main.jsonl", 4)]
    assert session.tool_calls[0].result == "done"


def test_every_further_orphan_of_one_id_is_a_duplicate() -> None:
    session = session_of(
        prompt("q", None), tool_result("r1", "q", "t"), tool_result("r2", "r1", "t"), tool_result("r3", "r2", "t")
    )
    assert found(session) == [
        ("orphan-tool-result", "main.jsonl", 2),
        ("duplicate-tool-result", "main.jsonl", 3),
        ("duplicate-tool-result", "main.jsonl", 4),
    ]


def test_two_results_of_two_uses_are_no_duplicates() -> None:
    session = session_of(
        prompt("q", None), tool_use("u1", "q", "t1"), tool_result("r1", "u1", "t1"),
        tool_use("u2", "r1", "t2"), tool_result("r2", "u2", "t2"),
    )  # fmt: skip
    assert found(session) == []


def test_a_use_written_twice_is_found() -> None:
    session = session_of(
        prompt("q", None), tool_use("u1", "q", "t1"), tool_result("r1", "u1", "t1"), tool_use("u2", "r1", "t1"), answer("a", "u2")
    )
    assert found(session) == [("duplicate-tool-use", "main.jsonl", 4)]


def test_the_same_tool_used_twice_is_no_duplicate() -> None:
    session = session_of(
        prompt("q", None), tool_use("u1", "q", "t1"), tool_result("r1", "u1", "t1"), tool_use("u2", "r1", "t2"),
        tool_result("r2", "u2", "t2"),
    )  # fmt: skip
    assert "duplicate-tool-use" not in [code for code, _, _ in found(session)]


def test_a_history_written_twice_pairs_each_use_with_the_result_of_its_own_turn() -> None:
    again = tool_result("r2", "u2", "t1")
    again["message"]["content"][0]["content"] = "done again"
    session = session_of(
        prompt("q1", None), tool_use("u1", "q1", "t1"), tool_result("r1", "u1", "t1"), answer("a1", "r1"),
        prompt("q2", "a1"), tool_use("u2", "q2", "t1"), again, answer("a2", "u2"),
    )  # fmt: skip
    assert [tool.result for turn in session.turns for tool in turn.tool_calls] == ["done", "done again"]


def test_tool_findings_never_repeat_what_a_transcript_says() -> None:
    secret = "the-users-own-id"
    session = session_of(
        prompt("q", None), tool_use("u1", "q", secret), tool_use("u2", "u1", secret), tool_result("r", "u2", "x" + secret)
    )
    assert len(session.findings) == 3
    assert secret not in repr([(finding.code, finding.detail) for finding in session.findings])


def test_a_call_lasts_from_its_use_to_its_result_and_never_less_than_nothing() -> None:
    calls = [
        tool_use("u1", "q", "t1", 1),
        tool_result("r1", "u1", "t1", 3),
        tool_use("u2", "r1", "t2", 4),
        tool_result("r2", "u2", "t2", 4),
    ]
    late = [tool_use("u3", "r2", "t3", 9), tool_result("r3", "u3", "t3", 8), tool_use("u4", "r3", "t4", 10)]
    session = session_of(prompt("q", None), *calls, *late)
    assert [tool.duration_ms for tool in session.tool_calls] == [2000, 0, 0, None]
