"""Make the registry of what releases write from the committed recordings and the counts of public sessions.

Comes in: `recordings/` and `tests/fixtures/recorded/` (sessions recorded from real releases), `recordings/public.json` (counts
of the public corpus: names of keys and JSON types, no values). Goes out:
`src/stenograph/drift/registry.json`. `--count-public FOLDER` first counts a corpus of public sessions into that file.

    python scripts/make_registry.py [--count-public FOLDER]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from stenograph.drift.evidence import Evidence, add_forms
from stenograph.drift.registry import make_registry, to_text
from stenograph.drift.shapes import ShapeTally
from stenograph.errors import UsageError
from stenograph.records.json_text import parse_or_unset
from stenograph.releases import release_numbers

ROOT = Path(__file__).resolve().parent.parent
RECORDINGS = (ROOT / "recordings", ROOT / "tests" / "fixtures" / "recorded")
PUBLIC = ROOT / "recordings" / "public.json"
REGISTRY = ROOT / "src" / "stenograph" / "drift" / "registry.json"

#: Public files that another program wrote into: lines that no client wrote are no evidence.
CONTAMINATED = ("airing0805__claude-code-runner-python",)


def tally_files(files: Iterable[Path]) -> dict[str, Evidence]:
    """What the lines of files say of each release they name."""
    tally = ShapeTally()
    for number, path in enumerate(files):
        tally.begin(number)
        for line, data in enumerate(path.read_bytes().split(b"\n"), 1):
            record = parse_or_unset(data) if data else None
            if isinstance(record, dict):
                tally.add(record, line)
        tally.end()
    found: dict[str, Evidence] = {}
    for release in tally.releases:
        if _is_release(release):
            add_forms(found.setdefault(release, {}), tally.forms(release))
    return found


def session_files(folder: Path) -> Iterator[Path]:
    """Journals of workflows are no transcripts and name no release."""
    yield from sorted(path for path in folder.rglob("*.jsonl") if path.name != "journal.jsonl")


def recorded_evidence() -> dict[str, Evidence]:
    return tally_files(path for folder in RECORDINGS for path in session_files(folder))


def public_evidence() -> dict[str, Evidence]:
    return msgspec.json.decode(PUBLIC.read_bytes(), type=dict[str, Evidence]) if PUBLIC.exists() else {}


def count_public(folder: Path) -> None:
    files = (path for path in session_files(folder) if not any(name in path.parts for name in CONTAMINATED))
    evidence = tally_files(files)
    lines = [
        f"{msgspec.json.encode(release).decode()}:{msgspec.json.Encoder(order='deterministic').encode(evidence[release]).decode()}"
        for release in sorted(evidence, key=release_numbers)
    ]
    PUBLIC.parent.mkdir(exist_ok=True)
    PUBLIC.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _is_release(text: str) -> bool:
    try:
        release_numbers(text)
    except UsageError:
        return False
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count-public", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    if options.count_public:
        count_public(options.count_public)
    registry = make_registry(recorded_evidence(), public_evidence())
    REGISTRY.write_text(to_text(registry), encoding="utf-8")
    fields = sum(len(shape.fields) for shape in registry.shapes.values())
    sys.stdout.write(f"{len(registry.recorded)} recorded releases, {len(registry.shapes)} shapes, {fields} fields\n")


if __name__ == "__main__":
    main()
