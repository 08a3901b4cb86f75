"""One session of ours in which everything happens that can: every tool, well used and badly, and every way a turn can go.

In: a folder, the shapes to write, whether it is compacted. Out: the session's file and what was sent last. The script is fixed,
so that what stands in the file can be counted by hand: the counts are here, beside the script.
"""

from __future__ import annotations

import dataclasses
import json
import struct
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from lab.observatory.scenes import (
    Fail,
    Say,
    Scene,
    cue,
    found_in_results,
    redacted,
    say,
    text,
    think,
    tool,
)
from tests.agent.world import Json, world_at

from stenograph.agent.engine import events
from stenograph.agent.engine.events import Event
from stenograph.agent.engine.options import Compat
from stenograph.agent.engine.session import Agent
from stenograph.testing.scripted_api import LoopbackServer, LoopbackService

PAGE = b"<html><head><title>Page</title></head><body><h1>Page</h1><p>Words of the page.</p></body></html>"
TITLE = "Everything at once"
MEMORY = "Mind the nested memory."
#: The stage answers a request for one with a summary; our own words are added to the question.
COMPACT = "/compact a detailed summary of all"
SUMMARY = "1. Primary Request: scripted."

#: The prompts before a compaction: the scene and the words of the last answer to it.
TURNS = {
    "survey": "Surveyed.",
    "change": "Changed.",
    "behind": "Nothing runs any more.",
    "agents": "All agents are back.",
    "launch": "It works by itself.",
    "web": "Fetched.",
    "overloaded": "At last.",
    "cut": "Whole again.",
    "denied": "",
    "stopped": "",
}
AFTER = {"after": "The end of it all."}
#: Interrupted when it begins.
SLOW = "sleep 30; echo never"

#: Calls of the main conversation, by the names that the newest release has for the tools. The last two are after a compaction.
CALLS = {
    "TodoWrite": 2,
    "Read": 9,
    "Glob": 1,
    "Grep": 2,
    "Write": 3,
    "Edit": 4,
    "Bash": 9,
    "BashOutput": 1,
    "TaskOutput": 3,
    "TaskStop": 2,
    "Agent": 4,
    "SendMessage": 1,
    "WebFetch": 2,
    "WebSearch": 1,
    "NoSuchTool": 1,
}
#: Of those, the ones whose result is an error: two of Read, two of Edit, one of Write, a command that fails and two that were
#: stopped, a tool that is not there, and a task that is not there. A page that is not there is no error: its status is told.
FAILED_CALLS = 10
#: First, Second, and the deeper one that the first starts; one behind, and one that launches itself.
AGENTS = 5


