"""What a real client decides about tool calls: allowed, to be asked about, or denied.

In: a client's program, settings, and calls. Out: a decision for each, with the words that the model would get. In print mode a
client asks nobody: what it would ask about it refuses in other words than what a rule denies. Calls are made one by one in a new
project, and those that are allowed run there. Knows nothing of this package's own permissions.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.clients import run_client
from lab.decision_cases import Group
from lab.observatory.project import make_project, write_files
from lab.observatory.scenes import cue, say, text, tool
from lab.observatory.stage import Stage
from lab.terminal import prepare_home
from stenograph.testing.scripted_api import Json

Call = tuple[str, Mapping[str, object]]
#: Where each settings file is, below the home and below the project.
SETTINGS_FILES = {"user": ".claude/settings.json", "project": ".claude/settings.json", "local": ".claude/settings.local.json"}
#: Of one session: what is sent again with every call grows.
_MOST_CALLS = 90
_DENIED = ("has been denied", "denied by your permission settings", "Read deny rule", "WebFetch denied access")


@dataclass(frozen=True)
class ClientDecision:
    #: `allow`, `ask` or `deny`.
    behavior: str
    #: What the model got.
    words: str
    #: The record's `permissionDecision`.
    record: Json


def ask_client(
    program: Path,
    calls: Sequence[Call],
    *,
    settings: Mapping[str, Json] | None = None,
    args: Sequence[str] = (),
    files: Mapping[str, str | bytes] | None = None,
    is_trusted: bool = True,
    timeout: float = 300.0,
) -> list[ClientDecision]:
    """The decision about each call. `settings` by the names of SETTINGS_FILES. Raises ValueError if an answer is missing."""
    with tempfile.TemporaryDirectory(prefix="steno-decisions-", ignore_cleanup_errors=True) as scratch, Stage() as stage:
        home = Path(scratch).resolve() / "home"
        project = home / "project"
        make_project(project)
        write_files(project, dict(files or {}))
        if is_trusted:
            prepare_home(home, project)
        for name, values in (settings or {}).items():
            path = (home if name == "user" else project) / SETTINGS_FILES[name]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(values), encoding="utf-8")
        stage.add("calls", [*(say(tool(name, **given)) for name, given in calls), say(text("Done."))])
        command = ["-p", cue("calls"), "--output-format", "json", *args]
        run_client(program, home=home, cwd=project, args=command, base_url=stage.url, timeout=timeout)
        (session,) = home.glob(".claude/projects/*/*.jsonl")
        results = [line for line in map(json.loads, session.read_bytes().splitlines()) if line.get("type") == "user"]
    found = [(block, line) for line in results for block in _results(line)]
    if len(found) != len(calls):
        raise ValueError(f"{len(found)} results for {len(calls)} calls")
    return [_decision(block, line.get("permissionDecision") or {}) for block, line in found]


def ask_group(program: Path, group: Group) -> list[str]:
    """`allow`, `ask` or `deny` for each command of a group."""
    calls: list[Call] = [("Bash", {"command": command, "timeout": 5000, "description": "Asked"}) for command in group.commands]
    return [
        decision.behavior
        for first in range(0, len(calls), _MOST_CALLS)
        for decision in ask_client(
            program,
            calls[first : first + _MOST_CALLS],
            settings=group.settings,
            args=["--permission-mode", group.mode] if group.mode else [],
            files={".env": "A=1\n"},
            is_trusted=group.is_trusted,
        )
    ]


def _results(line: Json) -> list[Json]:
    content = line["message"]["content"]
    return [block for block in content if block["type"] == "tool_result"] if isinstance(content, list) else []


def _decision(block: Json, record: Json) -> ClientDecision:
    words = block["content"] if isinstance(block["content"], str) else json.dumps(block["content"])
    if record.get("decision") != "reject":
        return ClientDecision("allow", words, record)
    return ClientDecision("deny" if any(said in words for said in _DENIED) else "ask", words, record)
