"""Usage of public and recorded sessions beside ccusage and agentsview: every difference has a rule, and a count by plain JSON."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from bench.surgery_tools import NO_NETWORK, ToolFailed, pypi_environment
from lab.agentsview import VERSION, count_with_agentsview
from tests.conftest import Ccusage, Need
from tests.corpora import CORPUS, NO_CORPUS

from stenograph.analysis import UsageScope, usage_table
from stenograph.index import open_store, sync_usage
from stenograph.pricing import Tariff

Counts = tuple[int, int, int, int]
NOTHING: Counts = (0, 0, 0, 0)
FIELDS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


class Response(NamedTuple):
    id: str
    request: str | None
    counts: Counts
    #: Only in a progress line.
    is_progress: bool
    #: Written with spaces, as no client does: ccusage passes over such lines.
    is_spaced: bool
    file: Path
    #: No later line continues it: it was rewound.
    is_rewound: bool


def _home(corpus: Path, home: Path) -> None:
    """Every directory of the corpus as a project."""
    for path in sorted(corpus.rglob("*.jsonl")):
        project = home / "projects" / str(path.parent.relative_to(corpus)).replace("/", "-")
        project.mkdir(parents=True, exist_ok=True)
        (project / path.name).write_bytes(path.read_bytes())


def _responses(home: Path) -> Iterator[Response]:
    for path in home.rglob("*.jsonl"):
        lines = [(line, value) for line in path.read_bytes().split(b"\n") if isinstance(value := _read(line), dict)]
        last = _chain([value for _, value in lines])
        for line, value in lines:
            inner = (value.get("data") or {}).get("message") if value.get("type") == "progress" else value
            if isinstance(inner, dict) and inner.get("type") == "assistant" and isinstance(inner.get("message"), dict):
                message = inner["message"]
                usage = message.get("usage")
                if isinstance(usage, dict) and message.get("model") != "<synthetic>":
                    spaced, rewound = b'"usage": {' in line, value.get("uuid") not in last
                    counts = _counts(usage)
                    yield Response(message["id"], inner.get("requestId"), counts, inner is not value, spaced, path, rewound)


def _read(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _chain(lines: list[dict[str, Any]]) -> set[str]:
    """The lines before the last one of the conversation, by their parents."""
    by_name = {line["uuid"]: line for line in lines if line.get("uuid")}
    said = [line for line in by_name.values() if line.get("type") in ("user", "assistant") and not line.get("isSidechain")]
    chain, line = set[str](), said[-1] if said else None
    while line is not None and line["uuid"] not in chain:
        chain.add(line["uuid"])
        line = by_name.get(line.get("logicalParentUuid") or line.get("parentUuid") or "")
    return chain


def _counts(usage: dict[str, Any]) -> Counts:
    first, second, third, fourth = (usage.get(name) or 0 for name in FIELDS)
    return first, second, third, fourth


def _greatest(responses: list[Response], *, by_request: bool = False) -> dict[Any, Counts]:
    found: dict[Any, Counts] = {}
    for each in responses:
        key = (each.id, each.request) if by_request else each.id
        if sum(each.counts) >= sum(found.get(key, NOTHING)):
            found[key] = each.counts
    return found


def _sum(counts: Iterator[Counts] | list[Counts]) -> Counts:
    first, second, third, fourth = (sum(column) for column in zip(NOTHING, *counts, strict=True))
    return first, second, third, fourth


def _minus(one: Counts, other: Counts) -> Counts:
    first, second, third, fourth = (a - b for a, b in zip(one, other, strict=True))
    return first, second, third, fourth


def _ours(home: Path) -> tuple[Counts, int]:
    """With what was interrupted, and without what was estimated: the others count so."""
    store = open_store(None)
    sync_usage(store, [home])
    table = usage_table(store, UsageScope((home,)), Tariff(), zone=UTC)
    spent, aborted = table.total.spent, table.interrupted
    return (
        spent.input + aborted.input,
        spent.output - spent.estimated_output + aborted.output,
        spent.cache_read + aborted.cache_read,
        spent.cache_write_5m + spent.cache_write_1h + aborted.cache_write_5m + aborted.cache_write_1h,
    ), spent.calls + aborted.calls


@pytest.mark.clients
@pytest.mark.parametrize("corpus", [CORPUS] if (CORPUS / "public").is_dir() else [NO_CORPUS])
def test_each_difference_to_ccusage_has_a_rule_and_a_count(corpus: Path, ccusage: Ccusage, tmp_path: Path) -> None:
    _home(corpus, tmp_path)
    ours, calls = _ours(tmp_path)
    responses = list(_responses(tmp_path))
    every = _greatest(responses)
    assert ours == _sum(list(every.values()))
    assert calls == len(every)

    # Subagents of which only progress lines are left: ccusage does not read those.
    own = _greatest([each for each in responses if not each.is_progress])
    only_progress = [counts for key, counts in every.items() if key not in own]
    # Lines with spaces: ccusage passes over them.
    read = _greatest([each for each in responses if not each.is_progress and not each.is_spaced])
    only_spaced = [counts for key, counts in own.items() if key not in read]
    # Copies with another request id or none: to ccusage they are other calls.
    by_request = _greatest([each for each in responses if not each.is_progress and not each.is_spaced], by_request=True)
    twice = len(by_request) - len(read)
    assert (len(only_progress), len(only_spaced), twice) == (22, 5, 14)
    more = _minus(_sum(list(by_request.values())), _sum(list(read.values())))
    expected = _minus(_minus(ours, _sum(only_progress)), _sum(only_spaced))
    assert ccusage(tmp_path) == _minus(expected, _minus(NOTHING, more))


@pytest.mark.clients
@pytest.mark.proof
@pytest.mark.parametrize("corpus", [CORPUS] if (CORPUS / "public").is_dir() else [NO_CORPUS])
def test_each_difference_to_agentsview_has_a_rule_and_a_count(
    corpus: Path, need: Need, clients_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(clients_cache.parent.parent))
    try:
        python = pypi_environment("agentsview", VERSION)
    except ToolFailed as error:
        need("clients", str(error))
    home = tmp_path / ".claude"
    _home(corpus, home)
    ours, _ = _ours(home)
    theirs, known = count_with_agentsview(
        python, tmp_path, {"PATH": os.environ["PATH"], **NO_NETWORK, "NO_PROXY": "127.0.0.1,localhost"}
    )
    responses = list(_responses(home))
    every = _greatest(responses)
    lines: dict[str, list[Response]] = {}
    for each in responses:
        lines.setdefault(each.id, []).append(each)
    # It does not read subagents beside sessions, nor progress lines; of a rewind it forgets a short conversation.
    rules = {key: _why_agentsview_lacks(of_call) for key, of_call in lines.items() if key not in known}
    assert Counter(rules.values()) == {"subagent beside sessions": 372, "only progress lines": 22, "rewound": 6}
    # Copies with another request id or none are other calls to it, as they are to ccusage.
    read = [each for each in responses if each.id in known and not each.is_progress and not each.file.name.startswith("agent-")]
    by_request = _greatest(read, by_request=True)
    assert len(by_request) - len(_greatest(read)) == 14
    more = _minus(_sum(list(by_request.values())), _sum(list(_greatest(read).values())))
    less = _sum([every[key] for key in rules])
    assert theirs == _minus(_minus(ours, less), _minus(NOTHING, more))


def _why_agentsview_lacks(lines: list[Response]) -> str:
    own = [each for each in lines if not each.is_progress]
    if not own:
        return "only progress lines"
    if all(each.file.name.startswith("agent-") for each in own):
        return "subagent beside sessions"
    return "rewound" if all(each.is_rewound for each in own) else "other"
