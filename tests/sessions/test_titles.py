"""Rule 11 of the resume contract: what each release's picker shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.homes import assistant, session_id, user, write_session

from stenograph.errors import UsageError
from stenograph.sessions import glance, title
from stenograph.testing.lines import text

LINES: dict[str, dict[str, Any]] = {
    "custom": {"type": "custom-title", "customTitle": "custom"},
    "ai": {"type": "ai-title", "aiTitle": "ai"},
    "last": {"type": "last-prompt", "lastPrompt": "last"},
    "summary": {"type": "summary", "summary": "summary", "leafUuid": "u2"},
}


@pytest.mark.parametrize(
    ("release", "present", "expected"),
    [
        ("2.0.76", "custom ai last summary", "custom"),
        ("2.0.76", "ai last summary", "summary"),
        ("2.0.76", "ai last", "first"),
        ("2.1.45", "custom ai last summary", "custom"),
        ("2.1.45", "ai last summary", "first"),
        ("2.1.325", "custom ai last summary", "custom"),
        ("2.1.325", "ai last summary", "ai"),
        ("2.1.325", "last summary", "last"),
        ("2.1.325", "summary", "first"),
    ],
)
def test_each_release_has_its_own_order(tmp_path: Path, release: str, present: str, expected: str) -> None:
    records = [user("first", uuid="u1"), assistant(text("a"), uuid="u2"), *(LINES[name] for name in present.split())]
    assert title(glance(write_session(tmp_path, session_id(1), records)), release) == expected


def test_a_summary_of_another_session_is_not_a_title(tmp_path: Path) -> None:
    foreign = {"type": "summary", "summary": "foreign", "leafUuid": "elsewhere"}
    path = write_session(tmp_path, session_id(1), [user("first", uuid="u1"), foreign])
    assert title(glance(path), "2.0.76") == "first"


def test_a_summary_in_another_file_is_taken_when_it_names_the_leaf(tmp_path: Path) -> None:
    seen = glance(write_session(tmp_path, session_id(1), [user("first", uuid="u1")]))
    assert title(seen, "2.0.76", summaries={"u1": "from a later file"}) == "from a later file"
    assert title(seen, "2.1.45", summaries={"u1": "from a later file"}) == "first"


def test_a_session_that_says_nothing_has_no_title(tmp_path: Path) -> None:
    assert title(glance(write_session(tmp_path, session_id(1), []))) is None


def test_a_release_is_understood_as_a_client_says_it(tmp_path: Path) -> None:
    """`claude --version` prints "2.1.325 (Claude Code)"."""
    seen = glance(write_session(tmp_path, session_id(1), [user("first"), LINES["ai"]]))
    assert title(seen, "2.1.325 (Claude Code)") == "ai"
    assert title(seen, "2.1.45 (Claude Code)") == "first"
    for nonsense in ("", "newest", "v2"):
        with pytest.raises(UsageError):
            title(seen, nonsense)
