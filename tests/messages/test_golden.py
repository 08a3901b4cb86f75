"""Our messages against those that real clients sent, for every session of which there is an answer.

What differs stands in `exceptions.py` under its rule and with its reason: a difference that is not there fails, and so does an
entry that differs no more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.corpora import CORPUS, FIXTURES, ROOT
from tests.messages.boundaries import CASES, MODEL_CASES
from tests.messages.exceptions import EXCEPTIONS
from tests.messages.golden import BOUNDARIES, GOLDEN, RELEASES, compare, golden, key_of, our_messages
from tests.messages.hard_cases import hard_cases

from stenograph.releases import TABLE, release_numbers

#: Case -> release -> rule and reason.
BOUNDARY_EXCEPTIONS: dict[str, dict[str, str]] = {}


def _sessions(which: str, folder: Path) -> Iterator[tuple[str, bytes, Path]]:
    """Name, bytes and file of every session of a set that is at hand."""
    if which == "hard":
        for case in hard_cases():
            path = folder / f"{case.name}.jsonl"
            path.write_bytes(case.data)
            yield case.name, case.data, path
        return
    root = FIXTURES / "recorded" if which == "recorded" else CORPUS / "public"
    for path in sorted(root.rglob("*.jsonl")):
        if which == "recorded" or path.stat().st_size < 3_000_000:
            data = path.read_bytes()
            yield path.name if which == "recorded" else key_of(data)[:12], data, path


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("which", ["recorded", "hard", "public"])
def test_our_messages_are_those_of_the_real_client(which: str, release: str, tmp_path: Path) -> None:
    known = golden(which)[release] if (GOLDEN / f"{which}.json").exists() else {}
    exceptions = EXCEPTIONS.get((which, release), {})
    compared: set[str] = set()
    differences: dict[str, str] = {}
    for name, data, path in _sessions(which, tmp_path):
        sha = key_of(data)
        if sha not in known:
            continue
        compared.add(name)
        found = compare(release, sha, our_messages(release, data, path))
        if found is not None:
            differences[name] = str(found)
    if which == "public" and not compared:
        pytest.skip("no corpus of public sessions, or no answers about it")
    assert compared
    assert {name: text for name, text in differences.items() if name not in exceptions} == {}
    assert {name for name in exceptions if name in compared} == differences.keys()


@pytest.mark.parametrize("case", CASES)
def test_our_messages_are_those_of_the_releases_on_both_sides_of_every_boundary(case: str, tmp_path: Path) -> None:
    session = next(one for one in hard_cases() if one.name == case)
    path = tmp_path / "session.jsonl"
    path.write_bytes(session.data)
    sha = key_of(session.data)
    asked = [release for release, entries in golden(BOUNDARIES).items() if sha in entries]
    assert len(asked) > 1
    found = {release: compare(release, sha, our_messages(release, session.data, path)) for release in asked}
    differences = {release: str(difference) for release, difference in found.items() if difference is not None}
    exceptions = BOUNDARY_EXCEPTIONS.get(case, {})
    assert {release: text for release, text in differences.items() if release not in exceptions} == {}
    assert exceptions.keys() == differences.keys()


def _boundaries_told() -> list[tuple[str, str]]:
    """Release and case of every row of the contract's table of boundaries."""
    told = re.findall(
        r"^\| (2\.[0-9.]+) \| [0-9]+ \| .* \| `(\w+)` \|$", (ROOT / "docs" / "resume-contract.md").read_text("utf-8"), re.M
    )
    assert told
    return told


@pytest.mark.parametrize(("since", "case"), _boundaries_told())
def test_at_every_boundary_of_the_contract_a_client_began_to_answer_otherwise(since: str, case: str) -> None:
    sha = next(key_of(one.data) for one in hard_cases() if one.name == case)
    answers = {
        release: (entry.get("digest") or "no messages", entry.get("model") if case in MODEL_CASES else None)
        for which in ("hard", BOUNDARIES)
        for release, entries in golden(which).items()
        if (entry := entries.get(sha))
    }
    before = max((release for release in answers if release_numbers(release) < release_numbers(since)), key=release_numbers)
    assert answers[since] != answers[before]


def test_every_change_of_habit_that_was_asked_for_stands_in_the_contract() -> None:
    named = {(since.release, since.case) for row in TABLE.values() for since in row.changes if since.case}
    assert named <= set(_boundaries_told())
