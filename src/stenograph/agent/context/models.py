"""What is known of models: which one is called, by which other names, and how much it takes in."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

#: What the newest client calls.
DEFAULT_MODEL = "claude-opus-5-5"
DEFAULT_SMALL_MODEL = "claude-haiku-4-5"
#: Tokens. A name that ends so has the wider window; the endings are the client's.
WINDOW = 200_000
WIDE_WINDOW = 1_000_000
_WIDE = "[1m]"
_WIDE_BETA = "context-1m-2025-08-07"
DEFAULT_MAX_TOKENS = 32_000
#: Where our own defaults are known; another endpoint may have none of these models.
_HOME_HOST = "api.anthropic.com"
_FAMILIES = {"opus": "claude-opus-5-5", "sonnet": "claude-sonnet-5", "haiku": DEFAULT_SMALL_MODEL, "fable": "claude-fable-5"}


class Models(Struct, frozen=True, kw_only=True):
    """The names to call models by."""

    main: str
    small: str
    #: What a family's short name stands for.
    families: dict[str, str]

    def named(self, name: str) -> str:
        """The model that a short or a whole name means."""
        return self.families.get(name, name)


def models_from(environ: Mapping[str, str], *, host: str, asked: str = "", resumed: str = "") -> Models:
    """The models to call: what is asked for, else what the environment says, else what answered before, else our own choice.

    The variables are the client's. On an endpoint of somebody else everything that is not named is the main model: nothing
    is known of what else it has.
    """
    is_home = host == _HOME_HOST
    families = {family: environ.get(f"ANTHROPIC_DEFAULT_{family.upper()}_MODEL", "") for family in _FAMILIES}
    main = asked or environ.get("ANTHROPIC_MODEL", "") or resumed or DEFAULT_MODEL
    short, wide = called_name(main), _WIDE if main.endswith(_WIDE) else ""
    main = (families.get(short) or _FAMILIES.get(short, short)) + wide
    for family, own in _FAMILIES.items():
        families[family] = families[family] or (own if is_home else called_name(main))
    small = environ.get("ANTHROPIC_SMALL_FAST_MODEL", "") or families["haiku"]
    return Models(main=main, small=small, families=families)


def called_name(model: str) -> str:
    """A model's name as the endpoint knows it."""
    return model.removesuffix(_WIDE)


def betas_of(model: str) -> list[str]:
    """What has to be asked for to get all that a model's name promises."""
    return [_WIDE_BETA] if model.endswith(_WIDE) else []


def window_of(model: str) -> int:
    """Tokens that a model takes in."""
    return WIDE_WINDOW if model.endswith(_WIDE) else WINDOW