def scenes(cwd: Path, page: str, compat: Compat) -> dict[str, Scene]:
    """What the API says; paths are whole, as models write them."""
    at = {name: str(cwd / name) for name in ("a.txt", "p.png", "n.ipynb", "d.pdf", "new.txt", "missing.txt", "inner/deep.txt")}
    is_old = compat is Compat.OLD
    agent, stop, stopped = ("Task", "KillShell", "shell_id") if is_old else ("Agent", "TaskStop", "task_id")

    def started(body: Json, which: int) -> str:
        return found_in_results(body, r"Command running in background with ID: (\w+)", "none")[which]

    def launched(body: Json) -> str:
        return found_in_results(body, r"launched successfully.\nagentId: (\w+)", "none")[-1]

    def more(agent_id: str) -> Json:
        """To an agent that is done: 2.0 has no tool for it, and that its Task takes `resume` was never recorded."""
        if is_old:
            return tool("Read", file_path=at["a.txt"])
        return tool("SendMessage", to=agent_id, message=cue("more", "Say more."), summary="More")

    return {
        "survey": [
            say(
                think("I look at everything first."), redacted(), text("Looking."), tool("TodoWrite", todos=_todos("in_progress"))
            ),
            say(
                text("All at once."),
                tool("Read", file_path=at["a.txt"]),
                tool("Read", file_path=at["p.png"]),
                tool("Glob", pattern="**/*.txt"),
                tool("Grep", pattern="alpha", output_mode="content"),
                tool("Grep", pattern="nowhere to be found"),
            ),
            say(tool("Read", file_path=at["n.ipynb"]), tool("Read", file_path=at["d.pdf"])),
            say(tool("Read", file_path=at["missing.txt"]), tool("Read", file_path=at["a.txt"], offset=2, limit=1)),
            say(think("That was it."), text(TURNS["survey"])),
        ],
        "change": [
            say(tool("Write", file_path=at["new.txt"], content="one\ntwo\ntwo\n")),
            say(tool("Edit", file_path=at["new.txt"], old_string="one", new_string="ONE")),
            say(
                tool("Edit", file_path=at["new.txt"], old_string="two", new_string="TWO"),  # not unique
                tool("Edit", file_path=at["new.txt"], old_string="three", new_string="THREE"),  # not there
                tool("Edit", file_path=at["new.txt"], old_string="two", new_string="TWO", replace_all=True),
            ),
            say(tool("Write", file_path=at["inner/deep.txt"], content="unread\n")),  # refused: it was not read
            say(tool("Read", file_path=at["inner/deep.txt"])),  # with memory beside it
            say(tool("Write", file_path=at["inner/deep.txt"], content="deep and changed\n")),
            say(tool("Bash", command="cd inner && cat deep.txt", description="Look into it"), tool("Bash", command="exit 3")),
            say(tool("Bash", command="cd .. && echo words >&2"), tool("NoSuchTool", x=1), tool("Read")),
            say(
                tool("Bash", command="for i in $(seq 9000); do echo line $i; done"), tool("TodoWrite", todos=_todos("completed"))
            ),
            say(text(TURNS["change"])),
        ],
        "behind": [
            say(tool("Bash", command="echo begun; sleep 60", run_in_background=True, description="Sleep long")),
            say(tool("Bash", command="echo quick", run_in_background=True, description="Say quick")),
            lambda body: say(
                tool("BashOutput", bash_id=started(body, 0)),
                tool("TaskOutput", task_id=started(body, 1), block=True, timeout=10_000),
                tool("TaskOutput", task_id=started(body, 0), block=False),
            ),
            lambda body: say(*(tool(stop, **{stopped: task}) for task in (started(body, 0), "none"))),
            say(text(TURNS["behind"])),
        ],
        "agents": [
            say(
                text("Two at once."),
                tool(agent, description="First", prompt=cue("first", "Go to the first.")),
                tool(agent, description="Second", prompt=cue("second", "Go to the second."), subagent_type="Explore"),
            ),
            say(tool(agent, description="Behind", prompt=cue("third", "Go behind."), run_in_background=True)),
            lambda body: say(tool("TaskOutput", task_id=launched(body), block=True, timeout=10_000)),
            lambda body: say(more(launched(body))),
            say(text(TURNS["agents"])),
        ],
        "first": [
            say(think("A task for another."), tool(agent, description="Deeper", prompt=cue("deeper", "Go deeper."))),
            say(text("First is done.")),
        ],
        "second": [
            say(tool("Read", file_path=at["a.txt"]), tool("Glob", pattern="*.md"), tool("Bash", command="echo forbidden")),
            say(text("Second is done.")),
        ],
        "deeper": [say(tool("Bash", command="echo deep")), say(text("Deeper is done."))],
        "more": [say(text("More is said."))],
        "third": [say(tool("Bash", command="echo behind")), say(text("Third is done."))],
        # The agent is over before the turn is, so that what it says begins the next.
        "launch": [
            say(tool(agent, description="By itself", prompt=cue("fourth", "Go by yourself."), run_in_background=True)),
            lambda _: _once_written(cwd.parent, "Fourth is done.", say(text(TURNS["launch"]))),
        ],
        "fourth": [say(text("Fourth is done."))],
        "web": [
            say(
                tool("WebFetch", url=page, prompt="What is it?"),
                tool("WebFetch", url=f"{page}missing", prompt="And that?"),
                tool("WebSearch", query="words of the page"),
            ),
            say(text(TURNS["web"])),
        ],
        "overloaded": [Fail(529, "overloaded_error", say(text(TURNS["overloaded"])), times=2)],
        "cut": [_once(Say([text("Half of it and more.")], overloaded_after=4), say(text(TURNS["cut"])))],
        "denied": [Fail(400, "invalid_request_error", say(text("never")), times=99)],
        "stopped": [
            say(text("Wait."), tool("Bash", command=SLOW), tool("Bash", command="echo never")),
            say(text("never")),
        ],
        "after": [
            say(think("On we go."), tool("Read", file_path=at["a.txt"]), tool("Bash", command="echo after")),
            say(text(AFTER["after"])),
        ],
    }


