"""Do the tests notice small faults in the core? A random sample of them, each planted alone.

In: the core packages, a seed, the operators of cosmic-ray, tests/equivalent_mutants.txt. Out: the mutants that no test of their
package noticed; exit code 1 where fewer than 95 % were. A place in the code is drawn first, then one of the operators that fit
it, because a single `|` has eleven mutants and a `not` has one. The working tree is never changed: mutants live in
memory, or in a copy.

    python scripts/mutants.py [--count 200] [--seed 17] [--only NAME]... [--few] [--list]
"""

from __future__ import annotations

import argparse
import ast
import functools
import gc
import hashlib
import inspect
import itertools
import multiprocessing
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import types
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "stenograph"
#: One mutant a line: its name, a tab, and why nobody could notice it.
EQUIVALENT = ROOT / "tests" / "equivalent_mutants.txt"
PACKAGES = ("disk", "records", "graph", "turns", "messages", "redact", "surgery")
#: Whose tests may notice one: what follows sessions and reads on in them stands on the core, too.
WITNESSES = (*PACKAGES, "sessions", "traces/test_reading.py", "traces/test_mapping.py")
SEED = 17
COUNT = 200
WANTED = 0.95
#: Tests may take so many times their usual seconds, of CPU, with a mutant, and a while more. One that never ends is noticed too.
LONGER = 5
WHILE = 20
USUAL = 1.0
#: Bytes of memory, for a mutant that never ends and keeps what it makes.
MOST_MEMORY = 3_000_000_000
NOT_PLANTED = 3

#: `is` compares with None, classes and members of enums alone, where `==` says the same.
NEVER_NOTICED = {"core/ReplaceComparisonOperator_Is_Eq", "core/ReplaceComparisonOperator_IsNot_NotEq"}

Position = tuple[int, int]
#: The file, the qualified name and the first line of a function.
Function = tuple[str, str, int]
#: By test: its seconds, and the functions that it calls.
Called = dict[str, tuple[float, set[Function]]]


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
        if kind.arguments() or operator_name in NEVER_NOTICED:
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
    """By package, so that tests of one package run together. A change of the code changes no other part of the sample."""
    places = [place for package in PACKAGES for path in sorted((SOURCE / package).rglob("*.py")) for place in mutants_of(path)]
    chosen: list[Mutant] = []
    for place in sorted(places, key=lambda place: _chance(seed, place[0].name)):
        if len(chosen) == count:
            break
        # cosmic-ray takes the `*` of keyword-only parameters for a product.
        mutant = min(place, key=lambda mutant: _chance(seed, f"of its place {mutant.name}"))
        if _compiles(mutant):
            chosen.append(mutant)
    return sorted(chosen, key=lambda mutant: (PACKAGES.index(mutant.package), mutant.path, mutant.line, mutant.name))


def _chance(seed: int, name: str) -> bytes:
    return hashlib.sha256(f"{seed} {name}".encode()).digest()


def _mutated(mutant: Mutant, source: str) -> str:
    text: str = mutate_code(source, get_operator(mutant.operator)(), mutant.occurrence)
    return text


def _compiles(mutant: Mutant) -> bool:
    path = SOURCE / mutant.path
    try:
        _compiled(_mutated(mutant, path.read_text(encoding="utf-8")), path)
    except SyntaxError:
        return False
    return True


def _compiled(text: str, path: Path) -> types.CodeType:
    """Without warnings: a mutant may ask whether something `is` a word."""
    with warnings.catch_warnings(action="ignore"):
        return compile(text, str(path), "exec", dont_inherit=True)


