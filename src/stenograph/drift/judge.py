"""Forms of a release against the registry -> drift: what was never recorded, what is missing, what has another type.

Names of kinds and fields are shown only if they look like a programmer's names: content is never repeated.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator

import msgspec

from stenograph.drift.registry import NEVER, NOT_MET, WORDS, Registry
from stenograph.drift.shapes import ANY_KEY, ELEMENT, FREE_TYPED_FIELD, TYPE_NAMES, Form, field_path
from stenograph.records import OWN_FIELD
from stenograph.releases import release_numbers

UNKNOWN_TYPE = "UNKNOWN_TYPE"
NEW_FIELD = "NEW_FIELD"
TYPE_MISMATCH = "TYPE_MISMATCH"
MISSING_FIELD = "MISSING_FIELD"

#: A type is judged only if the field was met in this many releases, or this often in public sessions.
RELEASES_TO_JUDGE_A_TYPE = 3
LINES_TO_JUDGE_A_TYPE = 20

WITHHELD = "‹name withheld›"
_CHARACTERS = re.compile(r"[A-Za-z0-9_$-]+", re.ASCII)
_CONSONANTS = re.compile(r"[^aeiouy]{5}")
LONGEST_NAME = 48
_LONGEST_WORD = 16
_MOST_WORDS = 8
#: Words of one or two letters (`is`, `id`, `to`).
_MOST_SHORT_WORDS = 2


class Drift(msgspec.Struct):
    """One thing that differs from what is known, however often it was met."""

    code: str
    #: As the registry names it; a new one only if it looks like a name.
    shape: str
    #: Empty for a kind.
    field: str
    #: The JSON type met, for a type mismatch.
    met: str
    known_types: list[str]
    count: int
    releases: list[str]
    file: int
    line: int
    #: Empty for nowhere.
    known_in: str
    #: Field -> JSON type, of the first object.
    sample: dict[str, str]


def judge(registry: Registry, release: str, forms: Iterable[Form]) -> Iterator[Drift]:
    """What differs in the forms of one release, with repetitions: see `merge`."""
    for form in forms:
        if not registry.knows_shape(form.shape, release):
            if not form.path and OWN_FIELD not in form.fields:  # a kind that we write, such as the SDK's `tag`
                yield _drift(registry, UNKNOWN_TYPE, form, release)
            continue
        if form.path and not registry.knows_field(form.shape, form.path, release):
            continue  # inside something new
        required = registry.required(form.shape, release)
        for name, types in form.fields.items():
            path = field_path(form.path, name)
            known = registry.types_of(form.shape, path, release)
            if known is None:
                # The first element of a list that was always empty is no news, nor is what we write ourselves.
                if name not in (ELEMENT, ANY_KEY) and not _is_ours(form, path):
                    yield _drift(registry, NEW_FIELD, form, release, path)
                continue
            for kind in types:
                # Null counts as absent, unless the field is required.
                is_left_empty = kind == "null" and name not in required.get(form.path, ())
                if kind not in known and not is_left_empty and _may_judge_types(registry, form.shape, path, known):
                    yield _drift(registry, TYPE_MISMATCH, form, release, path, kind, sorted(known))
        if not form.fields.keys() & {ELEMENT, ANY_KEY}:
            for name in required.get(form.path, ()):
                if name not in form.fields:
                    yield _drift(registry, MISSING_FIELD, form, release, field_path(form.path, name))


def _is_ours(form: Form, path: str) -> bool:
    """Whether we write a member and clients don't."""
    return path == OWN_FIELD or (OWN_FIELD in form.fields and (form.shape, path) == ("record:system/turn_duration", "content"))


def merge(found: Iterable[Drift]) -> list[Drift]:
    """Each thing once, with its earliest place, in order of code and name."""
    merged: dict[tuple[str, str, str, str], Drift] = {}
    releases: dict[tuple[str, str, str, str], set[str]] = {}
    for drift in found:
        key = (drift.code, drift.shape, drift.field, drift.met)
        releases.setdefault(key, set()).update(drift.releases)
        first = merged.get(key)
        if first is None:
            merged[key] = drift
            continue
        if (drift.file, drift.line) < (first.file, first.line):
            first.file, first.line, first.sample = drift.file, drift.line, drift.sample
        first.count += drift.count
        first.known_types = sorted({*first.known_types, *drift.known_types})
    for key, drift in merged.items():
        drift.releases = sorted(releases[key], key=release_order)
    order = (UNKNOWN_TYPE, TYPE_MISMATCH, MISSING_FIELD, NEW_FIELD)
    return sorted(merged.values(), key=lambda drift: (order.index(drift.code), drift.shape, drift.field, drift.met))


