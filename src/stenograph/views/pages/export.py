"""What an export wrote, and the lines of one that other programs read: seed 000's steps and metadata, by its own names."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from stenograph.inputs import Status
from stenograph.redact import Mask, mask_json
from stenograph.turns import Step
from stenograph.views.pages.page import Document, FileSizePage, Page, utc

#: Our words for how a session is, in seed 000's.
_STATUS = {Status.RUNNING: "running", Status.DONE: "completed", Status.INTERRUPTED: "cancelled", Status.FAILED: "error"}


class ExportPage(Document, frozen=True, tag="export/1"):
    """`steno export`: what was written."""

    id: str
    path: str
    format: str
    """`html`, `md`, `json`, `messages`, `steps` or `zip`."""
    files: tuple[FileSizePage, ...]
    steps: int | None
    """Steps that are in the directory now; null for other formats."""
    added: int | None
    """Steps that were appended this time; null for other formats."""


class ExportedToolCall(Page, frozen=True):
    """A tool use in a step."""

    tool_use_id: str
    tool_name: str
    input: Any


class ExportedStep(Page, frozen=True):
    """A line of `steps.jsonl`."""

    step_id: int
    """From 1, in file order."""
    session_id: str
    type: str
    """`user_message`, `assistant_message`, `tool_call` or `tool_result`."""
    timestamp: datetime | None
    content_summary: str
    """The first 200 characters."""
    raw_uuid: str
    parent_uuid: str | None
    tool_calls: tuple[ExportedToolCall, ...]


class ExportedMetadata(Page, frozen=True):
    """`metadata.json`: the session as a whole."""

    session_id: str
    agent_type: str
    """`claude`."""
    name: str
    project_path: str
    source_file: str
    started_at: datetime | None
    ended_at: datetime | None
    """Null while it is running."""
    last_activity: datetime
    status: str
    """`running`, `completed`, `error` or `cancelled`."""
    step_count: int
    tool_call_count: int


def exported_step(step: Step, number: int, session_id: str, mask: Mask) -> ExportedStep:
    """A step whose summary is masked already."""
    return ExportedStep(
        step_id=number,
        session_id=session_id,
        type=step.type.value,
        timestamp=utc(step.timestamp),
        content_summary=step.content_summary,
        raw_uuid=step.raw_uuid,
        parent_uuid=step.parent_uuid,
        tool_calls=tuple(ExportedToolCall(use.tool_use_id, use.tool_name, mask_json(use.input, mask)) for use in step.tool_calls),
    )


def exported_status(status: Status) -> str:
    return _STATUS[status]
