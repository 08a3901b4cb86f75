"""Each way in which lines fail to add up is a finding with its code, file and line; what is sound gives none."""

from __future__ import annotations

from pathlib import Path

from tests.graph.building import MAIN, answer, graph_of, progress, prompt, system, unknown

from stenograph.graph import NOWHERE, Graph
from stenograph.testing.lines import user


def found(graph: Graph) -> list[tuple[str, str, int]]:
    return [(finding.code, str(finding.path), finding.line) for finding in graph.findings]


def test_a_sound_session_has_no_findings() -> None:
    graph = graph_of(
        prompt("q1", None),
        answer("a1", "q1"),
        {"type": "queue-operation", "operation": "enqueue", "content": "q2"},
        system("s1", "a1"),
        progress("p1", "s1"),
        prompt("q2", "p1"),
        agents={"x": [prompt("sq", None, isSidechain=True), answer("sa", "sq", isSidechain=True)]},
    )
    assert found(graph) == []
    assert graph.parents == [NOWHERE, 0, NOWHERE, 1, 3, 4, NOWHERE, 6]


def test_a_parent_that_is_in_no_file_dangles() -> None:
    graph = graph_of(prompt("q1", None), answer("a1", "gone"))
    assert found(graph) == [("dangling-parent", "main.jsonl", 2)]
    assert graph.parents == [NOWHERE, NOWHERE]


def test_a_compaction_whose_logical_parent_was_never_written_follows_the_line_before() -> None:
    """As 14 of 33 public compactions do."""
    lines = [prompt("q1", None), answer("a1", "q1")]
    graph = graph_of(
        *lines, system("cut", None, subtype="compact_boundary", logicalParentUuid="never written"), prompt("q2", "cut")
    )
    assert graph.before == [NOWHERE, 0, 1, 2]
    named = graph_of(*lines, system("cut", None, subtype="compact_boundary", logicalParentUuid="q1"), prompt("q2", "cut"))
    assert named.before == [NOWHERE, 0, 0, 2]


def test_what_came_before_never_leads_back_where_links_point_down() -> None:
    """A link that was written counts more than a guess: q2 hangs off the last line, which leads back to it."""
    graph = graph_of(prompt("q1", None), prompt("q2", "a2"), answer("a1", "gone"), answer("a2", "a1"))
    assert graph.before == [NOWHERE, 3, NOWHERE, 2]


def test_a_parent_of_null_does_not_dangle() -> None:
    assert found(graph_of(prompt("q1", None), prompt("q2", None))) == []


def test_a_parent_may_stand_in_another_file_of_the_family() -> None:
    graph = graph_of(prompt("q1", None), agents={"x": [prompt("sq", "q1", isSidechain=True)]})
    assert found(graph) == [("parent-in-another-file", "agent-x.jsonl", 1)]
    assert graph.parents == [NOWHERE, 0]


def test_a_parent_in_the_same_file_is_preferred_to_its_copy_in_another() -> None:
    copied = [prompt("q1", None, isSidechain=True), answer("a1", "q1", isSidechain=True)]
    graph = graph_of(prompt("q1", None), answer("a0", "q1"), agents={"x": copied})
    assert "parent-in-another-file" not in [code for code, _, _ in found(graph)]
    assert graph.parents == [NOWHERE, 0, NOWHERE, 2]


def test_a_parent_further_down_is_found_and_told_of() -> None:
    graph = graph_of(answer("a1", "q1"), prompt("q1", None))
    assert found(graph) == [("forward-parent", "main.jsonl", 1)]
    assert graph.parents == [1, NOWHERE]


def test_a_parent_further_up_however_far_is_nothing_odd() -> None:
    assert found(graph_of(prompt("q1", None), *[answer(f"a{i}", "q1") for i in range(50)])) == []


def test_a_record_that_names_itself_as_its_parent_is_a_root() -> None:
    graph = graph_of(prompt("q1", "q1"), answer("a1", "q1"))
    assert found(graph) == [("self-parent", "main.jsonl", 1)]
    assert graph.parents == [NOWHERE, 0]


