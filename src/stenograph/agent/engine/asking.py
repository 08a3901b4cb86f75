"""The conversation -> a request, and its response -> the file, the conversation and the turn."""

from __future__ import annotations

import time
from contextlib import aclosing

import msgspec

from stenograph.agent.context.limits import is_truncated
from stenograph.agent.context.models import asking_of, called_name
from stenograph.agent.engine import events
from stenograph.agent.engine.answering import Answer, all_tokens, told_of
from stenograph.agent.engine.calls import Call
from stenograph.agent.engine.refusals import is_overloaded, is_too_long, room_left
from stenograph.agent.engine.shared import Shared
from stenograph.agent.engine.transcript import Transcript
from stenograph.agent.engine.turn import TurnInProgress
from stenograph.agent.tools.toolbox import Toolbox
from stenograph.errors import ModelError
from stenograph.model import CACHE_TTL, Request
from stenograph.model import events as stream
from stenograph.pricing import known_facts
from stenograph.records import Json

#: Tries of an overloaded model before another is called, as 2.1.325 does.
_MOST_OVERLOADS = 3
#: Tokens. With less room for an answer the conversation is compacted instead.
_LEAST_ROOM = 3_000
#: Written for a response without blocks, by stop reason.
_EMPTY_ANSWER = "The model gave no answer."
_EMPTY_ANSWERS = {"refusal": "The model declined to answer.", "max_tokens": "The answer was cut off before it began."}


