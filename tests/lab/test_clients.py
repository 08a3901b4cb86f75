from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest
from lab.clients import (
    ClientMissing,
    client_environment,
    client_program,
    default_clients_folder,
    install_client,
    published_releases,
    run_client,
)

posix = pytest.mark.skipif(sys.platform == "win32", reason="stands in for npm with a shell script")

# Stands in for npm: puts a program where npm would.
FAKE_NPM = """#!/bin/sh
[ "$1" != view ] || { [ -z "$FAIL" ] || exit 1; echo '["1.2.3", "1.2.4"]'; exit; }
while [ "$1" != --prefix ]; do shift; done
echo "$2" >> "$LOG"
mkdir -p "$2/node_modules/.bin" && cd "$2/node_modules/.bin" || exit 1
[ -z "$FAIL" ] || exit 1
printf '#!/bin/sh\\nenv; pwd; echo "$@"\\n' > claude && chmod +x claude
"""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    npm = tmp_path / "bin" / "npm"
    npm.parent.mkdir()
    npm.write_text(FAKE_NPM)
    npm.chmod(stat.S_IRWXU)
    return {"PATH": f"{npm.parent}{os.pathsep}/usr/bin{os.pathsep}/bin", "LOG": str(tmp_path / "log")}


def test_clients_are_kept_where_the_user_says_or_in_the_cache() -> None:
    assert default_clients_folder({"STENO_CLIENTS": "/c", "XDG_CACHE_HOME": "/x", "HOME": "/h"}) == Path("/c")
    assert default_clients_folder({"XDG_CACHE_HOME": "/x", "HOME": "/h"}) == Path("/x/stenograph/clients")
    assert default_clients_folder({"HOME": "/h"}) == Path("/h/.cache/stenograph/clients")


@posix
def test_a_client_is_installed_once(tmp_path: Path, environ: dict[str, str]) -> None:
    clients = tmp_path / "clients"
    program = install_client(clients, "1.2.3", environ)
    assert program == client_program(clients, "1.2.3")
    assert install_client(clients, "1.2.3", environ) == program
    assert len(Path(environ["LOG"]).read_text().splitlines()) == 1
    assert sorted(path.name for path in clients.iterdir()) == ["1.2.3", "1.2.3.lock"]


@posix
def test_an_install_that_fails_leaves_nothing_and_says_why(tmp_path: Path, environ: dict[str, str]) -> None:
    clients = tmp_path / "clients"
    with pytest.raises(ClientMissing, match=r"1\.2\.3"):
        install_client(clients, "1.2.3", {**environ, "FAIL": "1"})
    assert [path.name for path in clients.iterdir()] == ["1.2.3.lock"]


@posix
def test_releases_are_listed_as_the_registry_has_them(environ: dict[str, str]) -> None:
    assert published_releases(environ) == ["1.2.3", "1.2.4"]
    with pytest.raises(ClientMissing, match="could not list"):
        published_releases({**environ, "FAIL": "1"})


def test_without_npm_the_reason_is_told(tmp_path: Path) -> None:
    with pytest.raises(ClientMissing, match="no npm"):
        published_releases({"PATH": str(tmp_path)})
    with pytest.raises(ClientMissing, match="no npm"):
        install_client(tmp_path / "clients", "1.2.3", {"PATH": str(tmp_path)})


def test_the_environment_of_a_client_is_built_from_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "secret")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "/of/the/user")
    environment = client_environment(Path("/its/home"), "http://127.0.0.1:1")
    assert not {"ANTHROPIC_AUTH_TOKEN", "HTTPS_PROXY", "CLAUDE_CONFIG_DIR"} & set(environment)
    assert environment["HOME"] == "/its/home"
    assert environment["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:1"


@posix
def test_a_client_runs_in_its_folder_with_that_environment_only(
    tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEAK", "secret")
    program = install_client(tmp_path / "clients", "1.2.3", environ)
    cwd = tmp_path / "work"
    cwd.mkdir()
    done = run_client(program, home=tmp_path / "home", cwd=cwd, args=["-p", "hi"], base_url="http://127.0.0.1:1")
    output = done.stdout.decode().splitlines()
    assert done.returncode == 0
    assert output[-2:] == [str(cwd), "-p hi"]
    assert f"HOME={tmp_path / 'home'}" in output
    assert not any(line.startswith("LEAK=") for line in output)
