"""Originals come before their forks, whatever their files' times say; and what is over in a file that no hook told of."""

from __future__ import annotations

import itertools
import time
from pathlib import Path

import pytest
from tests.traces.tracing import Desk, foreseen, summed, timed, told, write
from tests.turns.recordings import print_session

from stenograph.testing.lines import user
from stenograph.traces.history import Candidate, beginning_of, originals_first, send_history

RELEASES = ["2.0.76", "2.1.45", "2.1.325"]


@pytest.mark.parametrize("release", RELEASES)
def test_a_recorded_fork_comes_behind_its_original(release: str) -> None:
    original, fork = print_session(release, "tools"), print_session(release, "fork")
    assert (original.stem in beginning_of(fork).others) == (release != "2.1.325")  # its forks name nobody
    for files in itertools.permutations([original, fork]):
        assert originals_first(files, lambda path: path) == [original, fork]


def test_files_that_name_each_other_are_each_there_once(tmp_path: Path) -> None:
    def session(name: str, other: str) -> Path:
        return write(tmp_path, timed(0, user(name, "x", sessionId=other)), name=name)

    files = [session("a", "b"), session("b", "c"), session("c", "a"), session("d", "nobody")]
    assert sorted(originals_first(files, lambda path: path)) == files
    missing = tmp_path / "e.jsonl"
    assert originals_first([missing], lambda path: path) == [missing]


@pytest.mark.parametrize("release", RELEASES)
def test_a_fork_that_was_written_before_its_original_went_on_posts_no_span_twice(release: str, tmp_path: Path) -> None:
    original, fork = print_session(release, "tools"), print_session(release, "fork")
    now = time.time()
    with Desk(tmp_path, later=0.0) as desk:
        ages = {original: 86_400.0, fork: 2 * 86_400.0}  # the original was gone on with later
        candidates = [Candidate(path, path.stem, path.stat().st_size, now - age) for path, age in ages.items()]
        report = send_history(candidates, desk.destination, desk.config, desk.state, desk.folder)
        assert report.error is None
        posted = [span for request in desk.sink.requests for span in request.spans]
        # 2.0.76 warms up agents in the fork's copy of a turn: that turn is posted again with them, and says the same.
        assert len({span.span_id for span in posted}) == len({told(span)[:6] for span in posted}) == len(desk.spans)
        assert len(posted) == len(desk.spans) or release == "2.0.76"
        assert desk.tokens == summed(
            counts for _, counts in {**foreseen(fork).responses, **foreseen(original).responses}.values()
        )


def test_an_answered_turn_of_a_file_that_is_quiet_for_minutes_is_over(tmp_path: Path) -> None:
    path = print_session("2.1.325", "tools")
    now = time.time()
    with Desk(tmp_path, later=0.0) as desk:
        for quiet, turns in ((10.0, 2), (150.0, 3)):
            send_history(
                [Candidate(path, path.stem, path.stat().st_size, now - quiet)],
                desk.destination,
                desk.config,
                desk.state,
                desk.folder,
            )
            assert len(desk.roots) == turns
