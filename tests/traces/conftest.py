"""Real trace receivers for the tests: one server of each for the whole run, and each test alone with it.

`phoenix` and `mlflow` are empty when a test gets them, and nobody else posts to them until it is over: ids of spans are made
from transcripts, and two tests that send the same transcript would see each other's.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.receivers import (
    MLFLOW,
    PHOENIX,
    MLflow,
    Phoenix,
    Receiver,
    ReceiverMissing,
    default_receivers_folder,
    install_receiver,
    one_at_a_time,
    shared_server,
)
from tests.conftest import Need

# Before any test changes the environment: the isolated one has no cache, and no way to install anything.
_ORIGINAL_ENVIRONMENT = dict(os.environ)
#: Seconds that a test may wait for those of other workers.
_TURN_TIMEOUT = 600.0


@pytest.fixture(scope="session")
def receivers_folder(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """The same folder for all workers of a run."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if hasattr(request.config, "workerinput") else own) / "receivers"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def phoenix_address(receivers_folder: Path, need: Need) -> Iterator[str]:
    with _running(PHOENIX, receivers_folder, need) as address:
        yield address


@pytest.fixture(scope="session")
def mlflow_address(receivers_folder: Path, need: Need) -> Iterator[str]:
    with _running(MLFLOW, receivers_folder, need) as address:
        yield address


@pytest.fixture
def alone_with_receivers(receivers_folder: Path) -> Iterator[None]:
    """One lock for all of them: with two, two tests could wait for each other."""
    with one_at_a_time(receivers_folder / "alone", _TURN_TIMEOUT):
        yield


@pytest.fixture
def phoenix(phoenix_address: str, alone_with_receivers: None) -> Phoenix:  # noqa: ARG001
    """A real Phoenix with nothing in it."""
    server = Phoenix(phoenix_address)
    server.empty()
    return server


@pytest.fixture
def mlflow(mlflow_address: str, alone_with_receivers: None) -> MLflow:  # noqa: ARG001
    """A real MLflow with nothing in it."""
    server = MLflow(mlflow_address)
    server.empty()
    return server


@contextlib.contextmanager
def _running(receiver: Receiver, folder: Path, need: Need) -> Iterator[str]:
    with contextlib.ExitStack() as held:
        try:
            installed = install_receiver(default_receivers_folder(_ORIGINAL_ENVIRONMENT), receiver, _ORIGINAL_ENVIRONMENT)
            address = held.enter_context(shared_server(receiver, installed, folder / receiver.name))
        except ReceiverMissing as missing:
            need("receivers", str(missing))
        yield address
