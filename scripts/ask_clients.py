"""Ask real clients what they send when they resume sessions, into tests/fixtures/golden-messages.

    python scripts/ask_clients.py [--answers FOLDER] [--rebuild] [--release RELEASE]… [recorded] [hard] [public]

Asks each release about every session of tests/fixtures/recorded, every hand-made one of tests/messages/hard_cases.py and every
public one under 3 MB of $STENO_CORPUS/public, the smallest first, two at a time. What a golden file holds already is not asked
again; a golden is keyed by release and by the sha256 of the session file, so a changed session is a new one. Answers are also
kept whole in the folder of `--answers`, outside the repository: `--rebuild` makes the golden files anew from them, without
asking, which is what a change of `normalise` needs. Of a public session only hashes and shapes are stored.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lab.clients import default_clients_folder, install_client
from lab.oracle import Answer

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.messages.asking import Question, ask_question, entry_of, normalised, questions
from tests.messages.golden import GOLDEN, RELEASES, SETS

__all__ = ["RELEASES", "Question", "answer_path", "ask_and_keep", "read_answer"]

ANSWERS_A_WRITE = 20

Golden = dict[str, dict[str, dict[str, Any]]]


def read_golden(path: Path) -> Golden:
    golden: Golden = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return golden


def write_golden(path: Path, golden: Golden) -> None:
    """One entry a line, so that a change of one reads as such."""
    parts = []
    for release, entries in sorted(golden.items()):
        lines = [f'"{key}":{json.dumps(entry, separators=(",", ":"))}' for key, entry in sorted(entries.items())]
        parts.append(f'"{release}":{{\n' + ",\n".join(lines) + "\n}")
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_suffix(".new")
    scratch.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")
    scratch.replace(path)


def answer_path(answers: Path, release: str, key: str) -> Path:
    return answers / release / f"{key}.json.gz"


def read_answer(path: Path) -> Answer | None:
    return Answer(**json.loads(gzip.decompress(path.read_bytes()))) if path.exists() else None


def keep_json(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_suffix(".new")
    scratch.write_bytes(gzip.compress(json.dumps(value).encode(), mtime=0))
    scratch.replace(path)


def keep_answer(answers: Path, release: str, question: Question, answer: Answer) -> None:
    """Keep an answer whole, and its normalised messages beside it, for a person to look at."""
    keep_json(answer_path(answers, release, question.key), asdict(answer))
    keep_json(answers / release / f"{question.key}.normal.json.gz", normalised(question, release, answer))


def ask_and_keep(program: Path, release: str, question: Question, answers: Path, timeout: float) -> Answer:
    answer = ask_question(program, question, timeout)
    keep_answer(answers, release, question, answer)
    return answer


def fill(which: str, options: argparse.Namespace, programs: dict[str, Path]) -> None:
    """Bring one golden file up to date."""
    path = options.output / f"{which}.json"
    old = read_golden(path)
    golden: Golden = {release: {} for release in {*old, *options.releases}}
    todo: dict[tuple[str, str], Question] = {}
    present: set[str] = set()
    for question in questions(which):
        key = question.key
        if key in present:  # the same bytes under another name
            continue
        present.add(key)
        for release in golden:
            answer = read_answer(answer_path(options.answers, release, key))
            if answer is not None:
                keep_answer(options.answers, release, question, answer)
                golden[release][key] = entry_of(question, release, answer)
            elif key in old.get(release, {}):
                golden[release][key] = old[release][key]
            elif release in options.releases and not options.rebuild:
                todo[release, key] = question
    if which == "public":  # a corpus that is not at hand, or in part, takes nothing away
        for release, entries in old.items():
            golden[release] = {**{key: entry for key, entry in entries.items() if key not in present}, **golden[release]}
    write_golden(path, golden)
    sys.stderr.write(f"{which}: {len(present)} sessions, {len(todo)} questions to ask\n")
    with ThreadPoolExecutor(2) as pool:
        asked = {
            pool.submit(ask_and_keep, programs[release], release, question, options.answers, options.timeout): (release, question)
            for (release, _), question in todo.items()
        }
        for count, done in enumerate(as_completed(asked), 1):
            release, question = asked[done]
            entry = entry_of(question, release, done.result())
            golden[release][question.key] = entry
            if count % ANSWERS_A_WRITE == 0:
                write_golden(path, golden)
            told = entry.get("outcome") or f"{entry['shape'].count(' ') + 1} messages"
            sys.stderr.write(f"{which} {count}/{len(todo)} {release} {question.name or question.key[:12]}: {told}\n")
    write_golden(path, golden)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    clients = default_clients_folder(os.environ)
    parser.add_argument("--answers", type=Path, default=clients.parent / "answers", help="where whole answers are kept")
    parser.add_argument("--output", type=Path, default=GOLDEN)
    parser.add_argument("--rebuild", action="store_true", help="ask nothing")
    parser.add_argument("--release", dest="releases", action="append", metavar="RELEASE")
    parser.add_argument("--timeout", type=float, default=90.0, metavar="SECONDS")
    parser.add_argument("sets", nargs="*", metavar="SET", help=", ".join(SETS))
    options = parser.parse_args()
    options.releases = options.releases or list(RELEASES)
    if unknown := set(options.sets) - set(SETS):
        parser.error(f"no such set: {', '.join(sorted(unknown))}")
    programs = {} if options.rebuild else {release: install_client(clients, release) for release in options.releases}
    for which in options.sets or SETS:
        fill(which, options, programs)


if __name__ == "__main__":
    main()