class Asker:
    def __init__(self, shared: Shared, transcript: Transcript, *, model: str, system: list[Json], toolbox: Toolbox) -> None:
        self.toolbox = toolbox
        #: Tokens of the conversation as last counted by the endpoint; 0 if never.
        self.tokens = 0
        self.last_usage: Json = {}
        self._shared = shared
        self._recorder = transcript.recorder
        self._conversation = transcript.conversation
        self._agent_id = transcript.agent_id
        self._report = transcript.report
        self._system = system
        self._asked_model = self._conversation.model = model
        #: Tokens that the endpoint said are left for an answer; 0 if it never did.
        self._room = 0
        self._is_truncation_told = False
        #: Of the last request; empty if it said nothing.
        self._effort = ""

    @property
    def model(self) -> str:
        """The one that is called; in a turn perhaps another than the one asked for."""
        return self._conversation.model

    def change_model(self, model: str, system: list[Json]) -> None:
        self._asked_model, self._system = model, system
        self._call(model)

    def call_asked_model(self) -> None:
        """Again, after a turn with another."""
        if self.model != self._asked_model:
            self._call(self._asked_model)

    def begin_anew(self, tokens: int) -> None:
        """After a compaction to about so many."""
        self.tokens, self._room = tokens, 0

    def _call(self, model: str) -> None:
        self._conversation.change_model(model)
        self._room = 0

    def request(self) -> Request:
        options = self._shared.options
        most = min(filter(None, (self._shared.limits.max_output_of(self.model), self._room)), default=0)
        asking = asking_of(self.model, max_tokens=most, budget=options.thinking, effort=options.effort, thinks=options.thinks)
        return Request(
            model=called_name(self.model),
            max_tokens=asking.max_tokens,
            system=self._system,
            tools=self.toolbox.definitions,
            messages=self._conversation.messages,
            thinking=asking.thinking,
            effort=asking.effort,
            betas=[*options.betas, *asking.betas],
        )

    async def count(self, limit: int) -> int:
        """Tokens of the conversation, of which `limit` are too many."""
        if not self.tokens and len(self._conversation.messages) > 1:
            # Not counted yet, as in a session of another client. Ask the endpoint only when it may matter.
            guess = len(msgspec.json.encode(self._conversation.messages)) // 4
            self.tokens = (await self._shared.client.count_tokens(self.request()) or guess) if guess > limit // 2 else guess
        return self.tokens

    async def ask(self, turn: TurnInProgress) -> Answer:
        """Raises ModelError."""
        began = time.monotonic()
        turn.answer = answer = Answer()
        overloads = 0
        try:
            request = self.request()
            self._effort = request.effort
            async with aclosing(self._shared.client.stream(request)) as parts:
                async for event in parts:
                    if isinstance(event, stream.Retrying):
                        turn.answer = answer = Answer()
                        overloads += is_overloaded(event.error)
                        if overloads >= _MOST_OVERLOADS and turn.fallbacks:
                            raise event.error
                        self.retry(event)
                    else:
                        answer.take(event)
                        if (told := told_of(event, self._agent_id)) is not None:
                            self._shared.emit(told)
        finally:
            took = time.monotonic() - began
            turn.api_seconds += took
            self._shared.tally.api_seconds += took
        turn.answer = None
        self._record_answer(turn, answer)
        return answer

    def retry(self, event: stream.Retrying) -> None:
        error = event.error
        self._recorder.api_error(
            words=str(error),
            status=error.status,
            request_id=error.request_id,
            wait=event.wait,
            attempt=event.attempt,
            max_retries=event.max_retries,
        )
        self._shared.emit(
            events.Retry(
                attempt=event.attempt,
                max_retries=event.max_retries,
                wait=event.wait,
                reason=str(error),
                status=error.status,
                agent_id=self._agent_id,
            )
        )

    # What is refused

    def adapt(self, turn: TurnInProgress, error: ModelError) -> bool:
        """Whether the next request differs from the refused one: another model, or a shorter answer."""
        return self._fall_back(turn, error) or self._learn(error) or self._shorten_answer(error)

    def _fall_back(self, turn: TurnInProgress, error: ModelError) -> bool:
        """Call the next model for the rest of the turn, where the one called is overloaded or not there."""
        trigger = "overloaded" if is_overloaded(error) else "model_not_found" if error.status == 404 else ""
        models = [model for name in turn.fallbacks if (model := self._shared.models.named(name)) != self.model]
        if not trigger or not models:
            return False
        before = self.model
        turn.fallbacks = models[1:]
        self._call(models[0])
        why = "is overloaded" if trigger == "overloaded" else "was not found"
        text = f"{called_name(before)} {why}; {called_name(self.model)} answers instead"
        self._shared.emit(
            events.ModelFallback(model=before, fallback=self.model, trigger=trigger, text=text, agent_id=self._agent_id)
        )
        return True

    def _learn(self, error: ModelError) -> bool:
        """Whether the endpoint said that it answers with fewer tokens than it was asked for."""
        asked = self.request().max_tokens
        return self._shared.limits.learn(self.model, error) and not is_too_long(error) and self.request().max_tokens < asked

    def _shorten_answer(self, error: ModelError) -> bool:
        room = room_left(error)
        if room < _LEAST_ROOM or room == self._room:
            return False
        self._room = room
        return True

    def record_failure(self, error: ModelError) -> None:
        """Never sent; the prompt goes along with the next one (rules 34, 41)."""
        self._recorder.synthetic(f"API Error: {error}", error="unknown", status=error.status)

    # What is answered

    def _record_answer(self, turn: TurnInProgress, answer: Answer) -> None:
        for block in answer.blocks:
            if block["type"] == "tool_use":
                block["name"] = self.toolbox.spelled(block["name"])
        usage = answer.message["usage"]
        self._shared.tally.add(answer.message["model"], usage)
        self.last_usage = usage
        self.tokens = all_tokens(usage)
        self._watch_truncation(turn)
        if answer.blocks:
            uuids = self._keep(turn, answer, answer.blocks)
        else:
            uuids = [self._recorder.synthetic(_EMPTY_ANSWERS.get(answer.stop_reason, _EMPTY_ANSWER), error="unknown")]
        turn.waiting = [
            Call(block["id"], block["name"], block["input"], uuid, answer.unparsed.get(place, ""))
            for place, (block, uuid) in enumerate(zip(answer.blocks, uuids, strict=False))
            if block["type"] == "tool_use"
        ]
        turn.server_tool = next((call.name for call in reversed(turn.waiting) if call.name.startswith("mcp__")), "")
        self._announce(answer, answer.blocks, uuids)

    def keep_begun(self, turn: TurnInProgress) -> None:
        """The text of an interrupted response, as far as it was shown; its calls never ran and are dropped."""
        answer = turn.answer
        blocks = [block for block in answer.shown if block["type"] != "tool_use"] if answer else []
        if answer is None or not any(block["type"] == "text" for block in blocks):
            return
        self._announce(answer, blocks, self._keep(turn, answer, blocks))
        turn.text = answer.text or turn.text

    def _keep(self, turn: TurnInProgress, answer: Answer, blocks: list[Json]) -> list[str]:
        """Returns the UUIDs of the lines."""
        uuids = self._recorder.response(
            answer.message,
            blocks,
            request_id=answer.request_id,
            requested_model=called_name(self.model),
            input_ms=answer.input_ms,
            more={**self._causes(turn), **self._wishes()},
        )
        self._conversation.add_answer(blocks)
        return uuids

    def _causes(self, turn: TurnInProgress) -> Json:
        """The skill and the server's tool that a response is due to, as 2.1.325 names them."""
        causes: Json = {"attributionSkill": self._shared.skill} if self._shared.skill else {}
        if turn.server_tool:
            _, server, tool = turn.server_tool.split("__", 2)
            causes |= {"attributionMcpServer": server, "attributionMcpTool": tool}
        return causes

    def _wishes(self) -> Json:
        """What the request asked for beside the answer, as 2.1.325 records it."""
        wishes: Json = {"promptCacheRequested": CACHE_TTL} if self._shared.client.endpoint.marks_cache else {}
        return {**wishes, "effort": self._effort} if self._effort else wishes

    def _announce(self, answer: Answer, blocks: list[Json], uuids: list[str]) -> None:
        self._shared.emit(
            events.ResponseEnd(
                message={**answer.message, "content": blocks},
                uuids=uuids,
                stop_reason=answer.stop_reason,
                usage=answer.message["usage"],
                agent_id=self._agent_id,
            )
        )

    def _watch_truncation(self, turn: TurnInProgress) -> None:
        """Local servers cut off silently what does not fit, and the model forgets its task. Once a turn: it takes time."""
        if turn.responses or self._is_truncation_told or known_facts(self.model):
            return
        counted = self.tokens - (self.last_usage.get("output_tokens") or 0)
        if is_truncated(self._conversation.messages, counted):
            self._is_truncation_told = True
            self._report(
                f"{called_name(self.model)} counted only {counted:,} tokens of a much longer conversation: its endpoint seems to"
                " cut it off; raise the endpoint's context size, or set --window"
            )
