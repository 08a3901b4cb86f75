from __future__ import annotations

import operator
import os
from pathlib import Path
from typing import Any

import pytest
from tests.corpora import FIXTURES, RICH
from tests.homes import LONG_AGO, assistant, session_id, turns, user, write_session
from tests.surgery.conversations import linked, turn

from stenograph.errors import UsageError
from stenograph.family import SessionFile
from stenograph.sessions import (
    HIDDEN,
    ListCache,
    SessionInfo,
    count_projects,
    find,
    find_projects,
    find_sessions,
    list_sessions,
    load_file,
)
from stenograph.testing.lines import encode, text, tool_use
from stenograph.views import overview_page

#: Real sessions with a rewind in them.
REWOUND = [next((FIXTURES / "recorded").rglob(f"{name}-*.jsonl")) for name in ("f0c28c4e", "278ff95e", "c91e0fb0", "c07cada0")]


@pytest.mark.parametrize(
    ("records", "reason"),
    [
        # Seed 000, "GUI Level": always ten steps; never under five and completed; never under ten without an answer.
        (turns(5), None),
        ([user("go"), *[assistant(tool_use())] * 9], None),
        (turns(2), "short"),
        ([*turns(2), user("more")], None),
        ([user("hi"), assistant(text("API Error"), isApiErrorMessage=True)], None),
        ([user("go"), *[assistant(tool_use())] * 8], "unanswered"),
        ([user("hi")], "unanswered"),
        ([], "empty"),
        ([user("Warmup"), assistant(text("ok"))], "warm-up"),
        ([user("Warmup", isSidechain=True)], "warm-up"),
        ([user("sub", isSidechain=True), *[assistant(text("a"), isSidechain=True)] * 12], "sidechain"),
    ],
)
def test_what_is_hidden_is_what_seed_000_hides(tmp_path: Path, records: list[dict[str, Any]], reason: str | None) -> None:
    write_session(tmp_path, session_id(1), records)
    listing = list_sessions([tmp_path])
    assert listing.hidden == ({reason: 1} if reason else {})
    assert len(listing.sessions) == (0 if reason else 1)
    (info,) = list_sessions([tmp_path], everything=True).sessions
    assert info.hidden == reason


def test_a_running_session_is_shown_however_short(tmp_path: Path) -> None:
    write_session(tmp_path, session_id(1), [user("hi")])
    assert len(list_sessions([tmp_path], now=LONG_AGO + 5).sessions) == 1


def test_files_without_a_uuid_are_hidden_and_agents_are_never_sessions(tmp_path: Path) -> None:
    write_session(tmp_path, "short", turns(6))
    write_session(tmp_path, "agent-1a2b3c4", turns(6))
    write_session(tmp_path, session_id(1), turns(6))
    listing = list_sessions([tmp_path])
    assert [info.id for info in listing.sessions] == [session_id(1)]
    assert listing.hidden == {"name": 1}
    assert {info.id for info in list_sessions([tmp_path], everything=True).sessions} == {session_id(1), "short"}


def test_every_reason_has_words() -> None:
    assert set(HIDDEN) == {"empty", "name", "warm-up", "sidechain", "print", "sdk", "short", "unanswered"}


def test_sessions_come_newest_first_by_the_last_change(tmp_path: Path) -> None:
    for number, modified in ((1, LONG_AGO), (2, LONG_AGO + 20), (3, LONG_AGO + 10)):
        write_session(tmp_path, session_id(number), turns(6), modified=modified, project=f"-p{number}")
    expected = [session_id(2), session_id(3), session_id(1)]
    assert [info.id for info in list_sessions([tmp_path]).sessions] == expected
    assert [file.session_id for file in find_sessions([tmp_path])] == expected


def test_a_project_takes_only_its_own_sessions_from_a_shared_folder(tmp_path: Path) -> None:
    """`/a.b` and `/a_b` share the folder `-a-b` (rule 2)."""
    write_session(tmp_path, session_id(1), [record | {"cwd": "/a.b"} for record in turns(6)], project="-a-b")
    write_session(tmp_path, session_id(2), [record | {"cwd": "/a_b"} for record in turns(6)], project="-a-b")
    write_session(tmp_path, session_id(3), turns(6))
    assert [info.id for info in list_sessions([tmp_path], project="/a.b").sessions] == [session_id(1)]


