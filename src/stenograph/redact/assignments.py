"""Values that are secrets because of the name they are given to: `DB_PASSWORD=…`, `"apiKey": "…"`, `token: …`.

In: the match of a sign (`=`, `:`, `=>`, `:=`) with a value behind it. Out: whether it is a secret. Knows names and what values
look like; knows no key formats.

A value is one where it could not well be anything else: it holds digits among letters, more than words with a number do, and few
characters more than once. Without digits it can't be told from a name in code.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from math import log2

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

# What names of secrets end with; then without the marks between words.
_WORDS = ("secret", "token", "password", "passwd", "passphrase", "pwd", "credential", "credentials", "creds")
_KINDS_OF_KEY = ("api", "private", "access", "secret", "auth", "signing", "encryption", "master", "account", "service", "deploy")
_NAMES = (*_WORDS, *(f"{kind}key" for kind in _KINDS_OF_KEY))
_LONGEST_NAME = 60
_MARKS = str.maketrans("", "", "_-. ")
# What may follow: a type, a number, a word that says nothing.
_LONGEST_AFTER = 10
_AFTER_NAME = r"(?:(?:[_-]?(?:key[_-]?base|base|value|[0-9]{1,3}))|: ?(?:str|string))\Z"
# Tokens that open nothing: places in a list, marks in the texts of models.
_OPEN_NOTHING = ("next", "page", "continuation", "sync", "cursor", "max", "min", "num", "total", "stop", "start", "end")
_NO_SECRETS = tuple(f"{kind}token" for kind in (*_OPEN_NOTHING, "pad", "eos", "bos", "unk", "sep", "mask", "cls"))
_PLACEHOLDER = (
    r"(?i)your|example|placeholder|change.?me|dummy|replace|redact|insert|fake|mock|sample|x{4}|\*{3}|\.\.\.|…|0{6}|12345|abcde"
)
_NO_LITERAL = r"[.~]{0,2}/|[A-Za-z][A-Za-z0-9+.-]*://|[0-9]{4}-[0-9]{2}-[0-9]{2}|[^@]+@[A-Za-z0-9-]+\.[a-z]"
# Names of types and of variables, as in `private_key: Ed25519PrivateKey`.
_SAYS_ITSELF = r"(?i)key|token|secret|passw|cred|auth"
_OUR_PLACEHOLDER = r"\[[a-z-]{1,40}\Z"
_UUID = r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z"
_PART = r"[A-Za-z0-9]+"
_SWITCH = r"(?<=[A-Za-z])[0-9]|(?<=[0-9])[A-Za-z]"
_WHAT_CODE_GOES_ON_WITH = ("(", "[", "{", "<", "$")

#: Bits a character. In what comes this far it only tells repetitions: of random values of eight hexadecimal digits 9 % have less.
LEAST_ENTROPY = 2.25


@cache
def compiled(expression: str) -> re.Pattern[str]:
    """Not before a text holds a literal or a name of a secret: most hold none, and a list of sessions is to be there at once."""
    return re.compile(expression)


def entropy(value: str) -> float:
    """Shannon's, in bits a character."""
    size = len(value)
    return -sum(count / size * log2(count / size) for count in Counter(value).values())


def says_secret(match: re.Match[str]) -> bool:
    """Whether the name before the sign says that this is a secret, and the value looks like one."""
    text, sign = match.string, match.start()
    name = _name_before(text, sign)
    plain = name.translate(_MARKS)
    is_auth = name.endswith("auth") and not name[-5:-4].isalnum()
    if not (is_auth or plain.endswith(_NAMES)) or plain.endswith(_NO_SECRETS):
        return False
    value, quote = match["secret"], match["quote"].strip(" \t")
    if match["next"] in _WHAT_CODE_GOES_ON_WITH:
        return False
    if match["next"] == "]" and compiled(_OUR_PLACEHOLDER).search(text, max(0, sign - _LONGEST_NAME), sign):
        return False
    if compiled(_UUID).match(value):
        return not (is_auth or plain.endswith("token"))
    mixed = "".join(part for part in compiled(_PART).findall(value) if not part.isalpha() and not part.isdigit())
    # Unquoted, it may be a name in code; in a file of settings there is no blank before it.
    is_written_out = bool(quote) or not match["quote"]
    if len(mixed) < LEAST or len(compiled(_SWITCH).findall(mixed)) < (1 if is_written_out else 2):
        return False
    if not is_written_out and compiled(_SAYS_ITSELF).search(value):
        return False
    if compiled(_NO_LITERAL).match(value) or compiled(_PLACEHOLDER).search(value):
        return False
    return entropy(value) >= LEAST_ENTROPY


def _name_before(text: str, sign: int) -> str:
    """The end of what stands before the sign, in small letters, without quotes, type and number."""
    before = text[max(0, sign - _LONGEST_NAME) : sign].rstrip("\"'`\\ \t").lower()
    after = compiled(_AFTER_NAME).search(before, max(0, len(before) - _LONGEST_AFTER))
    return before[: after.start()] if after else before
