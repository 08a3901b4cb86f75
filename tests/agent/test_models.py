"""Which model is called, by which name, and how much it takes in."""

from __future__ import annotations

import pytest

from stenograph.agent.context.models import betas_of, called_name, models_from, window_of

HOME = "api.anthropic.com"
ELSEWHERE = "models.example.org"


@pytest.mark.parametrize(
    ("environ", "host", "asked", "resumed", "main"),
    [
        ({}, HOME, "", "", "claude-opus-5-5"),
        ({}, HOME, "sonnet", "", "claude-sonnet-5"),
        ({}, HOME, "sonnet[1m]", "", "claude-sonnet-5[1m]"),
        ({}, HOME, "", "claude-haiku-4-5", "claude-haiku-4-5"),
        ({"ANTHROPIC_MODEL": "claude-fable-5"}, HOME, "", "claude-haiku-4-5", "claude-fable-5"),
        ({"ANTHROPIC_MODEL": "claude-fable-5"}, HOME, "opus", "", "claude-opus-5-5"),
        ({"ANTHROPIC_DEFAULT_SONNET_MODEL": "my-sonnet"}, ELSEWHERE, "sonnet", "", "my-sonnet"),
        ({}, ELSEWHERE, "glm-5", "", "glm-5"),
    ],
)
def test_the_model_is_what_is_asked_for_else_named_else_used_before(
    environ: dict[str, str], host: str, asked: str, resumed: str, main: str
) -> None:
    assert models_from(environ, host=host, asked=asked, resumed=resumed).main == main


def test_elsewhere_everything_that_is_not_named_is_the_main_model() -> None:
    models = models_from({}, host=ELSEWHERE, asked="glm-5")
    assert (models.small, models.named("haiku"), models.named("opus")) == ("glm-5", "glm-5", "glm-5")
    named = models_from({"ANTHROPIC_SMALL_FAST_MODEL": "glm-5-air"}, host=ELSEWHERE, asked="glm-5")
    assert named.small == "glm-5-air"


def test_a_wide_window_is_a_part_of_the_name_that_the_endpoint_never_sees() -> None:
    assert (window_of("claude-sonnet-5"), window_of("claude-sonnet-5[1m]")) == (200_000, 1_000_000)
    assert called_name("claude-sonnet-5[1m]") == "claude-sonnet-5"
    assert betas_of("claude-sonnet-5[1m]") == ["context-1m-2025-08-07"]
    assert betas_of("claude-sonnet-5") == []