class Planter:
    """A pytest plugin that runs the tests which call a mutated function in a fork, for every mutant.

    All modules are imported once; in the fork the mutated functions get their new code. A mutant outside of functions, or in a
    default or decorator, can't be planted so: it gets a process of its own.
    """

    def __init__(self, mutants: list[Mutant], *, few: bool) -> None:
        self.mutants, self.few = mutants, few
        self.failed = False
        self.survived: list[Mutant] = []
        #: Of functions that only something in C knows.
        self.alone: list[Mutant] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed = self.failed or report.failed

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        few = list(_few_of_each(session.items))
        called = self._watch(session, few)
        for number, mutant in enumerate(self.mutants, 1):
            if not any(self._fork(session, items, mutant, called) for items in self._rounds(session, mutant, few, called)):
                self.survived.append(mutant)
                tell(f"survived: {mutant.name}\tline {mutant.line}")
            if not number % 10:
                tell(f"{number} of {len(self.mutants)}, {len(self.survived)} survived")
        return True

    def _rounds(
        self, session: pytest.Session, mutant: Mutant, few: list[pytest.Item], called: Called
    ) -> Iterator[list[pytest.Item]]:
        """The tests that call what is mutated: a few cases of each, of its own package and of the others; then all of its own."""
        changed = set(_changed(mutant))
        watched = sorted((item for item in few if changed & called[item.nodeid][1]), key=lambda item: called[item.nodeid][0])
        own = [item for item in watched if f"tests/{mutant.package}/" in item.nodeid]
        yield own
        yield [item for item in watched if item not in own]
        if not self.few:
            tests = {_test_of(item) for item in own}
            yield [item for item in session.items if _test_of(item) in tests and item.nodeid not in called]

    def _watch(self, session: pytest.Session, items: list[pytest.Item]) -> Called:
        """By test: its seconds, and the functions that it calls. They all pass, or the sample would mean nothing."""
        receiver, sender = multiprocessing.Pipe(duplex=False)
        child = os.fork()
        if not child:
            seen: Called = {}
            try:
                _silence()
                self._play(session, items, seen)
                sender.send((seen, self.failed))
            finally:
                os._exit(0)
        sender.close()
        called: Called
        called, has_failed = receiver.recv()
        os.waitpid(child, 0)
        if has_failed:
            raise RuntimeError(f"without a mutant {list(called)[-1]} fails")
        return called

    def _fork(self, session: pytest.Session, items: list[pytest.Item], mutant: Mutant, called: Called) -> bool:
        """Whether a test failed, or took far too long."""
        if not items:
            return False
        usual = sum(called[item.nodeid][0] if item.nodeid in called else USUAL for item in items)
        child = os.fork()
        if child:
            status = os.waitpid(child, 0)[1]
            if os.WIFEXITED(status) and os.WEXITSTATUS(status) == NOT_PLANTED and mutant not in self.alone:
                self.alone.append(mutant)
            return status != 0
        try:
            longest = round(WHILE + LONGER * usual)
            resource.setrlimit(resource.RLIMIT_CPU, (longest, longest))
            resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
            _silence()
            if not _plant(mutant):
                os._exit(NOT_PLANTED)
            self._play(session, items)
        except BaseException:  # noqa: BLE001 - whatever a mutant breaks
            self.failed = True
        finally:
            os._exit(self.failed)

    def _play(self, session: pytest.Session, items: list[pytest.Item], seen: Called | None = None) -> None:
        called: dict[int, types.CodeType] = {}

        def watch(frame: types.FrameType, event: str, _argument: object) -> None:
            if event == "call":
                called[id(frame.f_code)] = frame.f_code

        for item, following in zip(items, [*items[1:], None], strict=True):
            began = time.process_time()
            if seen is not None:
                called.clear()
                threading.setprofile(watch)
                sys.setprofile(watch)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if seen is not None:
                sys.setprofile(None)
                functions = {_key(code) for code in called.values() if code.co_filename.startswith(str(SOURCE))}
                seen[item.nodeid] = (time.process_time() - began, functions)
            if self.failed:
                break
        session._setupstate.teardown_exact(None)


