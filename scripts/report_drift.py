"""Record the newest release there is, and say what is new in it.

Comes in: nothing, or a release. Goes out: on standard output what `steno check` finds in sessions of that release that the
registry does not know. A release that is recorded already has nothing new to tell and is not played again. Changes no file of
the repository: `make record RELEASES=…` keeps a recording.

    python scripts/report_drift.py [RELEASE]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import record
from lab.clients import PACKAGE

from stenograph.check import check
from stenograph.drift import load_registry


def newest_release() -> str:
    asked = subprocess.run(["npm", "view", PACKAGE, "version"], capture_output=True, text=True, check=False, timeout=60)
    if asked.returncode or not asked.stdout.strip():
        raise SystemExit("the newest release is not known: npm could not ask for it")
    return asked.stdout.strip()


def main(arguments: list[str]) -> int:
    release = arguments[0] if arguments else newest_release()
    recorded = load_registry().recorded
    if release in recorded:
        record.tell(f"{release} is recorded already: {len(recorded)} releases are, {recorded[0]} to {recorded[-1]}")
        return 0
    with tempfile.TemporaryDirectory(prefix="steno-drift-", ignore_cleanup_errors=True) as scratch:
        if record.main(["--out", scratch, release]):
            return 1
        report = check([Path(scratch)])
    record.tell(f"{release}: {report.files} sessions, {report.lines} lines, {len(report.drift)} things not in the registry")
    for found in report.drift:
        types = f" ({found.met}, known {' or '.join(found.known_types)})" if found.met else ""
        record.tell(f"  {found.code} {found.shape} {found.field}{types}, {found.count} times")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
