"""The messages of a conversation as a resume would send them.

What was sent stays the same byte for byte until a compaction: a response seals what precedes it (rules 29, 32).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from stenograph.agent.context.models import called_name
from stenograph.records import THINKING, Json


class Conversation:
    def __init__(self, messages: Sequence[Json] = ()) -> None:
        self.messages: list[Json] = list(messages)
        # A resumed conversation already ends in a line break where a prompt follows.
        self._is_resumed_end = bool(self.messages)
        #: Attachments recorded since the last answer, and the last message without them.
        self._attached: list[Json] = []
        self._plain: list[Json] = []
        #: The one that is called.
        self.model = ""

    def mark(self) -> Callable[[], None]:
        """Brings back the messages as they are now."""
        messages, attached, plain, is_resumed_end = list(self.messages), list(self._attached), self._plain, self._is_resumed_end

        def withdraw() -> None:
            self.messages, self._attached, self._plain, self._is_resumed_end = messages, attached, plain, is_resumed_end

        return withdraw

    def attach(self, line: Json) -> None:
        """The line of an attachment: its words go where a resume by the model puts them (rule 37)."""
        if not self._attached:
            is_users = self.messages and self.messages[-1]["role"] == "user"
            self._plain = list(self.messages[-1]["content"]) if is_users else []
            self.messages = self.messages[:-1] if is_users else self.messages
            self.messages.append({"role": "user", "content": []})
        self._attached.append(line)
        self._place_attachments()

    def _place_attachments(self) -> None:
        # All that reads sessions comes with it: few conversations need it.
        from stenograph.agent.recording.resuming import with_attached

        self.messages[-1] = {"role": "user", "content": with_attached(self._plain, self._attached, called_name(self.model))}

    def add_user(self, blocks: Sequence[Json]) -> None:
        """Adjacent user content is one message, results first (rule 29)."""
        if self._attached:
            self.messages[-1] = {"role": "user", "content": self._plain}
            self._add_user(blocks)
            self._plain = self.messages[-1]["content"]
            self._place_attachments()
        else:
            self._add_user(blocks)

    def _add_user(self, blocks: Sequence[Json]) -> None:
        last = self.messages[-1] if self.messages else None
        if last is None or last["role"] != "user":
            self.messages.append({"role": "user", "content": list(blocks)})
        else:
            content: list[Json] = list(last["content"])
            is_text_after_text = content and blocks and content[-1]["type"] == blocks[0]["type"] == "text"
            if is_text_after_text and not self._is_resumed_end:
                content[-1] = {**content[-1], "text": content[-1]["text"] + "\n"}
            content += blocks
            content.sort(key=lambda block: block["type"] != "tool_result")
            self.messages[-1] = {"role": "user", "content": content}
        self._is_resumed_end = False

    def add_answer(self, blocks: Sequence[Json]) -> None:
        """Without blank texts (rule 46); a response of thinking alone is not sent back (rule 32)."""
        sent = [block for block in blocks if block["type"] != "text" or block["text"].strip()]
        if any(block["type"] not in THINKING for block in sent):
            self.messages.append({"role": "assistant", "content": sent})
            self._attached = []
        self._is_resumed_end = False

    def says(self, text: str) -> bool:
        """Whether a text of the user's side is sent, line breaks at its end aside."""
        blocks = (block for message in self.messages if message["role"] == "user" for block in message["content"])
        return any(block["type"] == "text" and text in block["text"] for block in blocks)

    def change_model(self, model: str) -> None:
        """It does not know the signatures of another's thinking (rule 32)."""
        self.messages = without_thinking(self.messages)
        self.model = model

    def begin_anew(self, summary: str) -> None:
        """After a compaction only the summary is sent."""
        self.messages = [{"role": "user", "content": [text_block(summary)]}]
        self._is_resumed_end = False
        self._attached = []


def without_thinking(messages: Iterable[Json]) -> list[Json]:
    """For another model, which does not know the signatures (rule 32)."""
    kept: list[Json] = []
    for message in messages:
        content = [block for block in message["content"] if block.get("type") not in THINKING]
        if content:
            kept.append({**message, "content": content})
    return kept


def text_block(text: str) -> Json:
    return {"type": "text", "text": text}


def blocks_of(content: str | Sequence[Json]) -> list[Json]:
    return [text_block(content)] if isinstance(content, str) else list(content)
