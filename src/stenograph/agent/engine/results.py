"""What a result implies: changed lines, a pull request."""

from __future__ import annotations

import re

from msgspec import Struct

from stenograph.agent.engine.calls import CallResult

_ADDRESS = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+)/pull/([0-9]+)")
_MAKES_ONE = re.compile(r"\bgh\s+pr\s+create\b")


class PullRequest(Struct, frozen=True):
    number: int
    url: str
    repository: str


def pull_request_of(result: CallResult) -> PullRequest | None:
    """The pull request that a command has just created."""
    command, content = result.call.given.get("command"), result.block["content"]
    if result.is_error or not (isinstance(command, str) and isinstance(content, str) and _MAKES_ONE.search(command)):
        return None
    found = _ADDRESS.search(content)
    return PullRequest(int(found[2]), found[0], found[1]) if found else None


def changed_lines(result: CallResult) -> tuple[int, int]:
    """(added, removed)"""
    patch = result.structured.get("structuredPatch") if isinstance(result.structured, dict) else None
    lines = [line for hunk in patch or () for line in hunk["lines"]]
    return sum(line.startswith("+") for line in lines), sum(line.startswith("-") for line in lines)
