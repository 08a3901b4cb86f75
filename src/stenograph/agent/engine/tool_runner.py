"""The calls of a response -> their results, in the file and in the turn."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from uuid import uuid4

from stenograph.agent.engine import events
from stenograph.agent.engine.answering import ask_aside
from stenograph.agent.engine.calls import Call, CallResult, changed_lines, pull_request_of, refused, run_call, stopped
from stenograph.agent.engine.gate import Gate
from stenograph.agent.engine.hooks import HookOutcome
from stenograph.agent.engine.options import PermissionMode
from stenograph.agent.engine.shared import Shared
from stenograph.agent.engine.transcript import Transcript
from stenograph.agent.engine.turn import TurnInProgress
from stenograph.agent.permissions.policy import Permissions
from stenograph.agent.recording.file_history import FileHistory
from stenograph.agent.recording.places import fresh_agent_id, spill_folder
from stenograph.agent.tools.base import RunAgent, ToolContext, ToolFailed, Workspace
from stenograph.agent.tools.changing import ReadState
from stenograph.agent.tools.structured_output import STRUCTURED_OUTPUT
from stenograph.agent.tools.toolbox import Toolbox
from stenograph.records import Json

#: Calls that run at once; a model may ask for hundreds.
_MOST_AT_ONCE = 10
_SKILL = "Skill"


class ToolRunner:
    def __init__(
        self,
        shared: Shared,
        transcript: Transcript,
        *,
        toolbox: Toolbox,
        permissions: Permissions,
        workspace: Workspace,
        run_agent: RunAgent,
        history: FileHistory | None,
    ) -> None:
        self.read_state = ReadState()
        #: By all edits so far.
        self.lines_added = 0
        self.lines_removed = 0
        self._shared = shared
        self._transcript = transcript
        self._toolbox = toolbox
        self._permissions = permissions
        self._workspace = workspace
        self._run_agent = run_agent
        self._history = history
        self._agent_id = transcript.agent_id
        self._gate = Gate(shared, permissions, self._agent_id)
        self._todos: list[Json] = []
        self._spill_folder = spill_folder(shared.path)

    async def run_all(self, turn: TurnInProgress) -> None:
        """Parallel-safe calls together, others one by one."""
        for group in list(self._groups(turn.waiting)):
            if len(group) == 1:
                await self._run(turn, group[0])
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

    def refuse_all(self, turn: TurnInProgress, words: str) -> None:
        """Answer the calls of the last response without running them."""
        for call in turn.waiting:
            self._begin(turn, call)
            self._record(turn, refused(call, words))

    def stop_all(self, turn: TurnInProgress) -> None:
        """Answer the calls that an interruption stopped, or that never started."""
        for call in turn.waiting:
            self._begin(turn, call)
            self._record(turn, stopped(call))

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
            await self._run(turn, call)

    async def _run(self, turn: TurnInProgress, call: Call) -> None:
        self._begin(turn, call)
        result = await self._result_of(call)
        said = result.said or HookOutcome()
        self._follow(turn, said)
        self._record(turn, result)
        self._follow(turn, HookOutcome(asides=said.asides_behind))
        if self._shared.hooks and not result.is_error:
            self._follow(turn, await self._shared.hooks.after_tool(result, self._agent_id))

    def _follow(self, turn: TurnInProgress, outcome: HookOutcome) -> None:
        """Before and behind the call's own result, as 2.1.325 does."""
        if self._transcript.recorder.envelope.is_old:
            turn.said.append(outcome)
        else:
            self._transcript.follow(turn, outcome)

    async def _result_of(self, call: Call) -> CallResult:
        return await run_call(
            call,
            self._toolbox,
            self._gate.decide,
            self._context(call),
            self._transcript.report,
            self._shared.options.environ,
        )

    def _begin(self, turn: TurnInProgress, call: Call) -> None:
        """Announce a call once, also when only to report it stopped."""
        if call.id not in turn.begun:
            turn.begun.add(call.id)
            self._shared.emit(events.ToolBegin(tool_use_id=call.id, tool=call.name, given=call.given, agent_id=self._agent_id))

    def _record(self, turn: TurnInProgress, result: CallResult) -> None:
        call, recorder = result.call, self._transcript.recorder
        if not self._toolbox.only_reads(call.name):
            self._transcript.locate()
        more = result.more
        if call.name == "Bash" and result.permission.get("decision") == "accept":
            more = {**more, "sandboxed": bool(self._shared.options.sandbox)}
        uuid = recorder.result(
            result.block,
            structured=result.structured,
            source=call.uuid,
            denied_by=result.denied_by,
            permission=result.permission,
            more=more,
        )
        turn.waiting = [one for one in turn.waiting if one.id != call.id]
        turn.results.append(result.block)
        turn.companions += [(call.id, one) for one in result.companions]
        turn.tools_used.append(call.name)
        if call.name == _SKILL and not result.is_error and self._agent_id is None:
            self._shared.skill = str(call.given.get("skill", "")).removeprefix("/")
        if call.name == STRUCTURED_OUTPUT:
            if result.is_error:
                turn.attempts, turn.last_refusal = turn.attempts + 1, str(result.block["content"])
            else:
                turn.is_over, turn.structured_output = True, call.given
        added, removed = changed_lines(result)
        self.lines_added += added
        self.lines_removed += removed
        if self._history and (update := self._history.after_change(call.uuid)):
            recorder.beside(update)
        if result.is_denied:
            denial = {"tool_name": call.name, "tool_use_id": call.id, "tool_input": call.given}
            self._shared.tally.denials.append(denial)
        elif pull_request := pull_request_of(result):
            recorder.pull_request(pull_request.number, pull_request.url, pull_request.repository)
        self._shared.emit(
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

    # What tools get

    def _context(self, call: Call) -> ToolContext:
        shared = self._shared

        def progress(data: Json) -> None:
            self._transcript.recorder.progress(data, tool_use_id=call.id)
            shared.emit(events.ToolProgress(tool_use_id=call.id, data=data, agent_id=self._agent_id))

        return ToolContext(
            tool_use_id=call.id,
            workspace=self._workspace,
            read_state=self.read_state,
            history=self._history,
            background=shared.background,
            spill_folder=self._spill_folder,
            progress=progress,
            run_agent=self._run_agent,
            new_agent_id=lambda: fresh_agent_id(shared.options.compat),
            ask_small_model=self._ask_small_model,
            ask_with_tool=self._ask_with_tool,
            todos=self._todos,
            may_read=self._permissions.read_filter(call.name),
            may_fetch=self._permissions.may_fetch,
            run_command=self.run_command,
            leave_plan_mode=self._leave_plan_mode,
            is_said=self._transcript.conversation.says,
            environ=shared.options.environ,
            environment=shared.options.environment,
            sandbox_program=shared.options.sandbox,
        )

    async def _ask_small_model(self, system: str, prompt: str) -> str:
        blocks = await ask_aside(self._shared, self._shared.models.small, prompt, system=system)
        return "".join(block["text"] for block in blocks if block["type"] == "text")

    async def _ask_with_tool(self, prompt: str, server_tool: Json) -> list[Json]:
        return await ask_aside(self._shared, self._transcript.conversation.model, prompt, tools=[server_tool])

    def _leave_plan_mode(self) -> None:
        """Unless whoever approved the plan has chosen a mode."""
        if self._shared.policy.mode is PermissionMode.PLAN:
            self._shared.policy.set_mode(PermissionMode.DEFAULT)

    # Calls of the user's own texts

    async def run_command(self, command: str) -> str:
        """The output of a command in a text of the user's, allowed or denied as any other. Raises ToolFailed."""
        return await self._call_unseen("Bash", {"command": command})

    async def read_file(self, name: str) -> tuple[str, str]:
        """The path of a file that a text of the user's names, and its text as Read shows it. Raises ToolFailed."""
        path = str(self._workspace.resolve(name))
        return path, await self._call_unseen("Read", {"file_path": path})

    async def _call_unseen(self, tool: str, given: Json) -> str:
        """A call that no model made and no file holds."""
        result = await self._result_of(Call(f"toolu_{uuid4().hex[:24]}", tool, given, self._transcript.recorder.tip or ""))
        content = result.block["content"]
        if result.is_error or not isinstance(content, str):
            raise ToolFailed(str(content))
        return content
