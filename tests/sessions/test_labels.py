"""Labels are appended byte for byte as the public SDK appends them, with our mark behind their members."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import claude_agent_sdk
import pytest
from tests.homes import LONG_AGO, session_id, turns, write_session

from stenograph import __version__
from stenograph.check import check
from stenograph.disk import lock, writer
from stenograph.errors import BusyError, UnreadableError, UsageError
from stenograph.sessions import glance, rename, tag

ID = session_id(1)
RECORDED = Path(__file__).parent.parent / "fixtures" / "recorded"
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


def marked(path: Path) -> bytes:
    """The bytes of a file with our mark in its last line."""
    return path.read_bytes().removesuffix(b"}\n") + b',"stenograph":"%s"}\n' % __version__.encode()


@pytest.mark.parametrize("words", WORDS)
def test_a_title_is_appended_as_the_sdk_appends_it(twins: tuple[Path, Path], words: str) -> None:
    ours, theirs = twins
    rename(ours, words)
    claude_agent_sdk.rename_session(ID, words)
    assert ours.read_bytes() == marked(theirs)
    assert glance(ours).custom_title == words.strip()


@pytest.mark.parametrize("words", [*WORDS, None])
def test_a_tag_is_appended_as_the_sdk_appends_it(twins: tuple[Path, Path], words: str | None) -> None:
    ours, theirs = twins
    tag(ours, words)
    claude_agent_sdk.tag_session(ID, words)
    assert ours.read_bytes() == marked(theirs)


def test_the_sdk_reads_labels_with_our_mark(twins: tuple[Path, Path]) -> None:
    _, theirs = twins
    rename(theirs, "A title")
    tag(theirs, "a-tag")
    (found,) = claude_agent_sdk.list_sessions()
    assert (found.custom_title, found.tag) == ("A title", "a-tag")


@pytest.mark.parametrize("release", ["2.0.76", "2.1.45", "2.1.325"])
def test_the_checker_finds_nothing_in_labels(tmp_path: Path, release: str) -> None:
    recorded = next(path for path in sorted((RECORDED / release / "print").rglob("*.jsonl")) if path.stem in path.read_text())
    path = tmp_path / recorded.name
    path.write_bytes(recorded.read_bytes())
    before = check([path])
    rename(path, "A title")
    tag(path, "a-tag")
    after = check([path])
    assert [one.shape for one in after.drift] == [one.shape for one in before.drift]
    assert (after.damage, after.failures) == (before.damage, before.failures)


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
        b'{"type":"user"}\n{"type":"custom-title","customTitle":"t","sessionId":"%s","stenograph":"%s"}\n'
        % (ID.encode(), __version__.encode())
    )


@pytest.mark.parametrize("words", ["", "   ", "\n", "\u200b", "\u200d\ufe0f", "\u2800", "\u3164 \u2060", "\x07", "\u0301"])
def test_a_label_without_a_visible_character_is_refused(twins: tuple[Path, Path], words: str) -> None:
    path, _ = twins
    before = path.read_bytes()
    with pytest.raises(UsageError):
        rename(path, words)
    with pytest.raises(UsageError):
        tag(path, words)
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


@pytest.mark.parametrize("words", ["caf\udce9", "\ud83d"])
def test_a_label_that_is_no_utf8_is_refused(twins: tuple[Path, Path], words: str) -> None:
    path, _ = twins
    before = path.read_bytes()
    for give in (rename, tag):
        with pytest.raises(UsageError, match="UTF-8"):
            give(path, words)
    assert path.read_bytes() == before


def test_a_file_that_holds_no_record_is_refused(tmp_path: Path) -> None:
    path = write_session(tmp_path, ID, [], tail=b"words\n")
    with pytest.raises(UsageError, match="not a session file"):
        rename(path, "t")
    assert path.read_bytes() == b"words\n"


def test_a_line_that_is_being_written_is_not_cut_in_two(tmp_path: Path) -> None:
    path = write_session(tmp_path, ID, turns(1), tail=b'{"type":"us', modified=time.time() - 60)
    before = path.read_bytes()
    for give in (rename, tag):
        with pytest.raises(BusyError, match="being written"):
            give(path, "t")
    assert path.read_bytes() == before
    rename(path, "t", active_seconds=30)
    assert path.read_bytes().startswith(before + b'\n{"type":"custom-title"')


def test_a_line_torn_long_ago_is_left_behind(tmp_path: Path) -> None:
    path = write_session(tmp_path, ID, turns(1), tail=b'{"type":"us')
    before = path.read_bytes()
    rename(path, "t")
    assert path.read_bytes().startswith(before + b'\n{"type":"custom-title"')


def test_a_recent_whole_line_without_its_newline_is_no_hindrance(tmp_path: Path) -> None:
    path = write_session(tmp_path, ID, turns(1), tail=b'{"type":"user"}', modified=time.time())
    rename(path, "t")
    assert glance(path).custom_title == "t"


@pytest.mark.skipif(sys.platform != "linux", reason="who holds a file open is known from /proc only")
def test_a_torn_line_whose_writer_lives_is_not_touched_however_old(tmp_path: Path) -> None:
    path = write_session(tmp_path, ID, turns(1), tail=b'{"type":"us')
    before = path.read_bytes()
    holder = "import sys\nfile = open(sys.argv[1], 'ab')\nprint('open', flush=True)\nsys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", holder, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"open\n"
        with pytest.raises(BusyError):
            rename(path, "t")
        child.communicate()
    assert path.read_bytes() == before


def test_labels_leave_the_time_of_change_so_that_nothing_becomes_the_newest(tmp_path: Path) -> None:
    path = write_session(tmp_path, ID, turns(2))
    rename(path, "Parser rewrite")
    tag(path, "keep")
    assert path.stat().st_mtime == LONG_AGO
    assert (glance(path).custom_title, glance(path).tag) == ("Parser rewrite", "keep")


def test_a_client_that_appends_meanwhile_keeps_its_own_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_session(tmp_path, ID, turns(2))
    real = writer._append_or_undo

    def append_twice(descriptor: int, size: int, data: bytes) -> None:
        real(descriptor, size, data)
        with path.open("ab") as client:
            client.write(b'{"type":"user"}\n')

    monkeypatch.setattr(writer, "_append_or_undo", append_twice)
    rename(path, "Parser rewrite")
    assert path.stat().st_mtime > LONG_AGO + 1


def test_a_label_waits_for_whoever_holds_the_lock(tmp_path: Path) -> None:
    path = write_session(tmp_path, ID, turns(2))
    with lock(path) as locked:
        waiting = threading.Thread(target=rename, args=(path, "Later"))
        waiting.start()
        waiting.join(0.3)
        locked.append_lines([b'{"type":"custom-title","customTitle":"Earlier"}'])
    waiting.join()
    assert glance(path).custom_title == "Later"
