"""The lines of a conversation one by one: prompts, answers, tool calls and results as they stand."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from stenograph.records import Record
from stenograph.redact import Mask, as_is
from stenograph.turns import Session, Step, Turn, steps
from stenograph.views.masking import mask_page
from stenograph.views.pages.page import Document, Page, utc


class StepToolCall(Page, frozen=True):
    """A tool use in a step."""

    id: str
    name: str
    input: dict[str, Any]


class StepPage(Page, frozen=True):
    """One line of the conversation."""

    type: str
    """`user_message`, `assistant_message`, `tool_call` or `tool_result`."""
    summary: str
    """The first 200 characters of its text, of a tool result the result's."""
    uuid: str
    parent_uuid: str | None
    """Null at a root, and where a line names no parent."""
    time: datetime | None
    tool_calls: tuple[StepToolCall, ...]


class StepsPage(Document, frozen=True, tag="steps/1"):
    """`steno show --steps`: the lines of a conversation, in file order; of all branches unless some were selected."""

    id: str
    path: str
    steps: tuple[StepPage, ...]


def steps_page(session: Session, turns: Iterable[Turn] | None = None, mask: Mask = as_is) -> StepsPage:
    """The steps of some turns, or of the whole file. A text is masked before it is cut, so that no half of a secret is left."""
    records = session.graph.records
    if turns is None:
        files = session.graph.files
        selected: Iterable[Record] = records[: files[0].last] if files else ()
    else:
        selected = [records[node] for turn in turns for node in turn.nodes]
    found = tuple(_step_page(step) for step in steps(selected, mask))
    return mask_page(StepsPage(session.id, str(session.path or ""), found), mask)


def _step_page(step: Step) -> StepPage:
    return StepPage(
        type=step.type.value,
        summary=step.content_summary,
        uuid=step.raw_uuid,
        parent_uuid=step.parent_uuid,
        time=utc(step.timestamp),
        tool_calls=tuple(StepToolCall(use.tool_use_id, use.tool_name, use.input) for use in step.tool_calls),
    )
