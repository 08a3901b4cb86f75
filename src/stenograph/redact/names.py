"""What the name of a value says about it.

In: a name as code, settings, headers or JSON spell it. Out: whether its value is a secret. Knows nothing about key formats.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from functools import cache, lru_cache
from typing import Any


class NameKind(Enum):
    OTHER = "other"
    #: A secret where the value looks random: a token may also be a piece of text.
    LIKELY = "likely"
    #: A secret whatever a literal value looks like.
    CERTAIN = "certain"
    #: A header: a scheme and a credential, or only the credential.
    AUTHORIZATION = "authorization"
    #: A header: pairs of names and values.
    COOKIE = "cookie"


_KINDS_OF_KEY = ["api", "private", "access", "secret", "auth", "signing", "encryption", "master", "account", "service", "deploy"]
_CERTAIN = (
    *("password", "passwd", "passphrase", "passcode", "pwd", "secret", "credential", "credentials", "creds"),
    *(f"{kind}key" for kind in _KINDS_OF_KEY),
)
# Tokens that open nothing: positions in a list, marks in the texts of models.
_POSITIONS = [
    "next",
    "page",
    "continuation",
    "sync",
    "cursor",
    "max",
    "min",
    "num",
    "total",
    "stop",
    "start",
    "end",
    "pad",
    "eos",
    "bos",
    "unk",
    "sep",
    "mask",
    "cls",
]
_HARMLESS = tuple(f"{kind}token" for kind in _POSITIONS)
# Members that name the value beside them: headers, settings of containers, attributes of spans.
_LABELS = ("name", "key", "header", "Name", "Key")
_LONGEST_NAME = 100
_MARKS = str.maketrans("", "", "_-. ")
# A type, a number, or a word that adds nothing.
_SUFFIX = r"(?:[_-]?(?:key[_-]?base|base|value|[0-9]{1,3})|: ?(?:str|string))\Z"
_SHORT_WORD = r"(?:\A|[^a-z0-9])(?:auth|jwt)\Z"


@cache
def compiled(expression: str) -> re.Pattern[str]:
    """Compiled when first needed: most texts hold no secret, and a list of sessions has to appear at once."""
    return re.compile(expression)


@lru_cache(2048)
def name_kind(name: str) -> NameKind:
    """The kind of one name. Only its end counts, so a longer text that ends in a name will do."""
    lower = name.strip("\"'`\\ \t").lower()
    if suffix := compiled(_SUFFIX).search(lower):
        lower = lower[: suffix.start()]
    plain = lower.translate(_MARKS)
    if plain.endswith("authorization"):
        return NameKind.AUTHORIZATION
    if plain.endswith("cookie"):
        return NameKind.COOKIE
    if plain.endswith(_CERTAIN):
        return NameKind.CERTAIN
    if (plain.endswith("token") and not plain.endswith(_HARMLESS)) or compiled(_SHORT_WORD).search(lower):
        return NameKind.LIKELY
    return NameKind.OTHER


def member_names(members: dict[str, Any], name: str) -> list[str]:
    """The name that each member's value is judged by; empty for those that no name makes a secret.

    A member of `credentials` is called `credentials/user`. In `{"name": "Authorization", "value": …}` a value's name is a value.
    """
    beside = next((said for label in _LABELS if isinstance(said := members.get(label), str)), "")
    if name_kind(beside) is NameKind.OTHER:
        beside = ""
    return [
        beside if beside and own.lower().endswith("value") else _judged(own) or (f"{name}/{own}" if name else "")
        for own in members
    ]


def item_names(items: Sequence[Any], name: str) -> list[str]:
    """The same for the items of a list: the list's own name, or the item before, as in `["--token", …]`."""
    if name:
        return [name] * len(items)
    names = [""]
    for item in items[:-1]:
        said = _judged(item) if isinstance(item, str) else ""
        is_sure = said.startswith("-") or name_kind(said) in (NameKind.AUTHORIZATION, NameKind.COOKIE)
        names.append(said if is_sure or not said else f"{said}/")
    return names if items else []


def _judged(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME and name_kind(name) is not NameKind.OTHER else ""
