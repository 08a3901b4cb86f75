"""Ask real clients about generated sessions, and tell where our messages differ from theirs.

    python scripts/differ_clients.py --seed N [--count N] [--release RELEASE]… [--answers FOLDER] [--shrink] [--only NUMBER]

The sessions are those of tests/messages/generator.py, the same ones for the same seed. Answers are kept by the sha256 of the
session in the folder of `--answers`, so that a run goes on where it was stopped and asks nothing twice. With `--shrink` lines are
taken from each session that differs as long as it still does; the smallest file is kept in `<answers>/differences`.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ask_clients import RELEASES, Question, answer_path, ask_and_keep, read_answer
from lab.clients import default_clients_folder, install_client
from lab.oracle import Answer

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.messages.generator import HardSession, numbered_sessions, shrunk  # noqa: E402
from tests.messages.golden import Difference, compare_with_answer, our_messages  # noqa: E402

AT_ONCE = 2
# 2.0.76 never comes back from a loop of parents (rule 25); others answer in about two seconds.
TIMEOUT = 20.0
PATIENT = 90.0


class Run:
    """The questions of one release."""

    def __init__(self, release: str, program: Path, answers: Path) -> None:
        self.release, self.program, self.answers = release, program, answers

    def answer(self, data: bytes) -> Answer:
        question = Question(None, data)
        kept = read_answer(answer_path(self.answers, self.release, question.key))
        return kept or ask_and_keep(self.program, self.release, question, self.answers, TIMEOUT)

    def difference(self, data: bytes) -> Difference | None:
        path = self.answers / "sessions" / f"{Question(None, data).key}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        ours, answer = our_messages(self.release, data, path), self.answer(data)
        if answer.timed_out and ours is not None:  # a busy machine, or a difference
            answer = ask_and_keep(self.program, self.release, Question(None, data), self.answers, PATIENT)
        return compare_with_answer(self.release, data, answer, ours)

    def smallest(self, data: bytes) -> Path:
        lines = shrunk(data.splitlines(keepends=True), lambda fewer: self.difference(fewer) is not None)
        path = self.answers / "differences" / f"{self.release}-{Question(None, data).key[:12]}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(lines))
        return path


def differ(run: Run, sessions: dict[int, HardSession], *, shrink: bool) -> Counter[str]:
    told: Counter[str] = Counter()
    differing: list[tuple[int, HardSession]] = []
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = pool.map(lambda session: run.difference(session.data), sessions.values())
        for (number, session), difference in zip(sessions.items(), found, strict=True):
            if difference is not None:
                told["differ"] += 1
                differing.append((number, session))
                sys.stdout.write(f"{run.release} #{number} {' '.join(sorted(session.features))}\n  {difference}\n")
            else:
                told["refused by both" if run.answer(session.data).messages is None else "equal"] += 1
        if shrink:
            for (number, _), path in zip(differing, pool.map(lambda one: run.smallest(one[1].data), differing), strict=True):
                sys.stdout.write(f"{run.release} #{number}: {path}\n  {run.difference(path.read_bytes())}\n")
    return told


def main() -> None:
    clients = default_clients_folder(os.environ)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--only", type=int, action="append", metavar="NUMBER", help="only this session of the seed")
    parser.add_argument("--release", dest="releases", action="append", metavar="RELEASE")
    parser.add_argument("--answers", type=Path, default=clients.parent / "generated", help="where answers are kept")
    parser.add_argument("--shrink", action="store_true")
    options = parser.parse_args()
    numbered = dict(enumerate(numbered_sessions(options.seed, options.count)))
    sessions = {number: session for number, session in numbered.items() if not options.only or number in options.only}
    for release in options.releases or RELEASES:
        run = Run(release, install_client(clients, release), options.answers)
        told = differ(run, sessions, shrink=options.shrink)
        counts = ", ".join(f"{count} {what}" for what, count in told.items())
        sys.stdout.write(f"{release}: {len(sessions)} asked, {counts}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
