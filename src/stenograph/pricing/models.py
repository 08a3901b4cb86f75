"""What a client knows about each model besides its price: window, output limit, thinking. Measured by `make models`."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from stenograph.pricing.prices import canonical_model

#: The client's suffix for the wide window; the endpoint never sees it.
WIDE = "[1m]"


class ModelFacts(Struct, frozen=True):
    #: Tokens.
    window: int
    max_output: int
    #: `adaptive` takes an effort, `enabled` a budget of tokens.
    thinking: Literal["adaptive", "enabled"] | None
    #: The client's default.
    effort: str | None
    #: Tokens, where the suffix asks for more than `window`.
    wide_window: int | None
    #: Thinking can't be turned off.
    always_thinks: bool

    def window_of(self, model: str) -> int:
        return (self.wide_window if model.endswith(WIDE) else None) or self.window


class ModelTable(Struct, frozen=True):
    measured: str
    aliases: dict[str, str]
    #: Retired models, and the ones that the client calls instead.
    renamed: dict[str, str]
    models: dict[str, ModelFacts]
    #: What the client assumes about a name that it does not know.
    unknown: ModelFacts


@functools.cache
def load_models() -> ModelTable:
    # importlib.resources would load tempfile and zipfile.
    data = Path(__file__).with_name("models.json").read_bytes()
    return msgspec.json.decode(data, type=ModelTable)


def known_facts(model: str) -> ModelFacts | None:
    """The facts about a model, by any name that prices know it by; None for an unknown one."""
    return load_models().models.get(canonical_model(model.removesuffix(WIDE)) or "")


#: More careful than the client, which assumes a million tokens: a local model has far less.
_UNKNOWN = ModelFacts(window=200_000, max_output=32_000, thinking=None, effort=None, wide_window=1_000_000, always_thinks=False)


def model_facts(model: str) -> ModelFacts:
    """The same; of an unknown model what is safe to assume."""
    return known_facts(model) or _UNKNOWN


def window_of_calls(calls: Iterable[tuple[str, int]]) -> int | None:
    """Tokens that the model of the last call takes, as the newest client calls it; None for an unknown model.

    `calls`: the model and the tokens sent, oldest first. Lines do not say which window was asked for, so the wide one is assumed
    only where the model was once sent more than the usual one takes.
    """
    sent = [(model, tokens) for model, tokens in calls if tokens]
    facts = known_facts(sent[-1][0]) if sent else None
    if facts is None:
        return None
    largest = max(tokens for model, tokens in sent if known_facts(model) is facts)
    return (facts.wide_window if largest > facts.window else None) or facts.window
