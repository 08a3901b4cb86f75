"""Record real releases: install each, play the scenarios, keep what it wrote, take the client away again.

In: releases, by number. Out: `recordings/RELEASE/…`, as lab.observatory describes them. What was played before is not played
again, so a run that was stopped continues where it stopped. A client that was in the cache before stays there.

    python scripts/record.py [-j 2] [--only NAME…] [--again] [--out FOLDER] RELEASE…
"""

from __future__ import annotations

import argparse
import concurrent.futures
import os
import shutil
import sys
import tempfile
from pathlib import Path

from lab.clients import ClientMissing, client_program, default_clients_folder, install_client
from lab.observatory import offered_tools, print_scenarios, terminal_scenarios
from lab.observatory.recorder import forget, is_played, record_release
from lab.observatory.studio import Scenario

from stenograph.drift import load_registry

SCENARIOS = (*print_scenarios.SCENARIOS, *terminal_scenarios.SCENARIOS)


def tell(words: str) -> None:
    sys.stdout.write(words + "\n")
    sys.stdout.flush()


def record(release: str, scenarios: list[Scenario], recordings: Path, scratch: Path, *, again: bool) -> str | None:
    """Record one release; the reason where that was not possible."""
    if again:
        forget(recordings / release, scenarios)
    folder = recordings / release
    needs_tools = again or not (folder / offered_tools.FILE_NAME).exists()
    if is_played(folder, scenarios) and not needs_tools:
        return None
    clients = default_clients_folder(os.environ)
    if not client_program(clients, release).exists():
        clients = scratch / "clients"
    try:
        program = install_client(clients, release)
        place = scratch / release
        place.mkdir(parents=True, exist_ok=True)
        record_release(program, release, scenarios, recordings=recordings, scratch=place, tell=tell)
        if needs_tools:
            known = [name.removeprefix("tool:") for name in load_registry().shapes if name.startswith("tool:")]
            tools = offered_tools.record_tools(program, release, folder, place, known)
            tell(f"{release} tools: {len(tools)}")
    except ClientMissing as missing:
        return str(missing)
    finally:
        shutil.rmtree(scratch / "clients" / release, ignore_errors=True)
        shutil.rmtree(scratch / release, ignore_errors=True)
    return None


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Record real releases.")
    parser.add_argument("releases", nargs="+", metavar="RELEASE")
    parser.add_argument("-j", "--jobs", type=int, default=1, help="releases at a time")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these scenarios")
    parser.add_argument("--again", action="store_true", help="play also what was played before")
    parser.add_argument("--out", type=Path, default=Path("recordings"))
    given = parser.parse_args(arguments)
    scenarios = [one for one in SCENARIOS if given.only is None or one.name in given.only]
    failures = 0
    with (
        tempfile.TemporaryDirectory(prefix="steno-record-", ignore_cleanup_errors=True) as scratch,
        concurrent.futures.ThreadPoolExecutor(given.jobs) as pool,
    ):
        ways = {
            pool.submit(record, release, scenarios, given.out, Path(scratch), again=given.again): release
            for release in given.releases
        }
        for done in concurrent.futures.as_completed(ways):
            reason = done.result()
            failures += reason is not None
            tell(f"{ways[done]}: {reason or 'recorded'}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
