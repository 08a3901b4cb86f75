from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest
from tests.corpora import FIXTURES
from tests.homes import assistant, session_id, turns, user, write_session

from stenograph.errors import UnreadableError
from stenograph.sessions import Status, glance
from stenograph.testing.lines import text, tool_result, tool_use

EXIT = [user("<command-name>/exit</command-name>"), user("<local-command-stdout>Bye</local-command-stdout>")]


def write(tmp_path: Path, records: list[dict[str, Any]], tail: bytes = b"") -> Path:
    return write_session(tmp_path, session_id(1), records, tail=tail)


@pytest.mark.parametrize(
    ("records", "ending"),
    [
        ([user("hi")], None),
        ([user("hi"), assistant(text("hello"))], Status.DONE),
        ([user("hi"), assistant({"type": "thinking", "thinking": "", "signature": "x"})], None),
        ([user("hi"), assistant(text("a"), tool_use())], None),
        ([user("hi"), assistant(tool_use()), user([tool_result()])], None),
        ([user("hi"), user([text("[Request interrupted by user]")])], Status.INTERRUPTED),
        ([user("hi"), user("[Request interrupted by user for tool use]")], Status.INTERRUPTED),
        ([user("hi"), assistant(text("API Error: 529"), isApiErrorMessage=True)], Status.FAILED),
        ([*turns(1), *EXIT], Status.DONE),
        ([user("hi"), user("sum", isCompactSummary=True)], None),
        ([*turns(1), user("a sub-agent's", isSidechain=True)], Status.DONE),
        ([{"type": "summary", "summary": "s", "leafUuid": "u"}], Status.DONE),
    ],
)  # fmt: skip
def test_the_last_word_tells_how_a_session_ended(tmp_path: Path, records: list[dict[str, Any]], ending: Status | None) -> None:
    assert glance(write(tmp_path, records)).ending is ending


def test_the_answer_that_a_client_puts_after_an_interruption_is_not_an_answer(tmp_path: Path) -> None:
    synthetic = assistant(text("No response requested."))
    synthetic["message"]["model"] = "<synthetic>"
    assert glance(write(tmp_path, [user("hi"), user("[Request interrupted by user]"), synthetic])).ending is Status.INTERRUPTED


def test_a_file_smaller_than_the_windows_is_known_whole(tmp_path: Path) -> None:
    seen = glance(write(tmp_path, turns(20)))
    assert (seen.steps, seen.steps_exact, seen.whole) == (40, True, True)


def test_the_middle_of_a_long_file_is_not_read_unless_asked_for(tmp_path: Path) -> None:
    padding = "x" * 2000
    records = [*turns(100, padding), {"type": "custom-title", "customTitle": "in the middle"}, *turns(100, padding)]
    path = write(tmp_path, records)
    quick, thorough = glance(path), glance(path, whole=True)
    assert quick.custom_title is None
    assert quick.steps >= 10
    assert not quick.steps_exact
    assert (thorough.custom_title, thorough.steps, thorough.steps_exact) == ("in the middle", 400, True)
    assert (quick.first_prompt, quick.ending) == (thorough.first_prompt, thorough.ending)


def test_the_head_is_read_on_until_ten_steps_are_seen(tmp_path: Path) -> None:
    padding = "x" * 20_000
    seen = glance(write(tmp_path, turns(20, padding)))
    assert seen.steps >= 10
    assert seen.first_prompt == "x" * 200 + "…"


def test_the_tail_is_widened_where_the_last_line_is_longer_than_it(tmp_path: Path) -> None:
    long_result = [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "y" * 300_000}]
    path = write(tmp_path, [*turns(3), user("go"), assistant(tool_use()), user(long_result)])
    seen = glance(path)
    assert seen.ending is None
    assert (seen.steps, seen.steps_exact) == (9, True)


