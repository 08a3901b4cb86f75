"""Ask a real client what it decides about every call of `lab/decision_cases.py`, and write its answers for the tests.

python scripts/ask_decisions.py 2.1.325
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from lab.clients import default_clients_folder, install_client
from lab.decision_cases import GROUPS
from lab.decisions import ask_group

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "agent" / "decisions"


def main(release: str) -> None:
    program = install_client(default_clients_folder(os.environ), release)
    answers = {name: dict(zip(group.commands, ask_group(program, group), strict=True)) for name, group in GROUPS.items()}
    FOLDER.mkdir(exist_ok=True)
    text = json.dumps({"release": release, "decisions": answers}, indent=1, ensure_ascii=True)
    (FOLDER / f"{release}.json").write_text(text + "\n", encoding="utf-8")
    sys.stdout.write(f"{sum(map(len, answers.values()))} decisions of {release}\n")


if __name__ == "__main__":
    main(sys.argv[1])
