"""Values that are secrets because of the name they are given to: `DB_PASSWORD=…`, `"apiKey": "…"`, `--token …`.

In: a text and a place in it where a name may be, or a member of JSON with its name. Out: where the secret is. Knows names and
what values look like; knows nothing about key formats.

In a text a value counts when it could hardly be anything else: it mixes letters and digits more than words with a number do, and
repeats few characters. Without digits it can't be distinguished from a name in code.
"""

from __future__ import annotations

import re
from functools import lru_cache
from math import log2

from stenograph.redact.names import AUTHORIZATION, CERTAIN, COOKIE, LIKELY, OTHER, NameKind, compiled, name_kind

#: What names hold, in small letters, capitals and mixed. Most are without their first letter, which may be either.
NAME_LITERALS = (
    *("auth", "Auth", "AUTH", "creds", "Creds", "CREDS", "redential", "REDENTIAL", "jwt", "JWT", "key", "Key", "KEY"),
    *("nemonic", "NEMONIC", "pass", "Pass", "PASS", "_pat", "PAT", "pwd", "Pwd", "PWD", "ecret", "ECRET", "oken", "OKEN"),
)
LEAST = 8
#: Bits per character. Of random values of eight hexadecimal digits 9 % have less; words and repetitions do too.
LEAST_ENTROPY = 2.25

#: From a literal of a name to the value: the rest of the name, quotes (with backslashes inside JSON), a type, a sign, a quote.
#: The sign may be the name of a member: `"name": "API_KEY", "value": "…"`.
TO_VALUE = (
    rf"(?P<name>(?:{'|'.join(NAME_LITERALS)})[A-Za-z0-9_-]{{0,24}}+)(?=[\"'`\\\]:=,>vVs\s])"
    r"(?P<close>(?:\\{0,3}+[\"'`]){0,2}+)\]?+"
    r"(?::[ ]?[&A-Za-z][\w.&|?\[\]]{0,30}+(?=[ ]?=[^=]))?+"
    r"(?P<sign>[ \t]{0,8}+(?::=|=>|[:=](?!=))|,?\s{0,40}+[\"'\\]{0,4}+(?:string)?+[vV]alue[\"'\\]{0,4}+ ?:"
    r"|,(?=[ ]?\\?[\"'`])|(?=[ \t])|>)(?P<blank>[ \t]{0,8}+)"
    r"(?:[bBrRuUfF]{1,2}+(?=[\"']))?+(?P<quote>(?:\\{0,3}+[\"'`])?+)"
    # There is a digit in every value that counts.
    r"(?=[^\r\n\"'`0-9]{0,100}+[0-9])"
)
# So much is judged; what goes on in the same way belongs to the secret.
_BARE = r"[^\s\"'`\\,;<>(){}\[\]$|&]{6,200}+"
# In `NAME=value`, as shells and files of settings have it, more belongs to the value.
_BARE_SETTING = r"[^\s\"'`\\,;<>{}|&]{6,200}+"
_MORE = r"[^\s\"'`\\,;<>(){}\[\]$|&]*+"
_JUDGED = 200
_LONGEST_NAME = 60
_NAME_CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-. "
_LONGEST_QUOTED = 400
_LEAST_MIXED = 6
_SYMBOLS = frozenset("!@#$%^&*()?+=~")
# After a name and nothing but a blank, or a comma.
_LEAST_IN_PROSE = 16
_SWITCHES_IN_PROSE = 3
_CODE_GOES_ON = frozenset("([{<$]")

