"""Turns as JSON values under documented names: what `steno turns --json` prints.

In: turns. Out: dicts of plain values; times in ISO 8601, UTC. Names stay; new ones may be added. Secrets are left for
`redact.mask_json`.
"""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from typing import Any

from stenograph.turns import AgentRun, ApiCall, Tokens, ToolCall, Turn
from stenograph.views.pages.turn_parts import DEEPEST, leave_out


def iso(moment: datetime | None) -> str | None:
    if moment is None:
        return None
    with contextlib.suppress(ValueError, OverflowError):  # the first and the last day there is have no other zone
        moment = moment.astimezone(UTC)
    return moment.isoformat().replace("+00:00", "Z")


def turn_data(turn: Turn, *, results: bool = True, depth: int = 0, seen: set[str] | None = None) -> dict[str, Any]:
    """One turn with its calls, tool calls and agent runs; without `results` tools' outputs are left out.

    Runs whose ids are in `seen` are only named, and those that are told here are added to it.
    """
    seen = set() if seen is None else seen
    return {
        "number": turn.number,
        "kind": turn.kind.value,
        "status": turn.status.value,
        "uuid": turn.uuid,
        "prompt": turn.prompt,
        "images": turn.opening.images,
        "answer": turn.answer,
        "started": iso(turn.started),
        "ended": iso(turn.ended),
        "duration_ms": turn.duration_ms,
        "tokens": tokens_data(turn.tokens),
        "calls": [_call(call, results, depth, seen) for call in turn.calls],
        "interjections": [{"text": each.text, "evidence": each.evidence} for each in turn.interjections],
        "compactions": [
            {
                "trigger": each.trigger,
                "tokens_before": each.tokens_before,
                "tokens_after": each.tokens_after,
                "at": iso(each.at),
                "summary": each.summary,
            }
            for each in turn.compactions
        ],
        "events": [{"kind": each.kind, "what": each.what, "at": iso(each.at)} for each in turn.events],
    }


def tokens_data(tokens: Tokens) -> dict[str, int]:
    return {
        "input": tokens.input,
        "output": tokens.output,
        "cache_read": tokens.cache_read,
        "cache_write_5m": tokens.cache_write_5m,
        "cache_write_1h": tokens.cache_write_1h,
    }


def _call(call: ApiCall, results: bool, depth: int, seen: set[str]) -> dict[str, Any]:
    return {
        "message_id": call.message_id,
        "request_id": call.request_id,
        "model": call.model,
        "text": call.text,
        "thinking": call.thinking,
        "stop_reason": call.stop_reason,
        "synthetic": call.is_synthetic,
        "api_error": call.is_api_error,
        "replayed": call.replayed,
        "started": iso(call.started),
        "ended": iso(call.ended),
        "tokens": tokens_data(call.tokens),
        "tool_calls": [_tool(tool, results, depth, seen) for tool in call.tool_calls],
    }


def _tool(tool: ToolCall, results: bool, depth: int, seen: set[str]) -> dict[str, Any]:
    run = tool.agent
    return {
        "id": tool.id,
        "name": tool.name,
        "input": tool.input,
        "answered": tool.answered,
        "is_error": tool.is_error,
        **({"result": tool.result} if results else {}),
        "spilled": str(tool.spilled) if tool.spilled else None,
        "started": iso(tool.started),
        "ended": iso(tool.ended),
        "agent": agent_data(run, results=results, depth=depth + 1, seen=seen) if run else None,
    }


def agent_data(run: AgentRun, *, results: bool = True, depth: int = 0, seen: set[str] | None = None) -> dict[str, Any]:
    """A sub-agent's run with its turns; without them where it was told already, or stands too deep."""
    seen = set() if seen is None else seen
    above = run.agent_id in seen
    left_out = 0 if above or depth <= DEEPEST else leave_out(run, seen)
    seen.add(run.agent_id)
    told = () if above or left_out else run.turns
    return {
        "agent_id": run.agent_id,
        "agent_type": run.agent_type,
        "description": run.description,
        "background": run.background,
        "evidence": run.evidence,
        "path": str(run.path) if run.path else None,
        "tokens": tokens_data(run.tokens),
        "turns": [turn_data(turn, results=results, depth=depth, seen=seen) for turn in told],
        "shown_above": above,
        "left_out": left_out,
    }
