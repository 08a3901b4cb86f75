"""ccusage, the counter of tokens that most people use, as a peer: installed from npm beside the clients."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from lab.clients import ClientMissing

VERSION = "20.0.24"
COUNTED = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheCreationTokens")


def install_ccusage(clients: Path) -> Path:
    """The program, installed when it is missing. Raises ClientMissing."""
    folder = clients.parent / f"ccusage-{VERSION}"
    program = folder / "node_modules" / ".bin" / "ccusage"
    if program.exists():
        return program
    npm = shutil.which("npm")
    if npm is None:
        raise ClientMissing("there is no npm to install ccusage")
    clients.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix="ccusage.", dir=clients.parent))
    (scratch / "package.json").write_text("{}\n", encoding="utf-8")
    done = subprocess.run([npm, "install", "--silent", f"ccusage@{VERSION}"], cwd=scratch, check=False, timeout=300)
    if done.returncode:
        raise ClientMissing("ccusage could not be installed")
    with contextlib.suppress(OSError):  # another process was quicker
        scratch.rename(folder)
    shutil.rmtree(scratch, ignore_errors=True)
    return program


def count_tokens(program: Path, home: Path) -> tuple[int, ...]:
    """Input, output, cache read and cache written, over all sessions of a home."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "CLAUDE_CONFIG_DIR": str(home)}
    done = subprocess.run(
        [program, "session", "--json", "--offline"], env=environment, capture_output=True, check=True, timeout=60
    )
    totals = json.loads(done.stdout)["totals"]
    return tuple(totals[name] for name in COUNTED)