# No branch begins with a repetition: so `re` knows the few characters that can begin a match.
_PLACEHOLDER = r"your|example|placeholder|change.?me|dummy|replace|redact|insert|fake|mock|sample|xxxx|\*\*\*|\.\.\.|…|000000"
# A placeholder too, where hardly anything else is in the value.
_SEQUENCE = r"0?1234?5?6?7?8?9?0?|abcd?e?f?g?h?i?j?"
_LEAST_BESIDE_SEQUENCE = 4
# Paths, names of resources, addresses, dates; variables and templates; placeholders in brackets, ours among them.
_STANDS_FOR = (
    r"[.~]{0,2}/|arn:|[A-Za-z][A-Za-z0-9+.-]*+://|[0-9]{4}-[0-9]{2}-[0-9]{2}|[^@]++@[A-Za-z0-9-]++\.[a-z]"
    r"|\$(?:[{(]|env:|[A-Za-z_]+\Z|[A-Z0-9_]+\Z)|%(?:s\Z|\(|\w+%\Z)|<[^>]*>|\{|[^\s${]{0,40}+(?:\$[{(]|\{\{)"
    r"|\[[A-Za-z _-]+(?::[0-9a-f]+)?\]"
)
# Names of types and of variables, as in `private_key: Ed25519PrivateKey`; members, as in `auth = exports.Socks5Auth`.
_CODE = r"(?i)key|token|secret|passw|cred|auth|\A[a-z_$][\w$]*(?:\.[a-z_$][\w$]*)+\Z"
_UUID_LENGTH = 36
_UUID = r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z"
_LEAST_LITERAL = 4
# Types and words of a form; names of variables.
_NO_VALUE = (
    r"process\.env|os\.|(?i:string|text|str|bytes|none|null|undefined|true|false|required|optional|hidden|include|omit"
    r"|same-origin|password|secret|api.?key|token)\Z|[A-Z][A-Z_]*_[A-Z]+\Z"
)
# Selectors of pages, and parts of names.
_NO_PASSWORD_STARTS = (".", "#", "-", "_")
_CREDENTIAL = r"(?:[A-Za-z][A-Za-z0-9-]{2,20} +)?+(?P<secret>(?![$<{%*\[]|[A-Za-z]{1,30}\Z)(?s:.{4,}))"
_COOKIES = (
    r"[^\s=;]{1,100}=(?P<secret>(?![$<{%*\[])[^\r\n]{4,}?)"
    r"(?=; *(?i:path|domain|expires|max-age|httponly|secure|samesite|partitioned)\b|[\r\n]|\Z)"
)
_SHAPE = dict.fromkeys(range(128), " ") | {
    code: "a" if chr(code).isalpha() else "0" for code in range(128) if chr(code).isalnum()
}


def find_assigned(to_value: re.Match[str]) -> tuple[int, int] | None:
    """The secret behind a match of `TO_VALUE`, if the name around it makes one of what is there."""
    text = to_value.string
    place, start = to_value.span()
    name, close, sign, blank, quote = to_value.groups()
    before = text[place - _LONGEST_NAME if place > _LONGEST_NAME else 0 : place]
    outside = before.rstrip(_NAME_CHARACTERS)
    name = before[len(outside) :].lstrip() + name
    outside = outside[-1:]
    kind = name_kind(name)
    if kind is not CERTAIN and kind is not LIKELY:
        return None
    if " " in name:
        name = name.rpartition(" ")[2]
    if len(sign) > 1:
        sign = ":" if sign.endswith(":") else sign.strip()
    end = text.find(quote, start, start + _LONGEST_QUOTED) if quote else -1
    in_quotes = end > start and text.find("\n", start, end) < 0
    if not in_quotes:
        bare = compiled(_BARE_SETTING if sign == "=" and not blank and name.isupper() else _BARE).match(text, start)
        if bare is None:
            return None
        end = bare.end()
        after = text[end : end + 1]
        # What follows shows that it is code, or a placeholder of ours.
        if after in _CODE_GOES_ON and (outside == "[" if after == "]" else sign != ">"):
            return None
    value = text[start:end]
    if not _is_assigned(kind, name, (outside, close, sign, blank, quote), value, in_quotes):
        return None
    if len(value) == _JUDGED and not in_quotes and (more := compiled(_MORE).match(text, end)):
        end = more.end()
    return start, end


