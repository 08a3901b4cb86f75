"""The page about what is wrong: what it advises helps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.homes import LONG_AGO, session_id, write_session
from tests.surgery.conversations import called, linked, turn
from tests.web.serving import served

from stenograph.surgery import MakePortable, is_saved_by_portability, make_plan


def _conversation() -> list[dict[str, Any]]:
    calls = [called("Bash", {"command": f"echo {number}"}, "x" * (number + 1)) for number in range(2)]
    return linked(*(line for number in range(4) for line in turn(f"Prompt {number}", *calls)))


def _broken(home: Path, number: int) -> Path:
    """A line in the middle names a parent that is nowhere: old releases end there."""
    lines = _conversation()
    lines[8]["parentUuid"] = "00000000-0000-4000-8000-00000000dead"
    return write_session(home, session_id(number), lines)


def _disordered(home: Path, number: int) -> Path:
    """Two lines have changed places, which no release minds."""
    lines = _conversation()
    lines[2], lines[3] = lines[3], lines[2]
    return write_session(home, session_id(number), lines)


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sessions for which it was worked out whether being one chain helps."""
    found: list[str] = []

    def judge(path: Path) -> bool:
        found.append(path.stem)
        return is_saved_by_portability(path)

    monkeypatch.setattr("stenograph.surgery.is_saved_by_portability", judge)
    return found


def test_an_old_session_is_judged_where_it_is_shown_and_again_only_when_it_changed(tmp_path: Path, judged: list[str]) -> None:
    """Resuming is worked out for the 30 newest sessions only."""
    broken = _broken(tmp_path, 1)
    for number in range(2, 33):
        write_session(tmp_path, session_id(number), _conversation(), modified=LONG_AGO + number)
    with served(tmp_path) as server:
        for number in range(2):
            assert f"edit {session_id(1)} --portable" in server.ask(f"/health?{number}").text
            assert judged == [session_id(1)]
        write_session(tmp_path, session_id(1), [*_conversation(), *_conversation()[:1]], modified=LONG_AGO - 1)
        assert "--portable" not in server.ask("/health?2").text
        broken.unlink()
        _broken(tmp_path, 1)
        assert f"edit {session_id(1)} --portable" in server.ask("/health?3").text
        assert set(judged) == {session_id(1)}


def test_one_request_looks_at_as_many_sessions_as_there_is_time_for(
    tmp_path: Path, judged: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        _broken(tmp_path, number)
    monkeypatch.setattr("stenograph.web.home_questions._LOOKING_SECONDS", 0.0)
    said = "Whether <code>--portable</code> helps is not known yet for {}:"
    with served(tmp_path) as server:
        pages = [server.ask(f"/health?{number}").text for number in range(6)]
    # What they lose comes first, a session at a time; whether the damage of the others can be helped, too.
    assert [page.split("what each release would make of the newest ")[1][0] for page in pages] == ["1", "2", "3", "3", "3", "3"]
    assert len(judged) == len(set(judged)) == 3
    assert [page.count("--portable</code><button") for page in pages] == [2, 3, 4, 4, 4, 4]
    assert [said.format("2 sessions") in page for page in pages] == [True, False, False, False, False, False]
    assert [said.format("1 session") in page for page in pages] == [False, True, False, False, False, False]
    assert not any("not known yet" in page for page in pages[2:])


def test_a_session_is_to_be_made_portable_only_where_that_saves_something(tmp_path: Path) -> None:
    broken, disordered = _broken(tmp_path, 1), _disordered(tmp_path, 2)
    losses = {change.release: (change.before.total, change.after.total) for change in make_plan(broken, [MakePortable()]).losses}
    assert losses["2.0.76"][0].messages > losses["2.0.76"][1].messages == 0
    assert is_saved_by_portability(broken)
    assert not is_saved_by_portability(disordered)
    with served(tmp_path) as server:
        page = server.ask("/health").text
        codes = {each["code"] for each in server.ask("/api/v1/check").json["damage"]}
    assert {"dangling-parent", "forward-parent"} <= codes
    assert f"edit {session_id(1)} --portable" in page
    assert f"edit {session_id(2)} --portable" not in page
    assert f"check {session_id(2)}" in page
