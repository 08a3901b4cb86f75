"""What releases charge, as it was measured on them: a scripted usage, and `total_cost_usd` read back.

The figures were typed in from those measurements, or counted by hand from them; none comes from the table that is tested.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from tests.pricing.usages import usage

from stenograph.errors import UsageError
from stenograph.pricing import Basis, load_prices, price_usage, table_of

MILLION = 1_000_000

# 2.1.325, USD for a million tokens: input, output, cache read, write for 5 minutes, for an hour; and the factor of `speed: fast`.
NEWEST = {
    "claude-fable-5-2": ("8", "40", "0.20", "10", "16", 2),
    "fable": ("8", "40", "0.20", "10", "16", 2),
    "claude-fable-5-1": ("10", "50", "0.25", "12.5", "20", 1),
    "claude-fable-5": ("10", "50", "1.00", "12.5", "20", 1),
    "claude-mythos-5-1": ("10", "50", "0.25", "12.5", "20", 1),
    "claude-mythos-5": ("10", "50", "1.00", "12.5", "20", 1),
    "claude-opus-5-5": ("4", "20", "0.20", "5", "8", 2),
    "opus": ("4", "20", "0.20", "5", "8", 2),
    "best": ("4", "20", "0.20", "5", "8", 2),
    "default": ("4", "20", "0.20", "5", "8", 2),
    "claude-opus-5": ("5", "25", "0.50", "6.25", "10", 2),
    "claude-opus-4-8": ("5", "25", "0.50", "6.25", "10", 2),
    "claude-opus-4-7": ("5", "25", "0.50", "6.25", "10", 6),
    "claude-opus-4-6": ("5", "25", "0.50", "6.25", "10", 6),
    "claude-opus-4-5": ("5", "25", "0.50", "6.25", "10", 1),
    "claude-opus-4-5-20251101": ("5", "25", "0.50", "6.25", "10", 1),
    # Asked for with CLAUDE_CODE_DISABLE_LEGACY_MODEL_REMAP=1; without it the client asks for its default model instead.
    "claude-opus-4-1-20250805": ("15", "75", "1.50", "18.75", "30", 1),
    "claude-opus-4-20250514": ("15", "75", "1.50", "18.75", "30", 1),
    "claude-sonnet-5-5": ("2", "10", "0.10", "2.5", "4", 1),
    "sonnet": ("2", "10", "0.10", "2.5", "4", 1),
    "opusplan": ("2", "10", "0.10", "2.5", "4", 1),
    "claude-sonnet-5": ("2", "10", "0.20", "2.5", "4", 1),
    "claude-sonnet-5-20260101": ("2", "10", "0.20", "2.5", "4", 1),
    "claude-sonnet-4-6": ("3", "15", "0.30", "3.75", "6", 1),
    "claude-sonnet-4-6[1m]": ("3", "15", "0.30", "3.75", "6", 1),
    "claude-sonnet-4-5-20250929": ("3", "15", "0.30", "3.75", "6", 1),
    "claude-sonnet-4-20250514": ("3", "15", "0.30", "3.75", "6", 1),
    "claude-3-7-sonnet-20250219": ("3", "15", "0.30", "3.75", "6", 1),
    "claude-3-5-sonnet-20241022": ("3", "15", "0.30", "3.75", "6", 1),
    # Its prompts of more than 100,000 tokens; shorter ones are below.
    "claude-haiku-5-5": ("0.50", None, "0.05", "0.625", "1.00", 1),
    "haiku": ("0.50", None, "0.05", "0.625", "1.00", 1),
    "claude-haiku-4-5": ("1", "5", "0.10", "1.25", "2", 1),
    "claude-3-5-haiku-20241022": ("0.80", "4", "0.08", "1", "1.60", 1),
}
UNKNOWN = ["some-unknown-model", "claude-opus-9", "claude-haiku-5", "claude-3-opus-20240229", "claude-3-haiku-20240307"]
KINDS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "write_5m", "write_1h")


@pytest.mark.parametrize("model", NEWEST)
def test_the_newest_table_has_the_measured_prices(model: str) -> None:
    *prices, fast = NEWEST[model]
    for kind, price in zip(KINDS, prices, strict=True):
        if price is not None:
            cost = price_usage(usage(**{kind: MILLION}), model)
            assert (cost.usd, cost.basis) == (Decimal(str(price)), Basis.LIST), kind
            assert price_usage(usage(**{kind: MILLION}, speed="fast"), model).usd == fast * cost.usd, kind
            assert price_usage(usage(**{kind: MILLION}, inference_geo="us"), model).usd == Decimal("1.1") * cost.usd, kind


@pytest.mark.parametrize("model", [*UNKNOWN, "claude-mythos-preview"])
def test_a_name_that_nobody_knows_has_one_fixed_price_and_says_so(model: str) -> None:
    for kind, price in zip(KINDS, ("4", "20", "0.2", "5", "8"), strict=True):
        cost = price_usage(usage(**{kind: MILLION}, speed="fast"), model)
        assert (cost.usd, cost.basis, cost.row) == (Decimal(price), Basis.UNKNOWN, "")


# (release, model, usage, USD)
MEASURED: list[tuple[str, str, dict[str, Any], str]] = [
    # haiku-5-5: the whole request is dearer when the prompt, cached tokens included, has more than 100,000 tokens.
    ("2.1.325", "claude-haiku-5-5", {"input_tokens": 100_000}, "0.01"),
    ("2.1.325", "claude-haiku-5-5", {"input_tokens": 100_001}, "0.0500005"),
    ("2.1.325", "claude-haiku-5-5", {"input_tokens": 50_000, "cache_read_input_tokens": 50_000}, "0.0055"),
    ("2.1.325", "claude-haiku-5-5", {"input_tokens": 50_000, "cache_read_input_tokens": 50_001}, "0.02750005"),
    ("2.1.325", "claude-haiku-5-5", {"write_5m": 100_000}, "0.0125"),
    ("2.1.325", "claude-haiku-5-5", {"write_1h": 100_000}, "0.02"),
    ("2.1.325", "claude-haiku-5-5", {"write_1h": 100_001}, "0.100001"),
    ("2.1.325", "claude-haiku-5-5", {"output_tokens": MILLION}, "0.5"),
    ("2.1.325", "claude-haiku-5-5", {"output_tokens": MILLION, "input_tokens": 100_001}, "2.5500005"),
    # Searches are never multiplied; fetches are free.
    ("2.1.325", "claude-opus-4-8", {"server_tool_use": {"web_search_requests": 100}, "speed": "fast"}, "1"),
    ("2.1.325", "claude-opus-4-8", {"server_tool_use": {"web_search_requests": 100}, "inference_geo": "us"}, "1"),
    ("2.1.325", "claude-opus-4-8", {"server_tool_use": {"web_fetch_requests": 100}}, "0"),
    # Speed and place multiply; only this very word is a place.
    ("2.1.325", "claude-opus-4-8", {"input_tokens": MILLION, "speed": "fast", "inference_geo": "us"}, "11"),
    *(
        ("2.1.325", "claude-opus-4-8", {"input_tokens": MILLION, "inference_geo": place}, "5")
        for place in ("US", "eu", "us-east-1", "global", "not_available", "")
    ),
    *(("2.1.325", "claude-opus-4-8", {"input_tokens": MILLION, "service_tier": tier}, "5") for tier in ("batch", "priority")),
    # Writes without a split are for five minutes. Where total and split disagree the total counts, unless it is zero.
    ("2.1.325", "claude-opus-5", {"cache_creation_input_tokens": MILLION}, "6.25"),
    ("2.1.325", "claude-opus-5", {"cache_creation_input_tokens": MILLION, "cache_creation": None}, "6.25"),
    *(
        (
            "2.1.325",
            "claude-opus-5",
            {
                "cache_creation_input_tokens": total,
                "cache_creation": {"ephemeral_5m_input_tokens": short, "ephemeral_1h_input_tokens": hour},
            },
            usd,
        )
        for total, short, hour, usd in [
            (10_000, 1_000, 2_000, "0.07"),
            (10_000, 0, 0, "0.0625"),
            (0, 1_000, 2_000, "0.02625"),
            (2_000, 1_000, 3_000, "0.02"),
        ]
    ),
    (
        "2.1.325",
        "claude-opus-5",
        {"cache_creation_input_tokens": 10_000, "cache_creation": {"ephemeral_5m_input_tokens": 8_000}},
        "0.0625",
    ),
    (
        "2.1.325",
        "claude-opus-5",
        {"cache_creation_input_tokens": 10_000, "cache_creation": {"ephemeral_1h_input_tokens": 3_000}},
        "0.07375",
    ),
    # Writes for an hour cost what those for five minutes do, up to 2.1.112.
    *(
        (release, "claude-sonnet-4", {"write_1h": 100_000}, "0.375")
        for release in ("1.0.128", "2.0.36", "2.0.76", "2.1.45", "2.1.112")
    ),
    ("2.1.200", "claude-sonnet-4", {"write_1h": 100_000}, "0.6"),
    # More than 200,000 tokens of prompt: twice the price for the prompt, one and a half times for the answer.
    *(
        case
        for release, model in [
            ("1.0.128", "claude-sonnet-4"),
            ("1.0.128", "claude-sonnet-4-5"),
            ("2.0.36", "claude-sonnet-4-5"),
            ("2.0.42", "claude-sonnet-4-5"),
            ("2.0.50", "claude-sonnet-4-5"),
            ("2.0.76", "claude-sonnet-4-5[1m]"),
            ("2.0.76", "claude-sonnet-4"),
            ("1.0.128", "claude-3-7-sonnet-20250219"),
            ("1.0.128", "claude-3-5-sonnet-20241022"),
            ("2.0.50", "claude-sonnet-4-20250514"),
            ("2.0.50", "claude-3-7-sonnet-20250219"),
            ("2.0.76", "claude-3-7-sonnet"),
            ("2.0.76", "claude-3-5-sonnet-20241022"),
            ("2.1.29", "claude-sonnet-4-5"),
            ("2.1.29", "claude-sonnet-4-20250514"),
            ("2.1.29", "claude-3-7-sonnet-20250219"),
            ("2.1.45", "claude-sonnet-4-20250514"),
            ("2.1.45", "claude-3-7-sonnet-20250219"),
            ("2.1.45", "claude-3-5-sonnet-20241022"),
        ]
        for case in [
            (release, model, {"input_tokens": 200_000}, "0.6"),
            (release, model, {"input_tokens": 200_001, "output_tokens": 1}, "1.2000285"),
            (release, model, {"input_tokens": 100_000, "cache_read_input_tokens": 100_001}, "0.6600006"),
            (release, model, {"write_5m": 200_001}, "1.5000075"),
        ]
    ),
    *(
        ("2.1.45", model, {"input_tokens": MILLION, "output_tokens": MILLION}, "47.5")
        for model in ("claude-opus-4-6", "claude-opus-4-5", "claude-sonnet-4-5", "claude-sonnet-4-6")
    ),
    ("2.1.45", "claude-opus-4-6", {"cache_read_input_tokens": MILLION}, "1"),
    ("2.1.45", "claude-opus-4-6", {"write_1h": MILLION}, "12.5"),
    *(
        (release, model, {"input_tokens": MILLION}, price)
        for release in ("1.0.128", "2.0.76", "2.1.45")
        for model, price in [("claude-opus-4-1", "15"), ("claude-opus-4", "15"), ("claude-3-5-haiku", "0.8")]
    ),
    *((release, "claude-haiku-4-5", {"input_tokens": MILLION}, "1") for release in ("2.0.76", "2.1.45")),
    ("2.0.76", "claude-opus-4-5-20251101", {"input_tokens": 200_001, "output_tokens": 1}, "1.00003"),
    ("2.1.112", "claude-sonnet-4-5", {"input_tokens": MILLION}, "3"),
    ("2.1.200", "claude-haiku-5-5", {"input_tokens": 200_001, "output_tokens": 1}, "1.00003"),
    # 2.1.45 takes the newer sonnets for dearer than they are.
    ("2.1.45", "claude-sonnet-4-5", {"input_tokens": 100_000, "output_tokens": 1_000}, "0.525"),
    ("2.1.45", "claude-sonnet-4", {"input_tokens": 100_000, "output_tokens": 1_000}, "0.315"),
    # Speed.
    ("2.1.29", "claude-opus-4-5", {"input_tokens": 100_000, "speed": "fast"}, "0.5"),
    ("2.1.45", "claude-opus-4-6", {"input_tokens": 100_000, "speed": "fast"}, "3"),
    ("2.1.112", "claude-opus-4-6", {"input_tokens": 100_000, "speed": "fast"}, "3"),
    ("2.1.112", "claude-opus-4-7", {"input_tokens": 100_000, "speed": "fast"}, "0.5"),
    ("2.1.200", "claude-opus-4-8", {"input_tokens": 100_000, "speed": "fast"}, "1"),
    ("2.1.200", "claude-opus-4-7", {"input_tokens": 100_000, "speed": "fast"}, "3"),
    ("2.1.200", "claude-opus-5", {"input_tokens": 100_000, "speed": "fast"}, "0.5"),
    # Place: only the newest.
    ("2.1.200", "claude-opus-4-8", {"input_tokens": 100_000, "inference_geo": "us"}, "0.5"),
    # Models that a release does not know yet: by a name that it knows inside theirs, else like any unknown one.
    ("2.0.36", "claude-opus-4-5", {"input_tokens": MILLION, "output_tokens": MILLION}, "90"),
    ("2.0.50", "claude-opus-4-5", {"cache_read_input_tokens": MILLION}, "1.5"),
    ("2.0.76", "claude-opus-4-6", {"input_tokens": 200_001, "output_tokens": 1}, "3.00009"),
    ("2.1.29", "claude-opus-4-6", {"input_tokens": 100_000}, "1.5"),
    ("2.1.325", "claude-opus-4-9", {"input_tokens": 10_000, "output_tokens": 1}, "0.04002"),
    ("2.0.76", "claude-sonnet-4-6", {"input_tokens": 200_001, "output_tokens": 1}, "1.2000285"),
    *(
        (release, "some-unknown-model", {"input_tokens": 200_001, "output_tokens": 1}, "0.600018")
        for release in ("1.0.128", "2.0.50", "2.0.76", "2.1.29")
    ),
    *(
        (release, "some-unknown-model", {"write_5m": 10_000, "write_1h": 1_000, "cache_read_input_tokens": 1}, "0.0412503")
        for release in ("1.0.128", "2.0.50", "2.1.29", "2.1.112")
    ),
    ("2.1.200", "claude-fable-5", {"write_5m": 10_000, "write_1h": 1_000, "cache_read_input_tokens": 1}, "0.145001"),
    ("2.1.200", "claude-sonnet-5", {"write_5m": 10_000, "write_1h": 1_000, "cache_read_input_tokens": 1}, "0.0435003"),
    ("2.1.200", "claude-sonnet-5-5", {"write_5m": 10_000, "write_1h": 1_000, "cache_read_input_tokens": 1}, "0.0435003"),
    ("2.1.200", "claude-haiku-5-5", {"write_5m": 10_000, "write_1h": 1_000, "cache_read_input_tokens": 1}, "0.0725005"),
    ("2.1.200", "claude-opus-5-5", {"write_5m": 10_000, "write_1h": 1_000, "cache_read_input_tokens": 1}, "0.0725005"),
    *(
        (release, "some-unknown-model", {"input_tokens": 10_000, "output_tokens": 1}, "0.030015")
        for release in ("1.0.128", "2.0.50", "2.0.76", "2.1.29", "2.1.45", "2.1.112")
    ),
    ("2.1.200", "some-unknown-model", {"input_tokens": 100_000}, "0.5"),
    *(
        (release, "claude-sonnet-4", {"server_tool_use": {"web_search_requests": 3}}, "0.03")
        for release in ("1.0.128", "2.1.200")
    ),
]


@pytest.mark.parametrize(
    ("release", "model", "members", "usd"), MEASURED, ids=[f"{i}-{case[0]}-{case[1]}" for i, case in enumerate(MEASURED)]
)
def test_a_release_charges_what_was_measured_on_it(release: str, model: str, members: dict[str, Any], usd: str) -> None:
    assert price_usage(usage(**members), model, release=release).usd == Decimal(usd)


# 10,000 tokens of input and one of output, which tells both prices: what older releases said for each name.
BY_NAME: dict[str, dict[str, str]] = {
    "1.0.128": {
        "0.150075": "claude-opus-4-1 claude-opus-4-20250514 claude-opus-4-5",
        "0.030015": "claude-opus-5-5 claude-fable-5-2 claude-sonnet-5-5 claude-sonnet-4-6 claude-haiku-5-5 "
        "claude-haiku-4-5-20251001 claude-3-opus-20240229 some-unknown-model",
        "0.008004": "claude-3-5-haiku-20241022",
    },
    "2.0.36": {
        "0.150075": "claude-opus-4-1",
        "0.030015": "some-unknown-model",
        "0.010005": "claude-haiku-4-5 claude-haiku-5-5",
        "0.008004": "claude-3-5-haiku-20241022",
    },
    "2.0.42": {"0.010005": "claude-haiku-4-5 claude-haiku-5-5"},
    "2.0.50": {
        "0.150075": "claude-opus-4-1 claude-opus-4-5",
        "0.030015": "claude-opus-5-5 claude-fable-5-2 claude-sonnet-5-5 claude-sonnet-4-6 some-unknown-model",
        "0.010005": "claude-haiku-4-5 claude-haiku-5-5 claude-haiku-9",
        "0.008004": "claude-3-5-haiku-20241022",
    },
    "2.0.76": {
        "0.150075": "claude-opus-4-1",
        "0.050025": "claude-opus-4-5-20251101",
        "0.030015": "claude-opus-5-5 claude-fable-5-2 claude-sonnet-4-6 claude-sonnet-4-5 claude-3-opus-20240229",
        "0.010005": "claude-haiku-4-5 claude-haiku-4-6 claude-haiku-5-5 claude-haiku-9",
        "0.008004": "claude-3-5-haiku-20241022",
    },
    "2.1.29": {
        "0.150075": "claude-opus-4-1",
        "0.050025": "claude-opus-4-5",
        "0.030015": "claude-opus-5-5 claude-fable-5-2 claude-sonnet-5-5 claude-sonnet-4-6 some-unknown-model",
        "0.010005": "claude-haiku-4-5 claude-haiku-5-5",
        "0.008004": "claude-3-5-haiku-20241022",
    },
    "2.1.45": {
        "0.150075": "claude-opus-4-1 claude-opus-4-7 claude-opus-4-8",
        "0.030015": "claude-opus-5-5 claude-fable-5-2 claude-sonnet-5-5 claude-sonnet-5 claude-sonnet-4-9 claude-haiku-5-5 "
        "claude-haiku-4-6 claude-3-opus-20240229",
        "0.010005": "claude-haiku-4-5",
        "0.008004": "claude-3-5-haiku-20241022",
    },
    "2.1.112": {
        "0.150075": "claude-opus-4-1 claude-opus-4-8",
        "0.050025": "claude-opus-4-5 claude-opus-4-7",
        "0.030015": "claude-opus-5-5 claude-opus-5 claude-fable-5-2 claude-sonnet-5-5 claude-sonnet-5 claude-sonnet-4-6 "
        "claude-haiku-5-5 claude-3-opus-20240229 some-unknown-model",
        "0.010005": "claude-haiku-4-5",
        "0.008004": "claude-3-5-haiku-20241022",
    },
    "2.1.200": {
        "0.150075": "claude-opus-4-1",
        "0.10005": "claude-fable-5-2 claude-fable-5-1 claude-fable-5 claude-mythos-5-1 claude-mythos-5",
        "0.050025": "claude-opus-4-9 claude-opus-5 claude-3-opus-20240229",
        "0.008004": "claude-3-5-haiku-20241022",
    },
}


@pytest.mark.parametrize("release", BY_NAME)
def test_an_older_release_has_the_measured_price_for_each_name(release: str) -> None:
    given = usage(input_tokens=10_000, output_tokens=1)
    for usd, models in BY_NAME[release].items():
        assert {price_usage(given, model, release=release).usd for model in models.split()} == {Decimal(usd)}, usd


# Releases before 2.1.325 charge its prices for the models they know, but for what was measured otherwise: by release the models,
# those with another price, the factor of `speed: fast`, and those that cost more from a prompt of 200,001 tokens on.
_OLD = "claude-opus-4-1 claude-opus-4 claude-sonnet-4-5 claude-sonnet-4 claude-3-7-sonnet claude-3-5-sonnet claude-3-5-haiku"
_MIDDLE = f"{_OLD} claude-opus-4-5 claude-haiku-4-5"
_LATER = f"{_MIDDLE} claude-opus-4-6 claude-sonnet-4-6"
_DEARER_SONNET = ("5", "25", "0.50", "6.25", "6.25")
OLDER: dict[str, tuple[str, dict[str, tuple[str, ...]], dict[str, int], str]] = {
    "1.0.128": (_OLD, {}, {}, "claude-sonnet-4 claude-sonnet-4-5"),
    "2.0.36": (f"{_OLD} claude-haiku-4-5", {}, {}, "claude-sonnet-4-5"),
    "2.0.76": (_MIDDLE, {}, {}, "claude-sonnet-4-5 claude-sonnet-4 claude-3-7-sonnet"),
    "2.1.29": (_MIDDLE, {}, {}, "claude-sonnet-4-5"),
    "2.1.45": (
        _LATER,
        {"claude-sonnet-4-5": _DEARER_SONNET, "claude-sonnet-4-6": _DEARER_SONNET},
        {"claude-opus-4-6": 6},
        "claude-opus-4-6 claude-opus-4-5 claude-sonnet-4-5 claude-sonnet-4-6",
    ),
    "2.1.112": (f"{_LATER} claude-opus-4-7", {}, {"claude-opus-4-6": 6}, ""),
    "2.1.200": (
        f"{_LATER} claude-opus-4-7 claude-opus-4-8 claude-sonnet-5",
        {"claude-sonnet-5": ("3", "15", "0.30", "3.75", "6")},
        {"claude-opus-4-8": 2, "claude-opus-4-7": 6, "claude-opus-4-6": 6},
        "",
    ),
}
#: "haiku-4-5, opus-4-1, opus-4, 3-5-haiku never have it"; 2.1.112 and 2.1.200 have it for none.
NEVER_LONG = "claude-haiku-4-5 claude-opus-4-1 claude-opus-4 claude-3-5-haiku"
DATED = {"claude-opus-4-1": "-20250805", "claude-opus-4": "-20250514", "claude-sonnet-4": "-20250514"} | {
    "claude-sonnet-4-5": "-20250929",
    "claude-3-7-sonnet": "-20250219",
    "claude-3-5-sonnet": "-20241022",
    "claude-3-5-haiku": "-20241022",
}


@pytest.mark.parametrize("release", OLDER)
def test_an_older_release_charges_the_same_but_for_what_was_measured_otherwise(release: str) -> None:
    models, others, fast, long = OLDER[release]
    for model in models.split():
        prices = list(others.get(model) or NEWEST[model + DATED.get(model, "")][:5])
        if release != "2.1.200":  # the first that tells an hour from five minutes
            prices[4] = prices[3]
        for kind, price in zip(KINDS, prices, strict=True):
            assert price is not None
            given = {kind: 100_000}
            usd = Decimal(price) / 10
            assert price_usage(usage(**given), model, release=release).usd == usd, (model, kind)
            assert price_usage(usage(**given, speed="fast"), model, release=release).usd == fast.get(model, 1) * usd, (
                model,
                kind,
            )
            assert price_usage(usage(**given, inference_geo="us"), model, release=release).usd == usd, (model, kind)
        searched = usage(server_tool_use={"web_search_requests": 100})
        assert price_usage(searched, model, release=release).usd == 1
        at_most, above = (price_usage(usage(input_tokens=n), model, release=release).usd / n for n in (200_000, 200_001))
        if model in long.split():
            assert above == 2 * at_most, model
        elif model in NEVER_LONG.split() or not long:
            assert above == at_most, model


def _advised(item: dict[str, Any], **members: Any) -> Decimal:
    own = {"type": "message", "input_tokens": 10_000, "output_tokens": 1}
    advice = {"type": "advisor_message", "input_tokens": 1_000, "output_tokens": 100, **item}
    given = usage(input_tokens=10_000, output_tokens=1, iterations=[own, advice], **members)
    return price_usage(given, "claude-opus-5").usd


def test_an_advisor_inside_a_response_is_charged_at_its_own_model() -> None:
    """Each figure is what 2.1.325 said for claude-opus-5 with such an item."""
    haiku = {"model": "claude-haiku-4-5"}
    assert _advised(haiku) == Decimal("0.051525")
    assert _advised(haiku, inference_geo="us") == Decimal("0.0566775")
    assert _advised({**haiku, "inference_geo": "us"}) == Decimal("0.051525")
    assert _advised({**haiku, "server_tool_use": {"web_search_requests": 1}}) == Decimal("0.051525")
    assert _advised(
        {**haiku, "cache_creation_input_tokens": 1000, "cache_creation": {"ephemeral_1h_input_tokens": 1000}}
    ) == Decimal("0.053525")
    assert _advised({"model": "claude-opus-4-8", "speed": "fast"}) == Decimal("0.057525")
    assert _advised({}) == Decimal("0.050025"), "an item without a model"
    # The speed of the response is not the advisor's: 2 x 0.050025 + 0.0075.
    assert _advised({"model": "claude-opus-4-8"}, speed="fast") == Decimal("0.10755")


def test_an_advisor_of_an_unknown_model_makes_the_cost_an_unknown_one() -> None:
    advice = {"type": "advisor_message", "model": "some-unknown-model", "input_tokens": MILLION}
    cost = price_usage(usage(iterations=[advice]), "claude-opus-5")
    assert (cost.advisor, cost.basis, cost.row) == (Decimal(4), Basis.UNKNOWN, "claude-opus-5")


def test_the_parts_of_a_cost_add_up_to_it() -> None:
    cost = price_usage(
        usage(
            input_tokens=1_000,
            output_tokens=200,
            cache_read_input_tokens=30_000,
            write_5m=4_000,
            write_1h=5_000,
            server_tool_use={"web_search_requests": 2},
        ),
        "claude-sonnet-5-5",
    )
    parts = (cost.input, cost.output, cost.cache_read, cost.cache_write_5m, cost.cache_write_1h, cost.web_search)
    assert parts == tuple(map(Decimal, ("0.002", "0.002", "0.003", "0.01", "0.02", "0.02")))
    assert cost.usd == Decimal("0.057")


def test_a_cost_tells_the_row_it_rests_on_and_when_that_was_measured() -> None:
    cost = price_usage(usage(input_tokens=1), "us.anthropic.claude-opus-4-8-v1", release="2.1.250")
    assert (cost.row, cost.table.releases, cost.table.measured) == ("claude-opus-4-8", ("2.1.200",), "2026-11")
    assert cost.table.source == "measured on release 2.1.200"


def test_between_two_measured_releases_the_older_table_holds() -> None:
    found = [table_of(release).releases[0] for release in ("0.2.9", "1.0.128", "2.0.41", "2.0.77", "2.1.44", "2.1.199", "3.0.0")]
    assert found == ["1.0.128", "1.0.128", "2.0.36", "2.0.76", "2.1.29", "2.1.112", "2.1.325"]
    assert table_of() is table_of("2.1.325")


def test_what_is_no_release_is_refused() -> None:
    with pytest.raises(UsageError, match="invalid release"):
        price_usage(usage(), "claude-opus-5", release="latest")


def test_counts_that_are_none_cost_nothing() -> None:
    strange: list[Any] = [-5, 2**60, "many", None, 1.5, True]
    for value in strange:
        cost = price_usage(
            usage(input_tokens=value, iterations=[value], cache_creation=value, server_tool_use=value), "claude-opus-5"
        )
        assert cost.usd == 0


def test_every_rate_that_a_table_names_is_there_and_every_rate_is_used() -> None:
    book = load_prices()
    prices = [each for table in book.tables for each in (*table.models.values(), table.unknown)]
    named = {each.rate for each in prices} | {each.long_context.rate for each in prices if each.long_context}
    assert named == set(book.rates)
    assert all(set(table.aliases.values()) <= set(table.models) for table in book.tables)
    # Whoever tells hours from minutes needs both prices.
    hours = [book.rates[each.rate] for table in book.tables if table.prices_hour_writes for each in table.models.values()]
    assert all(rate.cache_write_1h is not None for rate in hours)
