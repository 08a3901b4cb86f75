"""What the API says in a scenario: scenes of steps, each step one answer, a failure, or made from the request.

In: blocks to say. Out: values that a stage plays. A prompt names its scene (`cue`); a sub-agent's prompt names another. Knows
nothing of clients, tools or the wire.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from stenograph.testing.scripted_api import Json

_CUE = re.compile(r"\[scene ([\w.-]+)\]")


@dataclass(frozen=True)
class Say:
    """One answer. Times are seconds."""

    blocks: Sequence[Json]
    #: Before the first byte.
    delay: float = 0.0
    #: Between two events of the stream.
    pause: float = 0.0
    usage: Mapping[str, Any] = field(default_factory=dict)
    #: None: `tool_use` where a tool is called, else `end_turn`.
    stop_reason: str | None = None
    #: After so many events the stream says that the API is overloaded, and ends.
    overloaded_after: int | None = None
    #: After so many events the connection is closed.
    cut_after: int | None = None
    #: Characters of a piece of text; None: each text comes in two pieces.
    piece: int | None = None


@dataclass(frozen=True)
class Fail:
    """A status instead of an answer, `times` times; then the answer."""

    status: int
    kind: str
    then: Say
    times: int = 1
    message: str = "scripted"


#: The last form looks at the request first, to name an id that an earlier result told.
Step: TypeAlias = Say | Fail | Callable[[Json], Say]
#: The second form is asked once, with the first request, and may look at the tools it lists.
Scene: TypeAlias = Sequence[Step] | Callable[[Json], Sequence[Step]]


def cue(scene: str, words: str = "Please go on.") -> str:
    """A prompt that makes the stage play a scene."""
    return f"{words} [scene {scene}]"


def cued_scene(text: str) -> str | None:
    """The scene that a text names last."""
    names = _CUE.findall(text)
    return names[-1] if names else None


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def think(words: str) -> Json:
    return {"type": "thinking", "thinking": words}


def redacted() -> Json:
    return {"type": "redacted_thinking", "data": "cmVkYWN0ZWQ="}


def tool(name: str, /, **arguments: object) -> Json:
    return {"type": "tool_use", "name": name, "input": arguments}


def say(*blocks: Json) -> Say:
    return Say(blocks)


def result_texts(body: Json) -> list[str]:
    """The texts of all tool results in a request, oldest first."""
    found: list[str] = []
    for message in body.get("messages", []):
        blocks = message["content"] if isinstance(message["content"], list) else []
        for block in blocks:
            content = block.get("content") if block.get("type") == "tool_result" else None
            if isinstance(content, str):
                found.append(content)
            elif isinstance(content, list):
                found += [part["text"] for part in content if part.get("type") == "text"]
    return found


def found_in_results(body: Json, pattern: str, default: str) -> list[str]:
    """What the first group of a pattern finds in the tool results of a request, oldest first; else the default alone."""
    return [match for words in result_texts(body) for match in re.findall(pattern, words)] or [default]
