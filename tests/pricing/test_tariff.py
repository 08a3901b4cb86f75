"""Sums of tokens are priced to the last digit, and one's own prices go first."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.pricing.usages import usage

from stenograph.errors import ConfigError
from stenograph.pricing import Tariff, load_prices, micro_usd, price_usage, read_prices_file
from stenograph.records import TokenCounts

COUNT = st.integers(0, 400_000)
MODELS = [*load_prices().tables[-1].models]


@given(st.sampled_from(MODELS), st.tuples(COUNT, COUNT, COUNT, COUNT, COUNT), st.integers(0, 9), st.booleans(), st.booleans())
def test_a_call_costs_what_the_exact_decimals_say(
    model: str, counts: tuple[int, int, int, int, int], searches: int, fast: bool, us: bool
) -> None:
    """`price_usage` is compared with the real client (test_clients.py); this is the same in whole numbers."""
    sent, output, read, short, hour = counts
    exact = price_usage(
        usage(
            input_tokens=sent,
            output_tokens=output,
            cache_read_input_tokens=read,
            write_5m=short,
            write_1h=hour,
            server_tool_use={"web_search_requests": searches},
            speed="fast" if fast else "standard",
            inference_geo="us" if us else "",
        ),
        model,
    ).usd
    assert Tariff().price(TokenCounts(*counts, searches), model, is_fast=fast, is_us=us) == exact * 10**12


def test_calls_of_one_length_are_priced_as_their_sum() -> None:
    tariff = Tariff()
    short, long = TokenCounts(60_000, 10, 0, 0, 0), TokenCounts(150_000, 10, 0, 0, 0)
    both = TokenCounts(120_000, 20, 0, 0, 0)
    assert tariff.price(both, "claude-haiku-5-5", prompt=tariff.level(60_000)) == 2 * (
        tariff.price(short, "claude-haiku-5-5") or 0
    )
    twice = TokenCounts(300_000, 20, 0, 0, 0)
    assert tariff.price(twice, "claude-haiku-5-5", prompt=tariff.level(150_000)) == 2 * (
        tariff.price(long, "claude-haiku-5-5") or 0
    )


def test_an_unknown_model_has_no_price() -> None:
    assert Tariff().price(TokenCounts(1, 1, 1, 1, 1), "glm-5") is None
    assert Tariff().row("glm-5") is None
    assert Tariff().row("") is None


PRICES = """
web_search = 0.02
[models."glm-5"]
input = 1.5
output = 3
cache_read = 0.25
cache_write_5m = 2
[models."claude-opus-5-5"]
input = 1
output = 1
cache_read = 1
cache_write_5m = 1
cache_write_1h = 3
fast = 4
"""


def test_a_prices_file_goes_before_the_table(tmp_path: Path) -> None:
    file = tmp_path / "prices.toml"
    file.write_text(PRICES)
    tariff = Tariff(read_prices_file(file))
    assert (
        tariff.price(TokenCounts(2, 1, 4, 1, 1, 1), "zai/GLM-5") == 3_000_000 + 3_000_000 + 1_000_000 + 4_000_000 + 20_000_000_000
    )
    assert tariff.price(TokenCounts(0, 0, 0, 0, 1), "claude-opus-5-5", is_fast=True) == 12_000_000
    assert tariff.price(TokenCounts(1, 0, 0, 0, 0), "claude-sonnet-5-5") == 2_000_000
    assert (tariff.is_own("glm-5"), tariff.is_own("claude-sonnet-5-5")) == (True, False)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[models."m"]\ninput = 1\noutput = 1\ncache_read = 1\n', "cache_write_5m"),
        ('[models."m"]\ninput = -1\noutput = 1\ncache_read = 1\ncache_write_5m = 1\n', "input"),
        ("prices = 1\n", "prices"),
        ("[models\n", "not valid TOML"),
    ],
)
def test_a_prices_file_that_is_wrong_says_where(text: str, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "prices.toml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=problem):
        read_prices_file(file)


_WHOLE = "output = 1\ncache_read = 1\ncache_write_5m = 1\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[models."glm-5"]\noutput = -1\n', '`models."glm-5".output` must be a number, 0 or more'),
        (f'[models."glm-5"]\n{_WHOLE}', '`models."glm-5".input` is missing'),
        (f'[models."glm-5"]\ninptu = 1\n{_WHOLE}', '`models."glm-5".inptu` is not a known key; did you mean "input"?'),
        (f'[models."glm-5"]\nwhat = 1\n{_WHOLE}', "is not a known key; known: input, output, cache_read"),
        (f'[models.a]\ninput = 1\n{_WHOLE}[models.b]\n{_WHOLE}[other]\n', '`models."b".input` is missing'),
        (f'[models.a]\ninput = 1\ncache_write_1h = true\n{_WHOLE}', '`models."a".cache_write_1h` must be a number, 0 or more'),
        (f'[models.a]\ninput = 1\nfast = 0\n{_WHOLE}', '`models."a".fast` must be a number greater than 0'),
        ("models.a = 1\n", '`models."a"` must be a table'),
        ("web_search = -1\n", "`web_search` must be a number, 0 or more, at most 1,000"),
        (f'[models.""]\ninput = 1\n{_WHOLE}', '`models.""` must be the name of a model'),
    ],
)  # fmt: skip
def test_an_error_in_a_prices_file_names_the_model_and_what_is_expected(text: str, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "prices.toml"
    file.write_text(text)
    with pytest.raises(ConfigError) as raised:
        read_prices_file(file)
    assert problem in str(raised.value)
    assert " or a table" not in str(raised.value)


def test_amounts_are_rounded_once() -> None:
    assert [micro_usd(pico) for pico in (0, 499_999, 500_000, 1_499_999, -500_001)] == [0, 0, 1, 1, -1]
