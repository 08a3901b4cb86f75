"""The digest of the ten largest public sessions: what must still be in it, by a reader of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.corpora import CORPUS

from stenograph.errors import UsageError
from stenograph.surgery import Compress, Plan, Which, make_plan

Line = dict[str, Any]


def _largest() -> list[Path]:
    files = [path for path in (CORPUS / "public").rglob("*.jsonl") if not path.name.startswith("agent-")]
    return sorted(files, key=lambda path: -path.stat().st_size)


def _digest(plan: Plan) -> tuple[str, int]:
    """What was put in, and the node of the first line that is kept."""
    summary = plan.working.new_lines[1]
    content = json.loads(json.dumps(getattr(summary.record, "content", "")))
    assert isinstance(content, str)
    return content, summary.before


def _condensed(path: Path, first_kept: int) -> list[Line]:
    """The lines on the way from the first one that is kept to the root, compactions passed over."""
    lines = []
    for data in path.read_bytes().splitlines():
        try:
            line = json.loads(data)
        except ValueError:
            line = None
        lines.append(line if isinstance(line, dict) else {})
    by_uuid = {line["uuid"]: line for line in lines if line.get("uuid")}
    way: list[Line] = []
    seen: set[str] = set()
    uuid: Any = lines[first_kept].get("parentUuid")
    while uuid in by_uuid and uuid not in seen:
        seen.add(uuid)
        way.append(by_uuid[uuid])
        uuid = by_uuid[uuid].get("parentUuid") or by_uuid[uuid].get("logicalParentUuid")
    return way


def _flat(text: str) -> str:
    return " ".join(text.split())


def test_every_prompt_every_file_changed_and_every_failing_command_is_in_the_digest() -> None:
    if not _largest():
        pytest.skip("no corpus of public sessions")
    looked_at, refused = 0, list[str]()
    for path in _largest():
        try:
            plan = make_plan(path, [Compress(Which(keep_last=1))])
        except UsageError:  # a single turn
            continue
        if plan.problems:  # a cut-out of a session whose last turn hangs off a line that is not there: refused, nothing is lost
            refused.append(path.name)
        elif not plan.is_empty:  # else a compaction stands behind all but its last turn already
            _assert_all_is_in_it(path, plan)
            looked_at += 1
        if looked_at == 10:
            assert refused in ([], ["general-tool-calls.jsonl"])
            return
    raise AssertionError(f"only {looked_at} public sessions can be compressed")


def _assert_all_is_in_it(path: Path, plan: Plan) -> None:
    assert plan.outlook.tokens_after < plan.outlook.tokens_before
    digest, first_kept = _digest(plan)
    quoted = _flat(digest.replace("\n> ", "\n"))
    lines = _condensed(path, first_kept)
    results = {
        block["tool_use_id"]: block
        for line in lines
        if line.get("type") == "user" and isinstance(line["message"]["content"], list)
        for block in line["message"]["content"]
        if block.get("type") == "tool_result"
    }
    prompts = files = failures = 0
    for line in lines:
        content = line["message"]["content"] if line.get("type") in ("user", "assistant") else None
        is_own = line.get("type") == "user" and not line.get("isMeta") and not line.get("isCompactSummary")
        if is_own and isinstance(content, str) and not content.startswith(("<", "Caveat", "[Request")):
            prompts += 1
            assert _flat(content) in quoted
        for block in content if line.get("type") == "assistant" and isinstance(content, list) else ():
            if block.get("type") != "tool_use" or block["id"] not in results:
                continue
            is_error = bool(results[block["id"]].get("is_error"))
            if block["name"] in ("Edit", "Write", "MultiEdit") and not is_error:
                files += 1
                assert block["input"]["file_path"] in digest
            elif block["name"] == "Bash" and is_error:
                failures += 1
                assert _flat(block["input"]["command"])[:200] in _flat(digest)
    assert prompts + files + failures