@functools.lru_cache(maxsize=10_000)
def shown_name(name: str) -> str:
    return name if _looks_like_a_name(name) else WITHHELD


def _looks_like_a_name(name: str) -> bool:
    """camelCase, snake_case, kebab-case or PascalCase of few pronounceable words; random characters hardly ever pass."""
    if len(name) > LONGEST_NAME or not _CHARACTERS.fullmatch(name):
        return False
    parts = WORDS.findall(name)
    words = [part for part in parts if not part.isdigit()]
    digits = [part for part in parts if part.isdigit()]
    short = [word for word in words if len(word) <= 2 and not word.isupper()]
    return (
        0 < len(words) <= _MOST_WORDS
        and len(digits) <= 1
        and all(len(part) <= 2 for part in digits)
        and (len(short) <= _MOST_SHORT_WORDS)
        and all(_is_a_word(word) for word in words)
    )


def _is_a_word(word: str) -> bool:
    if word.isupper() and len(word) > 1:
        return len(word) <= 4
    letters = word.lower()
    is_spoken = len(letters) < 4 or (any(vowel in letters for vowel in "aeiouy") and not _CONSONANTS.search(letters))
    return len(letters) <= _LONGEST_WORD and is_spoken


def _may_judge_types(registry: Registry, shape: str, path: str, known: set[str]) -> bool:
    if known <= {"null"} or path.endswith(FREE_TYPED_FIELD):  # never filled so far, or of any type
        return False
    field = registry.shapes[shape].fields[path]
    releases = sum(mark not in NOT_MET + NEVER for mark in field.seen)
    return releases >= RELEASES_TO_JUDGE_A_TYPE or field.public >= LINES_TO_JUDGE_A_TYPE


def _drift(
    registry: Registry, code: str, form: Form, release: str, path: str = "", met: str = "", known: list[str] | None = None
) -> Drift:
    described = registry.shapes.get(form.shape)
    return Drift(
        code=code,
        shape=form.shape if described else _shown_shape(registry, form),
        field=path if described and path in described.fields else _shown_path(path),
        met=met,
        known_types=known or [],
        count=form.count,
        releases=[_shown_release(release)],
        file=form.file,
        line=form.line,
        known_in=registry.known_in(form.shape, path),
        sample=_sample(registry, form),
    )


def _sample(registry: Registry, form: Form) -> dict[str, str]:
    described = registry.shapes.get(form.shape)
    known = described.fields if described else {}
    return {
        name if field_path(form.path, name) in known else shown_name(name): "|".join(types) for name, types in form.fields.items()
    }


def _shown_shape(registry: Registry, form: Form) -> str:
    family, _, kind = form.shape.partition(":")
    return f"{family}:{'/'.join(_shown_kind(registry, part, is_echo=form.is_echo) for part in kind.split('/', 1))}"


def _shown_kind(registry: Registry, kind: str, *, is_echo: bool) -> str:
    if kind in _NOT_A_STRING or not kind:  # a type in parentheses is ours: the name was not a string
        return kind
    # An echo may be something that was said, unless it consists of the format's own words, such as `error`.
    is_said = is_echo and not registry.words.issuperset(word.lower() for word in WORDS.findall(kind))
    return WITHHELD if is_said else shown_name(kind)


def _shown_path(path: str) -> str:
    names = [part.removesuffix(ELEMENT).removesuffix(ANY_KEY) for part in path.split(".")] if path else []
    return ".".join(shown_name(name) for name in names)


def _shown_release(release: str) -> str:
    return release if re.fullmatch(r"\d{1,4}(\.\d{1,5}){1,3}", release) else "?"


def release_order(release: str) -> tuple[int, ...]:
    """To sort releases as findings name them."""
    return () if release == "?" else release_numbers(release)


_NOT_A_STRING = frozenset(f"({name})" for name in TYPE_NAMES.values())
