"""Calls of the probe server's tools, and how answers are compared: without what differs from run to run."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from lab.observatory.scenes import Step, say, text, tool

Json = dict[str, Any]
SERVER = Path(__file__).with_name("server.py")
PREFIX = "mcp__probe__"
#: By name without the prefix; what can't be compared is at the end of other tests.
CALLS: list[tuple[str, Json]] = [
    ("echo", {"words": "hi"}),
    ("echo", {"words": "hi", "many": '["a", "b"]'}),
    ("echo", {}),
    ("echo", {"words": 5, "extra": 1}),
    ("write", {}),
    ("change", {}),
    ("two_parts_here", {}),
    *((name, {}) for name in ("image", "link", "embedded", "blob", "audio", "fails", "refuses", "structured", "both", "nothing")),
    ("sized", {"texts": [49_000]}),
    ("sized", {"texts": [60_000]}),
    ("sized", {"texts": [40_000, 40_000]}),
    ("sized", {"texts": [], "structured": 60_000}),
    ("dies", {}),
    ("echo", {"words": "again"}),
    ("none", {}),
]


def configuration(**environment: str) -> str:
    probe = {"command": sys.executable, "args": [str(SERVER)], "env": environment}
    return json.dumps({"mcpServers": {"probe": probe}})


def steps(calls: Iterable[tuple[str, Json]] = CALLS) -> Sequence[Step]:
    return [*(say(tool(PREFIX + name, **given)) for name, given in calls), say(text("Done."))]


def answers(lines: Iterable[Json], home: Path) -> list[Json]:
    """Of the results' lines, what a model and a reader see."""
    found: list[Json] = []
    for line in lines:
        content = line["message"]["content"] if line["type"] == "user" else ""
        if not isinstance(content, list) or content[0]["type"] != "tool_result":
            continue
        (block,) = content
        members = ("toolUseResult", "mcpMeta", "mcpCallNotReadOnly", "toolDenialKind", "permissionDecision")
        answer = {"is_error": block.get("is_error"), "content": block["content"], **{m: line[m] for m in members if m in line}}
        found.append(json.loads(_masked(json.dumps(answer, sort_keys=True), home)))
    return found


_FILES = re.compile(r"(?<=tool-results/)(?:toolu_\w+|mcp-probe-blob-\d+-\w+)")
_LONG = re.compile(r"(word |y{5}){20,}")


def _masked(words: str, home: Path) -> str:
    """Without folders, random names and long texts."""
    words = re.sub(re.escape(str(home)) + r"/projects/[^/]+/[^/]+", "SESSION", words)
    return _LONG.sub(lambda match: f"<{len(match[0])}>", _FILES.sub("NAME", words))
