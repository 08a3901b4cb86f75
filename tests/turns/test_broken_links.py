"""Lines whose links are odd: their turns are still what a person would say."""

from __future__ import annotations

from tests.graph.building import answer, graph_of, prompt, system, tool_result, tool_use

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
