"""The messages of a conversation as they are sent: what a resume would make of its lines, kept up as it grows.

In: what the user, the tools and the model say, in the order of the lines. Out: `messages`. Whatever was sent stays as it was,
byte for byte, until a compaction: a response seals what stands before it. The rules are those of the newest release (29, 32).
"""

from __future__ import annotations

from collections.abc import Sequence

from stenograph.records import THINKING, Json


class Conversation:
    def __init__(self, messages: Sequence[Json] = ()) -> None:
        self.messages: list[Json] = list(messages)
        # What a resume gives already ends in a line break where a prompt will follow.
        self._is_resumed_end = bool(self.messages)

    def add_user(self, blocks: Sequence[Json]) -> None:
        """Words of the user, results of tools: neighbours are one message, results first (rule 29)."""
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
        """A response, without blank texts (rule 46); one that holds nothing but thinking then is not sent back (rule 32)."""
        sent = [block for block in blocks if block["type"] != "text" or block["text"].strip()]
        if any(block["type"] not in THINKING for block in sent):
            self.messages.append({"role": "assistant", "content": sent})
        self._is_resumed_end = False

    def begin_anew(self, summary: str) -> None:
        """After a compaction nothing but the summary is sent."""
        self.messages = [{"role": "user", "content": [text_block(summary)]}]
        self._is_resumed_end = False


def text_block(text: str) -> Json:
    return {"type": "text", "text": text}


def blocks_of(content: str | Sequence[Json]) -> list[Json]:
    return [text_block(content)] if isinstance(content, str) else list(content)
