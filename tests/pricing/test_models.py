"""Names of models as providers spell them, as they were given to release 2.1.325: the price told which model it took each for."""

from __future__ import annotations

import pytest

from stenograph.pricing import canonical_model, table_of, window_of_calls


@pytest.mark.parametrize(
    "name",
    [
        "claude-haiku-4-5",
        "claude-haiku-4-5-20251001",
        "claude-haiku-4-5[1m]",
        "claude-haiku-4-5@20251001",
        "claude-haiku-4-5-latest",
        "claude-haiku-4-5-preview",
        "claude-haiku-4.5",
        "CLAUDE-HAIKU-4-5",
        "my-claude-haiku-4-5",
        "anthropic/claude-haiku-4-5",
        "vertex_ai/claude-haiku-4-5",
        "openrouter/anthropic/claude-haiku-4-5",
        "apac.anthropic.claude-haiku-4-5",
        "us.anthropic.claude-haiku-4-5-20251001-v1:0",
        "eu.anthropic.claude-haiku-4-5-20251001-v1:0",
        "global.anthropic.claude-haiku-4-5-20251001-v1:0",
        "arn:aws:bedrock:us-east-1:123:inference-profile/us.anthropic.claude-haiku-4-5-20251001-v1:0",
    ],
)
def test_a_model_is_known_by_any_of_its_names(name: str) -> None:
    assert canonical_model(name) == "claude-haiku-4-5"


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("claude-sonnet-4-0", "claude-sonnet-4"),
        ("claude-opus-4-0", "claude-opus-4"),
        ("claude-opus-4-20250514", "claude-opus-4"),
        ("claude-opus-4-1-20250805", "claude-opus-4-1"),
        ("claude-opus-5-5-fast", "claude-opus-5-5"),
        ("claude-haiku-5-5-20261001", "claude-haiku-5-5"),
        ("claude-3-5-haiku-latest", "claude-3-5-haiku"),
        ("claude-3-7-sonnet-latest", "claude-3-7-sonnet"),
        ("claude-3-5-sonnet-v2@20241022", "claude-3-5-sonnet"),
        ("anthropic.claude-3-5-sonnet-20241022-v2:0", "claude-3-5-sonnet"),
        ("anthropic.claude-3-5-haiku-20241022-v1:0", "claude-3-5-haiku"),
        ("haiku", "claude-haiku-5-5"),
    ],
)
def test_a_name_leads_to_its_own_model(name: str, model: str) -> None:
    assert canonical_model(name) == model


@pytest.mark.parametrize(
    "name",
    [
        "haiku-4-5",
        "3-5-haiku",
        "claude_haiku_4_5",
        "claude-4-5-haiku",
        "claude-sonnet-3-7",
        "claude-sonnet-6",
        "claude-sonnet-5-6",
        "claude-opus-4-9",
        "claude-opus-4-50",
        "claude-opus-55",
        "claude-opus-5-55",
        "claude-haiku-5",
    ],
)
def test_other_names_are_said_to_be_unknown(name: str) -> None:
    assert canonical_model(name) is None


def test_an_older_client_takes_a_later_model_for_one_that_it_knows() -> None:
    assert canonical_model("claude-opus-4-6", table_of("2.0.76")) == "claude-opus-4"
    assert canonical_model("claude-opus-4-6", table_of("2.1.45")) == "claude-opus-4-6"
    assert canonical_model("claude-opus-5-5", table_of("2.0.76")) is None
    # Short names mean other models to it, which were not measured.
    assert canonical_model("opus", table_of("2.0.76")) is None


@pytest.mark.parametrize(
    ("calls", "window"),
    [
        # As release 2.1.325 takes them: see models.json.
        ([("claude-opus-4-8", 113_000)], 1_000_000),
        ([("claude-opus-4-5-20251101", 113_000)], 200_000),
        # The wide window is asked for with each request, and no line says so.
        ([("claude-sonnet-4-5", 240_000), ("claude-sonnet-4-5", 30_000)], 1_000_000),
        ([("claude-opus-4-8", 240_000), ("claude-sonnet-4-5", 30_000)], 200_000),
        # A response that failed sent nothing.
        ([("claude-opus-4-8", 113_000), ("<synthetic>", 0)], 1_000_000),
        ([("qwen3-coder", 113_000)], None),
        ([], None),
    ],
)
def test_the_window_of_a_session_is_that_of_its_last_model(calls: list[tuple[str, int]], window: int | None) -> None:
    assert window_of_calls(calls) == window
