"""What is looked at in the requests that the agent makes: what the Messages API asks of each, and how each extends the last.

In: requests, as they reached the API. Out: their parts, or a failed assertion. Knows nothing of sessions.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from typing import Any

Json = dict[str, Any]

#: Stands in our question for a summary, and in nothing else.
_ASKS_FOR_SUMMARY = "write a summary of this conversation"


def live_messages(body: Json) -> list[Json]:
    """The messages of a request without the marks for the cache."""
    return [
        {**message, "content": [{k: v for k, v in block.items() if k != "cache_control"} for block in message["content"]]}
        for message in body["messages"]
    ]


def assert_sendable(messages: Sequence[Json]) -> None:
    """User and assistant in turns, the user first and last; every call answered once, right behind it; no other result."""
    assert messages
    assert [message["role"] for message in messages] == ["user", "assistant"] * (len(messages) // 2) + ["user"]
    asked: list[str] = []
    seen: set[str] = set()
    for message in messages:
        assert message["content"]
        kinds = [block["type"] for block in message["content"]]
        if message["role"] == "assistant":
            assert kinds[-1] not in ("thinking", "redacted_thinking")
            asked = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
            assert not seen & set(asked)
            seen |= set(asked)
            assert len(set(asked)) == len(asked)
            continue
        results = [block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"]
        assert sorted(results) == sorted(asked)
        assert kinds[: len(results)] == ["tool_result"] * len(results)
        asked = []


def thinking_of(messages: Sequence[Json]) -> list[Json]:
    return [block for message in messages for block in message["content"] if block["type"] == "thinking"]


def is_question_for_summary(body: Json) -> bool:
    return any(_ASKS_FOR_SUMMARY in block.get("text", "") for block in body["messages"][-1]["content"])


def conversations_of(requests: Sequence[Json]) -> list[list[Json]]:
    """The requests of each conversation in their order: the main one's, which begins, then those of each sub-agent.

    The main one is known by its system blocks alone, a sub-agent by its system blocks and its first message: where either of
    them changed on the way there would be a conversation too many.
    """
    found: dict[str, list[Json]] = {}
    main = _without_marks(requests[0]["system"])
    for body in requests:
        system = _without_marks(body["system"])
        first = "" if system == main else _without_marks(body["messages"][0])
        found.setdefault(system + first, []).append(body)
    return list(found.values())


def stretches_of(conversation: Sequence[Json]) -> list[list[Json]]:
    """A conversation between its compactions; the question for a summary is the last of a stretch."""
    stretches: list[list[Json]] = [[]]
    for body in conversation:
        stretches[-1].append(body)
        if is_question_for_summary(body):
            stretches.append([])
    return [stretch for stretch in stretches if stretch]


def assert_each_extends_the_last(requests: Sequence[Json]) -> None:
    """Every request begins with the bytes of the one before it, marks for the cache aside; only they make a cache of use."""
    for earlier, later in itertools.pairwise(requests):
        assert list(earlier)[-1] == list(later)[-1] == "messages"
        # The question for a summary may stand behind results, in one message with them.
        end = "]}]}" if is_question_for_summary(later) else "]}"
        assert _without_marks(earlier).endswith(end)
        assert _without_marks(later).startswith(_without_marks(earlier).removesuffix(end))


def _without_marks(value: object) -> str:
    def bare(value: object) -> object:
        if isinstance(value, dict):
            return {name: bare(one) for name, one in value.items() if name != "cache_control"}
        return [bare(one) for one in value] if isinstance(value, list) else value

    return json.dumps(bare(value))
