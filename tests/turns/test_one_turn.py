"""One way to make a turn: whoever asks gets the same turns.

For every recorded session and, where they are at hand, every public one: loading, streaming, reading on from any turn, following,
pages, steps and trace spans agree on which turns there are, their numbers, first and last lines, status and tokens. That those of
a loaded session are right is shown elsewhere (`test_recorded_*`, `test_public_corpus`), by counts of other programs.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.corpora import CORPUS, NO_CORPUS, ROOT, without_agents
from tests.traces.tracing import counts_told, of_kind, summed

from stenograph.config.traces import TraceConfig
from stenograph.family import read_family
from stenograph.records import AssistantRecord, ChainedRecord, UserRecord
from stenograph.redact import Masker
from stenograph.sessions.follow import Follower
from stenograph.sessions.loading import load_file, stream
from stenograph.traces.mapping import Mapper, TracedTurn
from stenograph.traces.reading import Closing, Place, read_closed
from stenograph.traces.texts import Texts
from stenograph.turns import Tokens, Turn
from stenograph.turns.reader import TurnReader
from stenograph.turns.steps import steps
from stenograph.views.pages.turn_parts import turn_page


def recorded() -> list[Path]:
    found = [path for folder in ("recordings", "tests/fixtures/recorded") for path in (ROOT / folder).rglob("*.jsonl")]
    return [path for path in without_agents(found) if path.name != "journal.jsonl"]


def _parameters() -> list[object]:
    own = [pytest.param(path, id=path.relative_to(ROOT).as_posix()) for path in recorded()]
    public = without_agents((CORPUS / "public").rglob("*.jsonl"))
    return [*own, *([pytest.param(path, id=f"public/{path.relative_to(CORPUS)}") for path in public] or [NO_CORPUS])]


EVERY_SESSION = pytest.mark.parametrize("path", _parameters())


class Seen(NamedTuple):
    """What everybody has to agree on."""

    number: int
    uuid: str
    first_line: int
    last_line: int
    status: str
    tokens: Tokens


def seen(turn: Turn) -> Seen:
    located = [turn.context.graph.nodes[node] for node in turn.nodes]
    # Whether a file is being written to is another question, and depends on the clock.
    turn.context.is_live = False
    return Seen(turn.number, turn.uuid, located[0].offset, located[-1].offset, turn.status.value, turn.tokens)


@EVERY_SESSION
def test_streaming_and_tracing_give_the_turns_that_loading_gives(path: Path) -> None:
    turns = load_file(path).all_turns
    loaded = [seen(turn) for turn in turns]
    assert [seen(turn) for turn in stream(path)] == loaded
    with_agents = [each.turn for each in TurnReader(path, read_family(path)).turns()]
    assert [seen(turn) for turn in with_agents] == loaded
    assert [[run.agent_id for run in turn.agent_runs] for turn in with_agents] == [
        [run.agent_id for run in turn.agent_runs] for turn in turns
    ]
    traced = [each for group in read_closed(path, Place(), Closing.ENDED) for each in group.traced]
    assert [seen(each.turn) for each in traced] == loaded


@EVERY_SESSION
def test_a_root_span_has_the_number_the_status_and_the_tokens_of_its_turn(path: Path) -> None:
    mapper = Mapper(TraceConfig(), Texts(TraceConfig().content, Masker()))
    for turn, group in zip(load_file(path).all_turns, _traced(path), strict=True):
        expected = seen(turn)
        root, *inside = mapper.spans(group)
        assert root.name == f"Turn {expected.number}"
        assert root.attributes["langfuse.trace.metadata.turn_number"] == expected.number
        assert root.attributes["langfuse.trace.metadata.status"] == expected.status
        own = [span for span in of_kind("generation", inside) if span.parent_id == root.span_id]
        tokens = expected.tokens
        counts = [tokens.input, tokens.output, tokens.cache_read, tokens.cache_write_5m, tokens.cache_write_1h]
        assert summed(counts_told(span) for span in own) == counts


def _traced(path: Path) -> list[TracedTurn]:
    return [each for group in read_closed(path, Place(), Closing.ENDED) for each in group.traced]


@EVERY_SESSION
def test_reading_on_from_any_turn_gives_the_turns_behind_it(path: Path) -> None:
    loaded = [seen(turn) for turn in load_file(path).all_turns]
    for number, each in enumerate(TurnReader(path).turns(), 1):
        rest = [turn for turn in TurnReader(path, place=each.after).turns() if not turn.is_again]
        # Of what another turn said already a reading from the middle knows nothing: who sends it does.
        assert [seen(turn.turn)[:5] for turn in rest] == [turn[:5] for turn in loaded[number:]]


@EVERY_SESSION
def test_pages_and_steps_say_the_same(path: Path) -> None:
    session = load_file(path)
    for turn in session.all_turns:
        expected = seen(turn)
        page = turn_page(turn, agents=False)
        assert (page.number, page.status) == (expected.number, expected.status)
        names = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")
        assert [getattr(page.tokens, name) for name in names] == [getattr(expected.tokens, name) for name in names]
    # Every line of the conversation is one step, and belongs to one turn or to none.
    records = session.graph.records
    main = [record for record in records[: session.graph.files[0].last] if isinstance(record, ChainedRecord)]
    found = Counter(step.raw_uuid for step in steps(main))
    inside = [records[node] for turn in session.all_turns for node in turn.nodes]
    said = Counter(r.uuid or "" for r in inside if isinstance(r, UserRecord | AssistantRecord) and not r.isSidechain)
    assert not said - found


@EVERY_SESSION
def test_following_begins_where_turns_begin(path: Path) -> None:
    begins = [seen(turn).first_line for turn in load_file(path).all_turns]
    for number in {1, 2, len(begins)} & set(range(1, len(begins) + 1)):
        follower = Follower(path)
        follower.start(number)
        assert follower.began_at == begins[-number]
