"""`python -m bench [NAME…]`: all measurements, or those named; exit 1 when a bound is missed."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path


def main() -> int:
    here = Path(__file__).parent
    names = sys.argv[1:] or sorted(path.stem.removeprefix("bench_") for path in here.glob("bench_*.py"))
    missed = 0
    for name in names:
        for figure in importlib.import_module(f"bench.bench_{name}").measure():
            print(figure, flush=True)
            missed += not figure.kept
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