def test_a_copy_of_a_record_under_its_uuid_that_names_that_uuid_is_its_own_parent() -> None:
    # The last line with a uuid counts, and that is this very line.
    graph = graph_of(prompt("q1", None), answer("q1", "q1"))
    assert found(graph) == [("duplicate-uuid", "main.jsonl", 2), ("self-parent", "main.jsonl", 2)]


def test_ancestors_that_lead_back_are_cut_once() -> None:
    graph = graph_of(prompt("a", "c"), answer("b", "a"), prompt("c", "b"), answer("d", "c"))
    assert [code for code, _, _ in found(graph)].count("parent-cycle") == 1
    assert sum(parent == NOWHERE for parent in graph.parents) == 1


def test_two_cycles_are_two_findings() -> None:
    graph = graph_of(prompt("a", "b"), answer("b", "a"), prompt("c", "d"), answer("d", "c"))
    assert [code for code, _, _ in found(graph)].count("parent-cycle") == 2


def test_many_branches_of_one_record_are_no_cycle() -> None:
    graph = graph_of(prompt("a", None), answer("b", "a"), answer("c", "a"), prompt("d", "b"), prompt("e", "c"))
    assert found(graph) == []


def test_a_uuid_that_stands_twice_in_a_file_means_its_last_line() -> None:
    graph = graph_of(prompt("q1", None), answer("a1", "q1"), prompt("q1", None))
    assert ("duplicate-uuid", "main.jsonl", 3) in found(graph)
    assert graph.by_uuid["q1"] == 2
    assert graph.parents[1] == 2


def test_every_further_line_with_a_uuid_is_told_of() -> None:
    graph = graph_of(*[prompt("q1", None) for _ in range(4)])
    assert found(graph) == [("duplicate-uuid", "main.jsonl", line) for line in (2, 3, 4)]


def test_lines_without_a_uuid_are_no_duplicates() -> None:
    bare = user(None, "x")
    assert found(graph_of(bare, bare, {**bare, "uuid": ""}, {**bare, "uuid": ""})) == []


def test_a_record_copied_into_another_file_is_a_replay_and_the_first_file_s_counts() -> None:
    graph = graph_of(prompt("q1", None), agents={"x": [prompt("q1", None), answer("a1", "q1")]})
    assert found(graph) == [("replayed-record", "agent-x.jsonl", 1)]
    assert graph.by_uuid["q1"] == 0


def test_two_files_with_records_of_their_own_replay_nothing() -> None:
    assert found(graph_of(prompt("q1", None), agents={"x": [prompt("q2", None)], "y": [prompt("q3", None)]})) == []


def test_an_unknown_kind_in_the_chain_is_told_of_where_the_chain_hangs_off_it() -> None:
    graph = graph_of(prompt("q1", None), unknown("u1", "q1"), answer("a1", "u1"))
    assert found(graph) == [("unknown-kind-in-chain", "main.jsonl", 3)]
    assert graph.parents == [NOWHERE, 0, 1]


def test_an_unknown_kind_that_nothing_hangs_off_is_nothing_odd() -> None:
    graph = graph_of(prompt("q1", None), unknown("u1", "q1"), answer("a1", "q1"), {"type": "never-seen", "anything": 1})
    assert found(graph) == []


def test_findings_never_repeat_what_a_transcript_says() -> None:
    secret = "the-users-own-words"
    graph = graph_of(prompt(secret, secret), prompt(secret, "gone-" + secret), unknown("u", secret), answer("a", "u"))
    assert len(graph.findings) > 2
    assert secret not in repr([(finding.code, finding.detail) for finding in graph.findings])


def test_a_finding_points_at_the_bytes_of_its_line() -> None:
    graph = graph_of(prompt("q1", None), answer("a1", "gone"))
    [finding] = graph.findings
    located = graph.nodes[1]
    assert (finding.path, finding.offset, finding.length) == (MAIN, located.offset, located.length)
    assert isinstance(finding.path, Path)
