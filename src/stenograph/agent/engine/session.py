"""A session of the agent: prompts in, events out.

A prompt that arrives during a turn is queued, and recorded as such. A background task's notification starts a turn of its own.
"""

from __future__ import annotations

import asyncio
import functools
import os
import time
from collections.abc import AsyncIterator, Coroutine
from typing import Any

from stenograph.agent.context.memory import Memory
from stenograph.agent.context.models import models_from
from stenograph.agent.context.system_prompt import system_blocks
from stenograph.agent.engine import events
from stenograph.agent.engine.background import BackgroundTasks
from stenograph.agent.engine.dialogue import Dialogue
from stenograph.agent.engine.events import Event
from stenograph.agent.engine.options import AgentOptions
from stenograph.agent.engine.shared import Shared
from stenograph.agent.engine.subagents import SubAgents
from stenograph.agent.permissions.policy import Permissions
from stenograph.agent.recording.file_history import FileHistory
from stenograph.agent.recording.opening import OpenedSession, open_session
from stenograph.agent.recording.places import readable_folders, tasks_folder
from stenograph.agent.recording.recorder import plain_text
from stenograph.agent.tools import all_tools
from stenograph.agent.tools.base import Workspace
from stenograph.agent.tools.toolbox import Toolbox
from stenograph.errors import DiskError
from stenograph.family import history_folder
from stenograph.model import ModelClient
from stenograph.records import Json

Prompt = str | list[Json]
_COMPACT = "/compact"


async def open_agent(options: AgentOptions, client: ModelClient) -> Agent:
    """An agent, ready for prompts. Raises StenographError."""
    opened = open_session(options)
    try:
        return Agent(options, client, opened)
    except BaseException:
        opened.recorder.close()
        raise


