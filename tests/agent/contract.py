"""The order of events that `stenograph.agent.engine.events` promises, checked event by event.

In: the events of a whole run. Out: nothing, or a failed assertion. Knows nothing of files or of what was sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stenograph.agent.engine import events
from stenograph.agent.engine.events import Event, Outcome

#: How a turn may end that leaves a response without its end.
_BREAKS_OFF = (Outcome.INTERRUPTED, Outcome.WITHDRAWN, Outcome.FAILED)
_ANYWHERE = (
    events.Notice,
    events.ModeChanged,
    events.ModelChanged,
    events.Queued,
    events.TaskBegin,
    events.TaskEnd,
)


class _Conversation:
    """Where one conversation stands: the main one, or a sub-agent's."""

    def __init__(self) -> None:
        self.in_turn = False
        self.in_response = False
        #: The block under way, and the last one of the response.
        self.block: int | None = None
        self.last_index = -1
        #: A response has ended within a block: nothing but the end of an interrupted turn may follow.
        self.is_cut = False
        #: Calls of the last response that have not begun, and those that have and run.
        self.called: set[str] = set()
        self.running: set[str] = set()
        self.compacting = False

    @property
    def is_idle(self) -> bool:
        """Between a response with all its calls and whatever comes next."""
        return self.in_turn and not (self.in_response or self.is_cut or self.compacting or self.called or self.running)

    def take(self, event: Event) -> None:
        match event:
            case events.TurnBegin():
                assert not self.in_turn
                self.in_turn = True
            case events.Retry():
                self.in_response, self.block = False, None
                assert self.is_idle
            case events.ResponseBegin():
                assert self.is_idle
                self.in_response, self.last_index = True, -1
            case events.BlockBegin(index=index):
                assert self.in_response
                assert self.block is None
                assert index > self.last_index
                self.block = self.last_index = index
            case events.TextChunk(index=index) | events.ThinkingChunk(index=index) | events.InputChunk(index=index):
                assert self.block == index
            case events.BlockEnd(index=index):
                assert self.block == index
                self.block = None
            case events.ResponseEnd(message=message):
                assert self.in_response
                self.in_response, self.is_cut, self.block = False, self.block is not None, None
                self.called = {block["id"] for block in message["content"] if block["type"] == "tool_use"}
            case events.ToolBegin(tool_use_id=use):
                assert use in self.called, "a call begins once, after the response that made it"
                self.called.remove(use)
                self.running.add(use)
            case events.ToolProgress(tool_use_id=use) | events.Asked(tool_use_id=use) | events.Answered(tool_use_id=use):
                assert use in self.running
            case events.ToolEnd(tool_use_id=use):
                assert use in self.running, "a call ends once, after it began"
                self.running.remove(use)
            case events.Delivered():
                assert self.is_idle
            case events.CompactionBegin():
                assert self.is_idle
                self.compacting = True
            case events.CompactionEnd() | events.CompactionFailed():
                assert self.compacting
                self.compacting = False
            case events.TurnEnd(outcome=outcome):
                if outcome in _BREAKS_OFF:
                    self.in_response, self.block = False, None
                if outcome is Outcome.INTERRUPTED:
                    self.is_cut = False
                assert self.is_idle
                self.in_turn = False
            case _:
                raise AssertionError(f"{type(event).__name__} within a session")


def check_order(seen: Iterable[Event]) -> None:
    """Of a whole run, from SessionBegin to SessionEnd."""
    first, *within, last = seen = list(seen)
    assert [event.seq for event in seen] == list(range(1, len(seen) + 1))
    assert isinstance(first, events.SessionBegin)
    assert isinstance(last, events.SessionEnd)
    behind = set(_agents_in_the_background(within))
    conversations: dict[str | None, _Conversation] = {None: _Conversation()}
    #: The call that waits for a sub-agent, with the conversation that made it.
    waits: dict[str, tuple[_Conversation, str]] = {}
    for event in within:
        if isinstance(event, _ANYWHERE):
            continue
        conversation = conversations.setdefault(event.agent_id, _Conversation())
        conversation.take(event)
        if isinstance(event, events.ToolProgress) and event.data.get("type") == "agent_progress":
            waits[event.data["agentId"]] = conversation, event.tool_use_id
        if event.agent_id is not None and event.agent_id not in behind:
            assert event.agent_id in waits, "no call shows this sub-agent"
            parent, use = waits[event.agent_id]
            assert use in parent.running, "a sub-agent's events come while its call runs"
    assert not any(conversation.in_turn for conversation in conversations.values())


def _agents_in_the_background(seen: Iterable[Event]) -> Iterator[str]:
    for event in seen:
        told = event.structured if isinstance(event, events.ToolEnd) else None
        if isinstance(told, dict) and told.get("status") == "async_launched":
            yield told["agentId"]
