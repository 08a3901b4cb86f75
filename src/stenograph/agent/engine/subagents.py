"""Subagents: a conversation in a file of its own, for one task.

The file is where the written release looks for it: in `<session>/subagents/` with a `.meta.json`, or beside the session for 2.0
(rule 53). Its lines are shown in the parent's file as progress.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from stenograph.agent.context.system_prompt import agent_system_blocks
from stenograph.agent.engine.conversation import Conversation, blocks_of
from stenograph.agent.engine.dialogue import Dialogue
from stenograph.agent.engine.events import Outcome
from stenograph.agent.engine.options import Compat
from stenograph.agent.engine.shared import Shared
from stenograph.agent.permissions.policy import Permissions
from stenograph.agent.recording.opening import OpenedSession
from stenograph.agent.recording.places import agent_path, readable_folders
from stenograph.agent.recording.recorder import Recorder
from stenograph.agent.tools.agent import READING_TOOLS, AgentType
from stenograph.agent.tools.base import SubagentResult, ToolFailed, Workspace
from stenograph.agent.tools.shell import search_path
from stenograph.disk import make_folder, replace_file
from stenograph.errors import DiskError, StenographError
from stenograph.family import AgentFile, AgentLayout, meta_path, read_metas
from stenograph.records import Envelope, Json, write

#: Deeper agents can't start more.
DEEPEST = 4
#: It becomes part of a path.
_AGENT_ID = re.compile(r"[0-9A-Za-z_-]{1,64}")


class SubAgents:
    """The `run_agent` of one conversation's tools."""

    def __init__(
        self, shared: Shared, envelope: Envelope, workspace: Workspace, *, model: str, depth: int = 0, parent: str | None = None
    ) -> None:
        self._shared = shared
        self._envelope = envelope
        self._workspace = workspace
        self._model = model
        self._depth = depth
        #: None for the main conversation.
        self._parent = parent

    async def __call__(
        self,
        *,
        prompt: str,
        description: str,
        agent_type: str,
        model: str | None,
        agent_id: str,
        tool_use_id: str,
        progress: Callable[[Json], None],
        resume: bool = False,
    ) -> SubagentResult:
        """Raises ToolFailed."""
        if resume:
            self._refuse_running(agent_id)
            agent_type = self._type_of(agent_id) or agent_type
        kind = self._shared.agent_types.get(agent_type)
        if kind is None:
            raise ToolFailed(f"Agent type '{agent_type}' not found. Available agents: {', '.join(self._shared.agent_types)}")
        began = time.monotonic()
        wanted = model or kind.model
        asked = self._shared.models.named(wanted) if wanted else ""
        dialogue = self._dialogue(kind, agent_id, asked, resume=resume)
        called = dialogue.asker.model
        dialogue.recorder.watch = lambda record: _show(record, progress, prompt, agent_id)
        self._shared.types_by_agent[agent_id] = kind.name
        if not resume:
            self._describe(kind, agent_id, description, tool_use_id)
        try:
            end = await dialogue.take_turn(prompt)
        finally:
            dialogue.recorder.close()
        if end.outcome is Outcome.INTERRUPTED:
            # The agent has cleaned up; now its caller is cancelled.
            raise asyncio.CancelledError
        if end.outcome is Outcome.FAILED:
            raise ToolFailed(f"Agent failed: {end.error}")
        words = end.text or f"(The agent ended without an answer: {end.outcome.value}.)"
        return SubagentResult(
            agent_id=agent_id,
            content=[{"type": "text", "text": words}],
            duration_ms=round((time.monotonic() - began) * 1000),
            total_tokens=dialogue.asker.tokens,
            tool_use_count=len(dialogue.tools_used),
            usage=dialogue.asker.last_usage,
            model=called,
            tools_used=dialogue.tools_used,
            lines_added=dialogue.tools.lines_added,
            lines_removed=dialogue.tools.lines_removed,
        )

    def _refuse_running(self, agent_id: str) -> None:
        task = self._shared.background.find(agent_id)
        if task is not None and task.is_running:
            raise ToolFailed("That agent is still running. Wait for it with TaskOutput, then send the message")

    def _type_of(self, agent_id: str) -> str:
        """Empty if unknown, as in files of 2.0."""
        if agent_id in self._shared.types_by_agent or not _AGENT_ID.fullmatch(agent_id):
            return self._shared.types_by_agent.get(agent_id, "")
        path = agent_path(self._shared.path, agent_id, Compat.NEWEST)
        metas, damaged = read_metas([AgentFile(path, agent_id, AgentLayout.NESTED, meta_path(path))])
        if damaged:
            return ""
        # For a type we don't have: reading does no harm.
        found = metas[agent_id].agent_type
        return found if found in self._shared.agent_types else "Explore"

    def _dialogue(self, kind: AgentType, agent_id: str, asked: str, *, resume: bool) -> Dialogue:
        shared, options = self._shared, self._shared.options
        own = msgspec.structs.replace(self._envelope, agent_id=agent_id, agent_type=kind.name)
        path = agent_path(shared.path, agent_id, options.compat)
        workspace = msgspec.structs.replace(self._workspace, additional=list(self._workspace.additional))
        toolbox = shared.toolbox.only(READING_TOOLS) if kind.reads_only else shared.toolbox
        toolbox = toolbox if kind.tools is None else toolbox.only(kind.tools)
        toolbox = toolbox.without_here(kind.without) if kind.without else toolbox
        if self._depth + 1 >= DEEPEST:
            toolbox = toolbox.without(["Agent"])
        recorder, conversation, model = Recorder(path, own), Conversation(), asked or self._model
        if resume:
            opened = _resumed(path, own, asked)
            recorder, conversation, model = opened.recorder, opened.conversation, asked or opened.model or self._model
        return Dialogue(
            shared,
            recorder,
            conversation,
            model=model,
            system=agent_system_blocks(workspace, shared.memory, kind, model),
            toolbox=toolbox,
            permissions=Permissions(
                shared.policy,
                workspace,
                readable=readable_folders(shared.path),
                search_path=search_path(shared.options.environ, workspace.folders),
            ),
            workspace=workspace,
            run_agent=SubAgents(shared, self._envelope, workspace, model=model, depth=self._depth + 1, parent=agent_id),
        )

    def _describe(self, kind: AgentType, agent_id: str, description: str, tool_use_id: str) -> None:
        """2.0 has no such file."""
        if self._shared.options.compat is Compat.OLD:
            return
        meta = write.agent_meta(
            agent_type=kind.name,
            description=description,
            tool_use_id=tool_use_id,
            parent_agent_id=self._parent,
            depth=self._depth + 1,
        )
        path = meta_path(agent_path(self._shared.path, agent_id, Compat.NEWEST))
        try:
            make_folder(path.parent)
            replace_file(path, meta)
        except DiskError as error:
            raise ToolFailed(f"The agent could not be started: {error}") from error


def _resumed(path: Path, envelope: Envelope, asked: str) -> OpenedSession:
    """Raises ToolFailed: the id is the model's, and may be anything."""
    if not _AGENT_ID.fullmatch(str(envelope.agent_id)) or not path.is_file():
        raise ToolFailed("No agent of this session has that id")
    from stenograph.agent.recording.resuming import take_up

    try:
        return take_up(path, envelope, asked=asked)
    except StenographError as error:
        raise ToolFailed(f"The agent cannot continue: {error}") from error


def _show(record: Json, progress: Callable[[Json], None], prompt: str, agent_id: str) -> None:
    """Record an agent's prompt and answers in its parent's file. Results are long and stay in the agent's own."""
    is_note = "isApiErrorMessage" in record  # the result reports the failure
    if record["type"] not in ("user", "assistant") or "sourceToolAssistantUUID" in record or is_note:
        return
    content = blocks_of(record["message"]["content"])
    progress(write.agent_progress(record, content, prompt=prompt, agent_id=agent_id))
