"""What it costs to begin: the import, the version, the list of a thousand sessions."""

from __future__ import annotations

import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

from bench.figures import FIXTURES, Figure, best_process, python

SESSIONS = 1000
STENO = [sys.executable, "-m", "stenograph"]
SDK = "import claude_agent_sdk; assert len(claude_agent_sdk.list_sessions()) > 900"


def write_home(home: Path) -> None:
    """A thousand sessions in twenty projects: recordings under new ids, every tenth of them two megabytes long."""
    originals = [
        path.read_bytes()
        for path in sorted(FIXTURES.rglob("*.jsonl"))
        if not path.name.startswith("agent-") and path.stat().st_size > 2000
    ]
    for number in range(SESSIONS):
        folder = home / "projects" / f"-home-user-project-{number % 20}"
        folder.mkdir(parents=True, exist_ok=True)
        data = originals[number % len(originals)]
        if number % 10 == 0:
            data *= 2_000_000 // len(data)
        session = uuid.uuid5(uuid.NAMESPACE_URL, f"bench {number}")
        (folder / f"{session}.jsonl").write_bytes(data)


def measure() -> Iterator[Figure]:
    start = best_process(
        {
            "bare": python("pass"),
            "import stenograph": python("import stenograph"),
            "import stenograph.records": python("import stenograph.records"),
            "from stenograph import load": python("from stenograph import load"),
            "version": [*STENO, "--version"],
        },
        rounds=10,
    )
    for name in ("import stenograph", "import stenograph.records", "from stenograph import load"):
        above = (start[name].cpu - start["bare"].cpu) * 1e3
        yield Figure(f"{name}, CPU above bare Python", above, " ms", 60 if "load" not in name else 90, "at most")
    yield Figure("steno --version, whole process", start["version"].wall * 1e3, " ms", 120, "at most")
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as nothing:
        home = Path(folder)
        write_home(home)
        listing = best_process(
            {"ours": [*STENO, "ls", "--all", "--limit", "1000"], "sdk": python(SDK)},
            rounds=5,
            # Without an index, whatever this user has: one would make ours faster, or be built meanwhile.
            environ={"CLAUDE_CONFIG_DIR": folder, "XDG_DATA_HOME": nothing, "XDG_CONFIG_HOME": nothing},
        )
    ours, sdk = listing["ours"], listing["sdk"]
    note = f"[ours {ours.wall * 1e3:.0f} ms, SDK {sdk.wall * 1e3:.0f} ms]"
    yield Figure(f"steno ls over {SESSIONS} sessions, SDK's list_sessions / ours", sdk.wall / ours.wall, "x", 3, "at least", note)
