"""Usage of public and recorded sessions beside ccusage's: every difference has a rule, and a count by plain JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.conftest import Ccusage
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


def _home(corpus: Path, home: Path) -> None:
    """Every directory of the corpus as a project."""
    for path in sorted(corpus.rglob("*.jsonl")):
        project = home / "projects" / str(path.parent.relative_to(corpus)).replace("/", "-")
        project.mkdir(parents=True, exist_ok=True)
        (project / path.name).write_bytes(path.read_bytes())


def _responses(home: Path) -> Iterator[Response]:
    for path in home.rglob("*.jsonl"):
        for line in path.read_bytes().split(b"\n"):
            try:
                value = json.loads(line)
            except ValueError:
                continue
            if not isinstance(value, dict):
                continue
            inner = (value.get("data") or {}).get("message") if value.get("type") == "progress" else value
            if isinstance(inner, dict) and inner.get("type") == "assistant" and isinstance(inner.get("message"), dict):
                message = inner["message"]
                usage = message.get("usage")
                if isinstance(usage, dict) and message.get("model") != "<synthetic>":
                    spaced = b'"usage": {' in line
                    yield Response(message["id"], inner.get("requestId"), _counts(usage), inner is not value, spaced)


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


@pytest.mark.clients
@pytest.mark.parametrize("corpus", [CORPUS] if (CORPUS / "public").is_dir() else [NO_CORPUS])
def test_each_difference_to_ccusage_has_a_rule_and_a_count(corpus: Path, ccusage: Ccusage, tmp_path: Path) -> None:
    _home(corpus, tmp_path)
    store = open_store(None)
    sync_usage(store, [tmp_path])
    table = usage_table(store, UsageScope((tmp_path,)), Tariff(), zone=UTC)
    spent, aborted = table.total.spent, table.interrupted
    ours: Counts = (
        spent.input + aborted.input,
        spent.output - spent.estimated_output + aborted.output,
        spent.cache_read + aborted.cache_read,
        spent.cache_write_5m + spent.cache_write_1h + aborted.cache_write_5m + aborted.cache_write_1h,
    )
    responses = list(_responses(tmp_path))
    every = _greatest(responses)
    assert ours == _sum(list(every.values()))
    assert spent.calls + aborted.calls == len(every)

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
