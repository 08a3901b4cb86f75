"""Whatever happens to the lines of a session: nothing is lost, nothing is counted twice, nothing goes round in circles."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.graph.building import MAIN, before_long, locate
from tests.graph.mutating import spoiled_lines

from stenograph.graph import NOWHERE, Graph, build_graph, choose_leaf, current_chain
from stenograph.records import AssistantRecord, ChainedRecord, DamagedRecord, Located, UserRecord, encode, read_records
from stenograph.sessions.loading import load_file, stream
from stenograph.turns import Session, Turn, build_session

often = settings(max_examples=200, deadline=None)
sometimes = settings(max_examples=100, deadline=None)

RELEASES = ("2.0.76", "2.1.45", "2.1.112", "2.1.325")
# A sub-agent's file beside the session's own, spoiled independently: the same fixture may have given both.
families = st.tuples(spoiled_lines(), spoiled_lines() | st.just([]))
BROKEN_LINKS = {"dangling-parent", "self-parent", "parent-cycle"}


def built(lines: Sequence[bytes], agent: Sequence[bytes] = ()) -> Graph:
    files: list[tuple[Path, str, list[Located]]] = [(MAIN, "", locate(lines))]
    if agent:
        files.append((Path("agent-x.jsonl"), "x", locate(agent)))
    return build_graph(files)


@often
@given(family=families)
def test_every_line_is_a_node_and_the_records_keep_their_order(family: tuple[list[bytes], list[bytes]]) -> None:
    lines, agent = family
    graph = built(lines, agent)
    assert [encode(record) for record in graph.records] == [*lines, *agent]
    assert len(graph.nodes) == len(graph.parents) == len(graph.before) == len(lines) + len(agent)
    covered = [node for file in graph.files for node in range(file.first, file.last)]
    assert covered == list(range(len(graph.nodes)))


@sometimes
@given(lines=spoiled_lines(), ended=st.booleans())
def test_every_line_that_is_no_record_is_a_finding_with_its_line(lines: list[bytes], ended: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "s.jsonl")
        path.write_bytes(b"\n".join(lines) + (b"\n" if ended else b""))
        graph = build_graph([(path, "", read_records(path))])
    damaged = {located.number for located in graph.nodes if isinstance(located.record, DamagedRecord)}
    assert damaged <= {finding.line for finding in graph.findings}
    assert all(finding.path == path and 1 <= finding.line <= len(graph.nodes) for finding in graph.findings)


@often
@given(family=families)
def test_a_link_leads_to_what_it_names_or_is_a_finding(family: tuple[list[bytes], list[bytes]]) -> None:
    graph = built(*family)
    broken = {(finding.path, finding.line) for finding in graph.findings if finding.code in BROKEN_LINKS}
    for node, record in enumerate(graph.records):
        named = record.parentUuid if isinstance(record, ChainedRecord) and isinstance(record.parentUuid, str) else None
        parent = graph.parents[node]
        if parent >= 0:
            assert named is not None
            assert getattr(graph.records[parent], "uuid", None) == named
        elif named is not None:
            assert (graph.file_of(node).path, graph.nodes[node].number) in broken


@often
@given(family=families)
def test_links_never_lead_in_a_circle(family: tuple[list[bytes], list[bytes]]) -> None:
    graph = built(*family)
    for links in (graph.parents, graph.before):
        for start in range(len(links)):
            node, steps = start, 0
            while node != NOWHERE:
                assert 0 <= node < len(links)
                node, steps = links[node], steps + 1
                assert steps <= len(links)


@often
@given(family=families)
def test_what_came_before_keeps_every_parent(family: tuple[list[bytes], list[bytes]]) -> None:
    """But a line of the session's own file that hangs off one of a sub-agent's: nothing of the session came before it there."""
    graph = built(*family)
    main = graph.files[0]
    for node, (before, parent) in enumerate(zip(graph.before, graph.parents, strict=True)):
        if node < main.last <= parent:
            assert before < main.last
        elif parent >= 0:
            assert before == parent


@often
@given(family=families, release=st.sampled_from(RELEASES))
def test_a_chain_is_walked_without_repeating_itself_and_ends_in_its_leaf(
    family: tuple[list[bytes], list[bytes]], release: str
) -> None:
    graph = built(*family)
    with before_long(1.0):
        chain = current_chain(graph, release)
    leaf = choose_leaf(graph, release)
    assert len(set(chain)) == len(chain)
    if leaf < 0:
        assert chain == []
    elif isinstance(graph.records[leaf], UserRecord | AssistantRecord):
        assert chain[-1] == leaf
    else:  # a bridge over a missing parent may lead to what follows the last prompt or answer (rule 23)
        assert leaf in chain


def touch_everything(session: Session) -> None:
    """Ask every value that is worked out when asked for; none may raise."""
    runs = session.agents
    for turn in (*session.all_turns, *(turn for run in runs for turn in run.turns)):
        assert isinstance(turn.prompt + turn.answer + turn.uuid + turn.status + turn.kind, str)
        assert (turn.duration_ms or 0) >= 0
        assert turn.tokens.total >= 0
        assert all(event.kind for event in turn.events)
        for call in turn.calls:
            assert isinstance(call.text + call.thinking + call.model + call.message_id + call.request_id, str)
            assert (call.stop_reason, call.started, call.ended) is not None
            for tool in call.tool_calls:
                assert isinstance(tool.name + tool.id + tool.result + tool.read_output(), str)
                assert (tool.structured, tool.agent, tool.spilled, tool.started, tool.ended) is not None
    assert all(isinstance(run.prompt + run.answer, str) and run.tokens.total >= 0 for run in runs)
    assert session.tokens.total >= 0
    assert (session.findings, session.continues, session.compactions, session.events) is not None


@often
@given(family=families)
def test_no_session_is_too_spoiled_to_be_read(family: tuple[list[bytes], list[bytes]]) -> None:
    with before_long():
        touch_everything(build_session(built(*family), "s"))


@sometimes
@given(family=families, meta=st.sampled_from([b"", b"{", b"[]", b'{"toolUseId":"toolu_1"}', b'{"toolUseId":7}']))
def test_no_family_on_disk_is_too_spoiled_to_be_loaded_or_streamed(family: tuple[list[bytes], list[bytes]], meta: bytes) -> None:
    lines, agent = family
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "00000000-0000-4000-8000-000000000000.jsonl")
        path.write_bytes(b"".join(line + b"\n" for line in lines))
        subagents = path.with_suffix("") / "subagents"
        subagents.mkdir(parents=True)
        (subagents / "agent-x.jsonl").write_bytes(b"\n".join(agent))
        (subagents / "agent-x.meta.json").write_bytes(meta)
        (Path(folder) / "agent-loose.jsonl").write_bytes(b"\n".join(agent))
        with before_long():
            session = load_file(path)
            touch_everything(session)
        assert [turn.number for turn in stream(path)] == [turn.number for turn in session.all_turns]


@often
@given(family=families)
def test_no_node_is_in_two_turns(family: tuple[list[bytes], list[bytes]]) -> None:
    session = build_session(built(*family), "s")
    turns = [*session.all_turns, *(turn for run in session.agents for turn in run.turns)]
    times = Counter(node for turn in turns for node in turn.nodes)
    assert [node for node, count in times.items() if count > 1] == []
    for turn in turns:
        assert turn.node in turn.nodes
        assert list(turn.nodes) == sorted(turn.nodes)


@often
@given(family=families)
def test_what_came_after_a_person_s_prompt_is_in_a_turn(family: tuple[list[bytes], list[bytes]]) -> None:
    graph = built(*family)
    session = build_session(graph, "s")
    inside = {node for turn in session.all_turns for node in turn.nodes}
    main = {node for node in range(graph.files[0].last) if _is_main(graph, node)}
    for start in main:
        node = start
        # As far as the session's own conversation reaches.
        while node in main and not _is_a_person_s(session, node):
            node = graph.before[node]
        if node in main:
            assert start in inside


def _is_main(graph: Graph, node: int) -> bool:
    record = graph.records[node]
    return isinstance(record, ChainedRecord) and not record.isSidechain


def _is_a_person_s(session: Session, node: int) -> bool:
    understood = session.context.inputs.get(node)
    return understood is not None and understood.is_human


@often
@given(family=families)
def test_branches_run_from_a_first_turn_to_a_last_and_hold_every_turn(family: tuple[list[bytes], list[bytes]]) -> None:
    session = build_session(built(*family), "s")
    for branch in session.branches:
        assert [turn.number for turn in branch.turns] == list(range(1, len(branch.turns) + 1))
        assert _links(branch.turns) == [NOWHERE, *(turn.node for turn in branch.turns[:-1])]
        current = {turn.node for turn in session.turns}
        assert branch.shared == sum(turn.node in current for turn in branch.turns)
    assert sum(branch.is_current for branch in session.branches) == bool(session.all_turns)
    on_branches = {turn.node for branch in session.branches for turn in branch.turns}
    assert on_branches == {turn.node for turn in session.all_turns}


def _links(turns: Sequence[Turn]) -> list[int]:
    return [turn.previous for turn in turns]


@sometimes
@given(family=families)
def test_tokens_are_counted_once_per_response(family: tuple[list[bytes], list[bytes]]) -> None:
    # Independently: of each `message.id` the greatest of its lines, over both files; responses without an id are left out.
    lines, agent = family
    session = build_session(built(lines, agent), "s")
    greatest: Counter[str] = Counter()
    for line in (*lines, *agent):
        for identity, tokens in _output_tokens(line):
            greatest[identity] = max(greatest[identity], tokens)
    turns = [*session.all_turns, *(turn for run in session.agents for turn in run.turns)]
    counted: Counter[str] = Counter()
    for call in (call for turn in turns for call in turn.calls if call.message_id and not call.replayed):
        counted[call.message_id] += call.tokens.output
    assert all(tokens <= greatest[identity] for identity, tokens in counted.items())


def _output_tokens(line: bytes) -> list[tuple[str, int]]:
    try:
        message = json.loads(line.decode("utf-8", "replace"))["message"]
        identity, tokens = message["id"], message["usage"]["output_tokens"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return []
    return [(identity, tokens)] if isinstance(identity, str) and isinstance(tokens, int) else []
