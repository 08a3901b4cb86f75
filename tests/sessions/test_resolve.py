from __future__ import annotations

from pathlib import Path

import pytest
from tests.homes import LONG_AGO, session_id, turns, user, write_session

from stenograph.errors import AmbiguousSessionError, SessionNotFoundError, UsageError
from stenograph.sessions import resolve

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


@pytest.mark.parametrize("reference", ["", "nothing like it", "bbb", "./missing.jsonl", "/", "bbbb0003-ffff"])
def test_what_matches_nothing_is_not_found(home: Path, reference: str) -> None:
    with pytest.raises(SessionNotFoundError):
        resolve(reference, [home])


def test_a_file_that_holds_no_record_is_no_session(tmp_path: Path) -> None:
    (tmp_path / "readme.jsonl").write_text("hello\n")
    with pytest.raises(SessionNotFoundError, match="no session"):
        resolve(str(tmp_path / "readme.jsonl"), [])


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
    assert "give a path" in str(error.value)


def test_a_prefix_that_is_too_short_is_told_so(home: Path) -> None:
    with pytest.raises(SessionNotFoundError, match="at least 4 characters"):
        resolve("bbb", [home])
    with pytest.raises(SessionNotFoundError) as error:
        resolve("xyz", [home])
    assert "characters" not in str(error.value)


def test_homes_are_texts_or_paths_but_not_one_alone(home: Path) -> None:
    assert resolve("bbbb", [str(home)]).session_id == THREE
    with pytest.raises(UsageError, match=r"\[home\]"):
        resolve("bbbb", str(home))


def test_the_beginning_of_an_id_counts_before_a_title_and_before_other_names(home: Path) -> None:
    write_session(home, session_id(0xEEEE0006), [*turns(3), {"type": "custom-title", "customTitle": "bbbb"}])
    write_session(home, "bbbb0003 copy", turns(3))
    assert resolve("bbbb", [home]).session_id == THREE
    assert resolve("bbbb0003 c", [home]).session_id == "bbbb0003 copy"
