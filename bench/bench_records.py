"""Typed decode beside orjson and msgspec without types, over the same lines."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import orjson

from bench.figures import Figure, best, corpus_lines
from stenograph.records import AssistantRecord, UserRecord, decode


def touch(line: bytes) -> None:
    """Decode a line and ask for what most readers ask for: the content's blocks, the structured result, the usage."""
    record = decode(line)
    if isinstance(record, UserRecord):
        _ = record.content, record.toolUseResult
    elif isinstance(record, AssistantRecord) and record.message:
        _ = record.message.content, record.message.usage


def measure() -> Iterator[Figure]:
    lines = corpus_lines()
    untyped = msgspec.json.Decoder().decode

    def each(function: object) -> object:
        call = function
        assert callable(call)
        for line in lines:
            call(line)
        return None

    took = best(
        {
            "orjson.loads": lambda: each(orjson.loads),
            "msgspec untyped": lambda: each(untyped),
            "decode": lambda: each(decode),
            "decode and touch": lambda: each(touch),
        },
        rounds=7,
    )
    size = sum(map(len, lines)) / 1e6
    note = f"[{len(lines)} lines, {size:.0f} MB; orjson {took['orjson.loads'] * 1e3:.0f} ms, "
    note += f"msgspec untyped {took['msgspec untyped'] * 1e3:.0f} ms]"
    yield Figure("typed decode / orjson.loads", took["decode"] / took["orjson.loads"], "x", 1.0, "at most", note)
    yield Figure(
        "typed decode, content, result and usage touched / orjson.loads",
        took["decode and touch"] / took["orjson.loads"],
        "x",
        2.5,
        "at most",
    )
