"""How much a model takes in and gives out: what the user says, else what its endpoint said, else what is known about it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

from stenograph.config import ModelProfile
from stenograph.errors import ConfigError, ModelError
from stenograph.pricing import known_facts, model_facts
from stenograph.records import Json

#: The client's, for every model.
_WINDOW, _MAX_OUTPUT = "CLAUDE_CODE_AUTO_COMPACT_WINDOW", "CLAUDE_CODE_MAX_OUTPUT_TOKENS"
#: Of the Messages API, vLLM and OpenAI, llama.cpp. Compiled when an endpoint refuses something.
_WINDOWS = (
    r"> (?P<tokens>\d+) maximum",
    r"exceed context limit: \d+ \+ \d+ > (?P<tokens>\d+)",
    r"maximum (?:context|model) length (?:is|of) (?P<tokens>\d+)",
    r"available context size \((?P<tokens>\d+) tokens\)",
    r"context (?:window|length|size) (?:is|of) (?P<tokens>\d+)",
)
_OUTPUTS = (
    r"max_tokens: \d+ > (?P<tokens>\d+)",
    r"supports at most (?P<tokens>\d+) completion tokens",
)
#: Below this it is not a limit that one could work with.
_LEAST = 256


#: Characters of a token in the densest text that is not made of blanks.
_LONGEST_TOKEN = 12
#: Tokens. Fewer say nothing: some endpoints count only what was not cached.
_LEAST_COUNTED = 1_000


def is_truncated(messages: list[Json], counted: int) -> bool:
    """Whether an endpoint counted far fewer tokens than it was sent, as one does that cuts off what does not fit."""
    return counted >= _LEAST_COUNTED and sum(map(_length, messages)) > counted * _LONGEST_TOKEN


def _length(value: object) -> int:
    """Characters of all texts; images are counted otherwise."""
    match value:
        case str():
            return len(value)
        case {"type": "image" | "document"}:
            return 0
        case dict():
            return sum(map(_length, value.values()))
        case list():
            return sum(map(_length, value))
    return 0


class ModelLimits(Struct, frozen=True):
    """Tokens; 0 where nothing was said."""

    window: int = 0
    max_output: int = 0


class Limits:
    """Of one session: what its endpoint says is remembered."""

    def __init__(
        self,
        environ: Mapping[str, str],
        profiles: Mapping[str, ModelProfile] | None = None,
        *,
        window: int = 0,
        max_tokens: int = 0,
    ) -> None:
        """`window` and `max_tokens` are those of the command line. Raises ConfigError."""
        self._profiles = profiles or {}
        self._asked = ModelLimits(window or _number(environ, _WINDOW), max_tokens or _number(environ, _MAX_OUTPUT))
        self._learned: dict[str, ModelLimits] = {}

    def window_of(self, model: str) -> int:
        own, learned = self._profiles.get(model), self._learned.get(model, ModelLimits())
        return self._asked.window or (own and own.window) or learned.window or model_facts(model).window_of(model)

    def max_output_of(self, model: str) -> int:
        """0: what is known of the model."""
        own, learned = self._profiles.get(model), self._learned.get(model, ModelLimits())
        asked = self._asked.max_output or (own and own.max_tokens) or 0
        if not asked and not known_facts(model):
            # The answer of a small model must not fill its window.
            asked = min(model_facts(model).max_output, self.window_of(model) // 2)
        return min(filter(None, (asked, learned.max_output)), default=0)

    def learn(self, model: str, error: ModelError) -> bool:
        """Whether a refusal says something new about the model."""
        known = self._learned.get(model, ModelLimits())
        said = ModelLimits(
            known.window or _found(_WINDOWS, error) if error.status == 400 else known.window,
            known.max_output or _found(_OUTPUTS, error) if error.status == 400 else known.max_output,
        )
        if said == known:
            return False
        self._learned[model] = said
        return True


def _found(patterns: tuple[str, ...], error: ModelError) -> int:
    found = next((match for pattern in patterns if (match := re.search(pattern, str(error), re.IGNORECASE))), None)
    tokens = int(found["tokens"]) if found else 0
    return tokens if tokens >= _LEAST else 0


def _number(environ: Mapping[str, str], name: str) -> int:
    written = environ.get(name, "").strip()
    if not written:
        return 0
    if not (written.isascii() and written.isdigit() and len(written) <= 12):
        raise ConfigError(f"{name} must be a whole number of tokens")
    return int(written)
