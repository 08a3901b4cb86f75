"""How receivers are installed, shared and ended, with a small server in the place of a real one.

The real ones are in tests/traces/test_receivers.py.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
from lab.receivers import (
    MLFLOW,
    PHOENIX,
    Receiver,
    ReceiverMissing,
    default_receivers_folder,
    install_receiver,
    one_at_a_time,
    shared_server,
)
from lab.receivers.asking import responds

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="receivers are shared by POSIX locks")

# Serves its working folder, with a child of its own, as MLflow has.
SERVE = """
import http.server, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open("pids", "a").write(f"{__import__('os').getpid()} {child.pid}\\n")
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), http.server.SimpleHTTPRequestHandler).serve_forever()
"""


def _serve(_installed: Path, _work: Path, port: int, _second: int) -> tuple[list[str], dict[str, str]]:
    return [sys.executable, "-c", SERVE, str(port)], {}


def _end_at_once(_installed: Path, _work: Path, _port: int, _second: int) -> tuple[list[str], dict[str, str]]:
    return [sys.executable, "-c", "raise SystemExit(1)"], {}


STUB = Receiver("stub", "stub-receiver", "1.0", "/", _serve)
BROKEN = Receiver("broken", "stub-receiver", "1.0", "/", _end_at_once)


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """Where a receiver is installed whose first start left one file behind."""
    (tmp_path / "installed" / "fresh").mkdir(parents=True)
    (tmp_path / "installed" / "fresh" / "database").write_text("fresh")
    return tmp_path / "installed"


@pytest.fixture
def index(tmp_path: Path) -> dict[str, str]:
    """An environment in which pip finds one package, the stub's, and nothing else."""
    folder = tmp_path / "index"
    folder.mkdir()
    with zipfile.ZipFile(folder / "stub_receiver-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("stub_receiver.py", "")
        info = "stub_receiver-1.0.dist-info"
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: stub-receiver\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return {"PATH": os.environ["PATH"], "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder), "PIP_CONFIG_FILE": os.devnull}


def until_gone(pids: list[int]) -> bool:
    deadline = time.monotonic() + 30.0
    while any(_runs(pid) for pid in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # An orphan that has ended stays in the table until somebody asks for it; where nobody does, its state is Z.
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return not state.startswith("Z") and bool(state)


def pids_of(folder: Path) -> list[int]:
    return [int(pid) for file in folder.glob("stub.*/pids") for pid in file.read_text().split()]


def test_receivers_are_kept_where_the_user_says_or_in_the_cache() -> None:
    assert default_receivers_folder({"STENO_RECEIVERS": "/r", "XDG_CACHE_HOME": "/x", "HOME": "/h"}) == Path("/r")
    assert default_receivers_folder({"XDG_CACHE_HOME": "/x", "HOME": "/h"}) == Path("/x/stenograph/receivers")
    assert default_receivers_folder({"HOME": "/h"}) == Path("/h/.cache/stenograph/receivers")


@pytest.mark.parametrize("receiver", [PHOENIX, MLFLOW], ids=lambda receiver: receiver.name)
def test_receivers_get_nothing_of_the_callers_environment_and_call_nobody(
    receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.invalid")
    launch = receiver.launch(tmp_path / "installed", tmp_path)
    assert not launch.environment.keys() & {"HTTPS_PROXY", "SSL_CERT_FILE", "PYTHONPATH"}
    assert (launch.environment["HOME"], launch.environment["DO_NOT_TRACK"]) == (str(tmp_path), "true")
    assert launch.address.startswith("http://127.0.0.1:")
    quiet = {
        "phoenix": {"PHOENIX_TELEMETRY_ENABLED": "false", "PHOENIX_ALLOW_EXTERNAL_RESOURCES": "false"},
        "mlflow": {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_MODEL_CATALOG_URI": ""},
    }
    assert quiet[receiver.name].items() <= launch.environment.items()


@pytest.mark.parametrize("receiver", [PHOENIX, MLFLOW], ids=lambda receiver: receiver.name)
def test_everything_that_a_receiver_needs_is_pinned_by_name_and_version_alone(receiver: Receiver) -> None:
    assert receiver.constraints
    lines = [line for line in receiver.constraints.read_text().splitlines() if not line.startswith("#")]
    assert receiver.requirement in lines
    assert all(line.count("==") == 1 and not set(line) & set("@/:") for line in lines)


@pytest.mark.proof
def test_a_receiver_is_installed_once_and_started_once(tmp_path: Path, index: dict[str, str]) -> None:
    receivers = tmp_path / "receivers"
    folder = install_receiver(receivers, STUB, index)
    assert folder == receivers / "stub-1.0"
    # There is no uv in this index: pip did it.
    assert list(folder.glob("lib/*/site-packages/stub_receiver.py"))
    assert until_gone([int(pid) for pid in (folder / "fresh" / "pids").read_text().split()])
    whole = (folder / "whole").stat().st_mtime_ns
    assert install_receiver(receivers, STUB, {}) == folder
    assert (folder / "whole").stat().st_mtime_ns == whole


@pytest.mark.proof
def test_an_install_that_fails_leaves_nothing_and_says_why(tmp_path: Path, index: dict[str, str]) -> None:
    other = Receiver("stub", "stub-receiver", "2.0", "/", _serve)
    (tmp_path / "stub-2.0").mkdir()
    (tmp_path / "stub-2.0" / "of an install that was killed").touch()
    with pytest.raises(ReceiverMissing, match=r"stub 2\.0 could not be installed"):
        install_receiver(tmp_path, other, index)
    assert not (tmp_path / "stub-2.0").exists()


@pytest.mark.proof
def test_two_users_share_a_server_that_ends_with_the_last(tmp_path: Path, installed: Path) -> None:
    folder = tmp_path / "shared"
    with shared_server(STUB, installed, folder) as address:
        with shared_server(STUB, installed, folder) as same:
            assert same == address
        time.sleep(1.5)  # three looks of the keeper
        assert responds(f"{address}/database")
    pids = pids_of(folder)
    assert len(pids) == 2
    assert until_gone(pids)
    with shared_server(STUB, installed, folder) as another:
        assert responds(f"{another}/database")
        assert len(pids_of(folder)) == 4
    assert until_gone(pids_of(folder))


@pytest.mark.proof
def test_a_server_does_not_outlive_users_that_were_killed(tmp_path: Path, installed: Path) -> None:
    folder = tmp_path / "shared"
    code = (
        "import sys, time; from pathlib import Path; from tests.lab.test_receivers import STUB, shared_server\n"
        "with shared_server(STUB, Path(sys.argv[1]), Path(sys.argv[2])): print('up', flush=True); time.sleep(600)"
    )
    root = Path(__file__).parent.parent.parent
    with subprocess.Popen([sys.executable, "-c", code, installed, folder], cwd=root, stdout=subprocess.PIPE) as user:
        assert user.stdout
        assert user.stdout.readline() == b"up\n"
        pids = pids_of(folder)
        assert all(_runs(pid) for pid in pids)
        user.send_signal(signal.SIGKILL)
    assert until_gone(pids)


@pytest.mark.proof
def test_a_receiver_that_does_not_start_is_missing(tmp_path: Path, installed: Path) -> None:
    with pytest.raises(ReceiverMissing, match="did not start"), shared_server(BROKEN, installed, tmp_path / "shared"):
        pass


def test_who_waits_too_long_for_a_lock_is_told(tmp_path: Path) -> None:
    with (
        one_at_a_time(tmp_path / "lock", 1.0),
        pytest.raises(TimeoutError, match="lock is held"),
        one_at_a_time(tmp_path / "lock", 0.1),
    ):
        pass
    with one_at_a_time(tmp_path / "lock", 0.1):
        pass
