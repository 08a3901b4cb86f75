"""What search finds, against a plain scan of the files that uses nothing of the library."""

from __future__ import annotations

import json
import random
import re
import shutil
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.corpora import CORPUS, NO_CORPUS, lines_of

from stenograph.errors import UsageError
from stenograph.index import Filter, IndexStore, TextKind, highlight, open_store, parse_query, scan, search, sync
from stenograph.index.find import _Searching
from stenograph.testing.lines import assistant, encode, text, tool_result, tool_use, user

PROJECT = "-home-user-shop"
ALL = 10**9


def _session_name(number: int) -> str:
    return f"{number:08x}-2222-4333-8444-555555555555"


def _make(home: Path, number: int, lines: list[dict[str, Any]]) -> str:
    project = home / "projects" / PROJECT
    project.mkdir(parents=True, exist_ok=True)
    (project / f"{_session_name(number)}.jsonl").write_bytes(encode(lines))
    return _session_name(number)


def _indexed(home: Path) -> IndexStore:
    store = open_store(None)
    assert sync(store, [home]).pending == 0
    return store


def names(store: IndexStore, query: str, narrowed: Filter | None = None) -> list[str]:
    return [hit.session for hit in search(store, parse_query(query), narrowed or Filter(), now=0.0).hits]


# A plain scan: which texts of a line are searched, and what a word is, said once more and in another way.


def _texts(line: Any) -> Iterator[str]:
    """What a person wrote, a model said and tools were given and gave back, read from plain JSON."""
    if not isinstance(line, dict):
        return
    yield from (line[key] for key in ("summary", "customTitle", "aiTitle", "tag") if isinstance(line.get(key), str))
    message = line.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if line.get("type") not in ("user", "assistant"):
        return
    for block in (
        [{"type": "text", "text": content}] if isinstance(content, str) else content if isinstance(content, list) else []
    ):
        if not isinstance(block, dict):
            continue
        if block.get("type") == "text":
            said = block.get("text") or ""
            # Of what a background task reported, the client's tags around each part are not searched.
            yield re.sub(r"</?[a-z-]+>", " ", said) if re.match("<(task|bash|agent)-notification>", said) else said
        elif block.get("type") == "thinking" and line["type"] == "assistant":
            yield block.get("thinking") or ""
        elif block.get("type") == "tool_use" and line["type"] == "assistant":
            yield from _strings(block.get("input"))
        elif block.get("type") == "tool_result" and line["type"] == "user":
            inside = block.get("content")
            yield from [inside] if isinstance(inside, str) else [b["text"] for b in inside or [] if b.get("type") == "text"]


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _strings(item)


