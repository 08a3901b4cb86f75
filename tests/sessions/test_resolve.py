from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.homes import LONG_AGO, session_id, turns, user, write_session

from stenograph.disk import project_folder_name
from stenograph.errors import AmbiguousSessionError, SessionNotFoundError, UsageError
from stenograph.sessions import Glance, Match, find, find_match, glance, resolve
from stenograph.testing import lines

ONE, TWO, THREE = session_id(0xAAAA0001), session_id(0xAAAA0002), session_id(0xBBBB0003)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    write_session(tmp_path, ONE, [*turns(3), {"type": "custom-title", "customTitle": "Parser rewrite"}])
    write_session(tmp_path, TWO, [*turns(3), {"type": "custom-title", "customTitle": "parser REWRITE"}], modified=LONG_AGO + 5)
    write_session(tmp_path, THREE, turns(3, "Fix the lexer"), modified=LONG_AGO + 1)
    write_session(tmp_path, session_id(0xCCCC0004), [], modified=LONG_AGO + 50)
    write_session(tmp_path, session_id(0xDDDD0005), [user("w", isSidechain=True)], modified=LONG_AGO + 60)
    return tmp_path


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        (ONE, ONE),
        (ONE.upper(), ONE),
        ("bbbb", THREE),
        ("BBBB0003", THREE),
        ("aaaa0002", TWO),
        ("Parser rewrite", ONE),
        ("parser REWRITE", TWO),
        ("FIX THE LEXER", THREE),
        ("the lex", THREE),
        ("last", TWO),
    ],
)
def test_a_session_is_found_by_what_a_user_calls_it(home: Path, reference: str, expected: str) -> None:
    assert resolve(reference, [home]).session_id == expected


def test_a_path_names_a_session_in_any_folder(home: Path) -> None:
    path = home / "projects" / "-home-user-work" / f"{ONE}.jsonl"
    assert resolve(str(path), []).path == path
    folder = path.with_suffix("")
    folder.mkdir()
    assert resolve(str(folder), []).path == path
    other = home / "copy.jsonl"
    other.write_bytes(path.read_bytes())
    assert resolve(str(other), []).session_id == "copy"


@pytest.mark.parametrize("reference", ["", "nothing like it", "./missing.jsonl", "/", "bbbb0003-ffff"])
def test_what_matches_nothing_is_not_found(home: Path, reference: str) -> None:
    with pytest.raises(SessionNotFoundError):
        resolve(reference, [home])


def test_a_file_that_holds_no_record_is_no_session(tmp_path: Path) -> None:
    (tmp_path / "readme.jsonl").write_text("hello\n")
    with pytest.raises(SessionNotFoundError, match="is not a session file"):
        resolve(str(tmp_path / "readme.jsonl"), [])


def test_a_file_that_is_not_a_session_makes_no_reference_ambiguous(tmp_path: Path) -> None:
    write_session(tmp_path, session_id(0xABAB0001), [], tail=b"not json\n")
    path = write_session(tmp_path, session_id(0xABAB0002), turns(1))
    assert resolve("abab", [tmp_path]).path == path


@pytest.mark.parametrize("place", ["agent-1.jsonl", f"{session_id(0xABAB0001)}/subagents/agent-1.jsonl"])
def test_of_a_session_whose_own_file_is_gone_is_said_that_it_is_gone(tmp_path: Path, place: str) -> None:
    other = write_session(tmp_path, session_id(1), turns(1))
    agent = other.parent / place
    agent.parent.mkdir(parents=True, exist_ok=True)
    agent.write_bytes(lines.encode([user("Go", sessionId=session_id(0xABAB0001), agentId="1", isSidechain=True)]))
    for reference in ("abab0", session_id(0xABAB0001)):
        with pytest.raises(SessionNotFoundError) as caught:
            resolve(reference, [tmp_path])
        assert caught.value.what == f"the file of session {session_id(0xABAB0001)} is gone"
        assert "subagents" in caught.value.why
    with pytest.raises(SessionNotFoundError, match="no session matches"):
        resolve("abac0", [tmp_path])


def test_a_mistyped_id_brings_near_ones_up(home: Path) -> None:
    with pytest.raises(SessionNotFoundError, match="bbbb0003"):
        resolve("bbbb0004", [home])


def test_an_ambiguous_reference_names_ids_and_no_titles(home: Path) -> None:
    with pytest.raises(AmbiguousSessionError) as prefix:
        resolve("aaaa", [home])
    assert "aaaa0001" in str(prefix.value)
    assert "aaaa0002" in str(prefix.value)
    assert len(prefix.value.matches) == 2
    with pytest.raises(AmbiguousSessionError) as title:
        resolve("rewrit", [home])
    assert "Parser" not in str(title.value)


def test_at_most_five_matches_are_named(tmp_path: Path) -> None:
    for number in range(7):
        write_session(tmp_path, session_id(0xABCD0000 + number), turns(1))
    with pytest.raises(AmbiguousSessionError, match="and 2 more"):
        resolve("abcd", [tmp_path])


def test_the_same_session_in_two_projects_is_ambiguous(tmp_path: Path) -> None:
    for project in ("-a", "-b"):
        write_session(tmp_path, ONE, turns(1), project=project)
    with pytest.raises(AmbiguousSessionError, match="-a"):
        resolve(ONE, [tmp_path])


