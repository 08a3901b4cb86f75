"""Real sessions from public repositories: everything loads, and what is counted is what an independent count finds.

The count (`independent_count.py`) shares no code with the library. There is no difference, in any file.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from tests.corpora import CORPUS, ROOT
from tests.reference.seed001 import deduplicate_messages, detect_turns, pair_tool_calls
from tests.reference.seed002 import group_turns
from tests.turns.independent_count import count, count_folder, families, shapes

from stenograph.inputs import InputKind
from stenograph.sessions.loading import load_file
from stenograph.turns import CallPart, Session, Turn
from stenograph.turns.rounds import round_types
from stenograph.turns.steps import steps

PUBLIC = CORPUS / "public"
NO_CORPUS = f"no corpus of public sessions in {CORPUS.name}/public"
COUNTED = (
    "turns opened by a prompt",
    "turns opened by a command",
    "turns opened by a shell",
    "turns opened by a notification",
    "calls",
    "synthetic calls",
    "tool calls",
    "tool calls without a result",
    "results without a call",
    "agents",
    "compactions",
)
OPENED_BY = {InputKind.COMMAND: "command", InputKind.BASH: "shell", InputKind.NOTIFICATION: "notification"}


@cache
def corpus() -> dict[Path, list[Path]]:
    return families(PUBLIC)


def sessions() -> list[object]:
    found: list[object] = [pytest.param(path, id=str(path.relative_to(PUBLIC))) for path in corpus()]
    return found or [pytest.param(None, id="corpus", marks=pytest.mark.skip(reason=NO_CORPUS))]


def need_corpus() -> None:
    if not corpus():
        pytest.skip(NO_CORPUS)


def turns_of(session: Session) -> list[Turn]:
    """The turns of the session and of its agents."""
    return [*session.all_turns, *(turn for run in session.agents for turn in run.turns)]


def our_count(session: Session) -> Counter[str]:
    counts: Counter[str] = Counter()
    for turn in session.all_turns:
        if turn.kind is InputKind.EMPTY:  # its prompt is not in the file
            continue
        counts[f"turns opened by a {OPENED_BY.get(turn.kind, 'prompt')}"] += 1
    calls = [call for turn in turns_of(session) for call in turn.calls]
    codes = Counter(finding.code for finding in session.findings)
    counts["calls"] = sum(not call.is_synthetic and call.part is CallPart.WHOLE for call in calls)
    counts["synthetic calls"] = sum(call.is_synthetic and call.part is CallPart.WHOLE for call in calls)
    # By id: a history written twice holds every tool call twice.
    counts["tool calls"] = len({tool.id for call in calls for tool in call.tool_calls})
    counts["tool calls without a result"] = codes["unanswered-tool-use"]
    counts["results without a call"] = codes["orphan-tool-result"]
    counts["agents"] = len(session.agents)
    counts["compactions"] = len(session.compactions)
    return counts


def counted(counts: Counter[str]) -> dict[str, int]:
    return {name: counts[name] for name in COUNTED}


@pytest.mark.parametrize("path", sessions())
def test_a_public_session_holds_what_an_independent_count_finds(path: Path) -> None:
    assert counted(our_count(load_file(path))) == counted(count(path, corpus()[path]))


@pytest.mark.parametrize("path", sessions())
def test_everything_about_a_public_session_can_be_asked(path: Path) -> None:
    session = load_file(path)
    for turn in turns_of(session):
        assert turn.number >= 1
        assert turn.node in turn.nodes
        assert turn.status.value in ("running", "done", "interrupted", "failed")
        assert isinstance(turn.prompt, str)
        assert isinstance(turn.answer, str)
        assert turn.duration_ms is None or turn.duration_ms >= 0
        assert turn.tokens.total >= 0
        assert all(event.kind for event in turn.events)
        assert all(said.text for said in turn.interjections)
        for call in turn.calls:
            assert isinstance(call.text + call.thinking + call.model, str)
            for tool in call.tool_calls:
                assert isinstance(tool.read_output(), str)
                assert tool.structured is None or tool.answered
    assert session.tokens.total >= 0
    assert sum(branch.is_current for branch in session.branches) == (1 if session.all_turns else 0)


@pytest.mark.parametrize("path", sessions())
def test_the_seeds_algorithms_take_a_public_session_without_an_exception(path: Path) -> None:
    session = load_file(path)
    records = session.graph.records
    turns, consumed = group_turns(records)
    assert len(turns) <= consumed <= len(records)
    assert len(pair_tool_calls(records)) <= len(session.context.uses) + len(session.context.repeated_uses)
    assert {pair.tool_use_id for turn in detect_turns(records) for pair in turn.tool_calls} <= set(session.context.uses)
    assert set(round_types(session)) == {turn.node for turn in session.all_turns}
    assert set(deduplicate_messages(records)) == set(session.context.first_of_call)
    assert all(len(step.content_summary) <= 200 for step in steps(records))


@pytest.mark.proof
def test_the_totals_of_the_corpus_are_those_of_the_independent_count() -> None:
    need_corpus()
    ours: Counter[str] = Counter()
    theirs: Counter[str] = Counter()
    for path, found in count_folder(PUBLIC).items():
        ours.update(our_count(load_file(path)))
        theirs.update(found)
    assert counted(ours) == counted(theirs)
    # A corpus in which nothing happens would agree too.
    assert min(theirs[name] for name in ("turns opened by a prompt", "calls", "tool calls", "agents", "compactions")) > 0


@pytest.mark.proof
def test_the_counts_in_the_document_are_those_of_the_independent_count() -> None:
    need_corpus()
    totals: Counter[str] = Counter()
    for counts in count_folder(PUBLIC).values():
        totals.update(counts)
    expected = dict(totals) | dict(shapes(PUBLIC))
    page = (ROOT / "docs" / "seeds.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+) \| ([\d,]+) \|$", page, re.MULTILINE)
    assert {name: int(number.replace(",", "")) for name, number in rows} == expected


def test_the_independent_count_shares_no_code_with_the_library() -> None:
    source = (Path(__file__).parent / "independent_count.py").read_text(encoding="utf-8")
    imported = re.findall(r"^\s*(?:from|import) ([\w.]+)", source, re.MULTILINE)
    assert set(imported) <= {"__future__", "json", "re", "sys", "collections", "pathlib", "typing"}
