"""Windows, output limits and prices of models that nobody knows: from the user, the endpoint, or what is careful."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from lab.observatory.scenes import Fail, Say, cue, say, text
from tests.agent.world import FAKE_KEY, world_at
from tests.cli.running import run

from stenograph.agent.context.costs import cost_of
from stenograph.agent.context.limits import Limits, is_truncated
from stenograph.agent.engine.events import CompactionEnd, Notice, Outcome
from stenograph.config import ModelPrice, ModelProfile
from stenograph.errors import ConfigError, RefusedError

Json = dict[str, Any]
LOCAL = "qwen3-coder"
NOT_CACHED = {"cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
PROFILES = {LOCAL: ModelProfile(window=65_536, max_tokens=8_192, price=ModelPrice(0.5, 2.0))}


def refusal(words: str, status: int = 400) -> RefusedError:
    return RefusedError(words, status=status, kind="invalid_request_error")


def test_the_command_line_comes_before_the_environment_before_the_profile_before_what_is_known() -> None:
    environ = {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "50000", "CLAUDE_CODE_MAX_OUTPUT_TOKENS": "5000"}
    asked = [
        Limits(environ, PROFILES, window=40_000, max_tokens=4_000),
        Limits(environ, PROFILES),
        Limits({}, PROFILES),
        Limits({}),
    ]
    assert [(each.window_of(LOCAL), each.max_output_of(LOCAL)) for each in asked] == [
        (40_000, 4_000),
        (50_000, 5_000),
        (65_536, 8_192),
        (200_000, 32_000),
    ]
    # A model of the table: 0 leaves it to the table.
    assert (Limits({}, PROFILES).window_of("claude-opus-5-5"), Limits({}).max_output_of("claude-opus-5-5")) == (1_000_000, 0)


def test_the_answer_of_an_unknown_model_leaves_room_in_a_small_window() -> None:
    assert Limits({}, window=8_192).max_output_of(LOCAL) == 4_096


@pytest.mark.parametrize("name", ["CLAUDE_CODE_AUTO_COMPACT_WINDOW", "CLAUDE_CODE_MAX_OUTPUT_TOKENS"])
def test_a_variable_that_is_no_number_is_named_and_not_shown(name: str) -> None:
    with pytest.raises(ConfigError, match=f"^{name} must be a whole number of tokens$"):
        Limits({name: "sentinel"})


#: As the endpoints write them.
@pytest.mark.parametrize(
    ("words", "window", "output"),
    [
        ("prompt is too long: 210000 tokens > 200000 maximum", 200_000, 0),
        ("input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000", 200_000, 0),
        ("This model's maximum context length is 32768 tokens. However, you requested 40000 tokens", 32_768, 0),
        ("the request exceeds the available context size (8192 tokens), try increasing it", 8_192, 0),
        ("max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens for x", 0, 8_192),
        ("max_tokens is too large: 32000. This model supports at most 16384 completion tokens", 0, 16_384),
    ],
)
def test_what_an_endpoint_says_is_remembered(words: str, window: int, output: int) -> None:
    limits = Limits({})
    assert limits.learn(LOCAL, refusal(words))
    assert limits.window_of(LOCAL) == (window or 200_000)
    if output:
        assert limits.max_output_of(LOCAL) == output
    assert not limits.learn(LOCAL, refusal(words))
    assert limits.window_of("other") == 200_000


@pytest.mark.parametrize("words", ["messages: at least one message is required", "context window is 12", "nothing"])
def test_other_refusals_teach_nothing(words: str) -> None:
    assert not Limits({}).learn(LOCAL, refusal(words))
    assert not Limits({}).learn(LOCAL, refusal("maximum context length is 32768 tokens", status=500))


def test_an_answer_that_is_asked_to_be_too_long_is_asked_for_again_once_a_session(tmp_path: Path) -> None:
    words = "max_tokens is too large: 32000. This model supports at most 16384 completion tokens"
    with world_at(tmp_path, {"a": [say(text("one"))], "b": [say(text("two"))]}) as world:
        world.stage.answer_when(
            lambda body: body["max_tokens"] > 16_384, Fail(400, "invalid_request_error", say(text("no")), times=9, message=words)
        )
        ends = [event for event in world.run(cue("a"), cue("b"), model=LOCAL) if hasattr(event, "outcome")]
        asked = [request["max_tokens"] for request in world.asked()]
    assert [end.outcome for end in ends] == [Outcome.DONE] * 2
    assert asked == [32_000, 16_384, 16_384]


def test_a_window_that_an_endpoint_named_is_kept_to(tmp_path: Path) -> None:
    """llama.cpp refuses; the conversation is compacted, and from then on before it grows as long again."""
    words = "the request exceeds the available context size (8192 tokens), try increasing it"
    full = Say([text("two")], usage={"input_tokens": 6_000, "output_tokens": 10})

    def said(body: Json) -> str:
        return json.dumps(body["messages"])

    with world_at(tmp_path, {"a": [say(text("one"))], "c": [say(text("three"))]}) as world:
        refused = Fail(400, "invalid_request_error", full, times=1, message=words)
        world.stage.answer_when(lambda body: "[scene b]" in said(body), refused)
        world.stage.answer_when(
            lambda body: "This session is being continued" in said(body) and "[scene c]" not in said(body), full
        )
        seen = world.run(cue("a"), cue("b"), cue("c"), model=LOCAL)
    assert [event.trigger for event in seen if isinstance(event, CompactionEnd)] == ["auto", "auto"]


def test_a_conversation_that_is_cut_off_silently_is_reported_once(tmp_path: Path) -> None:
    """Ollama keeps the last 4,096 tokens of a prompt by default, and counts those."""
    long = "lorem ipsum dolor " * 4_000
    answer = Say([text("one")], usage={**NOT_CACHED, "input_tokens": 4_096, "output_tokens": 5})
    with world_at(tmp_path, {"a": [answer], "b": [answer]}) as world:
        local = world.run(f"{long} {cue('a')}", cue("b"), model=LOCAL)
    with world_at(tmp_path / "other", {"a": [answer]}) as world:
        known = world.run(f"{long} {cue('a')}", model="claude-opus-5-5")
    notices = [event.text for event in local if isinstance(event, Notice)]
    assert len(notices) == 1
    assert notices[0].startswith("qwen3-coder counted only 4,096 tokens of a much longer conversation")
    assert not [event for event in known if isinstance(event, Notice)]


@pytest.mark.parametrize(
    ("content", "counted", "is_cut"),
    [
        ("x" * 60_000, 4_096, True),
        ("x" * 40_000, 4_096, False),
        ("x" * 60_000, 0, False),  # it does not count at all
        ("x" * 60_000, 20, False),  # or only what was not cached
        ([{"type": "image", "source": {"data": "x" * 900_000}}], 4_096, False),
        ([{"type": "tool_result", "content": [{"type": "text", "text": "x" * 60_000}]}], 4_096, True),
    ],
)
def test_what_counts_as_cut_off(content: Any, counted: int, is_cut: bool) -> None:
    assert is_truncated([{"role": "user", "content": content}], counted) is is_cut


def test_prices_are_the_users_own_or_the_tables_or_none() -> None:
    usage = {"input_tokens": 1_000_000, "cache_read_input_tokens": 1_000_000, "output_tokens": 1_000_000}
    assert cost_of(LOCAL, usage, PROFILES) == Decimal("3.0")  # 2 million at 0.5, one at 2
    assert cost_of(LOCAL, usage, {LOCAL: ModelProfile(price=ModelPrice(0, 0))}) == 0
    assert cost_of(LOCAL, usage, {}) is None
    assert cost_of("claude-haiku-4-5", {"input_tokens": 1_000_000}, {}) == Decimal(1)


@pytest.mark.parametrize(
    ("price", "basis", "usd"), [(None, "unpriced", 0.0), ("{input = 1000, output = 0}", "configured", 0.003)]
)
def test_a_model_without_a_price_is_called_unpriced(
    price: str | None, basis: str, usd: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config.toml"
    config.write_text(f'[agent.models."{LOCAL}"]\nwindow = 30000\n' + (f"price = {price}\n" if price else ""))
    answer = Say([text("hello")], usage={**NOT_CACHED, "input_tokens": 3})
    with world_at(tmp_path, {"s": [answer]}) as world:
        monkeypatch.chdir(world.cwd)
        given = ["agent", "-p", cue("s"), "--model", LOCAL, "--max-budget-usd", "1", "--json", "--home", str(world.home)]
        environment = {"ANTHROPIC_BASE_URL": world.stage.url, "ANTHROPIC_API_KEY": FAKE_KEY}
        ran = run(*given, "--config", str(config), environment=environment)
        [request] = world.asked()
    told = json.loads(ran.stdout)
    assert (told["modelUsage"][LOCAL]["costBasis"], told["total_cost_usd"]) == (basis, usd)
    assert ("--max-budget-usd does not limit it" in ran.stderr) == (price is None)
    assert request["max_tokens"] == 15_000
