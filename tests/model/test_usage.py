"""Counts, from whatever an endpoint calls its usage."""

from __future__ import annotations

from typing import Any

import pytest

from stenograph.model.assembly import read_usage

#: As 2.1.325 records it.
WHOLE = {
    "input_tokens": 3,
    "output_tokens": 5,
    "cache_creation_input_tokens": 7,
    "cache_read_input_tokens": 11,
    "cache_creation": {"ephemeral_5m_input_tokens": 7, "ephemeral_1h_input_tokens": 0},
    "server_tool_use": {"web_search_requests": 1, "web_fetch_requests": 0},
    "output_tokens_details": {"thinking_tokens": 2},
    "service_tier": "standard",
    "inference_geo": None,
    "speed": "standard",
    "iterations": [
        {
            "type": "message",
            "input_tokens": 3,
            "output_tokens": 5,
            "cache_creation": {"ephemeral_5m_input_tokens": 7, "ephemeral_1h_input_tokens": 0},
        }
    ],
    "fallback_credit": None,
}


def read(told: Any) -> dict[str, Any]:
    return read_usage(told, lambda words: words)


def test_what_a_client_records_stays_as_it_is() -> None:
    assert read(WHOLE) == WHOLE


@pytest.mark.parametrize("told", [None, 5, "x", [], [1], True, {}, {"tokens": 5, 5: 5}])
def test_what_is_no_usage_says_nothing(told: Any) -> None:
    assert read(told) == {}


@pytest.mark.parametrize("value", [-1, True, "5", 1.0, 1e300, 10**13, 10**30, [5], {}, None])
def test_a_count_is_a_whole_number_that_can_be(value: Any) -> None:
    counts = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    assert read(dict.fromkeys(counts, value)) == {}
    split = {"ephemeral_5m_input_tokens": value, "ephemeral_1h_input_tokens": 4}
    assert read({"cache_creation": split}) == {"cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 4}}
    assert read({"server_tool_use": {"web_search_requests": value}}) == {}


@pytest.mark.parametrize("name", ["cache_creation", "server_tool_use", "output_tokens_details", "service_tier", "iterations"])
@pytest.mark.parametrize("value", [5, True, {"a": 1}])
def test_a_member_of_another_type_is_left_out(name: str, value: Any) -> None:
    assert read({name: value}) == {}


def test_iterations_are_read_like_the_whole() -> None:
    assert read({"iterations": [{"type": 5, "input_tokens": "x", "output_tokens": 2}, 5]}) == {
        "iterations": [{"output_tokens": 2}]
    }


def test_words_are_shown_without_what_is_to_be_hidden() -> None:
    told = {"service_tier": "key", "iterations": [{"type": "key"}]}
    assert read_usage(told, lambda words: words.replace("key", "-")) == {"service_tier": "-", "iterations": [{"type": "-"}]}
