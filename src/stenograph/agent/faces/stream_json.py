"""Events -> messages in the shapes of the client's print mode (`system`, `assistant`, `user`, `stream_event`, `result`).

A response is written when it is whole, one message a block: what a `Retry` takes back appeared only as `stream_event`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias
from uuid import uuid4

import msgspec

from stenograph.agent.engine import events
from stenograph.agent.engine.events import Event, Outcome
from stenograph.agent.faces.bill import Bill, sum_usages
from stenograph.agent.tools.structured_output import MOST_ATTEMPTS
from stenograph.config import ModelProfile
from stenograph.records import SYNTHETIC

Json: TypeAlias = dict[str, Any]

_TERMINAL = {
    Outcome.DONE: "completed",
    Outcome.OUT_OF_TURNS: "max_turns",
    Outcome.OUT_OF_BUDGET: "budget_exhausted",
    Outcome.OUT_OF_ATTEMPTS: "structured_output_retry_exhausted",
    Outcome.INTERRUPTED: "aborted",
    Outcome.NOT_RESTORED: "aborted",
}
_SUBTYPES = {
    Outcome.OUT_OF_TURNS: "error_max_turns",
    Outcome.OUT_OF_BUDGET: "error_max_budget_usd",
    Outcome.OUT_OF_ATTEMPTS: "error_max_structured_output_retries",
    Outcome.INTERRUPTED: "error_during_execution",
}
_EMPTY = {
    "text": {"text": ""},
    "thinking": {"thinking": "", "signature": ""},
}


class StreamMessages:
    def __init__(
        self,
        *,
        release: str,
        key_source: str = "none",
        include_partial: bool = False,
        replay_prompts: bool = False,
        max_budget: float = 0.0,
        profiles: Mapping[str, ModelProfile] | None = None,
    ) -> None:
        """`release`: whose shapes the session is written in."""
        self.max_budget = max_budget
        self._release = release
        self._key_source = key_source
        self._include_partial = include_partial
        self._replay_prompts = replay_prompts
        self._begin: events.SessionBegin | None = None
        self._bill = Bill(profiles)
        self._words = TurnWords()
        self._usages: list[Json] = []
        self._denials: list[Json] = []
        self._given: dict[str, Json] = {}
        #: Calls whose denial ended the turn.
        self._refused: set[str] = set()
        #: By agent id.
        self._callers: dict[str, str] = {}
        #: Running calls that may have started one, newest last.
        self._calls: list[str] = []
        self._message_id = ""
        self._results = 0
        #: Of the turn under way.
        self._tool_results = 0
        #: Answers without calls that another response followed.
        self._continued = 0
        self._is_answered = False
        #: In the background, by id.
        self._tasks: dict[str, Json] = {}
        self._api_ms = 0
        self.last_result: Json | None = None

    def of(self, event: Event) -> Iterator[Json]:
        self._words.take(event)
        match event:
            case events.SessionBegin():
                self._begin = event
            case events.TurnBegin():
                yield from self._turn_begin(event)
            case events.Retry():
                yield self._system(
                    "api_retry",
                    attempt=event.attempt,
                    max_retries=event.max_retries,
                    retry_delay_ms=round(event.wait * 1000),
                    error_status=event.status or None,
                    error=event.reason,
                )
            case events.ResponseEnd():
                yield from self._response(event)
            case events.ToolBegin():
                self._given[event.tool_use_id] = event.given
                self._calls.append(event.tool_use_id)
            case events.Answered(interrupts=True):
                self._refused.add(event.tool_use_id)
            case events.ToolProgress():
                yield from self._progress(event)
            case events.ToolEnd():
                yield from self._tool_end(event)
            case events.CompactionBegin():
                yield self._system("status", status="compacting")
            case events.CompactionFailed():
                yield self._system("status", status=None, compact_result="failed", compact_error=event.reason)
            case events.CompactionEnd():
                yield self._system("status", status=None, compact_result="success")
                metadata = {"trigger": event.trigger, "pre_tokens": event.tokens_before, "post_tokens": event.tokens_after}
                yield self._system("compact_boundary", compact_metadata=metadata)
            case events.ModelFallback():
                yield self._system(
                    "model_fallback",
                    trigger=event.trigger,
                    original_model=event.model,
                    fallback_model=event.fallback,
                    content=event.text,
                )
            case events.ModeChanged():
                if self._begin is not None:
                    self._begin = msgspec.structs.replace(self._begin, permission_mode=event.mode)
                yield self._system("status", status=None, permissionMode=event.mode)
            case events.ModelChanged():
                if self._begin is not None:
                    self._begin = msgspec.structs.replace(self._begin, model=event.model)
            case events.TaskBegin():
                yield from self._task_begin(event)
            case events.TaskEnd():
                yield from self._task_end(event)
            case events.Notice():
                yield self._system("informational", content=event.text, level="notice")
            case events.TurnEnd() if event.agent_id is None:
                if event.outcome is Outcome.FAILED:
                    yield self._failure(event)
                yield self._result(event)
            case events.SessionEnd():
                self._settle(event)
            case _ if self._include_partial:
                yield from self._partial(event)

    # The session

    def _turn_begin(self, event: events.TurnBegin) -> Iterator[Json]:
        if event.agent_id is not None:
            content = event.prompt if isinstance(event.prompt, list) else [{"type": "text", "text": event.prompt}]
            yield self._user(content, event.agent_id, event.uuid)
            return
        self._tool_results = self._continued = 0
        self._is_answered = False
        yield self._init()
        if self._replay_prompts:
            yield {**self._user(event.prompt, None, event.uuid), "isReplay": True}

    def _init(self) -> Json:
        begin = self._begin
        if begin is None:
            return self._system("init")
        from stenograph import __version__

        return self._system(
            "init",
            cwd=begin.cwd,
            tools=begin.tools,
            mcp_servers=begin.mcp_servers,
            model=begin.model,
            permissionMode=begin.permission_mode,
            slash_commands=begin.commands,
            apiKeySource=self._key_source,
            claude_code_version=self._release,
            stenograph=__version__,
            output_style="default",
            agents=begin.agents if "Agent" in begin.tools or "Task" in begin.tools else [],
            skills=begin.skills,
            plugins=[],
        )

    def _result(self, event: events.TurnEnd) -> Json:
        self._api_ms += event.api_duration_ms
        self._bill.settle(event.session_usage)
        is_error = event.outcome is not Outcome.DONE
        result: Json = {
            "type": "result",
            "subtype": "success",
            "is_error": is_error,
            "api_error_status": event.status or None,
            "duration_ms": event.duration_ms,
            "duration_api_ms": self._api_ms,
            "num_turns": self._turn_count(event),
            "result": self._words.of(event),
            "stop_reason": event.stop_reason or None,
            "session_id": self._session_id,
            "total_cost_usd": self._bill.usd,
            "usage": sum_usages(self._usages),
            "modelUsage": self._bill.by_model(),
            "permission_denials": self._denials,
            "terminal_reason": _TERMINAL.get(event.outcome, "api_error"),
            "uuid": str(uuid4()),
            "result_index": self._results,
        }
        if event.outcome in _SUBTYPES:
            del result["result"], result["api_error_status"]
            result["subtype"] = _SUBTYPES[event.outcome]
            result["errors"] = [self._limit(event)]
        elif event.structured_output is not None:
            result["structured_output"] = event.structured_output
        if self._words.compaction is not None:  # as 2.1.325 has it
            del result["terminal_reason"], result["api_error_status"]
            result["local_command"] = "compact"
        self._results += 1
        self._usages, self._denials = [], []
        self.last_result = result
        return result

    def _limit(self, event: events.TurnEnd) -> str:
        """In the client's words (2.1.325)."""
        match event.outcome:
            case Outcome.OUT_OF_TURNS:
                return f"Reached maximum number of turns ({event.responses})"
            case Outcome.OUT_OF_BUDGET:
                return f"Reached maximum budget (${spelled_usd(self.max_budget)})"
            case Outcome.OUT_OF_ATTEMPTS:
                return no_structured_output(event)
        return "Interrupted by the user"

    def _turn_count(self, event: events.TurnEnd) -> int:
        """As 2.1.325 counts: the prompt, every result of a tool, words that made the model continue, the note of an interruption.

        At a limit of responses or money it counts responses, with the one that --max-turns did not allow any more.
        """
        if event.outcome is Outcome.OUT_OF_TURNS:
            return event.responses + 1
        if event.outcome is Outcome.OUT_OF_BUDGET:
            return event.responses
        return 1 + self._tool_results + self._continued + (event.outcome is Outcome.INTERRUPTED)

    def _failure(self, event: events.TurnEnd) -> Json:
        """A failure as a synthetic message, where readers look for an answer."""
        message = {
            "id": str(uuid4()),
            "type": "message",
            "role": "assistant",
            "model": SYNTHETIC,
            "content": [{"type": "text", "text": self._words.of(event)}],
            "stop_reason": "stop_sequence",
            "stop_sequence": "",
            "usage": {"input_tokens": 0, "output_tokens": 0},
        }
        told = {"type": "assistant", "message": message, **self._address(None), "uuid": str(uuid4()), "timestamp": _now()}
        if self._words.compaction is not None:  # 2.1.325 omits these members too
            return told
        return {**told, "error": "unknown", "is_api_error_message": True, "api_error_status": event.status or None}

    def _settle(self, event: events.SessionEnd) -> None:
        """The last result, printed at the end, has the final sums."""
        self._bill.settle(event.usage)
        if self.last_result is not None:
            self.last_result |= {"total_cost_usd": self._bill.usd, "modelUsage": self._bill.by_model()}

    # Background work

    def _task_begin(self, event: events.TaskBegin) -> Iterator[Json]:
        self._tasks[event.task_id] = {
            "task_id": event.task_id,
            "run_id": event.run_id,
            "task_type": event.kind,
            "description": event.description,
        }
        yield self._system("background_tasks_changed", tasks=list(self._tasks.values()))
        yield self._system(
            "task_started",
            task_id=event.task_id,
            run_id=event.run_id,
            tool_use_id=event.tool_use_id,
            description=event.description,
            is_backgrounded=True,
            task_type=event.kind,
        )

    def _task_end(self, event: events.TaskEnd) -> Iterator[Json]:
        patch = {"status": event.status, "end_time": round(time.time() * 1000)}
        yield self._system("task_updated", task_id=event.task_id, run_id=event.run_id, patch=patch)
        yield self._system(
            "task_notification",
            task_id=event.task_id,
            run_id=event.run_id,
            tool_use_id=event.tool_use_id,
            status="stopped" if event.status == "killed" else event.status,
            output_file=event.output_file,
            summary=event.summary,
        )
        self._tasks.pop(event.task_id, None)
        yield self._system("background_tasks_changed", tasks=list(self._tasks.values()))

    # Responses and calls

    def _response(self, event: events.ResponseEnd) -> Iterator[Json]:
        model = str(event.message.get("model", ""))
        self._bill.add(model, event.usage)
        if event.agent_id is None:
            self._usages.append(event.usage)
            self._continued += self._is_answered
            self._is_answered = not any(block.get("type") == "tool_use" for block in event.message.get("content") or ())
        if self._include_partial:
            delta = {"stop_reason": event.stop_reason, "stop_sequence": event.message.get("stop_sequence")}
            yield self._stream_event({"type": "message_delta", "delta": delta, "usage": event.usage}, event.agent_id)
            yield self._stream_event({"type": "message_stop"}, event.agent_id)
        blocks = event.message.get("content") or []
        for index, block in enumerate(blocks):
            yield {
                "type": "assistant",
                "message": {**event.message, "content": [block]},
                **self._address(event.agent_id),
                "uuid": event.uuids[index],
                "timestamp": _now(),
            }

    def _progress(self, event: events.ToolProgress) -> Iterator[Json]:
        agent = event.data.get("agentId")
        if isinstance(agent, str):
            self._callers.setdefault(agent, event.tool_use_id)
        elapsed = event.data.get("elapsedTimeSeconds")
        if elapsed is not None:
            yield {
                "type": "tool_progress",
                "tool_use_id": event.tool_use_id,
                "tool_name": "Bash",
                **self._address(event.agent_id),
                "elapsed_time_seconds": elapsed,
                "uuid": str(uuid4()),
            }

    def _tool_end(self, event: events.ToolEnd) -> Iterator[Json]:
        given = self._given.pop(event.tool_use_id, {})
        self._tool_results += event.agent_id is None
        if event.tool_use_id in self._calls:
            self._calls.remove(event.tool_use_id)
        message: Json = {**self._user([event.result], event.agent_id, event.uuid), "tool_use_result": event.structured}
        if event.is_denied or event.tool_use_id in self._refused:
            self._denials.append({"tool_name": event.tool, "tool_use_id": event.tool_use_id, "tool_input": given})
        if event.is_denied:
            words = event.result.get("content")
            yield self._system("permission_denied", tool_name=event.tool, tool_use_id=event.tool_use_id, message=words)
            message["tool_result_meta"] = [{"id": event.tool_use_id, "non_execution_kind": event.denied_by}]
        yield message

    def _partial(self, event: Event) -> Iterator[Json]:
        match event:
            case events.ResponseBegin():
                self._message_id = event.message_id
                message: Json = {
                    "id": event.message_id,
                    "type": "message",
                    "role": "assistant",
                    "model": event.model,
                    "content": [],
                    "stop_reason": None,
                    "stop_sequence": None,
                    "usage": event.usage,
                }
                yield self._stream_event({"type": "message_start", "message": message}, event.agent_id)
            case events.BlockBegin():
                block: Json = {"type": event.kind, **_EMPTY.get(event.kind, {})}
                if event.tool_use_id:
                    block |= {"id": event.tool_use_id, "name": event.tool, "input": {}}
                start = {"type": "content_block_start", "index": event.index, "content_block": block}
                yield self._stream_event(start, event.agent_id)
            case events.TextChunk():
                yield self._delta(event.index, {"type": "text_delta", "text": event.text}, event.agent_id)
            case events.ThinkingChunk():
                yield self._delta(event.index, {"type": "thinking_delta", "thinking": event.text}, event.agent_id)
            case events.InputChunk():
                delta = {"type": "input_json_delta", "partial_json": event.partial_json}
                yield self._delta(event.index, delta, event.agent_id)
            case events.BlockEnd():
                if signature := event.block.get("signature"):
                    yield self._delta(event.index, {"type": "signature_delta", "signature": signature}, event.agent_id)
                yield self._stream_event({"type": "content_block_stop", "index": event.index}, event.agent_id)

    # Pieces of messages

    @property
    def _session_id(self) -> str:
        return self._begin.session_id if self._begin else ""

    def _address(self, agent_id: str | None) -> Json:
        if agent_id is None:
            return {"parent_tool_use_id": None, "session_id": self._session_id}
        if agent_id not in self._callers and self._calls:
            self._callers[agent_id] = self._calls[-1]
        return {
            "parent_tool_use_id": self._callers.get(agent_id),
            "agent_id": agent_id,
            "session_id": self._session_id,
        }

    def _system(self, subtype: str, **members: Any) -> Json:
        return {"type": "system", "subtype": subtype, **members, "session_id": self._session_id, "uuid": str(uuid4())}

    def _user(self, content: str | list[Json], agent_id: str | None, uuid: str) -> Json:
        message = {"role": "user", "content": content}
        return {"type": "user", "message": message, **self._address(agent_id), "uuid": uuid, "timestamp": _now()}

    def _delta(self, index: int, delta: Json, agent_id: str | None) -> Json:
        return self._stream_event({"type": "content_block_delta", "index": index, "delta": delta}, agent_id)

    def _stream_event(self, event: Json, agent_id: str | None) -> Json:
        return {
            "type": "stream_event",
            "event": event,
            **self._address(agent_id),
            "uuid": str(uuid4()),
            "api_message_id": self._message_id,
        }