def test_a_file_that_can_not_be_read_is_a_finding_and_the_rest_is_listed(tmp_path: Path) -> None:
    write_session(tmp_path, session_id(1), turns(6))
    folder = tmp_path / "projects" / "-loop"
    folder.mkdir()
    (folder / f"{session_id(2)}.jsonl").symlink_to(folder / f"{session_id(2)}.jsonl")
    listing = list_sessions([tmp_path])
    assert [info.id for info in listing.sessions] == [session_id(1)]
    assert len(listing.findings) == 1


def test_a_home_whose_projects_is_a_file_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "projects").write_text("")
    listing = list_sessions([tmp_path])
    assert listing.sessions == []
    assert [finding.code for finding in listing.findings] == ["unreadable"]


def test_names_of_any_bytes_are_listed(tmp_path: Path) -> None:
    write_session(tmp_path, session_id(1), turns(6), project=os.fsdecode(b"-caf\xe9"))
    assert len(list_sessions([tmp_path]).sessions) == 1


def test_dates_that_can_not_be_read_are_absent_not_an_error(tmp_path: Path) -> None:
    write_session(tmp_path, session_id(1), [record | {"timestamp": "yesterday"} for record in turns(6)])
    assert list_sessions([tmp_path]).sessions[0].created is None


def test_a_home_named_twice_is_listed_once(tmp_path: Path) -> None:
    write_session(tmp_path / "home", session_id(1), turns(6))
    (tmp_path / "link").symlink_to("home")
    homes: list[str | Path] = [tmp_path / "home", str(tmp_path / "home"), tmp_path / "link", tmp_path / "home" / "projects"]
    assert len(list_sessions(homes).sessions) == 1
    assert len(find_sessions(homes)) == 1


def test_homes_are_texts_or_paths_but_not_one_alone(tmp_path: Path) -> None:
    write_session(tmp_path, session_id(1), turns(6))
    assert len(list_sessions([str(tmp_path)]).sessions) == 1
    for bare in (tmp_path, str(tmp_path)):
        with pytest.raises(UsageError, match=r"\[home\]"):
            list_sessions(bare)  # type: ignore[arg-type]


def test_a_limit_cuts_the_list_and_counts_the_rest(tmp_path: Path) -> None:
    for number in range(5):
        write_session(tmp_path, session_id(number), turns(6), modified=LONG_AGO - number)
    write_session(tmp_path, session_id(9), [], modified=LONG_AGO - 100)
    listing = list_sessions([tmp_path], limit=2)
    assert [info.id for info in listing.sessions] == [session_id(0), session_id(1)]
    assert (listing.older, listing.unseen, listing.hidden) == (3, 0, {"empty": 1})


def test_of_very_many_files_only_those_are_looked_at_that_the_limit_asks_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(find, "MANY_FILES", 5)
    write_session(tmp_path, session_id(0), [], modified=LONG_AGO + 1)
    for number in range(1, 6):
        write_session(tmp_path, session_id(number), turns(6), modified=LONG_AGO - number)
    looked_at: list[str] = []
    describe = find.describe

    def watched(file: SessionFile, **more: Any) -> SessionInfo:
        looked_at.append(file.session_id)
        return describe(file, **more)

    monkeypatch.setattr(find, "describe", watched)
    listing = list_sessions([tmp_path], limit=2)
    assert looked_at == [session_id(0), session_id(1), session_id(2)]
    assert (len(listing.sessions), listing.older, listing.unseen, listing.hidden) == (2, 0, 3, {"empty": 1})
    assert list_sessions([tmp_path]).unseen == 0


def test_progress_is_told_in_files(tmp_path: Path) -> None:
    for number in range(40):
        write_session(tmp_path, session_id(number), [])
    calls: list[tuple[int, int]] = []
    list_sessions([tmp_path], progress=lambda done, total: calls.append((done, total)))
    assert calls == [(0, 40), (32, 40)]


def test_print_mode_and_the_sdk_are_grouped_by_project(tmp_path: Path) -> None:
    for number, (entrypoint, project) in enumerate([("sdk-cli", "/a"), ("sdk-cli", "/a"), ("sdk-py", "/a"), ("sdk-cli", "/b")]):
        lines = [record | {"entrypoint": entrypoint, "cwd": project} for record in turns(6)]
        write_session(tmp_path, session_id(number), lines, project=project.replace("/", "-"), modified=LONG_AGO + number)
    listing = list_sessions([tmp_path])
    assert listing.hidden == {"print": 3, "sdk": 1}
    assert [(group.kind, group.project, group.sessions) for group in listing.groups] == [
        ("print", "/b", 1),
        ("sdk", "/a", 1),
        ("print", "/a", 2),
    ]
    assert list_sessions([tmp_path], everything=True).groups == []


