"""A scripted API that counts what it is sent: tokens by kind of text, so that the parts of a request are known each alone.

In: requests of a real client. Out: answers whose usage is the count of the request, and the count of every part of it. The
counter is not Anthropic's; like it, it finds fewer characters in a token of code, JSON and numbers than in one of prose. Knows
nothing of sessions.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lab.observatory.project import write_files
from lab.observatory.scenes import Say, text, think, tool
from lab.observatory.stage import Stage
from lab.observatory.studio import ALLOW_ALL, Studio
from stenograph.testing.scripted_api import Json

_PIECE = re.compile(r" ?[^\W\d_]{1,6}|\d{1,3}|_|[ \t]+|\n+|[^\w\s]{1,2}")
IMAGE = 1_500
_NESTED = re.compile(r"\s*<system-reminder>\s*Contents of \S+CLAUDE\.md")
_MENTIONED = re.compile(
    r"\s*<system-reminder>\s*(Called the \w+ tool|Result of calling the|Note: \S+ (was modified|changed on disk))"
)
_REPORTED = re.compile(r"\s*(<system-reminder>\s*)?(\[SYSTEM NOTIFICATION|The user sent a new message)")


def count(words: str) -> int:
    return len(_PIECE.findall(words))


def count_value(value: Any) -> int:
    """Of a JSON value as the API sees it."""
    return count(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def count_request(body: Json) -> Counter[str]:
    """Tokens by part: `system`, `tools`, `memory`, `notes` (what the client adds), `prompts`, `answers`, `thinking`, and the
    results of each tool as `result NAME`. Files that were mentioned or have changed count as `result Read`, a report of a task
    that ran in the background as `prompts`, and the names of tools that were found as `tools`."""
    found: Counter[str] = Counter()
    found["system"] += sum(map(count, _texts(body.get("system") or [])))
    found["tools"] += sum(count_value({key: tool.get(key) for key in _TOOL}) for tool in body.get("tools") or [])
    names: dict[str, str] = {}
    is_mentioned = False
    for message in body.get("messages", []):
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for block in blocks:
            if block["type"] == "tool_use":
                names[block["id"]] = block["name"]
            part = _part(message["role"], block, names)
            if block["type"] == "text":
                is_mentioned = part == "result Read"
            elif block["type"] in ("image", "document") and is_mentioned:
                part = "result Read"
            found[part] += count_block(block)
    return found


_TOOL = ("name", "description", "input_schema")


def count_block(block: Json) -> int:
    match block["type"]:
        case "text":
            return count(block["text"])
        case "thinking":
            return count(block["thinking"])
        case "tool_use":
            return count(block["name"]) + count_value(block["input"])
        case "tool_result":
            content = block.get("content") or ""
            return count(content) if isinstance(content, str) else sum(map(count_block, content))
        case "image" | "document":
            return IMAGE
    return count_value(block)


def _part(role: str, block: Json, names: dict[str, str]) -> str:
    kind = block["type"]
    if kind == "tool_result":
        content = block.get("content")
        if isinstance(content, list) and any(part.get("type") == "tool_reference" for part in content):
            return "tools"
        return f"result {names.get(block['tool_use_id'], 'unknown')}"
    if role == "assistant":
        return "thinking" if kind == "thinking" else "answers"
    words = block.get("text", "") if kind == "text" else ""
    if "# claudeMd" in words or "Codebase and user instructions" in words or _NESTED.match(words):
        return "memory"
    if _MENTIONED.match(words):
        return "result Read"
    if _REPORTED.match(words):
        return "prompts"
    return "notes" if role == "system" or words.lstrip().startswith("<system-reminder>") else "prompts"


def _texts(content: str | list[Json]) -> list[str]:
    return [content] if isinstance(content, str) else [block["text"] for block in content if block.get("type") == "text"]


class CountingStage(Stage):
    """A stage that reports what it counts. A prompt that begins like the one before is read from the cache that far."""

    def __init__(self) -> None:
        super().__init__()
        self._known = 0

    def _build(self, answer: Say, body: Json) -> Json:
        message = super()._build(answer, body)
        prompt = count_request(body).total()
        cached = min(self._known, prompt - 3)
        thinking = sum(count_block(block) for block in message["content"] if block["type"] == "thinking")
        message["usage"] = {
            **message["usage"],
            "input_tokens": 3,
            "cache_read_input_tokens": cached,
            "cache_creation_input_tokens": prompt - 3 - cached,
            "cache_creation": {"ephemeral_5m_input_tokens": prompt - 3 - cached, "ephemeral_1h_input_tokens": 0},
            "output_tokens": sum(map(count_block, message["content"])),
            "output_tokens_details": {"thinking_tokens": thinking},
            **answer.usage,
        }
        self._known = prompt
        return message


PROSE = "The tide table is read from the harbor office once a day, and what is older than a month is thrown away. "
CODE = (
    "def tide_{n}(rows: list[dict[str, float]], *, high: bool = True) -> float:\n"
    '    return max(row["m_{n}"] for row in rows)\n\n\n'
)
MEMORY = "- Write tests first. Run `make check` before every commit, and never push to `main` without a review.\n"


def play_work(studio: Studio) -> str:
    """Four turns of work with every kind of content; the id of the session."""
    write_files(
        studio.project,
        {
            "CLAUDE.md": MEMORY * 60,
            "prose.md": (PROSE * 3 + "\n\n") * 25,
            "tides.py": "".join(CODE.format(n=number) for number in range(60)),
            "data.json": json.dumps([{"station": number, "height": number * 1.37, "ok": True} for number in range(150)]),
        },
    )
    at = studio.project
    read, bash = _read(at), _bash
    turns: dict[str, tuple[str, list[Say]]] = {
        "look": (
            "Look at the project and say what it does. " + PROSE * 4,
            [
                Say([think(PROSE * 5), text("I read the prose."), read("prose.md")]),
                Say([think("Now the code. " + PROSE), read("tides.py")]),
                Say([text("Both at once: " + PROSE), read("data.json"), bash("cat tides.py | head -40")]),
                Say([text("It reads tides. " + PROSE * 12)]),
            ],
        ),
        "change": (
            "Change tide_1 so that it takes the lowest value.\n\n```\n" + CODE.format(n=1) * 8 + "```\n",
            [
                Say(
                    [tool("Edit", file_path=str(at / "tides.py"), old_string='"m_1"', new_string='"low_1"'), text("Changed.")][
                        ::-1
                    ]
                ),
                Say([bash('for i in $(seq 1 150); do echo "$i ok tests/test_$i.py::test_tide PASSED"; done')]),
                Say([think(PROSE * 9), tool("Grep", pattern="tide_", path=str(at), output_mode="content")]),
                Say([bash("exit 3"), bash("seq 1 400")]),
                Say([text("Done, and tested. " + PROSE * 6)]),
            ],
        ),
        "write": (
            "Write the notes.",
            [
                Say([tool("Write", file_path=str(at / "notes2.md"), content=PROSE * 30)]),
                Say([read("prose.md")]),
                Say([text("Written. " + PROSE * 3)]),
            ],
        ),
        "end": ("Is there anything left? " + PROSE, [Say([think(PROSE * 2), text("Nothing. " + PROSE * 8)])]),
    }
    session = ""
    for name, (words, steps) in turns.items():
        prompt = studio.scene(name, steps, words)
        result = studio.run(prompt, ALLOW_ALL, *(["--resume", session] if session else []), timeout=90)
        session = str(result.get("session_id", ""))
    return session


def _read(folder: Path) -> Callable[[str], Json]:
    return lambda name: tool("Read", file_path=str(folder / name))


def _bash(command: str) -> Json:
    return tool("Bash", command=command, description="Run it")
