"""A session of the agent: an inbox in, events out to any number of faces.

A prompt that arrives during a turn is queued, and recorded as such. What ends in the background while nothing else is going on
begins a turn of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import time
from collections.abc import AsyncIterator, Coroutine, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stenograph.agent.context.git import GitState
from stenograph.agent.context.limits import Limits
from stenograph.agent.context.memory import Memory
from stenograph.agent.context.models import called_name, models_from
from stenograph.agent.context.reminders import PlanMode, changed_files
from stenograph.agent.context.system_prompt import Surroundings, permissions_text, system_blocks
from stenograph.agent.customs.session import SessionCustoms
from stenograph.agent.engine import events
from stenograph.agent.engine.approval import Approver
from stenograph.agent.engine.asides import Aside, AsideContext
from stenograph.agent.engine.background import BackgroundAgent, BackgroundTask, BackgroundTasks
from stenograph.agent.engine.commands import Command, CommandRegistry, Expansion
from stenograph.agent.engine.dialogue import Dialogue
from stenograph.agent.engine.events import Event
from stenograph.agent.engine.feed import Feed
from stenograph.agent.engine.hooks import Hooks
from stenograph.agent.engine.inbox import Control, ControlKind, Inbox, Priority, TaskNotice, UserPrompt, Waiting
from stenograph.agent.engine.options import AgentOptions, Compat, PermissionMode
from stenograph.agent.engine.shared import Shared, UsageTally
from stenograph.agent.mcp.session import SessionServers
from stenograph.agent.permissions.live_policy import Behavior, LivePolicy, PermissionUpdate, policy_from
from stenograph.agent.permissions.policy import Permissions
from stenograph.agent.recording.file_history import FileHistory
from stenograph.agent.recording.opening import OpenedSession, open_session
from stenograph.agent.recording.places import readable_folders, tasks_folder
from stenograph.agent.tools import all_tools, unwanted_tools
from stenograph.agent.tools.agent import AgentType
from stenograph.agent.tools.asking_user import user_tools
from stenograph.agent.tools.base import SubagentResult, Tool, Workspace
from stenograph.agent.tools.shell import command_environment, search_path
from stenograph.agent.tools.toolbox import Toolbox
from stenograph.errors import DiskError, UsageError
from stenograph.family import history_folder
from stenograph.model import ModelClient
from stenograph.records import Envelope, Json

if TYPE_CHECKING:
    from stenograph.agent.hooks.client_hooks import CallHook, ClientHooks, HookCallbacks
    from stenograph.agent.mcp.hosted import Exchange
    from stenograph.agent.mcp.login import Show

Prompt = str | list[Json]


async def open_agent(options: AgentOptions, client: ModelClient, approver: Approver | None = None) -> Agent:
    """An agent, ready for prompts. `approver`: who answers questions about calls; without one they are denied.

    Raises StenographError.
    """
    opened = open_session(options)
    try:
        return Agent(options, client, opened, approver)
    except BaseException:
        opened.recorder.close()
        raise


def _with_structured_output(toolbox: Toolbox, options: AgentOptions) -> Toolbox:
    """For the main conversation only. Raises UsageError."""
    if options.json_schema is None:
        return toolbox
    from stenograph.agent.tools.structured_output import StructuredOutput

    return toolbox.also([StructuredOutput(options.json_schema)])


def _has_price(model: str, options: AgentOptions) -> bool:
    from stenograph.agent.context.costs import has_price  # few have a budget

    return has_price(model, options.profiles)


async def _run_agent(shared: Shared, envelope: Envelope, workspace: Workspace, main: str, /, **task: Any) -> SubagentResult:
    from stenograph.agent.engine.subagents import SubAgents  # not before the first one

    return await SubAgents(shared, envelope, workspace, model=main)(**task)


class Agent:
    def __init__(
        self, options: AgentOptions, client: ModelClient, opened: OpenedSession, approver: Approver | None = None
    ) -> None:
        self._options = options
        self._recorder = opened.recorder
        self._feed = Feed()
        self._turn: asyncio.Task[events.TurnEnd] | None = None
        self._turns = 0
        #: Until the end of the turn is reported, which is a moment before its task ends.
        self._is_busy = False
        self._hooks: ClientHooks | None = None
        #: The end of a resumed conversation as it is on disk, from a prompt on.
        self.last_turns = opened.last_turns
        self.inbox = Inbox()
        self.inbox.on_control = self._control
        self.inbox.on_arrival = self._arrive
        self.inbox.on_removal = self._forget
        workspace = Workspace(cwd=options.cwd, project=options.cwd, additional=list(options.additional))
        models = models_from(options.environ, host=client.endpoint.address.host, asked=options.model, resumed=opened.model)
        envelope = opened.recorder.envelope
        history = FileHistory(
            history_folder(options.home, envelope.session_id),
            options.cwd,
            additional=options.additional,
            names_parents=not envelope.is_old,
        )
        history.take_up(opened.file_history)
        policy = policy_from(options)
        policy.on_mode = self._mode_changed
        policy.persist = self._keep
        permissions = Permissions(
            policy,
            workspace,
            readable=readable_folders(opened.recorder.path),
            search_path=search_path(options.environ, workspace.folders),
        )
        self._customs = SessionCustoms(options, opened.conversation.says, permissions.may_read)
        tools = [*all_tools(options, self._customs.agent_types), *self._customs.tools()]
        for_user = user_tools(is_old=options.compat is Compat.OLD)
        absent = set() if approver is not None else {tool.name for tool in for_user}
        if not (_is_anthropic(client.endpoint.address.host) or policy.names(Behavior.ALLOW, "WebSearch")):
            # Few other endpoints have a search of their own; a rule says that this one does.
            absent.add("WebSearch")
        tools += for_user
        toolbox = Toolbox(tools).without(permissions.denied_tools() | absent).without(unwanted_tools(tools, options))
        git = GitState(options.cwd, options.environ)  # it runs while files are read
        memory = Memory(options.home, workspace, permissions.may_read, options.sources)
        #: The same for the whole session, so that all requests begin alike.
        self._surroundings = Surroundings("" if approver else permissions_text(policy), git)
        self._shared = Shared(
            options=options,
            client=client,
            models=models,
            limits=Limits(options.environ, options.profiles, window=options.window, max_tokens=options.max_tokens),
            tally=UsageTally(profiles=options.profiles, counts_cost=bool(options.max_budget)),
            toolbox=toolbox,
            memory=memory,
            background=BackgroundTasks(tasks_folder(opened.recorder.path)),
            emit=self._emit,
            path=opened.recorder.path,
            policy=policy,
            interrupt=self.interrupt,
            approver=approver,
            agent_types=self._customs.agent_types,
        )
        self._customs.register(self._shared.commands)
        self._shared.background.on_begin = self._task_began
        self._shared.background.on_end = self._task_ended
        self._shared.asides += [PlanMode(hands_over="ExitPlanMode" in toolbox.names), changed_files, self._nested_memory]
        if options.settings.hooks:
            self._shared.hooks = self._client_hooks(workspace)
        self._permissions = permissions
        self._servers = SessionServers(options, opened.conversation.says)
        self._shared.asides += [self._customs.listing, self._servers.instructions]
        self._dialogue = Dialogue(
            self._shared,
            opened.recorder,
            opened.conversation,
            model=models.main,
            system=system_blocks(options, workspace, memory, models.main, self._surroundings),
            toolbox=_with_structured_output(toolbox, options),
            permissions=permissions,
            workspace=workspace,
            run_agent=functools.partial(_run_agent, self._shared, envelope, workspace, models.main),
            history=history,
            max_turns=options.max_turns,
        )
        self._dialogue.asker.tokens = opened.tokens
        self._dialogue.waiting = lambda: self.inbox.take_at_boundary(self._can_join)
        for file in opened.read_files:
            self._dialogue.tools.read_state.recall(file.path, file.time, is_whole=file.is_whole)
        #: The files that a rewind changed.
        self.restored: list[Path] = []
        if opened.restore:
            self._dialogue.on_first_answer = functools.partial(self._bring_back, history, opened.restore)

    def add_hook_callbacks(self, wanted: Mapping[str, list[HookCallbacks]], call: CallHook) -> None:
        """Hooks of the process that started us."""
        if self._hooks is None:
            self._shared.hooks = self._client_hooks(self._dialogue.workspace)
        assert self._hooks is not None
        self._hooks.add_callbacks(wanted, call)

    def _client_hooks(self, workspace: Workspace) -> Hooks:
        from stenograph.agent.hooks.client_hooks import ClientHooks, HookSetting  # few sessions have some

        options = self._options
        setting = HookSetting(
            session_id=self.session_id,
            path=self._recorder.path,
            workspace=workspace,
            policy=self._shared.policy,
            environ=command_environment(options.environ, options.environment),
            types_by_agent=self._shared.types_by_agent,
            compat=options.compat,
        )
        self._hooks = ClientHooks(options.settings.hooks, setting)
        return self._hooks

    def _bring_back(self, history: FileHistory, prompt: str) -> str:
        """Restore files once the endpoint has answered; before that nothing is worth a change. Returns why not, if it failed.

        Their current state was kept with the prompt just sent.
        """
        try:
            changed = history.restore(prompt)
        except DiskError as error:
            kept = history.copy_of(error.path) if error.path else None
            return f"files could not be restored: {error}" + (f"; its current content is kept in {kept}" if kept else "")
        self.restored = changed
        for path in changed:
            kept = history.copy_of(path)
            before = f"; its previous content is in {kept}" if kept else "; it did not exist"
            self._shared.emit(events.Notice(text=f"{'restored' if path.exists() else 'deleted'} {path}{before}"))
        if changed and (update := history.after_restore()):
            self._recorder.beside(update)
        return ""

    @property
    def session_id(self) -> str:
        return self._recorder.envelope.session_id

    @property
    def policy(self) -> LivePolicy:
        return self._shared.policy

    @property
    def forbids_bypass(self) -> bool:
        return self._options.settings.forbids_bypass

    @property
    def commands(self) -> CommandRegistry:
        return self._shared.commands

    @property
    def agent_types(self) -> dict[str, AgentType]:
        return self._shared.agent_types

    @property
    def server_states(self) -> list[Json]:
        return self._servers.states

    @property
    def servers_to_log_in(self) -> list[str]:
        """MCP servers that want a login."""
        return self._servers.names_to_log_in

    @property
    def servers_logged_in(self) -> list[str]:
        return self._servers.names_logged_in

    async def log_in_to_server(self, name: str, show: Show) -> None:
        """What it has now is offered from the next request on. Raises LoginError, DiskError."""
        await self._servers.log_in(name, show)
        self._offer_again(name)

    async def log_out_of_server(self, name: str) -> None:
        """Its tools are no longer offered. Raises DiskError."""
        await self._servers.log_out(name)
        self._offer_again(name)

    def host_servers(self, exchange: Exchange) -> None:
        """How to reach MCP servers in the process that started us. Before `serve`."""
        self._servers.exchange = exchange

    async def ask_prompt_tool(self, arguments: Json, tool_use_id: str) -> Json:
        """The answer of the MCP tool that `AgentOptions.prompt_tool` names. Raises ToolFailed."""
        return await self._servers.ask_prompt_tool(arguments, tool_use_id)

    async def stop_task(self, task_id: str) -> bool:
        """Whether there was such a task in the background."""
        task = self._shared.background.find(task_id)
        if task is not None and task.is_running:
            await task.stop()
        return task is not None

    @property
    def model(self) -> str:
        return self._dialogue.asker.model

    def subscribe(self) -> AsyncIterator[Event]:
        """All events from now on. Any number of faces may subscribe."""
        return self._feed.subscribe()

    def interrupt(self, *, withdraws: bool = False) -> None:
        """End the current turn; the session continues with the next prompt.

        `withdraws`: takes the prompt back if nothing was answered yet, as if it had not been sent.
        """
        if self._turn is not None:
            self._dialogue.withdraws = withdraws
            self._turn.cancel()

    @property
    def path(self) -> Path:
        """The session's file; it is there once something was said."""
        return self._recorder.path

    @property
    def shared(self) -> Shared:
        return self._shared

    @property
    def is_idle(self) -> bool:
        return self._turn is None

    def restore_files(self) -> str:
        """Restore the files of a rewind at once instead of with the first answer. Returns why not, if it failed."""
        restore, self._dialogue.on_first_answer = self._dialogue.on_first_answer, None
        return restore() if restore is not None else ""

    def keep_rewind(self) -> bool:
        """Write down that the conversation was rewound, so that whoever resumes it next starts there.

        False if it was rewound to its start: nothing is left to resume.
        """
        return self._recorder.keep_branch()

    def settle_branch(self) -> None:
        """Before others read the file: a prompt that was taken back is not where the session ends."""
        if self._recorder.is_withdrawn:
            self._recorder.keep_branch()

    @property
    def is_at_start(self) -> bool:
        """Nothing was said on the current branch."""
        return self._recorder.tip is None

    @property
    def tokens(self) -> int:
        """Of the conversation, as last counted; 0 if never."""
        return self._dialogue.asker.tokens

    @property
    def server_problems(self) -> list[str]:
        return self._servers.problems

    def set_title(self, title: str) -> None:
        """Written at once if the session has a file, else with its first turn."""
        self._recorder.title = title
        if self._recorder.is_begun:
            self._recorder.anchor()

    async def notify_idle(self) -> None:
        """Hooks hear that the agent waits for the user, in the client's words."""
        if (hooks := self._shared.hooks) is not None and self.is_idle:
            await hooks.on_notification("Claude is waiting for your input", "idle_prompt")

    def say_beside(self, *texts: str) -> None:
        """Words of the user that need no answer, such as a shell command and its output. Only while idle."""
        self._dialogue.transcript.say_beside(texts)

    def set_model(self, name: str) -> None:
        """From the next request on."""
        model = self._shared.models.named(name)
        if model != self._dialogue.asker.model:
            self._dialogue.asker.change_model(
                model,
                system_blocks(self._options, self._dialogue.workspace, self._shared.memory, model, self._surroundings),
            )
            self._shared.emit(events.ModelChanged(model=model))

    async def run(self, prompts: AsyncIterator[Prompt | UserPrompt]) -> AsyncIterator[Event]:
        """Answer prompts until there are no more. May be called once."""
        stream = self.subscribe()
        reader = asyncio.create_task(self._read(prompts))
        work = asyncio.create_task(self.serve())
        try:
            async for event in stream:
                yield event
        finally:
            reader.cancel()
            if not work.done():
                work.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await work

    async def serve(self) -> None:
        """Work through the inbox until it is closed and empty. May be called once; raises DiskError."""
        try:
            await self._work()
        finally:
            try:
                await asyncio.gather(self._shared.background.close(), self._servers.close())
            finally:
                self._recorder.close()
                self._feed.close()

    async def _read(self, prompts: AsyncIterator[Prompt | UserPrompt]) -> None:
        try:
            async for prompt in prompts:
                self.inbox.put(prompt if isinstance(prompt, UserPrompt) else UserPrompt(content=prompt))
        finally:
            self.inbox.close()

    async def _work(self) -> None:
        began = time.monotonic()
        self._offer(await self._servers.start())
        self._begin()
        if hooks := self._shared.hooks:
            is_resumed = self._options.resume is not None or self._options.go_on
            self._dialogue.pending.append(await hooks.on_session_start("resume" if is_resumed else "startup"))
        while (item := await self._next()) is not None:
            await self._take(item)
        await self._shared.background.close()
        self.settle_branch()
        if hooks := self._shared.hooks:
            await hooks.on_session_end("other")
        tally = self._shared.tally
        self._shared.emit(
            events.SessionEnd(
                session_id=self.session_id,
                turns=self._turns,
                responses=tally.responses,
                duration_ms=round((time.monotonic() - began) * 1000),
                api_duration_ms=round(tally.api_seconds * 1000),
                usage=tally.by_model(),
                denials=tally.denials,
            )
        )

    @property
    def _toolboxes(self) -> set[Toolbox]:
        """Of subagents, and of the main conversation, which may have more."""
        return {self._shared.toolbox, self._dialogue.toolbox}

    def _offer(self, tools: Iterable[Tool[Any]]) -> None:
        allowed = [tool for tool in tools if not self._permissions.denies_tool(tool)]
        for toolbox in self._toolboxes:
            known = set(toolbox.names)
            toolbox.add([tool for tool in allowed if tool.name not in known])

    def _offer_again(self, server: str) -> None:
        """The tools that an MCP server has now, instead of those before."""
        for toolbox in self._toolboxes:
            toolbox.remove_of(server)
        self._offer(self._servers.tools)

    def _begin(self) -> None:
        options, recorder = self._options, self._recorder
        self._shared.emit(
            events.SessionBegin(
                session_id=self.session_id,
                path=str(recorder.path),
                cwd=str(options.cwd),
                model=self._shared.models.main,
                tools=self._dialogue.toolbox.names,
                permission_mode=self.policy.mode.value,
                mcp_servers=self._servers.states,
                commands=[command.name for command in self.commands],
                agents=list(self._shared.agent_types),
                skills=self._customs.skill_names,
            )
        )
        model = called_name(self._shared.models.main)
        if options.max_budget and not _has_price(model, options):
            text = f"the price of {model} is not known, so --max-budget-usd does not limit it"
            self._shared.emit(events.Notice(text=f"{text}; set it in the config file"))
        read = (*self._shared.memory.problems, *self._customs.problems)
        for problem in (*read, *self._servers.problems, *self._servers.login_notes):
            self._shared.emit(events.Notice(text=problem))

    async def _next(self) -> Waiting | None:
        while (item := await self.inbox.next()) is None:
            # No more prompts. Agents in the background are awaited, commands are not: a server never ends.
            agents = [task for task in self._shared.background.running if isinstance(task, BackgroundAgent)]
            if not agents:
                return None
            await self._shared.background.first_end(agents)
        return item

    async def _take(self, item: Waiting) -> None:
        if item.is_queued:
            self._recorder.queue("dequeue")
        if not self._turns:
            self._recorder.modes(self.policy.mode.value)
        self._turns += 1
        self._is_busy = True
        self._turn = asyncio.create_task(self._turn_of(item))
        try:
            await asyncio.shield(self._turn)
        except asyncio.CancelledError:
            # The session itself ends: finish the turn first.
            self._turn.cancel()
            await asyncio.gather(self._turn, return_exceptions=True)
            raise
        finally:
            self._turn = None
            self._is_busy = False

    def _turn_of(self, item: Waiting) -> Coroutine[Any, Any, events.TurnEnd]:
        if isinstance(item, TaskNotice):
            item.task.is_told = True
            return self._dialogue.take_turn(item.task.notification(), is_notification=True)
        if found := self.commands.find(item.content):
            return self._run_command(*found)
        return self._dialogue.take_turn(item.content, uuid=item.uuid)

    async def _run_command(self, command: Command, arguments: str) -> events.TurnEnd:
        done = await command.run(self._dialogue, arguments)
        if not isinstance(done, Expansion):
            return done
        return await self._dialogue.take_turn(done.prompt, companions=done.companions, skill=command.name)

    # What comes in

    def _emit(self, event: Event) -> None:
        if isinstance(event, events.TurnEnd) and event.agent_id is None:
            self._is_busy = False
        self._feed.publish(event)

    def _arrive(self, item: Waiting) -> None:
        """What is queued is in the file at once, so that it is not lost."""
        # 2.0 queues only what people say.
        item.is_queued = self._is_busy and (isinstance(item, UserPrompt) or not self._recorder.envelope.is_old)
        if not item.is_queued:
            return
        item.arrived = self._recorder.now()
        self._recorder.queue("enqueue", item.text)
        if isinstance(item, UserPrompt):
            self._shared.emit(events.Queued(prompt=item.content, uuid=item.uuid))
            if item.priority is Priority.NOW:
                self.interrupt()

    def _forget(self, item: Waiting) -> None:
        if item.is_queued:
            self._recorder.queue("remove", item.text)

    def _can_join(self, prompt: UserPrompt) -> bool:
        """Whether a prompt goes into a turn under way: no command. 2.0 has no line for images among its results."""
        is_words = isinstance(prompt.content, str) or all(block.get("type") == "text" for block in prompt.content)
        return (is_words or not self._recorder.envelope.is_old) and self.commands.find(prompt.content) is None

    def _control(self, control: Control) -> None:
        match control.kind:
            case ControlKind.INTERRUPT:
                self.interrupt()
            case ControlKind.SET_MODE:
                self.policy.set_mode(PermissionMode(control.value))
            case ControlKind.SET_MODEL:
                self.set_model(control.value)

    def _keep(self, update: PermissionUpdate) -> None:
        """A file that can't be written costs the user the rule's later sessions, not this one."""
        from stenograph.agent.permissions.keeping import keep_rules

        try:
            keep_rules(update, home=self._options.home, project=self._options.cwd, environ=self._options.environ)
        except (DiskError, UsageError) as error:
            self._shared.emit(events.Notice(text=str(error)))

    def _mode_changed(self, mode: PermissionMode) -> None:
        self._shared.emit(events.ModeChanged(mode=mode.value))

    # What runs in the background

    def _task_began(self, task: BackgroundTask) -> None:
        self._shared.emit(
            events.TaskBegin(
                task_id=task.task_id,
                kind=task.kind,
                description=task.description,
                tool_use_id=task.tool_use_id,
                run_id=task.run_id,
                command=task.command,
            )
        )

    def _task_ended(self, task: BackgroundTask) -> None:
        self._shared.emit(
            events.TaskEnd(
                task_id=task.task_id,
                kind=task.kind,
                description=task.description,
                tool_use_id=task.tool_use_id,
                run_id=task.run_id,
                status=task.status.value,
                summary=task.summary(),
                output_file=str(task.output_file),
            )
        )
        if not task.is_told:
            self.inbox.put(TaskNotice(task=task))

    async def _nested_memory(self, context: AsideContext) -> list[Aside]:
        """The memory of directories that calls looked into."""
        return [Aside(text=text) for text in self._shared.memory.nested_texts(context.read_state.take_fresh())]


def _is_anthropic(host: str) -> bool:
    return host == "anthropic.com" or host.endswith(".anthropic.com")
