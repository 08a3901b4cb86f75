"""A query -> the sessions that match it, the one that is meant first.

A session matches where its lines, those of its subagents included, hold all that the query asks for, or most words of a
sentence. Lines that hold all of it at once count more than those that hold it apart; titles and prompts more than answers,
answers more than what tools printed; what is recent more than what is old. Copies of one line in several sessions are one hit.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, islice
from pathlib import Path

import msgspec
from msgspec import Struct

from stenograph.disk import read_lines, redacted_repr
from stenograph.errors import DiskError
from stenograph.index.conditions import EVERYTHING, Filter, conditions_of, without_all_homes
from stenograph.index.highlights import Sought, highlight, worth
from stenograph.index.kinds import TextKind
from stenograph.index.patterns import BoundedPattern
from stenograph.index.query import AllOf, AnyOf, NoneOf, Query, Term, relaxed, terms_of
from stenograph.index.sources import FilePart
from stenograph.index.store import IndexStore
from stenograph.index.texts import named_values_of, texts_of
from stenograph.inputs import InputReader
from stenograph.records import decode, read_records

_WEIGHT = {
    TextKind.PROMPT: 6.0,
    TextKind.ANSWER: 3.0,
    TextKind.THINKING: 1.0,
    TextKind.INPUT: 1.5,
    TextKind.OUTPUT: 0.7,
    TextKind.TITLE: 10.0,
    TextKind.NOTE: 0.2,
}
_WEIGHTS = ", ".join(str(_WEIGHT[kind]) for kind in TextKind)
# Tuned on `tests/index/queries.json`, and on the same sentences with a word more that the session does not hold.
_TOGETHER = 3.0
_MOST = 0.6
_SHARED = 0.5
_RECENT_DAYS = 30.0
_RECENT = 0.6
_DAY = 86_400.0
_LOWEST = 1e-9
# Lines that match a word, from which on not all of them are ranked.
_FREQUENT = 20_000
_ASKED = "prompt title"
_ANSWERED = "answer"
# So many lines that were asked or answered are ranked, else only those that were asked.
_RANKED = 5_000
# BM25's, as SQLite has it.
_K1 = 1.2
# Most lines are shorter than this, in bytes.
_LINE = 1 << 14
# Of a spilled result, so many characters on both sides of a match.
_AROUND = 2_000


@redacted_repr
class HitLine(Struct, frozen=True):
    """A line that matches."""

    #: The session's own file, or a subagent's.
    file: Path
    agent: str | None
    line: int
    #: None: before the first turn, or in a subagent of which nothing says what started it.
    turn: int | None
    #: In seconds since 1970.
    time: float | None
    kind: TextKind
    #: The whole text; empty where the file has changed since.
    text: str
    #: Parts of it that may be secrets because of their names, which the text goes without: name, value.
    named: tuple[tuple[str, str], ...] = ()
    #: Of a tool's input or output: its name.
    tool: str | None = None


@redacted_repr
class Hit(Struct, frozen=True):
    """A session that matches, and the lines that match best."""

    session: str
    path: Path
    title: str | None
    project: str | None
    branch: str | None
    release: str | None
    #: Of all branches.
    turns: int
    #: Of its last change, in seconds since 1970.
    ended: float
    lines: tuple[HitLine, ...]
    #: How many of its lines match.
    matches: int
    score: float
    #: Other sessions with the same conversation: forks, clones and continuations.
    copies: tuple[str, ...] = ()
    #: Its file is gone: only the archive has it.
    archived: bool = False


class Found(Struct, frozen=True):
    """What a search found. `is_partial`: no session holds all words, so those are listed that hold most of them."""

    hits: tuple[Hit, ...]
    #: Sessions and lines that match, those beyond the limit included.
    total: int
    lines: int
    is_partial: bool = False
    #: The words that no session holds, where that is so.
    missing: tuple[str, ...] = ()


class _Match(Struct):
    score: float
    doc: int
    lines: int


_Matches = dict[int, _Match]


def search(
    store: IndexStore,
    query: Query,
    narrowed: Filter = EVERYTHING,
    *,
    limit: int | None = None,
    lines: int = 3,
    newest: bool = False,
    now: float | None = None,
) -> Found:
    """The sessions that match a query, best or newest first, each with its best lines."""
    now = time.time() if now is None else now
    with store.reading():
        searching = _Searching(store, narrowed, lines)
        terms = list(relaxed(query) or terms_of(query))
        shares: dict[int, float] = {}
        is_partial = False
        if relaxed(query):
            query = AllOf(tuple(terms))
            matches, shares = searching.sentence(terms)
            is_partial = 1.0 not in shares.values()
        else:
            matches = searching.evaluate(query)
        if not matches and isinstance(query, AllOf) and all(isinstance(item, Term) for item in query.items):
            matches, is_partial = searching.most_of(query.items), True
        if isinstance(query, AllOf) and len(terms) > 1 and matches:
            for session, together in searching.together(terms).items():
                if session in matches:
                    score = (matches[session].score + _TOGETHER * together.score) * shares.get(session, 1.0) ** _SHARED
                    matches[session] = _Match(score, together.doc, matches[session].lines)
        ranked = searching.ranked(matches, now)
        if newest:
            ranked = searching.by_age(ranked)
        shown = ranked[:limit]
        docs = searching.best_docs([session for session, _ in shown], matches, terms)
        return Found(
            tuple(hit for row in shown for hit in searching.describe(row, matches[row[0]], docs[row[0]], query)),
            len(ranked),
            sum(matches[session].lines for session, _ in ranked),
            is_partial and bool(ranked),
            searching.missing(terms) if is_partial and ranked else (),
        )


def matching_lines(store: IndexStore, query: Query, narrowed: Filter = EVERYTHING) -> dict[int, int]:
    """How many lines of each session match a query, by the session's row, of the files of one conversation by one of them."""
    with store.reading():
        searching = _Searching(store, narrowed, 0)
        matches = searching.sentence(loose)[0] if (loose := relaxed(query)) else searching.evaluate(query)
        return {session: matches[session].lines for session, _ in searching.ranked(matches, 0.0)}


