"""What a resume would send, of a large session: whole processes beside one that calls the SDK's get_session_messages.

The SDK's function gives objects and prints nothing, and so does ours in `load_messages`; the command prints all of it as JSON
besides. Of a compacted session both have to read the file; the SDK decodes all of it, ours only what follows the boundary.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bench.figures import Figure, best_process, python, run_process

START = datetime(2026, 1, 1, tzinfo=UTC)
SESSION = "0a5c1e00-0000-4000-8000-000000000001"
COMPACTED = "0a5c1e00-0000-4000-8000-000000000002"
#: 20,000 lines of calls made at once, and as many without the parents that they name.
PARALLEL = "0a5c1e00-0000-4000-8000-000000000003"
PARENTLESS = "0a5c1e00-0000-4000-8000-000000000004"
WRITE = """
from pathlib import Path
from bench.bench_messages import write_session
write_session(Path({path!r}), compacted_after={compacted_after})
"""
SIZE = 100_000_000
COMPACTED_AFTER = 98_000_000
SDK = "import claude_agent_sdk; assert len(claude_agent_sdk.get_session_messages({session!r})) > 900"
OURS = "import stenograph; assert len(stenograph.load_messages({session!r}).messages) > 900"
COMMAND = [sys.executable, "-m", "stenograph", "messages", "--json"]


def write_session(path: Path, compacted_after: int = 0) -> None:
    """A linear session of 100 MB, each line hanging off the one before; compacted behind so many bytes, if any."""
    import json

    size = parent = 0
    boundary: dict[str, Any] = {
        "type": "system",
        "subtype": "compact_boundary",
        "compactMetadata": {"trigger": "auto", "preTokens": 180_000},
    }
    summary = {"type": "user", "isCompactSummary": True, "message": {"role": "user", "content": "What was said so far."}}
    with path.open("w") as file:
        while size < SIZE:
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
            lines: list[dict[str, Any]] = [prompt, call, answer, last]
            if compacted_after and size > compacted_after:
                lines[:0] = [boundary, summary]
                compacted_after = 0
            for line in lines:
                parent += 1
                is_root = parent == 1 or line is boundary
                linked = {
                    "parentUuid": None if is_root else f"00000000-0000-4000-8000-{parent - 1:012}",
                    "uuid": f"00000000-0000-4000-8000-{parent:012}",
                    "timestamp": (START + timedelta(seconds=parent)).isoformat(),
                    "sessionId": SESSION,
                    "isSidechain": False,
                    "cwd": "/home/user/project",
                    **line,
                }
                size += file.write(json.dumps(linked, separators=(",", ":")) + "\n")


def write_hostile_session(path: Path, *, parallel: bool) -> None:
    from stenograph.testing.lines import Line, assistant, text, tool_result, tool_use, user, write

    def uuid(number: int) -> str:
        return f"00000000-0000-4000-8000-{number:012}"

    half = 10_000
    lines: list[Line] = [user(uuid(0), "Words.")]
    for number in range(1, half):
        content = [tool_use(f"toolu_{number}")] if parallel else [text("Words.")]
        parent = uuid(number - 1) if parallel else f"lost-{number}"
        lines.append(assistant(uuid(number), "msg" if parallel else f"msg_{number}", content, parent))
    for number in range(1, half):
        content = [tool_result(f"toolu_{number}")] if parallel else [text("Words.")]
        lines.append(user(uuid(half + number), content, uuid(number) if parallel else f"lost-{half + number}"))
    write(path, [{**line, "timestamp": (START + timedelta(seconds=place)).isoformat()} for place, line in enumerate(lines)])


def measure() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(dir=os.environ.get("STENO_BENCH_TMP")) as folder:
        project = Path(folder) / "projects" / "-home-user-project"
        project.mkdir(parents=True)
        for session, compacted_after in ((SESSION, 0), (COMPACTED, COMPACTED_AFTER)):
            path = project / f"{session}.jsonl"
            run_process(python(WRITE.format(path=str(path), compacted_after=compacted_after)))
        for session in (PARALLEL, PARENTLESS):
            write_hostile_session(project / f"{session}.jsonl", parallel=session == PARALLEL)
        commands = {
            "ours": python(OURS.format(session=SESSION)),
            "command": [*COMMAND, SESSION, "--reveal"],
            "masked": [*COMMAND, SESSION],
            "sdk": python(SDK.format(session=SESSION)),
            "ours, compacted": python(OURS.format(session=COMPACTED)),
            "command, compacted": [*COMMAND, COMPACTED, "--reveal"],
            "parallel": [*COMMAND, PARALLEL, "--reveal"],
            "parentless": [*COMMAND, PARENTLESS, "--reveal"],
            "sdk, compacted": python(SDK.format(session=COMPACTED)),
        }
        costs = best_process(commands, rounds=5, environ={"CLAUDE_CONFIG_DIR": folder})
    took = {name: cost.wall for name, cost in costs.items()}
    for name, what, bound in (
        ("ours", "load_messages", 2.0),
        ("command", "steno messages --json --reveal", 1.8),
        ("masked", "steno messages --json", 0.5),
        ("ours, compacted", "load_messages of a compacted session", 6.0),
    ):
        sdk = took["sdk, compacted" if "compacted" in name else "sdk"]
        note = f"[100 MB; ours {took[name]:.2f} s, SDK {sdk:.2f} s]"
        yield Figure(f"{what}, SDK's get_session_messages / ours", sdk / took[name], "x", bound, "at least", note)
    for name, what in (("parallel", "parallel calls"), ("parentless", "missing parents")):
        yield Figure(f"steno messages --json --reveal, 20,000 lines of {what}", took[name], "s", 4.0, "at most")
    for name, what in (("ours", "load_messages"), ("command", "steno messages --json --reveal")):
        ratio = took[f"{name}, compacted"] / took[name]
        yield Figure(f"{what}, 2 MB behind a boundary / 100 MB without one", ratio, "x", 0.4, "at most")
