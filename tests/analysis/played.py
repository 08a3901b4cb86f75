"""A conversation that is played, with the tokens of everything in it known: what a session's usage is made of."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from stenograph.testing.lines import Line, assistant, text, tool_result, tool_use, user, write

SYSTEM = 14_000
#: Characters to a token, in what is said here.
DENSITY = 3.6
BEGIN = datetime(2026, 11, 1, 9, tzinfo=UTC)
MODEL = "claude-opus-5-5"


def tokens_in(words: str) -> int:
    return round(len(words) / DENSITY)


class Played:
    """Lines of a session, and the truth about each call's prompt."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.clock = BEGIN
        self.parts = {"system": SYSTEM, "files": 0, "output": 0, "conversation": 0, "thinking": 0, "hidden": 0}
        #: The parts at each call.
        self.calls: list[dict[str, int]] = []
        self.model = MODEL
        self._cached = 0
        self._count = 0
        self.parent: str | None = None

    def wait(self, seconds: float) -> None:
        self.clock += timedelta(seconds=seconds)

    def _add(self, line: Line) -> None:
        self._count += 1
        name = f"{self._count:08x}-0000-4000-8000-000000000000"
        extra: dict[str, Any] = {
            "sessionId": "s",
            "version": "2.1.325",
            "cwd": "/p",
            "isSidechain": False,
            "userType": "external",
        }
        stamp = self.clock.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self.lines.append({**line, "uuid": name, "parentUuid": self.parent, "timestamp": stamp, **extra})
        self.parent = name
        self.wait(1)

    def prompt(self, words: str) -> None:
        self.parts["conversation"] += tokens_in(words)
        self._add(user(None, words))

    def hide(self, tokens: int) -> None:
        """Something that the client adds to the request and no line tells of."""
        self.parts["hidden"] += tokens

    def call(self, words: str, *tools: tuple[str, dict[str, Any]], thinking: int = 0, cold: bool = False) -> list[str]:
        """A response; returns the ids of its tool calls."""
        prompt = sum(self.parts.values())
        self.calls.append(dict(self.parts))
        read = 0 if cold else self._cached
        ids = [f"toolu_{self._count}_{place}" for place in range(len(tools))]
        blocks = [text(words), *(tool_use(name, tool, **given) for name, (tool, given) in zip(ids, tools, strict=True))]
        written = tokens_in(words) + sum(tokens_in(str(given)) for _, given in tools)
        usage = {
            "input_tokens": 3, "output_tokens": written + thinking, "cache_read_input_tokens": read,
            "cache_creation_input_tokens": prompt - read - 3, "output_tokens_details": {"thinking_tokens": thinking},
        }  # fmt: skip
        stop = "tool_use" if tools else "end_turn"
        name = f"msg_{self._count}"
        self.wait(4)
        for block in blocks:
            self._add(assistant(None, name, [block], model=self.model, stop_reason=stop, usage=usage))
        self._cached = prompt
        self.parts["conversation"] += written
        self.parts["thinking"] += thinking
        return ids

    def result(self, name: str, words: str, part: str = "output", *, is_error: bool = False, seconds: float = 0) -> None:
        self.wait(seconds)
        self.parts[part] += tokens_in(words)
        block = tool_result(name, words, **({"is_error": True} if is_error else {}))
        self._add(user(None, [block]))

    def write(self, path: Path) -> Path:
        return write(path, self.lines)