def scan(
    store: IndexStore,
    pattern: re.Pattern[str] | BoundedPattern,
    narrowed: Filter = EVERYTHING,
    *,
    limit: int | None = None,
    lines: int = 3,
    now: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Found:
    """The sessions with a text that a regular expression matches, best first. Reads every line that the filter leaves."""
    searching = _Searching(store, narrowed, lines)
    found: dict[int, list[tuple[float, int]]] = {}
    files = searching.files()
    for number, (file, path, session, part) in enumerate(files):
        if progress is not None:
            progress(number, len(files))
        for doc, texts in searching.texts(file, path, part):
            if best := max((_WEIGHT[kind] for kind, text in texts if pattern.search(text)), default=0.0):
                found.setdefault(session, []).append((best, doc))
    matches = {
        session: _Match(max(docs)[0], max(docs, key=lambda each: (each[0], -each[1]))[1], len(docs))
        for session, docs in found.items()
    }
    ranked = searching.ranked(matches, time.time() if now is None else now)
    return Found(
        tuple(
            hit
            for row in ranked[:limit]
            for hit in searching.describe(
                row,
                matches[row[0]],
                [doc for _, doc in sorted(found[row[0]], key=lambda each: (-each[0], each[1]))[:lines]],
                pattern,
            )
        ),
        len(ranked),
        sum(matches[session].lines for session, _ in ranked),
    )


class _Searching:
    def __init__(self, store: IndexStore, narrowed: Filter, lines: int) -> None:
        self._lines = lines
        self._db = store.connection
        self._place_of = store.place_of
        self._kinds = narrowed.kinds
        self._columns = " ".join(kind.name.lower() for kind in sorted(narrowed.kinds))
        self._where, self._values = conditions_of(without_all_homes(self._db, narrowed))
        self._matched: dict[str, list[int]] = {}
        self._copies: dict[int, list[str]] = {}
        self._tools: dict[int, dict[int, str]] = {}

    def evaluate(self, query: Query) -> _Matches:
        match query:
            case Term(match=expression):
                return self.find(expression)
            case AnyOf(items):
                found: _Matches = {}
                for item in items:
                    for session, match in self.evaluate(item).items():
                        found[session] = _best(found.get(session), match)
                return found
            case AllOf(items):
                wanted = [self.evaluate(item) for item in items if not isinstance(item, NoneOf)]
                refused = [self.evaluate(item.item) for item in items if isinstance(item, NoneOf)]
                if not wanted:
                    return {}
                sessions = set.intersection(*(set(each) for each in wanted)).difference(*refused)
                return {session: _summed([each[session] for each in wanted]) for session in sessions}
        return {}

    def sentence(self, terms: Sequence[Query]) -> tuple[_Matches, dict[int, float]]:
        """The sessions that hold most words of a sentence, and the share of words that each holds.

        People remember what a session was about, not each word: one that they got wrong must not hide the session behind large
        ones that happen to hold all of them.
        """
        held = {session: each for session, each in self._held(terms).items() if len(each) >= _MOST * len(terms)}
        shares = {session: len(each) / len(terms) for session, each in held.items()}
        return {session: _summed(each) for session, each in held.items()}, shares

    def most_of(self, terms: Sequence[Query]) -> _Matches:
        """The sessions that hold the greatest number of terms, at least half of them."""
        held = self._held(terms)
        most = max((len(each) for each in held.values()), default=0)
        if most * 2 < len(terms):
            return {}
        return {session: _summed(each) for session, each in held.items() if len(each) == most}

    def missing(self, terms: Sequence[Term]) -> tuple[str, ...]:
        """The terms that no session holds."""
        return tuple(term.text for term in terms if not self.evaluate(term))

    def _held(self, terms: Sequence[Query]) -> dict[int, list[_Match]]:
        held: dict[int, list[_Match]] = {}
        for term in terms:
            for session, match in self.evaluate(term).items():
                held.setdefault(session, []).append(match)
        return held

    def find(self, match: str) -> _Matches:
        """By session: the best line that holds a term, by its FTS5 expression, and how many lines hold it.

        Ranking a line costs twenty times as much as finding it. Of a word that very many lines hold, it says little how often one
        has it: what kind of text holds it is enough.
        """
        whole = self._in_columns(match)
        docs = self._matching(whole)
        if self._kinds or len(docs) <= _FREQUENT:
            return self._rank(whole)
        found = {session: _Match(_LOWEST, own[0], len(own)) for session, own in sorted(self._by_session(docs).items())}
        (made,) = self._db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'docs'").fetchone()
        rarity = max(math.log((made - len(docs) + 0.5) / (len(docs) + 0.5)), _LOWEST)
        for columns, weight in ((_ANSWERED, _WEIGHT[TextKind.ANSWER]), (_ASKED, _WEIGHT[TextKind.PROMPT])):
            # As BM25 has it for one occurrence in a line of average length.
            score = rarity * weight * (_K1 + 1) / (weight + _K1)
            for session, own in self._by_session(self._matching(f"{{{columns}}} : ({match})")).items():
                if session in found:
                    found[session] = _Match(max(score, _LOWEST), own[0], found[session].lines)
        return found

    def together(self, terms: Sequence[Term]) -> _Matches:
        """By session: the best line for some terms at once.

        Where very many lines hold one, only those are ranked that hold it in a title, a prompt or an answer: what tools printed
        would come after them anyway. Where these are many too, answers are not ranked either.
        """
        match = " OR ".join(term.match for term in terms)
        whole = self._in_columns(match)
        if self._kinds or len(self._matching(whole)) <= _FREQUENT:
            return self._rank(whole)
        said = f"{{{_ANSWERED} {_ASKED}}} : ({match})"
        return self._rank(said if self._count(said) <= _RANKED else f"{{{_ASKED}}} : ({match})")

    def _count(self, match: str) -> int:
        return int(self._db.execute("SELECT count(*) FROM text WHERE text MATCH ?", (match,)).fetchone()[0])

    def _matching(self, match: str) -> list[int]:
        """The documents that an FTS5 expression matches, in order. As one text: a row for each would take five times as long."""
        if (docs := self._matched.get(match)) is None:
            listed = self._db.execute("SELECT group_concat(rowid) FROM text WHERE text MATCH ?", (match,)).fetchone()[0]
            docs = self._matched[match] = _numbers(f"[{listed or ''}]")
        return docs

    def _by_session(self, docs: Sequence[int], among: Sequence[int] | None = None) -> dict[int, list[int]]:
        """Documents by session, those that the filter leaves. Without a filter they are not looked up one by one."""
        found: dict[int, list[int]] = {}
        if self._where:
            rows = self._db.execute(
                "SELECT group_concat(docs.session), group_concat(docs.id) FROM json_each(?) AS found"
                " CROSS JOIN docs ON docs.id = found.value JOIN sessions ON sessions.id = docs.session"
                f"{self._where} AND (? IS NULL OR docs.session IN (SELECT value FROM json_each(?)))",
                (str(docs), *self._values, *[None if among is None else str(among)] * 2),
            )
            sessions, left = (_numbers(f"[{listed or ''}]") for listed in rows.fetchone())
            for session, doc in zip(sessions, left, strict=True):
                found.setdefault(session, []).append(doc)
            return found
        chosen = None if among is None else set(among)
        for first, last, session in self._spans:
            if chosen is not None and session not in chosen:
                continue
            begin = bisect_left(docs, first)
            if begin < len(docs) and docs[begin] <= last:
                found.setdefault(session, []).extend(docs[begin : bisect_right(docs, last, begin)])
        return found

    @cached_property
    def _spans(self) -> list[tuple[int, int, int]]:
        return self._db.execute("SELECT first, last, session FROM doc_spans ORDER BY first").fetchall()

    def _rank(self, match: str) -> _Matches:
        rows = self._db.execute(
            "SELECT docs.session, min(found.score), docs.id, count(*)"
            f" FROM (SELECT rowid AS id, bm25(text, {_WEIGHTS}) AS score FROM text WHERE text MATCH ? LIMIT -1) AS found"
            " CROSS JOIN docs ON docs.id = found.id JOIN sessions ON sessions.id = docs.session"
            f"{self._where} GROUP BY docs.session",
            (match, *self._values),
        )
        return {session: _Match(max(-score, _LOWEST), doc, lines) for session, score, doc, lines in rows}

    def _in_columns(self, match: str) -> str:
        return f"{{{self._columns}}} : ({match})" if self._columns else match

    def ranked(self, matches: _Matches, now: float) -> list[tuple[int, float]]:
        """Sessions with their scores, best first; of the files of one conversation the best, of equals the newest."""
        chosen: list[tuple[int, float]] = []
        owners: dict[tuple[str, int], int] = {}
        rows = []
        for session, name, ended, conversation, uuid in self._db.execute(
            "SELECT sessions.id, sessions.name, sessions.ended, sessions.conversation, docs.uuid FROM json_each(?) AS best"
            " CROSS JOIN docs ON docs.id = best.value JOIN sessions ON sessions.id = docs.session",
            (str([match.doc for match in matches.values()]),),
        ):
            age = max(0.0, now - (ended or 0.0)) / _DAY
            keys = [("conversation", conversation), ("line", uuid)]
            score = matches[session].score * (1 + _RECENT * 0.5 ** (age / _RECENT_DAYS))
            rows.append((score, ended or 0.0, session, name, keys))
        for score, _, session, name, keys in sorted(rows, key=lambda row: (-row[0], -row[1])):
            known = [key for key in keys if key[1] is not None]
            owner = next((owners[key] for key in known if key in owners), session)
            for key in known:
                owners.setdefault(key, owner)
            if owner == session:
                chosen.append((session, score))
            else:
                self._copies.setdefault(owner, []).append(name)
        return chosen

    def by_age(self, ranked: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
        """The last changed first."""
        ended = dict(self._db.execute("SELECT id, ended FROM sessions").fetchall())
        return sorted(ranked, key=lambda row: -(ended[row[0]] or 0.0))

    def describe(self, row: tuple[int, float], match: _Match, docs: Sequence[int], sought: Sought) -> Iterator[Hit]:
        """Nothing of a session that another process has just forgotten."""
        session, score = row
        facts = self._db.execute(
            "SELECT name, path, title, project, branch, release, turns, ended FROM sessions WHERE id = ?", (session,)
        ).fetchone()
        if facts is None:
            return
        name, path, title, project, branch, release, turns, ended = facts
        yield Hit(
            session=name,
            path=Path(os.fsdecode(path)),
            title=title,
            project=project,
            branch=branch,
            release=release,
            turns=turns,
            ended=ended or 0.0,
            lines=_each_once(line for doc in docs if (line := self._line(session, doc, sought)) is not None),
            matches=match.lines,
            score=score,
            copies=tuple(self._copies.get(session, ())),
            archived=not os.path.lexists(path),
        )

    def best_docs(self, sessions: Sequence[int], matches: _Matches, terms: Sequence[Term]) -> dict[int, list[int]]:
        """By session: the best line, and others that hold some of the terms. Only lines of these sessions are ranked."""
        best = {session: [matches[session].doc] if self._lines else [] for session in sessions}
        if self._lines < 2 or not sessions:
            return best
        match = self._in_columns(" OR ".join(term.match for term in terms))
        matching = self._matching(match)
        if len(terms) == 1 and len(matching) > _FREQUENT and not self._kinds:
            listed = (self._matching(f"{{{columns}}} : ({match})") for columns in (_ASKED, _ANSWERED))
            kinds = [self._by_session(docs, sessions) for docs in (*listed, matching)]
            for session, docs in best.items():
                others = chain.from_iterable(kind.get(session, ()) for kind in kinds)
                docs += islice((doc for doc in dict.fromkeys(others) if doc not in docs), self._lines - 1)
            return best
        owners = {doc: session for session, docs in self._by_session(matching, sessions).items() for doc in docs}
        rows = self._db.execute(
            f"SELECT rowid, bm25(text, {_WEIGHTS}) AS score FROM text"
            " WHERE text MATCH ? AND +rowid IN (SELECT value FROM json_each(?)) ORDER BY score",
            (match, str(list(owners))),
        )
        for doc, _ in rows:
            docs = best[owners[doc]]
            if len(docs) < self._lines and doc not in docs:
                docs.append(doc)
        return best

    def files(self) -> list[tuple[int, Path, int, FilePart]]:
        """The files with a line that the filter leaves."""
        rows = self._db.execute(
            "SELECT DISTINCT files.id, files.path, docs.session, files.part FROM docs JOIN files ON files.id = docs.file"
            f" JOIN sessions ON sessions.id = docs.session{self._where}",
            self._values,
        )
        return [(file, Path(os.fsdecode(path)), session, FilePart(part)) for file, path, session, part in rows]

    def texts(self, file: int, path: Path, part: FilePart) -> Iterator[tuple[int, list[tuple[TextKind, str]]]]:
        """The texts of those lines of a file that the filter leaves."""
        rows = self._db.execute(
            f"SELECT docs.offset, docs.id FROM docs JOIN sessions ON sessions.id = docs.session{self._where}"
            f"{' AND' if self._where else ' WHERE'} docs.file = ?",
            (*self._values, file),
        )
        docs = dict(rows.fetchall())
        inputs = InputReader()
        path = self._place_of(path)
        with contextlib.suppress(DiskError):
            if part is FilePart.RESULT:
                from stenograph.index.reading import read_result

                if docs and (not self._kinds or TextKind.OUTPUT in self._kinds):
                    yield docs[0], [(TextKind.OUTPUT, read_result(path))]
                return
            for located in read_records(path):
                understood = inputs.read(located.record)
                if (doc := docs.get(located.offset)) is not None:
                    texts = list(texts_of(located.record, understood))
                    yield doc, [each for each in texts if not self._kinds or each[0] in self._kinds]

    def _line(self, session: int, doc: int, sought: Sought) -> HitLine | None:
        """None for a line that another process has just forgotten."""
        row = self._db.execute(
            "SELECT files.id, files.path, files.part, files.name, files.agent, docs.offset, docs.line, docs.time"
            " FROM docs JOIN files ON files.id = docs.file WHERE docs.id = ?",
            (doc,),
        ).fetchone()
        if row is None:
            return None
        file, path, part, name, agent, offset, line, when = row
        source = Path(os.fsdecode(path))
        if part == FilePart.RESULT:
            from stenograph.index.reading import read_result

            with contextlib.suppress(DiskError):
                text = read_result(self._place_of(source))
                at = next(iter(highlight(text, sought)), (0, 0))[0]
                begin, end = max(0, at - _AROUND), at + _AROUND
                return HitLine(
                    source, agent, text.count("\n", 0, at) + 1, self._turn(session, self._spilled_at(session, name)), when,
                    TextKind.OUTPUT, text[begin:end],
                )  # fmt: skip
        texts, named = _read_texts(self._place_of(source), offset)
        texts = [each for each in texts if not self._kinds or each[0] in self._kinds]
        kind, text = max(texts, key=lambda each: worth(each[1], sought), default=(TextKind.NOTE, ""))
        turn = self._turn(session, offset if agent is None else self._started_at(session, agent))
        tool = self._tool(file, offset) if kind in (TextKind.INPUT, TextKind.OUTPUT) else None
        return HitLine(source, agent, line, turn, when, kind, text, tuple(named), tool)

    def _tool(self, file: int, offset: int) -> str | None:
        """The tool whose call or result a line is."""
        if (tools := self._tools.get(file)) is None:
            tools = self._tools[file] = {}
            for name, used, answered in self._db.execute("SELECT name, used, answered FROM calls WHERE file = ?", (file,)):
                for place in (used, answered):
                    tools.setdefault(place, name)
        return tools.get(offset)

    def _spilled_at(self, session: int, name: str) -> int | None:
        """Where the call is whose result is in a file; in a subagent, where the subagent was started."""
        row = self._db.execute(
            "SELECT calls.used, files.agent FROM calls JOIN files ON files.id = calls.file"
            " WHERE files.session = ? AND calls.spilled = ? LIMIT 1",
            (session, name),
        ).fetchone()
        if row is None:
            return None
        return int(row[0]) if row[1] is None else self._started_at(session, row[1])

    def _turn(self, session: int, offset: int | None) -> int | None:
        if offset is None:
            return None
        row = self._db.execute(
            "SELECT number FROM turns WHERE session = ? AND offset <= ? ORDER BY offset DESC LIMIT 1", (session, offset)
        ).fetchone()
        return row[0] if row else None

    def _started_at(self, session: int, agent: str) -> int | None:
        """Where the tool call is that started a subagent, as far as its result names it."""
        row = self._db.execute(
            "SELECT min(docs.offset) FROM docs JOIN files ON files.id = docs.file"
            " WHERE docs.session = ? AND files.agent IS NULL AND docs.id IN (SELECT rowid FROM text WHERE text MATCH ?)",
            (session, f'"{agent}"'),
        ).fetchone()
        return row[0] if row else None


_numbers = msgspec.json.Decoder(list[int]).decode


def _each_once(lines: Iterable[HitLine]) -> tuple[HitLine, ...]:
    """Without those that say again what another one said: titles are written over and over."""
    return tuple({(line.kind, line.text): line for line in reversed(list(lines))}.values())[::-1]


def _best(one: _Match | None, other: _Match) -> _Match:
    if one is None:
        return other
    best = one if one.score >= other.score else other
    return _Match(one.score + other.score, best.doc, one.lines + other.lines)


def _summed(matches: Sequence[_Match]) -> _Match:
    best = max(matches, key=lambda match: match.score)
    return _Match(sum(match.score for match in matches), best.doc, max(match.lines for match in matches))


def _read_texts(path: Path, offset: int) -> tuple[list[tuple[TextKind, str]], list[tuple[str, str]]]:
    """The texts of the line at a place, and its named values; none where the file is gone or has changed."""
    try:
        line = next(iter(read_lines(path, offset, block_size=_LINE)), None)
    except DiskError:
        return [], []
    if line is None:
        return [], []
    record = decode(line.data)
    return list(texts_of(record, InputReader().read(record))), named_values_of(record)
