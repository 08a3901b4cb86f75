"""`make prices`: the price table beside LiteLLM's, from its wheel on PyPI, and beside what an installed client charges.

    python scripts/compare_prices.py [--client]

In: `prices.json`, and a wheel of LiteLLM that pip downloads. Out: one line per price that differs or that only one of them has.
Nothing is written: a price of ours is changed by hand, after it was measured on the client (docs/pricing.md).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from stenograph.pricing import canonical_model, load_prices, table_of

TABLE = "litellm/model_prices_and_context_window_backup.json"
#: Our name of a price -> LiteLLM's, per token.
NAMES = {
    "input": "input_cost_per_token",
    "output": "output_cost_per_token",
    "cache_read": "cache_read_input_token_cost",
    "cache_write_5m": "cache_creation_input_token_cost",
    "cache_write_1h": "cache_creation_input_token_cost_above_1hr",
}
_MILLION = 1_000_000


def download(folder: Path) -> tuple[str, dict[str, dict[str, Any]]]:
    """The version of the newest LiteLLM, and its table."""
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "litellm", "-d", str(folder)],
        check=True,
    )
    (wheel,) = folder.glob("litellm-*.whl")
    with zipfile.ZipFile(wheel) as files:
        return wheel.name.split("-")[1], json.loads(files.read(TABLE))


def compare(theirs: dict[str, dict[str, Any]]) -> Iterator[str]:
    """What differs between the newest table and LiteLLM's entries for Anthropic's own API."""
    table, rates = table_of(), load_prices().rates
    entries: dict[str, dict[str, Any]] = {}
    for name, entry in theirs.items():
        if entry.get("litellm_provider") == "anthropic" and (row := canonical_model(name, table)):
            entries.setdefault(row, entry)
        elif entry.get("litellm_provider") == "anthropic" and name.startswith("claude"):
            yield f"{name}: not in our table"
    for row, prices in table.models.items():
        if row not in entries:
            yield f"{row}: not in LiteLLM's table"
            continue
        for ours, their in NAMES.items():
            price, other = getattr(rates[prices.rate], ours), entries[row].get(their)
            if price is None or other is None:
                continue
            per_million = Decimal(str(other)) * _MILLION
            if per_million.normalize() != price.normalize():
                yield f"{row}: {ours} is {price}, in LiteLLM's table {per_million.normalize():f} USD per million tokens"


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        version, theirs = download(Path(name))
    differences = list(compare(theirs))
    sys.stdout.write(f"Our table ({table_of().source}) beside LiteLLM {version}: {len(differences)} differences\n")
    for line in differences:
        sys.stdout.write(f"  {line}\n")
    if "--client" in sys.argv[1:]:
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "--proofs", "tests/pricing/test_clients.py", "tests/pricing/test_billed.py"],
            check=False,
        ).returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
