"""Plain values -> span attributes, in the words of Langfuse, OpenTelemetry's `gen_ai.*` and OpenInference at once.

One payload serves every receiver. Tokens and money are on generations alone: MLflow ignores what is below a span with usage.
`gen_ai.usage.input_tokens` and `llm.token_count.prompt` include cached tokens; Langfuse's `usage_details` lists the parts.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from msgspec import Struct

from stenograph.pricing import Basis, Cost
from stenograph.records import to_text
from stenograph.traces.spans import Attributes
from stenograph.turns import Tokens

AGENT_NAME = "claude-code"
_TEXT, _JSON = "text/plain", "application/json"


class TraceFacts(Struct, frozen=True):
    trace_name: str
    session_id: str
    user: str = ""
    environment: str = ""
    tags: tuple[str, ...] = ()
    release: str = ""


class Response(Struct, frozen=True):
    #: The one that answered, and the one that was requested.
    model: str
    asked_model: str
    message_id: str = ""
    request_id: str = ""
    stop_reason: str = ""
    tool_count: int = 0
    tokens: Tokens | None = None
    cost: Cost | None = None


def common(about: TraceFacts) -> Attributes:
    """On every span: some receivers read only some of them."""
    attributes: Attributes = {
        "session.id": about.session_id,
        "gen_ai.conversation.id": about.session_id,
        "langfuse.trace.name": about.trace_name,
    }
    if about.user:
        attributes["user.id"] = about.user
    if about.environment:
        attributes["langfuse.environment"] = about.environment
    if about.release:
        attributes["langfuse.version"] = about.release
    return attributes


def trace(about: TraceFacts, metadata: dict[str, Any], prompt: str, answer: str) -> Attributes:
    """On the root alone."""
    attributes: Attributes = {f"langfuse.trace.metadata.{name}": _plain(value) for name, value in metadata.items()}
    attributes["metadata"] = _json(metadata)
    attributes["mlflow.traceTag.mlflow.traceName"] = about.trace_name  # the only name MLflow reads
    if about.tags:
        attributes["langfuse.trace.tags"] = list(about.tags)
        attributes["tag.tags"] = list(about.tags)
    if prompt:
        attributes["langfuse.trace.input"] = _said("user", prompt)
    if answer:
        attributes["langfuse.trace.output"] = _said("assistant", answer)
    return attributes


def agent(name: str, prompt: str, answer: str) -> Attributes:
    attributes: Attributes = {
        "langfuse.observation.type": "agent",
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": name,
        "openinference.span.kind": "AGENT",
        "agent.name": name,
    }
    if prompt:
        attributes["langfuse.observation.input"] = _said("user", prompt)
        attributes["gen_ai.input.messages"] = _messages("user", prompt)
        attributes["input.value"], attributes["input.mime_type"] = prompt, _TEXT
    if answer:
        attributes["langfuse.observation.output"] = _said("assistant", answer)
        attributes["gen_ai.output.messages"] = _messages("assistant", answer)
        attributes["output.value"], attributes["output.mime_type"] = answer, _TEXT
    return attributes


def generation(
    response: Response, prompt: str, answer: str, thinking: str, asked_tools: list[tuple[str, str, str]]
) -> Attributes:
    """`asked_tools`: id, name and input as JSON of each tool call."""
    attributes: Attributes = {
        "langfuse.observation.type": "generation",
        "langfuse.observation.metadata.tool_count": response.tool_count,
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anthropic",
        "openinference.span.kind": "LLM",
        "llm.provider": "anthropic",
        "llm.system": "anthropic",
    }
    if response.model:
        attributes["langfuse.observation.model.name"] = attributes["llm.model_name"] = response.model
        attributes["gen_ai.response.model"] = response.model
        attributes["gen_ai.request.model"] = response.asked_model or response.model
    if response.message_id:
        attributes["gen_ai.response.id"] = response.message_id
        attributes["langfuse.observation.metadata.message_id"] = response.message_id
    if response.request_id:
        attributes["langfuse.observation.metadata.request_id"] = response.request_id
    if response.stop_reason:
        attributes["gen_ai.response.finish_reasons"] = [response.stop_reason]
        attributes["llm.finish_reason"] = response.stop_reason
    if prompt:
        attributes["langfuse.observation.input"] = _said("user", prompt)
        attributes["gen_ai.input.messages"] = _messages("user", prompt)
        attributes["input.value"], attributes["input.mime_type"] = prompt, _TEXT
        attributes["llm.input_messages.0.message.role"] = "user"
        attributes["llm.input_messages.0.message.content"] = prompt
    if answer or thinking or asked_tools:
        attributes |= _output(answer, thinking, asked_tools)
    if response.tokens is not None:
        attributes |= _usage(response.tokens)
    if response.cost is not None:
        attributes |= _cost(response.cost)
    return attributes


def tool(name: str, call_id: str, given: str, result: str) -> Attributes:
    attributes: Attributes = {
        "langfuse.observation.type": "tool",
        "langfuse.observation.metadata.tool_name": name,
        "langfuse.observation.metadata.tool_id": call_id,
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": call_id,
        "openinference.span.kind": "TOOL",
        "tool.name": name,
        "tool.id": call_id,
    }
    if given:
        attributes["langfuse.observation.input"] = attributes["gen_ai.tool.call.arguments"] = given
        attributes["input.value"], attributes["input.mime_type"] = given, _JSON
        attributes["tool.parameters"] = given
    if result:
        attributes["langfuse.observation.output"] = attributes["gen_ai.tool.call.result"] = result
        attributes["output.value"], attributes["output.mime_type"] = result, _TEXT
    return attributes


def compaction(trigger: str, tokens_before: int | None, tokens_after: int | None, summary: str) -> Attributes:
    attributes: Attributes = {"langfuse.observation.type": "span", "openinference.span.kind": "CHAIN"}
    facts = {"trigger": trigger, "tokens_before": tokens_before, "tokens_after": tokens_after}
    for name, value in facts.items():
        if value:
            attributes[f"langfuse.observation.metadata.{name}"] = value
    if summary:
        attributes["langfuse.observation.output"] = summary
        attributes["output.value"], attributes["output.mime_type"] = summary, _TEXT
    return attributes


def level(name: str, message: str) -> Attributes:
    """Langfuse's level, WARNING or ERROR, and why."""
    return {"langfuse.observation.level": name, "langfuse.observation.status_message": message}


