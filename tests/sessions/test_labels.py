"""Labels are appended byte for byte as the public SDK appends them."""

from __future__ import annotations

from pathlib import Path

import claude_agent_sdk
import pytest
from tests.homes import session_id, turns, write_session

from stenograph.errors import UnreadableError, UsageError
from stenograph.sessions import glance, rename, tag

ID = session_id(1)
WORDS = [
    "plain",
    "  spaces around  ",
    'quotes " and \\',
    "naïve café ﬁ",
    "日本語 🎉",
    "zero\u200bwidth\u202e",
    "tab\tin",
    "e\u0301",
]


@pytest.fixture
def twins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """The same session in two homes; the SDK sees the second."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "theirs"))
    return write_session(tmp_path / "ours", ID, turns(2)), write_session(tmp_path / "theirs", ID, turns(2))


@pytest.mark.parametrize("words", WORDS)
def test_a_title_is_appended_as_the_sdk_appends_it(twins: tuple[Path, Path], words: str) -> None:
    ours, theirs = twins
    rename(ours, words)
    claude_agent_sdk.rename_session(ID, words)
    assert ours.read_bytes() == theirs.read_bytes()
    assert glance(ours).custom_title == words.strip()


@pytest.mark.parametrize("words", [*WORDS, None])
def test_a_tag_is_appended_as_the_sdk_appends_it(twins: tuple[Path, Path], words: str | None) -> None:
    ours, theirs = twins
    tag(ours, words)
    claude_agent_sdk.tag_session(ID, words)
    assert ours.read_bytes() == theirs.read_bytes()


def test_the_last_label_counts_and_can_be_taken_back(twins: tuple[Path, Path]) -> None:
    path, _ = twins
    before = path.read_bytes()
    for words in ("one", "two"):
        rename(path, words)
        tag(path, words)
    assert (glance(path).custom_title, glance(path).tag) == ("two", "two")
    tag(path, None)
    assert glance(path).tag is None
    assert path.read_bytes().startswith(before)


def test_a_missing_final_newline_is_mended_first(tmp_path: Path) -> None:
    path = write_session(tmp_path, ID, turns(1), tail=b'{"type":"user"}')
    rename(path, "t")
    assert path.read_bytes().endswith(
        b'{"type":"user"}\n{"type":"custom-title","customTitle":"t","sessionId":"%s"}\n' % ID.encode()
    )


@pytest.mark.parametrize("words", ["", "   ", "\n"])
def test_a_label_without_a_visible_character_is_refused(twins: tuple[Path, Path], words: str) -> None:
    path, _ = twins
    before = path.read_bytes()
    with pytest.raises(UsageError):
        rename(path, words)
    with pytest.raises(UsageError):
        tag(path, words + "\u200b")
    assert path.read_bytes() == before


def test_only_a_session_with_an_id_and_lines_is_labelled(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        rename(write_session(tmp_path, "short", turns(1)), "t")
    with pytest.raises(UsageError):
        rename(write_session(tmp_path, ID, []), "t")
    with pytest.raises(UnreadableError):
        rename(tmp_path / f"{ID}.jsonl", "t")