def _once(first: Say, then: Say) -> Callable[[Json], Say]:
    answers = iter([first])
    return lambda _: next(answers, then)


def _once_written(folder: Path, words: str, then: Say) -> Say:
    """An answer that waits until an agent's file holds some words, and a little more for the agent to end."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and not any(words in path.read_text() for path in folder.rglob("agent-*.jsonl")):
        time.sleep(0.02)
    return dataclasses.replace(then, delay=0.3)


def _todos(status: str) -> list[Json]:
    return [{"content": "Look at everything", "status": status, "activeForm": "Looking at everything"}]


@dataclass(frozen=True)
class Played:
    """The session, once it is over."""

    path: Path
    home: Path
    cwd: Path
    compat: Compat
    is_compacted: bool
    seen: list[Event]
    #: The messages of the last request.
    sent: list[Json]

    @property
    def agents(self) -> list[Path]:
        found = (
            self.path.parent.glob("agent-*.jsonl")
            if self.compat is Compat.OLD
            else self.path.with_suffix("").rglob("agent-*.jsonl")
        )
        return sorted(found)


#: The shapes that are written, and whether the session is compacted.
VARIANTS = {
    "whole": (Compat.NEWEST, False),
    "compacted": (Compat.NEWEST, True),
    "old-whole": (Compat.OLD, False),
    "old-compacted": (Compat.OLD, True),
}
_played: dict[str, Played] = {}


def played(variant: str, folders: pytest.TempPathFactory) -> Played:
    """A variant, played once a process: nobody may change what it left."""
    if variant not in _played:
        compat, compacts = VARIANTS[variant]
        _played[variant] = play(folders.mktemp(variant), compat, compacts=compacts)
    return _played[variant]


def play(folder: Path, compat: Compat, *, compacts: bool) -> Played:
    """Run the whole script once, in this process."""
    with served_page() as page, world_at(folder, {}) as world:
        _furnish(world.cwd)
        for name, scene in scenes(world.cwd, page.url + "/", compat).items():
            world.stage.add(name, scene)
        prompts = [cue(scene, f"Prompt for {scene}.") for scene in TURNS]
        prompts += [COMPACT] * compacts
        prompts += [cue(scene, f"Prompt for {scene}.") for scene in AFTER]
        seen = world.run(*prompts, during=_interrupt_slow, compat=compat, name=TITLE)
        return Played(world.session, world.home, world.cwd, compat, compacts, seen, world.asked()[-1]["messages"])


def _interrupt_slow(agent: Agent, event: Event) -> None:
    if isinstance(event, events.ToolBegin) and event.given.get("command") == SLOW:
        agent.interrupt()


def _furnish(cwd: Path) -> None:
    """Files of every kind that can be read."""
    (cwd / "a.txt").write_text("alpha\nbeta\ngamma\n")
    (cwd / "p.png").write_bytes(_png(4, 3))
    cells = [{"cell_type": "code", "source": ["x = 1\n"], "outputs": [], "metadata": {}, "execution_count": 1, "id": "one"}]
    (cwd / "n.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    (cwd / "d.pdf").write_bytes(_pdf())
    (cwd / "inner").mkdir()
    (cwd / "inner" / "deep.txt").write_text("deep\n")
    (cwd / "inner" / "CLAUDE.md").write_text(f"{MEMORY}\n")


def _png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + b"\1\2\3" * width for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def _pdf() -> bytes:
    import io

    from pypdf import PdfWriter

    writer, out = PdfWriter(), io.BytesIO()
    writer.add_blank_page(100, 200)
    writer.write(out)
    return out.getvalue()


class Page(LoopbackService):
    def __init__(self) -> None:
        super().__init__(LoopbackServer(("127.0.0.1", 0), _PageHandler))


class _PageHandler(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Say nothing on stderr."""

    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/" else 404)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)


@contextmanager
def served_page() -> Iterator[Page]:
    with Page() as page:
        yield page


def calls_of(ours: Played) -> dict[str, int]:
    """CALLS of a session; in 2.0 something is read in the place of writing to an agent."""
    if ours.compat is Compat.NEWEST:
        return CALLS
    return {name: count + (name == "Read") for name, count in CALLS.items() if name != "SendMessage"}
