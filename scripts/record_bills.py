"""What the newest client charges, into tests/fixtures/billed: `make bills`.

In: a real client and a scripted API on loopback. Out: `models.json`, what a run with usages of all kinds cost with each model;
and for each scenario of `lab.bills` the sessions that the client wrote, with `bill.json`: its totals, and the usages of requests
that left no line.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lab.bills import NOBODY_KNOWS, SCENARIOS, bill_model, bill_scenario, keep_lines
from lab.clients import default_clients_folder, install_client
from lab.observatory.studio import Studio

from stenograph.pricing import WIDE, table_of
from stenograph.releases import NEWEST

TARGET = Path(__file__).resolve().parent.parent / "tests" / "fixtures" / "billed"


def _say(words: str) -> None:
    sys.stderr.write(f"{words}\n")


def main() -> None:
    program = install_client(default_clients_folder(os.environ), NEWEST)
    TARGET.mkdir(parents=True, exist_ok=True)
    _record_models(program)
    for scenario in SCENARIOS:
        _record_sessions(program, scenario)


def _record_models(program: Path) -> None:
    models: dict[str, Any] = {}
    for model in (*table_of().models, f"claude-sonnet-4-6{WIDE}", NOBODY_KNOWS):
        with tempfile.TemporaryDirectory(prefix="steno-bills-") as name:
            models[model] = bill_model(program, NEWEST, model, Path(name))
        _say(f"{model}: {models[model]['usd']}")
    usages = next(iter(models.values()))["usages"]
    assert all(each.pop("usages") == usages for each in models.values())
    golden = {"release": NEWEST, "usages": usages, "models": models}
    (TARGET / "models.json").write_text(json.dumps(golden, indent=1) + "\n", encoding="utf-8")


def _record_sessions(program: Path, scenario: str) -> None:
    folder = TARGET / scenario
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="steno-bills-") as name, Studio(program, NEWEST, Path(name)) as studio:
        bill = bill_scenario(studio, scenario)
        keep_lines(studio, folder / "projects")
        assert not studio.notes, studio.notes
    (folder / "bill.json").write_text(json.dumps(asdict(bill), indent=1) + "\n", encoding="utf-8")
    _say(f"{scenario}: {bill.totals}, {len(bill.side)} requests without a line")


if __name__ == "__main__":
    main()
