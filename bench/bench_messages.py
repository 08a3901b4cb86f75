"""What a resume would send, of a large session: a whole process beside one that calls the SDK's get_session_messages."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.figures import Figure, best_process, python, run_process

START = datetime(2026, 1, 1, tzinfo=UTC)
SESSION = "0a5c1e00-0000-4000-8000-000000000001"
WRITE = """
from pathlib import Path
from bench.bench_messages import write_session
write_session(Path({path!r}))
"""
SDK = "import claude_agent_sdk; assert len(claude_agent_sdk.get_session_messages({session!r})) > 1000"


def write_session(path: Path) -> None:
    """A linear session of 100 MB: the turns of one long recording over and over, each hanging off the one before."""
    import json

    size = parent = 0
    with path.open("w") as file:
        while size < 100_000_000:
            prompt = {"type": "user", "message": {"role": "user", "content": f"Question {parent}. " + "why " * 100}}
            use = {"type": "tool_use", "id": f"toolu_{parent}", "name": "Bash", "input": {"command": "cat notes.md"}}
            call = {"type": "assistant", "message": {"id": f"msg_{parent}", "role": "assistant", "model": "m", "content": [use]}}
            result = {"type": "tool_result", "tool_use_id": f"toolu_{parent}", "content": "a line of output\\n" * 300}
            answer = {"type": "user", "message": {"role": "user", "content": [result]}}
            text = {"type": "text", "text": "because " * 60}
            last = {
                "type": "assistant",
                "message": {"id": f"msg_b{parent}", "role": "assistant", "model": "m", "content": [text]},
            }
            for line in (prompt, call, answer, last):
                parent += 1
                linked = {
                    "parentUuid": f"00000000-0000-4000-8000-{parent - 1:012}" if parent > 1 else None,
                    "uuid": f"00000000-0000-4000-8000-{parent:012}",
                    "timestamp": (START + timedelta(seconds=parent)).isoformat(),
                    "sessionId": SESSION,
                    "isSidechain": False,
                    "cwd": "/home/user/project",
                    **line,
                }
                size += file.write(json.dumps(linked, separators=(",", ":")) + "\n")


def measure() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(dir=os.environ.get("STENO_BENCH_TMP")) as folder:
        path = Path(folder) / "projects" / "-home-user-project" / f"{SESSION}.jsonl"
        path.parent.mkdir(parents=True)
        run_process(python(WRITE.format(path=str(path))))
        commands = {
            "ours": [sys.executable, "-m", "stenograph", "messages", SESSION, "--json", "--reveal"],
            "sdk": python(SDK.format(session=SESSION)),
        }
        costs = best_process(commands, rounds=3, environ={"CLAUDE_CONFIG_DIR": folder})
    ours, sdk = costs["ours"], costs["sdk"]
    note = f"[100 MB; ours {ours.wall:.2f} s, SDK {sdk.wall:.2f} s]"
    yield Figure("steno messages --json, SDK's get_session_messages / ours", sdk.wall / ours.wall, "x", 2, "at least", note)
