"""Real client releases: installed from the npm registry into a cache folder, and run away from everything.

In: a release, a home, a working folder, arguments, the address of an API on loopback. Out: what the client printed; what it
wrote is in that home. Every run gets an environment built from nothing, a home of its own and a key that opens nothing.
Knows nothing of what a client writes.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from lab.locks import one_at_a_time

PACKAGE = "@anthropic-ai/claude-code"
FAKE_KEY = "sk-ant-fake-000000000000"
INSTALL_TIMEOUT = 600.0


class ClientMissing(Exception):  # noqa: N818 - a reason to skip, said in one line, not a failure of the package
    """A release is not installed and can't be; the text is the reason."""


def default_clients_folder(environ: Mapping[str, str]) -> Path:
    """`$STENO_CLIENTS`, else `stenograph/clients` in the user's cache folder."""
    if chosen := environ.get("STENO_CLIENTS"):
        return Path(chosen)
    cache = environ.get("XDG_CACHE_HOME") or os.path.join(environ.get("HOME") or Path.home(), ".cache")  # noqa: PTH118
    return Path(cache) / "stenograph" / "clients"


def client_program(clients: Path, release: str) -> Path:
    """Where the program of an installed release stands."""
    return clients / release / "node_modules" / ".bin" / "claude"


def install_client(clients: Path, release: str, environ: Mapping[str, str] = os.environ) -> Path:
    """The program of `release`, installed first when it is missing; `environ` is what npm gets.

    Raises ClientMissing when npm is absent or fails. An install that was killed never looks whole: it happens in a folder
    beside and is renamed at the end.
    """
    program = client_program(clients, release)
    if program.exists():
        return program
    npm = shutil.which("npm", path=environ.get("PATH"))
    if npm is None:
        raise ClientMissing(f"client {release} is not installed and there is no npm to install it")
    clients.mkdir(parents=True, exist_ok=True)
    with _one_installer(clients / f"{release}.lock"):
        if program.exists():  # another process installed it while this one waited
            return program
        scratch = Path(tempfile.mkdtemp(prefix=f"{release}.", dir=clients))
        try:
            _npm_install(npm, scratch, release, environ)
            shutil.rmtree(clients / release, ignore_errors=True)
            scratch.rename(clients / release)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    return program


def published_releases(environ: Mapping[str, str] = os.environ) -> list[str]:
    """Every release that the registry has, the oldest first. Raises ClientMissing when npm is absent or fails."""
    npm = shutil.which("npm", path=environ.get("PATH"))
    if npm is None:
        raise ClientMissing("there is no npm to ask for releases")
    command = [npm, "view", PACKAGE, "versions", "--json", "--loglevel=error"]
    done = subprocess.run(command, env=dict(environ), stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60.0)
    if done.returncode:
        raise ClientMissing(f"npm could not list releases (exit code {done.returncode})")
    releases: list[str] = json.loads(done.stdout)
    return releases


def client_environment(home: Path, base_url: str) -> dict[str, str]:
    """An environment built from nothing: no proxy, no credentials and no settings of the caller reach the client."""
    node = shutil.which("node")
    folders = dict.fromkeys([*([str(Path(node).parent)] if node else []), "/usr/local/bin", "/usr/bin", "/bin"])
    return {
        "HOME": str(home),
        "TMPDIR": str(home / "tmp"),  # some releases leave sockets and probes there
        "PATH": os.pathsep.join(folders),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "ANTHROPIC_BASE_URL": base_url,
        "ANTHROPIC_API_KEY": FAKE_KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        # Clients refuse --dangerously-skip-permissions as root unless told that they are in a sandbox.
        "IS_SANDBOX": "1",
    }


def run_client(
    program: Path,
    *,
    home: Path,
    cwd: Path | bytes,
    args: Sequence[str],
    base_url: str,
    timeout: float = 90.0,
    extra_environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run a client to its end in `cwd`, with nothing on its input. Raises subprocess.TimeoutExpired."""
    (home / "tmp").mkdir(parents=True, exist_ok=True)
    return subprocess.run(
        [str(program), *args],
        cwd=cwd,
        env={**client_environment(home, base_url), **(extra_environment or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=timeout,
        check=False,
    )


def _npm_install(npm: str, folder: Path, release: str, environ: Mapping[str, str]) -> None:
    command = [npm, "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--loglevel=error"]
    command += ["--package-lock=false", f"{PACKAGE}@{release}"]
    # npm walks up to the nearest package.json unless the prefix holds one
    (folder / "package.json").write_text("{}\n")
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=INSTALL_TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ClientMissing(f"npm took longer than {INSTALL_TIMEOUT:.0f} s to install client {release}") from None
    program = folder / "node_modules" / ".bin" / "claude"
    if done.returncode or not program.exists():
        raise ClientMissing(f"npm could not install client {release} (exit code {done.returncode})")


@contextlib.contextmanager
def _one_installer(lock: Path) -> Iterator[None]:
    """Only one process installs a release at a time."""
    try:
        with one_at_a_time(lock, INSTALL_TIMEOUT):
            yield
    except TimeoutError:
        raise ClientMissing(f"another process is still installing into {lock.parent.name}") from None
