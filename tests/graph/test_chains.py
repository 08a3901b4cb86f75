"""Leaf choice and chain walking, release by release. The rules are those of the resume contract, found with real clients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.graph.building import (
    Line,
    answer,
    attachment,
    before_long,
    chain_of,
    graph_of,
    last_prompt,
    progress,
    prompt,
    system,
    unknown,
)

from stenograph.graph import NOWHERE, Graph, choose_leaf, walk_chain
from stenograph.graph.readings import preserved_by, read_graph, reading_habits
from stenograph.records import ChainedRecord

BY_TIME = ("1.0.128", "2.0.36", "2.0.42", "2.0.50", "2.0.76", "2.1.29", "2.1.45")
BY_PLACE = ("2.1.112", "2.1.200", "2.1.325")
ALL = BY_TIME + BY_PLACE
BY_LAST_PROMPT = ("2.1.200", "2.1.325")
MakeRecord = Callable[[str, str, int], dict[str, Any]]
ZERO = "00000000-0000-0000-0000-000000000000"

TALK: tuple[Line, ...] = (prompt("q1", None, 1), answer("a1", "q1", 2), prompt("q2", "a1", 3), answer("a2", "q2", 4))
# Two answers' worth of branches: `old` was left, `new` is what the file ends with.
FORK: tuple[Line, ...] = (
    prompt("q1", None, 1), answer("a1", "q1", 2),
    prompt("old", "a1", 3), answer("old-a", "old", 4),
    prompt("new", "a1", 5), answer("new-a", "new", 6),
)  # fmt: skip


def rewritten(uuid: str, parent: str | None, at: int, text: str) -> Line:
    return prompt(uuid, parent, at, message={"role": "user", "content": text})


@pytest.mark.parametrize("release", ALL)
def test_a_plain_conversation_is_resumed_whole(release: str) -> None:
    assert chain_of(release, *TALK) == ["q1", "a1", "q2", "a2"]


@pytest.mark.parametrize("release", ALL)
def test_rule_17_of_lines_with_one_uuid_the_last_wins_in_place(release: str) -> None:
    assert chain_of(release, *TALK, rewritten("q1", None, 1, "q1 anew")) == ["q1 anew", "a1", "q2", "a2"]


@pytest.mark.parametrize("release", BY_TIME)
def test_rule_19_old_clients_start_at_the_greatest_timestamp_whatever_the_order(release: str) -> None:
    assert chain_of(release, TALK[3], TALK[1], TALK[2], TALK[0]) == ["q1", "a1", "q2", "a2"]
    newest_first = (prompt("q1", None, 1), answer("late", "q1", 9), answer("early", "q1", 5))
    assert chain_of(release, *newest_first) == ["q1", "late"]


@pytest.mark.parametrize("release", BY_TIME)
def test_rule_19_old_clients_take_the_first_of_equal_timestamps(release: str) -> None:
    assert chain_of(release, *[{**line, "timestamp": "2026-01-01T00:00:00Z"} for line in TALK if isinstance(line, dict)]) == [
        "q1"
    ]


@pytest.mark.parametrize("release", BY_TIME)
def test_rule_19_old_clients_cut_off_an_answer_with_its_prompt_s_timestamp(release: str) -> None:
    assert chain_of(release, *TALK[:3], answer("a2", "q2", 3)) == ["q1", "a1", "q2"]


@pytest.mark.parametrize("release", BY_TIME)
def test_rule_19_an_inner_message_from_the_future_cuts_off_all_below_it_in_old_clients(release: str) -> None:
    assert chain_of(release, TALK[0], answer("a1", "q1", 60), *TALK[2:]) == ["q1", "a1"]


@pytest.mark.parametrize("release", BY_TIME)
@pytest.mark.parametrize("kind", [system, attachment])
def test_rule_19_system_and_attachment_records_count_for_old_clients(release: str, kind: MakeRecord) -> None:
    assert chain_of(release, *TALK, kind("end", "a2", 9)) == ["q1", "a1", "q2", "a2", "end"]


def test_rule_19_progress_counts_for_2_1_45_and_not_for_2_0_76() -> None:
    # Both were asked: 2.1.45 went on from the progress record, 2.0.76 does not know the kind.
    lines = (*TALK, progress("pr", "a1", 9))
    assert chain_of("2.1.45", *lines) == ["q1", "a1", "pr"]
    assert chain_of("2.0.76", *lines) == ["q1", "a1", "q2", "a2"]


def test_rule_19_an_unknown_kind_does_not_count_for_old_clients() -> None:
    for release in ("2.0.76", "2.1.45"):
        assert chain_of(release, *TALK, unknown("un", "a1", 9)) == ["q1", "a1", "q2", "a2"]


@pytest.mark.parametrize("release", BY_PLACE)
def test_rule_20_newer_clients_take_the_last_leaf_of_the_file_whatever_the_timestamps(release: str) -> None:
    assert chain_of(release, *FORK) == ["q1", "a1", "new", "new-a"]
    late_branch_first = (*FORK[:2], prompt("old", "a1", 30), answer("old-a", "old", 40), *FORK[4:])
    assert chain_of(release, *late_branch_first) == ["q1", "a1", "new", "new-a"]


@pytest.mark.parametrize("release", BY_PLACE)
def test_rule_20_equal_timestamps_are_fine_in_newer_clients(release: str) -> None:
    same = [{**line, "timestamp": "2026-01-01T00:00:00Z"} for line in TALK if isinstance(line, dict)]
    assert chain_of(release, *same) == ["q1", "a1", "q2", "a2"]


@pytest.mark.parametrize("release", BY_PLACE)
def test_rule_20_lines_in_reverse_order_give_the_whole_chain_in_newer_clients(release: str) -> None:
    assert chain_of(release, *reversed(TALK)) == ["q1", "a1", "q2", "a2"]


@pytest.mark.parametrize("release", BY_PLACE)
def test_rule_20_a_trailing_system_line_counts_as_a_leaf(release: str) -> None:
    assert chain_of(release, *TALK, system("end", "a2", 9)) == ["q1", "a1", "q2", "a2", "end"]


def test_rule_20_an_attachment_counts_as_a_leaf() -> None:
    assert chain_of("2.1.325", *TALK, attachment("end", "a1", 9)) == ["q1", "a1", "end"]


@pytest.mark.parametrize("kind", [progress, unknown])
def test_rule_20_progress_and_unknown_kinds_are_no_leaves(kind: MakeRecord) -> None:
    # Asked of 2.1.325.
    assert chain_of("2.1.325", *TALK, kind("end", "a1", 9)) == ["q1", "a1", "q2", "a2"]


@pytest.mark.parametrize("release", BY_PLACE)
def test_rule_20_and_49_a_compaction_without_messages_at_the_end_is_no_leaf(release: str) -> None:
    boundary = system("cut", None, 9, subtype="compact_boundary", logicalParentUuid="a2")
    assert chain_of(release, *TALK, boundary) == ["q1", "a1", "q2", "a2"]


@pytest.mark.parametrize("release", BY_PLACE)
def test_rule_20_a_compaction_with_its_summary_is_where_the_chain_begins(release: str) -> None:
    boundary = system("cut", None, 9, subtype="compact_boundary", logicalParentUuid="a2")
    after = (prompt("summary", "cut", 10, isCompactSummary=True), prompt("q3", "summary", 11))
    assert chain_of(release, *TALK, boundary, *after) == ["cut", "summary", "q3"]


@pytest.mark.parametrize("release", BY_LAST_PROMPT)
@pytest.mark.parametrize("place", [0, 3, 6])
def test_rule_21_the_last_prompt_chooses_the_branch_wherever_it_stands(release: str, place: int) -> None:
    lines = [*FORK[:place], last_prompt("old-a"), *FORK[place:]]
    assert chain_of(release, *lines) == ["q1", "a1", "old", "old-a"]


@pytest.mark.parametrize("release", BY_LAST_PROMPT)
def test_rule_21_of_several_last_prompts_the_last_rules(release: str) -> None:
    assert chain_of(release, last_prompt("new-a"), *FORK, last_prompt("old-a")) == ["q1", "a1", "old", "old-a"]
    assert chain_of(release, last_prompt("old-a"), *FORK, last_prompt("new-a")) == ["q1", "a1", "new", "new-a"]


@pytest.mark.parametrize("release", BY_LAST_PROMPT)
def test_rule_21_a_last_prompt_that_is_not_explicit_extends_to_the_last_leaf_below_it(release: str) -> None:
    # 2.1.325 was asked: where the last leaf of the file is on another branch the chain is cut at the record that is named.
    assert chain_of(release, *FORK, last_prompt("old")) == ["q1", "a1", "old"]
    assert chain_of(release, *FORK, last_prompt("q1")) == ["q1", "a1", "new", "new-a"]


@pytest.mark.parametrize("release", BY_LAST_PROMPT)
def test_rule_21_an_explicit_last_prompt_cuts_exactly_there(release: str) -> None:
    assert chain_of(release, *FORK, last_prompt("old", explicit=True)) == ["q1", "a1", "old"]
    assert chain_of(release, *FORK, last_prompt("a1", explicit=True)) == ["q1", "a1"]


@pytest.mark.parametrize("release", BY_LAST_PROMPT)
def test_rule_21_lines_written_after_an_explicit_last_prompt_extend_it(release: str) -> None:
    after = (prompt("q3", "old", 8), answer("a3", "q3", 9))
    assert chain_of(release, *FORK, last_prompt("old", explicit=True), *after) == ["q1", "a1", "old", "q3", "a3"]


@pytest.mark.parametrize("release", BY_LAST_PROMPT)
def test_rule_21_an_unknown_or_missing_leaf_is_ignored(release: str) -> None:
    assert chain_of(release, *FORK, last_prompt("gone")) == ["q1", "a1", "new", "new-a"]
    assert chain_of(release, *FORK, last_prompt(None)) == ["q1", "a1", "new", "new-a"]
    assert chain_of(release, *FORK, {"type": "last-prompt", "lastPrompt": "x"}) == ["q1", "a1", "new", "new-a"]


def test_rule_21_an_unknown_leaf_is_ignored_together_with_the_last_prompts_before_it() -> None:
    # Asked of 2.1.325: the last line rules even where what it names is not there, or is progress.
    assert chain_of("2.1.325", *FORK, last_prompt("old-a"), last_prompt("gone")) == ["q1", "a1", "new", "new-a"]
    assert chain_of("2.1.325", *FORK, progress("pr", "old-a", 9), last_prompt("pr")) == ["q1", "a1", "new", "new-a"]


def test_rule_21_descendants_that_stand_before_what_was_named_do_not_extend_it() -> None:
    # Asked of 2.1.325.
    assert chain_of("2.1.325", *reversed(TALK), last_prompt("q1")) == ["q1"]


def test_rule_21_the_newest_descendant_is_the_last_in_the_file() -> None:
    # Asked of 2.1.325: the left branch has the later timestamps.
    late = (*FORK[:2], prompt("old", "a1", 30), answer("old-a", "old", 40), *FORK[4:])
    assert chain_of("2.1.325", *late, last_prompt("a1")) == ["q1", "a1", "new", "new-a"]


@pytest.mark.parametrize("release", BY_LAST_PROMPT)
def test_rule_21_the_zero_leaf_goes_back_to_the_end_of_the_file(release: str) -> None:
    assert chain_of(release, *FORK, last_prompt("old-a"), last_prompt(ZERO, explicit=True)) == ["q1", "a1", "new", "new-a"]


@pytest.mark.parametrize("release", BY_LAST_PROMPT)
def test_rule_21_a_new_branch_behind_a_stale_last_prompt_is_ignored(release: str) -> None:
    assert chain_of(release, *FORK[:4], last_prompt("old-a"), *FORK[4:]) == ["q1", "a1", "old", "old-a"]


@pytest.mark.parametrize("release", [*BY_TIME, "2.1.112"])
def test_rule_21_older_clients_ignore_the_last_prompt(release: str) -> None:
    assert chain_of(release, *FORK, last_prompt("old-a")) == ["q1", "a1", "new", "new-a"]


@pytest.mark.parametrize("release", ALL)
def test_rule_21_a_summary_s_leaf_never_matters(release: str) -> None:
    assert chain_of(release, *FORK, {"type": "summary", "summary": "x", "leafUuid": "old-a"}) == ["q1", "a1", "new", "new-a"]


@pytest.mark.parametrize("release", ALL)
def test_rule_22_only_the_chosen_tree_is_walked_when_there_are_two_roots(release: str) -> None:
    assert chain_of(release, *TALK, prompt("other", None, 8), answer("other-a", "other", 9)) == ["other", "other-a"]


@pytest.mark.parametrize("release", ALL)
def test_rule_22_a_record_without_a_parent_member_is_a_root(release: str) -> None:
    root = {key: value for key, value in prompt("other", None, 8).items() if key != "parentUuid"}
    assert chain_of(release, *TALK, root, answer("other-a", "other", 9)) == ["other", "other-a"]


@pytest.mark.parametrize("release", ALL)
def test_rule_22_a_child_may_stand_before_its_parent(release: str) -> None:
    assert chain_of(release, TALK[1], TALK[0], TALK[2], TALK[3]) == ["q1", "a1", "q2", "a2"]


@pytest.mark.parametrize("release", ALL)
def test_rule_22_the_logical_parent_is_not_followed(release: str) -> None:
    assert chain_of(release, *TALK, prompt("q3", None, 8, logicalParentUuid="a2"), answer("a3", "q3", 9)) == ["q3", "a3"]


@pytest.mark.parametrize("release", BY_TIME)
def test_rule_23_a_missing_parent_begins_the_chain_in_old_clients(release: str) -> None:
    assert chain_of(release, *TALK[:2], prompt("q2", "gone", 3), TALK[3]) == ["q2", "a2"]


@pytest.mark.parametrize("release", BY_PLACE)
def test_rule_23_a_missing_parent_is_bridged_to_the_line_before_in_newer_clients(release: str) -> None:
    assert chain_of(release, *TALK[:2], prompt("q2", "gone", 3), TALK[3]) == ["q1", "a1", "q2", "a2"]


@pytest.mark.parametrize("release", BY_PLACE)
def test_rule_23_a_line_before_of_the_same_time_is_bridged_to(release: str) -> None:
    assert chain_of(release, *TALK[:2], prompt("q2", "gone", 2), TALK[3]) == ["q1", "a1", "q2", "a2"]


# What 2.1.325 sent when it resumed each of these files. The bridge goes to the newest record of the main chain that is not newer
# than the one without a parent, and not more than five seconds older; where in the file it stands does not matter.
BRIDGES: dict[str, tuple[list[Line], list[str]]] = {
    "nothing older": ([prompt("q1", None, 50), answer("a1", "q1", 60), prompt("q2", "gone", 3), TALK[3]], ["q2", "a2"]),
    "five seconds older": ([*TALK[:2], prompt("q2", "gone", 7), answer("a2", "q2", 8)], ["q1", "a1", "q2", "a2"]),
    "six seconds older": ([*TALK[:2], prompt("q2", "gone", 8), answer("a2", "q2", 9)], ["q2", "a2"]),
    "the line before is newer": (
        [TALK[0], answer("a1", "q1", 30), {"type": "queue-operation", "operation": "dequeue"}, prompt("q2", "gone", 3), TALK[3]],
        ["q1", "q2", "a2"],
    ),
    "the line before is an older branch": (
        [TALK[0], answer("a1", "q1", 3), answer("x", "q1", 2), prompt("q2", "gone", 4), answer("a2", "q2", 5)],
        ["q1", "a1", "q2", "a2"],
    ),
    "two of the same time": (
        [TALK[0], answer("a1", "q1", 3), answer("x", "q1", 3), prompt("q2", "gone", 4), answer("a2", "q2", 5)],
        ["q1", "a1", "q2", "a2"],
    ),
    "the line before is a sidechain's": (
        [*TALK[:2], answer("aside", "a1", 2, isSidechain=True), prompt("q2", "gone", 3), TALK[3]],
        ["q1", "a1", "q2", "a2"],
    ),
    "only a sidechain before": ([prompt("aside", None, 2, isSidechain=True), prompt("q2", "gone", 3), TALK[3]], ["q2", "a2"]),
    "the line before is a sidecar": (
        [*TALK[:2], {"type": "queue-operation", "operation": "dequeue"}, prompt("q2", "gone", 3), TALK[3]],
        ["q1", "a1", "q2", "a2"],
    ),
    "the line before is a copy of an earlier one": (
        [*TALK[:2], prompt("q1", None, 1), prompt("q2", "gone", 3), TALK[3]],
        ["q1", "a1", "q2", "a2"],
    ),
    "the one to bridge to stands further down": (
        [prompt("q2", "gone", 4), TALK[0], answer("a1", "q1", 3), answer("a2", "q2", 5)],
        ["q1", "a1", "q2", "a2"],
    ),
    "the newest is its own child": ([TALK[0], prompt("q2", "gone", 4), answer("a2", "q2", 3)], ["q1", "q2", "a2"]),
    "the newest has no timestamp": (
        [TALK[0], {**answer("a1", "q1"), "timestamp": None}, prompt("q2", "gone", 3), TALK[3]],
        ["q1", "q2", "a2"],
    ),
    "it has no timestamp itself": ([*TALK[:2], {**prompt("q2", "gone"), "timestamp": None}, TALK[3]], ["q2", "a2"]),
    "the newest is a system record": (
        [*TALK[:2], system("sy", None, 3), prompt("q2", "gone", 4), answer("a2", "q2", 5)],
        ["sy", "q2", "a2"],
    ),
    "the newest is an attachment": (
        [*TALK[:2], attachment("at", "a1", 3), prompt("q2", "gone", 4), answer("a2", "q2", 5)],
        ["q1", "a1", "at", "q2", "a2"],
    ),
    "the newest is progress": (
        [*TALK[:2], progress("pr", None, 3), prompt("q2", "gone", 4), answer("a2", "q2", 5)],
        ["q1", "a1", "q2", "a2"],
    ),
    "the newest is of an unknown kind": (
        [*TALK[:2], unknown("un", None, 3), prompt("q2", "gone", 4), answer("a2", "q2", 5)],
        ["q1", "a1", "q2", "a2"],
    ),
    "two links are missing": ([TALK[0], answer("a1", "gone", 2), prompt("q2", "lost", 3), TALK[3]], ["q1", "a1", "q2", "a2"]),
}


@pytest.mark.parametrize("case", BRIDGES)
def test_rule_23_2_1_325_bridges_by_time_not_by_place(case: str) -> None:
    lines, chain = BRIDGES[case]
    assert chain_of("2.1.325", *lines) == chain


@pytest.mark.parametrize("release", BY_PLACE)
def test_rule_23_a_bridge_never_leads_in_a_circle(release: str) -> None:
    assert sorted(chain_of(release, answer("a2", "q2", 3), prompt("q2", "gone", 4))) == ["a2", "q2"]


@pytest.mark.parametrize("release", BY_PLACE)
def test_rule_23_a_parent_line_that_cannot_be_parsed_is_bridged(release: str) -> None:
    assert chain_of(release, TALK[0], b'{"type":"assistant","uuid":"a1","parentUu', *TALK[2:]) == ["q1", "q2", "a2"]


@pytest.mark.parametrize("release", BY_TIME)
def test_rule_23_a_parent_line_that_cannot_be_parsed_begins_the_chain_in_old_clients(release: str) -> None:
    assert chain_of(release, TALK[0], b'{"type":"assistant","uuid":"a1","parentUu', *TALK[2:]) == ["q2", "a2"]


@pytest.mark.parametrize("release", BY_TIME)
def test_rule_24_an_unknown_kind_cuts_the_chain_in_old_clients(release: str) -> None:
    assert chain_of(release, TALK[0], unknown("a1", "q1", 2), *TALK[2:]) == ["q2", "a2"]


@pytest.mark.parametrize("release", BY_PLACE)
def test_rule_24_an_unknown_kind_is_bridged_like_a_missing_parent_in_newer_clients(release: str) -> None:
    assert chain_of(release, TALK[0], unknown("a1", "q1", 2), *TALK[2:]) == ["q1", "q2", "a2"]


@pytest.mark.parametrize("release", ["1.0.128", "2.0.36", "2.0.42", "2.0.50", "2.0.76"])
def test_rule_24_progress_cuts_the_chain_up_to_2_0_76(release: str) -> None:
    assert chain_of(release, TALK[0], progress("a1", "q1", 2), *TALK[2:]) == ["q2", "a2"]


@pytest.mark.parametrize("release", ["2.1.29", "2.1.45", *BY_PLACE])
def test_rule_24_progress_is_walked_through_from_2_1_29_on(release: str) -> None:
    chain = chain_of(release, TALK[0], progress("a1", "q1", 2), *TALK[2:])
    assert [name for name in chain if name != "a1"] == ["q1", "q2", "a2"]


@pytest.mark.parametrize("release", ALL)
@pytest.mark.parametrize("kind", [system, attachment])
def test_rule_24_system_and_attachment_records_are_walked_through_by_all(release: str, kind: MakeRecord) -> None:
    assert chain_of(release, TALK[0], kind("a1", "q1", 2), *TALK[2:]) == ["q1", "a1", "q2", "a2"]


@pytest.mark.parametrize("release", ["2.1.45", *BY_PLACE])
def test_rule_25_a_cycle_of_parents_is_walked_once_round(release: str) -> None:
    assert chain_of(release, prompt("q1", "a1", 1), *TALK[1:]) == ["q1", "a1", "q2", "a2"]
    # From wherever it is entered.
    assert chain_of(release, prompt("q1", "a1", 1), TALK[1], prompt("q2", "q1", 3), TALK[3]) == ["a1", "q1", "q2", "a2"]


def test_rule_25_a_cycle_that_hangs_2_0_76_does_not_hang_us() -> None:
    assert chain_of("2.0.76", prompt("q1", "a1", 1), *TALK[1:])[-1] == "a2"


@pytest.mark.parametrize("release", ALL)
def test_rule_26_a_sidechain_line_is_never_the_leaf(release: str) -> None:
    aside = (prompt("aside", None, 8, isSidechain=True), answer("aside-a", "aside", 9, isSidechain=True))
    assert chain_of(release, *TALK, *aside) == ["q1", "a1", "q2", "a2"]


@pytest.mark.parametrize("release", ALL)
def test_rule_26_a_file_of_nothing_but_sidechain_has_no_leaf(release: str) -> None:
    graph = graph_of(prompt("aside", None, 1, isSidechain=True), answer("aside-a", "aside", 2, isSidechain=True))
    assert choose_leaf(graph, release) == NOWHERE
    assert walk_chain(graph, NOWHERE, release) == []


@pytest.mark.parametrize("release", ALL)
def test_rule_26_a_sidechain_line_inside_the_main_chain_is_walked_through(release: str) -> None:
    assert chain_of(release, TALK[0], answer("a1", "q1", 2, isSidechain=True), *TALK[2:]) == ["q1", "a1", "q2", "a2"]


def test_an_empty_family_has_no_leaf() -> None:
    assert choose_leaf(graph_of()) == NOWHERE


@pytest.mark.parametrize(
    ("head", "tail", "expected"),
    [
        ("q2", "a2", ["q2", "a2"]),
        ("a1", "a2", ["a1", "q2", "a2"]),
        ("a2", "a2", ["a2"]),
        # What does not hang together says nothing.
        ("a2", "q2", None),
        ("never written", "a2", None),
        ("q2", "never written", None),
    ],
)
def test_a_compaction_names_what_it_preserved_by_its_ends(head: str, tail: str, expected: list[str] | None) -> None:
    segment = {"headUuid": head, "tailUuid": tail, "anchorUuid": "summary"}
    cut = system("cut", None, 9, subtype="compact_boundary", compactMetadata={"preservedSegment": segment})
    graph = graph_of(*TALK, cut, prompt("summary", "cut", 10))
    with before_long(1.0):
        reading = read_graph(graph, reading_habits("2.0.76"))  # which leaves everything where it hangs
        found = preserved_by(graph, reading, len(TALK))
    assert (None if found is None else [_uuid(graph, node) for node in found]) == expected


def _uuid(graph: Graph, node: int) -> object:
    record = graph.records[node]
    return record.uuid if isinstance(record, ChainedRecord) else None