def _plain(words: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFD", words.lower()) if not unicodedata.combining(c))


def _words(words: str) -> set[str]:
    """The words of a text, and those inside camelCase names."""
    found = set(re.findall(r"[a-z0-9]+", _plain(words)))
    for name in re.findall(r"[A-Za-z0-9]+", words):
        if re.search(r"[a-z][A-Z]", name):
            found.update(part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", name))
    return found


@pytest.fixture(scope="module")
def scanned(corpus: Path) -> dict[str, list[str]]:
    """By session: its texts, as a plain scan reads them."""
    found: dict[str, list[str]] = {}
    for path in corpus.rglob("*.jsonl"):
        texts = found.setdefault(path.stem, [])
        for line in lines_of(path):
            try:
                texts.extend(_texts(json.loads(line)))
            except ValueError:
                continue
    return found


def test_every_word_is_found_where_a_plain_scan_finds_it(scanned: dict[str, list[str]], corpus_store: IndexStore) -> None:
    vocabulary: dict[str, set[str]] = {}
    for name, texts in scanned.items():
        for word in {word for each in texts if each.isascii() for word in _words(each)}:
            vocabulary.setdefault(word, set()).add(name)
    chosen = random.Random(11).sample(sorted(vocabulary), 1000)
    missed = {}
    for word in chosen:
        hits = search(corpus_store, parse_query(f'"{word}"'), lines=0)
        found = {name for hit in hits.hits for name in (hit.session, *hit.copies)}
        if lost := vocabulary[word] - found:
            missed[word] = lost
    assert missed == {}


@pytest.mark.proof
def test_every_hit_holds_its_word(scanned: dict[str, list[str]], corpus_store: IndexStore) -> None:
    words = random.Random(12).sample(sorted({word for texts in scanned.values() for each in texts for word in _words(each)}), 60)
    for word in words:
        for hit in search(corpus_store, parse_query(f'"{word}"'), lines=ALL).hits:
            assert hit.lines
            for line in hit.lines:
                assert word in _words(line.text) or word in _plain(line.text), (word, line.kind)


_WIDE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]{2,}")


def _patterns(texts: list[str], count: int) -> Iterator[re.Pattern[str]]:
    """By turns: a piece of some text as it stands, a pattern that one matches, and a few Chinese or Japanese characters."""
    chance = random.Random(13)
    long = [each for each in texts if len(each) > 20]
    wide = [run for each in texts if not each.isascii() for run in _WIDE.findall(each)]
    for number in range(count):
        source = chance.choice(wide if number % 3 == 2 else long)
        start = chance.randrange(max(1, len(source) - 12))
        piece = source[start : start + (2 if number % 3 == 2 else chance.randint(3, 12))]
        if number % 3 == 1:
            some = "".join(r"\w" if c.isalnum() and chance.random() < 0.3 else re.escape(c) for c in piece)
            yield re.compile(chance.choice([some, f"{some}.*", f"(?:{some})+", f"{some}|\x00"]))
        else:
            yield re.compile(re.escape(piece))


def test_substrings_and_patterns_are_found_where_a_plain_scan_finds_them(
    corpus: Path, scanned: dict[str, list[str]], request: pytest.FixtureRequest
) -> None:
    """Nothing missed, nothing false; with --full 300 of them in all sessions, else some in small ones."""
    is_full = request.config.getoption("--full")
    limit = 10**9 if is_full else 60_000
    small = [path for path in corpus.rglob("*.jsonl") if path.stat().st_size < limit and (is_full or path.stat().st_size > 9_000)]
    store = open_store(None)
    home = corpus.parent / "small"
    for path in small:
        target = home / path.relative_to(corpus)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    sync(store, [home])
    texts = {path.stem: scanned[path.stem] for path in small}
    for pattern in _patterns([each for some in texts.values() for each in some], 300 if is_full else 24):
        expected = {name for name, some in texts.items() if any(pattern.search(each) for each in some)}
        hits = scan(store, pattern, lines=1).hits
        assert expected <= {name for hit in hits for name in (hit.session, *hit.copies)}, pattern.pattern
        assert all(pattern.search(hit.lines[0].text) for hit in hits), pattern.pattern
    shutil.rmtree(home)


@pytest.mark.parametrize("present", [True] if any(CORPUS.rglob("*.jsonl")) else [NO_CORPUS])
def test_the_corpus_is_there(present: bool) -> None:
    assert present


# The query language


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    _make(tmp_path, 1, [user("u1", "Drop Redis and keep carts in Postgres"), assistant("a1", "m1", [text("Done")], "u1")])
    _make(tmp_path, 2, [user("v1", "Why is redis slow?"), assistant("b1", "m2", [text("It is not: Postgres is")], "v1")])
    _make(tmp_path, 3, [user("w1", "Rename getUserName"), assistant("c1", "m3", [text("Café 数据库 user_name")], "w1")])
    return tmp_path


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("redis", {1, 2}),
        ("REDIS postgres", {1, 2}),
        ("redis drop", {1}),
        ('"drop redis"', {1}),
        ('"redis drop"', set()),
        ("redis -slow", {1}),
        ("redis NOT slow", {1}),
        ("carts OR slow", {1, 2}),
        ("(carts OR slow) AND NOT drop", {2}),
        ("post*", {1, 2}),
        ("post", set()),
        ("getusername", {3}),
        ("username", set()),
        ("userName", {3}),
        ("user", {3}),
        ("user_name", {3}),
        ("cafe", {3}),
        ("数据", {3}),
        ("据库", {3}),
        ("数库", set()),
    ],
)
def test_a_query_finds(shop: Path, query: str, expected: set[int]) -> None:
    assert set(names(_indexed(shop), query)) == {_session_name(number) for number in expected}


