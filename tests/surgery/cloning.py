"""Sessions to clone, clones as bytes, and the ids of a family as the simplest reading finds them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.corpora import CORPUS, FIXTURES, ROOT, without_agents

from stenograph.surgery.clone import ClonePlan, read_clone

UUID = re.compile(rb"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")
NIL = b"00000000-0000-0000-0000-000000000000"

#: Members by which clients name what is theirs, wherever in a line they were seen to stand.
OWN = ("uuid", "parentUuid", "logicalParentUuid", "sessionId", "promptId", "messageId", "agentId", "requestRef", "commandUuid")


def session_files(root: Path, *marks: pytest.MarkDecorator) -> list[object]:
    """The sessions below a folder as parameters, agents' and workflows' files left out."""
    return [
        pytest.param(path, id=f"{root.name}/{path.relative_to(root).as_posix()}", marks=marks)
        for path in without_agents(root.rglob("*.jsonl"))
    ]


def recorded(*marks: pytest.MarkDecorator) -> list[object]:
    """All recorded sessions; the marks are for those that only fill the registry, of which there are hundreds."""
    return [*session_files(FIXTURES / "recorded"), *session_files(ROOT / "recordings", *marks)]


def public() -> list[object]:
    missing = pytest.param(None, id="corpus", marks=pytest.mark.skip(reason="no corpus of public sessions"))
    return session_files(CORPUS / "public") or [missing]


def end_of_turn(path: Path, next_prompt: int) -> str:
    """The uuid of the line that a turn ends with: what the next prompt, by its place in the file, names as its parent."""
    uuid = json.loads(path.read_bytes().split(b"\n")[next_prompt])["parentUuid"]
    assert isinstance(uuid, str)
    return uuid


def contents_of(plan: ClonePlan) -> dict[Path, bytes]:
    """The files of a clone, without writing them."""
    return {file.target: b"".join(read_clone(plan, file)) for file in plan.files}


def originals_of(plan: ClonePlan) -> dict[Path, bytes]:
    """What each file of a clone is a copy of, by the copy's place."""
    return {file.target: file.source.read_bytes() for file in plan.files}


def put_back(plan: ClonePlan, data: bytes) -> bytes:
    """The bytes of a clone with the old ids instead of the new ones, and the old project in paths to the session's folder."""
    data = paths_put_back(plan, data)
    old = {new: old for old, new in plan.renewal.new.items()}
    data = UUID.sub(lambda found: old.get(found[0], found[0]), data)
    for new, before in old.items():
        if not UUID.fullmatch(new):
            data = data.replace(new, before)
    return data


def paths_put_back(plan: ClonePlan, data: bytes) -> bytes:
    new, old = (f"{project}/{name}/".encode() for project, name in _places(plan))
    return data.replace(new, old)


def _places(plan: ClonePlan) -> tuple[tuple[str, str], tuple[str, str]]:
    return (plan.path.parent.name, plan.new_id), (plan.source.parent.name, plan.session_id)


#: Members of a line that hold what was said, read or answered, or name another family.
SAID = ("message", "toolUseResult", "content", "rendered", "result", "shape", "forkedFrom", "lastPrompt")
#: These hold both.
MIXED = ("attachment", "data")


def said(data: bytes) -> list[dict[str, Any]]:
    return [{name: record[name] for name in SAID if name in record} for record in records_of(data)]


def beside_what_was_said(data: bytes) -> bytes:
    """The lines without what was said; a summary may name a line of another session."""
    kept = [{name: value for name, value in record.items() if name not in (*SAID, *MIXED)} for record in records_of(data)]
    return json.dumps([record for record in kept if record.get("type") != "summary"]).encode()


def own_ids(files: Iterable[bytes]) -> set[bytes]:
    """The ids that a family's lines make, by the names of their members."""
    found: set[str] = set()
    for data in files:
        for record in records_of(data):
            found.update(value for key in OWN if isinstance(value := record.get(key), str))
            result = record.get("toolUseResult")
            if isinstance(result, dict) and isinstance(result.get("agentId"), str):
                found.add(result["agentId"])
            if record.get("type") == "api-request":
                found.update(value for key in ("id", "base") if isinstance(value := record.get(key), str))
    return {value.encode() for value in found} - {NIL}


def api_ids(files: Iterable[bytes]) -> list[str]:
    """Every id of the API's in some lines, in order."""
    found: list[str] = []
    for data in files:
        for record in records_of(data):
            found += [value for key in ("requestId", "sourceToolUseID") if isinstance(value := record.get(key), str)]
            message = record.get("message")
            if not isinstance(message, dict):
                continue
            found += [message["id"]] if isinstance(message.get("id"), str) else []
            blocks = message.get("content")
            for block in blocks if isinstance(blocks, list) else []:
                if isinstance(block, dict):
                    found += [value for key in ("id", "tool_use_id") if isinstance(value := block.get(key), str)]
    return found


def records_of(data: bytes) -> Iterator[dict[str, Any]]:
    for line in data.split(b"\n"):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            yield record


def remaining(ids: set[bytes], data: bytes) -> set[bytes]:
    """Those of some ids that occur in some bytes, by themselves."""
    uuids = set(UUID.findall(data))
    words = {
        one
        for one in ids
        if not UUID.fullmatch(one) and re.search(rb"(?<![0-9A-Za-z_])" + re.escape(one) + rb"(?![0-9A-Za-z_])", data)
    }
    return (ids & uuids) | words
