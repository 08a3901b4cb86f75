"""The sessions that real clients are asked about, and the form in which an answer becomes a golden.

Shared by scripts/ask_clients.py, which writes the goldens, and by the tests that ask again. A golden is what a client sent,
never what our own code makes of a session.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab.oracle import SESSION_ID, Answer, ask, digest, normalise, shape, stored_reminders
from tests.corpora import CORPUS, FIXTURES
from tests.messages.golden import sends_rendered
from tests.messages.hard_cases import hard_cases

from stenograph.testing.scripted_api import ScriptedApi

LARGEST_PUBLIC = 3_000_000
LARGEST_STORED = 8_000
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True)
class Question:
    """A session to ask about. `name` is what a golden may say of it: nothing, for a public one."""

    name: str | None
    data: bytes
    session_id: str = SESSION_ID
    extra_files: dict[str, bytes] = field(default_factory=dict)

    @property
    def key(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


def questions(which: str) -> Iterator[Question]:
    """The sessions of a set; public ones as far as they are at hand, the smallest first."""
    if which == "recorded":
        recorded = FIXTURES / "recorded"
        for path in sorted(recorded.rglob("*.jsonl")):
            if not path.name.startswith("agent-"):
                yield of_file(path, path.relative_to(recorded).as_posix())
    elif which == "hard":
        for case in hard_cases():
            yield Question(case.name, case.data)
    else:
        paths = [path for path in (CORPUS / "public").rglob("*.jsonl") if path.stat().st_size < LARGEST_PUBLIC]
        for path in sorted(paths, key=lambda path: (path.stat().st_size, path)):
            yield of_file(path, None)


def of_file(path: Path, name: str | None) -> Question:
    """A session with the files that a client would find beside it."""
    beside = [*path.parent.glob("agent-*.jsonl"), *(path.parent / path.stem).rglob("*")]
    extra = {file.relative_to(path.parent).as_posix(): file.read_bytes() for file in beside if file.is_file() and file != path}
    session_id = path.stem if _UUID.fullmatch(path.stem) else SESSION_ID
    return Question(name, path.read_bytes(), session_id, extra)


def ask_question(program: Path, question: Question, timeout: float) -> Answer:
    with ScriptedApi() as api:  # one each: requests are big, and an API keeps all it got
        return ask(
            program,
            question.data,
            api=api,
            session_id=question.session_id,
            extra_files=question.extra_files,
            timeout=timeout,
        )


def normalised(question: Question, release: str, answer: Answer) -> list[dict[str, Any]] | None:
    """The messages of an answer as they are compared."""
    if answer.messages is None:
        return None
    return normalise(answer.messages, keep=stored_reminders(question.data, rendered=sends_rendered(release)))


def entry_of(question: Question, release: str, answer: Answer) -> dict[str, Any]:
    """What a golden says of an answer; of a public session no words."""
    entry: dict[str, Any] = {} if question.name is None else {"name": question.name}
    messages = normalised(question, release, answer)
    if messages is None:
        outcome = "refused" if answer.refused else "timed out" if answer.timed_out else "nothing sent"
        return {**entry, "outcome": outcome, "returncode": answer.returncode}
    entry |= {"digest": digest(messages), "shape": " ".join(shape(messages))}
    if question.name is None:
        return entry
    entry["model"] = answer.model
    if len(json.dumps(messages)) < LARGEST_STORED:
        entry["messages"] = messages
    return entry