@pytest.mark.parametrize("query", ["", "-", '"unended', "(redis", "redis)", "NOT", "...", "-redis", "NOT redis"])
def test_a_query_that_cannot_be_understood_is_refused(query: str) -> None:
    with pytest.raises(UsageError):
        parse_query(query)


def test_where_no_session_has_all_words_those_with_most_are_listed(shop: Path) -> None:
    found = search(_indexed(shop), parse_query("postgres carts elephants"))
    assert found.is_partial
    assert [hit.session for hit in found.hits] == [_session_name(1)]
    assert found.missing == ("elephants",)
    assert search(_indexed(shop), parse_query("postgres carts")).missing == ()


def test_a_prompt_ranks_above_output_and_together_above_apart(tmp_path: Path) -> None:
    in_output = [
        user("u1", "Go"),
        assistant("a1", "m1", [tool_use("t1")], "u1"),
        user("r1", [tool_result("t1", "blue whale")], "a1"),
    ]
    _make(tmp_path, 1, in_output)
    _make(tmp_path, 2, [user("u2", "Draw a blue whale"), assistant("a2", "m2", [text("Done")], "u2")])
    _make(tmp_path, 3, [user("u3", "Something blue"), assistant("a3", "m3", [text("Like a whale?")], "u3")])
    assert names(_indexed(tmp_path), "blue whale")[0] == _session_name(2)
    assert names(_indexed(tmp_path), '"blue whale"') == [_session_name(2), _session_name(1)]


@pytest.mark.parametrize("ranked", [2, 1])
def test_a_word_that_is_everywhere_finds_the_same_and_ranks_what_was_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ranked: int
) -> None:
    in_output = [
        user("u1", "Go"),
        assistant("a1", "m1", [tool_use("t1")], "u1"),
        user("r1", [tool_result("t1", "whale whale whale")], "a1"),
        user("u3", "Go on", "r1"),
    ]
    _make(tmp_path, 1, in_output)
    _make(tmp_path, 2, [user("u2", "Draw a whale"), assistant("a2", "m2", [text("Here is a whale")], "u2")])
    _make(tmp_path, 3, [user("u4", "Draw a walrus"), assistant("a4", "m4", [text("Done")], "u4")])
    store = _indexed(tmp_path)
    monkeypatch.setattr("stenograph.index.find._FREQUENT", 1)
    monkeypatch.setattr("stenograph.index.find._RANKED", ranked)
    found = search(store, parse_query("whale"))
    assert [(hit.session, hit.matches, len(hit.lines)) for hit in found.hits] == [
        (_session_name(2), 2, 2),
        (_session_name(1), 1, 1),
    ]
    assert (found.total, found.lines) == (2, 3)
    assert found.hits[0].lines[0].text == "Draw a whale"
    assert [hit.session for hit in search(store, parse_query("draw whale")).hits] == [_session_name(2)]
    only_output = Filter(kinds=frozenset({TextKind.OUTPUT}))
    assert [hit.session for hit in search(store, parse_query("whale"), only_output).hits] == [_session_name(1)]


def test_a_search_sees_one_state_of_the_store_whatever_others_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _make(tmp_path, 1, [user("u1", "Draw a whale"), assistant("a1", "m1", [text("Here is a whale")], "u1")])
    path = tmp_path / "index.sqlite"
    store, other = open_store(path), open_store(path)
    sync(store, [tmp_path])
    monkeypatch.setattr("stenograph.index.find._FREQUENT", 1)
    matching = _Searching._matching

    def then_all_is_deleted(self: _Searching, match: str) -> list[int]:
        found = matching(self, match)
        with other.writing() as db:
            for table in ("docs", "doc_spans", "sqlite_sequence", "sessions"):
                db.execute(f"DELETE FROM {table}")
            db.execute("INSERT INTO text (text) VALUES ('delete-all')")
        return found

    monkeypatch.setattr(_Searching, "_matching", then_all_is_deleted)
    assert [hit.matches for hit in search(store, parse_query("whale")).hits] == [2]
    assert search(store, parse_query("whale")).hits == ()


