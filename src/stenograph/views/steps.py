"""Seed 000's steps as JSON values, without secrets.

In: records, and a function that masks texts. Out: dicts. The document cuts a summary at 200 characters; here the text is masked
before it is cut, so that no half of a secret is left at its end.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from stenograph.records import AssistantRecord, Record, ToolResultBlock, UserRecord, text_of
from stenograph.redact import mask_json
from stenograph.turns.seeds.seed000 import SUMMARY_LENGTH, steps
from stenograph.views.masking import Mask


def step_data(records: Iterable[Record], mask: Mask) -> list[dict[str, Any]]:
    """The steps of some records, in their order."""
    found = []
    for record in records:
        for step in steps([record]):
            data = msgspec.to_builtins(msgspec.structs.replace(step, content_summary=""))
            summary = mask(_text(record))[:SUMMARY_LENGTH]
            found.append({**mask_json(data, mask), "content_summary": summary})
    return found


def _text(record: Record) -> str:
    """All that the summary is the beginning of."""
    content = record.content if isinstance(record, UserRecord | AssistantRecord) else None
    if text := text_of(content):
        return text
    blocks = content if isinstance(content, tuple) else ()
    return "\n\n".join(text_of(block.content) for block in blocks if isinstance(block, ToolResultBlock))
