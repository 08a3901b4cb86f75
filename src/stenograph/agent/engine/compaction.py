"""When to compact, and the summary, asked of the model itself.

The question is appended to the request that would be sent next, so that the endpoint's cache applies.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from stenograph.agent.context.limits import Limits
from stenograph.agent.context.models import asking_of
from stenograph.agent.context.system_prompt import read_prompt
from stenograph.agent.engine.conversation import Conversation, text_block
from stenograph.agent.engine.shared import Shared
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
_GO_ON = "Go on with the work from where it was left, without asking about it and without repeating this summary."
_SUMMARY = re.compile(r"<summary>(.*?)(?:</summary>|\Z)", re.DOTALL)
_TOO_LONG = re.compile(
    r"prompt is too long|context (?:window|length|size|limit)|maximum context|too many tokens|input is too long", re.IGNORECASE
)
#: Input fits, but not with so long an answer: the Messages API, and vLLM.
_NO_ROOM = (
    re.compile(r"exceed context limit: (?P<input>\d+) \+ \d+ > (?P<window>\d+)", re.IGNORECASE),
    re.compile(
        r"maximum context length is (?P<window>\d+) tokens and your request has (?P<input>\d+) input tokens", re.IGNORECASE
    ),
)
#: Tokens by which endpoints may count differently in the next request.
_MARGIN = 1_000


class CompactionRefused(Exception):  # noqa: N818 - a result that the caller tells
    """The model answered without a summary."""


def limit_of(model: str, limits: Limits) -> int:
    """Tokens at which a conversation is compacted."""
    window = limits.window_of(model)
    answer = min(asking_of(model, max_tokens=limits.max_output_of(model)).max_tokens, _LEFT_FOR_SUMMARY)
    return max(window - answer - _LEFT_FOR_RESULTS, round(window * _SMALLEST_SHARE))


def is_overloaded(error: ModelError) -> bool:
    return error.status == 529 or error.kind == "overloaded_error"


def is_too_long(error: ModelError) -> bool:
    """Whether a request was refused for its length."""
    return error.status == 413 or (error.status == 400 and bool(_TOO_LONG.search(str(error))))


def room_left(error: ModelError) -> int:
    """Tokens that an endpoint says are left for an answer, after it refused a longer one; 0 if it says nothing of the kind."""
    found = next((match for pattern in _NO_ROOM if (match := pattern.search(str(error)))), None)
    return max(0, int(found["window"]) - int(found["input"]) - _MARGIN) if found else 0


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
    found = _SUMMARY.search(text)
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
