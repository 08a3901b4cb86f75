"""The recorded sessions as the tests find them: which file is which scenario, and what the scripts in the prompts say.

Reads lines with `json` alone, so that nothing here can share a mistake with what is tested.
"""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

from tests.corpora import FIXTURES

_RECORDED = FIXTURES / "recorded"
_SCRIPT = re.compile(r"\s*SCRIPT:([A-Za-z0-9+/]+=*):END")
_COMMAND = re.compile(r"<command-name>(.*?)</command-name>.*<command-args>(.*?)</command-args>", re.DOTALL)
_FIRST_WORDS = {
    "Please tidy the notes.": "tools",
    "Explore with helpers.": "subagents",
    "Try the flaky thing.": "errors",
    "Ask for the impossible.": "badrequest",
}


class Step(NamedTuple):
    """What one call to the model was made to answer."""

    texts: tuple[str, ...]
    thoughts: tuple[str, ...]
    tools: tuple[tuple[str, dict[str, Any]], ...]


def without_script(text: str) -> str:
    return _SCRIPT.sub("", text).strip()


def script_in(text: str) -> list[Step]:
    """The steps of the script in a text; none where there is none."""
    found = _SCRIPT.search(text)
    return [_step(step) for step in json.loads(base64.b64decode(found.group(1)))] if found else []


def _step(step: Any) -> Step:
    if isinstance(step, dict):  # an error before it, a delay, or a usage
        step = step.get("then", step.get("blocks"))
    return Step(
        tuple(block["text"] for block in step if "text" in block),
        tuple(block["think"] for block in step if "think" in block),
        tuple((block["tool"], block["input"]) for block in step if "tool" in block),
    )


def prompts_in(path: Path) -> list[str]:
    """The texts of all user lines that hold words, in file order; commands as they were typed."""
    texts = []
    for line in path.read_text("utf-8").split("\n"):
        record = json.loads(line) if line else {}
        if record.get("type") != "user" or record.get("isMeta") or record.get("isSidechain"):
            continue
        content = record["message"]["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        text = "\n\n".join(block["text"] for block in blocks if block["type"] == "text")
        command = _COMMAND.search(text)
        texts.append(f"{command.group(1)} {command.group(2)}" if command else text)
    return [text for text in texts if text]


def print_session(release: str, scenario: str) -> Path:
    """The file of a print-mode scenario, by its prompts and the tools that they ask for."""
    return next(path for path in sorted((_RECORDED / release / "print").glob("*/*.jsonl")) if _scenario_of(path) == scenario)


def _scenario_of(path: Path) -> str:
    prompts = [] if path.name.startswith("agent-") else prompts_in(path)
    if not prompts:
        return ""
    scenario = _FIRST_WORDS[without_script(prompts[0])]
    if scenario == "subagents":
        return f"subagents-{script_in(prompts[0])[0].tools[0][0]}"
    if scenario == "tools" and "Shown again by fork." in script_in(prompts[-1])[-1].texts:
        return "fork"
    return scenario


def interactive_sessions(release: str, scenario: str) -> list[Path]:
    """The session files of an interactive scenario, in the order in which they were begun."""
    folder = _RECORDED / release / "interactive"
    names = json.loads((folder / "scenarios.json").read_text("utf-8"))[scenario]
    paths = [folder / name.removeprefix(".claude/projects/") for name in names]
    return sorted((path for path in paths if "agent-" not in path.name), key=_begun)


def _begun(path: Path) -> str:
    records = [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]
    return min(str(record["timestamp"]) for record in records if "timestamp" in record)