@pytest.mark.parametrize("table", ["docs", "sessions"])
def test_what_another_process_forgets_meanwhile_is_left_out(shop: Path, monkeypatch: pytest.MonkeyPatch, table: str) -> None:
    store = _indexed(shop)
    best_docs = _Searching.best_docs

    def forget_first(self: _Searching, *asked: Any) -> dict[int, list[int]]:
        chosen = best_docs(self, *asked)
        store.connection.execute(f"DELETE FROM {table}")
        return chosen

    monkeypatch.setattr(_Searching, "best_docs", forget_first)
    assert [line for hit in search(store, parse_query("redis")).hits for line in hit.lines] == []


def test_copies_of_a_line_are_one_hit(tmp_path: Path) -> None:
    lines = [user("u1", "Only one walrus"), assistant("a1", "m1", [text("Done")], "u1")]
    for number in (1, 2, 3):
        _make(tmp_path, number, lines)
    (hit,) = search(_indexed(tmp_path), parse_query("walrus")).hits
    assert {hit.session, *hit.copies} == {_session_name(number) for number in (1, 2, 3)}


@pytest.mark.parametrize(
    ("narrowed", "expected"),
    [
        (Filter(kinds=frozenset({TextKind.PROMPT})), {1}),
        (Filter(kinds=frozenset({TextKind.INPUT, TextKind.OUTPUT})), {2}),
        (Filter(tool="bash"), {2}),
        (Filter(tool="Read"), set()),
        (Filter(only_errors=True), {2}),
        (Filter(file="src/shop"), {2}),
        (Filter(file="elsewhere"), set()),
        (Filter(branch="main"), {1}),
        (Filter(project="SHOP"), {1, 2}),
        (Filter(project="other"), set()),
        (Filter(sessions=frozenset({f"{2:08x}-2222-4333-8444-555555555555"})), {2}),
        (Filter(since=1767261600.0), {1, 2}),  # 2026-01-01T10:00:00Z
        (Filter(since=1767261601.0), {2}),
        (Filter(until=1767261601.0), {1}),
    ],
)
def test_filters(tmp_path: Path, narrowed: Filter, expected: set[int]) -> None:
    _make(
        tmp_path,
        1,
        [user("u1", "A walrus", gitBranch="main", cwd="/home/user/shop"), assistant("a1", "m1", [text("Done")], "u1")],
    )
    failed = user("r1", [tool_result("t1", "no walrus", is_error=True)], "a2", timestamp="2026-01-01T10:00:05Z")
    used = tool_use("t1", "Bash", command="ls walrus", file_path="/home/user/src/shop.py")
    _make(tmp_path, 2, [user("u2", "Go", cwd="/home/user/shop"), assistant("a2", "m2", [used], "u2"), failed])
    assert set(names(_indexed(tmp_path), "walrus", narrowed)) == {_session_name(number) for number in expected}


def test_matches_are_highlighted_as_words() -> None:
    assert highlight("Redis, not redistribute", parse_query("redis")) == ((0, 5),)
    assert highlight("call get_user_name()", parse_query("getUserName")) == ((5, 18),)
    assert highlight("Ein Café", parse_query("cafe")) == ((4, 8),)


def test_reports_of_background_tasks_are_notes_without_tags(tmp_path: Path) -> None:
    report = "<task-notification>\n<task-id>b1</task-id>\n<summary>Quokka tests passed</summary>\n</task-notification>"
    queued = {"type": "queued_command", "prompt": report.replace("Quokka", "Wombat"), "commandMode": "task-notification"}
    lines = [user("u1", "Start it"), user("u2", report), {"type": "attachment", "uuid": "u3", "attachment": queued}]
    _make(tmp_path, 1, lines)
    store = _indexed(tmp_path)
    for word in ("quokka", "wombat"):
        (hit,) = search(store, parse_query(word)).hits
        found = [(line.kind, " ".join(line.text.split())) for line in hit.lines]
        assert found == [(TextKind.NOTE, f"b1 {word.capitalize()} tests passed")]


@pytest.mark.parametrize("query", ["cart* cart*", "cart* OR cart*", "(cart* cart*) OR cart*"])
def test_a_word_that_is_repeated_is_sought_once(query: str) -> None:
    assert parse_query(query) == parse_query("cart*")