@lru_cache(4096)  # one secret is often repeated
def _is_assigned(kind: NameKind, name: str, around: tuple[str, str, str, str, str], value: str, in_quotes: bool) -> bool:
    """Whether a value is a secret. `around`: before the name, after it, the sign, the blank and the quote before the value."""
    outside, close, sign, blank, quote = around
    if name.startswith("--") or (sign == ">" and outside == "<") or (in_quotes and close and sign == ":"):
        return _looks_random(kind, value) or (kind is CERTAIN and _mixes(value))
    if sign == ">" or (sign == outside == ":" and not close and not blank):  # a comparison, a part of a resource's name
        return False
    if sign in ("", ","):
        return in_quotes == bool(sign) and len(value) >= _LEAST_IN_PROSE and _looks_random(kind, value, _SWITCHES_IN_PROSE)
    if in_quotes:
        has_symbol = not _SYMBOLS.isdisjoint(value)
        return _looks_random(kind, value) or (kind is CERTAIN and has_symbol and _mixes(value))
    if quote or not blank:
        return _looks_random(kind, value)
    # It may be a name in code; in a file of settings there is no blank before it.
    return _looks_random(kind, value, 2) and not compiled(_CODE).search(value)


def secret_part(name: str, value: str) -> tuple[int, int] | None:
    """Where the secret is in the value of a member called `name`, if there is one.

    A member's value is a literal, never code, so the name counts for more than in a text. Of `credentials/user`, a member of
    another one, it counts as in a text.
    """
    parents, _, own = name.rpartition("/")
    kind = name_kind(own)
    if kind is OTHER and parents:
        kind = LIKELY
    if kind is OTHER or not value:
        return None
    if kind in (AUTHORIZATION, COOKIE):
        match = compiled(_CREDENTIAL if kind is AUTHORIZATION else _COOKIES).match(value)
        if match:
            return match.span("secret")
    is_secret = is_literal(value) if kind is CERTAIN else _looks_random(kind, value)
    return (0, len(value)) if is_secret else None


@lru_cache(4096)
def looks_random(value: str) -> bool:
    """Whether a value that has no name could hardly be anything but a secret."""
    return _looks_random(LIKELY, value, _SWITCHES_IN_PROSE)


def entropy(value: str) -> float:
    """Shannon's, in bits per character."""
    size = len(value)
    return log2(size) - sum([count * log2(count) for count in map(value.count, set(value))]) / size


def _looks_random(kind: NameKind, value: str, least_switches: int = 1) -> bool:
    if len(value) == _UUID_LENGTH and compiled(_UUID).match(value):
        return kind is CERTAIN
    shape = value.translate(_SHAPE)
    if shape.count("a0") + shape.count("0a") < least_switches:
        return False
    words = shape.split()
    if len(words) > 1:
        words = [word for word in words if "a" in word and "0" in word]
    if len("".join(words)) < LEAST:
        return False
    return _is_varied(value) and not compiled(_STANDS_FOR).match(value) and not _is_placeholder(value)


def _is_varied(value: str) -> bool:
    # With so many different characters the entropy is lowest where all but one of them come once.
    size = len(value)
    most = size + 1 - len(set(value))
    return log2(size) - most * log2(most) / size >= LEAST_ENTROPY or entropy(value) >= LEAST_ENTROPY


def _mixes(value: str) -> bool:
    """Whether a value is one word with a letter and a digit in it, as few words of a language are."""
    shape = value.translate(_SHAPE)
    is_one_word = len(value) >= _LEAST_MIXED and not value.startswith(_NO_PASSWORD_STARTS) and len(value.split()) == 1
    return is_one_word and "a" in shape and "0" in shape and is_literal(value)


def is_literal(value: str) -> bool:
    """Whether a value is what it says, and does not stand for a secret: a type, a variable, a path, asterisks."""
    if len(value) < _LEAST_LITERAL or compiled(_STANDS_FOR).match(value) or compiled(_NO_VALUE).match(value):
        return False
    return not _is_placeholder(value)


def _is_placeholder(value: str) -> bool:
    lower = value.lower()
    if compiled(_PLACEHOLDER).search(lower):
        return True
    if "123" not in lower and "abc" not in lower:
        return False
    return sum(map(str.isalnum, compiled(_SEQUENCE).sub("", lower))) < _LEAST_BESIDE_SEQUENCE
