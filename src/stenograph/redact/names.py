"""What the name of a value says about it.

In: a name as code, settings, headers or JSON spell it. Out: whether its value is a secret. Knows nothing about key formats.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from functools import cache, lru_cache
from typing import Any


class NameKind(StrEnum):
    OTHER = "other"
    #: A secret where the value looks random: a token may also be a piece of text.
    LIKELY = "likely"
    #: A secret whatever a literal value looks like.
    CERTAIN = "certain"
    #: A header: a scheme and a credential, or only the credential.
    AUTHORIZATION = "authorization"
    #: A header: pairs of names and values.
    COOKIE = "cookie"


# By names of their own: in Python 3.11 looking a member up costs as much as a short match of a regular expression.
OTHER, LIKELY, CERTAIN, AUTHORIZATION, COOKIE = NameKind

_KINDS_OF_KEY = ("api", "private", "access", "secret", "auth", "signing", "encryption", "master", "account", "service", "deploy")
_CERTAIN = (
    *("password", "passwd", "passphrase", "passcode", "pwd", "secret", "credential", "credentials", "creds", "mnemonic"),
    *(f"{kind}key" for kind in _KINDS_OF_KEY),
)
# Tokens that open nothing: positions in a list, marks in the texts of models.
_POSITIONS = ("next", "page", "continuation", "sync", "cursor", "max", "min", "num", "total", "stop", "start", "starting", "end")
_HARMLESS_TOKENS = tuple(
    f"{kind}token" for kind in (*_POSITIONS, "idempotency", "pad", "eos", "bos", "unk", "sep", "mask", "cls")
)
# Keys that only find something.
_HARMLESS_KEYS = frozenset(
    (
        "cache",
        "foreign",
        "group",
        "idempotency",
        "index",
        "lookup",
        "object",
        "partition",
        "primary",
        "public",
        "registry",
        "sort",
    )
)
# What `TOKEN_URL`, `SECRET_NAME` and their like hold is not the secret.
_ABOUT = frozenset(
    {"arn", "audience", "count", "dir", "endpoint", "expiry", "file", "hash", "host", "id", "issuer", "length", "limit", "name"}
    | {"path", "policy", "sha", "sha256", "size", "ttl", "type", "uri", "url", "version"}
)
_INSIDE = frozenset(("token", "secret", "password", "passwd", "apikey"))
# Members that name the value beside them: headers, settings of containers, attributes of spans.
_LABELS = ("name", "key", "header", "Name", "Key")
_LONGEST_NAME = 100
_NAME = r"[\w.-]{3,100}\Z"
_MARKS = str.maketrans("", "", "_-. ")
# A number, or a word that adds nothing.
_SUFFIX = r"[_-]?(?:key[_-]?base|base|value|[0-9]{1,3})\Z"
_SUFFIX_ENDS = ("e", "E", *"0123456789")
# Whether these are words or the ends of words counts.
_WORDS = ("auth", "jwt", "pass", "pat")
_BETWEEN_WORDS = r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])"


@cache
def compiled(expression: str) -> re.Pattern[str]:
    """Compiled when first needed: most texts hold no secret, and a list of sessions has to appear at once."""
    return re.compile(expression)


@lru_cache(2048)
def name_kind(name: str) -> NameKind:
    """The kind of one name. Only its end counts, so a longer text that ends in a name will do."""
    name = name.strip("\"'`\\ \t")
    if name.endswith(_SUFFIX_ENDS) and (suffix := compiled(_SUFFIX).search(name.lower())):
        name = name[: suffix.start()]
    plain = name.lower().translate(_MARKS)
    if plain.endswith("authorization"):
        return AUTHORIZATION
    if plain.endswith("cookie"):
        return COOKIE
    if plain.endswith(_CERTAIN):
        return CERTAIN
    if plain.endswith("token"):
        return OTHER if plain.endswith(_HARMLESS_TOKENS) else LIKELY
    name = name.rpartition(" ")[2]
    return _kind_by_words(name) if plain.endswith(_WORDS) or name.isupper() else OTHER


def _kind_by_words(name: str) -> NameKind:
    *before, last = map(str.lower, compiled(_BETWEEN_WORDS).split(name))
    if last == "pass" and before:
        return CERTAIN
    is_likely = (
        last in ("auth", "jwt", "pass")
        or (last == "pat" and before)
        or (name.isupper() and last == "key" and before and before[-1] not in _HARMLESS_KEYS)
        or (name.isupper() and last not in _ABOUT and not _INSIDE.isdisjoint(before))
    )
    return LIKELY if is_likely else OTHER


def member_names(members: dict[str, Any], name: str) -> list[str]:
    """The name that each member's value is judged by; empty for those that no name makes a secret.

    A member of `credentials` is called `credentials/user`. In `{"name": "Authorization", "value": …}` a value's name is a value.
    """
    beside = next((said for label in _LABELS if isinstance(said := members.get(label), str)), "")
    beside = _judged(beside)
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
        said = _judged(item) if isinstance(item, str) and compiled(_NAME).match(item) else ""
        is_sure = said.startswith("-") or name_kind(said) in (AUTHORIZATION, COOKIE)
        names.append(said if is_sure or not said else f"{said}/")
    return names if items else []


def _judged(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME and name_kind(name) is not OTHER else ""
