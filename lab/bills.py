"""What a real client says its sessions cost, beside every usage that the API reported to it.

In: a client's program and a scratch directory. Out: for every model one run with usages of all kinds; and for sessions with
subagents, resumes, forks, compactions, errors and side requests the files that the client wrote, its totals, and the usages of
requests that left no line. Knows no prices and none of the rules by which we count: it only notes what was said by whom.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lab.clients import client_environment
from lab.observatory.print_scenarios import agent_call
from lab.observatory.recorder import moved, places_of, session_files
from lab.observatory.scenes import Fail, Say, Step, say, text, think, tool
from lab.observatory.studio import ALLOW_ALL, Studio
from lab.observatory.trim import trim_line
from lab.observatory.web_page import WebPage
from stenograph.testing.scripted_api import Json

#: Without it, the client asks for a newer model than the one it was told to use.
NO_REMAP = {"CLAUDE_CODE_DISABLE_LEGACY_MODEL_REMAP": "1"}
_KEPT = frozenset({"assistant", "user", "system", "cost-state", "api-request", "ai-title"})
NOBODY_KNOWS = "model-that-nobody-knows"

#: What the API reports to each model, one a request; the last prompt is longer than any window, so nothing may follow it.
USAGES: tuple[Json, ...] = (
    {
        "input_tokens": 1_234,
        "output_tokens": 567,
        "cache_read_input_tokens": 8_901,
        "cache_creation_input_tokens": 2_345,
        "cache_creation": {"ephemeral_5m_input_tokens": 1_122, "ephemeral_1h_input_tokens": 1_223},
    },
    {
        "input_tokens": 7,
        "output_tokens": 89,
        "cache_read_input_tokens": 43_210,
        "cache_creation_input_tokens": 777,
        "service_tier": "priority",
        "server_tool_use": {"web_search_requests": 3, "web_fetch_requests": 2},
    },
    {
        "input_tokens": 321,
        "output_tokens": 1_111,
        "cache_creation_input_tokens": 999,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 999},
        "speed": "fast",
        "inference_geo": "us",
    },
    {"input_tokens": 17, "output_tokens": 23, "cache_read_input_tokens": 99_983, "service_tier": "batch"},
    {"input_tokens": 18, "output_tokens": 29, "cache_read_input_tokens": 99_983, "inference_geo": "eu"},
    {
        "input_tokens": 13,
        "output_tokens": 4_321,
        "cache_read_input_tokens": 190_000,
        "cache_creation_input_tokens": 31_000,
        "cache_creation": {"ephemeral_5m_input_tokens": 30_000, "ephemeral_1h_input_tokens": 1_000},
        "iterations": [{"type": "advisor_message", "model": "claude-sonnet-4-6", "input_tokens": 1_500, "output_tokens": 250}],
    },
)


@dataclass(frozen=True)
class SideRequest:
    """A request that was answered and of which no line tells."""

    kind: str
    model: str
    usage: Json


@dataclass
class Billed:
    """The sessions of one scenario."""

    #: The client's last word on each session, in USD.
    totals: dict[str, float] = field(default_factory=dict)
    side: list[SideRequest] = field(default_factory=list)


def bill_model(program: Path, release: str, model: str, scratch: Path) -> Json:
    """One run with all usages: what was charged in all and by model."""
    with Studio(program, release, scratch) as studio:
        asks = [Say([tool("NoSuchTool", number=number)], usage=usage) for number, usage in enumerate(USAGES[:-1])]
        prompt = studio.scene("usages", [*asks, Say([text("Done.")], usage=USAGES[-1])])
        result = studio.run(prompt, "--model", model, ALLOW_ALL, environment=NO_REMAP)
    reported = [message["usage"] for _, message, _ in studio.stage.answered]
    by_model = {name: {"usd": each["costUSD"], "basis": each["costBasis"]} for name, each in result["modelUsage"].items()}
    return {"usages": reported, "usd": result["total_cost_usd"], "models": by_model}


def _counts(seed: int, **more: Any) -> Json:
    """Tokens that no other answer has."""
    short, hour = 100 + 13 * seed, 50 + 7 * seed
    split = {"ephemeral_5m_input_tokens": short, "ephemeral_1h_input_tokens": hour}
    return {
        "input_tokens": 20 + seed,
        "output_tokens": 300 + 11 * seed,
        "cache_read_input_tokens": 5_000 + 101 * seed,
        "cache_creation_input_tokens": short + hour,
        "cache_creation": split,
        **more,
    }


def _work(seed: int) -> list[Say]:
    call = tool("Bash", command=f"echo {seed}", description="Echo")
    return [Say([think("Well."), text("I look."), call], usage=_counts(seed)), Say([text("Done.")], usage=_counts(seed + 1))]


def _session(result: Json) -> str:
    return str(result.get("session_id", ""))


def _agents(studio: Studio) -> None:
    """Subagents in front and behind, one with another model; then a fork, which does not copy their files."""
    studio.stage.add("sub", _work(10))
    studio.stage.add("sub-small", [Say([text("Small.")], usage=_counts(12))])
    studio.stage.add("sub-behind", _work(13))

    def both(body: Json) -> Say:
        small = agent_call(body, "sub-small")
        small["input"]["model"] = "haiku"
        return Say([agent_call(body, "sub"), small], usage=_counts(1))

    def behind(body: Json) -> Say:
        return Say([agent_call(body, "sub-behind", background=True)], usage=_counts(2))

    def after(_: Json) -> Say:
        studio.stage.wait_for_end("sub-behind")
        return Say([tool("Bash", command="true", description="Wait")], usage=_counts(3))

    steps: list[Step] = [both, behind, after, Say([text("Over.")], usage=_counts(4))]
    first = studio.run(studio.scene("agents", steps, "Use helpers."), ALLOW_ALL)
    studio.run(studio.scene("forked", _work(5)), "--resume", _session(first), "--fork-session", ALLOW_ALL)


def _resumes(studio: Studio) -> None:
    """A session resumed, continued and forked, and the fork resumed."""
    first = studio.run(studio.scene("first", _work(1)), "--model", "claude-opus-4-8", ALLOW_ALL)
    session = _session(first)
    studio.run(studio.scene("resumed", _work(3)), "--resume", session, "--model", "claude-sonnet-5-5[1m]", ALLOW_ALL)
    studio.run(studio.scene("continued", _work(5)), "--continue", ALLOW_ALL)
    fork = studio.run(studio.scene("forked", _work(7)), "--resume", session, "--fork-session", ALLOW_ALL)
    studio.run(studio.scene("fork-resumed", _work(9)), "--resume", _session(fork), ALLOW_ALL)


def _compactions(studio: Studio) -> None:
    """Compactions by hand and by the client itself; then a resume and a fork."""
    first = studio.run(studio.scene("first", _work(1)), ALLOW_ALL)
    session = _session(first)
    studio.run("/compact keep the numbers", "--resume", session, ALLOW_ALL)
    full = Say([text("Full.")], usage=_counts(3, cache_read_input_tokens=985_000))
    studio.run(studio.scene("full", [full]), "--resume", session, ALLOW_ALL)
    studio.run(studio.scene("after", _work(5)), "--resume", session, ALLOW_ALL)
    studio.run(studio.scene("forked", _work(7)), "--resume", session, "--fork-session", ALLOW_ALL)


def _errors(studio: Studio) -> None:
    """Failures that pass and that stay, streams that break, and odd ends."""
    words = [text("Half a"), text("word")]
    scenes: dict[str, Say | Fail] = {
        "overloaded": Fail(529, "overloaded_error", Say([text("Through.")], usage=_counts(1))),
        "limited": Fail(429, "rate_limit_error", Say([text("Through.")], usage=_counts(2))),
        "max-tokens": Say([text("A part.")], usage=_counts(3), stop_reason="max_tokens"),
        "refusal": Say([text("No.")], usage=_counts(4), stop_reason="refusal"),
        "refused": Fail(400, "invalid_request_error", say(), times=99),
        "down": Fail(500, "api_error", say(), times=99),
    }
    with studio.talk(ALLOW_ALL, environment={"CLAUDE_CODE_MAX_RETRIES": "2"}) as talk:
        for number, (name, step) in enumerate(scenes.items()):
            with studio.step(name):
                after = Say([text("After it.")], usage=_counts(20 + number))
                talk.tell(studio.scene(name, [step, after]), timeout=20)
    broken = {"overloaded": Say(words, usage=_counts(6), overloaded_after=4), "cut": Say(words, usage=_counts(7), cut_after=3)}
    for name, step in broken.items():
        studio.run(studio.scene(f"{name}-stream", [step]), ALLOW_ALL, environment={"CLAUDE_CODE_MAX_RETRIES": "2"})


def _web(studio: Studio) -> None:
    """The web tools, which ask a model on their own account."""
    with WebPage(studio.home) as page:
        calls = [
            Say([tool("WebSearch", query="tide tables")], usage=_counts(1)),
            Say([tool("WebFetch", url=f"{page.url}/", prompt="What is it?")], usage=_counts(2)),
            Say([text("Found.")], usage=_counts(3)),
        ]
        trusted = {"NODE_EXTRA_CA_CERTS": str(page.certificate), "ENABLE_TOOL_SEARCH": "false"}
        studio.run(studio.scene("web", calls), ALLOW_ALL, environment=trusted)


def _hooks(studio: Studio) -> None:
    """Hooks that ask a model."""
    asks = {"type": "prompt", "prompt": "Is it fine? $ARGUMENTS"}
    studio.settings(hooks={event: [{"matcher": "*", "hooks": [asks]}] for event in ("PostToolUse", "Stop")})
    studio.run(studio.scene("hooked", _work(1)), ALLOW_ALL)


def _killed(studio: Studio) -> None:
    """A run that is killed, so that it writes no total; then the session resumed."""
    first, last = _work(1)
    prompt = studio.scene("slow", [first, replace(last, delay=60.0)])
    process = subprocess.Popen(
        [str(studio.program), "-p", prompt, ALLOW_ALL],
        cwd=studio.project,
        env=client_environment(studio.home, studio.stage.url),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    studio.stage.wait_for_end("slow")
    time.sleep(2)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    studio.run(studio.scene("resumed", _work(3)), "--continue", ALLOW_ALL)


SCENARIOS: Mapping[str, Callable[[Studio], None]] = {
    "agents": _agents,
    "resumes": _resumes,
    "compactions": _compactions,
    "errors": _errors,
    "web": _web,
    "hooks": _hooks,
    "killed": _killed,
}


def bill_scenario(studio: Studio, name: str) -> Billed:
    """Play a scenario in an open studio. The files are in its home."""
    _give_side_requests_usages(studio)
    SCENARIOS[name](studio)
    billed, told = Billed(), set[str]()
    for path in sorted((studio.home / ".claude" / "projects").rglob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            if record["type"] == "cost-state":
                billed.totals[path.stem] = record["totalCostUSD"]
            elif record["type"] == "assistant":
                told.add(record["message"]["id"])
    billed.side = [
        _side_request(body, message, answer) for body, message, answer in studio.stage.answered if message["id"] not in told
    ]
    return billed


def _side_request(body: Json, message: Json, answer: Say) -> SideRequest:
    usage = message["usage"]
    if body.get("stream") and answer.cut_after is not None:
        return SideRequest("cut", message["model"], {**usage, "output_tokens": 1})  # as the first event has it
    if body.get("stream") and answer.overloaded_after is not None:
        return SideRequest("overloaded", message["model"], {**usage, "output_tokens": 1})
    return SideRequest(kind_of(body), message["model"], usage)


def keep_lines(studio: Studio, dest: Path) -> None:
    """The sessions of a studio, trimmed to what a bill depends on: the conversation and the client's own notes."""
    source, places = studio.home / ".claude" / "projects", {**places_of(studio), "/tmp/claude-1000/": "/home/user/scratch/"}
    for path in session_files(source):
        target = dest / moved(str(path.relative_to(source)), places)
        target.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_text(encoding="utf-8").splitlines()
        kept = [trim_line(line, places=places, ours=studio.stage.spoken) for line in lines if _is_kept(json.loads(line))]
        target.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")


