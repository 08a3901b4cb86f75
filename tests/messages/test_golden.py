"""Our messages against those that real clients sent, for every session of which there is an answer.

What differs stands in `EXCEPTIONS` under its rule and with its reason: a difference that is not there fails, and so does an
entry that differs no more.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.corpora import CORPUS, FIXTURES
from tests.messages.golden import GOLDEN, RELEASES, compare, golden, key_of
from tests.messages.hard_cases import hard_cases

from stenograph.graph import build_graph
from stenograph.messages import plain, resume_messages
from stenograph.records import read_all_records
from stenograph.testing.oracle import PROMPT, normalise, stored_reminders

_SENDS_RENDERED = "2.1.325"
_PLAN = "36: the plan of an ExitPlanMode call without one is put back into its input; from where was not asked yet"
_CLEARED = "38: old tool results are cleared when the conversation has grown too long; how long is not known"

#: Set and release -> name of the session (of a public one the beginning of its hash) -> rule and reason.
EXCEPTIONS: dict[tuple[str, str], dict[str, str]] = {
    ("public", "2.0.76"): {"106c5d5931cf": _PLAN, "7415979a6c33": _CLEARED},
    ("public", "2.1.45"): {"106c5d5931cf": _PLAN, "7415979a6c33": _CLEARED},
}


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
        resume = resume_messages(build_graph([(path, "", read_all_records(path))]), release)
        ours = None
        if resume.messages is not None:
            prompt = {"role": "user", "content": PROMPT}
            ours = normalise([*plain(resume), prompt], keep=stored_reminders(data, rendered=release == _SENDS_RENDERED))
        found = compare(release, sha, ours)
        if found is not None:
            differences[name] = str(found)
    if which == "public" and not compared:
        pytest.skip("no corpus of public sessions, or no answers about it")
    assert compared
    assert {name: text for name, text in differences.items() if name not in exceptions} == {}
    assert {name for name in exceptions if name in compared} == differences.keys()
