from __future__ import annotations

import gc
import threading
import weakref
from pathlib import Path

import pytest
from tests.homes import LONG_AGO, session_id, turns, user, write_session

from stenograph.web.loading import _ANSWERS_PER_COLLECTION, AnswerCache, SessionCache


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


class _Circle:
    def __init__(self) -> None:
        self.itself = self


def test_what_answers_were_made_of_does_not_pile_up() -> None:
    """Ten minutes of a running session held 800 MB: the collector is late for garbage that it takes for little."""
    cache, made = AnswerCache(), weakref.WeakSet[_Circle]()

    def make() -> bytes:
        made.add(_Circle())
        return b""

    gc.disable()
    try:
        for number in range(130):
            cache.get(number, number, make)
        assert len(made) < 60
    finally:
        gc.enable()


def test_who_waits_for_an_answer_does_not_wait_for_the_garbage_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    cache, answers = AnswerCache(), list[bytes]()

    def ask() -> None:
        answers.append(cache.get("page", "state", lambda: b"made"))

    def collect() -> int:
        waiting = threading.Thread(target=ask, daemon=True)
        waiting.start()
        waiting.join(5)
        assert not waiting.is_alive()
        return 0

    monkeypatch.setattr(gc, "collect", collect)
    for number in range(_ANSWERS_PER_COLLECTION - 1):
        cache.get(number, number, lambda: b"")
    ask()
    assert answers == [b"made", b"made"]
