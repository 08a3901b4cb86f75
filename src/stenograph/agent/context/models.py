"""Which model is called, its aliases, and its context window."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

DEFAULT_MODEL = "claude-opus-5-5"
DEFAULT_SMALL_MODEL = "claude-haiku-4-5"
#: Tokens. The suffix for the wider window is the client's.
WINDOW = 200_000
WIDE_WINDOW = 1_000_000
_WIDE = "[1m]"
_WIDE_BETA = "context-1m-2025-08-07"
DEFAULT_MAX_TOKENS = 32_000
#: Another endpoint may have none of our default models.
_HOME_HOST = "api.anthropic.com"
_FAMILIES = {"opus": "claude-opus-5-5", "sonnet": "claude-sonnet-5", "haiku": DEFAULT_SMALL_MODEL, "fable": "claude-fable-5"}


class Models(Struct, frozen=True, kw_only=True):
    main: str
    small: str
    #: By a family's short name.
    families: dict[str, str]

    def named(self, name: str) -> str:
        return self.families.get(name, name)


def models_from(environ: Mapping[str, str], *, host: str, asked: str = "", resumed: str = "") -> Models:
    """The model asked for, else the environment's, else the resumed session's, else our default.

    The variables are the client's. On a third-party endpoint everything unnamed is the main model.
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
    return model.removesuffix(_WIDE)


def betas_of(model: str) -> list[str]:
    return [_WIDE_BETA] if model.endswith(_WIDE) else []


def window_of(model: str) -> int:
    return WIDE_WINDOW if model.endswith(_WIDE) else WINDOW
