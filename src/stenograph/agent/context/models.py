"""Which model is called, by which name, and how much it takes in and gives out."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from stenograph.pricing import WIDE, known_facts, load_models, model_facts
from stenograph.records import Json

_WIDE_BETA = "context-1m-2025-08-07"
_EFFORT_BETA = "effort-2025-11-24"
#: Another endpoint may have none of our default models.
_HOME_HOST = "api.anthropic.com"
#: The API refuses less.
_LEAST_BUDGET = 1024
_FAMILIES = ("opus", "sonnet", "haiku", "fable")


class Models(Struct, frozen=True, kw_only=True):
    main: str
    small: str
    #: By a family's short name.
    families: dict[str, str]

    def named(self, name: str) -> str:
        return self.families.get(name, name)


def models_from(environ: Mapping[str, str], *, host: str, asked: str = "", resumed: str = "") -> Models:
    """The model asked for, else the environment's, else the resumed session's, else the client's default.

    The variables are the client's. On a third-party endpoint everything unnamed is the main model.
    """
    is_home = host == _HOME_HOST
    aliases = load_models().aliases
    families = {family: environ.get(f"ANTHROPIC_DEFAULT_{family.upper()}_MODEL", "") for family in _FAMILIES}
    main = asked or environ.get("ANTHROPIC_MODEL", "") or resumed or aliases["default"]
    short, wide = called_name(main), WIDE if main.endswith(WIDE) else ""
    main = (families.get(short) or aliases.get(short, short)) + wide
    for family in _FAMILIES:
        families[family] = families[family] or (aliases[family] if is_home else called_name(main))
    small = environ.get("ANTHROPIC_SMALL_FAST_MODEL", "") or families["haiku"]
    return Models(main=main, small=small, families=families)


def called_name(model: str) -> str:
    return model.removesuffix(WIDE)


class Asking(Struct, frozen=True):
    """How much a request may answer, and how much it thinks before."""

    max_tokens: int
    thinking: Json | None = None
    effort: str = ""
    betas: tuple[str, ...] = ()


def asking_of(model: str, *, max_tokens: int = 0, budget: int = 0, effort: str = "", thinks: bool = True) -> Asking:
    """As the newest client asks this model. `max_tokens`, `budget` and `effort` are the user's; 0 and empty for none.

    `thinks`: false for no thinking, where the model can do without.

    An unknown model thinks only if the user wants it to: its endpoint may refuse the parameter.
    """
    known, facts = known_facts(model), model_facts(model)
    max_tokens = max_tokens or facts.max_output
    betas = (_WIDE_BETA,) if model.endswith(WIDE) and facts.wide_window else ()
    if known:
        kind, effort = known.thinking, (effort or known.effort or "") if known.effort else ""
    else:
        kind = "adaptive" if effort else "enabled" if budget else None
    if effort:
        betas = (*betas, _EFFORT_BETA)
    # A budget counts toward the answer's tokens and must leave some.
    budget = min(budget or max_tokens, max_tokens - 1)
    thinking: Json | None = {"type": "adaptive"} if kind == "adaptive" else None
    if kind == "enabled" and budget >= _LEAST_BUDGET:
        thinking = {"type": "enabled", "budget_tokens": budget}
    if not thinks and kind is not None and not facts.always_thinks:
        thinking = {"type": "disabled"}
    return Asking(max_tokens, thinking, effort, betas)
