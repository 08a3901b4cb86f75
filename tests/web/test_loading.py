from __future__ import annotations

from pathlib import Path

import pytest
from tests.homes import LONG_AGO, session_id, turns, user, write_session

from stenograph.web.loading import SessionCache


@pytest.mark.parametrize("is_replaced", [True, False])
def test_an_edit_that_keeps_the_length_of_a_file_is_seen(tmp_path: Path, is_replaced: bool) -> None:
    """A secret that was replaced by as many asterisks, between lines that are the same as before."""
    path = write_session(tmp_path, session_id(1), [*turns(1), user("hunter2"), *turns(1)])
    cache = SessionCache()
    assert "hunter2" in [turn.prompt for turn in cache.get(path).all_turns]
    edited = [*turns(1), user("*******"), *turns(1)]
    if is_replaced:  # and something was added
        write_session(tmp_path, session_id(2), [*edited, *turns(1)]).replace(path)
    else:
        write_session(tmp_path, session_id(1), edited, modified=LONG_AGO + 1)
    prompts = [turn.prompt for turn in cache.get(path).all_turns]
    assert "*******" in prompts
    assert "hunter2" not in prompts


def test_lines_of_a_session_that_grew_are_not_read_again(tmp_path: Path) -> None:
    cache, before = SessionCache(), turns(2)
    path = write_session(tmp_path, session_id(1), before)
    known = cache.get(path).graph.records
    write_session(tmp_path, session_id(1), [*before, *turns(1)], modified=LONG_AGO + 1)
    grown = cache.get(path).graph.records
    assert len(grown) == 6
    assert all(one is other for one, other in zip(known, grown, strict=False))
