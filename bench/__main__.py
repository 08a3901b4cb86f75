"""`python -m bench [NAME…]`: all measurements, or those named; exit 1 when a bound is missed.

Each group runs in a process of its own: a child's peak memory is at least that of the process which started it, at that moment.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path


def main() -> int:
    here = Path(__file__).parent
    names = sys.argv[1:] or sorted(path.stem.removeprefix("bench_") for path in here.glob("bench_*.py"))
    if len(names) == 1:
        return measure(names[0])
    return max(subprocess.run([sys.executable, "-m", "bench", name], check=False).returncode for name in names)


def measure(name: str) -> int:
    missed = 0
    for figure in importlib.import_module(f"bench.bench_{name}").measure():
        print(figure, flush=True)
        missed += not figure.kept
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
