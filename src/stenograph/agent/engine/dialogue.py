"""One conversation with the model, main or sub-agent: prompts in, turns out.

However a turn ends, every call is answered and the conversation can be resumed, from memory and from the file.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from typing import Any
from uuid import uuid4

import msgspec
from msgspec import Struct, field

from stenograph.agent.context.git import branch_of
from stenograph.agent.context.limits import is_truncated
from stenograph.agent.context.models import asking_of, called_name
from stenograph.agent.engine import events
from stenograph.agent.engine.answering import Answer, all_tokens, ask_aside, told_of
from stenograph.agent.engine.asides import Aside, AsideContext
from stenograph.agent.engine.calls import Call, CallResult, changed_lines, pull_request_of, refused, run_call, stopped
from stenograph.agent.engine.compaction import (
    CompactionRefused,
    ask_for_summary,
    is_overloaded,
    is_too_long,
    limit_of,
    room_left,
    summary_text,
)
from stenograph.agent.engine.conversation import Conversation, blocks_of, text_block
from stenograph.agent.engine.events import Outcome
from stenograph.agent.engine.gate import Gate
from stenograph.agent.engine.hooks import HookOutcome
from stenograph.agent.engine.inbox import TaskNotice, Waiting
from stenograph.agent.engine.options import PermissionMode
from stenograph.agent.engine.shared import Shared
from stenograph.agent.permissions.live_policy import Behavior, parse_rules
from stenograph.agent.permissions.policy import Permissions
from stenograph.agent.recording.file_history import FileHistory
from stenograph.agent.recording.places import fresh_agent_id, spill_folder
from stenograph.agent.recording.recorder import Recorder, plain_text
from stenograph.agent.tools.base import Companion, RunAgent, ToolContext, ToolFailed, Workspace
from stenograph.agent.tools.changing import ReadState
from stenograph.agent.tools.structured_output import MOST_ATTEMPTS, STRUCTURED_OUTPUT
from stenograph.agent.tools.toolbox import Toolbox
from stenograph.errors import ModelError
from stenograph.model import Request
from stenograph.model import events as stream
from stenograph.pricing import known_facts
from stenograph.records import Json, write

#: The source of rules that hold for a turn.
COMMAND_RULES = "command"
#: Calls that run at once; a model may ask for hundreds.
_MOST_AT_ONCE = 10
#: Times in one turn that an answer cut off at its limit is continued, as 2.1.325 does.
_MOST_CUT_OFF = 3
_CUT_OFF = (
    "Your answer was cut off at the limit of its length. Continue exactly where it stopped, and do the rest in smaller steps."
)
#: Tries of an overloaded model before another is called, as 2.1.325 does.
_MOST_OVERLOADS = 3
_UNSTRUCTURED = "Your answer has to be given by a call of StructuredOutput. Call it now, and say nothing else."
_NOTHING_SAID = "Your last answer was empty. Please go on, and say or do something."
#: Tokens. With less room for an answer the conversation is compacted instead.
_LEAST_ROOM = 3_000
#: Tokens by which a conversation grows before a failed compaction is tried again.
_GROWN = 10_000
#: Written for a response without blocks, by stop reason.
_EMPTY_ANSWER = "The model gave no answer."
_EMPTY_ANSWERS = {"refusal": "The model declined to answer.", "max_tokens": "The answer was cut off before it began."}


class TurnInProgress(Struct):
    began: float
    responses: int = 0
    text: str = ""
    stop_reason: str = ""
    api_seconds: float = 0.0
    #: Calls of the last response without a recorded result.
    waiting: list[Call] = field(default_factory=list)
    #: Recorded results that the conversation does not hold yet, in file order.
    results: list[Json] = field(default_factory=list)
    #: With the id of the call; they come behind all results.
    companions: list[tuple[str, Companion]] = field(default_factory=list)
    #: A request of it was sent.
    is_begun: bool = False
    #: Announced calls.
    begun: set[str] = field(default_factory=set)
    answer: Answer | None = None
    tools_used: list[str] = field(default_factory=list)
    #: Models to call where the one asked for is overloaded or not there.
    fallbacks: list[str] = field(default_factory=list)
    #: A tool that ends the turn has succeeded.
    is_over: bool = False
    structured_output: Any = None
    #: Calls of StructuredOutput that were refused, and why the last one was.
    attempts: int = 0
    last_refusal: str = ""
    #: By hooks about calls, until all results are there.
    said: list[HookOutcome] = field(default_factory=list)
    #: A hook ended it.
    is_stopped: bool = False
    #: A hook made it go on.
    is_continued: bool = False


class Dialogue:
    def __init__(
        self,
        shared: Shared,
        recorder: Recorder,
        conversation: Conversation,
        *,
        model: str,
        system: list[Json],
        toolbox: Toolbox,
        permissions: Permissions,
        workspace: Workspace,
        run_agent: RunAgent,
        history: FileHistory | None = None,
        max_turns: int = 0,
    ) -> None:
        self.shared = shared
        self.recorder = recorder
        self.conversation = conversation
        #: The one that is called; in a turn perhaps another than the one asked for.
        self.model = self._asked_model = model
        self.workspace = workspace
        self._system = system
        self._toolbox = toolbox
        self._permissions = permissions
        self._gate = Gate(shared, permissions, recorder.envelope.agent_id)
        self._run_agent = run_agent
        self._history = history
        self._max_turns = max_turns
        self.read_state = ReadState()
        self._todos: list[Json] = []
        self._agent_id = recorder.envelope.agent_id
        #: Tokens of the conversation as last counted by the endpoint; 0 if never.
        self.tokens = 0
        #: Tokens that the endpoint said are left for an answer; 0 if it never did.
        self._room = 0
        #: A compaction failed at so many tokens.
        self._failed_at = 0
        self.last_usage: Json = {}
        #: Takes what goes into the turn at a tool boundary; None in a subagent.
        self.waiting: Callable[[], list[Waiting]] | None = None
        self._is_truncation_told = False
        #: What hooks said before the first prompt.
        self.pending: list[HookOutcome] = []
        #: Called once, after the first response and before any tool runs. What it returns ends the turn.
        self.on_first_answer: Callable[[], str] | None = None
        #: Of the last turn, in the order they ended.
        self.tools_used: list[str] = []
        #: By all edits so far.
        self.lines_added = 0
        self.lines_removed = 0
        self._emit = shared.emit

    # A turn

    async def take_turn(
        self,
        content: str | list[Json],
        *,
        is_notification: bool = False,
        uuid: str = "",
        companions: Sequence[Companion] = (),
    ) -> events.TurnEnd:
        """Cancelling it is an interruption by the user: it ends the turn, not the caller.

        `uuid`: of the prompt's record; empty for a new one. `companions` come behind the prompt.
        """
        turn = TurnInProgress(time.monotonic(), fallbacks=list(self.shared.options.fallback_models))
        if self.model != self._asked_model:
            self._call(self._asked_model)
        said = await self._ask_hooks(content) if not is_notification and self._agent_id is None else None
        if said is not None and said.is_blocked:
            self.recorder.informational(said.reason)
            self._report(said.reason.partition("\n\n")[0].replace("\n", " "))
            return self._end_turn(turn, Outcome.DONE)
        self._record_prompt(content, is_notification=is_notification, uuid=uuid)
        for told in (*self.pending, *([said] if said else [])):
            self._follow(turn, told)
        self.pending = []
        if said is not None and said.stop_reason is not None:
            self._ask_on(f"Operation stopped by hook: {said.stop_reason}")
            return self._end_turn(turn, Outcome.DONE)
        for companion in companions:
            self.accompany(companion)
        try:
            outcome, error = await self._answer(turn)
        except asyncio.CancelledError:
            self._interrupt(turn)
            outcome, error = Outcome.INTERRUPTED, None
        status = error.status if isinstance(error, ModelError) else 0
        return self._end_turn(turn, outcome, words=str(error) if error else "", status=status)

    async def compact(self, instructions: str) -> events.TurnEnd:
        """A compaction that the user asked for, as a turn of its own."""
        turn = TurnInProgress(time.monotonic())
        self._emit(events.TurnBegin(prompt=f"/compact {instructions}".strip(), uuid="", agent_id=self._agent_id))
        try:
            refused = await self._compact("manual", instructions)
        except asyncio.CancelledError:
            return self._end_turn(turn, Outcome.INTERRUPTED)
        return self._end_turn(turn, Outcome.FAILED if refused else Outcome.DONE, words=refused)

    def say_beside(self, texts: Sequence[str]) -> None:
        for text in texts:
            self.recorder.beside_turn(text)
            self.conversation.add_user([text_block(text)])

    def change_model(self, model: str, system: list[Json]) -> None:
        self._asked_model, self._system = model, system
        self._call(model)

    @property
    def toolbox(self) -> Toolbox:
        return self._toolbox

    def _call(self, model: str) -> None:
        # It does not know the signatures of another's thinking (rule 32).
        self.conversation.drop_thinking()
        self.model = model
        self._room = 0

    async def _ask_hooks(self, content: str | list[Json]) -> HookOutcome | None:
        return await self.shared.hooks.on_prompt(plain_text(content)) if self.shared.hooks else None

    def _follow(self, turn: TurnInProgress, outcome: HookOutcome) -> None:
        """What hooks said, into the file and the conversation."""
        for aside in outcome.asides:
            self._add_aside(aside)
        for words in outcome.context:
            self._add_aside(Aside(text=f"<system-reminder>\n{words}\n</system-reminder>"))
        for line in outcome.notices:
            self._report(line)
        if outcome.stop_reason is not None:
            turn.is_stopped = True

    async def _goes_on(self, turn: TurnInProgress) -> bool:
        """Whether a hook objects to the end of the turn, or has something to add."""
        if self.shared.hooks is None:
            return False
        said = await self.shared.hooks.on_stop(turn.text, is_continued=turn.is_continued, agent_id=self._agent_id)
        if said.is_blocked:
            self._ask_on(f"Stop hook feedback:\n{said.reason}")
        self._follow(turn, said)
        if said.summary and self._agent_id is None:
            self.recorder.stop_hooks(said.summary)
        goes_on = (said.is_blocked or said.has_context) and said.stop_reason is None
        turn.is_continued = turn.is_continued or goes_on
        return goes_on

    def _record_prompt(self, content: str | list[Json], *, is_notification: bool, uuid: str = "") -> None:
        mode = self.shared.policy.mode.value
        self._locate()
        if is_notification:
            uuid = self.recorder.notification(str(content), permission_mode=mode)
        else:
            uuid = uuid or str(uuid4())
            snapshot = self._history.at_prompt(uuid) if self._history else None
            self.recorder.prompt(content, permission_mode=mode, snapshot=snapshot, uuid=uuid)
        if self.shared.hooks and self._agent_id is None:
            self.shared.hooks.prompt_id = self.recorder.prompt_id
        self.conversation.add_user(blocks_of(content))
        self._emit(events.TurnBegin(prompt=content, uuid=uuid, agent_id=self._agent_id))

    def _locate(self) -> None:
        """Lines say where they were written: a command may have changed the folder or the branch (2.0.76)."""
        self.recorder.envelope.cwd = str(self.workspace.cwd)
        self.recorder.envelope.git_branch = branch_of(self.workspace.cwd)

    async def _answer(self, turn: TurnInProgress) -> tuple[Outcome, ModelError | str | None]:
        has_shrunk = False
        cut_off = empty = unstructured = 0
        while True:
            if self._max_turns and turn.responses >= self._max_turns:
                return Outcome.OUT_OF_TURNS, None
            if self.shared.options.auto_compact and await self._is_nearly_full():
                await self._compact("auto")
            await self._add_asides(turn)
            try:
                answer = await self._ask(turn)
            except ModelError as error:
                if self._fall_back(turn, error) or self._learn(error):
                    continue
                room = room_left(error)
                if room >= _LEAST_ROOM and room != self._room:
                    self._room = room
                    continue
                if is_too_long(error) and not has_shrunk and not await self._compact("auto"):
                    has_shrunk = True
                    continue
                self._record_failure(error)
                return (Outcome.OUT_OF_WINDOW if is_too_long(error) else Outcome.FAILED), error
            turn.responses += 1
            turn.text = answer.text or turn.text
            turn.stop_reason = answer.stop_reason
            if self.on_first_answer is not None:
                problem, self.on_first_answer = self.on_first_answer(), None
                if problem:
                    self._refuse_calls(turn, f"Error: not run, because {problem}")
                    return Outcome.NOT_RESTORED, problem
            budget = self.shared.options.max_budget
            if budget and self.shared.tally.cost >= budget:
                self._refuse_calls(turn, "Error: not run, because the budget is spent")
                return Outcome.OUT_OF_BUDGET, None
            if answer.calls_tools:
                await self._run_calls(turn)
                if turn.is_stopped:
                    return Outcome.DONE, None
                if turn.is_over:
                    return Outcome.DONE, None
                if turn.attempts >= MOST_ATTEMPTS:
                    return Outcome.OUT_OF_ATTEMPTS, turn.last_refusal
                if answer.stop_reason == "refusal":
                    return Outcome.REFUSED, None
                continue
            match answer.stop_reason:
                case "pause_turn":
                    continue
                case "max_tokens" | "model_context_window_exceeded" if cut_off < _MOST_CUT_OFF and answer.text:
                    cut_off += 1
                    self._ask_on(_CUT_OFF)
                    continue
                case "max_tokens":
                    return Outcome.OUT_OF_TOKENS, None
                case "refusal":
                    return Outcome.REFUSED, None
                case "model_context_window_exceeded":
                    return Outcome.OUT_OF_WINDOW, None
            if not answer.blocks and not empty:
                empty += 1
                self._ask_on(_NOTHING_SAID)
                continue
            if STRUCTURED_OUTPUT in self._toolbox.names and not unstructured:
                unstructured += 1
                self._ask_on(_UNSTRUCTURED)
                continue
            if await self._goes_on(turn):
                continue
            return Outcome.DONE, None

    def _refuse_calls(self, turn: TurnInProgress, words: str) -> None:
        """Answer the calls of the last response without running them."""
        for call in turn.waiting:
            self._begin_call(turn, call)
            self._record_result(turn, refused(call, words))
        if turn.results:
            self._hand_over(turn)

    def _fall_back(self, turn: TurnInProgress, error: ModelError) -> bool:
        """Call the next model for the rest of the turn, where the one called is overloaded or not there."""
        trigger = "overloaded" if is_overloaded(error) else "model_not_found" if error.status == 404 else ""
        models = [model for name in turn.fallbacks if (model := self.shared.models.named(name)) != self.model]
        if not trigger or not models:
            return False
        before, self.model = self.model, models[0]
        turn.fallbacks = models[1:]
        self._call(models[0])
        why = "is overloaded" if trigger == "overloaded" else "was not found"
        text = f"{called_name(before)} {why}; {called_name(self.model)} answers instead"
        self._emit(events.ModelFallback(model=before, fallback=self.model, trigger=trigger, text=text, agent_id=self._agent_id))
        return True

    def _learn(self, error: ModelError) -> bool:
        """Whether the endpoint said that it answers with fewer tokens than it was asked for."""
        asked = self._request().max_tokens
        return self.shared.limits.learn(self.model, error) and not is_too_long(error) and self._request().max_tokens < asked

    def _ask_on(self, words: str) -> None:
        """Words of ours that make the model go on in the same turn, as the client has them in its files."""
        self.recorder.meta(words)
        self.conversation.add_user([text_block(words)])

    def _end_turn(self, turn: TurnInProgress, outcome: Outcome, *, words: str = "", status: int = 0) -> events.TurnEnd:
        duration = round((time.monotonic() - turn.began) * 1000)
        if self._agent_id is None and self.recorder.is_begun:
            self.recorder.turn_duration(duration)
            self.recorder.anchor()
        end = events.TurnEnd(
            outcome=outcome,
            text=turn.text,
            error=words,
            status=status,
            stop_reason=turn.stop_reason,
            responses=turn.responses,
            duration_ms=duration,
            api_duration_ms=round(turn.api_seconds * 1000),
            session_usage=self.shared.tally.by_model(),
            structured_output=turn.structured_output,
            agent_id=self._agent_id,
        )
        self.tools_used = turn.tools_used
        if self._agent_id is None:
            self.shared.policy.drop(COMMAND_RULES)
        self._emit(end)
        return end

    # The model

    def _request(self) -> Request:
        options = self.shared.options
        most = min(filter(None, (self.shared.limits.max_output_of(self.model), self._room)), default=0)
        asking = asking_of(self.model, max_tokens=most, budget=options.thinking, effort=options.effort)
        return Request(
            model=called_name(self.model),
            max_tokens=asking.max_tokens,
            system=self._system,
            tools=self._toolbox.definitions,
            messages=self.conversation.messages,
            thinking=asking.thinking,
            effort=asking.effort,
            betas=[*options.betas, *asking.betas],
        )

    async def _ask(self, turn: TurnInProgress) -> Answer:
        began = time.monotonic()
        turn.answer = answer = Answer()
        overloads = 0
        try:
            async with aclosing(self.shared.client.stream(self._request())) as parts:
                async for event in parts:
                    if isinstance(event, stream.Retrying):
                        turn.answer = answer = Answer()
                        overloads += is_overloaded(event.error)
                        if overloads >= _MOST_OVERLOADS and turn.fallbacks:
                            raise event.error
                        self._retry(event)
                    else:
                        answer.take(event)
                        if (told := told_of(event, self._agent_id)) is not None:
                            self._emit(told)
        finally:
            took = time.monotonic() - began
            turn.api_seconds += took
            self.shared.tally.api_seconds += took
        turn.answer = None
        self._record_answer(turn, answer)
        return answer

    def _retry(self, event: stream.Retrying) -> None:
        error = event.error
        self.recorder.api_error(
            words=str(error),
            status=error.status,
            request_id=error.request_id,
            wait=event.wait,
            attempt=event.attempt,
            max_retries=event.max_retries,
        )
        self._emit(
            events.Retry(
                attempt=event.attempt,
                max_retries=event.max_retries,
                wait=event.wait,
                reason=str(error),
                status=error.status,
                agent_id=self._agent_id,
            )
        )

    def _record_answer(self, turn: TurnInProgress, answer: Answer) -> None:
        for block in answer.blocks:
            if block["type"] == "tool_use":
                block["name"] = self._toolbox.spelled(block["name"])
        usage = answer.message["usage"]
        self.shared.tally.add(answer.message["model"], usage)
        self.last_usage = usage
        self.tokens = all_tokens(usage)
        self._watch_truncation(turn)
        uuids = (
            self.recorder.response(
                answer.message, answer.blocks, request_id=answer.request_id, requested_model=called_name(self.model)
            )
            if answer.blocks
            else [self.recorder.synthetic(_EMPTY_ANSWERS.get(answer.stop_reason, _EMPTY_ANSWER), error="unknown")]
        )
        if answer.blocks:
            self.conversation.add_answer(answer.blocks)
        turn.waiting = [
            Call(block["id"], block["name"], block["input"], uuid, answer.unparsed.get(place, ""))
            for place, (block, uuid) in enumerate(zip(answer.blocks, uuids, strict=False))
            if block["type"] == "tool_use"
        ]
        self._emit(
            events.ResponseEnd(
                message={**answer.message, "content": answer.blocks},
                uuids=uuids,
                stop_reason=answer.stop_reason,
                usage=usage,
                agent_id=self._agent_id,
            )
        )

    def _watch_truncation(self, turn: TurnInProgress) -> None:
        """Local servers cut off silently what does not fit, and the model forgets its task. Once a turn: it takes time."""
        if turn.responses or self._is_truncation_told or known_facts(self.model):
            return
        counted = self.tokens - (self.last_usage.get("output_tokens") or 0)
        if is_truncated(self.conversation.messages, counted):
            self._is_truncation_told = True
            self._report(
                f"{called_name(self.model)} counted only {counted:,} tokens of a much longer conversation: its endpoint seems to"
                " cut it off; raise the endpoint's context size, or set --window"
            )

    def _record_failure(self, error: ModelError) -> None:
        """Never sent; the prompt goes along with the next one (rules 34, 41)."""
        self.recorder.synthetic(f"API Error: {error}", error="unknown", status=error.status)

    # Tools

    async def _run_calls(self, turn: TurnInProgress) -> None:
        """Parallel-safe calls together, others one by one."""
        for group in list(self._groups(turn.waiting)):
            if len(group) == 1:
                await self._run_call(turn, group[0])
                continue
            places = asyncio.Semaphore(_MOST_AT_ONCE)
            tasks = [asyncio.create_task(self._run_in_place(turn, call, places)) for call in group]
            try:
                await asyncio.gather(*tasks)
            except BaseException:
                for task in tasks:
                    # Cancelled twice, a command being started would be left behind.
                    if not task.cancelling():
                        task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                raise
        self._hand_over(turn)

    def _groups(self, calls: Sequence[Call]) -> Iterator[list[Call]]:
        group: list[Call] = []
        for call in calls:
            if self._toolbox.is_parallel(call.name, call.given):
                group.append(call)
                continue
            if group:
                yield group
            group = []
            yield [call]
        if group:
            yield group

    async def _run_in_place(self, turn: TurnInProgress, call: Call, places: asyncio.Semaphore) -> None:
        async with places:
            await self._run_call(turn, call)

    async def _run_call(self, turn: TurnInProgress, call: Call) -> None:
        self._begin_call(turn, call)
        result = await run_call(
            call, self._toolbox, self._gate.decide, self._context(call), self._report, self.shared.options.environ
        )
        self._record_result(turn, result)
        if result.said is not None:
            turn.said.append(result.said)
        if self.shared.hooks and not result.is_error:
            turn.said.append(await self.shared.hooks.after_tool(result, self._agent_id))

    def _begin_call(self, turn: TurnInProgress, call: Call) -> None:
        """Announce a call once, also when only to report it stopped."""
        if call.id not in turn.begun:
            turn.begun.add(call.id)
            self._emit(events.ToolBegin(tool_use_id=call.id, tool=call.name, given=call.given, agent_id=self._agent_id))

    def _context(self, call: Call) -> ToolContext:
        def progress(data: Json) -> None:
            self.recorder.progress(data, tool_use_id=call.id)
            self._emit(events.ToolProgress(tool_use_id=call.id, data=data, agent_id=self._agent_id))

        return ToolContext(
            tool_use_id=call.id,
            workspace=self.workspace,
            read_state=self.read_state,
            history=self._history,
            background=self.shared.background,
            spill_folder=spill_folder(self.shared.path),
            progress=progress,
            run_agent=self._run_agent,
            new_agent_id=lambda: fresh_agent_id(self.shared.options.compat),
            ask_small_model=self._ask_small_model,
            ask_with_tool=self._ask_with_tool,
            todos=self._todos,
            may_read=self._permissions.read_filter(call.name),
            may_fetch=self._permissions.may_fetch,
            run_command=self.run_command,
            leave_plan_mode=self._leave_plan_mode,
            is_said=self.conversation.says,
            environ=self.shared.options.environ,
            environment=self.shared.options.environment,
            sandbox_program=self.shared.options.sandbox,
        )

    async def _ask_small_model(self, system: str, prompt: str) -> str:
        blocks = await ask_aside(self.shared, self.shared.models.small, prompt, system=system)
        return "".join(block["text"] for block in blocks if block["type"] == "text")

    async def _ask_with_tool(self, prompt: str, server_tool: Json) -> list[Json]:
        return await ask_aside(self.shared, self.model, prompt, tools=[server_tool])

    def _record_result(self, turn: TurnInProgress, result: CallResult) -> None:
        call = result.call
        self._locate()
        uuid = self.recorder.result(
            result.block,
            structured=result.structured,
            source=call.uuid,
            denied_by=result.denied_by,
            permission=result.permission,
            more=result.more,
        )
        turn.waiting = [one for one in turn.waiting if one.id != call.id]
        turn.results.append(result.block)
        turn.companions += [(call.id, one) for one in result.companions]
        turn.tools_used.append(call.name)
        if call.name == STRUCTURED_OUTPUT:
            if result.is_error:
                turn.attempts, turn.last_refusal = turn.attempts + 1, str(result.block["content"])
            else:
                turn.is_over, turn.structured_output = True, call.given
        added, removed = changed_lines(result)
        self.lines_added += added
        self.lines_removed += removed
        if self._history and (update := self._history.after_change(call.uuid)):
            self.recorder.beside(update)
        if result.is_denied:
            denial = {"tool_name": call.name, "tool_use_id": call.id, "tool_input": call.given}
            self.shared.tally.denials.append(denial)
        elif pull_request := pull_request_of(result):
            self.recorder.pull_request(pull_request.number, pull_request.url, pull_request.repository)
        self._emit(
            events.ToolEnd(
                tool_use_id=call.id,
                tool=call.name,
                result=result.block,
                structured=result.structured,
                uuid=uuid,
                is_error=result.is_error,
                denied_by=result.denied_by,
                is_denied=result.is_denied,
                duration_ms=result.duration_ms,
                agent_id=self._agent_id,
            )
        )

    def _hand_over(self, turn: TurnInProgress) -> None:
        """Results into the conversation, with what came while the tools ran."""
        self.conversation.add_user(turn.results)
        turn.results = []
        for call, companion in turn.companions:
            self.accompany(companion, source=call)
        turn.companions = []
        # Behind all results, where they are in every later request.
        for outcome in turn.said:
            self._follow(turn, outcome)
        turn.said = []
        for item in self.waiting() if self.waiting else ():
            self._deliver(item)

    def _deliver(self, item: Waiting) -> None:
        from stenograph.messages import rendered

        is_notice = isinstance(item, TaskNotice)
        run_id, usage = "", None
        if isinstance(item, TaskNotice):
            item.task.is_told = True
            run_id, usage = item.task.run_id, item.task.usage()
        content = item.text if isinstance(item, TaskNotice) else item.content
        body = write.queued_body(
            content, uuid=item.uuid, delivery_id=str(uuid4()), arrived=item.arrived, run_id=run_id, usage=usage
        )
        envelope = self.recorder.envelope
        if envelope.is_old:
            # It writes no attachments.
            words = "\n".join(rendered(body, envelope.version))
            if item.is_queued:
                self.recorder.queue("remove")
            uuid = self.recorder.meta(words)
            self.conversation.add_user([text_block(words)])
        else:
            line = self.recorder.delivery(body, rendered(body), item.text)
            self.conversation.attach(line, called_name(self.model))
            uuid = line["uuid"]
        self._emit(events.Delivered(prompt=content, uuid=uuid, is_notification=is_notice, agent_id=self._agent_id))

    def accompany(self, companion: Companion, *, source: str = "") -> None:
        """Words behind a result or a prompt, and the rules that come with them. `source`: the call, if any."""
        self.recorder.meta(companion.content, is_companion=True, source=source)
        if companion.allowed is not None:
            self.recorder.note({"type": "command_permissions", "allowedTools": companion.allowed})
            self.grant(companion.allowed)
        self.conversation.add_user(blocks_of(companion.content))

    def grant(self, rules: Iterable[str]) -> None:
        """Until the end of the turn."""
        self.shared.policy.add(Behavior.ALLOW, parse_rules(rules, COMMAND_RULES))

    async def run_command(self, command: str) -> str:
        """The output of a command in a text of the user's, allowed or denied as any other. Raises ToolFailed."""
        return await self._call_unseen("Bash", {"command": command})

    async def read_file(self, name: str) -> tuple[str, str]:
        """The path of a file that a text of the user's names, and its text as Read shows it. Raises ToolFailed."""
        path = str(self.workspace.resolve(name))
        return path, await self._call_unseen("Read", {"file_path": path})

    def _leave_plan_mode(self) -> None:
        """Unless whoever approved the plan has chosen a mode."""
        if self.shared.policy.mode is PermissionMode.PLAN:
            self.shared.policy.set_mode(PermissionMode.DEFAULT)

    async def _call_unseen(self, tool: str, given: Json) -> str:
        """A call that no model made and no file holds."""
        call = Call(f"toolu_{uuid4().hex[:24]}", tool, given, self.recorder.tip or "")
        result = await run_call(
            call, self._toolbox, self._gate.decide, self._context(call), self._report, self.shared.options.environ
        )
        content = result.block["content"]
        if result.is_error or not isinstance(content, str):
            raise ToolFailed(str(content))
        return content

    async def _add_asides(self, turn: TurnInProgress) -> None:
        context = AsideContext(
            agent_id=self._agent_id,
            workspace=self.workspace,
            read_state=self.read_state,
            policy=self.shared.policy,
            is_turn_begin=not turn.is_begun,
        )
        turn.is_begun = True
        for ask in self.shared.asides:
            for aside in await ask(context):
                self._add_aside(aside)

    def _add_aside(self, aside: Aside) -> None:
        is_sent = bool(aside.text)
        if aside.attachment is None or self.recorder.envelope.is_old:
            if is_sent:
                self.recorder.meta(aside.text)
                self.conversation.add_user([text_block(aside.text)])
            return
        line = self.recorder.attachment(aside.attachment, [aside.text] if is_sent else [])
        if is_sent:
            self.conversation.attach(line, called_name(self.model))

    def _report(self, line: str) -> None:
        self._emit(events.Notice(text=line, agent_id=self._agent_id))

    # Interruption

    def _interrupt(self, turn: TurnInProgress) -> None:
        """Keep what is finished, answer every call, leave a conversation that can be resumed."""
        # All record types come with it: too slow for the first request.
        from stenograph.records import INTERRUPTED_TOOL_USE, INTERRUPTED_TURN

        if turn.waiting or turn.results:
            for call in turn.waiting:
                self._begin_call(turn, call)
                self._record_result(turn, stopped(call))
            self.conversation.add_user(turn.results)
            turn.results = []
            marker = INTERRUPTED_TOOL_USE
        else:
            self._keep_begun(turn)
            marker = INTERRUPTED_TURN
        self.recorder.interruption(marker)
        self.conversation.add_user([text_block(marker)])

    def _keep_begun(self, turn: TurnInProgress) -> None:
        """The text of an interrupted response, as far as it was shown; its calls never ran and are dropped."""
        answer = turn.answer
        blocks = [block for block in answer.shown if block["type"] != "tool_use"] if answer else []
        if answer is None or not any(block["type"] == "text" for block in blocks):
            return
        uuids = self.recorder.response(
            answer.message, blocks, request_id=answer.request_id, requested_model=called_name(self.model)
        )
        self.conversation.add_answer(blocks)
        self._emit(
            events.ResponseEnd(
                message={**answer.message, "content": blocks},
                uuids=uuids,
                stop_reason="",
                usage=answer.message["usage"],
                agent_id=self._agent_id,
            )
        )
        turn.text = answer.text or turn.text

    # Compaction

    async def _is_nearly_full(self) -> bool:
        limit = limit_of(self.model, self.shared.limits)
        if not self.tokens and len(self.conversation.messages) > 1:
            # Not counted yet, as in a session of another client. Ask the endpoint only when it may matter.
            guess = len(msgspec.json.encode(self.conversation.messages)) // 4
            self.tokens = (await self.shared.client.count_tokens(self._request()) or guess) if guess > limit // 2 else guess
        return self.tokens >= max(limit, self._failed_at + _GROWN if self._failed_at else 0)

    async def _compact(self, trigger: str, instructions: str = "") -> str:
        """Replace the conversation with a summary; returns why not, if it failed."""
        if hooks := self.shared.hooks:
            said = await hooks.before_compaction(trigger, instructions)
            if said.is_blocked:
                self._failed_at = self.tokens
                return f"a hook prevented the compaction: {said.reason}"
            instructions = "\n\n".join(filter(None, [instructions, *said.context]))
        before = self.tokens
        began = time.monotonic()
        self._emit(events.CompactionBegin(trigger=trigger, tokens=before, agent_id=self._agent_id))
        try:
            summary = await ask_for_summary(self.shared, self._request(), instructions, self._retry)
        except (ModelError, CompactionRefused) as error:
            self._emit(events.CompactionFailed(trigger=trigger, reason=str(error), agent_id=self._agent_id))
            # Not again before the conversation has grown: a request that always fails would double every turn.
            self._failed_at = before
            return str(error)
        except asyncio.CancelledError:
            self._emit(events.CompactionFailed(trigger=trigger, reason="interrupted", agent_id=self._agent_id))
            raise
        text = summary_text(summary, is_running=trigger == "auto")
        after = len(text) // 4  # a guess: the endpoint counts with the next response
        took = round((time.monotonic() - began) * 1000)
        self.recorder.compaction(text, trigger=trigger, before=before, after=after, took=took)
        self.conversation.begin_anew(text)
        self._room = self._failed_at = 0
        self.shared.memory.forget_nested()
        self.tokens = after
        if hooks and self._agent_id is None:
            for aside in (await hooks.on_session_start("compact")).asides:
                self._add_aside(aside)
        self._emit(events.CompactionEnd(trigger=trigger, tokens_before=before, tokens_after=after, agent_id=self._agent_id))
        return ""
