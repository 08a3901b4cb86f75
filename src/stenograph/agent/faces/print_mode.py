"""Print mode: events in, text or JSON out, and an exit code."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from enum import StrEnum
from typing import TextIO

import msgspec

from stenograph.agent.engine import events
from stenograph.agent.engine.events import Event, Outcome
from stenograph.agent.faces.stream_json import Json, StreamMessages, TurnWords, no_structured_output, spelled_usd

DONE = 0
#: The last turn failed, or reached a limit.
FAILED = 1
INTERRUPTED = 130
#: Most events; the whole blocks follow.
_PIECES = (events.TextChunk, events.ThinkingChunk, events.InputChunk)


class OutputFormat(StrEnum):
    TEXT = "text"
    JSON = "json"
    STREAM_JSON = "stream-json"


async def run_print(
    stream: AsyncIterator[Event],
    output: TextIO,
    output_format: OutputFormat = OutputFormat.TEXT,
    *,
    messages: StreamMessages,
    verbose: bool = False,
    notes: TextIO | None = None,
) -> int:
    """Write a session's output; returns the exit code, which the last turn decides.

    `verbose` makes the one JSON value a list of all messages. `notes` gets warnings with text and JSON. Raises OSError.
    """
    last: events.TurnEnd | None = None
    told: list[Json] = []
    words = TurnWords()
    shows_pieces = output_format is OutputFormat.STREAM_JSON
    async for event in stream:
        if not shows_pieces and isinstance(event, _PIECES):
            continue
        if isinstance(event, events.TurnEnd) and event.agent_id is None:
            last = event
        if not shows_pieces and (note := _note(event)):
            _write_note(notes, note)
        if output_format is OutputFormat.TEXT:
            words.take(event)
            continue
        for message in messages.of(event):
            if shows_pieces:
                write_message(output, message)
            elif verbose:
                told.append(message)
    if output_format is OutputFormat.TEXT and last is not None:
        is_interrupted = last.outcome is Outcome.INTERRUPTED
        if (text := _text(last, words, messages.max_budget)) or not is_interrupted:
            _write_text(output, text)
        if is_interrupted:
            _write_note(notes, "interrupted")
    elif output_format is OutputFormat.JSON and (verbose or messages.last_result is not None):
        write_message(output, told if verbose else messages.last_result)
    return exit_code(last)


def exit_code(last: events.TurnEnd | None) -> int:
    if last is None or last.outcome is Outcome.DONE:
        return DONE
    return INTERRUPTED if last.outcome is Outcome.INTERRUPTED else FAILED


def _text(end: events.TurnEnd, words: TurnWords, max_budget: float) -> str:
    if end.outcome is Outcome.OUT_OF_TURNS:
        return f"Error: Reached max turns ({end.responses})"
    if end.outcome is Outcome.OUT_OF_BUDGET:
        return f"Error: Exceeded USD budget ({spelled_usd(max_budget)})"
    if end.outcome is Outcome.OUT_OF_ATTEMPTS:
        return f"Error: {no_structured_output(end)}"
    return words.of(end)


def _note(event: Event) -> str:
    match event:
        case events.Notice() | events.ModelFallback():
            return event.text
        case events.Retry():
            # Ten retries take minutes: say what we wait for.
            wait = f"{event.wait:.0f}" if event.wait >= 10 else f"{event.wait:.1f}".removesuffix(".0")
            return f"{event.reason}; retrying in {wait} s ({event.attempt} of {event.max_retries})"
        case events.CompactionEnd(trigger="auto", agent_id=None):
            return f"compacted the conversation from {event.tokens_before:,} tokens to about {event.tokens_after:,}"
        case events.CompactionFailed(trigger="auto", agent_id=None):
            return f"could not compact the conversation: {event.reason}"
    return ""


def _write_note(notes: TextIO | None, note: str) -> None:
    if notes is not None:
        with contextlib.suppress(OSError):  # the answer is not lost by that
            from stenograph.views import plain

            notes.write(f"note: {plain(note)}\n")
            notes.flush()


def write_message(output: TextIO, value: object) -> None:
    """A whole line at once, for readers that follow."""
    encoding = getattr(output, "encoding", None) or "utf-8"
    if output.isatty() or encoding.lower().replace("-", "") not in ("utf8", "utf8sig"):
        from stenograph.views import page_text  # escapes what a terminal would obey, or its encoding lacks

        text = page_text(value, encoding=encoding)
    else:
        text = msgspec.json.encode(value).decode()
    output.write(text + "\n")
    output.flush()


def _write_text(output: TextIO, text: str) -> None:
    """As it is for programs; a terminal must not obey what an answer holds."""
    if output.isatty():
        from stenograph.views import harmless

        text = harmless(text)
    output.write(text + "\n")
    output.flush()
