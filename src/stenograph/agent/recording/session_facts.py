"""What the lines of a session say that is needed to go on with it: models, tokens, times, calls, the history of files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from stenograph.agent.recording.lines import Json
from stenograph.disk import read_whole
from stenograph.messages.javascript import without_halves
from stenograph.model.usage import TOKEN_COUNTS
from stenograph.records import AssistantRecord, ChainedRecord, Record, ToolUseBlock, UserRecord
from stenograph.records.markers import INTERRUPTED, SYNTHETIC
from stenograph.records.times import moment

NOTIFICATION = "task-notification"
_FILE_HISTORY = b'"file-history-'


def file_history_lines(path: Path) -> Iterator[Json]:
    """The lines about the history of files."""
    return (record for _, record in file_history_bytes(path))


def file_history_bytes(path: Path) -> Iterator[tuple[bytes, Json]]:
    """The same with their bytes, by which they are found: a long file is not read for them."""
    memory = read_whole(path)
    place = memory.find(_FILE_HISTORY)
    while place >= 0:
        start = memory.rfind(b"\n", 0, place) + 1
        stop = memory.find(b"\n", place)
        stop = stop if stop >= 0 else len(memory)
        try:
            record = json.loads(memory[start:stop])
        except (ValueError, RecursionError):
            record = None
        if isinstance(record, dict) and str(record.get("type")).startswith("file-history-"):
            yield memory[start:stop], record
        place = memory.find(_FILE_HISTORY, stop)


def results_of(record: Record) -> list[Json]:
    if not isinstance(record, UserRecord) or not isinstance(record.content, tuple):
        return []
    return [{"tool_use_id": use} for block in record.content if isinstance(use := getattr(block, "tool_use_id", None), str)]


def uses_of(record: AssistantRecord) -> list[ToolUseBlock]:
    return [block for block in record.content or () if isinstance(block, ToolUseBlock) and isinstance(block.id, str)]


def is_prompt(record: Record) -> bool:
    """Whether a line is a prompt that was given: words, or blocks of them, and no tool's result."""
    if not isinstance(record, UserRecord) or record.isMeta or record.isCompactSummary:
        return False
    content = record.content
    if isinstance(content, str):
        return not content.startswith(f"<{NOTIFICATION}>")
    words = [getattr(block, "text", None) for block in content or ()]
    return bool(words) and not results_of(record) and not str(words[0]).startswith(INTERRUPTED)


def slug_of(chain: Sequence[Record]) -> str:
    return next((slug for record in reversed(chain) if isinstance(slug := getattr(record, "slug", None), str)), "")


def latest_time(records: Sequence[Record]) -> int:
    """The greatest time of a line, in milliseconds: old clients take the latest line for the end of the chain (rule 19)."""
    times = (moment(record.timestamp) for record in records if isinstance(record, ChainedRecord))
    return max((round(time.timestamp() * 1000) for time in times if time is not None), default=0)


def last_model(records: Sequence[Record]) -> str:
    for record in reversed(records):
        model = record.message.model if isinstance(record, AssistantRecord) and record.message else None
        if isinstance(model, str) and model != SYNTHETIC:
            return without_halves(model)  # it is sent
    return ""


def last_tokens(records: Sequence[Record]) -> int:
    for record in reversed(records):
        if isinstance(record, AssistantRecord) and record.message and record.message.model != SYNTHETIC:
            usage = record.message.usage
            return sum(value for name in TOKEN_COUNTS if isinstance(value := getattr(usage, name, None), int))
    return 0
