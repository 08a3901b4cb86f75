"""Find the releases in which clients began to resume sessions in another way, into golden-messages/boundaries.json.

    python scripts/find_boundaries.py [--answers FOLDER] [--clients FOLDER] [--timeout SECONDS] [--rebuild] [CASE…]

Asks the releases of `FIRST` about every case of `CASES` (or those named), which are hand-made sessions of
tests/messages/hard_cases.py; between two neighbours that answer differently it asks the one in the middle, until no published
release lies between. A habit that came and went between two releases that were asked is not found. Answers are kept whole in
the folder of `--answers`, so that a run goes on where it was stopped; clients are installed as they are needed, about 200 MB
each. What the golden holds of cases that were not asked stays. `--rebuild` asks nothing.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from ask_clients import Question, answer_path, ask_and_keep, read_answer, read_golden, write_golden
from lab.clients import ClientMissing, default_clients_folder, install_client, published_releases
from lab.oracle import Answer, digest, normalise, stored_reminders
from tests.messages.asking import entry_of, questions
from tests.messages.boundaries import CASES, MODEL_CASES
from tests.messages.golden import GOLDEN, RELEASES

from stenograph.releases import NEWEST, release_numbers

#: Asked about every case: the releases of the other goldens, and two between the last two of them, which lie far apart.
FIRST = tuple(dict.fromkeys(("2.0.76", "2.1.45", "2.1.112", "2.1.200", "2.1.325", NEWEST)))
_OLDEST = (2, 0, 36)


class Search:
    """The search for the boundaries of one case."""

    def __init__(self, question: Question, published: Sequence[str], options: argparse.Namespace) -> None:
        self.question, self.published, self._options = question, list(published), options

    def known(self, release: str) -> Answer | None:
        return read_answer(answer_path(self._options.answers, release, self.question.key))

    def ask(self, release: str) -> None:
        """Ask a release that was not asked before; one that can't be installed is passed over from now on."""
        if self.known(release) is not None:
            return
        try:
            program = install_client(self._options.clients, release)
        except ClientMissing as missing:
            sys.stderr.write(f"{missing}\n")
            self.published.remove(release)
            return
        ask_and_keep(program, release, self.question, self._options.answers, self._options.timeout)

    def asked(self) -> list[tuple[str, Answer]]:
        return [(release, answer) for release in self.published if (answer := self.known(release)) is not None]

    def changes(self) -> list[str]:
        """The releases that answer otherwise than the one before."""
        pairs = pairwise(self.asked())
        return [later for (_, before), (later, after) in pairs if self.sign(before) != self.sign(after)]

    def run(self) -> None:
        for release in FIRST:
            self.ask(release)
        while (between := self._gap()) is not None:
            self.ask(between[len(between) // 2])

    def _gap(self) -> list[str] | None:
        """The releases between the first two neighbours that differ and are no neighbours yet."""
        for (release, before), (later, after) in pairwise(self.asked()):
            between = self.published[self.published.index(release) + 1 : self.published.index(later)]
            if between and self.sign(before) != self.sign(after):
                return between
        return None

    def sign(self, answer: Answer) -> str:
        """By what two answers are told apart. Stored words count for every release: when they began to be sent is asked, too.

        Of the model only whether it is one that the session names: a release's default is another matter.
        """
        if answer.messages is None:
            return "refused" if answer.refused else "timed out" if answer.timed_out else "nothing sent"
        words = digest(normalise(answer.messages, keep=stored_reminders(self.question.data, rendered=True)))
        is_kept = self.question.name in MODEL_CASES and str(answer.model).encode() in self.question.data
        return f"{words} {is_kept}"


def main() -> None:
    cache = default_clients_folder(os.environ)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", type=Path, default=cache.parent / "answers", help="where whole answers are kept")
    parser.add_argument("--clients", type=Path, default=cache, help="where clients are installed")
    parser.add_argument("--timeout", type=float, default=90.0, metavar="SECONDS")
    parser.add_argument("--rebuild", action="store_true", help="ask nothing")
    parser.add_argument("cases", nargs="*", metavar="CASE")
    options = parser.parse_args()
    published = [release for release in published_releases() if release_numbers(release) >= _OLDEST]
    named = {question.name: question for question in questions("hard")}
    keys = {named[case].key for case in CASES}
    old = read_golden(GOLDEN / "boundaries.json")
    golden = {release: {key: entry for key, entry in entries.items() if key in keys} for release, entries in old.items()}
    for case in CASES:
        search = Search(named[case], published, options)
        if not options.rebuild and case in (options.cases or CASES):
            search.run()
        for release, answer in search.asked():
            if release not in RELEASES:
                entry = entry_of(search.question, release, answer)
                golden.setdefault(release, {})[search.question.key] = {k: v for k, v in entry.items() if k != "messages"}
        sys.stdout.write(f"{case}: {len(search.asked())} releases asked; changed in {', '.join(search.changes()) or 'none'}\n")
        sys.stdout.flush()
    write_golden(GOLDEN / "boundaries.json", golden)


if __name__ == "__main__":
    main()