def _test_of(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def _few_of_each(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    """The first, middle and last case of every test: most have hundreds that differ in the recording alone."""
    for _, group in itertools.groupby(items, _test_of):
        cases = list(group)
        yield from (cases[index] for index in sorted({0, len(cases) // 2, len(cases) - 1}))


def _silence() -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)


def _changed(mutant: Mutant) -> dict[Function, types.CodeType]:
    """The functions that a mutant changes, with their new code."""
    path = SOURCE / mutant.path
    source = path.read_text(encoding="utf-8")
    mutated = _mutated(mutant, source)
    before, after = (_functions(_compiled(text, path)) for text in (source, mutated))
    return {key: after[key] for key, code in before.items() if key in after and after[key] != code}


def _plant(mutant: Mutant) -> int:
    """Give functions their mutated code; how many there were."""
    changed = _changed(mutant)
    planted = 0
    for each in gc.get_objects():
        if isinstance(each, types.FunctionType) and _key(each.__code__) in changed:
            each.__code__ = changed[_key(each.__code__)]
            planted += 1
        elif isinstance(each, functools._lru_cache_wrapper):
            each.cache_clear()
    return planted


def _key(code: types.CodeType) -> Function:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _functions(code: types.CodeType) -> dict[Function, types.CodeType]:
    found = {}
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            if inner.co_flags & inspect.CO_OPTIMIZED:
                found[_key(inner)] = inner
            found |= _functions(inner)
    return found


def can_be_planted(mutant: Mutant) -> bool:
    path = SOURCE / mutant.path
    source = path.read_text(encoding="utf-8")
    mutated = _mutated(mutant, source)
    before, after = (_compiled(text, path) for text in (source, mutated))
    return _outside_of_functions(before) == _outside_of_functions(after)


def _outside_of_functions(code: types.CodeType) -> list[object]:
    """What a module and its classes do when they are imported."""
    rest: list[object] = [code.co_code, code.co_names]
    for inner in code.co_consts:
        if not isinstance(inner, types.CodeType):
            rest.append(inner)
        elif not inner.co_flags & inspect.CO_OPTIMIZED:
            rest.append(_outside_of_functions(inner))
    return rest


def run_in_fork(mutants: list[Mutant], *, few: bool) -> tuple[list[Mutant], list[Mutant]]:
    """The mutants that no test of the core notices, and those that could not be tried so."""
    if not mutants:
        return [], []
    planter = Planter(mutants, few=few)
    # The same tests everywhere: no public corpus.
    os.environ["STENO_CORPUS"] = os.devnull
    options = [
        "-s",
        "-n",
        "0",
        "-p",
        "no:terminal",
        "-p",
        "no:cacheprovider",
        "-m",
        "not clients",
        "--hypothesis-seed=0",
        "--proofs",
    ]
    options += ["-o", "addopts=--strict-markers --import-mode=importlib"]
    sys.path.insert(0, str(SOURCE.parent))
    if pytest.main([*options, *(str(ROOT / "tests" / package) for package in WITNESSES)], plugins=[planter]):
        raise RuntimeError("the tests could not be run")
    return planter.survived, planter.alone


def survives_alone(mutant: Mutant, folder: Path) -> bool:
    """In a process and a copy of the sources of its own."""
    copy = folder / "src"
    shutil.copytree(SOURCE, copy / "stenograph", ignore=shutil.ignore_patterns("__pycache__"))
    target = copy / "stenograph" / mutant.path
    target.write_text(_mutated(mutant, target.read_text(encoding="utf-8")), encoding="utf-8")
    command = [sys.executable, "-B", "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--tb=no"]
    command += ["-m", "not clients", "--hypothesis-seed=0", "--proofs", f"tests/{mutant.package}"]
    environment = {**os.environ, "PYTHONPATH": str(copy), "STENO_CORPUS": os.devnull}
    return not subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False).returncode


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
    parser.add_argument("--only", action="append", default=[], help="only mutants whose name holds this; may be given again")
    parser.add_argument("--few", action="store_true", help="only a few cases of every test: faster, and more survive")
    parser.add_argument("--list", action="store_true", help="list them, and run nothing")
    options = parser.parse_args()
    known = equivalents()
    drawn = sample(options.seed, options.count)
    chosen = [mutant for mutant in drawn if not options.only or any(part in mutant.name for part in options.only)]
    if options.list:
        for mutant in chosen:
            tell(f"{mutant.name}\tline {mutant.line}{' (equivalent)' if mutant.name in known else ''}")
        return 0
    asked = [mutant for mutant in chosen if mutant.name not in known]
    alone = [mutant for mutant in asked if not can_be_planted(mutant)]
    survived, unplanted = run_in_fork([mutant for mutant in asked if mutant not in alone], few=options.few)
    for mutant in (*alone, *unplanted):
        with tempfile.TemporaryDirectory(prefix="steno-mutant-") as folder:
            if survives_alone(mutant, Path(folder)):
                survived.append(mutant)
                tell(f"survived: {mutant.name}\tline {mutant.line}")
    killed = len(asked) - len(survived)
    tell(f"{killed} of {len(asked)} killed, {len(chosen) - len(asked)} of the sample are equivalent")
    return 0 if killed >= WANTED * len(asked) else 1


if __name__ == "__main__":
    sys.exit(main())