def test_there_is_no_last_session_in_an_empty_home(tmp_path: Path) -> None:
    with pytest.raises(SessionNotFoundError):
        resolve("last", [tmp_path])


def test_copies_of_one_session_are_told_apart_by_their_paths(tmp_path: Path) -> None:
    paths = [write_session(tmp_path / home, ONE, turns(1)) for home in ("a", "b")]
    with pytest.raises(AmbiguousSessionError) as error:
        resolve(ONE, [tmp_path / "a", tmp_path / "b"])
    for path in paths:
        assert str(path) in str(error.value)
    assert "use a path" in str(error.value)


@pytest.mark.parametrize(("reference", "expected"), [("b", THREE), ("bb", THREE), ("BBB", THREE), ("aaaa0001", ONE)])
def test_a_prefix_of_any_length_names_a_session(home: Path, reference: str, expected: str) -> None:
    assert find_match(reference, [home]) == Match(resolve(expected, [home]), "prefix")


def test_a_short_prefix_of_several_ids_is_ambiguous_whatever_titles_hold_it(home: Path) -> None:
    write_session(home, session_id(0xEEEE0006), [*turns(3), {"type": "custom-title", "customTitle": "Faaa 5e"}])
    with pytest.raises(AmbiguousSessionError):
        resolve("a", [home])


@pytest.mark.parametrize("reference", ["c6", "5e", "3-4", "0"])
def test_what_looks_like_an_id_is_never_looked_for_inside_a_title(tmp_path: Path, reference: str) -> None:
    write_session(tmp_path, ONE, [*turns(3), {"type": "custom-title", "customTitle": "see c6 5e 3-4 0"}])
    with pytest.raises(SessionNotFoundError):
        resolve(reference, [tmp_path])
    write_session(tmp_path, TWO, [*turns(3), {"type": "custom-title", "customTitle": reference}])
    assert find_match(reference, [tmp_path]).how == "title"


def test_who_writes_gets_no_fragment_of_a_title(home: Path) -> None:
    assert find_match("the lex", [home]).how == "fragment"
    with pytest.raises(SessionNotFoundError, match="full title or the id"):
        resolve("the lex", [home], exact=True)
    assert resolve("fix the lexer", [home], exact=True).session_id == THREE


def test_a_session_is_found_by_its_slug(home: Path) -> None:
    write_session(home, session_id(0xEEEE0006), [user("Hello", slug="sunny-dancing-otter"), *turns(3)])
    found = find_match("sunny-dancing-otter", [home])
    assert (found.file.session_id, found.how) == (session_id(0xEEEE0006), "slug")


def at(hour: int, number: int = 1) -> list[dict[str, Any]]:
    return [{**record, "timestamp": f"2026-01-01T{hour:02}:00:00Z"} for record in turns(number)]


def test_last_goes_by_records_and_never_by_the_files_time(tmp_path: Path) -> None:
    write_session(tmp_path, ONE, at(9), modified=LONG_AGO * 2)
    write_session(tmp_path, TWO, at(12), modified=LONG_AGO * 2 - 10)
    write_session(tmp_path, THREE, at(10), modified=LONG_AGO * 2 + 99)
    found = [resolve(reference, [tmp_path]).session_id for reference in ("last", "last~0", "last~1", "last~2")]
    assert found == [TWO, TWO, THREE, ONE]
    with pytest.raises(SessionNotFoundError, match="last~3"):
        resolve("last~3", [tmp_path])


def test_last_is_the_newest_of_the_current_directory_where_it_has_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = tmp_path / "elsewhere"
    work.mkdir()
    write_session(tmp_path, ONE, at(9), project=project_folder_name(str(work)))
    write_session(tmp_path, TWO, at(12))
    assert resolve("last", [tmp_path]).session_id == TWO
    monkeypatch.chdir(work)
    assert resolve("last", [tmp_path]).session_id == ONE
    assert resolve("last", [tmp_path], any_project=True).session_id == TWO
    with pytest.raises(SessionNotFoundError):
        resolve("last~1", [tmp_path])


def test_of_many_files_only_those_are_read_that_may_be_the_newest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        write_session(tmp_path, session_id(number), at(number), modified=1767225600 + 3600 * number)
    read: list[Path] = []

    def counting(path: Path) -> Glance:
        read.append(path)
        return glance(path)

    monkeypatch.setattr(find, "glance", counting)
    assert resolve("last", [tmp_path]).session_id == session_id(19)
    assert len(read) == 1


def test_homes_are_texts_or_paths_but_not_one_alone(home: Path) -> None:
    assert resolve("bbbb", [str(home)]).session_id == THREE
    with pytest.raises(UsageError, match=r"\[home\]"):
        resolve("bbbb", str(home))


def test_the_beginning_of_an_id_counts_before_a_title_and_before_other_names(home: Path) -> None:
    write_session(home, session_id(0xEEEE0006), [*turns(3), {"type": "custom-title", "customTitle": "bbbb"}])
    write_session(home, "bbbb0003 copy", turns(3))
    assert resolve("bbbb", [home]).session_id == THREE
    assert resolve("bbbb0003 c", [home]).session_id == "bbbb0003 copy"
