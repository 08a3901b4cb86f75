"""Record which project folder real clients make for awkward working folders, into tests/fixtures/folder-names.json.

    python scripts/record_folder_names.py [--root /home/user/names] [RELEASE…]

Makes the folders of PATHS under the root, asks each release once per folder (about a second each, two at a time), and
removes the root again. The root must not exist, and is stored in the fixture as it is: choose one that names nobody.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lab.clients import default_clients_folder, install_client
from lab.folder_names import ask_folder_name

from stenograph.testing.scripted_api import ScriptedApi

# The three that tests ask again, and the releases on both sides of every change of the rule.
RELEASES = ("2.0.76", "2.1.45", "2.1.325", "2.1.37", "2.1.38", "2.1.47", "2.1.83", "2.1.159", "2.1.160")
ROOT = "/home/user/names"
FIXTURE = Path(__file__).parent.parent / "tests" / "fixtures" / "folder-names.json"


def padded(root: str, length: int, filler: str = "a") -> str:
    """A path below the root whose name has exactly this many UTF-16 code units, in parts that a file system takes."""
    path = root
    while (left := length - units(path)) > 0:
        part = min(left - 1, 50) if left - 51 != 1 else 49  # never leave one unit: it would be a bare slash
        count, rest = divmod(part, units(filler))
        path += "/" + filler * count + "x" * rest
    return path


def units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def paths(root: str) -> list[str]:
    """Every working folder to ask about. A lone surrogate stands for a byte that is not UTF-8, as in os.fsdecode."""
    names = [
        "plain",
        "MixedCase",
        "UPPER",
        "digits0123456789",
        "dotted.name",
        ".hidden",
        "..two-dots",
        "under_score",
        "with space",
        " leading-space",
        "trailing-space ",
        "trailing-dash-",
        "-leading-dash",
        "--two--dashes--",
        "+@~#()",
        "!$%^&*=[]{};',",
        'quote"back`tick',
        "pipe|less<more>",
        "question?star*",
        "colon:inside",
        "back\\slash",
        "C:\\Users\\a",
        "c:\\users\\A B\\repo.git",
        "\\\\server\\share",
        "tab\tinside",
        "newline\ninside",
        "control\x01\x7f",
        "nfc-é",
        "nfd-e\u0301",
        "nfd-two-o\u0302\u0301",
        "angstrom-\u212b",
        "excluded-from-composition-\u0958",
        "hangul-nfc-\ud55c",
        "hangul-nfd-\u1112\u1161\u11ab",
        "emoji-😀",
        "family-👨\u200d👩\u200d👧",
        "flag-🇨🇭",
        "cjk-日本語",
        "cjk-astral-𠮷",
        "arabic-مرحبا",
        "cyrillic-Привет",
        "digits-of-others-٣²①",
        "letters-of-others-ªßſK",
        "no-break\u00a0space",
        "zero\u200bwidth",
        "line\u2028separator",
        "bom\ufeff",
        "not-utf8-\udcff",
        "deep/er/than/one",
        "deep/.git/worktrees/x.y",
        "node_modules/@scope/package",
    ]
    lengths = [199, 200, 201, 202, 255, 256, 353]
    return [
        *(f"{root}/{name}" for name in names),
        *(padded(root, length) for length in lengths),
        padded(root + "/under_score.dot", 240, "b"),
        padded(root + "/umlaut-ü", 201, "ü"),
        padded(root + "/emoji", 200, "😀"),
        padded(root + "/emoji", 201, "😀"),
        padded(root + "/nfd-e\u0301", 200, "c"),
        padded(root + "/nfd-e\u0301", 201, "c"),
        padded(root + "/nfd-e\u0301", 202, "c"),
        padded(root + "/nfd", 230, "e\u0301"),
    ]


def record(root: str, releases: list[str]) -> list[dict[str, object]]:
    """Ask every release for every path."""
    clients = default_clients_folder(os.environ)
    programs = {release: install_client(clients, release) for release in releases}
    rows: list[dict[str, object]] = []
    with ScriptedApi() as api, ThreadPoolExecutor(2) as pool:
        for cwd in paths(root):
            folder = os.fsencode(cwd)
            os.makedirs(folder, exist_ok=True)  # noqa: PTH103 - a Path can't hold every name
            asked = {release: pool.submit(ask_folder_name, program, folder, api.url) for release, program in programs.items()}
            rows.append({"cwd": cwd, "names": {release: answer.result() for release, answer in asked.items()}})
            sys.stderr.write(f"{len(rows)} {ascii(cwd[len(root) :])[:60]}\n")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", default=ROOT)
    parser.add_argument("--output", type=Path, default=FIXTURE)
    parser.add_argument("releases", nargs="*", metavar="RELEASE", default=list(RELEASES))
    options = parser.parse_args()
    root = Path(options.root)
    # The topmost folder that is not there yet: all that is removed at the end.
    made = next(folder for folder in [*reversed(root.parents), root] if not folder.exists()) if not root.exists() else None
    if made is None:
        parser.error(f"{root} exists; choose a root that does not")
    try:
        rows = record(options.root, options.releases)
    finally:
        shutil.rmtree(os.fsencode(made), ignore_errors=True)
    options.output.write_text(json.dumps({"root": options.root, "paths": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
