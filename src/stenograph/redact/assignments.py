"""Values that are secrets because of the name they are given to: `DB_PASSWORD=…`, `"apiKey": "…"`, `token: …`.

In: the match of a sign (`=`, `:`, `=>`, `:=`) with a value behind it. Out: whether it is a secret. Knows names and what values
look like; knows no key formats.

A value is one where it could not well be anything else: it holds digits among letters, more than words with a number do, and few
characters more than once. Without digits it can't be told from a name in code.
"""

from __future__ import annotations

import re
from collections import Counter
from math import log2

from stenograph.redact.names import NameKind, compiled, name_kind

# Quotes, also those inside a JSON string, and blanks.
_AROUND = r"[\"'`\\ \t]"
_VALUE = r"[^\s\"'`\\,;<>(){}\[\]$|&]"
LEAST, MOST = 8, 200
# How names of secrets end, or types written behind them.
_ENDS = r"(?:[eE][tTnNyY]|[rRwW][dD]|[dDlLtT][sS]|[aA][lL]|[sS][eE]|[tT][hH]|[uU][eE]|tr|ng|[eEyYtTnNdD_][0-9])"
_NAME_ENDS = (
    rf"(?:(?<=[A-Za-z0-9][:=])(?<={_ENDS}[:=])"
    rf"|(?<=[\"'` ][:=])(?:(?<={_ENDS}[\"'` ][:=])|(?<={_ENDS}[\"'`\\][\"'` ][:=])|(?<={_ENDS}\\[\"'] [:=])))"
)
# `:=` and `=>`, but not `==`.
_GOES_ON = "(?:(?<=:)=|(?<==)>)?"
VALUE_FOLLOWS = rf"{_NAME_ENDS}{_GOES_ON}{_AROUND}{{0,5}}{_VALUE}{{{LEAST}}}"
VALUE_OF = rf"[:=]{_GOES_ON}(?P<quote>{_AROUND}{{0,5}})(?P<secret>{_VALUE}{{{LEAST},{MOST}}})(?P<next>.)?"

_LONGEST_NAME = 60
_PLACEHOLDER = r"(?i)your|example|placeholder|change.?me|dummy|replace|redact|insert|fake|mock|sample|x{4}|\*{3}|\.\.\.|…|0{6}"
# A placeholder too, where hardly anything else is in the value.
_SEQUENCE = r"(?i)0?123456?7?8?9?0?|abcdef?g?h?i?j?"
_LEAST_BESIDE_SEQUENCE = 4
_NO_LITERAL = r"[.~]{0,2}/|[A-Za-z][A-Za-z0-9+.-]*://|[0-9]{4}-[0-9]{2}-[0-9]{2}|[^@]+@[A-Za-z0-9-]+\.[a-z]"
# Names of types and of variables, as in `private_key: Ed25519PrivateKey`.
_SAYS_ITSELF = r"(?i)key|token|secret|passw|cred|auth"
_OUR_PLACEHOLDER = r"\[[a-z-]{1,40}\Z"
_UUID = r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z"
_PART = r"[A-Za-z0-9]+"
_SWITCH = r"(?<=[A-Za-z])[0-9]|(?<=[0-9])[A-Za-z]"
_LEAST_LITERAL = 4
# Types and words of a form, variables and templates, names of variables, placeholders of ours.
_NO_VALUE = (
    r"(?i)(?:string|text|str|bytes|none|null|undefined|true|false|required|optional|hidden|include|omit|same-origin"
    r"|password|secret|api.?key|token)\Z"
    r"|[$<{%*\[]|process\.env|os\.|(?-i:[A-Z][A-Z_]*_[A-Z]+)\Z"
)
_CREDENTIAL = r"(?:[A-Za-z][A-Za-z0-9-]{2,20} +)?+(?P<secret>(?![$<{%*\[]|[A-Za-z]{1,30}\Z)(?s:.{4,}))"
# Attributes of a cookie are no secrets.
_COOKIES = (
    r"[^\s=;]{1,100}=(?P<secret>(?![$<{%*\[])[^\r\n]{4,}?)"
    r"(?=; *(?i:path|domain|expires|max-age|httponly|secure|samesite|partitioned)\b|[\r\n]|\Z)"
)
_WHAT_CODE_GOES_ON_WITH = ("(", "[", "{", "<", "$")

#: Bits a character. In what comes this far it only tells repetitions: of random values of eight hexadecimal digits 9 % have less.
LEAST_ENTROPY = 2.25


def entropy(value: str) -> float:
    """Shannon's, in bits a character."""
    size = len(value)
    return -sum(count / size * log2(count / size) for count in Counter(value).values())


def says_secret(match: re.Match[str]) -> bool:
    """Whether the name before the sign says that this is a secret, and the value looks like one."""
    text, sign = match.string, match.start()
    name = text[max(0, sign - _LONGEST_NAME) : sign]
    kind = name_kind(name)
    if kind not in (NameKind.CERTAIN, NameKind.LIKELY) or match["next"] in _WHAT_CODE_GOES_ON_WITH:
        return False
    if match["next"] == "]" and compiled(_OUR_PLACEHOLDER).search(name):
        return False
    value, quote = match["secret"], match["quote"].strip(" \t")
    # Unquoted, it may be a name in code; in a file of settings there is no blank before it.
    is_written_out = bool(quote) or not match["quote"]
    if not is_written_out and compiled(_SAYS_ITSELF).search(value):
        return False
    return _looks_random(kind, value, 1 if is_written_out else 2)


def secret_part(name: str, value: str) -> tuple[int, int] | None:
    """Where the secret is in the value of a member called `name`, if there is one.

    A member's value is a literal, never code, so the name counts for more than in a text. Of `credentials/user`, a member of
    another one, it counts as in a text.
    """
    parents, _, own = name.rpartition("/")
    kind = name_kind(own)
    if kind is NameKind.OTHER and parents:
        kind = NameKind.LIKELY
    if kind is NameKind.OTHER or not value:
        return None
    if kind in (NameKind.AUTHORIZATION, NameKind.COOKIE):
        match = compiled(_CREDENTIAL if kind is NameKind.AUTHORIZATION else _COOKIES).match(value)
        if match:
            return match.span("secret")
    is_secret = _is_literal(value) if kind is NameKind.CERTAIN else _looks_random(kind, value, 1)
    return (0, len(value)) if is_secret else None


def _looks_random(kind: NameKind, value: str, least_switches: int) -> bool:
    if compiled(_UUID).match(value):
        return kind is NameKind.CERTAIN
    mixed = "".join(part for part in compiled(_PART).findall(value) if not part.isalpha() and not part.isdigit())
    if len(mixed) < LEAST or len(compiled(_SWITCH).findall(mixed)) < least_switches:
        return False
    return not compiled(_NO_LITERAL).match(value) and not _is_placeholder(value) and entropy(value) >= LEAST_ENTROPY


def _is_literal(value: str) -> bool:
    """Whether a value is what it says, and does not stand for a secret: a type, a variable, a path, asterisks."""
    if len(value) < _LEAST_LITERAL or compiled(_NO_LITERAL).match(value) or compiled(_NO_VALUE).match(value):
        return False
    return not _is_placeholder(value)


def _is_placeholder(value: str) -> bool:
    if compiled(_PLACEHOLDER).search(value):
        return True
    beside, sequences = compiled(_SEQUENCE).subn("", value)
    return bool(sequences) and sum(map(str.isalnum, beside)) < _LEAST_BESIDE_SEQUENCE