class Agent:
    def __init__(self, options: AgentOptions, client: ModelClient, opened: OpenedSession) -> None:
        self._options = options
        self._recorder = opened.recorder
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._turn: asyncio.Task[events.TurnEnd] | None = None
        self._turns = 0
        workspace = Workspace(cwd=options.cwd, project=options.cwd, additional=list(options.additional))
        models = models_from(os.environ, host=client.endpoint.address.host, asked=options.model, resumed=opened.model)
        envelope = opened.recorder.envelope
        history = FileHistory(
            history_folder(options.home, envelope.session_id),
            options.cwd,
            additional=options.additional,
            names_parents=not envelope.is_old,
        )
        history.take_up(opened.file_history)
        permissions = Permissions(options, workspace, readable=readable_folders(opened.recorder.path))
        toolbox = Toolbox(all_tools(options)).without(permissions.denied_tools())
        memory = Memory(options.home, workspace, permissions.may_read)
        self._shared = Shared(
            options=options,
            client=client,
            models=models,
            toolbox=toolbox,
            memory=memory,
            background=BackgroundTasks(tasks_folder(opened.recorder.path)),
            emit=self._events.put_nowait,
            path=opened.recorder.path,
        )
        self._dialogue = Dialogue(
            self._shared,
            opened.recorder,
            opened.conversation,
            model=models.main,
            system=system_blocks(options, workspace, memory, models.main),
            toolbox=toolbox,
            permissions=permissions,
            workspace=workspace,
            run_agent=SubAgents(self._shared, envelope, workspace, model=models.main),
            history=history,
            max_turns=options.max_turns,
        )
        self._dialogue.tokens = opened.tokens
        for file in opened.read_files:
            self._dialogue.read_state.recall(file.path, file.time, is_whole=file.is_whole)
        if opened.restore:
            self._dialogue.on_first_answer = functools.partial(self._bring_back, history, opened.restore)

    def _bring_back(self, history: FileHistory, prompt: str) -> str:
        """Restore files once the endpoint has answered; before that nothing is worth a change. Returns why not, if it failed.

        Their current state was kept with the prompt just sent.
        """
        try:
            changed = history.restore(prompt)
        except DiskError as error:
            kept = history.copy_of(error.path) if error.path else None
            return f"files could not be restored: {error}" + (f"; its current content is kept in {kept}" if kept else "")
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

    def interrupt(self) -> None:
        """End the current turn; the session continues with the next prompt."""
        if self._turn is not None:
            self._turn.cancel()

    async def run(self, prompts: AsyncIterator[Prompt]) -> AsyncIterator[Event]:
        """Answer prompts until there are no more. May be called once."""
        work = asyncio.create_task(self._work(prompts))
        work.add_done_callback(lambda _: self._events.put_nowait(None))
        try:
            while (event := await self._events.get()) is not None:
                yield event
        finally:
            if not work.done():
                work.cancel()
            try:
                await work
            except asyncio.CancelledError:
                pass
            finally:
                await self._shared.background.close()
                self._recorder.close()

    async def _work(self, prompts: AsyncIterator[Prompt]) -> None:
        began = time.monotonic()
        self._begin()
        waiting: asyncio.Queue[tuple[Prompt, bool] | None] = asyncio.Queue()
        reader = asyncio.create_task(self._read(prompts, waiting))
        try:
            while (taken := await self._next(waiting)) is not None:
                await self._take(*taken)
        finally:
            reader.cancel()
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

    def _begin(self) -> None:
        options, recorder = self._options, self._recorder
        self._shared.emit(
            events.SessionBegin(
                session_id=self.session_id,
                path=str(recorder.path),
                cwd=str(options.cwd),
                model=self._shared.models.main,
                tools=self._shared.toolbox.names,
                permission_mode=options.permission_mode.value,
            )
        )
        for problem in self._shared.memory.problems:
            self._shared.emit(events.Notice(text=problem))

    async def _read(self, prompts: AsyncIterator[Prompt], waiting: asyncio.Queue[tuple[Prompt, bool] | None]) -> None:
        """A queued prompt is in the file at once, so that it is not lost."""
        try:
            async for prompt in prompts:
                is_queued = self._turn is not None
                if is_queued:
                    self._recorder.queue("enqueue", plain_text(prompt))
                waiting.put_nowait((prompt, is_queued))
        finally:
            waiting.put_nowait(None)

    async def _next(self, waiting: asyncio.Queue[tuple[Prompt, bool] | None]) -> tuple[Prompt, bool, bool] | None:
        """(content, was it queued, is it a notification)"""
        background = self._shared.background
        prompt = asyncio.ensure_future(waiting.get())
        try:
            # A task that ends while nothing else is going on is answered at once.
            while not prompt.done():
                if (said := background.next_notification()) is not None:
                    return said, False, True
                end = asyncio.ensure_future(background.first_end())
                await asyncio.wait([prompt, end], return_when=asyncio.FIRST_COMPLETED)
                end.cancel()
        finally:
            if not prompt.done():
                prompt.cancel()
        taken = prompt.result()
        if taken is not None:
            return *taken, False
        # Agents in the background are awaited, commands are not.
        said = await background.wait_for_agents()
        if said is None:
            return None
        waiting.put_nowait(None)
        return said, False, True

    async def _take(self, prompt: Prompt, is_queued: bool, is_notification: bool) -> None:
        if is_queued:
            self._recorder.queue("dequeue")
        if not self._turns:
            self._recorder.modes(self._options.permission_mode.value)
        self._turns += 1
        work: Coroutine[Any, Any, events.TurnEnd]
        if isinstance(prompt, str) and (prompt == _COMPACT or prompt.startswith(f"{_COMPACT} ")):
            work = self._dialogue.compact(prompt.removeprefix(_COMPACT).strip())
        else:
            work = self._dialogue.take_turn(prompt, is_notification=is_notification)
        self._turn = asyncio.create_task(work)
        try:
            await asyncio.shield(self._turn)
        except asyncio.CancelledError:
            # The session itself ends: finish the turn first.
            self._turn.cancel()
            await asyncio.gather(self._turn, return_exceptions=True)
            raise
        finally:
            self._turn = None
