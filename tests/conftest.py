"""What every test gets: a world of its own, and the rules for tests that need more than Python.

Groups of tests that need real clients and the like call `need`: where something is missing they are skipped with the reason,
or fail when `$STENO_REQUIRE` lists the group.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

import pytest
from hypothesis import HealthCheck, settings
from lab.ccusage import count_tokens, install_ccusage
from lab.clients import ClientMissing, default_clients_folder, install_client

# Compile once, not in each of the processes that tests start: an installed package is compiled too.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Before any test changes the environment: the isolated one has no clients.
_ORIGINAL_ENVIRONMENT = dict(os.environ)

# Children inherit what is ignored: a run in the background may have been started without the interrupt that some tests send.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine is not a failure: properties are about what holds, not about how long it takes.
settings.register_profile("proofs", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("proofs"), max_examples=25)
settings.load_profile("proofs")

Client = Callable[[str], Path]
Ccusage = Callable[[Path], tuple[int, ...]]
Need = Callable[[str, str], NoReturn]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--proofs", action="store_true", help="every session and every real client too, not a sample of them")
    parser.addoption("--full", action="store_true", help="the full matrices too (tests marked `full`)")


def pytest_configure(config: pytest.Config) -> None:
    if not (config.getoption("--proofs") or config.getoption("--full")):
        settings.load_profile("quick")
    _keep_temporary_files_in_memory()


def _keep_temporary_files_in_memory() -> None:
    """Where there is room: a hundred thousand small files, most of them synced, cost a fifth of the time on a disk."""
    try:
        memory = os.statvfs("/dev/shm")
    except OSError:
        return
    if memory.f_bavail * memory.f_frsize > 8 << 30 and not memory.f_flag & os.ST_NOEXEC:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", "/dev/shm")


# Of a test over every session or every recorded release, the quick run plays this many.
_SESSIONS = 18
_RELEASES = 5
_NEWEST = "2.1.325"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--full"):
        return
    left_out = {item for item in items if item.get_closest_marker("full")}
    # A file or a test that was named is meant as a whole.
    if not config.getoption("--proofs") and all(Path(name).is_dir() for name in config.args):
        left_out |= _proofs([item for item in items if item not in left_out])
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]


def _proofs(items: list[pytest.Item]) -> set[pytest.Item]:
    """What is left to `make test-proofs`: tests marked `proof`, most cases of those marked `spread`, most sessions of tests over
    all of them, and of the tests that need real clients or receivers all but one case of each that is marked `sample`."""
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    left_out: set[pytest.Item] = set()
    for of_test in cases.values():
        first = of_test[0]
        kept = of_test
        if first.get_closest_marker("proof"):
            kept = []
        elif first.get_closest_marker("clients") or first.get_closest_marker("receivers"):
            newest = next((item for item in of_test if _NEWEST in item.name), first)
            kept = [newest] if first.get_closest_marker("sample") else []
        elif spread := first.get_closest_marker("spread"):
            kept = _spread(of_test, spread.args[0])
        elif len(of_test) > _SESSIONS and _has_path(first):
            kept = _spread(of_test, _SESSIONS)
        elif len(of_test) > _RELEASES and list(_parameters(first)) == ["release"]:
            kept = _spread(of_test, _RELEASES)
        left_out |= set(of_test) - set(kept)
    return left_out


def _spread(items: list[pytest.Item], number: int) -> list[pytest.Item]:
    """So many of them, the last included."""
    return [items[(each + 1) * len(items) // number - 1] for each in range(number)]


def _has_path(item: pytest.Item) -> bool:
    return any(isinstance(value, Path) for value in _parameters(item).values())


def _parameters(item: pytest.Item) -> dict[str, object]:
    return item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}


@pytest.fixture(scope="session")
def _homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("homes")


@pytest.fixture(autouse=True)
def _own_world(_homes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A home, a working folder and XDG folders of the test's own: nothing may see the user's."""
    # Not by `mktemp`: it reads the names of all that there are, which are thousands.
    with TemporaryDirectory(dir=_homes, ignore_cleanup_errors=True) as home:
        _move_in(Path(home), monkeypatch)
        monkeypatch.chdir(tmp_path)
        yield


def _move_in(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    for name in ("CONFIG", "CACHE", "DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(home / f".xdg-{name.lower()}"))
    for name in list(os.environ):
        if name.startswith(("CLAUDE", "ANTHROPIC", "STENO_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("TZ", "UTC")


@pytest.fixture(scope="session")
def need() -> Need:
    """`need(group, reason)`: skip with the reason, or fail when the group is required."""
    required = {group.strip() for group in _ORIGINAL_ENVIRONMENT.get("STENO_REQUIRE", "").split(",")}

    def missing(group: str, reason: str) -> NoReturn:
        if group in required:
            pytest.fail(f"the group {group!r} is required: {reason}")
        pytest.skip(reason)

    return missing


@pytest.fixture(scope="session")
def clients_cache() -> Path:
    """Where installed clients are kept between runs; the user's own cache, not the isolated one."""
    return default_clients_folder(_ORIGINAL_ENVIRONMENT)


@pytest.fixture(scope="session")
def client(clients_cache: Path, need: Need) -> Client:
    """`client(release)`: the program of a real client, installed when it is missing."""

    def install(release: str) -> Path:
        try:
            return install_client(clients_cache, release, _ORIGINAL_ENVIRONMENT)
        except ClientMissing as missing:
            need("clients", str(missing))

    return install


@pytest.fixture(scope="session")
def ccusage(clients_cache: Path, need: Need) -> Ccusage:
    """`ccusage(home)`: the tokens that ccusage finds in a home: input, output, cache read, cache written."""
    try:
        program = install_ccusage(clients_cache)
    except ClientMissing as missing:
        need("clients", str(missing))
    return lambda home: count_tokens(program, home)
