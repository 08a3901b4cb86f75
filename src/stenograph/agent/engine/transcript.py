"""What is added to a conversation between responses: into its file and into the next request.

Both get the same, so that a resume sends what was sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import uuid4

from stenograph.agent.context.git import branch_of
from stenograph.agent.engine import events
from stenograph.agent.engine.asides import Aside
from stenograph.agent.engine.conversation import Conversation, blocks_of, text_block
from stenograph.agent.engine.hooks import HookOutcome
from stenograph.agent.engine.inbox import TaskNotice, Waiting
from stenograph.agent.engine.shared import Shared
from stenograph.agent.engine.turn import TurnInProgress
from stenograph.agent.permissions.live_policy import Behavior, parse_rules
from stenograph.agent.recording.recorder import Recorder
from stenograph.agent.tools.base import Companion, Workspace
from stenograph.records import write

#: The source of rules that hold for a turn.
COMMAND_RULES = "command"


class Transcript:
    def __init__(self, shared: Shared, recorder: Recorder, conversation: Conversation, workspace: Workspace) -> None:
        self.recorder = recorder
        self.conversation = conversation
        self.agent_id = recorder.envelope.agent_id
        self._shared = shared
        self._workspace = workspace

    def locate(self) -> None:
        """Lines say where they were written: a command may have changed the directory or the branch (2.0.76)."""
        self.recorder.envelope.cwd = str(self._workspace.cwd)
        self.recorder.envelope.git_branch = branch_of(self._workspace.cwd)

    def report(self, line: str) -> None:
        """To the user only."""
        self._shared.emit(events.Notice(text=line, agent_id=self.agent_id))

    def ask_on(self, words: str) -> None:
        """Words of ours that make the model go on in the same turn, as the client has them in its files."""
        self.recorder.meta(words)
        self.conversation.add_user([text_block(words)])

    def say_beside(self, texts: Sequence[str]) -> None:
        for text in texts:
            self.recorder.beside_turn(text)
            self.conversation.add_user([text_block(text)])

    def add_aside(self, aside: Aside) -> None:
        is_sent = bool(aside.text)
        if aside.attachment is None or self.recorder.envelope.is_old:
            if is_sent:
                self.ask_on(aside.text)
            return
        line = self.recorder.attachment(aside.attachment, [aside.text] if is_sent else [])
        if is_sent:
            self.conversation.attach(line)

    def follow(self, turn: TurnInProgress, outcome: HookOutcome) -> None:
        """What hooks said."""
        for aside in outcome.asides:
            self.add_aside(aside)
        for line in outcome.notices:
            self.report(line)
        if outcome.stop_reason is not None:
            turn.is_stopped = True

    def accompany(self, companion: Companion, *, source: str = "") -> None:
        """Words behind a result or a prompt, and the rules that come with them. `source`: the call, if any."""
        self.recorder.meta(companion.content, is_companion=True, source=source)
        if companion.allowed is not None:
            self.recorder.note({"type": "command_permissions", "allowedTools": companion.allowed})
            self.grant(companion.allowed)
        self.conversation.add_user(blocks_of(companion.content))

    def grant(self, rules: Iterable[str]) -> None:
        """Until the end of the turn."""
        self._shared.policy.add(Behavior.ALLOW, parse_rules(rules, COMMAND_RULES))

    def deliver(self, item: Waiting) -> None:
        """What arrived during the turn."""
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
            self.conversation.attach(line)
            uuid = line["uuid"]
        self._shared.emit(events.Delivered(prompt=content, uuid=uuid, is_notification=is_notice, agent_id=self.agent_id))
