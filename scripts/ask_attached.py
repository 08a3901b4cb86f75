"""Ask real clients about the generated sessions of tests/messages/attached.py, into tests/fixtures/golden-messages/attached.json.

    python scripts/ask_attached.py [--count N] [--release RELEASE]… [--answers FOLDER] [--rebuild] [--differ]

Answers are kept whole in the folder of `--answers`, by release and session, so that a run continues where it was stopped and
nothing is asked twice; `--rebuild` asks nothing and takes what is there. `--differ` shows where our messages differ.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ask_clients import answer_path, keep_json, read_answer
from lab.clients import default_clients_folder, install_client
from lab.oracle import Answer, ask

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.messages.attached import COUNT, AttachedSession  # noqa: E402
from tests.messages.golden import first_difference  # noqa: E402
from tests.messages.reminded import (  # noqa: E402
    GOLDEN,
    RELEASES,
    OwnWords,
    comparable,
    entry,
    entry_of,
    key_of,
    our_messages,
    own_words_in,
    own_words_sessions,
    sessions,
)

from stenograph.testing.scripted_api import ScriptedApi  # noqa: E402


class Client:
    """One release, and what it answered already."""

    def __init__(self, release: str, program: Path | None, answers: Path) -> None:
        self.release, self.program, self.answers = release, program, answers

    def ask(self, session: AttachedSession) -> Answer | None:
        path = answer_path(self.answers, self.release, key_of(session))
        kept = read_answer(path)
        if kept is not None or self.program is None:
            return kept
        with ScriptedApi() as api:
            answer = ask(self.program, session.data, api=api, timeout=180.0)
        # On a busy machine a client may need longer: it is asked again in the next run.
        if answer.timed_out:
            return None
        keep_json(path, asdict(answer))
        return answer

    def own_words(self) -> OwnWords:
        answers = [self.ask(session) for _, session in own_words_sessions()]
        return frozenset(found for answer in answers if answer and answer.messages for found in own_words_in(answer.messages))


def differences(release: str, session: AttachedSession, answer: Answer | None, own_words: OwnWords) -> str:
    if answer is None:
        return ""
    with tempfile.TemporaryDirectory() as folder:
        ours = our_messages(session, release, Path(folder))
    theirs = comparable(answer.messages or [], own_words)
    return "" if entry(ours) == entry(theirs) else str(first_difference(ours, theirs))


def main() -> None:
    clients = default_clients_folder(os.environ)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--release", dest="releases", action="append", metavar="RELEASE")
    parser.add_argument("--answers", type=Path, default=clients.parent / "attached", help="where answers are kept")
    parser.add_argument("--at-once", type=int, default=1)
    parser.add_argument("--rebuild", action="store_true", help="ask nothing")
    parser.add_argument("--differ", action="store_true")
    options = parser.parse_args()
    golden: dict[str, Any] = json.loads(GOLDEN.read_text("utf-8")) if GOLDEN.exists() else {"own": {}, "answers": {}}
    asked = sessions()[: options.count]
    golden["sessions"] = [key_of(session) for session in sessions()]
    for release in options.releases or RELEASES:
        client = Client(release, None if options.rebuild else install_client(clients, release), options.answers)
        own_words = client.own_words()
        golden["own"][release] = sorted(own_words)
        with ThreadPoolExecutor(options.at_once) as pool:
            answers = list(pool.map(client.ask, asked))
        # None for a session that was not asked about.
        golden["answers"][release] = [answer and entry_of(answer, own_words) for answer in answers]
        found = [differences(release, *both, own_words) for both in zip(asked, answers, strict=True)]
        sys.stderr.write(
            f"{release}: {len([answer for answer in answers if answer])} asked, {len([one for one in found if one])} differ\n"
        )
        for number, difference in enumerate(found):
            if difference and options.differ:
                sys.stdout.write(f"{release} #{number} {asked[number].model}\n  {difference}\n")
    GOLDEN.write_text(json.dumps(golden, indent=0, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
