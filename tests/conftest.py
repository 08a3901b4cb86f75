"""What every test gets: a world of its own, and the rules for tests that need more than Python.

Groups of tests that need real clients and the like call `need`: where something is missing they are skipped with the reason,
or fail when `$STENO_REQUIRE` lists the group.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import HealthCheck, settings
from lab.clients import ClientMissing, default_clients_folder, install_client

# Before any test changes the environment: the isolated one has no clients.
_ORIGINAL_ENVIRONMENT = dict(os.environ)

# Children inherit what is ignored: a run in the background may have been started without the interrupt that some tests send.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine is not a failure: properties are about what holds, not about how long it takes.
settings.register_profile("steno", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steno")

Client = Callable[[str], Path]
Need = Callable[[str, str], NoReturn]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="run the full matrices too (tests marked `full`)")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--full"):
        return
    full = [item for item in items if item.get_closest_marker("full")]
    if full:
        config.hook.pytest_deselected(items=full)
        items[:] = [item for item in items if item not in full]


@pytest.fixture(autouse=True)
def _own_world(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home, a working folder and XDG folders of the test's own: nothing may see the user's."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    for name in ("CONFIG", "CACHE", "DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(home / f".xdg-{name.lower()}"))
    for name in list(os.environ):
        if name.startswith(("CLAUDE", "ANTHROPIC", "STENO_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.chdir(tmp_path)


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
