"""The partial read of usage says what the full reader says, on every session there is, and takes odd lines as they come."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.corpora import CORPUS, FIXTURES, ROOT

from stenograph.disk import read_line_blocks, read_lines
from stenograph.records import SYNTHETIC, TokenCounts, UsageLine, characters_written, read_records, usage_lines
from stenograph.records.conversation import AssistantRecord

FILES = [
    path
    for folder in (FIXTURES / "recorded", ROOT / "recordings" / "2.0.76", CORPUS / "public")
    for path in sorted(folder.rglob("*.jsonl"))
]
USAGE = {"input_tokens": 5, "output_tokens": 7, "cache_creation_input_tokens": 11, "cache_read_input_tokens": 13}


def _full(path: Path) -> Iterator[tuple[int, object, object, int, int, int]]:
    """By the full reader: place, id, model and counts."""
    for located in read_records(path):
        record = located.record
        if isinstance(record, AssistantRecord) and record.message and record.message.usage:
            usage, message = record.message.usage, record.message
            if message.model != SYNTHETIC:
                counts = (usage.input_tokens or 0, usage.output_tokens or 0, usage.cache_read_input_tokens or 0)
                yield located.offset, message.id or None, record.requestedModel or message.model or "", *counts


def _partial(path: Path) -> Iterator[tuple[int, object, object, int, int, int]]:
    for offset, block in read_line_blocks(path, block_size=100_000):
        for line in usage_lines(block, offset):
            message = line.message
            if message is None:
                assert line.client_total is not None
                continue
            assert message.usage is not None
            if line.is_copy and line.isSidechain:
                continue  # what a progress line repeats
            tokens = message.usage.tokens()
            model = line.requestedModel or message.model or ""
            yield line.start, message.id or None, model, tokens.input, tokens.output, tokens.cache_read


def test_the_partial_reader_finds_what_the_full_one_does() -> None:
    assert len(FILES) > 100
    for path in FILES:
        assert list(_partial(path)) == list(_full(path)), path


def test_blocks_are_whole_lines_and_hold_every_byte(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"a\n" * 50 + b"b" * 5000 + b"\n" + b"c\n" * 9 + b"torn")
    blocks = list(read_line_blocks(path, block_size=64))
    assert b"".join(data for _, data in blocks) == path.read_bytes()
    assert all(data.endswith(b"\n") for _, data in blocks[:-1])
    starts = {line.offset for line in read_lines(path)}
    assert all(offset in starts for offset, _ in blocks)


def _read(usage: Any = USAGE, **members: Any) -> UsageLine | None:
    message = {"id": "m", "model": "x", "usage": usage, "content": [{"type": "tool_use", "name": "Bash"}, {"type": "text"}]}
    line = {"type": "assistant", "message": message | members.pop("message", {}), **members}
    found = list(usage_lines(b"junk\n" + json.dumps(line).encode() + b"\n", 100))
    assert len(found) < 2
    return found[0] if found else None


def _tokens(usage: Any) -> TokenCounts:
    line = _read(usage)
    assert line is not None
    assert line.message is not None
    assert line.message.usage is not None
    return line.message.usage.tokens()


def test_a_line_says_where_it_is_and_which_tools_it_calls() -> None:
    line = _read()
    assert line is not None
    assert (line.start, line.tools()) == (105, ["Bash"])


@pytest.mark.parametrize("odd", [-1, 10**12, "7", 1.5, None, [], True])
def test_a_count_that_is_not_one_is_zero_and_the_others_count(odd: Any) -> None:
    assert _tokens(USAGE | {"input_tokens": odd}) == TokenCounts(0, 7, 13, 11, 0)


@pytest.mark.parametrize(
    ("split", "expected"),
    [
        ({"ephemeral_5m_input_tokens": 4, "ephemeral_1h_input_tokens": 7}, (4, 7)),
        (None, (11, 0)),
        ({"ephemeral_1h_input_tokens": 20}, (0, 11)),  # the total counts
        ("odd", (11, 0)),
    ],
)
def test_cache_writes_are_split_by_how_long_they_last(split: Any, expected: tuple[int, int]) -> None:
    found = _tokens(USAGE | {"cache_creation": split})
    assert (found.cache_write_5m, found.cache_write_1h) == expected


def test_without_a_total_the_split_counts() -> None:
    split = {"ephemeral_5m_input_tokens": 4, "ephemeral_1h_input_tokens": 7}
    found = _tokens(USAGE | {"cache_creation_input_tokens": 0, "cache_creation": split})
    assert (found.cache_write_5m, found.cache_write_1h) == (4, 7)


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"user","toolUseResult":{"usage":{"output_tokens":5}}}',
        b'{"type":"assistant","message":{"model":"<synthetic>","usage":{"output_tokens":5}}}',
        b'{"type":"assistant","message":{"model":"x","usage":null,"note":"\\"output_tokens\\""}}',
        b'{"type":"assistant","message":"\\"output_tokens\\""}',
        b'["output_tokens"]',
        b'{"output_tokens"',
    ],
)
def test_other_lines_are_none(line: bytes) -> None:
    assert list(usage_lines(line)) == []


def test_odd_members_do_not_cost_the_rest() -> None:
    line = _read(gitBranch=7, version=[], message={"content": "text"}, isSidechain="no")
    assert line is not None
    assert (line.gitBranch, line.version, line.isSidechain, line.tools()) == (None, None, None, [])


def test_bytes_that_are_not_utf_8_do_not_cost_the_rest() -> None:
    data = json.dumps({"type": "assistant", "message": {"id": "m", "model": "x", "usage": USAGE, "content": "?"}}).encode()
    (line,) = usage_lines(data.replace(b"?", b"\xff\xfe"))
    assert line.message is not None
    assert line.message.id == "m"


def test_a_progress_line_repeats_the_response_of_a_subagent() -> None:
    inner = {"type": "assistant", "timestamp": "2026-01-01T00:00:00Z", "message": {"id": "m", "model": "x", "usage": USAGE}}
    data = json.dumps({"type": "progress", "data": {"type": "agent_progress", "message": inner}}).encode()
    (line,) = usage_lines(data)
    assert line.message is not None
    assert (line.message.id, line.timestamp, line.isSidechain, line.is_copy) == ("m", "2026-01-01T00:00:00Z", True, True)


def test_an_advisor_has_its_own_tokens() -> None:
    items = [{"type": "message", "output_tokens": 1}, {"type": "advisor_message", "model": "big", "input_tokens": 9}, 3]
    line = _read(USAGE | {"iterations": items})
    assert line is not None
    assert line.message is not None
    assert line.message.usage is not None
    assert line.message.usage.advisors() == [("big", TokenCounts(9, 0, 0, 0, 0))]


def test_the_totals_are_the_clients() -> None:
    lines = [
        b'{"type":"cost-state","totalCostUSD":1.5}',
        b'{"type":"cost-state","totalCostUSD":2.25}',
        b'{"type":"cost-state","totalCostUSD":-1}',
        b'{"type":"user","said":{"type":"cost-state","totalCostUSD":9}}',
    ]
    assert [line.client_total for line in usage_lines(b"\n".join(lines))] == [1.5, 2.25]


@pytest.mark.parametrize(
    "odd",
    [
        b'"timestamp":7',
        b'"message":"of no response"',
        b'"message":{"usage":7}',
        b'"cwd":"\\ud800"',
        b'"cwd":"\xff\xfe"',
        b'"forkedFrom":"\\ud800"',
        b'"said":123456789012345678901234567890',
    ],
)
def test_odd_members_do_not_cost_the_total(odd: bytes) -> None:
    (line,) = usage_lines(b'{"type":"cost-state",%s,"totalCostUSD":1.5}' % odd)
    assert line.client_total == 1.5


@pytest.mark.parametrize(
    "usage",
    [USAGE, USAGE | {"iterations": [{"type": "advisor_message", "model": "x", "iterations": ["?"], "input_tokens": 9}]}],
)
def test_half_a_character_does_not_cost_the_rest_and_is_never_handed_on(usage: dict[str, Any]) -> None:
    """A client that cuts a text in the middle of a surrogate pair writes `\\ud83d`, which neither msgspec nor SQLite takes."""
    message = {"id": "m?", "model": "x?", "usage": usage, "content": [{"type": "tool_use", "name": "T?"}]}
    line = {"type": "assistant", "message": message, "cwd": "/?", "gitBranch": "?", "forkedFrom": {"sessionId": "?"}}
    (found,) = usage_lines(json.dumps(line).replace("?", "\\ud83d").encode())
    assert found.message is not None
    assert found.message.usage is not None
    assert (found.cwd, found.gitBranch, found.tools(), found.is_copy) == ("/\ufffd", "\ufffd", ["T\ufffd"], True)
    assert (found.message.id, found.message.model) == ("m\ufffd", "x\ufffd")
    assert found.message.usage.tokens() == TokenCounts(5, 7, 13, 11, 0)
    assert [tokens.input for _, tokens in found.message.usage.advisors()] == ([9] if usage is not USAGE else [])


@pytest.mark.parametrize(
    ("before", "role", "count"),
    [
        (b"", b"user", 0),
        (b"", b"assistant", 1),
        (b'"said":{"message":{"role":"user"}},', b"assistant", 1),  # not the line's own message
        (b'"cwd":"\\"message\\":{\\"role\\":\\"user\\"",', b"assistant", 1),
        (b'"cwd":"' + b"/deep" * 300 + b'",', b"assistant", 1),
    ],
)
def test_a_long_line_is_passed_over_only_if_its_own_message_was_sent(before: bytes, role: bytes, count: int) -> None:
    message = b'{"role":"%s","model":"x","content":"%s","usage":{"output_tokens":5}}' % (role, b"long " * 1000)
    line = b'{%s"message":%s,"type":"assistant"}' % (before, message)
    assert json.loads(line)
    assert len(list(usage_lines(line))) == count


def test_a_total_counts_the_prompt_and_the_answer() -> None:
    counts = TokenCounts(input=1, output=20, cache_read=300, cache_write_5m=4_000, cache_write_1h=50_000)
    assert (counts.prompt, counts.total) == (54_301, 54_321)


@pytest.mark.parametrize(
    ("line", "count"),
    [
        (b'{"message":{"content":"four"}}', 4),
        (b'{"message":{"content":[{"type":"text","text":"abc"},{"type":"thinking","thinking":"de"}]}}', 5),
        (b'{"message":{"content":[{"type":"tool_use","input":{"a":1}}]}}', len('{"a":1}')),
        (b'{"message":{"content":7}}', 0),
        (b'{"message":', 0),
    ],
)
def test_what_a_line_wrote_is_counted_in_characters_and_a_broken_line_wrote_nothing(line: bytes, count: int) -> None:
    assert characters_written(line) == count
