"""Do the tests notice small faults in the core? A random sample of them, each planted alone.

In: the core packages, a seed, the operators of cosmic-ray, tests/equivalent_mutants.txt. Out: the mutants that no test of their
package noticed; exit code 1 where fewer than 95 % were. A place in the code is drawn first, then one of the operators that fit
it, because a single `|` has eleven mutants and a `not` has one. The working tree is never changed: mutants live in a copy.

    python scripts/mutants.py [--count 200] [--seed 17] [--only NAME] [--list]
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "stenograph"
#: One mutant a line: its name, a tab, and why nobody could notice it.
EQUIVALENT = ROOT / "tests" / "equivalent_mutants.txt"
PACKAGES = ("disk", "records", "graph", "turns", "messages", "redact", "surgery")
SEED = 17
COUNT = 200
WANTED = 0.95

Position = tuple[int, int]


@dataclass(frozen=True)
class Mutant:
    path: str
    #: `path scope operator number`: independent of where in a file the scope is.
    name: str
    line: int
    operator: str
    occurrence: int

    @property
    def package(self) -> str:
        return self.path.split("/")[0]


def mutants_of(path: Path) -> Iterator[list[Mutant]]:
    """The mutants of each place in a module. Annotations are left out: nothing evaluates most of them."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    annotations = list(_annotations(tree))
    scopes = list(_scopes(tree))
    nodes = list(ast_nodes(get_ast(source)))
    relative = path.relative_to(SOURCE).as_posix()
    places: dict[tuple[Position, Position], list[Mutant]] = {}
    for operator_name in sorted(operator_names()):
        kind = get_operator(operator_name)
        if kind.arguments():
            continue
        numbers: dict[str, int] = {}
        operator = kind()
        positions = [position for node in nodes for position in operator.mutation_positions(node)]
        for occurrence, (start, end) in enumerate(positions):
            scope = max((found for found in scopes if found[0] <= start < found[1]), default=(start, end, "module"))[2]
            numbers[scope] = numbers.get(scope, 0) + 1
            if not any(first <= start < last for first, last in annotations):
                short = operator_name.removeprefix("core/")
                name = f"{relative} {scope} {short} {numbers[scope]}"
                places.setdefault((start, end), []).append(Mutant(relative, name, start[0], operator_name, occurrence))
    yield from (places[place] for place in sorted(places))


def _annotations(tree: ast.AST) -> Iterator[tuple[Position, Position]]:
    for node in ast.walk(tree):
        for name in ("annotation", "returns"):
            if isinstance(found := getattr(node, name, None), ast.expr):
                yield _span(found)


def _scopes(tree: ast.AST, outer: str = "") -> Iterator[tuple[Position, Position, str]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            name = f"{outer}{node.name}"
            yield *_span(node), name
            yield from _scopes(node, f"{name}.")
        else:
            yield from _scopes(node, outer)


def _span(node: ast.stmt | ast.expr) -> tuple[Position, Position]:
    return (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)


def sample(seed: int, count: int) -> list[Mutant]:
    """By package, so that tests of one package run together."""
    places = [place for package in PACKAGES for path in sorted((SOURCE / package).rglob("*.py")) for place in mutants_of(path)]
    chance = random.Random(seed)
    chosen = [chance.choice(place) for place in chance.sample(places, min(count, len(places)))]
    return sorted(chosen, key=lambda mutant: (PACKAGES.index(mutant.package), mutant.path, mutant.line, mutant.name))


class Copy:
    """A copy of the sources to plant mutants in, and the tests run against it."""

    def __init__(self, folder: Path) -> None:
        self.source = folder / "src"
        shutil.copytree(SOURCE, self.source / "stenograph", ignore=shutil.ignore_patterns("__pycache__"))
        # Seconds of CPU, by package: a mutant that takes three times as long hangs.
        self.usual: dict[str, float] = {}

    def is_killed(self, mutant: Mutant) -> bool:
        target = self.source / "stenograph" / mutant.path
        original = target.read_text(encoding="utf-8")
        mutated = mutate_code(original, get_operator(mutant.operator)(), mutant.occurrence)
        target.write_text(mutated, encoding="utf-8")
        try:
            return self._test(mutant.package, 3 * self.usual[mutant.package] + 30) != 0
        finally:
            target.write_text(original, encoding="utf-8")

    def measure(self, package: str) -> None:
        """Run the tests without a mutant. Raises RuntimeError where they fail: then nothing would say anything."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        if self._test(package, 3600):
            raise RuntimeError(f"the tests of {package} fail without a mutant")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.usual[package] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def _test(self, package: str, seconds: float) -> int:
        command = [
            sys.executable,
            "-B",
            "-m",
            "pytest",
            "-x",
            "-q",
            "-n",
            "0",
            "-p",
            "no:cacheprovider",
            "--no-header",
            "--tb=no",
        ]
        command += ["-m", "not clients", "--hypothesis-seed=0", f"tests/{package}"]
        # The same tests everywhere: no public corpus.
        environment = {**os.environ, "PYTHONPATH": str(self.source), "STENO_CORPUS": str(self.source / "none")}
        limit = round(seconds)
        return subprocess.run(
            command,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5)),
        ).returncode


def equivalents() -> dict[str, str]:
    lines = EQUIVALENT.read_text(encoding="utf-8").splitlines() if EQUIVALENT.exists() else []
    return dict(line.split("\t", 1) for line in lines if line and not line.startswith("#"))


def tell(words: str) -> None:
    sys.stdout.write(words + "\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--only", help="only mutants whose name holds this")
    parser.add_argument("--list", action="store_true", help="list them, and run nothing")
    options = parser.parse_args()
    known = equivalents()
    chosen = [mutant for mutant in sample(options.seed, options.count) if not options.only or options.only in mutant.name]
    if options.list:
        for mutant in chosen:
            tell(f"{mutant.name}\tline {mutant.line}{' (equivalent)' if mutant.name in known else ''}")
        return 0
    asked = [mutant for mutant in chosen if mutant.name not in known]
    survived = []
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="steno-mutants-") as folder:
        copy = Copy(Path(folder))
        for number, mutant in enumerate(asked, 1):
            if mutant.package not in copy.usual:
                copy.measure(mutant.package)
                tell(f"{mutant.package}: {copy.usual[mutant.package]:.0f} s of CPU without a mutant")
            if not copy.is_killed(mutant):
                survived.append(mutant)
                tell(f"survived: {mutant.name}\tline {mutant.line}")
            if not number % 10:
                tell(f"{number} of {len(asked)}, {len(survived)} survived, {time.monotonic() - began:.0f} s")
    killed = len(asked) - len(survived)
    tell(f"{killed} of {len(asked)} killed, {len(chosen) - len(asked)} of the sample are equivalent")
    return 0 if killed >= WANTED * len(asked) else 1


if __name__ == "__main__":
    sys.exit(main())