def test_turns_are_those_that_a_client_would_continue(tmp_path: Path) -> None:
    """A rewind, as an edit, leaves a turn beside the conversation: it is in the file, and no longer in the session."""
    lines = linked(*turn("one"), *turn("two"), *turn("three"))
    write_session(tmp_path, session_id(1), lines)
    (info,) = list_sessions([tmp_path], everything=True, turns=True).sessions
    assert info.turns == 3
    third = next(number for number, line in enumerate(lines) if "three" in str(line))
    lines[third] = {**lines[third], "parentUuid": None}
    write_session(tmp_path, session_id(1), lines)
    (info,) = list_sessions([tmp_path], everything=True, turns=True).sessions
    assert info.turns == 1


def test_projects_are_counted_as_the_overview_lists_them(tmp_path: Path) -> None:
    """Two folders of one directory, one without sessions, one whose lines name no directory: four folders, two projects."""
    write_session(tmp_path, session_id(1), turns(6), project="-one")
    write_session(tmp_path, session_id(2), turns(6), project="-two")
    write_session(tmp_path, session_id(3), [{"type": "summary"}], project="-three")
    (tmp_path / "projects" / "-four").mkdir()
    listing = list_sessions([tmp_path], everything=True)
    assert len(overview_page(listing, [tmp_path]).projects) == 2
    assert count_projects(find_projects([tmp_path])[0]) == 2


def test_a_list_with_what_was_read_before_is_the_same_as_one_without(tmp_path: Path) -> None:
    cache = ListCache()

    def same() -> list[SessionInfo]:
        found = list_sessions([tmp_path], cache=cache)
        assert found == list_sessions([tmp_path])
        return found.sessions

    first = write_session(tmp_path, session_id(1), turns(5))
    write_session(tmp_path, session_id(2), turns(5, "Another"))
    before = same()
    # Nothing is described again while its file is the same.
    assert all(map(operator.is_, same(), before))
    longer = [*turns(6, "Longer"), assistant(text("The end"), uuid="leaf")]
    write_session(tmp_path, session_id(1), longer, modified=LONG_AGO + 1)
    assert same()[0].title == "Longer"
    # A session may be named in the file of another one, and its id is as short as the others allow.
    summary = {"type": "summary", "summary": "Named elsewhere", "leafUuid": "leaf"}
    write_session(tmp_path, session_id(1)[:-1] + "1", [summary, *turns(5)])
    assert sorted(info.title or "" for info in same()) == ["Another", "Do it", "Named elsewhere"]
    with first.open("ab"):
        os.utime(first)
        same()  # of a file that was just changed, the time decides what is said
    first.unlink()
    assert len(same()) == 2


def test_a_session_that_was_running_when_it_was_last_listed_is_not_days_later(tmp_path: Path) -> None:
    path = write_session(tmp_path, session_id(1), [user("hi")])
    cache, changed = ListCache(), path.stat().st_mtime
    for seconds, expected in ((1, "running"), (200_000, "interrupted")):
        (info,) = list_sessions([tmp_path], everything=True, cache=cache, now=changed + seconds).sessions
        assert info.status.value == expected


@pytest.mark.parametrize("source", [RICH, *REWOUND], ids=lambda path: path.stem[:8])
def test_turns_of_a_file_that_grows_are_those_of_the_branch_that_is_loaded(tmp_path: Path, source: Path) -> None:
    cache, path = ListCache(), tmp_path / source.name
    lines = source.read_bytes().splitlines(keepends=True)
    for end in range(1, len(lines) + 1, max(1, len(lines) // 40)):
        path.write_bytes(b"".join(lines[:end]))
        assert cache.read_turns(path) == len(load_file(path).turns)
    # One that begins anew is counted anew.
    path.write_bytes(b"".join(lines[len(lines) // 2 :]))
    assert cache.read_turns(path) == len(load_file(path).turns)


def test_a_last_line_that_lacks_only_its_newline_counts_as_it_does_in_the_session(tmp_path: Path) -> None:
    path = write_session(tmp_path, session_id(1), turns(5), tail=encode([user("One more")]).rstrip(b"\n"))
    cut = write_session(tmp_path, session_id(2), turns(5), tail=encode([user("One more")])[:-3])
    for _ in range(2):
        listed = {info.path: info.turns for info in list_sessions([tmp_path], turns=True).sessions}
        assert listed == {path: 6, cut: 5}
        assert [len(load_file(each).turns) for each in (path, cut)] == [6, 5]
