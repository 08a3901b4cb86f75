"""The package as others get it: built, installed into an empty environment, and started there."""

from __future__ import annotations

import importlib
import os
import pkgutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest
from tests.corpora import ROOT

import stenograph


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)], check=True, capture_output=True
    )
    return folder


@pytest.mark.proof
def test_the_wheel_starts_in_an_empty_environment(built: Path, tmp_path: Path) -> None:
    (wheel,) = built.glob("*.whl")
    venv.create(tmp_path / "env", with_pip=True)
    binaries = tmp_path / "env" / ("Scripts" if os.name == "nt" else "bin")
    install = [str(binaries / "python"), "-m", "pip", "install", "--quiet", "-c", str(ROOT / "constraints.txt"), str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    version = subprocess.run([str(binaries / "steno"), "--version"], check=True, capture_output=True, text=True).stdout
    assert stenograph.__version__ in version
    listed = subprocess.run([str(binaries / "steno"), "--demo", "ls"], check=True, capture_output=True, text=True).stdout
    assert "Publish the October tide report" in listed


@pytest.mark.proof
def test_wheel_and_sdist_hold_what_they_should(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "stenograph/py.typed" in names
    assert "stenograph/demo/demo.tar.xz" in names
    assert not any(name.startswith("tests") for name in names)
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        inside = [name.split("/", 1)[-1] for name in archive.getnames()]
    assert {"LICENSE", "constraints.txt", "Makefile", "tests/corpora.py", "scripts/make_demo.py"} <= set(inside)


def modules() -> list[str]:
    return [found.name for found in pkgutil.walk_packages(stenograph.__path__, "stenograph.") if "__main__" not in found.name]


@pytest.mark.parametrize("name", modules())
def test_every_exported_name_can_be_imported(name: str) -> None:
    module = importlib.import_module(name)
    missing = [export for export in getattr(module, "__all__", []) if not hasattr(module, export)]
    assert missing == []
    assert module.__doc__


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys, stenograph; print(*sys.modules)"
    loaded = set(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split())
    assert not loaded & {"msgspec", "click", "rich", "json", "httpx", "sqlite3", "asyncio"}


def test_the_version_and_the_changelog_agree() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## {stenograph.__version__}" in changelog


@pytest.mark.full
def test_the_wheel_installs_and_runs_with_pipx_and_uvx(built: Path, tmp_path: Path) -> None:
    """As users do it, from an environment that has nothing but the two tools."""
    (wheel,) = built.glob("*.whl")
    tools = tmp_path / "tools"
    subprocess.run([sys.executable, "-m", "venv", str(tools)], check=True)
    binaries = tools / ("Scripts" if sys.platform == "win32" else "bin")
    subprocess.run([str(binaries / "python"), "-m", "pip", "install", "--quiet", "pipx", "uv"], check=True)
    places = {"HOME": tmp_path, "PIPX_HOME": tmp_path / "pipx", "PIPX_BIN_DIR": tmp_path / "bin", "UV_CACHE_DIR": tmp_path / "uv"}
    world = {
        **os.environ,
        **{name: str(place) for name, place in places.items()},
        "PIP_CONSTRAINT": str(ROOT / "constraints.txt"),
    }
    # uv reads its own variables: give it what pip was told.
    indexes = {"UV_DEFAULT_INDEX": "PIP_INDEX_URL", "UV_INDEX": "PIP_EXTRA_INDEX_URL", "UV_FIND_LINKS": "PIP_FIND_LINKS"}
    world |= {ours: world[theirs] for ours, theirs in indexes.items() if theirs in world}

    def shown(*command: str | Path) -> str:
        return subprocess.run(list(map(str, command)), env=world, check=True, capture_output=True, text=True, cwd=tmp_path).stdout

    shown(binaries / "pipx", "install", wheel)
    assert "8 sessions in 3 projects" in shown(tmp_path / "bin" / "steno", "--demo")
    uvx: list[str | Path] = [
        binaries / "uvx",
        "--python",
        sys.executable,
        "--constraints",
        ROOT / "constraints.txt",
        "--from",
        wheel,
    ]
    assert "8 sessions in 3 projects" in shown(*uvx, "steno", "--demo")
