"""The newest measured release, asked again: what it says a run cost is what we say."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from lab.clients import run_client
from tests.conftest import Client

from stenograph.pricing import session_cost, table_of
from stenograph.records import read_records
from stenograph.releases import NEWEST
from stenograph.testing import scripted_api
from stenograph.testing.scripted_api import ScriptedApi, script_prompt

# One a request, with what it costs with claude-opus-4-8 (5, 25, 0.5, 6.25 and 10 USD per million tokens), counted by hand.
USAGES: list[tuple[dict[str, Any], str]] = [
    # 0.0005 + 0.0025 + 0.00625 + 0.02
    (
        {
            "input_tokens": 100,
            "output_tokens": 100,
            "cache_creation_input_tokens": 3_000,
            "cache_creation": {"ephemeral_5m_input_tokens": 1_000, "ephemeral_1h_input_tokens": 2_000},
        },
        "0.02925",
    ),
    # (0.005 + 0.00025 + 0.01) x 1.1 in the United States, and three searches
    (
        {
            "input_tokens": 1_000,
            "output_tokens": 10,
            "cache_read_input_tokens": 20_000,
            "inference_geo": "us",
            "server_tool_use": {"web_search_requests": 3, "web_fetch_requests": 5},
        },
        "0.046775",
    ),
    # (0.0025 + 0.025 + 0.00625) x 2 x 1.1 at speed, and an advisor of claude-haiku-4-5: (0.001 + 0.0005) x 1.1
    (
        {
            "input_tokens": 500,
            "output_tokens": 1_000,
            "cache_creation_input_tokens": 1_000,
            "speed": "fast",
            "inference_geo": "us",
            "iterations": [{"type": "advisor_message", "model": "claude-haiku-4-5", "input_tokens": 1_000, "output_tokens": 100}],
        },
        "0.0759",
    ),
]


def _with_usages(build: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Answers whose usage is the one of their step."""

    def build_with_usage(step: Any, body: dict[str, Any], size: int, serial: int) -> dict[str, Any]:
        played = sum(message["role"] == "assistant" for message in body["messages"])
        return {**build(step, body, size, serial), "usage": USAGES[played][0]}

    return build_with_usage


@pytest.mark.clients
def test_the_client_charges_what_we_say(client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scripted_api, "build_message", _with_usages(scripted_api.build_message))
    work = tmp_path / "work"
    work.mkdir()
    # A tool that no client has: its use is refused, and the client asks again.
    prompt = script_prompt([[{"tool": "NoSuchTool", "input": {}}]] * 2 + [[{"text": "Done."}]])
    arguments = ["-p", prompt, "--model", "claude-opus-4-8", "--output-format", "json"]
    with ScriptedApi() as api:
        done = run_client(client(NEWEST), home=tmp_path / "home", cwd=work, args=arguments, base_url=api.url)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    (path,) = (tmp_path / "home" / ".claude" / "projects").glob("*/*.jsonl")
    cost = session_cost(located.record for located in read_records(path))
    by_hand = sum((Decimal(usd) for _, usd in USAGES), Decimal(0))
    assert cost.responses == len(api.requests) == len(USAGES)
    assert cost.usd == by_hand
    assert said["total_cost_usd"] == pytest.approx(float(by_hand), abs=1e-12)
    assert cost.gap is not None
    assert (abs(cost.gap) < Decimal("1e-12"), cost.reasons) == (True, ())
    assert {name: each["costBasis"] for name, each in said["modelUsage"].items()} == {
        "claude-opus-4-8": "list",
        "claude-haiku-4-5": "list",
    }


def test_the_newest_table_was_measured_on_the_newest_release() -> None:
    assert table_of().releases[-1] == NEWEST
