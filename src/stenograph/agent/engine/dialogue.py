"""One conversation with the model, main or subagent: prompts in, turns out.

However a turn ends, every call is answered and the conversation can be resumed, from memory and from the file.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from uuid import uuid4

from stenograph.agent.engine import events
from stenograph.agent.engine.asides import AsideContext
from stenograph.agent.engine.asking import Asker
from stenograph.agent.engine.compaction import Compactor
from stenograph.agent.engine.conversation import Conversation, blocks_of, text_block
from stenograph.agent.engine.events import Outcome
from stenograph.agent.engine.hooks import HookOutcome
from stenograph.agent.engine.inbox import Waiting
from stenograph.agent.engine.refusals import is_too_long
from stenograph.agent.engine.shared import Shared
from stenograph.agent.engine.tool_runner import ToolRunner
from stenograph.agent.engine.transcript import COMMAND_RULES, Transcript
from stenograph.agent.engine.turn import TurnInProgress
from stenograph.agent.permissions.policy import Permissions
from stenograph.agent.recording.file_history import FileHistory
from stenograph.agent.recording.recorder import Recorder, plain_text
from stenograph.agent.tools.base import Companion, RunAgent, Workspace
from stenograph.agent.tools.structured_output import MOST_ATTEMPTS, STRUCTURED_OUTPUT
from stenograph.agent.tools.toolbox import Toolbox
from stenograph.errors import ModelError
from stenograph.records import Json

#: Times in one turn that an answer cut off at its limit is continued, as 2.1.325 does.
_MOST_CUT_OFF = 3
_CUT_OFF = (
    "Your answer was cut off at the limit of its length. Continue exactly where it stopped, and do the rest in smaller steps."
)
_UNSTRUCTURED = "Your answer must be a call of StructuredOutput. Call it now, and say nothing else."
_NOTHING_SAID = "Your last answer was empty. Continue, and say or do something."


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
        self.recorder = recorder
        self.workspace = workspace
        self.transcript = Transcript(shared, recorder, conversation, workspace)
        self.asker = Asker(shared, self.transcript, model=model, system=system, toolbox=toolbox)
        self.tools = ToolRunner(
            shared,
            self.transcript,
            toolbox=toolbox,
            permissions=permissions,
            workspace=workspace,
            run_agent=run_agent,
            history=history,
        )
        #: Takes what goes into the turn at a tool boundary; None in a subagent.
        self.waiting: Callable[[], list[Waiting]] | None = None
        #: What hooks said before the first prompt.
        self.pending: list[HookOutcome] = []
        #: Called once, after the first response and before any tool runs. What it returns ends the turn.
        self.on_first_answer: Callable[[], str] | None = None
        #: Of the last turn, in the order they ended.
        self.tools_used: list[str] = []
        #: An interruption takes the prompt back if nothing was answered yet.
        self.withdraws = False
        self._shared = shared
        self._conversation = conversation
        self._compactor = Compactor(shared, self.transcript, self.asker)
        self._history = history
        self._max_turns = max_turns
        self._agent_id = recorder.envelope.agent_id
        self._emit = shared.emit

    @property
    def toolbox(self) -> Toolbox:
        return self.asker.toolbox

    async def take_turn(
        self,
        content: str | list[Json],
        *,
        is_notification: bool = False,
        uuid: str = "",
        companions: Sequence[Companion] = (),
        skill: str = "",
    ) -> events.TurnEnd:
        """Cancelling it is an interruption by the user: it ends the turn, not the caller.

        `uuid`: of the prompt's record; empty for a new one. `companions` come behind the prompt. `skill`: the command it is from.
        """
        turn = TurnInProgress(time.monotonic(), fallbacks=list(self._shared.options.fallback_models))
        self.withdraws = False
        self.asker.call_asked_model()
        if self._agent_id is None:
            self._shared.skill = skill
        said = await self._ask_hooks(content) if not is_notification and self._agent_id is None else None
        if said is not None and said.is_blocked:
            self.recorder.informational(said.reason)
            self.transcript.report(said.reason.partition("\n\n")[0].replace("\n", " "))
            turn.text = said.reason
            return self._end_turn(turn, Outcome.DONE)
        for earlier in self.pending:
            self.transcript.follow(turn, earlier)
        self.pending = []
        marks = (self.recorder.mark(), self._conversation.mark())
        self._record_prompt(content, is_notification=is_notification, uuid=uuid)
        if said is not None:
            self.transcript.follow(turn, said)
        if said is not None and said.stop_reason is not None:
            turn.text = f"Operation stopped by hook: {said.stop_reason}"
            self.transcript.ask_on(turn.text)
            return self._end_turn(turn, Outcome.DONE)
        for companion in companions:
            self.transcript.accompany(companion)
        try:
            outcome, error = await self._answer(turn)
        except asyncio.CancelledError:
            error = None
            if self.withdraws and not is_notification and not turn.is_answered:
                for withdraw in marks:
                    withdraw()
                outcome = Outcome.WITHDRAWN
            else:
                self._interrupt(turn)
                outcome = Outcome.INTERRUPTED
        status = error.status if isinstance(error, ModelError) else 0
        return self._end_turn(turn, outcome, words=str(error) if error else "", status=status)

    async def compact(self, instructions: str) -> events.TurnEnd:
        """A compaction that the user asked for, as a turn of its own."""
        turn = TurnInProgress(time.monotonic())
        self._emit(events.TurnBegin(prompt=f"/compact {instructions}".strip(), uuid="", agent_id=self._agent_id))
        try:
            refused = await self._compactor.compact("manual", instructions)
        except asyncio.CancelledError:
            return self._end_turn(turn, Outcome.INTERRUPTED)
        return self._end_turn(turn, Outcome.FAILED if refused else Outcome.DONE, words=refused)

    # Its begin and end

    def _record_prompt(self, content: str | list[Json], *, is_notification: bool, uuid: str = "") -> None:
        mode = self._shared.policy.mode.value
        self.transcript.locate()
        if is_notification:
            uuid = self.recorder.notification(str(content), permission_mode=mode)
        else:
            uuid = uuid or str(uuid4())
            snapshot = self._history.at_prompt(uuid) if self._history else None
            self.recorder.prompt(content, permission_mode=mode, snapshot=snapshot, uuid=uuid)
        if self._shared.hooks and self._agent_id is None:
            self._shared.hooks.prompt_id = self.recorder.prompt_id
        self._conversation.add_user(blocks_of(content))
        self._emit(events.TurnBegin(prompt=content, uuid=uuid, agent_id=self._agent_id))

    def _end_turn(self, turn: TurnInProgress, outcome: Outcome, *, words: str = "", status: int = 0) -> events.TurnEnd:
        duration = round((time.monotonic() - turn.began) * 1000)
        if self._agent_id is None and self.recorder.is_begun and outcome is not Outcome.WITHDRAWN:
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
            session_usage=self._shared.tally.by_model(),
            structured_output=turn.structured_output,
            agent_id=self._agent_id,
        )
        self.tools_used = turn.tools_used
        if self._agent_id is None:
            self._shared.policy.drop(COMMAND_RULES)
        self._emit(end)
        return end

    def _interrupt(self, turn: TurnInProgress) -> None:
        """Keep what is finished, answer every call, leave a conversation that can be resumed."""
        # All record types come with it: too slow for the first request.
        from stenograph.records import INTERRUPTED_TOOL_USE, INTERRUPTED_TURN

        if turn.waiting or turn.results:
            self.tools.stop_all(turn)
            self._conversation.add_user(turn.results)
            turn.results = []
            marker = INTERRUPTED_TOOL_USE
        else:
            self.asker.keep_begun(turn)
            marker = INTERRUPTED_TURN
        self.recorder.interruption(marker)
        self._conversation.add_user([text_block(marker)])

    # Its course

    async def _answer(self, turn: TurnInProgress) -> tuple[Outcome, ModelError | str | None]:
        has_shrunk = False
        cut_off = empty = unstructured = 0
        while True:
            if self._max_turns and turn.responses >= self._max_turns:
                return Outcome.OUT_OF_TURNS, None
            if self._shared.options.auto_compact and await self._compactor.is_due():
                turn.is_compacted = not await self._compactor.compact("auto") or turn.is_compacted
            await self._add_asides(turn)
            try:
                answer = await self.asker.ask(turn)
            except ModelError as error:
                if self.asker.adapt(turn, error):
                    continue
                if is_too_long(error) and not has_shrunk and not await self._compactor.compact("auto"):
                    has_shrunk = turn.is_compacted = True
                    continue
                self.asker.record_failure(error)
                return (Outcome.OUT_OF_WINDOW if is_too_long(error) else Outcome.FAILED), error
            turn.responses += 1
            turn.text = answer.text or turn.text
            turn.stop_reason = answer.stop_reason
            if self.on_first_answer is not None:
                problem, self.on_first_answer = self.on_first_answer(), None
                if problem:
                    self._refuse_calls(turn, f"Error: not run, because {problem}")
                    return Outcome.NOT_RESTORED, problem
            budget = self._shared.options.max_budget
            if budget and self._shared.tally.cost >= budget:
                self._refuse_calls(turn, "Error: not run, because the budget is spent")
                return Outcome.OUT_OF_BUDGET, None
            if answer.calls_tools:
                await self.tools.run_all(turn)
                self._hand_over(turn)
                if turn.is_stopped or turn.is_over:
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
                    self.transcript.ask_on(_CUT_OFF)
                    continue
                case "max_tokens":
                    return Outcome.OUT_OF_TOKENS, None
                case "refusal":
                    return Outcome.REFUSED, None
                case "model_context_window_exceeded":
                    return Outcome.OUT_OF_WINDOW, None
            if not answer.blocks and not empty:
                empty += 1
                self.transcript.ask_on(_NOTHING_SAID)
                continue
            if STRUCTURED_OUTPUT in self.toolbox.names and not unstructured:
                unstructured += 1
                self.transcript.ask_on(_UNSTRUCTURED)
                continue
            if await self._goes_on(turn):
                continue
            return Outcome.DONE, None

    def _refuse_calls(self, turn: TurnInProgress, words: str) -> None:
        self.tools.refuse_all(turn, words)
        if turn.results:
            self._hand_over(turn)

    def _hand_over(self, turn: TurnInProgress) -> None:
        """Results into the conversation, with what came while the tools ran."""
        self._conversation.add_user(turn.results)
        turn.results = []
        for call, companion in turn.companions:
            self.transcript.accompany(companion, source=call)
        turn.companions = []
        for outcome in turn.said:
            self.transcript.follow(turn, outcome)
        turn.said = []
        for item in self.waiting() if self.waiting else ():
            self.transcript.deliver(item)

    async def _add_asides(self, turn: TurnInProgress) -> None:
        context = AsideContext(
            agent_id=self._agent_id,
            workspace=self.workspace,
            read_state=self.tools.read_state,
            policy=self._shared.policy,
            is_turn_begin=not turn.is_begun,
        )
        turn.is_begun = True
        for ask in self._shared.asides:
            for aside in await ask(context):
                self.transcript.add_aside(aside)

    # What hooks say

    async def _ask_hooks(self, content: str | list[Json]) -> HookOutcome | None:
        return await self._shared.hooks.on_prompt(plain_text(content)) if self._shared.hooks else None

    async def _goes_on(self, turn: TurnInProgress) -> bool:
        """Whether a hook objects to the end of the turn, or has something to add."""
        if self._shared.hooks is None:
            return False
        said = await self._shared.hooks.on_stop(turn.text, is_continued=turn.is_continued, agent_id=self._agent_id)
        self.transcript.follow(turn, said)
        if said.summary and self._agent_id is None:
            self.recorder.stop_hooks(said.summary)
        goes_on = (said.is_blocked or said.has_context) and said.stop_reason is None
        turn.is_continued = turn.is_continued or goes_on
        return goes_on
