"""Lines whose links are odd: their turns are still what a person would say."""

from __future__ import annotations

from tests.graph.building import answer, graph_of, last_prompt, prompt, system, tool_result, tool_use

from stenograph.turns import build_session


def test_a_sidechain_line_inside_the_main_chain_does_not_cut_the_turn() -> None:
    # Rule 26: such a line is sent with the rest; what hangs off it belongs to the turn still.
    aside = tool_use("u1", "q", "t1", isSidechain=True)
    session = build_session(graph_of(prompt("q", None), aside, tool_result("r1", "u1", "t1"), answer("a", "r1")), "s")
    assert len(session.turns) == 1
    assert session.turns[0].answer == "a"
    assert str(session.turns[0].status) == "done"


def test_a_child_before_its_parent_keeps_its_link_where_the_parent_has_lost_its_own() -> None:
    # The line before is only a guess at what came before; what `parentUuid` says is not.
    graph = graph_of(answer("a2", "q2", 4), prompt("q2", "gone", 3), system("s", "a2", 5))
    assert graph.before[:1] == graph.parents[:1] == [1]
    session = build_session(graph, "s")
    assert session.turns[0].answer == "a2"


def test_where_a_session_ends_before_its_first_turn_the_newest_branch_is_current() -> None:
    # A client that was rewound to the very beginning names a line that no prompt precedes.
    first = [system("s", None, 0), prompt("q1", None, 1), answer("a1", "q1", 2), prompt("q2", "a1", 3), answer("a2", "q2", 4)]
    other = [prompt("q3", "a1", 5), answer("a3", "q3", 6)]
    session = build_session(graph_of(*first, *other, last_prompt("s")), "s")
    ways = [(branch.is_current, [turn.prompt for turn in branch.turns]) for branch in session.branches]
    assert ways == [(True, ["q1", "q3"]), (False, ["q1", "q2"])]
