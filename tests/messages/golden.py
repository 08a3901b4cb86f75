"""What real clients sent for a session, and how it differs from what we say they send.

The golden files are made by scripts/ask_clients.py and nothing else. `$STENO_ANSWERS` may name the folder where that script
kept the whole answers; a difference in a long session is then told by its first block, else by its shape only.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.oracle import PROMPT, Answer, digest, normalise, plain, shape, stored_reminders
from tests.corpora import FIXTURES

from stenograph import messages as own
from stenograph.graph import build_graph
from stenograph.records import read_all_records
from stenograph.releases import release_numbers

RELEASES = ("2.0.76", "2.1.45", "2.1.325")
GOLDEN = FIXTURES / "golden-messages"
SETS = ("recorded", "hard", "public")
#: A set of its own: answers of the releases in which a habit changed, and of those before them, about a few hand-made sessions.
BOUNDARIES = "boundaries"
#: The first release known to send an attachment's stored words again (rule 37).
SENDS_RENDERED = "2.1.268"
# At import: tests run without the user's settings.
_ANSWERS = os.environ.get("STENO_ANSWERS")

Json = dict[str, Any]


@dataclass(frozen=True)
class Difference:
    """The first place where ours and theirs part. `theirs` is None where the golden holds no words to show."""

    message: int
    block: int | None
    ours: Any
    theirs: Any

    def __str__(self) -> str:
        place = f"message {self.message}" + ("" if self.block is None else f", block {self.block}")
        return f"{place}:\n  ours   {self.ours!r:.400}\n  theirs {self.theirs!r:.400}"


@functools.cache
def golden(which: str) -> dict[str, dict[str, Json]]:
    """A golden file: release -> sha256 of the session file -> entry."""
    loaded: dict[str, dict[str, Json]] = json.loads((GOLDEN / f"{which}.json").read_text(encoding="utf-8"))
    return loaded


def sends_rendered(release: str) -> bool:
    return release_numbers(release) >= release_numbers(SENDS_RENDERED)


def key_of(session: bytes) -> str:
    return hashlib.sha256(session).hexdigest()


def entry(release: str, sha: str) -> Json | None:
    """What is known of a session; None when this release was never asked about it."""
    present = [which for which in (*SETS, BOUNDARIES) if (GOLDEN / f"{which}.json").exists()]
    return next((found for which in present if (found := golden(which).get(release, {}).get(sha))), None)


def our_messages(release: str, session: bytes, path: Path) -> list[Json] | None:
    """What we say that a release sends of a session, as goldens hold it; None when it does not resume it."""
    resume = own.resume_messages(build_graph([(path, "", read_all_records(path))]), release)
    if resume.messages is None:
        return None
    prompt = {"role": "user", "content": PROMPT}
    return normalise([*own.plain(resume), prompt], keep=stored_reminders(session, rendered=sends_rendered(release)))


def compare_with_answer(release: str, session: bytes, answer: Answer, ours: list[Json] | None) -> Difference | None:
    """How our messages differ from those of a client that was just asked; None when they don't."""
    if answer.messages is None or ours is None:
        same = answer.messages is None and ours is None
        told = "nothing" if answer.messages is None else " ".join(shape(plain(answer.messages)))
        return None if same else Difference(0, None, None if ours is None else " ".join(shape(ours)), told)
    theirs = normalise(answer.messages, keep=stored_reminders(session, rendered=sends_rendered(release)))
    return None if ours == theirs else first_difference(ours, theirs)


def compare(release: str, sha: str, our_messages: list[Json] | None) -> Difference | None:
    """How our messages differ from the client's; None when they don't.

    `our_messages` are those that precede the new prompt, and None stands for a session that is not resumed. Raises KeyError when
    the release was never asked.
    """
    theirs = entry(release, sha)
    if theirs is None:
        raise KeyError(f"{release} was never asked about {sha}")
    if our_messages is None or "outcome" in theirs:
        same = our_messages is None and "outcome" in theirs
        ours = None if our_messages is None else " ".join(shape(plain(our_messages)))
        return None if same else Difference(0, None, ours, theirs.get("outcome") or theirs["shape"])
    ours_plain = plain(our_messages)
    if digest(ours_plain) == theirs["digest"]:
        return None
    words = theirs.get("messages") or _kept_answer(release, sha)
    if words is None:
        return _first_difference_of_shapes(shape(ours_plain), theirs["shape"].split())
    return first_difference(ours_plain, words)


def _kept_answer(release: str, sha: str) -> list[Json] | None:
    path = Path(_ANSWERS) / release / f"{sha}.normal.json.gz" if _ANSWERS else None
    if path is None or not path.exists():
        return None
    messages: list[Json] = json.loads(gzip.decompress(path.read_bytes()))
    return messages


def _first_difference_of_shapes(ours: list[str], theirs: list[str]) -> Difference:
    number = next((n for n, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), min(len(ours), len(theirs)))
    if number == len(ours) == len(theirs):
        return Difference(0, None, "the same shape, other words", None)
    return Difference(number, None, ours[number : number + 3], theirs[number : number + 3])


def first_difference(ours: list[Json], theirs: list[Json]) -> Difference:
    for number, (mine, other) in enumerate(zip(ours, theirs, strict=False)):
        if mine == other:
            continue
        if mine["role"] != other["role"]:
            return Difference(number, None, mine, other)
        for place, (block, block_of_theirs) in enumerate(zip(mine["content"], other["content"], strict=False)):
            if block != block_of_theirs:
                return Difference(number, place, block, block_of_theirs)
        place = min(len(mine["content"]), len(other["content"]))
        return Difference(number, place, mine["content"][place:], other["content"][place:])
    number = min(len(ours), len(theirs))
    return Difference(number, None, ours[number:], theirs[number:])
