"""Real clients asked again: what the goldens say must be what a client says today.

Without `--full` one recorded session a scenario and a few hand-made ones, each of one release in turn, and every golden that is
new or other than in the last commit. With `--full` all that are at hand.
"""

from __future__ import annotations

import functools
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import cycle, product
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Client
from tests.corpora import FIXTURES, ROOT
from tests.messages.asking import Question, ask_question, entry_of, questions
from tests.messages.golden import GOLDEN, RELEASES, SETS, golden
from tests.turns.recordings import interactive_sessions, print_session

pytestmark = pytest.mark.clients

Golden = dict[str, dict[str, dict[str, Any]]]

TIMEOUT = 90.0
# A client that hangs would not be back after the whole time either.
TIMEOUT_OF_THOSE_THAT_HANG = 30.0
PRINT_SCENARIOS = ("tools", "fork", "subagents-Task", "subagents-Agent", "errors", "badrequest")
#: Those in which the three releases part most.
HARD_CASES = (
    "all_timestamps_equal",
    "null_line",
    "ends_in_two_calls_one_answered",
    "last_prompt_selects_the_older_branch",
    "preserved_segment",
    "parallel_calls_each_with_its_result",
)


@dataclass(frozen=True)
class Asked:
    """A golden to ask about again."""

    which: str
    release: str
    key: str

    def __str__(self) -> str:
        return f"{self.release}-{golden(self.which)[self.release][self.key].get('name') or self.key[:12]}"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "asked" in metafunc.fixturenames:
        full = metafunc.config.getoption("--full")
        chosen = dict.fromkeys(_all() if full else [*_in_turn(), *_changed(_committed() or {})])
        metafunc.parametrize("asked", list(chosen), ids=str)


@pytest.mark.sample
def test_a_client_answers_as_its_golden_says(asked: Asked, client: Client) -> None:
    known = golden(asked.which)[asked.release][asked.key]
    question = _questions(asked.which).get(asked.key)
    assert question is not None, "a golden without its session"
    timeout = TIMEOUT_OF_THOSE_THAT_HANG if known.get("outcome") == "timed out" else TIMEOUT
    answer = ask_question(client(asked.release), question, timeout)
    assert entry_of(question, asked.release, answer) == known


@pytest.mark.sample
def test_goldens_that_changed_since_the_last_commit_are_known() -> None:
    """What the test above has asked again; here it is only told when it could not know."""
    committed = _committed()
    if committed is None:
        pytest.skip("no git history to tell new goldens by: only one session a scenario was asked again")
    assert committed.keys() <= set(SETS)


def _in_turn() -> Iterator[Asked]:
    """One session a scenario, read by and written by the releases in turn, and a few hand-made ones."""
    named = {release: {entry["name"]: key for key, entry in golden("recorded")[release].items()} for release in RELEASES}
    index = FIXTURES / "recorded" / RELEASES[-1] / "interactive" / "scenarios.json"
    interactive: list[str] = sorted(json.loads(index.read_text("utf-8")))
    scenarios: list[tuple[Callable[[str, str], Path], str]] = [(print_session, name) for name in PRINT_SCENARIOS]
    scenarios += [(lambda writer, name: interactive_sessions(writer, name)[-1], name) for name in interactive]
    for (find, name), (reader, writer) in zip(scenarios, cycle(product(RELEASES, RELEASES)), strict=False):
        yield Asked("recorded", reader, named[reader][find(writer, name).relative_to(FIXTURES / "recorded").as_posix()])
    hard = {entry["name"]: key for key, entry in golden("hard")[RELEASES[0]].items()}
    for release, name in zip(cycle(RELEASES), HARD_CASES, strict=False):
        yield Asked("hard", release, hard[name])


def _all() -> Iterator[Asked]:
    for which in SETS:
        present = _questions(which)
        for release, entries in golden(which).items():
            yield from (Asked(which, release, key) for key in sorted(entries) if which != "public" or key in present)


def _changed(committed: dict[str, Golden]) -> Iterator[Asked]:
    """Goldens that the last commit does not hold as they are; of public ones those whose session is at hand."""
    for which, old in committed.items():
        for release, entries in golden(which).items():
            for key in sorted(entries):
                new = entries[key] != old.get(release, {}).get(key)
                if new and (which != "public" or key in _questions(which)):
                    yield Asked(which, release, key)


@functools.cache
def _questions(which: str) -> dict[str, Question]:
    # Of the same bytes under two names the first counts, as in scripts/ask_clients.py.
    return {question.key: question for question in reversed(list(questions(which)))}


@functools.cache
def _committed() -> dict[str, Golden] | None:
    """The goldens of the last commit; None where there is no git, or no commit."""
    git = shutil.which("git")
    if git is None:
        return None
    shown: dict[str, Golden] = {}
    for which in SETS:
        path = (GOLDEN / f"{which}.json").relative_to(ROOT).as_posix()
        done = subprocess.run([git, "show", f"HEAD:./{path}"], cwd=ROOT, capture_output=True, check=False)
        if done.returncode:
            return None
        shown[which] = json.loads(done.stdout)
    return shown
