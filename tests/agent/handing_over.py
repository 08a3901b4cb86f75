"""A session that goes from one client to another: who runs it, and what was asked last."""

from __future__ import annotations

import json
from pathlib import Path

from lab.clients import run_client
from lab.observatory.scenes import say, text, tool
from lab.oracle import normalise
from tests.agent.world import Json, World

TIMEOUT = 120.0
#: Of the hand-overs of a session.
LEGS = ("first", "second", "third", "fourth")


def add_agents(world: World) -> None:
    """What the subagent of each leg does."""
    for name in LEGS:
        world.stage.add(f"agent-{name}", [say(tool("Bash", command="echo deep")), say(text(f"Agent of {name} is done."))])


def agent_tool(body: Json) -> str:
    """What the one who asks calls the tool for subagents."""
    return "Agent" if any(one["name"] == "Agent" for one in body["tools"]) else "Task"


def session_of(world: World) -> Path | None:
    """The one session; 2.0.76 leaves an empty file beside it."""
    found = [path for path in world.sessions if path.stat().st_size and not path.name.startswith("agent-")]
    assert len(found) < 2
    return found[0] if found else None


def run_theirs(world: World, program: Path, prompt: str, *options: str) -> None:
    session = session_of(world)
    resumes = ["--resume", session.stem] if session else []
    args = ["-p", prompt, *resumes, *options, "--output-format", "json", "--dangerously-skip-permissions"]
    done = run_client(program, home=world.home.parent, cwd=world.cwd, args=args, base_url=world.stage.url, timeout=TIMEOUT)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def last_sent(world: World) -> list[Json]:
    """The last request of the conversation itself: clients ask for titles and the like too, and agents ask for themselves."""
    for body in reversed(world.asked()):
        if body.get("tools") and any("Prompt of" in json.dumps(message["content"]) for message in body["messages"]):
            messages: list[Json] = body["messages"]
            return messages
    raise AssertionError("nothing was asked")


def last_request(world: World) -> list[Json]:
    """The same without reminders and other things that differ."""
    return normalise(last_sent(world), prompt="no prompt is cut off here")