def _now() -> str:
    now = time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now * 1000) % 1000:03d}Z"


_WORDS = {
    Outcome.OUT_OF_TOKENS: "API Error: the answer was cut off at the limit of its output tokens",
    Outcome.OUT_OF_WINDOW: "API Error: the conversation does not fit the model's window any more",
    Outcome.REFUSED: "API Error: the model declined to answer",
}


def no_structured_output(end: events.TurnEnd) -> str:
    """In the client's words (2.1.325)."""
    words = f"Failed to provide valid structured output after {MOST_ATTEMPTS} attempts"
    return f"{words} — last StructuredOutput error: {end.error}"


def spelled_usd(amount: float) -> str:
    """As it is written, without an exponent."""
    return f"{amount:.12f}".rstrip("0").rstrip(".")


class TurnWords:
    def __init__(self) -> None:
        #: The outcome of `/compact` in the current turn.
        self.compaction: events.CompactionEnd | events.CompactionFailed | None = None

    def take(self, event: Event) -> None:
        """Takes every event, before `of` is called for it."""
        if event.agent_id is not None:
            return
        match event:
            case events.TurnBegin():
                self.compaction = None
            case events.CompactionEnd(trigger="manual") | events.CompactionFailed(trigger="manual"):
                self.compaction = event

    def of(self, end: events.TurnEnd) -> str:
        if isinstance(self.compaction, events.CompactionEnd):
            return f"Compacted: {self.compaction.tokens_before:,} -> {self.compaction.tokens_after:,} tokens"
        if self.compaction is not None:
            return self.compaction.reason
        if end.outcome is Outcome.FAILED:
            return f"API Error: {end.error}"
        if end.outcome is Outcome.NOT_RESTORED:
            return f"Error: {end.error}"
        if end.structured_output is not None:
            return msgspec.json.encode(end.structured_output).decode()
        return end.text if end.outcome is Outcome.DONE else end.text or _WORDS.get(end.outcome, "")
