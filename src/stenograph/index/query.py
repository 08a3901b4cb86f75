"""What a person types into a search -> a tree of terms.

Words side by side must all match; `OR`, `NOT`, a leading minus, quotes for phrases, a trailing star for prefixes, and parentheses
do what they do elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias

from msgspec import Struct

from stenograph.errors import UsageError
from stenograph.index.tokens import forms_of, match_forms, match_phrase, match_word

_PIECES = re.compile(r'\s*(-?"[^"]*"|-?\(|\)|[^\s()"]+)')
# What programs are given is searched for, not excluded: `-p`, `--force`.
_OPTION = re.compile(r"-$|-\w$|--|-\d")
# Deeper queries are nobody's.
_DEPTH = 50
# From so many words on a query is a sentence: people remember topics, not forms of words.
_SENTENCE = 3
_SMALL = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "but",
        "by",
        "can",
        "did",
        "do",
        "does",
        "doesn't",
        "don't",
        "for",
        "from",
        "get",
        "had",
        "has",
        "have",
        "how",
        "i",
        "in",
        "into",
        "is",
        "it",
        "its",
        "just",
        "me",
        "my",
        "not",
        "of",
        "on",
        "or",
        "our",
        "should",
        "so",
        "some",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "those",
        "to",
        "too",
        "up",
        "us",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "who",
        "why",
        "will",
        "with",
        "would",
        "you",
        "your",
    ]
)
# Each word is looked up by itself, and in every line that is shown.
_WORDS = 200


class Term(Struct, frozen=True):
    """A word, a prefix or a phrase."""

    text: str
    #: The FTS5 expression that finds it.
    match: str
    is_prefix: bool = False
    #: One word without quotes or stars.
    is_plain: bool = False
    #: The forms of a word of a sentence, any of which will do.
    forms: tuple[str, ...] = ()


class AllOf(Struct, frozen=True):
    items: tuple[Query, ...]


class AnyOf(Struct, frozen=True):
    items: tuple[Query, ...]


class NoneOf(Struct, frozen=True):
    item: Query


Query: TypeAlias = Term | AllOf | AnyOf | NoneOf


def parse_query(text: str) -> Query:
    """The tree of a query. Raises UsageError."""
    pieces = _PIECES.findall(text)
    if len(pieces) > _WORDS:
        raise UsageError(f"the query is too long; use at most {_WORDS} words")
    if text.count('"') % 2:
        raise UsageError("the query has an unmatched quote")
    query, rest = _any_of(pieces, 0)
    if rest:
        raise UsageError('the query has an unmatched ")"')
    if query is None or not any(True for _ in terms_of(query)):
        raise UsageError("the query has no word to search for")
    return query


def terms_of(query: Query) -> Iterator[Term]:
    """The terms that a match has to hold, in their order."""
    match query:
        case Term():
            yield query
        case AllOf(items) | AnyOf(items):
            for item in items:
                yield from terms_of(item)


def relaxed(query: Query) -> tuple[Term, ...]:
    """What a sentence asks for: its words without the small ones, each in any form. Empty for what is not a sentence."""
    words = query.items if isinstance(query, AllOf) else ()
    if len(words) < _SENTENCE or not all(isinstance(word, Term) and word.is_plain for word in words):
        return ()
    chosen = [word for word in words if isinstance(word, Term) and word.text.lower() not in _SMALL]
    if len(chosen) <= 1:
        return ()
    return tuple(Term(word.text, match_forms(word.text) or word.match, forms=forms_of(word.text)) for word in chosen)


def _any_of(pieces: list[str], depth: int) -> tuple[Query | None, list[str]]:
    if depth > _DEPTH:
        raise UsageError("the query is nested too deeply")
    items: list[Query] = []
    while True:
        item, pieces = _all_of(pieces, depth)
        if item is not None and item not in items:
            items.append(item)
        if not pieces or pieces[0] != "OR":
            break
        pieces = pieces[1:]
    return (items[0] if len(items) == 1 else AnyOf(tuple(items)) if items else None), pieces


def _all_of(pieces: list[str], depth: int) -> tuple[Query | None, list[str]]:
    items: list[Query] = []
    while pieces and pieces[0] not in ("OR", ")"):
        if pieces[0] == "AND":
            pieces = pieces[1:]
            continue
        item, pieces = _one(pieces, depth)
        if item is not None and item not in items:
            items.append(item)
    return (items[0] if len(items) == 1 else AllOf(tuple(items)) if items else None), pieces


def _one(pieces: list[str], depth: int) -> tuple[Query | None, list[str]]:
    piece, rest = pieces[0], pieces[1:]
    if piece == "NOT":
        if not rest or rest[0] in ("OR", ")"):
            raise UsageError("NOT needs a word after it")
        item, rest = _one(rest, depth + 1)
        return (None if item is None else NoneOf(item)), rest
    if piece.startswith("-") and not _OPTION.match(piece):
        item, rest = _one([piece[1:], *rest], depth + 1)
        return (None if item is None else NoneOf(item)), rest
    if piece == "(":
        item, rest = _any_of(rest, depth + 1)
        if not rest:
            raise UsageError('the query has an unmatched "("')
        return item, rest[1:]
    return _term(piece), rest


def _term(piece: str) -> Term | None:
    if piece.startswith('"'):
        match = match_phrase(piece)
        return None if match is None else Term(piece.strip('"'), match)
    is_prefix = piece.endswith("*")
    match = match_word(piece.rstrip("*"), is_prefix=is_prefix)
    return None if match is None else Term(piece.rstrip("*"), match, is_prefix, is_plain=not is_prefix)
