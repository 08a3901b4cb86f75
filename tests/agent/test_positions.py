"""Where turns stand (`promptIndex`, `turnIndex`): the rule against what real clients recorded, and what we write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from lab.observatory.scenes import Scene, cue, say, text, tool
from tests.agent.world import Json, World, lines_of, of, world_at

from stenograph.agent.recording.recorder import Recorder
from stenograph.agent.recording.resuming import last_position
from stenograph.graph import build_graph, walk_chain
from stenograph.records import CompactBoundaryRecord, Record, UserRecord, encode, read_all_records
from stenograph.records.write import Envelope, Position

RECORDINGS = Path(__file__).parent.parent.parent / "recordings"
RELEASES = ["2.1.300", "2.1.315", "2.1.325"]
ID = "7f3e2d10-0000-4000-8000-00000000000b"
OTHER_ID = "81aa0c55-0000-4000-8000-00000000000c"


def recorded_sessions(release: str) -> list[Path]:
    return sorted(path for path in (RECORDINGS / release).glob("*/*.jsonl") if b'"promptIndex"' in path.read_bytes())


def position_of(line: Json) -> tuple[int, int] | None:
    said = line.get("turnPosition")
    return (said["promptIndex"], said["turnIndex"]) if said else None


def hides_what_it_is(record: Record) -> bool:
    """Whether the recording has left out the words of a line that begins no turn: by them it is known for a command or a note."""
    return isinstance(record, UserRecord) and not record.turnPosition and b'"<trimmed' in encode(record)


def follows_what_was_preserved(chain: Sequence[Record]) -> bool:
    """Whether a chain begins with a compaction in the middle of a turn: its summary says nothing of the messages it preserves."""
    roots = [record for record in chain if isinstance(record, CompactBoundaryRecord)]
    return any(root.compactMetadata and root.compactMetadata.trigger == "auto" for root in roots)


@pytest.mark.parametrize("release", RELEASES)
def test_a_recorded_turn_is_one_after_the_last_of_its_chain(release: str) -> None:
    """A person's turn counts in both numbers; one of the SDK, or of a background task, in the second alone."""
    seen = 0
    for path in recorded_sessions(release):
        graph = build_graph([(path, "", read_all_records(path))])
        for node, record in enumerate(graph.records):
            if not isinstance(record, UserRecord) or not record.turnPosition or record.isCompactSummary:
                continue
            way = walk_chain(graph, graph.parents[node]) if graph.parents[node] >= 0 else []
            chain = [graph.records[one] for one in way]
            if follows_what_was_preserved(chain):
                continue
            before = last_position([one for one in chain if not hides_what_it_is(one)])
            assert before is not None, path
            by_person = record.turnOrigin == "human"
            expected = {"promptIndex": before.prompt + by_person, "turnIndex": before.turn + 1}
            assert record.turnPosition == expected, (path, graph.nodes[node].number)
            seen += 1
    assert seen > 50


@pytest.mark.parametrize("release", RELEASES)
def test_the_recorder_counts_as_the_client_did(tmp_path: Path, release: str) -> None:
    """The session with notifications between prompts: (2, 2), then (2, 3) for what a background task said, then (3, 4)."""
    (source,) = recorded_sessions_of(release, "terminal-work")
    turns = [line for line in of("user", lines_of(source)) if line.get("turnOrigin") and not line.get("isCompactSummary")]
    envelope = Envelope(session_id=ID, cwd="/w", git_branch="", slug="quiet-weaving-hopper")
    recorder = Recorder(tmp_path / f"{ID}.jsonl", envelope)
    for line in turns:
        write = recorder.notification if line["turnOrigin"] == "task_notification" else recorder.prompt
        write("Words.", permission_mode="default")
    recorder.close()
    written = [position_of(line) for line in lines_of(recorder.path)]
    assert written == [position_of(line) for line in turns]
    assert (2, 3) in written


def recorded_sessions_of(release: str, scenario: str) -> list[Path]:
    return [path for path in recorded_sessions(release) if path.parent.name == scenario]


SCENES: dict[str, Scene] = {
    "plain": [say(text("Hello."))],
    "one": [say(tool("Bash", command="true")), say(text("Done."))],
}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with world_at(tmp_path, SCENES) as made:
        yield made


def positions_of(path: Path) -> list[tuple[int, int] | None]:
    lines = lines_of(path)
    return [position_of(line) for line in of("user", lines) if line.get("promptSource") == "typed"]


def test_counting_goes_on_where_a_session_is_resumed_forked_and_compacted(world: World) -> None:
    world.run(cue("one"), session_id=ID)
    world.run(cue("plain"), resume=ID)
    path = world.session
    assert positions_of(path) == [(1, 1), (2, 2)]
    world.run("Elsewhere.", resume=ID, fork=True, session_id=OTHER_ID)
    assert positions_of(path.with_name(f"{OTHER_ID}.jsonl")) == [(1, 1), (2, 2), (3, 3)]
    world.run("/compact", cue("plain"), resume=ID)
    world.run(cue("plain"), resume=ID)
    assert positions_of(path) == [(1, 1), (2, 2), (3, 3), (4, 4)]


def test_a_rewound_turn_has_the_number_of_the_one_it_replaces(world: World) -> None:
    """As in recordings/2.1.325/terminal-stops: (8, 8), rewound, and (8, 8) again."""
    world.run(cue("one"), cue("plain"), session_id=ID)
    world.run("Once more, otherwise.", resume=ID, rewind="2", restore_files=False)
    assert positions_of(world.session) == [(1, 1), (2, 2), (2, 2)]


def test_a_count_that_is_not_known_is_not_made_up(world: World) -> None:
    """2.1.325 was made to resume a session whose last prompt has no position: it wrote none either."""
    world.run(cue("one"), cue("plain"), session_id=ID)
    path = world.session
    path.write_bytes(path.read_bytes().replace(b'"turnPosition":{"promptIndex":2,"turnIndex":2},', b""))
    world.run("Go on.", resume=ID)
    assert positions_of(path) == [(1, 1), None, None]


def test_a_chain_without_turns_is_counted_from_the_start() -> None:
    assert last_position([]) == Position(0, 0)
