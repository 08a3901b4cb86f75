"""The comparison with LiteLLM's table names what differs, and only that."""

from __future__ import annotations

from typing import Any

from compare_prices import compare

from stenograph.pricing import table_of


def _entry(**prices: float) -> dict[str, Any]:
    return {"litellm_provider": "anthropic", **prices}


def test_a_price_that_differs_is_named() -> None:
    names = {row: _entry() for row in table_of().models}
    names["claude-opus-5-5"] = _entry(input_cost_per_token=4e-06, output_cost_per_token=2.5e-05)
    names["claude-next"] = _entry(input_cost_per_token=1e-06)
    names["gpt-x"] = {"litellm_provider": "openai", "input_cost_per_token": 1e-06}
    assert sorted(compare(names)) == [
        "claude-next: not in our table",
        "claude-opus-5-5: output is 20, in LiteLLM's table 25 USD per million tokens",
    ]


def test_a_model_that_only_we_have_is_named() -> None:
    names = {row: _entry() for row in table_of().models if row != "claude-fable-5-2"}
    assert list(compare(names)) == ["claude-fable-5-2: not in LiteLLM's table"]
