"""When to compact, and the summary, asked of the model itself.

The question is appended to the request that would be sent next, so that the endpoint's cache applies.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Sequence

from stenograph.agent.context.limits import Limits
from stenograph.agent.context.models import asking_of
from stenograph.agent.context.system_prompt import read_prompt
from stenograph.agent.engine import events
from stenograph.agent.engine.asking import Asker
from stenograph.agent.engine.conversation import Conversation, text_block
from stenograph.agent.engine.refusals import is_too_long
from stenograph.agent.engine.shared import Shared
from stenograph.agent.engine.transcript import Transcript
from stenograph.errors import ModelError
from stenograph.model import Request, Retrying
from stenograph.records import Json

#: Tokens left for the summary and one more round of calls.
_LEFT_FOR_SUMMARY = 20_000
_LEFT_FOR_RESULTS = 13_000
#: For windows too small for those.
_SMALLEST_SHARE = 0.5

#: Characters of one text in a shortened conversation.
_LONG = 2_000
_LEFT_OUT = "[left out: too long for a summary]"

#: How a summary begins in every release.
BEGINS = "This session is being continued from a previous conversation that ran out of context."
_GO_ON = "Continue the work where it was left off. Do not ask about it, and do not repeat this summary."
_SUMMARY = r"(?s)<summary>(.*?)(?:</summary>|\Z)"
#: Tokens by which a conversation grows before a failed compaction is tried again.
_GROWN = 10_000


class CompactionRefused(Exception):  # noqa: N818 - a result that the caller tells
    """The model answered without a summary."""


def limit_of(model: str, limits: Limits) -> int:
    """Tokens at which a conversation is compacted."""
    window = limits.window_of(model)
    answer = min(asking_of(model, max_tokens=limits.max_output_of(model)).max_tokens, _LEFT_FOR_SUMMARY)
    return max(window - answer - _LEFT_FOR_RESULTS, round(window * _SMALLEST_SHARE))


async def ask_for_summary(shared: Shared, request: Request, instructions: str, on_retry: Callable[[Retrying], None]) -> str:
    """Raises ModelError, CompactionRefused."""
    if not any(message["role"] == "assistant" for message in request.messages):
        raise CompactionRefused("nothing to compact yet")
    question = read_prompt("compact")
    if instructions:
        question += f"\n\nThe user asks in particular: {instructions}"
    said = request.messages
    try:
        request.messages = _with_question(said, question)
        blocks, end = await shared.client.complete(request, on_retry)
    except ModelError as error:
        if not is_too_long(error):
            raise
        # It would not fit with a question either. A summary needs only the ends of long results.
        request.messages = _with_question(shortened(said), question)
        blocks, end = await shared.client.complete(request, on_retry)
    shared.tally.add(request.model, end.usage)
    if end.stop_reason == "refusal" or any(block["type"] == "tool_use" for block in blocks):
        raise CompactionRefused("the model did not summarize; the conversation is unchanged")
    text = "".join(block["text"] for block in blocks if block["type"] == "text")
    found = re.search(_SUMMARY, text)
    summary = (found[1] if found else text).strip()
    if not summary:
        raise CompactionRefused("the model gave no summary; the conversation is unchanged")
    return summary


def _with_question(messages: Sequence[Json], question: str) -> list[Json]:
    asked = Conversation(messages)
    asked.add_user([text_block(question)])
    return asked.messages


def shortened(messages: Sequence[Json]) -> list[Json]:
    """Long texts cut to their two ends; thinking is signed and stays."""
    return [{**message, "content": [_short_block(block) for block in message["content"]]} for message in messages]


def _short_block(block: Json) -> Json:
    match block.get("type"):
        case "text":
            return {**block, "text": _short(block["text"])}
        case "tool_use":
            given = {name: _short(value) if isinstance(value, str) else value for name, value in block["input"].items()}
            return {**block, "input": given}
        case "tool_result" if isinstance(block.get("content"), str):
            return {**block, "content": _short(block["content"])}
        case "tool_result" if isinstance(block.get("content"), list):
            return {**block, "content": [_short_block(part) for part in block["content"]]}
        case "image" | "document":
            return text_block(_LEFT_OUT)
    return block


def _short(text: str) -> str:
    return text if len(text) <= _LONG else f"{text[: _LONG // 2]}\n{_LEFT_OUT}\n{text[-_LONG // 2 :]}"


def summary_text(summary: str, *, is_running: bool) -> str:
    """The words of the summary's line."""
    text = f"{BEGINS} The conversation is summarized below:\n{summary}"
    return f"{text}\n\n{_GO_ON}" if is_running else text


class Compactor:
    """Of one conversation."""

    def __init__(self, shared: Shared, transcript: Transcript, asker: Asker) -> None:
        self._shared = shared
        self._transcript = transcript
        self._asker = asker
        self._agent_id = transcript.agent_id
        #: A compaction failed at so many tokens.
        self._failed_at = 0

    async def is_due(self) -> bool:
        limit = limit_of(self._asker.model, self._shared.limits)
        return await self._asker.count(limit) >= max(limit, self._failed_at + _GROWN if self._failed_at else 0)

    async def compact(self, trigger: str, instructions: str = "") -> str:
        """Replace the conversation with a summary; returns why not, if it failed."""
        before, emit = self._asker.tokens, self._shared.emit
        if hooks := self._shared.hooks:
            said = await hooks.before_compaction(trigger, instructions)
            if said.is_blocked:
                self._failed_at = before
                reason = f"Compaction blocked by PreCompact hook: {said.reason}"
                emit(events.CompactionFailed(trigger=trigger, reason=reason, agent_id=self._agent_id))
                return reason
            instructions = "\n\n".join(filter(None, [instructions, *said.context]))
        began = time.monotonic()
        emit(events.CompactionBegin(trigger=trigger, tokens=before, agent_id=self._agent_id))
        try:
            summary = await ask_for_summary(self._shared, self._asker.request(), instructions, self._asker.retry)
        except (ModelError, CompactionRefused) as error:
            emit(events.CompactionFailed(trigger=trigger, reason=str(error), agent_id=self._agent_id))
            # Not again before the conversation has grown: a request that always fails would double every turn.
            self._failed_at = before
            return str(error)
        except asyncio.CancelledError:
            emit(events.CompactionFailed(trigger=trigger, reason="interrupted", agent_id=self._agent_id))
            raise
        text = summary_text(summary, is_running=trigger == "auto")
        after = len(text) // 4  # a guess: the endpoint counts with the next response
        took = round((time.monotonic() - began) * 1000)
        self._transcript.recorder.compaction(text, trigger=trigger, before=before, after=after, took=took)
        self._transcript.conversation.begin_anew(text)
        self._asker.begin_anew(after)
        self._failed_at = 0
        self._shared.memory.forget_nested()
        if hooks and self._agent_id is None:
            for aside in (await hooks.on_session_start("compact")).asides:
                self._transcript.add_aside(aside)
        emit(events.CompactionEnd(trigger=trigger, tokens_before=before, tokens_after=after, agent_id=self._agent_id))
        return ""