def _output(answer: str, thinking: str, asked_tools: list[tuple[str, str, str]]) -> Attributes:
    parts: list[dict[str, Any]] = []
    said: dict[str, Any] = {"role": "assistant", "content": answer}
    attributes: Attributes = {
        "llm.output_messages.0.message.role": "assistant",
        "output.value": answer,
        "output.mime_type": _TEXT,
    }
    if thinking:
        parts.append({"type": "reasoning", "content": thinking})
        said["thinking"] = thinking
    if answer:
        parts.append({"type": "text", "content": answer})
        attributes["llm.output_messages.0.message.content"] = answer
    for place, (call_id, name, given) in enumerate(asked_tools):
        parts.append({"type": "tool_call", "id": call_id, "name": name})
        said.setdefault("tool_calls", []).append({"id": call_id, "name": name})
        prefix = f"llm.output_messages.0.message.tool_calls.{place}.tool_call"
        attributes[f"{prefix}.id"] = call_id
        attributes[f"{prefix}.function.name"] = name
        if given:
            attributes[f"{prefix}.function.arguments"] = given
    attributes["gen_ai.output.messages"] = _json([{"role": "assistant", "parts": parts}])
    attributes["langfuse.observation.output"] = _json(said)
    return attributes


def _usage(tokens: Tokens) -> Attributes:
    details = {
        "input": tokens.input,
        "output": tokens.output,
        "cache_read_input_tokens": tokens.cache_read,
        "input_cache_creation_5m": tokens.cache_write_5m,
        "input_cache_creation_1h": tokens.cache_write_1h,
        "total": tokens.total,
    }
    return {
        "langfuse.observation.usage_details": _json({name: count for name, count in details.items() if count or name == "total"}),
        "gen_ai.usage.input_tokens": tokens.prompt,
        "gen_ai.usage.output_tokens": tokens.output,
        "gen_ai.usage.cache_read.input_tokens": tokens.cache_read,
        # Renamed once; receivers read either.
        "gen_ai.usage.cache_creation.input_tokens": tokens.cache_write,
        "gen_ai.usage.cache_write.input_tokens": tokens.cache_write,
        "llm.token_count.prompt": tokens.prompt,
        "llm.token_count.completion": tokens.output,
        "llm.token_count.total": tokens.total,
        "llm.token_count.prompt_details.cache_read": tokens.cache_read,
        "llm.token_count.prompt_details.cache_write": tokens.cache_write,
        # The only way to report one-hour cache writes to MLflow.
        "mlflow.chat.tokenUsage": _json(
            {
                "input_tokens": tokens.prompt,
                "output_tokens": tokens.output,
                "total_tokens": tokens.total,
                "cache_read_input_tokens": tokens.cache_read,
                "cache_creation_input_tokens": tokens.cache_write,
                "cache_creation_input_tokens_above_1hr": tokens.cache_write_1h,
            }
        ),
    }


def _cost(cost: Cost) -> Attributes:
    parts = {
        "input": cost.input,
        "output": cost.output,
        "cache_read_input_tokens": cost.cache_read,
        "input_cache_creation_5m": cost.cache_write_5m,
        "input_cache_creation_1h": cost.cache_write_1h,
        "web_search": cost.web_search,
        "advisor": cost.advisor,
        "total": cost.usd,
    }
    # A receiver's own price list may differ.
    known = "the price table knows the model" if cost.basis is Basis.LIST else "the price of models that the table does not know"
    prompt = cost.input + cost.cache_read + cost.cache_write_5m + cost.cache_write_1h
    return {
        "langfuse.observation.cost_details": _json({name: float(usd) for name, usd in parts.items() if usd or name == "total"}),
        "langfuse.observation.metadata.cost_basis": cost.basis.value,
        "langfuse.observation.metadata.cost_source": f"{known}; as of {cost.table.measured}",
        "gen_ai.usage.cost": float(cost.usd),
        "llm.cost.prompt": float(prompt),
        "llm.cost.completion": float(cost.output),
        "llm.cost.total": float(cost.usd),
        "mlflow.llm.cost": _json(
            {"input_cost": float(prompt), "output_cost": float(cost.usd - prompt), "total_cost": float(cost.usd)}
        ),
    }


def _said(role: str, text: str) -> str:
    return f'{{"role":"{role}","content":{_quoted(text)}}}'


def _messages(role: str, text: str) -> str:
    return f'[{{"role":"{role}","parts":[{{"type":"text","content":{_quoted(text)}}}]}}]'


@lru_cache(maxsize=4)
def _quoted(text: str) -> str:
    """Cached: a root repeats its prompt and its answer under four names each."""
    return _json(text)


def _plain(value: Any) -> str | int:
    return value if isinstance(value, int) else str(value)


def _json(value: Any) -> str:
    return to_text(value).decode()