@pytest.mark.parametrize("size", range(60_000, 100_000, 1_337))
def test_no_line_is_counted_twice_where_head_and_tail_meet(tmp_path: Path, size: int) -> None:
    lines = turns(8, "z" * (size // 8))
    path = write(tmp_path, lines)
    seen = glance(path)
    assert seen.steps == 16 or (not seen.steps_exact and 10 <= seen.steps < 16)


def test_a_cut_off_last_line_is_a_torn_tail_and_a_whole_one_is_not(tmp_path: Path) -> None:
    assert glance(write(tmp_path, turns(1), tail=b'{"type":"us')).torn
    assert not glance(write(tmp_path, turns(1), tail=b'{"type":"user"}')).torn
    assert not glance(write(tmp_path, turns(1))).torn


def test_first_prompts_skip_what_nobody_typed(tmp_path: Path) -> None:
    records = [
        user("Caveat: generated", isMeta=True),
        user("<command-name>/clear</command-name>"),
        user("<local-command-stdout></local-command-stdout>"),
        user([tool_result()]),
        user("This session is being continued", isCompactSummary=True),
        user("<ide_opened_file>a.py</ide_opened_file>"),
        user([text("<ide_selection>b</ide_selection>"), text("Really\nthis")]),
    ]
    assert glance(write(tmp_path, records)).first_prompt == "Really this"
    assert glance(write(tmp_path, records[:4])).first_prompt == "/clear"


def test_the_last_title_and_tag_count(tmp_path: Path) -> None:
    records = [
        *turns(1),
        {"type": "custom-title", "customTitle": "one"},
        {"type": "custom-title", "customTitle": "two"},
        {"type": "tag", "tag": "keep"},
        {"type": "tag", "tag": ""},
    ]
    seen = glance(write(tmp_path, records))
    assert (seen.custom_title, seen.tag) == ("two", None)


def test_a_session_of_sub_agent_lines_only_says_so(tmp_path: Path) -> None:
    seen = glance(write(tmp_path, [user("Warmup", isSidechain=True), assistant(text("ok"), isSidechain=True)]))
    assert (seen.all_sidechain, seen.warm_up, seen.steps) == (True, True, 0)


def test_a_file_that_is_no_session_has_no_records(tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    path.write_text("not\njson\n\n")
    assert glance(path).records == 0


def test_a_missing_file_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError):
        glance(tmp_path / "none.jsonl")


RECORDED = sorted((FIXTURES / "recorded").glob("*/*/*/*.jsonl"))
#: Both ends so small that the middle of most recordings is left out.
WINDOW = 2048


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_quick_look_and_a_whole_reading_agree_on_recorded_sessions(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    glancing = importlib.import_module("stenograph.sessions.glance")
    monkeypatch.setattr(glancing, "HEAD", WINDOW)
    monkeypatch.setattr(glancing, "TAIL", WINDOW)
    quick, thorough = glance(path), glance(path, whole=True)
    names = [
        *("release", "cwd", "branch", "entrypoint", "first_prompt", "last_prompt", "custom_title", "tag"),
        *("first_timestamp", "last_timestamp", "leaf_uuid", "ending", "torn", "all_sidechain", "warm_up"),
    ]
    assert [getattr(quick, name) for name in names] == [getattr(thorough, name) for name in names]
    assert quick.steps == thorough.steps or (not quick.steps_exact and 10 <= quick.steps < thorough.steps)


def test_of_the_recorded_sessions_some_are_seen_whole_and_some_at_their_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    glancing = importlib.import_module("stenograph.sessions.glance")
    monkeypatch.setattr(glancing, "HEAD", WINDOW)
    monkeypatch.setattr(glancing, "TAIL", WINDOW)
    whole = [glance(path).whole for path in RECORDED]
    assert whole.count(True) > 10
    assert whole.count(False) > 10


def test_the_first_timestamp_is_the_first_in_the_file(tmp_path: Path) -> None:
    queued = {"type": "queue-operation", "operation": "enqueue", "timestamp": "2026-01-01T00:00:00Z"}
    asked = user("hi", timestamp="2026-01-01T00:00:05Z")
    assert glance(write(tmp_path, [queued, asked])).first_timestamp == "2026-01-01T00:00:00Z"
    assert glance(write(tmp_path, [asked, queued])).first_timestamp == "2026-01-01T00:00:05Z"
