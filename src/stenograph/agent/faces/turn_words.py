"""What a turn came to, in words: the answer, or why there is none."""

from __future__ import annotations

from stenograph.agent.engine import events
from stenograph.agent.engine.events import Event, Outcome

_WORDS = {
    Outcome.OUT_OF_TOKENS: "API Error: the answer was cut off at the limit of its output tokens",
    Outcome.OUT_OF_WINDOW: "API Error: the conversation does not fit the model's window any more",
    Outcome.REFUSED: "API Error: the model declined to answer",
}


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
        return end.text if end.outcome is Outcome.DONE else end.text or _WORDS.get(end.outcome, "")
