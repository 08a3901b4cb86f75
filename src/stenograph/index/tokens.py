"""What SQLite's tokenizer can't split: identifiers in camelCase, and scripts without spaces.

SQLite splits a text at everything that is not a letter or a digit, so `snake_case` and paths fall apart by themselves. `indexed`
adds the parts of the rest behind the text, and `match_word` asks for words the same way. A word is compared without case and
accents.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache

# A character for private use counts as a word, so no phrase reaches across it.
_WALL = "\ue000"
_CAMEL = re.compile(r"[^\W_]*[a-z][A-Z][^\W_]*")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_]+")
# Han, kana and Hangul.
_WIDE_CLASS = (
    "\u3005-\u3007\u3031-\u3035\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_WORD = re.compile(r"[^\W_]+")
#: What each byte of a text in ASCII is: a small letter, a capital, a digit, or nothing of a word.
_KIND_OF_BYTE = bytes(
    ord("a" if chr(byte).islower() else "A" if chr(byte).isupper() else "0" if chr(byte).isdigit() else " ") if byte < 128 else 32
    for byte in range(256)
)
#: The bytes with which no character of `_WIDE_CLASS` begins in UTF-8.
_NOT_WIDE = bytes(byte for byte in range(256) if byte < "\u3005".encode()[0])


@cache
def _wide() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """A character of such a script, a word with one, and the parts of such a word. Made when first needed: it takes a while."""
    return (
        re.compile(f"[{_WIDE_CLASS}]"),
        re.compile(rf"[^\W_]*[{_WIDE_CLASS}][^\W_]*"),
        re.compile(rf"[{_WIDE_CLASS}]|[^\W_{_WIDE_CLASS}]+"),
    )


def _wide_parts(word: str) -> list[str]:
    """The characters of a word in such a script; the word itself in any other."""
    if word.isascii():
        return [word]
    wide, _, parts = _wide()
    return parts.findall(word) if wide.search(word) else [word]


def indexed(text: str) -> str:
    """The text as it goes into the index: with the parts of its identifiers and of its unspaced words behind it."""
    extra = [_camel_parts(name) for name in dict.fromkeys(_camel_names(text))]
    if not text.isascii():
        # Most texts have no byte with which such a character begins, and looking for one is quicker than a pattern.
        wide, run, parts = _wide()
        if text.encode(errors="surrogatepass").translate(None, _NOT_WIDE) and wide.search(text):
            extra += [" ".join(parts.findall(word)) for word in dict.fromkeys(run.findall(text))]
    return f"{text} {_WALL} {f' {_WALL} '.join(extra)}" if extra else text


@lru_cache(maxsize=1 << 14)
def _camel_parts(name: str) -> str:
    """The parts of a name; the same few names are in line after line."""
    return " ".join(_PARTS.findall(name))


def _camel_names(text: str) -> Iterator[str]:
    """The words with a hump, by a look for humps: most texts have none, and a pattern for whole words is slow."""
    # Searching bytes is ten times as fast as a pattern, and searching one of them ten times as fast again. A byte is a character.
    kinds = text.encode("ascii", "replace").translate(_KIND_OF_BYTE)
    first = kinds.find(b"A")
    place = kinds.find(b"aA", max(0, first - 1)) if first >= 0 else -1
    while place >= 0:
        begin, end = kinds.rfind(b" ", 0, place) + 1, kinds.find(b" ", place)
        end = len(kinds) if end < 0 else end
        # A word may have letters that are not ASCII.
        while begin > 0 and text[begin - 1].isalnum():
            begin -= 1
        while end < len(text) and text[end].isalnum():
            end += 1
        yield text[begin:end]
        place = kinds.find(b"aA", end)


def match_phrase(text: str) -> str | None:
    """An FTS5 expression for these words side by side, exactly as written; None where the text holds no word."""
    words = [part for word in _WORD.findall(text) for part in _wide_parts(word)]
    return _quoted(words) if words else None


def match_word(word: str, *, is_prefix: bool = False) -> str | None:
    """An FTS5 expression for one word of a query; None where it holds no letter or digit."""
    phrase = match_phrase(word)
    if phrase is None:
        return None
    phrase += "*" if is_prefix else ""
    if _CAMEL.fullmatch(word):
        return f"({phrase} OR {_quoted(_PARTS.findall(word))}{'*' if is_prefix else ''})"
    return phrase


def match_forms(word: str) -> str | None:
    """The same for any form of an English word."""
    forms = forms_of(word)
    return "(" + " OR ".join(_quoted([form]) for form in forms) + ")" if forms else match_word(word)


def forms_of(word: str) -> tuple[str, ...]:
    """`fail` for `fails`, `failed` and `failing`, and the other way round. Empty for what has no forms."""
    lowered = word.lower()
    if not (lowered.isascii() and lowered.isalpha() and len(lowered) > _SHORTEST_STEM) or _CAMEL.fullmatch(word):
        return ()
    stems = {lowered}
    for ending, instead in _ENDINGS:
        stem = lowered.removesuffix(ending)
        if stem != lowered and len(stem) >= _SHORTEST_STEM:
            stems |= {stem + instead, stem}
            if len(stem) > _SHORTEST_STEM and stem[-1] == stem[-2]:
                stems.add(stem[:-1])  # running
    forms = {form for stem in stems for form in (stem, *(stem + ending for ending in _FORMS))}
    forms |= {stem[:-1] + ending for stem in stems if stem.endswith("e") for ending in ("ed", "ing")}
    forms |= {stem[:-1] + "ies" for stem in stems if stem.endswith("y")}
    return tuple(sorted(forms))


_SHORTEST_STEM = 3
_ENDINGS = (("ies", "y"), ("es", "e"), ("s", ""), ("ed", "e"), ("ing", "e"))
_FORMS = ("s", "es", "ed", "ing")


def fold(text: str) -> str:
    """The text as words are compared: without case and accents, character by character, so that places stay the same."""
    if text.isascii():
        return text.lower()
    return text.translate(_FOLDED)


def patterns_of(text: str, *, is_prefix: bool = False, forms: tuple[str, ...] = ()) -> Iterator[re.Pattern[str]]:
    """Patterns that find a word or phrase in folded text, the strictest first; the last one finds parts of words too."""
    parts = _PARTS.findall(text) if _CAMEL.fullmatch(text) else []
    words = [fold(word) for word in _WORD.findall(text)]
    if not words:
        return
    end = "" if is_prefix else r"(?![^\W_])"
    strict = "|".join(sorted(forms, key=len, reverse=True)) or r"[\W_]+".join(map(re.escape, words))
    yield re.compile(rf"(?<![^\W_])(?:{strict}){end}")
    yield re.compile(r"[\W_]*".join(re.escape(fold(part)) for part in parts or words))


class _Folded(dict[int, str]):
    """Every character without case and accents, made when it is first met."""

    def __missing__(self, code: int) -> str:
        self[code] = folded = _fold_character(chr(code))
        return folded


_FOLDED = _Folded()


def _fold_character(character: str) -> str:
    base = unicodedata.normalize("NFD", character)[0]
    lowered = base.lower()
    return lowered if len(lowered) == 1 else base


def _quoted(words: list[str]) -> str:
    return '"' + " ".join(words) + '"'
