"""Which model is called, by which name, and how it is asked."""

from __future__ import annotations

import pytest

from stenograph.agent.context.limits import Limits
from stenograph.agent.context.models import Asking, asking_of, called_name, models_from

HOME = "api.anthropic.com"
ELSEWHERE = "models.example.org"


@pytest.mark.parametrize(
    ("environ", "host", "asked", "resumed", "main"),
    [
        ({}, HOME, "", "", "claude-opus-5-5"),
        ({}, HOME, "sonnet", "", "claude-sonnet-5-5"),
        ({}, HOME, "haiku", "", "claude-haiku-5-5"),
        ({}, HOME, "fable", "", "claude-fable-5-2"),
        ({}, HOME, "sonnet[1m]", "", "claude-sonnet-5-5[1m]"),
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
    assert (Limits({}).window_of("claude-sonnet-4-6"), Limits({}).window_of("claude-sonnet-4-6[1m]")) == (200_000, 1_000_000)
    assert called_name("claude-sonnet-4-6[1m]") == "claude-sonnet-4-6"
    assert "context-1m-2025-08-07" in asking_of("claude-sonnet-4-6[1m]").betas
    assert "context-1m-2025-08-07" not in asking_of("claude-sonnet-4-6").betas


# What 2.1.325 sent, model by model.
ADAPTIVE = {"type": "adaptive"}
EFFORT = ("effort-2025-11-24",)


@pytest.mark.parametrize(
    ("model", "window", "asking"),
    [
        ("claude-opus-5-5", 1_000_000, Asking(128_000, ADAPTIVE, "medium", EFFORT)),
        ("claude-sonnet-4-6", 200_000, Asking(32_000, ADAPTIVE, "high", EFFORT)),
        ("claude-sonnet-4-5-20250929", 200_000, Asking(32_000, {"type": "enabled", "budget_tokens": 31_999})),
        ("claude-3-5-haiku-20241022", 200_000, Asking(8_192)),
    ],
)
def test_a_model_is_asked_as_the_client_asks_it(model: str, window: int, asking: Asking) -> None:
    assert (Limits({}).window_of(model), asking_of(model)) == (window, asking)


def test_the_user_decides_how_much_is_thought_and_answered() -> None:
    assert asking_of("claude-opus-5-5", effort="max").effort == "max"
    assert asking_of("claude-sonnet-4-5", budget=2_000).thinking == {"type": "enabled", "budget_tokens": 2_000}
    # A budget counts toward the answer; the API takes none below 1,024.
    assert asking_of("claude-sonnet-4-5", max_tokens=1_500).thinking == {"type": "enabled", "budget_tokens": 1_499}
    assert asking_of("claude-sonnet-4-5", max_tokens=1_000).thinking is None


def test_an_unknown_model_thinks_only_if_it_is_asked_to() -> None:
    assert asking_of("glm-5") == Asking(32_000)
    assert asking_of("glm-5", budget=2_000).thinking == {"type": "enabled", "budget_tokens": 2_000}
    assert Limits({}).window_of("glm-5") == 200_000