def _is_kept(record: Json) -> bool:
    return record.get("type") in _KEPT or "agentType" in record


def _give_side_requests_usages(studio: Studio) -> None:
    """Figures that no other answer has, so that a sum says which requests are in it."""
    summary = text("<analysis>Scripted analysis.</analysis>\n\n<summary>\n1. Primary Request: scripted.\n</summary>")
    studio.stage.answer_when(lambda body: kind_of(body) == "summary", Say([summary], usage=_counts(40)))
    studio.stage.answer_when(lambda body: kind_of(body) == "fetch", Say([text("A page.")], usage=_counts(41)))
    fine = text(json.dumps({"ok": True, "reason": "fine"}))
    studio.stage.answer_when(lambda body: kind_of(body) == "hook", Say([fine], usage=_counts(42)))


def kind_of(body: Json) -> str:
    """What asked: a conversation, or the client on its own account."""
    last = ""
    for message in reversed(body.get("messages", [])):
        if message["role"] == "assistant":
            break
        last += "\n".join(_texts(message["content"]))
    tools = body.get("tools") or []
    system = "\n".join(_texts(body.get("system") or []))
    if "detailed summary of" in last:
        return "summary"
    if any(str(one.get("type", "")).startswith("web_search") for one in tools):
        return "search"
    if "Web page content" in last:
        return "fetch"
    if "hook" in system and not tools:
        return "hook"
    return "conversation" if tools else "other"


def _texts(content: str | list[Json]) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    else:
        yield from (block["text"] for block in content if block.get("type") == "text")
